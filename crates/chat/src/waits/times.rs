//! When the calls that wait for a time are over, for lists of sessions.

use std::collections::BTreeMap;

use agentx::runtime::{Runtime, SessionInfo, SessionWaits, WaitKind};
use agentx::types::{RunStatus, SessionId, Timestamp};

use crate::render::units;

/// For each session whose agent waits for a time (the tool `wait`), when the first wait is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitTimes(BTreeMap<SessionId, Timestamp>);

impl WaitTimes {
    /// The times of all sessions. There are none if the runtime does not tell or cannot read them: a list shows its
    /// sessions all the same.
    pub(crate) async fn of(runtime: &dyn Runtime) -> Self {
        match runtime.waits().await {
            Ok(found) => found.iter().collect(),
            Err(error) => {
                tracing::debug!(%error, "a list does not show which sessions wait");
                Self::default()
            }
        }
    }

    /// The same for a list. Nothing is read if no session in it stopped in the middle of a run.
    pub(crate) async fn of_listed(runtime: &dyn Runtime, listed: &[SessionInfo]) -> Self {
        let is_stopped =
            |info: &SessionInfo| info.writer.is_none() && !info.status.is_none_or(RunStatus::is_final);
        if listed.iter().any(is_stopped) {
            Self::of(runtime).await
        } else {
            Self::default()
        }
    }

    /// When the wait of a session is over, if it waits.
    pub(crate) fn get(&self, session: &SessionId) -> Option<Timestamp> {
        self.0.get(session).copied()
    }
}

impl<'a> FromIterator<&'a SessionWaits> for WaitTimes {
    fn from_iter<I: IntoIterator<Item = &'a SessionWaits>>(found: I) -> Self {
        let time = |of: &SessionWaits| {
            let wait = of.waits.iter().find(|wait| wait.kind == WaitKind::Call)?;
            Some((of.session.session_id.clone(), wait.due_at))
        };
        Self(found.into_iter().filter_map(time).collect())
    }
}

/// Says in a few words that a session waits until a time.
pub(crate) fn status_of_wait(due_at: Timestamp, now: Timestamp) -> String {
    if due_at <= now {
        "waits, due now".to_owned()
    } else {
        format!("waits, {} left", units::duration(due_at.millis_since(now)))
    }
}
