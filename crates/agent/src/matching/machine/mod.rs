//! Match: rules, intents, agents that do what was meant.
//!
//! An input opens a run, or joins the one under way. It is matched by the fast path or by a model; what it means becomes a plan:
//! tasks for children, done one after the other. The machine says nothing itself: what a person reads is the children's. Each
//! kind of fact has its own step in the files beside this one: [`ask`] for the model, [`plan`] for what an answer means,
//! [`children`] for those who do it, [`stop`] for interrupts, limits and errors, [`recover`] for what another process left open.

mod ask;
mod children;
mod plan;
mod recover;
mod stop;

use std::collections::VecDeque;
use std::sync::Arc;

use agentx_types::{
    AgentConfig, AgentStateId, ConfigChange, Envelope, EnvironmentEvent, IntentRule, Message, MessageOutput,
    NanoUsd, RunStatus, StateOutput, Usage, UserMessage,
};
use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::course::{Course, Input, InputQueue, Run, Step, StopCause, Taken};
use ask::{Matching, Prepared};
use children::{AtWork, Child};
use plan::{Active, Task};

/// The Match machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchAgent {
    id: AgentStateId,
    pub(crate) config: Arc<AgentConfig>,
    course: Course,
    /// The input that a model is asked about.
    matching: Option<Matching>,
    /// What is to be done, in order.
    plan: VecDeque<Task>,
    /// The child that does something now.
    at_work: Option<AtWork>,
    /// Whom the person speaks with, also between runs.
    active: Option<Active>,
    children: Vec<Child>,
    /// How the run ends, where something in it went wrong.
    outcome: Option<(RunStatus, Option<String>)>,
    /// Children whose work stayed behind in the session that this one was forked from.
    left_behind: Vec<AgentStateId>,
    #[serde(skip)]
    prepared: Cache<Prepared>,
}

impl MatchAgent {
    /// A machine that has seen nothing yet.
    pub fn new(id: AgentStateId, config: AgentConfig) -> Self {
        Self {
            id,
            config: Arc::new(config),
            course: Course::default(),
            matching: None,
            plan: VecDeque::new(),
            at_work: None,
            active: None,
            children: Vec::new(),
            outcome: None,
            left_behind: Vec::new(),
            prepared: Cache::default(),
        }
    }

    /// Its id.
    pub fn id(&self) -> &AgentStateId {
        &self.id
    }

    /// Its configuration as it is now.
    pub fn config(&self) -> &Arc<AgentConfig> {
        &self.config
    }

    /// The run that is under way, or the last one.
    pub fn run(&self) -> Option<&Run> {
        self.course.run.as_ref()
    }

    pub(crate) fn inputs(&self) -> &InputQueue {
        &self.course.inputs
    }

    /// The child that does something now.
    pub fn at_work(&self) -> Option<&AgentStateId> {
        self.at_work.as_ref().map(|work| &work.child)
    }

    /// Tokens and money of all model calls, those of children too, and how many tokens the last one filled the window with.
    pub fn totals(&self) -> (Usage, NanoUsd, u64) {
        (
            self.course.totals.usage,
            self.course.totals.cost,
            self.course.totals.context_tokens,
        )
    }

    /// Takes the next fact, in the step that it makes this agent take.
    pub(crate) fn take(&mut self, fact: &Envelope<EnvironmentEvent>, step: &mut Step<'_>) {
        use EnvironmentEvent as E;
        match &fact.event {
            E::UserMessage(message) => self.on_user_message(message, step),
            E::InputRevised(revised) => {
                let taken = self.course.revise(revised);
                self.follow_input(taken, step);
            }
            E::InterruptRequested(_) | E::Interrupted(_) | E::TimerFired(_) | E::AgentClosed(_) => {
                let max = self.config.limits.max_wall_ms;
                let follows = self.course.hear_of_a_stop(fact, max, step);
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
            E::SessionForked(forked) => self.on_forked(forked.hold, step),
            E::ConfigChanged(changed) => {
                self.course
                    .change(Arc::make_mut(&mut self.config), &changed.change, step)
            }
            E::ErrorOccurred(error) => self.on_error(fact, error, step),
            // It has no tools, and keeps no conversation.
            _ => {}
        }
        self.course.note_time(fact);
    }

    /// The limits of an agent above change.
    pub(crate) fn on_change_above(&mut self, change: &ConfigChange, step: &mut Step<'_>) {
        self.course.change(Arc::make_mut(&mut self.config), change, step);
    }

    fn rules(&self) -> &[IntentRule] {
        self.config
            .routing
            .as_deref()
            .map_or(&[], |routing| &routing.rules)
    }

    fn on_user_message(&mut self, said: &UserMessage, step: &mut Step<'_>) {
        let taken = self.course.take(said, step);
        self.follow_input(Some(taken), step);
    }

    fn follow_input(&mut self, taken: Option<Taken>, step: &mut Step<'_>) {
        match taken {
            Some(Taken::Opens(input)) => {
                self.start_run(input, step);
                self.settle(step);
            }
            Some(Taken::Joins) => self.settle(step),
            Some(Taken::Interrupts) => self.stop(StopCause::interrupt("a new message"), step),
            Some(Taken::Waits) | None => {}
        }
    }

    /// Opens a run; whoever calls this settles it.
    fn start_run(&mut self, input: Input, step: &mut Step<'_>) {
        let message = self.course.open(input, self.config.limits.max_wall_ms, step);
        self.outcome = None;
        self.take_up(message, step);
    }

    /// An input joins the run: it is matched.
    fn take_up(&mut self, message: Arc<Message>, step: &mut Step<'_>) {
        step.message(MessageOutput::User {
            message: message.clone(),
        });
        match self.without_a_model(&message) {
            Some(intents) => self.mean(&message, intents, step),
            None => self.ask_model(message, step),
        }
    }

    fn finish_run(&mut self, status: RunStatus, reason: Option<String>, step: &mut Step<'_>) {
        self.matching = None;
        if !self.course.finish(status, reason, step) {
            return;
        }
        if let Some(reason) = self.course.inputs.closed() {
            let reason = reason.to_owned();
            self.leave(reason, step);
        }
    }

    /// It is gone, and so are its children.
    fn leave(&mut self, reason: String, step: &mut Step<'_>) {
        for child in std::mem::take(&mut self.children) {
            self.close_child(child.id, &reason, step);
        }
        step.state(StateOutput::Closed { reason });
    }
}
