//! Values that follow from the rest of a state: kept for speed, never written down, and no part of what makes two states
//! equal.

/// A value that can be worked out again.
#[derive(Clone, Debug)]
pub(crate) struct Cache<T>(Option<T>);

impl<T> Cache<T> {
    /// The value, worked out if need be.
    pub(crate) fn get_or(&mut self, work_out: impl FnOnce() -> T) -> &mut T {
        self.0.get_or_insert_with(work_out)
    }

    /// Changes the value where it is known.
    pub(crate) fn update(&mut self, change: impl FnOnce(&mut T)) {
        if let Some(value) = &mut self.0 {
            change(value);
        }
    }

    /// What it follows from has changed.
    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> PartialEq for Cache<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
