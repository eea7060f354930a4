//! The way from NEXUS's routes to the API of the server.

pub(crate) mod caller;
pub(crate) mod command_runs;
pub(crate) mod conversation;
pub(crate) mod event_stream;
pub(crate) mod refusal;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentx_server::ServerState;
use axum::Router;
use axum::http::request::Parts;

use caller::NexusCaller;
use conversation::Conversations;

/// The state that all routes share.
#[derive(Clone)]
pub(crate) struct Gateway(Arc<GatewayState>);

struct GatewayState {
    server: Arc<ServerState>,
    api: Router,
    conversations: Conversations,
    ids: AtomicU64,
}

impl Gateway {
    pub(crate) fn new(server: Arc<ServerState>, api: Router) -> Self {
        Self(Arc::new(GatewayState {
            server,
            api,
            conversations: Conversations::default(),
            ids: AtomicU64::new(1),
        }))
    }

    /// Returns the client that sent a request.
    pub(crate) fn caller(&self, parts: &Parts) -> NexusCaller {
        NexusCaller::new(&self.0.server, &self.0.api, parts)
    }

    /// Returns the conversations of people.
    pub(crate) fn conversations(&self) -> &Conversations {
        &self.0.conversations
    }

    /// Returns the state that the server's connections share.
    pub(crate) fn server(&self) -> &Arc<ServerState> {
        &self.0.server
    }

    /// Returns an id for a frame that is about no run of a session, such as `connect_7`.
    pub(crate) fn frame_id(&self, kind: &str) -> String {
        format!("{kind}_{}", self.0.ids.fetch_add(1, Ordering::Relaxed))
    }
}
