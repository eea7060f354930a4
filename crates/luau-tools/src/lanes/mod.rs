//! The threads on which scripts run: how work reaches them, and how runs take turns on them.

mod inbox;
mod lane_command;
pub(crate) mod lane_pool;
mod lane_set;
mod lane_status;
mod lane_worker;
mod turn_queue;
