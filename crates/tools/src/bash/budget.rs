//! The memory budget for the outputs of all commands of a program until they are stored as blobs. Without it,
//! outputs that are each within their limit could together fill the memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number of bytes that calls share. Clones share it too.
#[derive(Clone, Debug)]
pub struct OutputBudget {
    left: Arc<AtomicUsize>,
}

/// The share of one call in a budget; it is given back when this is dropped.
#[derive(Debug)]
pub(super) struct OutputShare {
    budget: OutputBudget,
    bytes: usize,
}

impl OutputBudget {
    /// Creates a budget of so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self {
            left: Arc::new(AtomicUsize::new(bytes)),
        }
    }

    /// Returns the number of free bytes.
    pub fn left(&self) -> usize {
        self.left.load(Ordering::Relaxed)
    }

    /// Returns an empty share.
    pub(super) fn share(&self) -> OutputShare {
        OutputShare {
            budget: self.clone(),
            bytes: 0,
        }
    }
}

impl OutputShare {
    /// Takes up to `wanted` bytes; returns how many it got.
    pub(super) fn take(&mut self, wanted: usize) -> usize {
        let take = |left: usize| Some(left - left.min(wanted));
        let before = self
            .budget
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .unwrap_or_default();
        let taken = before.min(wanted);
        self.bytes += taken;
        taken
    }
}

impl Drop for OutputShare {
    fn drop(&mut self) {
        self.budget.left.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_take_what_is_left_and_give_it_back() {
        let budget = OutputBudget::new(100);
        let (mut first, mut second) = (budget.share(), budget.share());
        assert_eq!((first.take(60), second.take(60), second.take(1)), (60, 40, 0));
        assert_eq!(budget.left(), 0);
        drop(first);
        assert_eq!((second.take(70), budget.left()), (60, 0));
        drop(second);
        assert_eq!(budget.left(), 100);
    }
}
