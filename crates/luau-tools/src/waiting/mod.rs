//! The waiting of the task that awaits a run for its lane's messages, and its wake-up by the lane.

pub(crate) mod spin_wait;
pub(crate) mod wake_queue;
