//! Request metadata: the wheel that the sender believes they hold, and the idempotency key, which identifies
//! the request if the client repeats it because the answer was lost.

use std::sync::Arc;

use agentx_runtime::{RequestKey, Session, request_hash};
use serde::Serialize;

/// The metadata of a request.
#[derive(Clone, Debug, Default)]
pub struct RequestTerms {
    /// The wheel that the client believes it holds.
    pub wheel_epoch: Option<u64>,
    /// Identifies the request: sent again with the same key, it is not carried out again.
    pub key: Option<String>,
    /// The hash of a request with a key: the key is refused for a different request.
    pub request: Option<String>,
}

impl RequestTerms {
    /// The terms of a request for this action with this content; `key` identifies the request.
    pub fn new(
        wheel_epoch: Option<u64>,
        key: Option<String>,
        action: &str,
        content: &impl Serialize,
    ) -> Self {
        let request = key.as_ref().map(|_| request_hash(&(action, content)));
        Self {
            wheel_epoch,
            key,
            request,
        }
    }
}

/// The session for one request with this key.
pub(crate) fn with_key(session: Arc<dyn Session>, key: Option<&RequestKey>) -> Arc<dyn Session> {
    key.and_then(|key| session.once(key)).unwrap_or(session)
}
