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
    ActionBody, ActionId, AgentConfig, AgentOutput, AgentStateId, Assembler, Cancel, ConfigChange, Envelope,
    EnvironmentEvent, InputMode, IntentRule, Message, MessageOutput, NanoUsd, Role, RunId, RunStatus,
    StateOutput, TurnOutput, Usage, UserMessage,
};
use serde::{Deserialize, Serialize};

use crate::Transition;
use crate::cache::Cache;
use crate::change::apply;
use crate::inputs::{Input, InputQueue};
use crate::react::{Pending, Run, Step, Totals};
use ask::{Matching, Prepared};
use children::{AtWork, Child};
use plan::{Active, Task};

/// The Match machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchAgent {
    id: AgentStateId,
    config: AgentConfig,
    inputs: InputQueue,
    run: Option<Run>,
    totals: Totals,
    assembler: Assembler,
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
    /// The `seq` at which a limit was reached that nothing but the task under way would have gone beyond.
    over_at: Option<u64>,
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
            config,
            inputs: InputQueue::default(),
            run: None,
            totals: Totals::default(),
            assembler: Assembler::default(),
            matching: None,
            plan: VecDeque::new(),
            at_work: None,
            active: None,
            children: Vec::new(),
            outcome: None,
            over_at: None,
            left_behind: Vec::new(),
            prepared: Cache::default(),
        }
    }

    /// Its id.
    pub fn id(&self) -> &AgentStateId {
        &self.id
    }

    /// Its configuration as it is now.
    pub fn config(&self) -> &AgentConfig {
        &self.config
    }

    /// The run that is under way, or the last one.
    pub fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    pub(crate) fn inputs(&self) -> &InputQueue {
        &self.inputs
    }

    /// The child that does something now.
    pub fn at_work(&self) -> Option<&AgentStateId> {
        self.at_work.as_ref().map(|work| &work.child)
    }

    /// Tokens and money of all model calls, those of children too, and how many tokens the last one filled the window with.
    pub fn totals(&self) -> (Usage, NanoUsd, u64) {
        (self.totals.usage, self.totals.cost, self.totals.context_tokens)
    }

    /// Takes the next fact and adds what follows to `into`.
    pub fn step_into(&mut self, fact: &Envelope<EnvironmentEvent>, into: &mut Transition) {
        use EnvironmentEvent as E;
        let id = self.id.clone();
        let mut step = Step {
            agent: &id,
            seq: fact.seq,
            at: fact.at,
            out: into,
        };
        match &fact.event {
            E::UserMessage(message) => self.on_user_message(message, &mut step),
            E::InterruptRequested(request) => self.on_interrupt(request.reason.as_deref(), &mut step),
            E::StreamStart(_) | E::TextChunk(_) | E::ThinkingChunk(_) | E::PartEnd(_) | E::UsageReport(_) => {
                self.on_stream(fact, &mut step)
            }
            E::StreamEnd(end) => self.on_stream_end(fact, end, &mut step),
            E::TimerFired(_) => self.on_timer(fact, &mut step),
            E::WriterAttached(_) => self.on_writer_attached(&mut step),
            E::SessionForked(_) => self.on_forked(&mut step),
            E::ConfigChanged(changed) => self.on_config_changed(&changed.change, &mut step),
            E::Interrupted(interrupted) => self.on_interrupted(fact, &interrupted.reason, &mut step),
            E::ErrorOccurred(error) => self.on_error(fact, error, &mut step),
            E::AgentClosed(closed) if closed.agent_state_id == self.id => {
                self.on_closed(&closed.reason, &mut step)
            }
            // It has no tools, and keeps no conversation.
            _ => {}
        }
        self.note_time(fact);
    }

    /// A child of this agent says something; adds what follows to `into`.
    pub fn on_child(
        &mut self,
        child: &AgentStateId,
        output: &AgentOutput,
        fact: &Envelope<EnvironmentEvent>,
        into: &mut Transition,
    ) {
        let id = self.id.clone();
        let mut step = Step {
            agent: &id,
            seq: fact.seq,
            at: fact.at,
            out: into,
        };
        self.hear_child(child, output, &mut step);
        if let Some(run) = self.active_run() {
            run.seen_at = fact.at;
        }
    }

    /// Notes when somebody was last there to go on with the run. Changes and forks say nothing about that: a program that takes
    /// over puts them on record before it says so.
    fn note_time(&mut self, fact: &Envelope<EnvironmentEvent>) {
        let before_a_writer = matches!(
            fact.event,
            EnvironmentEvent::ConfigChanged(_) | EnvironmentEvent::SessionForked(_)
        );
        if let Some(run) = self.active_run().filter(|_| !before_a_writer) {
            run.seen_at = fact.at;
        }
    }

    fn active_run(&mut self) -> Option<&mut Run> {
        self.run.as_mut().filter(|run| !run.status.is_final())
    }

    fn is_stopping(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.pending.stop.is_some())
    }

    fn rules(&self) -> &[IntentRule] {
        self.config
            .routing
            .as_deref()
            .map_or(&[], |routing| &routing.rules)
    }

    fn on_user_message(&mut self, said: &UserMessage, step: &mut Step<'_>) {
        let message = Message {
            message_id: said.message_id.clone(),
            role: Role::User,
            content: said.content.clone(),
        };
        let input = Input {
            run_id: RunId::of_input(step.seq),
            seq: step.seq,
            message: Arc::new(message),
        };
        let idle = self.active_run().is_none();
        if idle && self.inputs.closed().is_none() {
            self.start_run(input, step);
            return self.settle(step);
        }
        match said.mode {
            InputMode::Queue => {
                let position = self.inputs.queue(input);
                step.state(StateOutput::InputQueued {
                    message_id: said.message_id.clone(),
                    position,
                });
            }
            InputMode::Steer => {
                self.inputs.steer(input);
                self.settle(step);
            }
            InputMode::Interrupt => {
                self.inputs.steer(input);
                self.on_interrupt(Some("a new message"), step);
            }
        }
    }

    /// Opens a run; whoever calls this settles it.
    fn start_run(&mut self, input: Input, step: &mut Step<'_>) {
        let message_id = input.message.message_id.clone();
        let mut run = Run::new(input.run_id, message_id.clone(), step.at);
        step.state(StateOutput::RunStarted {
            run_id: run.id.clone(),
            message_id,
        });
        step.turn(TurnOutput::Request {
            run_id: run.id.clone(),
            text: input.message.text(),
        });
        run.start_timer(self.config.limits.max_wall_ms, step);
        self.run = Some(run);
        self.outcome = None;
        self.take_up(input.message, step);
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

    fn set_status(&mut self, status: RunStatus, step: &mut Step<'_>) {
        let Some(run) = self.active_run().filter(|run| run.status != status) else {
            return;
        };
        run.status = status;
        step.state(StateOutput::RunStatus {
            run_id: run.id.clone(),
            status,
            iterations: run.iterations,
        });
    }

    fn finish_run(&mut self, status: RunStatus, reason: Option<String>, step: &mut Step<'_>) {
        self.matching = None;
        self.over_at = None;
        let Some(run) = self.active_run() else { return };
        if let Some(timer) = run.pending.timer.take() {
            step.act(&run.id, ActionBody::Cancel(Cancel { action_id: timer }));
        }
        run.pending = Pending::default();
        run.status = status;
        let (run_id, iterations, bill) = (run.id.clone(), run.iterations, run.bill);
        step.turn(TurnOutput::Response {
            run_id: run_id.clone(),
            text: run.last_text.clone(),
            duration_ms: run.used_ms(step.at),
            usage: bill.usage,
            cost: bill.cost,
            model_calls: bill.model_calls,
        });
        step.state(StateOutput::RunFinished {
            run_id,
            status,
            reason,
            iterations,
        });
        if let Some(reason) = self.inputs.closed() {
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

    fn on_config_changed(&mut self, change: &ConfigChange, step: &mut Step<'_>) {
        let before = self.config.limits.max_wall_ms;
        apply(&mut self.config, change);
        let max = self.config.limits.max_wall_ms;
        if let Some(run) = self.active_run() {
            run.wall_time_changed(before, max, step);
        }
    }

    /// Whether the fact answers the model call that is under way.
    fn answers_model_call(&self, cause: Option<&ActionId>) -> bool {
        cause.is_some() && self.run.as_ref().and_then(|run| run.pending.model_call.as_ref()) == cause
    }
}
