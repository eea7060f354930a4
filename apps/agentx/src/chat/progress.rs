//! What is being waited for and since when, and how the session stands: one row, from the events and a clock that is given.

use agentx::runtime::SessionState;
use agentx::types::{NanoUsd, RuntimeEvent, ToolCallId};
use tokio::time::{Duration, Instant};

use crate::render::clean::visible;
use crate::render::style::Style;
use crate::render::units;

/// How often the row moves while something is waited for.
pub(crate) const TICK: Duration = Duration::from_secs(1);
/// After a run of this length its end is told with a sound.
const LONG: Duration = Duration::from_secs(20);
/// One of these is shown after the other.
const TURNING: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// What goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// Nothing.
    Nothing,
    /// The model was asked.
    Asked,
    /// The model thinks aloud.
    Thinks,
    /// The model answers.
    Answers,
    /// Tools run.
    Tools,
    /// A person is asked.
    Question,
}

/// Where a session stands.
#[derive(Debug)]
pub(crate) struct Progress {
    model: String,
    window: u64,
    filled: u64,
    cost: NanoUsd,
    doing: Doing,
    since: Instant,
    run_since: Instant,
    /// What was spent has changed since it was asked for.
    stale: bool,
    /// Calls that run, with their names.
    tools: Vec<(ToolCallId, String)>,
}

impl Progress {
    /// Before anything was said to this model.
    pub(crate) fn new(model: &agentx::types::ModelSpec, now: Instant) -> Self {
        Self {
            model: visible(&model.id),
            window: model.context_window,
            filled: 0,
            cost: NanoUsd::default(),
            doing: Doing::Nothing,
            since: now,
            run_since: now,
            stale: false,
            tools: Vec::new(),
        }
    }

    /// Takes over how the session stands.
    pub(crate) fn stands(&mut self, state: &SessionState) {
        self.model = visible(&state.config.model.id);
        self.window = state.config.model.context_window;
        self.filled = state.context_tokens;
        self.cost = state.cost;
        self.stale = false;
    }

    /// Whether a run has ended since the session was asked how it stands.
    pub(crate) fn is_stale(&self) -> bool {
        self.stale
    }

    /// Takes an event.
    pub(crate) fn event(&mut self, event: &RuntimeEvent, now: Instant) {
        match event {
            RuntimeEvent::RunStarted(_) => {
                self.run_since = now;
                self.tools.clear();
                self.turn_to(Doing::Asked, now);
            }
            RuntimeEvent::ThinkingDelta(_) => self.turn_to(Doing::Thinks, now),
            RuntimeEvent::TextDelta(_) => self.turn_to(Doing::Answers, now),
            RuntimeEvent::ToolExecuting(call) => {
                if self.tools.is_empty() {
                    self.turn_to(Doing::Tools, now);
                }
                self.tools.push((call.tool_call_id.clone(), visible(&call.name)));
            }
            RuntimeEvent::ToolCompleted(done) => self.tool_done(&done.tool_call_id, now),
            RuntimeEvent::ToolFailed(failed) => self.tool_done(&failed.tool_call_id, now),
            RuntimeEvent::ApprovalRequested(_) => self.turn_to(Doing::Question, now),
            RuntimeEvent::RunFinished(_) => {
                self.stale = true;
                self.turn_to(Doing::Nothing, now);
            }
            _ => {}
        }
    }

    fn tool_done(&mut self, id: &ToolCallId, now: Instant) {
        self.tools.retain(|(call, _)| call != id);
        if self.tools.is_empty() {
            self.turn_to(Doing::Asked, now);
        }
    }

    fn turn_to(&mut self, doing: Doing, now: Instant) {
        if self.doing != doing {
            (self.doing, self.since) = (doing, now);
        }
    }

    /// Whether time itself changes the row.
    pub(crate) fn moves(&self) -> bool {
        !matches!(self.doing, Doing::Nothing | Doing::Question)
    }

    /// Whether the run that has just ended took so long that the person may be elsewhere.
    pub(crate) fn took_long(&self, now: Instant) -> bool {
        now.duration_since(self.run_since) >= LONG
    }

    /// The row; empty before anything was said.
    pub(crate) fn row(&self, now: Instant, style: Style) -> String {
        let seconds = now.duration_since(self.since).as_secs();
        let what = match self.doing {
            Doing::Nothing if self.filled == 0 => return String::new(),
            Doing::Nothing | Doing::Question => return style.dim(&self.stand()),
            Doing::Asked => format!("waiting for {}", self.model),
            Doing::Thinks => format!("{} thinks", self.model),
            Doing::Answers => format!("{} answers", self.model),
            Doing::Tools => format!(
                "{} {}",
                self.names(),
                if self.tools.len() > 1 { "run" } else { "runs" }
            ),
        };
        let turning = TURNING[(seconds % 10) as usize];
        let time = units::duration((seconds * 1000).max(1000)).replace(".0s", "s");
        style.dim(&format!("{turning} {what} · {time} · Esc stops"))
    }

    fn names(&self) -> String {
        let mut names: Vec<String> = Vec::new();
        for (_, name) in &self.tools {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names.join(", ")
    }

    fn stand(&self) -> String {
        let full = self.filled.saturating_mul(100) / self.window.max(1);
        format!(
            "{} · {}/{} ({full} %) · {}",
            self.model,
            units::count(self.filled),
            units::count(self.window),
            units::money(self.cost),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx::types::{MessageId, RunFinished, RunId, RunStarted, RunStatus, TextDelta, ToolExecuting};

    fn model() -> agentx::types::ModelSpec {
        agentx::agent::fixtures::config().model
    }

    #[test]
    fn it_says_what_is_waited_for_and_since_when() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut progress = Progress::new(&model(), begin);
        let name = progress.model.clone();
        let row = |progress: &Progress, seconds| progress.row(at(seconds), Style::default());
        assert_eq!(
            row(&progress, 0),
            "",
            "before anything was said there is nothing to tell"
        );
        let run_id = RunId::new("run_1");
        let started = RunStarted {
            run_id: run_id.clone(),
            message_id: MessageId::new("msg_1"),
        };
        progress.event(&started.into(), at(0));
        assert_eq!(
            row(&progress, 3),
            format!("⠸ waiting for {name} · 3s · Esc stops")
        );
        let call = ToolExecuting {
            tool_call_id: ToolCallId::new("c1"),
            name: "bash".into(),
            input: serde_json::Value::Null,
        };
        progress.event(&call.into(), at(4));
        assert_eq!(row(&progress, 5), "⠙ bash runs · 1s · Esc stops");
        progress.event(&TextDelta { text: "It".into() }.into(), at(6));
        assert!(row(&progress, 6).contains("answers"));
        assert!(progress.moves() && !progress.is_stale());
        let end = RunFinished {
            run_id,
            status: RunStatus::Completed,
            reason: None,
            iterations: 1,
        };
        progress.event(&end.into(), at(30));
        assert!(!progress.moves() && progress.is_stale() && progress.took_long(at(30)));
    }
}
