//! How the task that awaits a run waits for its lane's messages, and how the lane wakes it.

pub(crate) mod spin_wait;
pub(crate) mod wake_queue;
