//! Limits that hold for every caller: of sizes, of rates, and of what runs at the same time.

pub(crate) mod fair_semaphore;
pub(crate) mod size_limits;
pub(crate) mod token_bucket;
