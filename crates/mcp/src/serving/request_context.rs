//! The origin of a client's request, and the channel for messages besides its answer.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::suspended_calls::SuspendedCalls;

/// The origin of a request, and the channel for messages besides its answer.
pub struct McpRequestContext {
    /// Ends the work on the request when its client cancels it or goes away.
    pub cancel: CancellationToken,
    /// The messages for the client before the answer.
    pub said: mpsc::Sender<Value>,
    /// The calls of this server that wait for an answer.
    pub suspended: Arc<SuspendedCalls>,
    /// The person whose client it is.
    pub person: String,
    /// Whether a client of a version with a handshake can be asked before the answer.
    pub can_be_asked: bool,
}
