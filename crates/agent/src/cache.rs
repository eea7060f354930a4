//! Values that follow from the rest of a state: kept for speed, never serialized, and ignored when states are
//! compared.
//!
//! A state with a `CachedValue` stays deterministic: the cached value changes the cost of a step, never its
//! result. `serde` skips such fields, so a state that is read back begins with empty ones. Every change of
//! the data from which a value follows has to `update` or `clear` it.

/// A cached value that can be computed again; `None` until the first use.
#[derive(Clone, Debug)]
pub(crate) struct CachedValue<T>(Option<T>);

impl<T> CachedValue<T> {
    /// Returns the value, computing it if needed.
    pub(crate) fn get_or(&mut self, work_out: impl FnOnce() -> T) -> &mut T {
        self.0.get_or_insert_with(work_out)
    }

    /// Updates the value if it is cached, which saves computing it again.
    pub(crate) fn update(&mut self, change: impl FnOnce(&mut T)) {
        if let Some(value) = &mut self.0 {
            change(value);
        }
    }

    /// Forgets the value, because the data from which it follows has changed.
    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }
}

impl<T> Default for CachedValue<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// Two caches are always equal: they are not part of the state.
impl<T> PartialEq for CachedValue<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
