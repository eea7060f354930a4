//! Remembers the waits of sessions, so that a check of unchanged sessions does not fold them again.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use agentx_runtime::OpenWait;
use agentx_types::SessionId;

/// The waits of sessions at the last check, with the last event of each.
#[derive(Debug, Default)]
pub(crate) struct KnownWaits(Mutex<BTreeMap<SessionId, (u64, Vec<OpenWait>)>>);

impl KnownWaits {
    /// The waits of a session up to this event, if they are known.
    pub(crate) fn get(&self, session: &SessionId, last_seq: u64) -> Option<Vec<OpenWait>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (seq, waits) = known.get(session)?;
        (*seq == last_seq).then(|| waits.clone())
    }

    /// Replaces everything that is known.
    pub(crate) fn set(&self, waits: BTreeMap<SessionId, (u64, Vec<OpenWait>)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = waits;
    }
}
