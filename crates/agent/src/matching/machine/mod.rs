//! Match: rules, intents, and agents that act on them.
//!
//! An input opens a run, or joins the one in progress. The fast path or a model matches it; its meaning
//! becomes a plan: tasks for children, done one after the other. The machine itself writes no answer: a
//! person reads those of the children.
//!
//! ```text
//! input ──▶ take_up ─┬─ fast path ──▶ mean ──▶ plan ──▶ hand_over ──▶ child's run ──▶ next task, or the end
//!                    └─ ask_model ──▶ answer ──┘
//! ```
//!
//! Each kind of fact has its own step in the files beside this one: [`ask`] for the model, [`plan`] for the
//! meaning of an answer, [`children`] for the agents that do the tasks, [`stop`] for interrupts, limits and
//! errors, [`recover`] for open work of another process.
//!
//! Invariants: one child is at work at most, one model call is in progress at most, and never both about the
//! same input. Only `proceed` (in `plan`) begins tasks and ends runs; it may be called after any change.

mod ask;
mod children;
mod plan;
mod recover;
mod stop;

use std::collections::VecDeque;
use std::sync::Arc;

use agentx_types::{
    AgentConfig, AgentStateId, ConfigChange, Envelope, EnvironmentEvent, IntentRule, Message, MessageOutput,
    RunStatus, StateOutput, UserMessage,
};
use serde::{Deserialize, Serialize};

use crate::cache::CachedValue;
use crate::imported_config::restrict_imported;
use crate::run_lifecycle::{
    InputDecision, InputQueue, Run, RunInput, RunLifecycle, RunStep, StopCause, Totals,
};
use ask::{Matching, PreparedRules};
use children::{MatchChild, WorkingChild};
use plan::{ActiveChild, ChildTask};

/// The Match machine: it sorts inputs by the rules in `config.routing`, and gives each to the agent of a
/// route.
///
/// Its whole state follows from the facts that it took. It can be serialized between any two of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchAgent {
    id: AgentStateId,
    pub(crate) config: Arc<AgentConfig>,
    /// The runs, and the inputs that wait.
    lifecycle: RunLifecycle,
    /// The input that a model is classifying, if one is.
    matching: Option<Matching>,
    /// Tasks that follow the current one, in order.
    plan: VecDeque<ChildTask>,
    /// The child that does something now, and for which rule.
    at_work: Option<WorkingChild>,
    /// The child to which the person is talking, also between runs: inputs that no rule fits go there.
    active: Option<ActiveChild>,
    /// The children, one for each place at most.
    children: Vec<MatchChild>,
    /// The outcome of the run, if something in it failed or has to be reported.
    outcome: Option<(RunStatus, Option<String>)>,
    /// Children whose work stayed behind in the session that this one was forked from.
    left_behind: Vec<AgentStateId>,
    /// Values that follow from the rules; worked out again after a restart.
    #[serde(skip)]
    prepared: CachedValue<PreparedRules>,
}

impl MatchAgent {
    /// A machine that has seen nothing yet.
    pub fn new(id: AgentStateId, config: AgentConfig) -> Self {
        Self {
            id,
            config: Arc::new(config),
            lifecycle: RunLifecycle::default(),
            matching: None,
            plan: VecDeque::new(),
            at_work: None,
            active: None,
            children: Vec::new(),
            outcome: None,
            left_behind: Vec::new(),
            prepared: CachedValue::default(),
        }
    }

    /// The id of the agent.
    pub fn id(&self) -> &AgentStateId {
        &self.id
    }

    /// Returns the current configuration.
    pub fn config(&self) -> &Arc<AgentConfig> {
        &self.config
    }

    /// The current run, or the last one.
    pub fn run(&self) -> Option<&Run> {
        self.lifecycle.run.as_ref()
    }

    pub(crate) fn inputs(&self) -> &InputQueue {
        &self.lifecycle.inputs
    }

    /// The child that does something now.
    pub fn at_work(&self) -> Option<&AgentStateId> {
        self.at_work.as_ref().map(|work| &work.child)
    }

    /// The cost of all its runs, and those of its children.
    pub fn totals(&self) -> Totals {
        self.lifecycle.totals
    }

    /// Handles the next fact, within this agent's step for it. It has no tools and keeps no conversation, so
    /// most facts do not concern it.
    pub(crate) fn apply(&mut self, fact: &Envelope<EnvironmentEvent>, step: &mut RunStep<'_>) {
        use EnvironmentEvent as E;
        match &fact.event {
            E::UserMessage(message) => self.on_user_message(message, step),
            E::InputRevised(revised) => {
                let taken = self.lifecycle.revise(revised);
                self.follow_input(taken, step);
            }
            E::InterruptRequested(_) | E::Interrupted(_) | E::TimerFired(_) | E::AgentClosed(_) => {
                let max = self.config.limits.max_wall_ms;
                let follows = self.lifecycle.on_stop_fact(fact, max, step);
                self.follow(follows, step);
            }
            E::StreamStart(_)
            | E::TextChunk(_)
            | E::ThinkingChunk(_)
            | E::PartEnd(_)
            | E::UsageReport(_)
            | E::ModelFellBack(_) => self.on_stream(fact, step),
            E::StreamEnd(end) => self.on_stream_end(fact, end, step),
            E::WriterAttached(_) => self.on_writer_attached(step),
            E::SessionForked(forked) => self.on_copied("forked", forked.hold, step),
            E::SessionImported(imported) => {
                restrict_imported(Arc::make_mut(&mut self.config), imported.workspace.as_deref());
                self.on_copied("imported", true, step);
            }
            E::ConfigChanged(changed) => self.on_change(&changed.change, step),
            E::ErrorOccurred(error) => self.on_error(fact, error, step),
            E::AttemptFailed(failed) => self.on_attempt_failed(fact, failed, step),
            // It has no tools, and keeps no conversation.
            _ => {}
        }
        self.lifecycle.note_time(fact);
    }

    /// Applies a change of the configuration by an agent above.
    pub(crate) fn on_change_above(&mut self, change: &ConfigChange, step: &mut RunStep<'_>) {
        self.on_change(change, step);
    }

    /// Applies a change of the configuration, and drops the rules that were prepared from it.
    fn on_change(&mut self, change: &ConfigChange, step: &mut RunStep<'_>) {
        self.lifecycle
            .change(Arc::make_mut(&mut self.config), change, step);
        self.prepared.clear();
    }

    /// The rules by which it sorts; none if it has no routing.
    fn rules(&self) -> &[IntentRule] {
        self.config
            .routing
            .as_deref()
            .map_or(&[], |routing| &routing.rules)
    }

    fn on_user_message(&mut self, said: &UserMessage, step: &mut RunStep<'_>) {
        let taken = self.lifecycle.accept_input(said, &self.config, step);
        self.follow_input(Some(taken), step);
    }

    /// Executes the decision of `RunLifecycle` about an input. `None`: it was withdrawn, or was no longer
    /// waiting.
    fn follow_input(&mut self, taken: Option<InputDecision>, step: &mut RunStep<'_>) {
        match taken {
            Some(InputDecision::Opens(input)) => {
                self.start_run(input, step);
                self.proceed(step);
            }
            Some(InputDecision::Joins) => self.proceed(step),
            Some(InputDecision::Interrupts) => self.stop(StopCause::interrupt("a new message"), step),
            Some(InputDecision::Waits) | None => {}
        }
    }

    /// Opens a run with this input. The caller has to call `proceed`.
    fn start_run(&mut self, input: RunInput, step: &mut RunStep<'_>) {
        let message = self.lifecycle.open(input, self.config.limits.max_wall_ms, step);
        self.outcome = None;
        self.take_up(message, step);
    }

    /// Adds an input to the run: it is matched by the fast path, or a model is asked about it.
    fn take_up(&mut self, message: Arc<Message>, step: &mut RunStep<'_>) {
        step.message(MessageOutput::User {
            message: message.clone(),
        });
        match self.without_a_model(&message) {
            Some(intents) => self.plan_intents(&message, intents, step),
            None => self.ask_model(message, step),
        }
    }

    /// Ends the current run, if there is one, and the agent if it is closed.
    fn finish_run(&mut self, status: RunStatus, reason: Option<String>, step: &mut RunStep<'_>) {
        self.matching = None;
        if !self.lifecycle.finish(status, reason, step) {
            return;
        }
        if let Some(reason) = self.lifecycle.inputs.closed() {
            let reason = reason.to_owned();
            self.leave(reason, step);
        }
    }

    /// Ends the agent, and its children with it.
    fn leave(&mut self, reason: String, step: &mut RunStep<'_>) {
        for child in std::mem::take(&mut self.children) {
            self.close_child(child.id, &reason, step);
        }
        step.state(StateOutput::Closed { reason });
    }
}
