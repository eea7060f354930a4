//! The connections of everybody who may decide about calls of members.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_types::OwnerId;

use crate::auth::{Authenticator, Identity};
use crate::outbox::RoomListener;

/// The connections of everybody who may decide about calls of members.
#[derive(Default)]
pub(crate) struct ApproverConnections {
    inner: Mutex<WaitingInner>,
}

#[derive(Default)]
struct WaitingInner {
    connections: BTreeMap<u64, WaitingConnection>,
    numbers: u64,
}

/// A connection that gets notices of waiting calls.
#[derive(Clone)]
pub(crate) struct WaitingConnection {
    pub(crate) identity: Identity,
    pub(crate) ear: Arc<dyn RoomListener>,
}

impl ApproverConnections {
    /// Adds a connection. Returns the number to remove it with.
    pub(crate) fn add(&self, connection: WaitingConnection) -> u64 {
        let mut inner = self.lock();
        inner.numbers += 1;
        let number = inner.numbers;
        inner.connections.insert(number, connection);
        number
    }

    /// Removes the connection with this number.
    pub(crate) fn remove(&self, number: u64) {
        self.lock().connections.remove(&number);
    }

    /// Returns all of them.
    pub(crate) fn all(&self) -> Vec<WaitingConnection> {
        self.lock().connections.values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, WaitingInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitingConnection {
    /// Returns whether this person may now decide about calls in sessions of `owner`.
    pub(crate) fn decides_for(&self, auth: &Authenticator, owner: &OwnerId) -> bool {
        let is_named = self.identity.approver && self.identity.person != *owner;
        (self.identity.operator || is_named) && auth.still_knows(&self.identity)
    }
}
