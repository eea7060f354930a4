//! ReAct: think, call tools, continue, end.
//!
//! Each kind of fact has its own step in the files beside this one:
//!
//! | file | facts |
//! | --- | --- |
//! | [`stream`], [`answer`] | the pieces of the model's answer, and the complete answer |
//! | [`calls`], [`decisions`], [`nested_calls`], [`script_steps`] | tools, approvals, calls by tools, steps |
//! | [`own_tools`], [`questions`] | tools that the machine answers itself, questions |
//! | [`cut_off`], [`answer_schema`] | answers that end at their maximum length; that have to fit a schema |
//! | [`assessing`] | the risk of calls, and refusals that a person overrules |
//! | [`built_context`], [`children`] | context that services build; agents that this one created |
//! | [`learning`], [`known_messages`] | proposals of memories; messages and inputs, seen from outside |
//! | [`config_change`], [`fallback`] | changes of the configuration; another model for the rest of a run |
//! | [`condense`], [`wanted_summary`], [`counted`] | summaries; messages that are left out by their number |
//! | [`stuck`], [`waits`], [`reminders`] | agents that repeat themselves; calls that wait; reminders |
//! | [`stop`], [`recover`], [`unknown_outcome`] | interrupts, limits and errors; work of another process |
//! | [`overflow`], [`repair`], [`request_now`] | requests that do not fit, are refused, or would be sent now |
//!
//! A run goes in rounds. `call_model` requests a call; the assembler assembles the stream; [`answer`] takes
//! the calls into the ledger, where each is run, waits for a person, or is answered. After each change,
//! `proceed` checks whether any call is open; if none is, it closes the round and calls the model again, or
//! ends the run.
//!
//! ```text
//! start_run ─▶ call_model ─▶ stream ─▶ on_answer ─┬─ no calls ─────────▶ finish_run
//!                  ▲                              └─ calls ─▶ ledger
//!                  └─── proceed ◀── close_round ◀── every call resolved ┘
//! ```
//!
//! Invariant: `call_model` is the only function that requests a model call (it checks the limits), and
//! `proceed` the only one that ends a round.
//!
//! Every change of this machine's behaviour depends on `config.rules_version`, which is in the log, so that
//! an old session is replayed to the same bytes (`since` in agentx-types names each later behaviour).

mod answer;
mod answer_schema;
mod assessing;
mod built_context;
mod calls;
mod children;
mod condense;
mod config_change;
mod counted;
mod cut_off;
mod decisions;
mod fallback;
mod known_messages;
mod learning;
mod limit_question;
mod nested_calls;
mod overflow;
mod own_tools;
mod questions;
mod recover;
mod reminders;
mod repair;
mod request_now;
mod script_steps;
mod stop;
mod stream;
mod stuck;
mod unknown_outcome;
mod waits;
mod wanted_summary;

use std::sync::Arc;

use agentx_types::{
    AgentConfig, AgentStateId, Api, Envelope, EnvironmentEvent, Message, MessageOutput, ModelRequest,
    RunStatus, UserMessage, since,
};
use serde::{Deserialize, Serialize};

use built_context::GivenItems;
use children::ReactChild;
use condense::CondenseState;
use fallback::FallbackInUse;
use learning::LearningWatch;
pub use nested_calls::{NestedCall, NestedStage};
pub use reminders::Reminder;
use reminders::ReminderList;
use stuck::StuckWatch;

use crate::conversation::Conversation;
use crate::files::kept_guard::KeptGuard;
use crate::ledger::ToolLedger;
use crate::run_lifecycle::{
    InputDecision, InputQueue, Run, RunInput, RunLifecycle, RunStep, StopCause, Totals,
};
use crate::security::overruling::RefusedCalls;

/// The ReAct machine.
///
/// Its state follows from its facts. It can be serialized between any two of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReactAgent {
    id: AgentStateId,
    config: Arc<AgentConfig>,
    /// The runs, and the inputs that wait for the next one.
    lifecycle: RunLifecycle,
    /// The conversation, and the part of it that a model receives.
    conversation: Conversation,
    /// The calls of the answer in progress; empty during a model call.
    ledger: ToolLedger,
    /// Summaries: the awaited or requested one.
    #[serde(default)]
    condenser: CondenseState,
    /// Set while a fallback, which is then in `config`, replaces the agent's own model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fallback: Option<FallbackInUse>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    /// The agents that it created with `delegate`, including ended ones: `agents` shows their answers.
    children: Vec<ReactChild>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    /// Calls by its running tools that await an approval decision.
    inner: Vec<NestedCall>,
    #[serde(default, skip_serializing_if = "StuckWatch::is_new")]
    /// Detects repeated calls and answers.
    stuck: Box<StuckWatch>,
    /// A note about plan mode for the model, sent with the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plan_note: Option<Arc<Message>>,
    /// Context items that services have already added.
    #[serde(default, skip_serializing_if = "GivenItems::is_empty")]
    given_items: GivenItems,
    /// Calls that a judge refused.
    #[serde(default, skip_serializing_if = "RefusedCalls::is_empty")]
    refused: RefusedCalls,
    /// The inputs about which no model was asked yet what to remember.
    #[serde(default, skip_serializing_if = "agentx_types::is_default")]
    learning: LearningWatch,
    /// The reminders that are not due yet.
    #[serde(default, skip_serializing_if = "agentx_types::is_default")]
    reminders: ReminderList,
    /// The prepared guard of the configuration.
    #[serde(skip)]
    guard: KeptGuard,
}

impl ReactAgent {
    /// A machine that has seen nothing yet.
    pub fn new(id: AgentStateId, config: AgentConfig) -> Self {
        let mut agent = Self {
            id,
            config: Arc::new(config),
            lifecycle: RunLifecycle::default(),
            conversation: Conversation::default(),
            ledger: ToolLedger::default(),
            condenser: CondenseState::default(),
            fallback: None,
            children: Vec::new(),
            inner: Vec::new(),
            stuck: Box::default(),
            plan_note: None,
            given_items: GivenItems::default(),
            refused: RefusedCalls::default(),
            learning: LearningWatch::default(),
            reminders: ReminderList::default(),
            guard: KeptGuard::default(),
        };
        agent.tell_initial_plan_mode();
        agent
    }

    /// Returns the id of the agent.
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

    /// Returns the calls without a result.
    pub fn ledger(&self) -> &ToolLedger {
        &self.ledger
    }

    pub(crate) fn inputs(&self) -> &InputQueue {
        &self.lifecycle.inputs
    }

    /// The cost of all its runs, and those of its children.
    pub fn totals(&self) -> Totals {
        self.lifecycle.totals
    }

    /// Handles the next fact, within this agent's step for it.
    ///
    /// The match is exhaustive on purpose: a new kind of fact does not compile until this match handles it.
    pub(crate) fn apply(&mut self, fact: &Envelope<EnvironmentEvent>, step: &mut RunStep<'_>) {
        use EnvironmentEvent as E;
        match &fact.event {
            E::UserMessage(message) => self.on_user_message(fact, message, step),
            E::InputRevised(revised) => {
                let taken = self.lifecycle.revise(revised);
                self.follow_input(taken, step);
            }
            E::TimerFired(_) if self.end_wait(fact, step) || self.end_reminder(fact, step) => {}
            E::InterruptRequested(_) | E::Interrupted(_) | E::TimerFired(_) | E::AgentClosed(_) => {
                let max = self.config.limits.max_wall_ms;
                let follows = self.lifecycle.on_stop_fact(fact, max, step);
                self.follow(follows, step);
            }
            E::Approval(approval) => self.on_approval(approval, step),
            E::StreamStart(_)
            | E::TextChunk(_)
            | E::ThinkingChunk(_)
            | E::PartEnd(_)
            | E::ToolCallStart(_)
            | E::ToolCallChunk(_)
            | E::ToolCall(_)
            | E::ProviderPart(_)
            | E::UsageReport(_)
            | E::ModelFellBack(_) => self.on_stream(fact, step),
            E::AnswerChecked(checked) => self.on_answer_checked(fact, checked, step),
            E::StreamEnd(end) => self.on_stream_end(fact, end, step),
            E::ActionStarted(_) => self.on_action_started(fact, step),
            E::EffectStarted(started) => self.on_effect_started(fact, started, step),
            E::EffectEnded(ended) => self.on_effect_ended(fact, ended, step),
            E::InnerCallAsked(asked) => self.on_nested_call_asked(fact, asked, step),
            E::ToolResult(result) => self.on_tool_result(fact, result, step),
            E::WriterAttached(attached) => self.on_writer_attached(attached, step),
            E::SessionForked(forked) => self.on_copied("forked", forked.hold, step),
            E::SessionImported(imported) => self.on_imported(imported.workspace.as_deref(), step),
            E::JobEnded(ended) => self.on_job_ended(ended, step),
            E::CommandRan(ran) => self.on_command_ran(ran, step),
            E::ConfigChanged(changed) => self.on_config_changed(&changed.change, step),
            E::InputPinned(pin) => self.conversation.keep_input(&pin.message_id, pin.pinned),
            E::CondenseRequested(wish) => self.on_condense_requested(wish, step),
            E::ContextBuilt(built) => self.on_context_built(fact, built, step),
            E::RiskAssessed(said) => self.on_risk_assessed(fact, said, step),
            E::MemoriesProposed(said) => self.on_memories_proposed(fact, said, step),
            E::ContextCondensed(condensed) => self.on_condensed(fact, condensed, step),
            E::CondensingFailed(failure) => self.on_condensing_failed(fact, failure, step),
            E::ContextRestored(restored) => self.on_restored(restored, step),
            E::ErrorOccurred(error) => self.on_error(fact, error, step),
            E::FallbackAsked(_) => self.on_fallback_asked(fact, step),
            E::AttemptFailed(failed) => self.on_attempt_failed(fact, failed, step),
            E::AccessChanged(_)
            | E::AgentSpawned(_)
            | E::Connected(_)
            | E::Disconnected(_)
            | E::FilesRestoring(_)
            | E::FilesRestored(_)
            | E::RequestRecorded(_)
            | E::SessionClosed(_)
            | E::SessionOpened(_)
            | E::SessionRedacted(_)
            | E::SessionTitled(_)
            | E::SystemCommand(_)
            | E::ToolOutputChunk(_)
            | E::WheelChanged(_)
            | E::Unknown(_) => {}
        }
        self.lifecycle.note_time(fact);
    }

    fn on_user_message(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        said: &UserMessage,
        step: &mut RunStep<'_>,
    ) {
        self.note_input_of(fact.source);
        self.note_learnable(fact, said);
        self.allow_reminders(fact.source);
        let taken = self.lifecycle.accept_input(said, &self.config, step);
        self.follow_input(Some(taken), step);
    }

    /// Carries out the decision of `RunLifecycle` about an input. `None`: the input was withdrawn, or no
    /// longer waited.
    fn follow_input(&mut self, taken: Option<InputDecision>, step: &mut RunStep<'_>) {
        match taken {
            Some(InputDecision::Opens(input)) => self.start_run(input, step),
            Some(InputDecision::Interrupts) => self.begin_stop(StopCause::interrupt("a new message"), step),
            Some(InputDecision::Waits | InputDecision::Joins) | None => {}
        }
    }

    /// Opens a run with this input, after the notes that waited for the next model call.
    ///
    /// An empty input after a failed run only calls the model again, and adds no message (from version 6 of
    /// the rules on).
    fn start_run(&mut self, input: RunInput, step: &mut RunStep<'_>) {
        self.note_run_of(&input);
        let message = self.lifecycle.open(input, self.config.limits.max_wall_ms, step);
        for kept in self.lifecycle.take_kept() {
            self.say(kept, step);
        }
        self.learn_if_due(step);
        let is_again = message.content.is_empty() && self.conversation.awaits_answer();
        if !(is_again && self.config.rules_version >= since::EMPTY_INPUT_ASKS_AGAIN) {
            self.say(message.clone(), step);
        }
        self.say_plan_note(step);
        self.begin_with_fallback(step);
        self.build_context(&message, step);
    }

    /// Adds an input or a note to the conversation, and reports it.
    pub(super) fn say(&mut self, message: Arc<Message>, step: &mut RunStep<'_>) {
        self.conversation.push(step.seq, message.clone());
        step.message(MessageOutput::User { message });
    }

    /// Calls the model again, unless a limit forbids it or a context is awaited. No other function calls the
    /// agent's model.
    ///
    /// The order matters: notes and steering inputs join first, so that they are measured too; then old
    /// pictures are left out and results shortened; then a summary may be requested, for which the call
    /// waits; and only then the window is set and the request made.
    fn call_model(&mut self, step: &mut RunStep<'_>) {
        if self.awaits_context() {
            return;
        }
        if let Some(cause) = self.lifecycle.used_up(&self.config.limits, step) {
            return self.begin_stop(cause, step);
        }
        if self.stop_or_nudge_between_calls(step) {
            return;
        }
        self.lifecycle.set_status(RunStatus::BuildingContext, step);
        let kept = self.lifecycle.take_kept();
        let steering = self.lifecycle.take_steering();
        let joining: Vec<_> = kept
            .into_iter()
            .chain(steering)
            .chain(self.plan_note.take())
            .collect();
        if !joining.is_empty() {
            self.unbind_partial();
        }
        for message in joining {
            self.say(message, step);
        }
        self.shorten_requests();
        if self.condense_first(step) {
            return;
        }
        let Some(input) = self.lifecycle.active().map(|run| run.input_id.clone()) else {
            return;
        };
        let schema = self.answer_schema();
        self.conversation.set_asked_schema(schema.as_ref(), &self.config);
        if self.conversation.prepare_window(&self.config, Some(&input)) {
            self.unbind_partial();
        }
        let request = || ModelRequest {
            answer_schema: schema,
            ..self.conversation.request(&self.config)
        };
        // These APIs attach nothing to thinking, so without a mark it would be sent back to any model.
        let asked = self.config.model.api;
        let marks = match asked {
            Api::OpenaiChat => self.config.rules_version >= since::REASONING_IS_MARKED,
            other => matches!(other, Api::Gemini | Api::GeminiInteractions),
        };
        let mark = marks.then(|| asked.as_str());
        self.lifecycle.assembler.set_thinking_mark(mark);
        self.lifecycle
            .request_model_call(&self.config.model, request, step);
    }

    /// Ends the current run, if there is one, and begins the next work: the end of the agent, the next input,
    /// or a summary that a person wants.
    ///
    /// Before that, a declined turn is left out, a guessed window undone, and the conversation sent in full
    /// again after repeated HTTP 500s, so that the next run begins with none of them.
    fn finish_run(&mut self, status: RunStatus, reason: Option<String>, step: &mut RunStep<'_>) {
        self.leave_out_declined();
        self.take_guess_back();
        self.conversation.send_in_full_again(&self.config);
        self.conversation.forget_schema_form();
        self.return_to_own_model(status);
        if !self.lifecycle.finish(status, reason, step) {
            return;
        }
        if let Some(reason) = self.lifecycle.inputs.closed() {
            let reason = reason.to_owned();
            self.leave(reason, step);
        } else if let Some(input) = self.lifecycle.inputs.next() {
            self.start_run(input, step);
        } else if self.lifecycle.inputs.is_held() {
            self.cancel_condensing(step);
        } else {
            self.condense_as_wanted(step);
        }
    }
}
