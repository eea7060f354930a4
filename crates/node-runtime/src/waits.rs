//! The sessions of an owner that wait until a known time, read from their logs without opening them. The folds of
//! sessions that have not changed since the last look are not made again.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use agentx_runtime::{LogError, OpenWait, RuntimeError, SessionWaits};
use agentx_types::SessionId;

use crate::NodeRuntime;
use crate::server_support::pass_over;

/// What sessions waited for at the last look, with the last event of each.
#[derive(Debug, Default)]
pub(crate) struct KnownWaits(Mutex<BTreeMap<SessionId, (u64, Vec<OpenWait>)>>);

impl KnownWaits {
    /// The waits of a session up to this event, if they are known.
    fn get(&self, session: &SessionId, last_seq: u64) -> Option<Vec<OpenWait>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (seq, waits) = known.get(session)?;
        (*seq == last_seq).then(|| waits.clone())
    }

    /// Replaces everything that is known.
    fn set(&self, waits: BTreeMap<SessionId, (u64, Vec<OpenWait>)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = waits;
    }
}

impl NodeRuntime {
    /// The owner's sessions that wait for a known time, those first that are due first. One that cannot be read is
    /// logged and skipped.
    pub(crate) async fn waiting_until(&self) -> Result<Vec<SessionWaits>, RuntimeError> {
        let (mut known, mut found) = (BTreeMap::new(), Vec::new());
        for session in self.under_way_of(&self.owner).await? {
            let waits = match self.waits_of(&session).await {
                Ok(waits) => waits,
                // It was deleted meanwhile.
                Err(RuntimeError::Log(LogError::NotFound(_))) => continue,
                Err(error) => {
                    pass_over(&session, &error);
                    continue;
                }
            };
            known.insert(session, (waits.session.last_seq, waits.waits.clone()));
            if !waits.waits.is_empty() {
                found.push(waits);
            }
        }
        self.known_waits.set(known);
        found.sort_by_key(|found| found.waits.first().map(|wait| wait.due_at));
        Ok(found)
    }

    async fn waits_of(&self, session: &SessionId) -> Result<SessionWaits, RuntimeError> {
        let info = self.log().info(session).await?;
        let waits = match self.known_waits.get(session, info.last_seq) {
            Some(waits) => waits,
            None => agentx_runtime::fold_until(self.log(), session, info.last_seq)
                .await?
                .waits(),
        };
        Ok(SessionWaits { session: info, waits })
    }
}
