//! The status of a lane, which others read without a message to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::waiting::spin_wait::{CacheAligned, WaitSpot};

/// The number of runs on a lane, its own mark of being at work, and the meeting point of those who wait.
#[derive(Default)]
pub(crate) struct LaneStatus {
    /// Runs that are on it. One that ended counts until its caller has the result, and one that is stopped
    /// until the lane has let go of it.
    runs: AtomicUsize,
    /// Whether the lane handles commands or runs; only the lane writes it. It is apart from the number of
    /// runs, which callers write.
    at_work: CacheAligned<AtomicBool>,
    /// The meeting point of the tasks that wait for the lane's messages.
    pub(crate) spot: Arc<WaitSpot>,
}

impl LaneStatus {
    /// Returns the number of runs that are on the lane.
    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::Acquire)
    }

    /// A run comes.
    pub(crate) fn add_run(&self) {
        self.runs.fetch_add(1, Ordering::Relaxed);
    }

    /// A run has left.
    pub(crate) fn remove_run(&self) {
        self.runs.fetch_sub(1, Ordering::Release);
    }

    /// Returns whether the lane has no run and does nothing for one that it had, such as a call that no stop
    /// can interrupt, or the collection of its garbage.
    pub(crate) fn is_idle(&self) -> bool {
        self.runs() == 0 && !self.at_work.0.load(Ordering::Acquire)
    }

    /// The lane begins or ends its work.
    pub(crate) fn set_at_work(&self, at_work: bool) {
        if self.at_work.0.load(Ordering::Relaxed) != at_work {
            self.at_work.0.store(at_work, Ordering::Release);
        }
    }
}
