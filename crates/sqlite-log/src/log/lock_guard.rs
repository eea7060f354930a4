//! Releases the lock of a session when its writer is dropped, and lets the writer thread forget its state.

use std::sync::PoisonError;

use agentx_types::SessionId;

use crate::database::lock::SessionLock;
use crate::write::writer::Released;

/// The lock of an attached session.
pub(super) struct LockGuard {
    _lock: SessionLock,
    session: SessionId,
    epoch: u64,
    released: Released,
}

impl LockGuard {
    /// Holds the lock for the writer with this epoch.
    pub(super) fn new(lock: SessionLock, session: SessionId, epoch: u64, released: Released) -> Self {
        Self {
            _lock: lock,
            session,
            epoch,
            released,
        }
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        let released = (self.session.clone(), self.epoch);
        self.released
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(released);
    }
}
