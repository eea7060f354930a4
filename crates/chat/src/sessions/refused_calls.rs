//! Finds sessions whose last run came to its end although calls of it were refused, because nobody could be
//! asked. The list of sessions names them, as the exit code of `agentx run` does. It is derived from the log
//! each time.

use std::collections::BTreeSet;

use agentx::runtime::{Delivery, Runtime, SessionInfo, View};
use agentx::types::{RunStatus, RuntimeEvent, SessionId, ToolFailed, ToolStatus};

/// The note for a question although the session refuses such calls.
pub(crate) const NOT_HERE: &str = "nobody can answer questions in this run; `--yes` answers them with yes";
/// The reasons that the agent, or the answer of a run without a person, gives for refusing a call that it
/// would have asked about; sessions of earlier programs have the first two.
pub(crate) const NOBODY: [&str; 4] = [
    "nobody is there to be asked",
    "in the approval mode `deny` nobody is asked",
    "nobody can be asked: there is no terminal",
    NOT_HERE,
];
/// The number of sessions that are read, the latest first, so that a list stays fast.
const MOST_SESSIONS: usize = 20;
/// Sessions with more events are not read.
const MOST_EVENTS: u64 = 1_000;

/// Returns those of these sessions whose last run was refused calls. Long and older sessions are left out,
/// and those that cannot be read.
pub(crate) async fn with_refused_calls(
    runtime: &dyn Runtime,
    sessions: &[SessionInfo],
) -> BTreeSet<SessionId> {
    let mut refused = BTreeSet::new();
    let is_read = |info: &&SessionInfo| {
        info.status == Some(RunStatus::Completed) && info.writer.is_none() && info.last_seq <= MOST_EVENTS
    };
    for info in sessions.iter().filter(is_read).take(MOST_SESSIONS) {
        if was_refused(runtime, &info.session_id).await {
            refused.insert(info.session_id.clone());
        }
    }
    refused
}

async fn was_refused(runtime: &dyn Runtime, session: &SessionId) -> bool {
    let Ok(mut subscription) = runtime.watch(session, 0, View::Runtime, false).await else {
        return false;
    };
    let (mut refused, mut ended) = (None, None);
    while let Some(delivery) = subscription.next().await {
        match delivery {
            Delivery::Runtime(envelope) => match &envelope.event {
                RuntimeEvent::ToolFailed(failed) if nobody_was_asked(failed) => {
                    refused = envelope.run_id.clone();
                }
                RuntimeEvent::RunFinished(end) => ended = Some(end.run_id.clone()),
                _ => {}
            },
            Delivery::CaughtUp(_) | Delivery::CutOff(_) => break,
            Delivery::Environment(_) => {}
        }
    }
    refused.is_some() && refused == ended
}

/// Returns whether a call was refused because nobody could be asked about it.
pub(crate) fn nobody_was_asked(failed: &ToolFailed) -> bool {
    failed.status == ToolStatus::Denied && NOBODY.iter().any(|why| failed.error.contains(why))
}
