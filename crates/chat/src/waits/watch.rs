//! The watch: continues what is due, and waits for what will be, within a limit.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use agentx::runtime::{Runtime, SessionWaits};
use agentx::types::{SessionId, Timestamp};
use agentx_schedule::{ScheduleStore, ScheduleTurn};

use super::WantedRun;
use super::due_schedules::{TurnWork, note_of, note_of_clock, work_of};
use super::schedules::failed;
use super::webhook_runs::work_of_delivery;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::units;
use crate::run_result::RunResult;
use crate::terminal::console::Console;
use crate::terminal::signals::Signals;

/// The longest time between two looks: other programs leave sessions that wait.
const BETWEEN_LOOKS: Duration = Duration::from_secs(2);
/// The shortest time between two looks.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
/// The time before the first look of a server's watch: the server itself continues the sessions that it had
/// open.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// The time after which a session that could not be continued is tried again.
const AGAIN_AFTER: Duration = Duration::from_secs(600);
/// The time after which a delivery of a webhook whose session was open elsewhere is tried again.
const POSTPONED: Duration = Duration::from_secs(10);
/// The longest watch until nothing waits.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The end of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchLimit {
    /// It does what is due now.
    Once,
    /// It watches for this time.
    For(Duration),
    /// It watches until no session waits any more, for at most this time; by default a day.
    UntilEmpty(Option<Duration>),
    /// It watches until the program is stopped.
    UntilStopped,
}

impl WatchLimit {
    /// The time that is left at the beginning; `None` if there is no limit.
    fn longest(self) -> Option<Duration> {
        match self {
            Self::Once => Some(Duration::ZERO),
            Self::For(time) => Some(time),
            Self::UntilEmpty(time) => Some(time.unwrap_or(LONGEST)),
            Self::UntilStopped => None,
        }
    }
}

/// Continues sessions and schedules that are due, and runs deliveries of webhooks, each by `run`, until the
/// limit. Returns the exit code of the first run that failed, or of the signal that ended the watch.
///
/// # Errors
/// Returns an error if the sessions or the schedules cannot be read, or the output cannot be written.
pub async fn watch(
    runtime: &dyn Runtime,
    store: &ScheduleStore,
    limit: WatchLimit,
    run: impl AsyncFnMut(WantedRun, &mut Console) -> Result<RunResult, ChatError>,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let mut watch = WaitWatch {
        runtime,
        store,
        run,
        tried: BTreeMap::new(),
        postponed: BTreeMap::new(),
        first_failure: None,
    };
    let mut signals = Signals::listen()?;
    let end = limit.longest().map(|longest| Instant::now() + longest);
    let mut pause = match limit {
        WatchLimit::UntilStopped => FIRST_LOOK,
        _ => Duration::ZERO,
    };
    loop {
        // A signal during a run has ended that run; nothing more begins then.
        tokio::select! {
            biased;
            exit = signals.next() => return Ok(exit),
            () = tokio::time::sleep(pause) => {}
        }
        let found = runtime.waits().await?;
        if watch.fire_session(&found, console).await?
            || watch.fire_schedule(console).await?
            || watch.fire_delivery(console).await?
        {
            pause = Duration::ZERO;
            continue;
        }
        let is_over = end.is_some_and(|end| Instant::now() >= end);
        let is_empty = matches!(limit, WatchLimit::UntilEmpty(_)) && found.is_empty();
        if is_over || is_empty {
            return Ok(watch.first_failure.unwrap_or(Exit::Ok));
        }
        pause = watch.pause(&found, end)?;
    }
}

struct WaitWatch<'a, R> {
    runtime: &'a dyn Runtime,
    store: &'a ScheduleStore,
    run: R,
    /// The sessions that were tried, each with its last event then and the time.
    tried: BTreeMap<SessionId, (u64, Instant)>,
    /// The deliveries of webhooks whose session another process had, each with the time.
    postponed: BTreeMap<String, Instant>,
    first_failure: Option<Exit>,
}

impl<R> WaitWatch<'_, R>
where
    R: AsyncFnMut(WantedRun, &mut Console) -> Result<RunResult, ChatError>,
{
    /// Continues the first session that is due. Returns whether one was continued.
    async fn fire_session(
        &mut self,
        found: &[SessionWaits],
        console: &mut Console,
    ) -> Result<bool, ChatError> {
        for of in found {
            let now = units::now();
            let is_due = of.waits.first().is_some_and(|wait| wait.due_at <= now);
            if !is_due || of.session.writer.is_some() || self.was_tried(of) {
                continue;
            }
            let session = &of.session.session_id;
            self.tried
                .insert(session.clone(), (of.session.last_seq, Instant::now()));
            console.say(&format!("· the wait of {session} is over\n"));
            let ended = (self.run)(WantedRun::of_session(session.as_str()), console).await;
            if self.ended(session.as_str(), ended, console)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether a session was tried lately, and nothing has happened in it since.
    fn was_tried(&self, of: &SessionWaits) -> bool {
        let tried = self.tried.get(&of.session.session_id);
        tried.is_some_and(|(seq, at)| *seq == of.session.last_seq && at.elapsed() < AGAIN_AFTER)
    }

    /// Runs the first schedule that is due. Returns whether one was run.
    async fn fire_schedule(&mut self, console: &mut Console) -> Result<bool, ChatError> {
        for schedule in self.store.list().map_err(failed)? {
            let now = units::now();
            if schedule.differs_from_clock(now)
                && let Some(ahead) = self.store.follow_clock(&schedule.name, now).map_err(failed)?
            {
                console.say(&note_of_clock(&schedule.name, ahead));
            }
            let is_due = schedule.may_be_due(now).unwrap_or_else(|error| {
                tracing::warn!(schedule = %schedule.name, %error, "cannot be run");
                false
            });
            if is_due && let Some(turn) = self.store.take_turn(&schedule.name, now).map_err(failed)? {
                console.say(&note_of(&turn));
                self.take(turn, console).await?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Does the work of a turn, and ends the turn.
    async fn take(&mut self, turn: ScheduleTurn, console: &mut Console) -> Result<(), ChatError> {
        let session = match work_of(&turn, self.runtime).await? {
            TurnWork::Done(session) => Some(session),
            TurnWork::Run(wanted) => {
                let ended = (self.run)(wanted, console).await;
                let ended = self.ended(&turn.schedule().name, ended, console)?;
                ended.and_then(|result| result.session_id)
            }
        };
        turn.finish(session).map_err(failed)
    }

    /// Runs the first delivery of a webhook that waits. Returns whether one was run.
    async fn fire_delivery(&mut self, console: &mut Console) -> Result<bool, ChatError> {
        let inbox = self.store.deliveries();
        self.postponed.retain(|_, at| at.elapsed() < POSTPONED);
        for delivery in inbox.pending().map_err(failed)? {
            if self.postponed.contains_key(&delivery.key) {
                continue;
            }
            let Some(turn) = inbox.take_turn(&delivery.key, units::now()).map_err(failed)? else {
                continue;
            };
            let name = delivery.title();
            console.say(&format!("· the webhook {name} was called\n"));
            let ended = match work_of_delivery(&turn, self.runtime).await {
                Ok(TurnWork::Done(session)) => Some(Some(session)),
                Ok(TurnWork::Run(wanted)) => {
                    let ended = (self.run)(wanted, console).await;
                    self.ended(&name, ended, console)?.map(|result| result.session_id)
                }
                Err(error) => {
                    let failed = Err(ChatError::from(error));
                    self.ended(&name, failed, console)?
                        .map(|result| result.session_id)
                }
            };
            match ended {
                Some(session) => {
                    turn.finish(session).map_err(failed)?;
                    return Ok(true);
                }
                // Its session is open elsewhere: the turn ends, and it is tried again later.
                None => self.postponed.insert(delivery.key, Instant::now()),
            };
        }
        Ok(false)
    }

    /// Reports the end of a run of this session or schedule. `None` if it did not begin: another process was
    /// first.
    fn ended(
        &mut self,
        name: &str,
        ended: Result<RunResult, ChatError>,
        console: &mut Console,
    ) -> Result<Option<RunResult>, ChatError> {
        let result = match ended {
            Err(ChatError::ClosedOutput) => return Err(ChatError::ClosedOutput),
            Err(error) => RunResult::failed(error),
            Ok(result) => result,
        };
        match &result.error {
            Some(error) if error.kind() == BUSY => return Ok(None),
            // It waits again: that is not a failure.
            Some(error) if error.exit() == Exit::Waits => console.say(&format!("· {name}: {error}\n")),
            Some(error) => {
                console.say(&format!("· {name} failed:\n"));
                console.complain(error);
                self.first_failure.get_or_insert(error.exit());
            }
            None => {}
        }
        Ok(Some(result))
    }

    /// The time until the next look.
    fn pause(&self, found: &[SessionWaits], end: Option<Instant>) -> Result<Duration, ChatError> {
        let now = units::now();
        let waits = found
            .iter()
            .flat_map(|of| of.waits.iter().map(|wait| wait.due_at));
        let schedules = self.store.list().map_err(failed)?;
        let times = schedules
            .iter()
            .filter_map(|schedule| schedule.next_due().ok().flatten());
        let next = waits.chain(times).filter(|due_at| *due_at > now).min();
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        Ok(shortest(next, now)
            .min(left.unwrap_or(BETWEEN_LOOKS))
            .max(SHORTEST_PAUSE))
    }
}

/// The kind of the error of a session that another process writes.
const BUSY: &str = "session_busy";

/// The time until what is due next, at most that between two looks.
fn shortest(next: Option<Timestamp>, now: Timestamp) -> Duration {
    next.map_or(BETWEEN_LOOKS, |next| {
        Duration::from_millis(next.millis_since(now).saturating_add(1)).min(BETWEEN_LOOKS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_looks_when_something_is_due_and_from_time_to_time() {
        let now = Timestamp(1_000_000);
        assert_eq!(shortest(None, now), BETWEEN_LOOKS);
        assert_eq!(
            shortest(Some(now.after_millis(500)), now),
            Duration::from_millis(501)
        );
        assert_eq!(shortest(Some(now.after_millis(3_600_000)), now), BETWEEN_LOOKS);
    }

    #[test]
    fn every_watch_but_that_of_a_server_has_a_limit() {
        assert_eq!(WatchLimit::Once.longest(), Some(Duration::ZERO));
        assert_eq!(WatchLimit::UntilEmpty(None).longest(), Some(LONGEST));
        assert_eq!(WatchLimit::UntilStopped.longest(), None);
    }
}
