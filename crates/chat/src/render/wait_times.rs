//! The ends of waits for a time, for lists of sessions.

use std::collections::BTreeMap;

use agentx::runtime::{SessionWaits, WaitKind};
use agentx::types::{SessionId, Timestamp};

use super::units;

/// For each session whose agent waits for a time (the tool `wait`), when the first wait is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionWaitTimes(BTreeMap<SessionId, Timestamp>);

impl SessionWaitTimes {
    /// Returns the end of a session's wait, if it waits.
    pub(crate) fn get(&self, session: &SessionId) -> Option<Timestamp> {
        self.0.get(session).copied()
    }
}

impl<'a> FromIterator<&'a SessionWaits> for SessionWaitTimes {
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
