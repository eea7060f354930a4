//! The current activity, its duration and the spending: one row, from events and the caller's clock.

mod answering_model;
mod coming_back;
mod run_clock;
mod tool_names;

use agentx::runtime::SessionState;
use agentx::types::{
    AgentConfig, ApprovalMode, ContextChange, NanoUsd, Prices, RunStatus, RuntimeEvent, SessionChange,
    ToolCallId, Usage,
};
use agentx_terminal::Row;
use tokio::time::{Duration, Instant};
use unicode_width::UnicodeWidthStr as _;

use super::summary::StatusSummary;
use crate::demo::is_demo;
use crate::render::{clean::visible, style::AnsiStyle, units};
use answering_model::AnsweringModel;
use run_clock::RunClock;

/// The interval at which the row changes during an activity.
pub(crate) const TICK: Duration = Duration::from_secs(1);
/// The time without output after which an answering model counts as silent.
const SILENT: Duration = Duration::from_secs(10);
/// The blanks between the activity and the figures of the session.
const BESIDE: &str = "   ";
/// The frames of the spinner, one after the other.
const TURNING: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// The present activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ActivityPhase {
    Nothing,
    Asked,
    Thinks,
    Answers,
    /// The model writes the arguments of a tool call.
    Plans,
    /// An attempt failed, and the next one waits.
    Waits,
    Tools,
    /// A model writes a summary of the conversation.
    Condenses,
    Question,
}

/// The facts about an event and the session after it that the activity depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventContext {
    pub(super) is_of_another: bool,
    pub(super) is_running: bool,
    pub(super) has_question: bool,
}

/// The activity of a session, and its spending.
#[derive(Clone, Debug)]
pub(crate) struct Activity {
    summary: StatusSummary,
    doing: ActivityPhase,
    since: Instant,
    /// The time of the model's latest output.
    spoke: Instant,
    run: RunClock,
    model: AnsweringModel,
    /// Prices of the fallback model, if one took over the current answer.
    answer_prices: Option<Prices>,
    /// The time at which a model that failed is called again.
    next_attempt: Instant,
    /// The working time of the finished runs.
    worked: Duration,
    /// Whether the spending may differ from the count here.
    stale: bool,
    /// Calls that run, with their names.
    tools: Vec<(ToolCallId, String)>,
}

impl Activity {
    /// Returns the activity of an agent before its first message.
    pub(crate) fn new(config: &AgentConfig, now: Instant) -> Self {
        let mut activity = Self {
            summary: StatusSummary::default(),
            doing: ActivityPhase::Nothing,
            since: now,
            spoke: now,
            model: AnsweringModel::default(),
            answer_prices: None,
            next_attempt: now,
            run: RunClock::new(now),
            worked: Duration::ZERO,
            stale: false,
            tools: Vec::new(),
        };
        activity.configure(config);
        activity
    }

    /// The agent is this one, or has changed.
    pub(crate) fn configure(&mut self, config: &AgentConfig) {
        let model = &config.model;
        let is_asked = matches!(
            self.doing,
            ActivityPhase::Asked | ActivityPhase::Thinks | ActivityPhase::Answers | ActivityPhase::Plans
        );
        self.model.choose(&model.id, is_asked);
        self.summary.model.name = visible(&model.id);
        self.summary.model.provider.clone_from(&model.provider);
        self.summary.model.window = model.context_window;
        self.summary.model.prices = model.prices;
        self.summary.spending.max_cost = config.limits.max_cost;
        self.summary.place.workspace = visible(&config.workspace);
        self.summary.decisions.approval = crate::session_opening::who_decides(config);
        self.summary.decisions.plan_mode = config.plan_mode == Some(true);
        self.summary.decisions.read_only = config.guard.as_ref().is_some_and(|guard| guard.read_only);
    }

    /// Returns who decides about calls that no rule covers.
    pub(crate) fn approval(&self) -> ApprovalMode {
        self.summary.decisions.approval
    }

    /// Returns whether plan mode is on.
    pub(crate) fn is_planning(&self) -> bool {
        self.summary.decisions.plan_mode
    }

    /// Replaces the figures by those that the runtime reports.
    pub(crate) fn update(&mut self, state: &SessionState) {
        self.configure(&state.config);
        self.summary.model.filled = state.context_tokens;
        self.summary.spending.usage = state.usage;
        self.summary.spending.cost = state.cost;
        if let Some(run) = &state.run {
            self.summary.spending.iterations = run.iterations;
        }
        self.stale = false;
    }

    /// Returns whether the figures counted here may differ from the runtime's, because a run has ended since.
    pub(crate) fn is_stale(&self) -> bool {
        self.stale
    }

    /// The figures, for the session of this name.
    pub(crate) fn summary(&self, session: &str) -> StatusSummary {
        let mut summary = self.summary.clone();
        session.clone_into(&mut summary.place.session);
        summary.spending.worked = self.worked;
        summary
    }

    /// Returns whether the prices of the model are unknown, and the limit of a run's cost.
    pub(crate) fn money(&self) -> (bool, Option<NanoUsd>) {
        (self.summary.has_no_price(), self.summary.spending.max_cost)
    }

    /// Updates the activity by an event; `standing` describes the session after it. From agents other than
    /// the one that people talk to, only questions and spending count.
    pub(super) fn event(&mut self, event: &RuntimeEvent, standing: EventContext, now: Instant) {
        let is_of_another = standing.is_of_another;
        match event {
            RuntimeEvent::ApprovalRequested(_) => self.turn_to(ActivityPhase::Question, now),
            RuntimeEvent::ToolCallAnswered(_) | RuntimeEvent::ApprovalSettled(_) => {
                self.decided(standing, now);
            }
            RuntimeEvent::MessageStop(stop) => {
                self.spent(&stop.usage, is_of_another);
                if !is_of_another {
                    self.model.ended();
                }
            }
            RuntimeEvent::ToolExecuting(_) if is_of_another => self.decided(standing, now),
            _ if is_of_another => {}
            RuntimeEvent::RunStarted(_) => {
                self.run = RunClock::new(now);
                self.tools.clear();
                self.summary.spending.iterations = 0;
                self.turn_to(ActivityPhase::Asked, now);
            }
            RuntimeEvent::RunStatusChanged(run) => {
                self.summary.spending.iterations = run.iterations;
                self.run.waits(run.status == RunStatus::AwaitingApproval, now);
            }
            RuntimeEvent::MessageStart(start) => {
                self.model.answers(&start.model);
                if self.doing == ActivityPhase::Waits {
                    self.turn_to(ActivityPhase::Asked, now);
                }
            }
            RuntimeEvent::FallbackAnswers(fallback) => {
                self.model.answers(&fallback.model);
                self.answer_prices = fallback.prices.as_deref().copied();
            }
            RuntimeEvent::ThinkingDelta(_) => self.speaks(ActivityPhase::Thinks, now),
            RuntimeEvent::TextDelta(_) => self.speaks(ActivityPhase::Answers, now),
            RuntimeEvent::ToolPlanned(_) => self.turn_to(ActivityPhase::Plans, now),
            RuntimeEvent::ToolExecuting(call) => {
                self.tools.push((call.tool_call_id.clone(), visible(&call.name)));
                self.turn_to(ActivityPhase::Tools, now);
            }
            RuntimeEvent::ToolCompleted(done) => self.tool_done(&done.tool_call_id, standing, now),
            RuntimeEvent::ToolFailed(failed) => self.tool_done(&failed.tool_call_id, standing, now),
            RuntimeEvent::ErrorRaised(error) => {
                if let Some(wait) = error.retry_in_ms {
                    self.next_attempt = now + Duration::from_millis(wait);
                    self.turn_to(ActivityPhase::Waits, now);
                }
            }
            RuntimeEvent::ContextChanged(changed) => self.context(&changed.change, standing, now),
            RuntimeEvent::SessionUpdated(updated) => {
                self.stale |= matches!(updated.change, SessionChange::Config(_));
            }
            RuntimeEvent::RunFinished(_) => {
                self.stale = true;
                self.stop(true, now);
            }
            _ => {}
        }
    }

    /// Ends the activity; `was_running` means that a run was active.
    pub(super) fn stop(&mut self, was_running: bool, now: Instant) {
        if was_running {
            self.worked += self.run.time(now);
        }
        self.model.ended();
        self.tools.clear();
        self.turn_to(ActivityPhase::Nothing, now);
    }

    fn spent(&mut self, usage: &Usage, is_of_another: bool) {
        if !is_of_another {
            self.summary.model.filled = usage.context_tokens();
        }
        let prices = self.answer_prices.take().unwrap_or(self.summary.model.prices);
        self.summary.spending.cost += prices.cost(usage);
        self.summary.spending.usage += if is_demo(&self.summary.model.name) {
            *usage
        } else {
            prices.marked(*usage)
        };
    }

    fn tool_done(&mut self, id: &ToolCallId, standing: EventContext, now: Instant) {
        self.tools.retain(|(call, _)| call != id);
        if self.doing != ActivityPhase::Question {
            self.choose_next_phase(standing, now);
        }
    }

    /// A call is decided about, or has ended.
    fn decided(&mut self, standing: EventContext, now: Instant) {
        if self.doing == ActivityPhase::Question {
            self.choose_next_phase(standing, now);
        }
    }

    fn context(&mut self, change: &ContextChange, standing: EventContext, now: Instant) {
        if let ContextChange::Condensing(_) = change {
            return self.turn_to(ActivityPhase::Condenses, now);
        }
        self.stale = true;
        if self.doing == ActivityPhase::Condenses {
            let next = if standing.is_running {
                ActivityPhase::Asked
            } else {
                ActivityPhase::Nothing
            };
            self.turn_to(next, now);
        }
    }

    /// Chooses the next phase after a call has ended or a question is answered.
    fn choose_next_phase(&mut self, standing: EventContext, now: Instant) {
        let doing = match (self.tools.is_empty(), standing.has_question) {
            (false, _) => ActivityPhase::Tools,
            (true, true) => ActivityPhase::Question,
            (true, false) => ActivityPhase::Asked,
        };
        self.turn_to(doing, now);
    }

    fn speaks(&mut self, doing: ActivityPhase, now: Instant) {
        self.spoke = now;
        self.turn_to(doing, now);
    }

    /// Returns the time for which the model has been silent in the middle of its output, if that is long.
    fn silence(&self, now: Instant) -> Option<Duration> {
        let silence = now.saturating_duration_since(self.spoke);
        (matches!(self.doing, ActivityPhase::Thinks | ActivityPhase::Answers) && silence >= SILENT)
            .then_some(silence)
    }

    fn turn_to(&mut self, doing: ActivityPhase, now: Instant) {
        if self.doing != doing {
            (self.doing, self.since) = (doing, now);
        }
    }

    /// Returns whether time itself changes the row.
    pub(crate) fn moves(&self) -> bool {
        !matches!(self.doing, ActivityPhase::Nothing | ActivityPhase::Question)
    }

    /// Returns the beginning of the activity, if the passing time changes the row.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.moves().then_some(self.since)
    }

    /// Returns whether a model call has failed and is tried again after a pause.
    pub(crate) fn waits_for_an_attempt(&self) -> bool {
        matches!(self.doing, ActivityPhase::Waits)
    }

    /// Returns the current activity and its duration, or `None` if there is none. `more` is appended.
    pub(crate) fn waits_for(&self, now: Instant, more: Option<&str>) -> Option<String> {
        let silence = self.silence(now);
        let seconds = silence.unwrap_or(now.duration_since(self.since)).as_secs();
        let model = self.model.name();
        let what = match self.doing {
            ActivityPhase::Nothing | ActivityPhase::Question => return None,
            _ if silence.is_some() => format!("{model} is silent"),
            ActivityPhase::Asked => format!("waiting for {model}"),
            ActivityPhase::Thinks => format!("{model} thinks"),
            ActivityPhase::Answers => format!("{model} answers"),
            ActivityPhase::Plans => format!("{model} is calling a tool"),
            ActivityPhase::Waits => {
                let left = self.next_attempt.saturating_duration_since(now).as_secs().max(1);
                let left = units::duration(left * 1000).replace(".0s", "s");
                return Some(format!("{model} failed, retrying in {left} · /retry"));
            }
            ActivityPhase::Condenses => "condensing earlier messages".to_owned(),
            ActivityPhase::Tools if self.tools.is_empty() => "the tools run".to_owned(),
            ActivityPhase::Tools if self.tools.len() > 1 => format!("{} run", self.names()),
            ActivityPhase::Tools => format!("{} runs", self.names()),
        };
        let time = units::duration((seconds * 1000).max(1000)).replace(".0s", "s");
        let next = self.model.next().map(|next| format!(" · next: {next}"));
        let more = more.map(|more| format!(" · {more}")).unwrap_or_default();
        Some(format!("{what} · {time}{}{more}", next.unwrap_or_default()))
    }

    /// Returns the row: the activity and, if there is room beside it, the status. The row is empty before the
    /// first message, unless the approval mode is an unusual one.
    pub(crate) fn row(
        &self,
        now: Instant,
        more: Option<&str>,
        (stand, columns): (&str, usize),
        style: AnsiStyle,
    ) -> String {
        let Some(what) = self.waits_for(now, more) else {
            return match self.doing {
                ActivityPhase::Nothing if self.summary.is_new() && self.worked.is_zero() => String::new(),
                _ => style.dim_unless_painted(stand),
            };
        };
        let turning = TURNING[(now.duration_since(self.since).as_secs() % 10) as usize];
        let mut row = format!("{turning} {what} · Esc stops");
        if row.width() > columns
            && let Some(what) = self.waits_for(now, None)
        {
            // The hint how to stop it matters more than the rest.
            row = format!("{turning} {what} · Esc stops");
        }
        let plain: String = Row::from_ansi(stand).text();
        if row.width() + BESIDE.len() + plain.width() <= columns && !plain.is_empty() {
            format!(
                "{}{}",
                style.dim(&format!("{row}{BESIDE}")),
                style.dim_unless_painted(stand)
            )
        } else {
            style.dim(&row)
        }
    }

    /// Names the running activity, for the notice that leaving stops it.
    pub(crate) fn running_activity(&self) -> String {
        match self.names().as_str() {
            "" => "the answer was".to_owned(),
            names if self.tools.len() > 1 => format!("{names} were"),
            names => format!("{names} was"),
        }
    }
}

#[cfg(test)]
mod tests;
