//! The sessions of an owner that wait until a known time, or have a reminder, read from their logs without
//! opening them. The folds of sessions that have not changed since the last look are not made again.

use std::collections::BTreeMap;

use agentx_runtime::{LogError, RuntimeError, SessionWaits};
use agentx_types::SessionId;

use crate::NodeRuntime;
use crate::server_support::pass_over;

impl NodeRuntime {
    /// The owner's sessions that wait for a known time, those first that are due first. One that cannot be
    /// read is logged and skipped.
    pub(crate) async fn waiting_until(&self) -> Result<Vec<SessionWaits>, RuntimeError> {
        let (mut known, mut found) = (BTreeMap::new(), Vec::new());
        let mut sessions = self.under_way_of(&self.owner).await?;
        let reminding = self.log().reminding().await?.into_iter();
        sessions.extend(
            reminding
                .filter(|(_, of)| *of == self.owner)
                .map(|(session, _)| session),
        );
        sessions.sort();
        sessions.dedup();
        for session in sessions {
            let waits = match self.waits_of(&session).await {
                Ok(waits) => waits,
                // The session was deleted in the meantime.
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
