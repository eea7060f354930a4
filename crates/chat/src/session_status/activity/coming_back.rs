//! The activity of a run that began before its session was opened here. Its first events do not come again,
//! so the activity is taken from the state of the session.

use agentx::runtime::SessionState;
use agentx::types::RunStatus;
use tokio::time::Instant;

use super::{Activity, ActivityPhase, RunClock};

impl Activity {
    /// Shows the activity of the run in this state; its duration counts from now.
    pub(crate) fn resume(&mut self, state: &SessionState, now: Instant) {
        self.tools.clear();
        let doing = match state.run.as_ref().map(|run| run.status) {
            _ if !state.pending_approvals.is_empty() => ActivityPhase::Question,
            Some(RunStatus::AwaitingTool | RunStatus::Stopping) => ActivityPhase::Tools,
            Some(status) if !status.is_final() => ActivityPhase::Asked,
            _ => ActivityPhase::Nothing,
        };
        self.run = RunClock::new(now);
        self.run.waits(doing == ActivityPhase::Question, now);
        self.turn_to(doing, now);
    }
}
