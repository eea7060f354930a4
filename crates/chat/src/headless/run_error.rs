//! The error that a run would end with, and its HTTP status: the error that ends a model call has none of its
//! own, but the last attempt before it has.

use agentx::types::ErrorRaised;

use crate::exit::http_status::with_status;

/// The error that a run would end with.
#[derive(Debug)]
pub(super) struct RunError {
    pub(super) code: String,
    /// The message, with the HTTP status.
    pub(super) message: String,
    /// The HTTP status of the failed attempt, if a server answered.
    pub(super) status: Option<u16>,
}

impl RunError {
    /// Returns the error after an event, which may be about the same failure as the attempt `before` it: the
    /// error that ends a call has no status of its own.
    pub(super) fn new(error: &ErrorRaised, before: Option<&Self>) -> Self {
        let before = before.filter(|before| before.code == error.code);
        let status = error.status.or(before.and_then(|before| before.status));
        Self {
            code: error.code.clone(),
            message: with_status(&error.message, status),
            status,
        }
    }
}
