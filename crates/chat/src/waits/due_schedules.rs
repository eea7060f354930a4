//! A schedule that is due: the run that it wants. If a process died in the middle of it, its session is the
//! one that the file of the schedules records before the prompt is sent, so that the prompt is sent once. A
//! session that was opened and not recorded yet is found by its title.

use std::path::PathBuf;

use agentx::runtime::{LogError, Runtime, RuntimeError, SessionInfo, SessionQuery};
use agentx::types::{SessionId, Timestamp};
use agentx_schedule::{Schedule, ScheduleTurn};

use super::WantedRun;
use crate::error::ChatError;

/// The number of sessions of the directory among which that of a process that died is looked for.
const LOOKED_AT: usize = 200;

/// The remaining work of a turn.
pub(super) enum TurnWork {
    /// A run.
    Run(WantedRun),
    /// Nothing: the run has ended in this session, before its process could note that.
    Done(SessionId),
}

/// Returns what is left to do in a turn.
pub(super) async fn work_of(turn: &ScheduleTurn, runtime: &dyn Runtime) -> Result<TurnWork, ChatError> {
    let schedule = turn.schedule();
    let found = match &schedule.begun_session {
        Some(recorded) => match runtime.info(recorded).await {
            // Somebody has deleted it, so nobody wants its run any more.
            Err(RuntimeError::Log(LogError::NotFound(_))) => return Ok(TurnWork::Done(recorded.clone())),
            info => Some(info?),
        },
        None if turn.is_again() => unrecorded_session(turn, runtime).await?,
        None => None,
    };
    let mut run = match found {
        None => new_run(schedule),
        Some(info) => match info.status {
            Some(status) if status.is_final() => return Ok(TurnWork::Done(info.session_id)),
            Some(_) => WantedRun::of_session(info.session_id.as_str()),
            // Its process died before it sent the prompt.
            None => {
                let mut run = WantedRun::of_session(info.session_id.as_str());
                run.words.extend(["--".to_owned(), schedule.prompt.clone()]);
                run
            }
        },
    };
    run.record = Some(turn.record());
    Ok(TurnWork::Run(run))
}

/// The session that a process has opened for this turn and could not record before it died.
async fn unrecorded_session(
    turn: &ScheduleTurn,
    runtime: &dyn Runtime,
) -> Result<Option<SessionInfo>, ChatError> {
    let schedule = turn.schedule();
    let query = SessionQuery {
        owner: runtime.owner().clone(),
        workspace: Some(schedule.workspace.clone()),
        limit: LOOKED_AT,
        before: None,
    };
    let mut found = runtime.sessions(query).await?;
    found.retain(|info| {
        info.title == schedule.name
            && info.created_at >= turn.begun().begun_at
            && Some(&info.session_id) != schedule.last_session.as_ref()
    });
    Ok(found.into_iter().max_by_key(|info| info.created_at))
}

/// A run in a new session.
fn new_run(schedule: &Schedule) -> WantedRun {
    let mut words = vec!["--quiet".to_owned(), "--title".to_owned(), schedule.name.clone()];
    let named = [("--agent", &schedule.agent), ("--model", &schedule.model)];
    for (flag, value) in named {
        if let Some(value) = value {
            words.extend([flag.to_owned(), value.clone()]);
        }
    }
    words.extend(["--".to_owned(), schedule.prompt.clone()]);
    WantedRun {
        words,
        workspace: Some(PathBuf::from(&schedule.workspace)),
        record: None,
    }
}

/// The line that says which schedule is run, and what was missed.
pub(super) fn note_of(turn: &ScheduleTurn) -> String {
    let begun = turn.begun();
    let missed = match begun.missed {
        0 => String::new(),
        1 => "; 1 earlier time was missed, and is not run".to_owned(),
        missed => format!("; {missed} earlier times were missed, and are not run"),
    };
    let again = if turn.is_again() {
        ", started by a program that died"
    } else {
        ""
    };
    format!(
        "· {} has been due since {}{again}{missed}\n",
        turn.schedule().name,
        begun.due_at.rfc3339()
    )
}

/// The line that says that a clock which was ahead recorded the latest time of a schedule.
pub(super) fn note_of_clock(name: &str, ahead: Timestamp) -> String {
    format!(
        "warning: the latest time of {name}, {}, lies ahead of the clock of this machine: its times count from now\n",
        ahead.rfc3339()
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use agentx_schedule::ScheduleStore;

    use super::*;

    fn schedule() -> Schedule {
        Schedule {
            name: "news".into(),
            pattern: "@hourly".into(),
            zone: "UTC".into(),
            agent: Some("reporter".into()),
            model: None,
            prompt: "--what is new?".into(),
            workspace: "/w".into(),
            created_at: Timestamp(0),
            last_due: None,
            ahead: None,
            begun: None,
            begun_session: None,
            last_session: None,
        }
    }

    #[test]
    fn a_prompt_of_a_schedule_is_never_read_as_an_option() {
        let run = new_run(&schedule());
        assert_eq!(
            run.words,
            [
                "--quiet",
                "--title",
                "news",
                "--agent",
                "reporter",
                "--",
                "--what is new?"
            ]
        );
        assert_eq!(run.workspace, Some(PathBuf::from("/w")));
    }

    #[test]
    fn what_was_missed_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let store = ScheduleStore::at(folder.path());
        store.add(schedule()).unwrap();
        let turn = store
            .take_turn("news", Timestamp(3 * 3_600_000_000))
            .unwrap()
            .unwrap();
        let note = note_of(&turn);
        assert!(note.contains("due since 1970-01-01T03:00:00Z"), "{note}");
        assert!(note.contains("2 earlier times were missed"), "{note}");
    }
}
