//! The right to run a schedule for one time.
//!
//! ```text
//! take: lock of the schedule ─▶ the file has the time as begun ─▶ the file has the session ─▶ prompt, finish
//! dies: the lock ends with the process ─▶ the next one that takes the turn gets the same time, `is_again`
//! ```
//!
//! The lock lets one process run a schedule at a time. The time in the file is what no other process begins
//! again. The session is in the file before it gets the prompt, so the next process finds it by its id: a
//! clock that is set back cannot hide it.

use agentx_files::FileLock;
use agentx_types::{SessionId, Timestamp};

use crate::{BegunTime, Schedule, ScheduleError, ScheduleStore};

/// The right of this process to run a schedule for one time. It ends when this value is dropped, or the
/// process dies; if [`finish`](Self::finish) was not called, the next process gets the same time.
#[derive(Debug)]
pub struct ScheduleTurn {
    store: ScheduleStore,
    schedule: Schedule,
    begun: BegunTime,
    is_again: bool,
    /// Held until the turn ends.
    _lock: FileLock,
}

/// Records the session of a run that has begun. The program that opens the session gets it from the turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BegunRunRecord {
    store: ScheduleStore,
    name: String,
    begun: BegunTime,
}

impl BegunRunRecord {
    /// Records the session, before the run gets its prompt.
    ///
    /// # Errors
    /// Returns an error if the file cannot be changed: then the prompt must not be sent, because another
    /// process could send it again.
    pub fn note_session(&self, session: &SessionId) -> Result<(), ScheduleError> {
        self.store.change(|schedules| {
            if let Some(schedule) = of_turn(schedules, &self.name, self.begun) {
                schedule.begun_session = Some(session.clone());
            }
            Ok(())
        })
    }
}

/// Returns the schedule of a turn. It may have been removed, and another one made with its name.
fn of_turn<'a>(schedules: &'a mut [Schedule], name: &str, begun: BegunTime) -> Option<&'a mut Schedule> {
    schedules
        .iter_mut()
        .find(|known| known.name == name && known.begun == Some(begun))
}

impl ScheduleStore {
    /// Takes the turn of a schedule, if it is due. `None` if it is not, does not exist, or another process
    /// runs it.
    ///
    /// # Errors
    /// Returns an error if its pattern or its zone cannot be used, or the files cannot be read, written or
    /// locked.
    pub fn take_turn(&self, name: &str, now: Timestamp) -> Result<Option<ScheduleTurn>, ScheduleError> {
        let path = self.turn_lock(name);
        let lock = FileLock::take(&path).map_err(|error| ScheduleError::file(&path, error))?;
        let Some(lock) = lock else { return Ok(None) };
        let found = self.change(|schedules| {
            let Some(schedule) = schedules.iter_mut().find(|known| known.name == name) else {
                return Ok(None);
            };
            if let Some(begun) = schedule.begun {
                return Ok(Some((schedule.clone(), begun, true)));
            }
            let Some(begun) = schedule.due_now(now)? else {
                return Ok(None);
            };
            schedule.last_due = Some(begun.due_at);
            schedule.ahead = None;
            schedule.begun = Some(begun);
            schedule.begun_session = None;
            Ok(Some((schedule.clone(), begun, false)))
        })?;
        Ok(found.map(|(schedule, begun, is_again)| ScheduleTurn {
            store: self.clone(),
            schedule,
            begun,
            is_again,
            _lock: lock,
        }))
    }
}

impl ScheduleTurn {
    /// The schedule.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The time for which it is run.
    pub fn begun(&self) -> BegunTime {
        self.begun
    }

    /// Returns whether a process that died had begun this time: its run may exist.
    pub fn is_again(&self) -> bool {
        self.is_again
    }

    /// Returns the record for the session of the run.
    pub fn record(&self) -> BegunRunRecord {
        BegunRunRecord {
            store: self.store.clone(),
            name: self.schedule.name.clone(),
            begun: self.begun,
        }
    }

    /// Ends the turn: the run has ended, in this session if there is one.
    ///
    /// # Errors
    /// Returns an error if the file cannot be changed; then the next process gets the same time.
    pub fn finish(self, session: Option<SessionId>) -> Result<(), ScheduleError> {
        self.store.change(|schedules| {
            if let Some(schedule) = of_turn(schedules, &self.schedule.name, self.begun) {
                schedule.begun = None;
                schedule.begun_session = None;
                schedule.last_session = session.or(schedule.last_session.take());
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    const START: &str = "2026-11-30T07:00:00Z";

    fn at(text: &str) -> Timestamp {
        Timestamp::from_rfc3339(text).unwrap()
    }

    fn schedule(name: &str) -> Schedule {
        Schedule {
            name: name.into(),
            pattern: "0 8 * * *".into(),
            zone: "UTC".into(),
            agent: None,
            model: None,
            prompt: "what is new?".into(),
            workspace: "/w".into(),
            created_at: at(START),
            last_due: None,
            ahead: None,
            begun: None,
            begun_session: None,
            last_session: None,
        }
    }

    fn stored() -> (tempfile::TempDir, ScheduleStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = ScheduleStore::at(folder.path());
        store.add(schedule("news")).unwrap();
        (folder, store)
    }

    #[test]
    fn a_schedule_is_run_once_for_each_time() {
        let (_folder, store) = stored();
        assert!(
            store
                .take_turn("news", at("2026-11-30T07:59:59Z"))
                .unwrap()
                .is_none()
        );
        let turn = store
            .take_turn("news", at("2026-11-30T08:00:00Z"))
            .unwrap()
            .unwrap();
        assert_eq!(turn.begun().due_at, at("2026-11-30T08:00:00Z"));
        assert!(!turn.is_again());
        turn.finish(Some("ses_1".into())).unwrap();
        assert!(
            store
                .take_turn("news", at("2026-11-30T09:00:00Z"))
                .unwrap()
                .is_none()
        );
        let kept = store.list().unwrap().remove(0);
        assert_eq!(kept.last_session, Some("ses_1".into()));
        assert_eq!(kept.next_due().unwrap(), Some(at("2026-12-01T08:00:00Z")));
    }

    #[test]
    fn one_process_at_a_time_runs_a_schedule_and_what_died_is_begun_again() {
        let (_folder, store) = stored();
        let now = at("2026-11-30T08:00:30Z");
        let turn = store.take_turn("news", now).unwrap().unwrap();
        assert!(
            store.take_turn("news", now).unwrap().is_none(),
            "another process runs it"
        );
        let begun = turn.begun();
        // As if the process died: the lock ends, and nothing was finished.
        drop(turn);
        let turn = store
            .take_turn("news", at("2026-12-05T00:00:00Z"))
            .unwrap()
            .unwrap();
        assert_eq!((turn.begun(), turn.is_again()), (begun, true));
        turn.finish(None).unwrap();
        let turn = store
            .take_turn("news", at("2026-12-05T00:00:00Z"))
            .unwrap()
            .unwrap();
        assert_eq!(turn.begun().due_at, at("2026-12-04T08:00:00Z"));
    }

    #[test]
    fn times_that_were_missed_are_caught_up_by_one_run() {
        let (_folder, store) = stored();
        let now = at("2026-12-04T12:00:00Z");
        let turn = store.take_turn("news", now).unwrap().unwrap();
        assert_eq!(turn.begun().due_at, at("2026-12-04T08:00:00Z"));
        assert_eq!(turn.begun().missed, 4);
        turn.finish(None).unwrap();
        assert!(store.take_turn("news", now).unwrap().is_none());
    }

    #[test]
    fn of_processes_that_race_for_a_time_exactly_one_gets_it() {
        let (_folder, store) = stored();
        let now = at("2026-11-30T08:00:00Z");
        let runs = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        if let Some(turn) = store.take_turn("news", now).unwrap() {
                            assert!(!turn.is_again());
                            runs.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                            turn.finish(None).unwrap();
                        }
                    }
                });
            }
        });
        assert_eq!(runs.into_inner(), 1);
    }

    #[test]
    fn a_clock_that_was_ahead_does_not_silence_a_schedule() {
        let (_folder, store) = stored();
        let wrong = at("2027-11-30T08:00:10Z");
        store
            .take_turn("news", wrong)
            .unwrap()
            .unwrap()
            .finish(None)
            .unwrap();
        let now = at("2026-11-30T09:00:00Z");
        assert!(store.list().unwrap()[0].differs_from_clock(now));
        let ahead = store.follow_clock("news", now).unwrap();
        assert_eq!(ahead, Some(at("2027-11-30T08:00:00Z")));
        assert_eq!(store.follow_clock("news", now).unwrap(), None);
        let kept = store.list().unwrap().remove(0);
        assert!(!kept.differs_from_clock(now) && !kept.may_be_due(now).unwrap());
        assert_eq!(kept.next_due().unwrap(), Some(at("2026-12-01T08:00:00Z")));
        let turn = store
            .take_turn("news", at("2026-12-01T08:00:00Z"))
            .unwrap()
            .unwrap();
        assert_eq!((turn.begun().missed, turn.schedule().ahead), (0, None));
    }

    #[test]
    fn a_clock_that_was_behind_for_a_while_lets_no_time_run_twice() {
        let (_folder, store) = stored();
        let now = at("2026-11-30T08:00:10Z");
        store
            .take_turn("news", now)
            .unwrap()
            .unwrap()
            .finish(None)
            .unwrap();
        // A machine without a clock of its own starts in 1970, and learns the time later.
        assert!(store.follow_clock("news", Timestamp(0)).unwrap().is_some());
        assert!(store.list().unwrap()[0].differs_from_clock(now));
        assert_eq!(store.follow_clock("news", now).unwrap(), None);
        assert!(store.take_turn("news", now).unwrap().is_none());
        // A step of less than a minute is none.
        let before = at("2026-11-30T07:59:30Z");
        assert!(!store.list().unwrap()[0].differs_from_clock(before));
    }

    #[test]
    fn a_run_that_was_begun_by_a_clock_that_was_ahead_is_continued() {
        let (_folder, store) = stored();
        let turn = store
            .take_turn("news", at("2027-11-30T08:00:10Z"))
            .unwrap()
            .unwrap();
        let begun = turn.begun();
        drop(turn);
        let now = at("2026-11-30T07:30:00Z");
        store.follow_clock("news", now).unwrap();
        assert!(store.list().unwrap()[0].may_be_due(now).unwrap());
        let turn = store.take_turn("news", now).unwrap().unwrap();
        assert_eq!((turn.begun(), turn.is_again()), (begun, true));
    }

    #[test]
    fn the_session_of_a_run_that_died_is_known_whatever_the_clock_did() {
        let (_folder, store) = stored();
        let now = at("2026-11-30T08:00:10Z");
        let turn = store.take_turn("news", now).unwrap().unwrap();
        let record = turn.record();
        record.note_session(&"ses_1".into()).unwrap();
        // As if the process died, after the clock was set back.
        drop(turn);
        let turn = store
            .take_turn("news", at("2026-11-30T07:30:00Z"))
            .unwrap()
            .unwrap();
        assert!(turn.is_again());
        assert_eq!(turn.schedule().begun_session, Some("ses_1".into()));
        turn.finish(Some("ses_1".into())).unwrap();
        let kept = store.list().unwrap().remove(0);
        assert_eq!(kept.begun_session, None);
        // A record of an earlier turn changes nothing any more.
        let next = store
            .take_turn("news", at("2026-12-01T08:00:00Z"))
            .unwrap()
            .unwrap();
        record.note_session(&"ses_1".into()).unwrap();
        assert_eq!(store.list().unwrap()[0].begun_session, None);
        next.finish(None).unwrap();
    }

    #[test]
    fn a_schedule_that_cannot_be_run_is_not_kept() {
        let (_folder, store) = stored();
        let refused = |change: fn(&mut Schedule)| {
            let mut wrong = schedule("other");
            change(&mut wrong);
            store.add(wrong).unwrap_err().to_string()
        };
        assert!(refused(|wrong| wrong.name = "news".into()).contains("already"));
        assert!(refused(|wrong| wrong.name = "a/b".into()).contains("only letters"));
        assert!(refused(|wrong| wrong.name = "x".repeat(41)).contains("more than 40"));
        assert!(refused(|wrong| wrong.prompt = " ".into()).contains("is empty"));
        assert!(refused(|wrong| wrong.prompt = "x".repeat(20_001)).contains("20001"));
        assert!(refused(|wrong| wrong.pattern = "0 0 30 2 *".into()).contains("matches no time"));
        assert!(refused(|wrong| wrong.zone = "Mars".into()).contains("no time zone"));
        assert_eq!(store.list().unwrap().len(), 1);
        assert!(
            store
                .remove("other")
                .unwrap_err()
                .to_string()
                .contains("there is no schedule")
        );
        store.remove("news").unwrap();
        assert!(store.list().unwrap().is_empty());
    }
}
