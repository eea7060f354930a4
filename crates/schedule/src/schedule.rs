//! A schedule: a prompt, when it is run, and how far it has come.

use agentx_types::{SessionId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{ScheduleError, Timetable};

/// Maximum number of characters of the name of a schedule.
pub const MAX_NAME_CHARS: usize = 40;
/// Maximum number of characters of its prompt.
pub const MAX_PROMPT_CHARS: usize = 20_000;
/// The number of missed times that are counted; more are "at least" so many.
pub(crate) const MOST_MISSED: u32 = 1_000;
/// The time by which a clock may be set back before recorded times count as wrong, in milliseconds: a minute.
const AHEAD_MS: u64 = 60_000;

/// A prompt that is run at set times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// The name, unique in its data directory; it is the title of the sessions.
    pub name: String,
    /// The cron pattern.
    pub pattern: String,
    /// The time zone of the pattern.
    pub zone: String,
    /// The agent of a file, or the default agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model, if it is not that of the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The prompt.
    pub prompt: String,
    /// The directory that it works in.
    pub workspace: String,
    /// The time at which it was made: earlier times do not count.
    pub created_at: Timestamp,
    /// The latest time for which it was begun, or which was passed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_due: Option<Timestamp>,
    /// The time until which times were run by a clock that was ahead, until the next run begins. If the clock
    /// reaches it before that, it had been set back by mistake, and times until then are not run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<Timestamp>,
    /// Set from before a run begins until it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<BegunTime>,
    /// The session of the run that has begun, recorded before the run gets its prompt. It is how another
    /// process finds the run, whatever the clock did meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_session: Option<SessionId>,
    /// The session of the last run that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_session: Option<SessionId>,
}

/// A time for which a schedule was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BegunTime {
    /// The time of the pattern.
    pub due_at: Timestamp,
    /// The time at which the turn was taken, by the clock of then.
    pub begun_at: Timestamp,
    /// The number of earlier times that were missed, and are not run.
    #[serde(default, skip_serializing_if = "agentx_types::is_default")]
    pub missed: u32,
}

impl Schedule {
    /// The times of its pattern.
    ///
    /// # Errors
    /// Returns an error if the pattern is none, or this machine does not know the zone.
    pub fn timetable(&self) -> Result<Timetable, ScheduleError> {
        Timetable::new(&self.pattern, &self.zone)
    }

    /// The time for which it is run next: one that has begun and not ended, or the first time after the last.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`Self::timetable`].
    pub fn next_due(&self) -> Result<Option<Timestamp>, ScheduleError> {
        match self.begun {
            Some(begun) => Ok(Some(begun.due_at)),
            None => Ok(self.timetable()?.next_after(self.counts_after())),
        }
    }

    /// Returns whether it may be due: a run has begun and not ended, or its next time is over. A run that was
    /// begun by a clock that was ahead counts, too.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`Self::timetable`].
    pub fn may_be_due(&self, now: Timestamp) -> Result<bool, ScheduleError> {
        let is_over = self.next_due()?.is_some_and(|due_at| due_at <= now);
        Ok(self.begun.is_some() || is_over)
    }

    /// Returns whether its times do not fit the clock, so that [`ScheduleStore::follow_clock`] changes them.
    ///
    /// [`ScheduleStore::follow_clock`]: crate::ScheduleStore::follow_clock
    pub fn differs_from_clock(&self, now: Timestamp) -> bool {
        let has_come = self.ahead.is_some_and(|ahead| ahead <= now);
        has_come || self.counts_after() > now.after_millis(AHEAD_MS)
    }

    /// Lets times count from now if the latest one lies ahead of the clock, and returns that one. When the
    /// clock reaches it before the next run, it counts again.
    pub(crate) fn follow_clock(&mut self, now: Timestamp) -> Option<Timestamp> {
        if let Some(ahead) = self.ahead.take_if(|ahead| *ahead <= now) {
            self.last_due = self.last_due.max(Some(ahead));
        }
        let latest = self.counts_after();
        if latest <= now.after_millis(AHEAD_MS) {
            return None;
        }
        self.ahead = self.ahead.max(Some(latest));
        self.last_due = Some(now);
        Some(latest)
    }

    /// The time for which it is due now, with the number of earlier times that were missed; `None` if it is
    /// not due.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`Self::timetable`].
    pub(crate) fn due_now(&self, now: Timestamp) -> Result<Option<BegunTime>, ScheduleError> {
        let table = self.timetable()?;
        let after = self.counts_after();
        let latest = table.latest_until(now).filter(|latest| *latest > after);
        let Some(due_at) = latest else { return Ok(None) };
        let first = table.next_after(after);
        let all = std::iter::successors(first, |last| table.next_after(*last));
        let missed = all.take_while(|time| *time < due_at).take(MOST_MISSED as usize);
        Ok(Some(BegunTime {
            due_at,
            begun_at: now,
            missed: u32::try_from(missed.count()).unwrap_or(MOST_MISSED),
        }))
    }

    /// Times until this one do not count any more.
    fn counts_after(&self) -> Timestamp {
        self.last_due.unwrap_or(self.created_at)
    }
}

/// Checks a schedule before it is kept.
///
/// # Errors
/// Returns an error if its name, its prompt, its pattern or its zone cannot be used, or it is never due.
pub fn check_schedule(schedule: &Schedule) -> Result<(), ScheduleError> {
    let refused = |what| {
        Err(ScheduleError::Name {
            name: schedule.name.clone(),
            what,
        })
    };
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_".contains(char);
    if schedule.name.is_empty() {
        return refused("it is empty");
    }
    if schedule.name.chars().count() > MAX_NAME_CHARS {
        return refused("it has more than 40 characters");
    }
    if !schedule.name.chars().all(is_plain) {
        return refused("only letters and digits of ASCII, `-` and `_` are allowed");
    }
    let what = match schedule.prompt.chars().count() {
        _ if schedule.prompt.trim().is_empty() => Some("is empty".to_owned()),
        _ if schedule.prompt.trim() == "-" => Some("cannot be read from standard input".to_owned()),
        length if length > MAX_PROMPT_CHARS => Some(format!(
            "has {length} characters; at most {MAX_PROMPT_CHARS} are allowed"
        )),
        _ => None,
    };
    if let Some(what) = what {
        return Err(ScheduleError::Prompt { what });
    }
    match schedule.next_due()? {
        Some(_) => Ok(()),
        None => Err(ScheduleError::Never {
            pattern: schedule.pattern.clone(),
        }),
    }
}
