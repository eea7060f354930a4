//! The threads on which scripts run: how work reaches them, how runs take turns on them, and how they sleep
//! and wake.

mod inbox;
pub(crate) mod lane_pool;
mod lane_worker;
pub(crate) mod spin_wait;
pub(crate) mod wake_queue;
