//! State that the server keeps between requests: idempotency keys, ends of pages, rates of callers.

pub(crate) mod idempotency;
pub(crate) mod page_folds;
pub(crate) mod rate;
