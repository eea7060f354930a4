//! The permits that steps of a call got from the rules or a person.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The steps that may call another tool, and whether that call may touch files outside the workspace.
#[derive(Default)]
pub(crate) struct CallPermits(Mutex<BTreeMap<u64, bool>>);

impl CallPermits {
    pub(super) fn give(&self, step: u64, outside_workspace: bool) {
        let mut steps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        steps.insert(step, outside_workspace);
    }

    /// Acquires the permit of a step; a step has one for one call.
    pub(super) fn take(&self, step: u64) -> Option<bool> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&step)
    }
}
