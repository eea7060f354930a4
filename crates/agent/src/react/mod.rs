//! ReAct: think, call tools, continue, end.
//!
//! Each kind of fact has its own step in the files beside this one: [`stream`] and [`answer`] for the model, [`calls`] for
//! tools and approvals, [`stop`] for interrupts, limits and errors, [`recover`] for what another process left open.

mod answer;
mod calls;
mod children;
mod effects;
mod recover;
mod run;
mod stop;
mod stream;

use std::sync::Arc;

use agentx_types::{
    ActionBody, ActionId, AgentConfig, AgentOutput, AgentStateId, Assembler, CallModel, Cancel, ConfigChange,
    Envelope, EnvironmentEvent, InputMode, Message, MessageOutput, NanoUsd, Role, RunId, RunStatus,
    StateOutput, ToolSpec, TurnOutput, Usage, UserMessage,
};
use serde::{Deserialize, Serialize};

use children::Child;
pub use children::{AGENTS, DELEGATE, delegation_tools};
pub(crate) use run::Step;
pub use run::{Bill, Pending, Record, Run, StopCause};

use crate::Transition;
use crate::change::apply;
use crate::conversation::Conversation;
use crate::inputs::{Input, InputQueue};
use crate::ledger::ToolLedger;

/// The ReAct machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReactAgent {
    id: AgentStateId,
    config: AgentConfig,
    conversation: Conversation,
    assembler: Assembler,
    ledger: ToolLedger,
    inputs: InputQueue,
    run: Option<Run>,
    totals: Totals,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    children: Vec<Child>,
}

/// What all runs have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) usage: Usage,
    pub(crate) cost: NanoUsd,
    pub(crate) context_tokens: u64,
}

impl ReactAgent {
    /// A machine that has seen nothing yet.
    pub fn new(id: AgentStateId, config: AgentConfig) -> Self {
        Self {
            id,
            config,
            conversation: Conversation::default(),
            assembler: Assembler::default(),
            ledger: ToolLedger::default(),
            inputs: InputQueue::default(),
            run: None,
            totals: Totals::default(),
            children: Vec::new(),
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

    /// Its calls that are not answered yet.
    pub fn ledger(&self) -> &ToolLedger {
        &self.ledger
    }

    pub(crate) fn inputs(&self) -> &InputQueue {
        &self.inputs
    }

    /// Inputs that wait, in order.
    pub fn waiting(&self) -> impl Iterator<Item = &Input> {
        self.inputs.iter()
    }

    /// The conversation so far.
    pub fn messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.conversation.messages()
    }

    /// Tokens and money of all model calls, and how many tokens the last one filled the window with.
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
            E::Approval(approval) => self.on_approval(approval, &mut step),
            E::StreamStart(_)
            | E::TextChunk(_)
            | E::ThinkingChunk(_)
            | E::PartEnd(_)
            | E::ToolCallStart(_)
            | E::ToolCallChunk(_)
            | E::ToolCall(_)
            | E::ProviderPart(_)
            | E::UsageReport(_) => self.on_stream(fact, &mut step),
            E::StreamEnd(end) => self.on_stream_end(fact, end, &mut step),
            E::ActionStarted(_) => self.on_action_started(fact, &mut step),
            E::EffectEnded(ended) => self.on_effect_ended(fact, ended, &mut step),
            E::ToolResult(result) => self.on_tool_result(fact, result, &mut step),
            E::TimerFired(_) => self.on_timer(fact, &mut step),
            E::WriterAttached(_) => self.on_writer_attached(&mut step),
            E::SessionForked(_) => self.on_forked(&mut step),
            E::ConfigChanged(changed) => self.on_config_changed(&changed.change, &mut step),
            E::ContextCondensed(range) => {
                self.conversation
                    .condense(range.from_seq, range.to_seq, &range.summary)
            }
            E::Interrupted(interrupted) => self.on_interrupted(fact, &interrupted.reason, &mut step),
            E::ErrorOccurred(error) => self.on_error(fact, error, &mut step),
            E::AgentClosed(closed) if closed.agent_state_id == self.id => {
                self.on_closed(&closed.reason, &mut step)
            }
            E::AgentClosed(_)
            | E::AccessChanged(_)
            | E::AgentSpawned(_)
            | E::AttemptFailed(_)
            | E::Connected(_)
            | E::Disconnected(_)
            | E::EffectStarted(_)
            | E::SessionClosed(_)
            | E::SessionOpened(_)
            | E::SessionTitled(_)
            | E::SystemCommand(_)
            | E::ToolOutputChunk(_)
            | E::WheelChanged(_)
            | E::Unknown(_) => {}
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

    fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.config.tools.iter().find(|tool| tool.name == name)
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
            return;
        }
        match said.mode {
            InputMode::Queue => {
                let position = self.inputs.queue(input);
                step.state(StateOutput::InputQueued {
                    message_id: said.message_id.clone(),
                    position,
                });
            }
            InputMode::Steer => self.inputs.steer(input),
            InputMode::Interrupt => {
                self.inputs.steer(input);
                self.on_interrupt(Some("a new message"), step);
            }
        }
    }

    fn start_run(&mut self, input: Input, step: &mut Step<'_>) {
        let message_id = input.message.message_id.clone();
        let run = Run::new(input.run_id, message_id.clone(), step.at);
        step.state(StateOutput::RunStarted {
            run_id: run.id.clone(),
            message_id,
        });
        step.turn(TurnOutput::Request {
            run_id: run.id.clone(),
            text: input.message.text(),
        });
        self.run = Some(run);
        self.start_timer(step);
        self.say(input.message, step);
        self.call_model(step);
    }

    /// An input joins the conversation.
    fn say(&mut self, message: Arc<Message>, step: &mut Step<'_>) {
        self.conversation.push(step.seq, message.clone());
        step.message(MessageOutput::User { message });
    }

    fn call_model(&mut self, step: &mut Step<'_>) {
        self.set_status(RunStatus::BuildingContext, step);
        for input in self.inputs.take_steering() {
            self.say(input.message, step);
        }
        let Some(run) = self.run.as_mut().filter(|run| !run.status.is_final()) else {
            return;
        };
        let request = self
            .conversation
            .request(&self.config, &run.input_id, !step.out.state_only);
        let request = Arc::new(request);
        self.assembler.asks(&request.model.id);
        run.pending.model = Some(request.model.clone());
        let action_id = step.act(
            &run.id,
            ActionBody::CallModel(CallModel {
                request,
                // The session knows all of them, of every agent; its fold puts them in.
                taken: Arc::default(),
            }),
        );
        run.pending.model_call = Some(action_id);
        run.bill.model_calls += 1;
        self.set_status(RunStatus::AwaitingLlm, step);
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

    /// Whether the fact answers the model call that is under way.
    fn answers_model_call(&self, cause: Option<&ActionId>) -> bool {
        cause.is_some() && self.run.as_ref().and_then(|run| run.pending.model_call.as_ref()) == cause
    }

    fn finish_run(&mut self, status: RunStatus, reason: Option<String>, step: &mut Step<'_>) {
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
            step.state(StateOutput::Closed { reason });
        } else if let Some(input) = self.inputs.next() {
            self.start_run(input, step);
        }
    }

    /// Calls that wait for a decision go on waiting whatever changes, until another writer takes over: it is written before
    /// that one, and must not start what it then finds started.
    fn on_config_changed(&mut self, change: &ConfigChange, step: &mut Step<'_>) {
        let before = self.config.limits.max_wall_ms;
        apply(&mut self.config, change);
        self.conversation.forget_fixed();
        let max = self.config.limits.max_wall_ms;
        if let Some(run) = self.active_run() {
            run.wall_time_changed(before, max, step);
        }
    }
}
