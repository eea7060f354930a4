//! What is being waited for and since when, beside how the session stands: one row, from the events and a clock that is given.

use agentx::runtime::SessionState;
use agentx::types::{AgentConfig, ContextChange, RuntimeEvent, ToolCallId, Usage};
use agentx_terminal::Row;
use tokio::time::{Duration, Instant};
use unicode_width::UnicodeWidthStr as _;

use super::status::Stand;
use crate::render::clean::visible;
use crate::render::style::Style;
use crate::render::units;

/// How often the row moves while something is waited for.
pub(crate) const TICK: Duration = Duration::from_secs(1);
/// Between what is waited for and how things stand.
const BESIDE: &str = "   ";
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
    /// The model writes down what it wants of a tool.
    Plans,
    /// An attempt failed, and the next one waits.
    Waits,
    /// Tools run.
    Tools,
    /// A summary is written.
    Condenses,
    /// A person is asked.
    Question,
}

/// What goes on in a session.
#[derive(Debug)]
pub(crate) struct Progress {
    stand: Stand,
    doing: Doing,
    since: Instant,
    run_since: Instant,
    /// Whether a run is under way.
    runs: bool,
    /// How long runs took that are over.
    worked: Duration,
    /// What was spent may be other than was counted here.
    stale: bool,
    /// Calls that run, with their names.
    tools: Vec<(ToolCallId, String)>,
}

impl Progress {
    /// Before anything was said to this agent.
    pub(crate) fn new(config: &AgentConfig, now: Instant) -> Self {
        let mut progress = Self {
            stand: Stand::default(),
            doing: Doing::Nothing,
            since: now,
            run_since: now,
            runs: false,
            worked: Duration::ZERO,
            stale: false,
            tools: Vec::new(),
        };
        progress.configured(config);
        progress
    }

    fn configured(&mut self, config: &AgentConfig) {
        let model = &config.model;
        self.stand.model = visible(&model.id);
        self.stand.window = model.context_window;
        self.stand.prices = model.prices;
        self.stand.workspace = visible(&config.workspace);
    }

    /// Takes over how the session stands.
    pub(crate) fn stands(&mut self, state: &SessionState) {
        self.configured(&state.config);
        self.stand.filled = state.context_tokens;
        self.stand.usage = state.usage;
        self.stand.cost = state.cost;
        if let Some(run) = &state.run {
            self.stand.iterations = run.iterations;
        }
        self.stale = false;
    }

    /// Whether a run has ended since the session was asked how it stands.
    pub(crate) fn is_stale(&self) -> bool {
        self.stale
    }

    /// How the session stands.
    pub(crate) fn stand(&self, session: &str) -> Stand {
        let mut stand = self.stand.clone();
        session.clone_into(&mut stand.session);
        stand.worked = self.worked;
        stand
    }

    /// Takes an event. Of other agents than the one that people talk to, only what they ask and spend counts.
    pub(crate) fn event(&mut self, event: &RuntimeEvent, is_of_another: bool, now: Instant) {
        match event {
            RuntimeEvent::ApprovalRequested(_) => self.turn_to(Doing::Question, now),
            RuntimeEvent::ToolCallAnswered(_) if self.doing == Doing::Question => self.goes_on(now),
            RuntimeEvent::MessageStop(stop) => self.spent(&stop.usage, is_of_another),
            RuntimeEvent::ToolExecuting(_) if is_of_another && self.doing == Doing::Question => {
                self.goes_on(now)
            }
            _ if is_of_another => {}
            RuntimeEvent::RunStarted(_) => {
                self.run_since = now;
                self.runs = true;
                self.tools.clear();
                self.stand.iterations = 0;
                self.turn_to(Doing::Asked, now);
            }
            RuntimeEvent::RunStatusChanged(run) => self.stand.iterations = run.iterations,
            RuntimeEvent::MessageStart(_) if self.doing == Doing::Waits => self.turn_to(Doing::Asked, now),
            RuntimeEvent::ThinkingDelta(_) => self.turn_to(Doing::Thinks, now),
            RuntimeEvent::TextDelta(_) => self.turn_to(Doing::Answers, now),
            RuntimeEvent::ToolPlanned(_) => self.turn_to(Doing::Plans, now),
            RuntimeEvent::ToolExecuting(call) => {
                self.tools.push((call.tool_call_id.clone(), visible(&call.name)));
                self.turn_to(Doing::Tools, now);
            }
            RuntimeEvent::ToolCompleted(done) => self.tool_done(&done.tool_call_id, now),
            RuntimeEvent::ToolFailed(failed) => self.tool_done(&failed.tool_call_id, now),
            RuntimeEvent::ErrorRaised(error) if error.retry_in_ms.is_some() => {
                self.turn_to(Doing::Waits, now)
            }
            RuntimeEvent::ContextChanged(changed) => self.context(&changed.change, now),
            RuntimeEvent::RunFinished(_) => {
                self.runs = false;
                self.stale = true;
                self.worked += now.duration_since(self.run_since);
                self.turn_to(Doing::Nothing, now);
            }
            _ => {}
        }
    }

    fn spent(&mut self, usage: &Usage, is_of_another: bool) {
        if !is_of_another {
            self.stand.filled = usage.context_tokens();
        }
        self.stand.cost += self.stand.prices.cost(usage);
        self.stand.usage += *usage;
    }

    fn tool_done(&mut self, id: &ToolCallId, now: Instant) {
        self.tools.retain(|(call, _)| call != id);
        if self.tools.is_empty() && self.doing != Doing::Question {
            self.turn_to(Doing::Asked, now);
        }
    }

    fn context(&mut self, change: &ContextChange, now: Instant) {
        match change {
            ContextChange::Condensing(_) => self.turn_to(Doing::Condenses, now),
            ContextChange::Condensed(_) | ContextChange::Failed { .. } | ContextChange::Restored(_) => {
                self.stale = true;
                if self.doing == Doing::Condenses {
                    let next = if self.runs { Doing::Asked } else { Doing::Nothing };
                    self.turn_to(next, now);
                }
            }
        }
    }

    /// A question is answered.
    fn goes_on(&mut self, now: Instant) {
        let doing = if self.tools.is_empty() {
            Doing::Asked
        } else {
            Doing::Tools
        };
        self.turn_to(doing, now);
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

    /// How long the run takes, or took, that began last.
    pub(crate) fn run_time(&self, now: Instant) -> Duration {
        now.duration_since(self.run_since)
    }

    /// What is waited for and since when; `None` where nothing is. `more` is said besides.
    pub(crate) fn waits_for(&self, now: Instant, more: Option<&str>) -> Option<String> {
        let seconds = now.duration_since(self.since).as_secs();
        let model = &self.stand.model;
        let what = match self.doing {
            Doing::Nothing | Doing::Question => return None,
            Doing::Asked => format!("waiting for {model}"),
            Doing::Thinks => format!("{model} thinks"),
            Doing::Answers => format!("{model} answers"),
            Doing::Plans => format!("{model} asks for a tool"),
            Doing::Waits => format!("{model} failed and is asked again"),
            Doing::Condenses => "condensing what was said before".to_owned(),
            Doing::Tools if self.tools.len() > 1 => format!("{} run", self.names()),
            Doing::Tools => format!("{} runs", self.names()),
        };
        let time = units::duration((seconds * 1000).max(1000)).replace(".0s", "s");
        let more = more.map(|more| format!(" · {more}")).unwrap_or_default();
        Some(format!("{what} · {time}{more}"))
    }

    /// The row: what is waited for, and beside it, where there is room, how things stand. Empty before anything was said.
    pub(crate) fn row(
        &self,
        now: Instant,
        more: Option<&str>,
        (stand, columns): (&str, usize),
        style: Style,
    ) -> String {
        let Some(what) = self.waits_for(now, more) else {
            return match self.doing {
                Doing::Nothing if self.stand.filled == 0 && self.worked.is_zero() => String::new(),
                _ => dimmed(stand, style),
            };
        };
        let seconds = now.duration_since(self.since).as_secs();
        let turning = TURNING[(seconds % 10) as usize];
        let mut row = format!("{turning} {what} · Esc stops");
        if row.width() > columns
            && let Some(what) = self.waits_for(now, None)
        {
            // How it is stopped is worth more than what is said besides.
            row = format!("{turning} {what} · Esc stops");
        }
        let plain: String = Row::from_ansi(stand).text();
        match row.width() + BESIDE.len() + plain.width() <= columns && !plain.is_empty() {
            true => format!("{}{}", style.dim(&format!("{row}{BESIDE}")), dimmed(stand, style)),
            false => style.dim(&row),
        }
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
}

/// Faint, but for the looks that it has by itself.
fn dimmed(text: &str, style: Style) -> String {
    match text.contains('\u{1b}') {
        true if style.color => text.to_owned(),
        true => Row::from_ansi(text).text(),
        false => style.dim(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx::types::{
        MessageId, MessageStop, RunFinished, RunId, RunStarted, RunStatus, StopReason, TextDelta,
        ToolExecuting,
    };

    #[test]
    fn it_says_what_is_waited_for_and_since_when() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut progress = Progress::new(&agentx::agent::fixtures::config(), begin);
        let name = progress.stand.model.clone();
        let row = |progress: &Progress, seconds, columns| {
            progress.row(at(seconds), None, ("opus · 12 %", columns), Style::default())
        };
        assert_eq!(
            row(&progress, 0, 80),
            "",
            "before anything was said there is nothing to tell"
        );
        let run_id = RunId::new("run_1");
        let started = RunStarted {
            run_id: run_id.clone(),
            message_id: MessageId::new("msg_1"),
        };
        progress.event(&started.into(), false, at(0));
        assert_eq!(
            row(&progress, 3, 40),
            format!("⠸ waiting for {name} · 3s · Esc stops")
        );
        assert!(row(&progress, 3, 80).ends_with(" · Esc stops   opus · 12 %"));
        let narrow = progress.row(at(3), Some("8 words"), ("", 40), Style::default());
        assert!(narrow.ends_with(" · 3s · Esc stops"), "{narrow}");
        let call = |id: &str, name: &str| ToolExecuting {
            tool_call_id: ToolCallId::new(id),
            name: name.into(),
            input: serde_json::Value::Null,
        };
        progress.event(&call("c1", "bash").into(), false, at(4));
        assert_eq!(row(&progress, 5, 30), "⠙ bash runs · 1s · Esc stops");
        progress.event(&call("c2", "grep").into(), false, at(4));
        progress.event(&call("c3", "read").into(), true, at(4));
        assert_eq!(row(&progress, 5, 30), "⠙ bash, grep run · 1s · Esc stops");
        progress.event(&TextDelta { text: "It".into() }.into(), true, at(6));
        assert!(
            row(&progress, 6, 30).contains("bash, grep"),
            "what another agent says is not what is waited for"
        );
        progress.event(&TextDelta { text: "It".into() }.into(), false, at(6));
        assert!(row(&progress, 6, 30).contains("answers"));
        assert!(progress.moves() && !progress.is_stale());
        let end = RunFinished {
            run_id,
            status: RunStatus::Completed,
            reason: None,
            iterations: 1,
        };
        progress.event(&end.into(), false, at(30));
        assert!(!progress.moves() && progress.is_stale());
        assert_eq!(progress.run_time(at(30)), Duration::from_secs(30));
        assert_eq!(row(&progress, 40, 80), "opus · 12 %");
        assert_eq!(progress.stand("ses_1").worked, Duration::from_secs(30));
    }

    #[test]
    fn what_was_spent_is_counted_as_it_is() {
        let mut progress = Progress::new(&agentx::agent::fixtures::config(), Instant::now());
        progress.stand.prices.output = 15_000;
        let stop = |output_tokens| MessageStop {
            message_id: MessageId::new("msg_1"),
            stop_reason: StopReason::EndTurn,
            usage: Usage {
                output_tokens,
                ..Usage::default()
            },
        };
        progress.event(&stop(1_000).into(), false, Instant::now());
        progress.event(&stop(500).into(), true, Instant::now());
        assert_eq!(
            progress.stand.filled, 1_000,
            "the window is that of the agent that people talk to"
        );
        assert_eq!(progress.stand.usage.output_tokens, 1_500);
        assert_eq!(progress.stand.cost.0, 22_500_000);
    }
}
