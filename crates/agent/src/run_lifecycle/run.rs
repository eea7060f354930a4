//! The state of a run ([`Run`]), and the step that an agent takes with one fact (`RunStep`).
//!
//! A `Run` is state: it lives from an input to its last answer and is serialized with its agent. A `RunStep`
//! lives for one fact: the machines pass it through all their functions, which put results into it and read
//! the session's context from it (`StepContext`). Ids of actions are made only here: `act_` + the `seq` of
//! the fact + the place among the actions of that fact. So a replay gives each action the id that it had.

use std::sync::Arc;

use agentx_types::{
    Action, ActionBody, ActionId, AgentOutput, AgentStateId, AnswerSchema, ApprovalMode, BuildContext,
    CallModel, Envelope, EnvironmentEvent, Message, MessageId, MessageOutput, ModelRequest, ModelSpec,
    NanoUsd, RecordedEffects, RequestedCall, RunId, RunStatus, StateOutput, StreamOutput, Timestamp,
    ToolCallId, TurnOutput, Usage,
};
use serde::{Deserialize, Serialize};

use crate::context::{HeardBy, StepContext, Transition};
use crate::limits::{RunSpending, ancestor_budgets::Census, raise::LimitRaise, stop_cause::StopCause};
use crate::permissions::approval::Question;

use super::refused_request::RefusedRequest;

/// A run: from an input of the user to its last answer. It may answer several inputs: those that joined it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The id of the run.
    pub id: RunId,
    /// The input that opened it.
    pub input_id: MessageId,
    /// The status; final once the run has ended.
    pub status: RunStatus,
    /// The number of rounds so far: answers with tool results, and pauses of the model. `max_iterations`
    /// bounds it.
    pub iterations: u32,
    /// The time of the fact that opened it.
    pub started_at: Timestamp,
    /// The time of the last fact that a running program committed for it.
    pub seen_at: Timestamp,
    /// Milliseconds in which no program was there to continue with it, or in which it waited for a time: they
    /// count against no limit.
    pub away_ms: u64,
    /// The time since which all its open calls wait for a time; `None` while they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_at: Option<Timestamp>,
    /// Whether a wait of it was over: nobody may be there who would continue it after a crash.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_waited: bool,
    /// The time since which it waits for the answer of a person; `None` while it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<Timestamp>,
    /// Milliseconds until then in which it waited for answers of people: the reported duration leaves them
    /// out.
    #[serde(default, skip_serializing_if = "agentx_types::is_default")]
    pub asked_ms: u64,
    /// The cost, with that of the run's tools and of the agents that it made.
    pub bill: RunCost,
    /// Spending that counts against this run's limits but is billed elsewhere: earlier runs that this one
    /// continues, and background agents after its end.
    #[serde(default, skip_serializing_if = "RunCost::is_nothing")]
    pub beside: RunCost,
    /// The amounts that people added to its limits when it asked.
    #[serde(default, skip_serializing_if = "agentx_types::is_default")]
    pub(crate) raised: LimitRaise,
    /// The action that it waits for, and the way in which it will end.
    pub pending: PendingRun,
    /// The schema that its answer has to match, if its input has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<Arc<AnswerSchema>>,
    /// The mode that it is at least as strict as, because it has words of people other than the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_of_words: Option<ApprovalMode>,
    /// The number of answers that were checked against a schema.
    #[serde(default, skip_serializing_if = "agentx_types::is_default")]
    pub checked_answers: u32,
    /// The last text of the model, which the turn's response repeats; empty if there was none.
    pub last_text: String,
}

/// The cost of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCost {
    /// Tokens of all its model calls, as the providers counted them or, if they did not, as estimated.
    pub usage: Usage,
    /// Money of all its model calls, in nano-dollars.
    pub cost: NanoUsd,
    /// The number of model calls.
    pub model_calls: u32,
}

impl RunCost {
    /// Returns whether nothing was spent: then it is not serialized.
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The state of a run that waits or is being stopped, besides its tools. Reset when the run ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PendingRun {
    /// The model call in progress. Facts with another `cause` do not concern the run.
    pub model_call: Option<ActionId>,
    /// The model of the call. Its own prices count, even if a person chooses another model meanwhile.
    pub model: Option<ModelSpec>,
    /// The partial message of a broken stream. It joins the conversation unless another attempt begins.
    pub partial: Option<Message>,
    /// The timer of the wall time limit, if there is one.
    pub timer: Option<ActionId>,
    /// The cause of its stop, while it stops.
    pub stop: Option<StopCause>,
    /// Whether a tool that ends the run has succeeded.
    pub quit: bool,
    /// The limit of iterations that the model was warned of, so that it is reported once for each limit.
    pub warned_of: Option<u32>,
    /// The refusal of the last request for its form, between the failed attempt that tells it and the error
    /// that ends the call: then the request is repaired by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedRequest>,
    /// The event in which the model declined to answer; before version 9 of the rules, the one that begins
    /// what it declined. From the end of the run on, that turn is left out of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declined: Option<u64>,
    /// The action that requests the next fallback, until the log has the switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<ActionId>,
    /// The contexts that are being built for its first model call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<PendingContext>,
    /// The check of the answer that would end the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<PendingCheck>,
    /// The time of the next attempt to ask the model, between a failed attempt and that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// The number of answers in a row that were paused, the last one among them. Any other answer sets it
    /// back to 0.
    #[serde(default, skip_serializing_if = "agentx_types::is_default")]
    pub pauses: u32,
    /// The number of answers in a row that were cut off in the middle of a call, the last one among them.
    #[serde(default, skip_serializing_if = "agentx_types::is_default")]
    pub cut_answers: u32,
    /// The place at which the last answer without calls was cut off, in words; `None` if it was complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_off: Option<String>,
}

/// A context that is being built for a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingContext {
    /// The action that builds the context.
    pub action_id: ActionId,
    /// The request, for a process that takes over.
    pub request: BuildContext,
}

/// An answer that is being checked against its schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingCheck {
    /// The action that checks the answer.
    pub action_id: ActionId,
    /// The reason why the answer may be incomplete, which the end of the run repeats.
    pub reason: Option<String>,
}

impl Run {
    /// A run that begins now.
    pub(crate) fn new(id: RunId, input_id: MessageId, started_at: Timestamp) -> Self {
        Self {
            id,
            input_id,
            status: RunStatus::Pending,
            iterations: 0,
            started_at,
            seen_at: started_at,
            away_ms: 0,
            paused_at: None,
            has_waited: false,
            asked_at: None,
            asked_ms: 0,
            bill: RunCost::default(),
            beside: RunCost::default(),
            raised: LimitRaise::default(),
            pending: PendingRun::default(),
            answer_schema: None,
            mode_of_words: None,
            checked_answers: 0,
            last_text: String::new(),
        }
    }
}

/// The current step: its position in the session, and its results so far.
///
/// | method | adds | left out if |
/// | --- | --- | --- |
/// | `act`, `act_in`, `ask` | an action, with its id | only agents listen; the id is used up anyway |
/// | `stream` | a piece of an answer | only agents listen |
/// | `state`, `message`, `turn` | something that agents above may need | nobody listens |
pub(crate) struct RunStep<'a> {
    /// The agent that takes the step.
    pub(crate) agent: &'a AgentStateId,
    /// The `seq` of the fact.
    pub(crate) seq: u64,
    /// The time of the fact. The machine reads no other clock.
    pub(crate) at: Timestamp,
    /// The context from the session for the fact.
    pub(crate) context: &'a StepContext<'a>,
    /// The agent's spending in this step, before the agents above count it.
    spent: RunSpending,
    /// The transition until now; [`RunStep::end`] returns it.
    follows: Transition,
}

impl<'a> RunStep<'a> {
    /// The step that `fact` makes `agent` take.
    pub(crate) fn new(
        agent: &'a AgentStateId,
        fact: &Envelope<EnvironmentEvent>,
        context: &'a StepContext<'a>,
    ) -> Self {
        Self {
            agent,
            seq: fact.seq,
            at: fact.at,
            context,
            spent: RunSpending::default(),
            follows: Transition::default(),
        }
    }

    /// Returns the transition.
    pub(crate) fn end(self) -> Transition {
        self.follows
    }

    /// Returns whether anybody besides agents reads the transition: then complete actions and pieces of
    /// streams are added.
    pub(crate) fn is_heard(&self) -> bool {
        self.context.heard_by == HeardBy::Everybody
    }

    /// Returns whether anybody reads the agent's outputs. Nobody does if a fold only advances the state.
    pub(crate) fn speaks(&self) -> bool {
        self.context.heard_by != HeardBy::Nobody
    }

    /// The position of the next action among all actions for the same fact, counted from 0 over all agents.
    pub(crate) fn next_action(&self) -> usize {
        self.context.before.actions + self.follows.acted.actions
    }

    /// The number of agents in the session, with those that this fact has already made the agents want.
    pub(crate) fn census(&self) -> Census {
        let wanted = self
            .context
            .before
            .agents
            .saturating_add(self.follows.acted.agents);
        self.context.census.with(wanted)
    }

    /// Adds spending of the agent: limits above are compared with the spending before the fact plus this.
    pub(crate) fn spend(&mut self, usage: Usage, cost: NanoUsd) {
        self.spent.usage += usage;
        self.spent.cost += cost;
    }

    /// The limit of an agent above that forbids another model call. Also `None` if there is no agent above.
    pub(crate) fn used_up_above(&self) -> Option<StopCause> {
        self.context.above?.used_up(&self.spent)
    }

    /// The limit above for which the agent is stopped by another one, if one is the reason.
    pub(crate) fn stops_above(&self) -> Option<StopCause> {
        self.context.above?.stops(&self.spent)
    }

    /// The steps of a call that the log has, and those of the calls that it made: a script that is run again
    /// does not repeat them.
    pub(crate) fn recorded(&self, call: &ToolCallId) -> Arc<RecordedEffects> {
        let all = self.context.recorded;
        all.map(|all| RecordedEffects::of(call, all)).unwrap_or_default()
    }

    /// Requests the action `body` for the run `run_id`; returns the id of the action, which the answer will
    /// name as its cause.
    pub(crate) fn request_action(&mut self, run_id: &RunId, body: ActionBody) -> ActionId {
        self.act_in(Some(run_id.clone()), body)
    }

    /// Requests the action `body`. `run_id` is empty if it belongs to no run, as for a summary between two
    /// runs.
    pub(crate) fn act_in(&mut self, run_id: Option<RunId>, body: ActionBody) -> ActionId {
        let action_id = ActionId::following(self.seq, self.next_action());
        self.follows.acted.count(&body);
        if self.is_heard() {
            self.push_action(action_id.clone(), run_id, body);
        }
        action_id
    }

    /// Requests a model call with `request`. The request may be large, so it is only built if somebody reads
    /// it.
    pub(crate) fn request_model_call(
        &mut self,
        run_id: &RunId,
        request: impl FnOnce() -> ModelRequest,
    ) -> ActionId {
        let action_id = ActionId::following(self.seq, self.next_action());
        self.follows.acted.actions += 1;
        if self.is_heard() {
            let call = CallModel {
                request: Arc::new(request()),
                taken: self.context.taken.cloned().unwrap_or_default(),
            };
            self.push_action(
                action_id.clone(),
                Some(run_id.clone()),
                ActionBody::CallModel(call),
            );
        }
        action_id
    }

    /// Adds the action to the transition.
    fn push_action(&mut self, action_id: ActionId, run_id: Option<RunId>, body: ActionBody) {
        self.follows.actions.push(Action {
            action_id,
            agent_state_id: self.agent.clone(),
            run_id,
            body,
        });
    }

    /// Adds a piece of an answer in progress. Agents do not listen to pieces, and a replay emits none.
    pub(crate) fn stream(&mut self, output: StreamOutput) {
        if self.is_heard() {
            self.follows.outputs.push(AgentOutput::Stream(output));
        }
    }

    /// Adds an output about the state of the agent or its run.
    pub(crate) fn state(&mut self, output: StateOutput) {
        self.push_output(AgentOutput::State(output));
    }

    /// Asks a person to decide about a call, or to answer it if it is a question.
    ///
    /// Front ends see `approval_requested` with the reason and the rule that `always` would keep. The call
    /// waits in the ledger, or among nested calls, until an `approval` names it, a rule that came later
    /// decides, or the run is stopped.
    pub(crate) fn request_approval(&mut self, call: &RequestedCall, question: &Question) {
        self.state(StateOutput::ApprovalRequested {
            tool_call_id: call.tool_call_id.clone(),
            name: call.name.clone(),
            input: call.input.clone(),
            reason: question.reason.clone(),
            suggested: question.suggested.clone(),
            form: question.form.clone(),
            question: question.asked.clone(),
        });
    }

    /// Says that a message is complete and in the conversation.
    pub(crate) fn message(&mut self, output: MessageOutput) {
        self.push_output(AgentOutput::Message(output));
    }

    /// Adds the request or the response of a whole turn, as people and agents above read it.
    pub(crate) fn turn(&mut self, output: TurnOutput) {
        self.push_output(AgentOutput::Turn(output));
    }

    /// Adds an output to the transition, if anybody reads it.
    fn push_output(&mut self, output: AgentOutput) {
        if self.speaks() {
            self.follows.outputs.push(output);
        }
    }
}
