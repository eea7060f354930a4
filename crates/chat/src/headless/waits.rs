//! Waits of a run for a time (the tool `wait`): a command waits for a short one in place, and leaves a longer
//! one to the next program.

use std::time::Duration;

use agentx::runtime::{SessionState, WaitKind};
use agentx::types::{RuntimeEvent, SessionId, Timestamp};

use super::Headless;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::exit::run_failure::WAITS;
use crate::render::units;

/// The tool that waits.
const WAIT: &str = "wait";
/// The longest wait in place of a run without a limit of time.
const LONGEST: Duration = Duration::from_secs(600);

/// A command's record of the waits of its run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunWaits {
    /// The longest wait in place; by default as long as the run may take.
    pub(super) longest: Option<Duration>,
    /// Whether a call of the run has begun to wait.
    has_begun: bool,
}

impl RunWaits {
    /// Returns whether after this event the run may only wait for a time.
    pub(super) fn concern(&mut self, event: &RuntimeEvent) -> bool {
        self.has_begun |= matches!(event, RuntimeEvent::ToolExecuting(call) if call.name == WAIT);
        self.has_begun
    }

    /// Returns the time until which a session only waits, if that is too long to wait in place.
    fn too_long(self, state: &SessionState, now: Timestamp) -> Option<Timestamp> {
        let due_at = due_of(state)?;
        let limit = state.config.limits.max_wall_ms.map(Duration::from_millis);
        let longest = self.longest.or(limit).unwrap_or(LONGEST);
        (u128::from(due_at.millis_since(now)) > longest.as_millis()).then_some(due_at)
    }
}

impl Headless {
    /// Leaves the session if it only waits, and for longer than this command does.
    pub(super) fn leave_long_wait(&mut self, state: &SessionState) {
        let now = units::now();
        if let Some(due_at) = self.waits.too_long(state, now) {
            let ended = if self.prompt_waits_behind(state) {
                prompt_waits_until(self.session.id(), due_at, now)
            } else {
                waits_until(self.session.id(), due_at, now)
            };
            self.ending.left(ended);
        }
    }

    /// Returns whether the run in progress is the one from before the prompt, so that the prompt is in the
    /// queue.
    fn prompt_waits_behind(&self, state: &SessionState) -> bool {
        let current = state.run.as_ref().map(|run| &run.run_id);
        self.run.earlier.is_some() && current == self.run.earlier.as_ref()
    }

    /// The same after an event, for which the state is read.
    pub(super) async fn leave_if_waiting(&mut self) -> Result<(), ChatError> {
        let state = self.session.state().await?;
        self.leave_long_wait(&state);
        Ok(())
    }
}

/// The time at which the first wait is over, if the session does nothing else.
fn due_of(state: &SessionState) -> Option<Timestamp> {
    let mut waits = state.waits.iter().filter(|wait| wait.kind == WaitKind::Call);
    waits.next().filter(|_| state.only_waits).map(|wait| wait.due_at)
}

/// The end of a run that waits for a time: the session keeps the wait.
fn waits_until(session: &SessionId, due_at: Timestamp, now: Timestamp) -> ChatError {
    left(format!(
        "the agent waits until {}; `agentx run --session {session}` without a prompt continues it then",
        time_of(due_at, now)
    ))
}

/// The same if the prompt of this command came to a session that waits: the session keeps it too.
fn prompt_waits_until(session: &SessionId, due_at: Timestamp, now: Timestamp) -> ChatError {
    left(format!(
        "your message is in the queue and not answered yet, because the agent waits until {}; `agentx run --session {session}` without a prompt continues it then and answers your message",
        time_of(due_at, now)
    ))
}

fn left(message: String) -> ChatError {
    ChatError::Run {
        exit: Exit::Waits,
        code: WAITS.into(),
        message,
    }
}

/// Writes a time, and how far away it is.
fn time_of(due_at: Timestamp, now: Timestamp) -> String {
    let left = units::duration(due_at.millis_since(now));
    format!("{} (in {left})", due_at.rfc3339())
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx::types::ToolExecuting;

    #[test]
    fn a_run_looks_at_its_state_only_after_a_call_of_it_has_begun_to_wait() {
        let executing = |name: &str| {
            RuntimeEvent::from(ToolExecuting {
                tool_call_id: "call_1".into(),
                name: name.into(),
                input: serde_json::Value::Null,
            })
        };
        let mut waits = RunWaits::default();
        assert!(!waits.concern(&executing("bash")));
        assert!(waits.concern(&executing("wait")));
        assert!(
            waits.concern(&executing("bash")),
            "the state is read after any later call"
        );
    }

    #[test]
    fn the_end_of_a_run_that_waits_names_the_time_and_the_command_that_continues_it() {
        let now = Timestamp(1_763_629_200_000_000);
        let told = waits_until(&SessionId::new("ses_1"), now.after_millis(7_200_000), now);
        assert_eq!(told.exit(), Exit::Waits);
        let told = told.to_string();
        assert!(told.contains("2025-11-20T11:00:00Z"), "{told}");
        assert!(told.contains("agentx run --session ses_1"), "{told}");
        assert!(!told.contains("your message"), "{told}");
    }

    #[test]
    fn a_prompt_for_a_session_that_waits_is_said_to_be_kept() {
        let now = Timestamp(1_763_629_200_000_000);
        let told = prompt_waits_until(&SessionId::new("ses_1"), now.after_millis(7_200_000), now);
        assert_eq!(told.exit(), Exit::Waits);
        let told = told.to_string();
        assert!(told.contains("your message is in the queue"), "{told}");
        assert!(told.contains("2025-11-20T11:00:00Z (in 2h 00m)"), "{told}");
    }
}
