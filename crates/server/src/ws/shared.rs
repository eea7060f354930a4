//! The state that the two halves of a connection share: the outbox, the subscriptions, and the client's
//! identity.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_types::SessionId;
use agentx_types::wire::WireView;

use super::SocketOpening;
use super::allowance::Allowance;
use super::writer_task::WriterTask;
use crate::auth::Identity;
use crate::connections::connection_limits::Permit;
use crate::outbox::Outbox;
use crate::state::ServerState;

/// The state that the two halves of a connection share.
pub(super) struct SocketShared {
    pub(super) state: Arc<ServerState>,
    pub(super) outbox: Arc<Outbox<WriterTask>>,
    /// The number of bytes that it may still send.
    pub(super) allowance: Arc<Allowance>,
    /// The connection's place in the server's limit.
    pub(super) permit: Option<Permit>,
    /// The address, as it is counted.
    pub(super) address: String,
    /// The subscriptions. The reading half adds them, the writing half removes those that ended.
    subscriptions: Mutex<HashMap<SessionId, WireView>>,
    /// The identity, as soon as it is known.
    identity: Mutex<Option<Identity>>,
}

impl SocketShared {
    /// A connection that has subscribed to nothing, and whose client is not known yet.
    pub(super) fn new(state: Arc<ServerState>, entry: &SocketOpening) -> Self {
        let held = entry.permit.as_ref().map(|permit| permit.held().clone());
        Self {
            outbox: Arc::new(Outbox::new(state.options().limits.waiting()).counted(held)),
            allowance: Arc::new(Allowance::new()),
            permit: entry.permit.clone(),
            address: entry.address.clone(),
            subscriptions: Mutex::default(),
            identity: Mutex::default(),
            state,
        }
    }

    pub(super) fn subscriptions(&self) -> MutexGuard<'_, HashMap<SessionId, WireView>> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn identity(&self) -> MutexGuard<'_, Option<Identity>> {
        self.identity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
