//! What a run knows about itself, and the step that is being taken.

use std::sync::Arc;

use agentx_types::{
    Action, ActionBody, ActionId, AgentOutput, AgentStateId, CallModel, Envelope, EnvironmentEvent, Message,
    MessageId, MessageOutput, ModelRequest, ModelSpec, NanoUsd, RecordedEffects, RequestPart, RunId,
    RunStatus, StateOutput, StreamOutput, Timestamp, ToolCallId, TurnOutput, Usage,
};
use serde::{Deserialize, Serialize};

use crate::above::Census;
use crate::context::{Context, HeardBy, Transition};
use crate::limits::{Reached, Spent};

/// One input of the user until its last answer.
/// It may answer several inputs: those that joined it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// The input that it answers.
    pub input_id: MessageId,
    /// Where it stands.
    pub status: RunStatus,
    /// How often the model was answered with tool results.
    pub iterations: u32,
    /// When it began.
    pub started_at: Timestamp,
    /// When the last fact came that a living program committed for it.
    pub seen_at: Timestamp,
    /// Milliseconds in which no program was there to go on with it: they count against no limit.
    pub away_ms: u64,
    /// What it has cost.
    pub bill: Bill,
    /// What counts against its limits beside that: what runs spent that it goes on for, and what agents in the background spend
    /// when it is over.
    #[serde(default, skip_serializing_if = "Bill::is_nothing")]
    pub beside: Bill,
    /// What it waits for and how it is to end.
    pub pending: Pending,
    /// The last words of the model.
    pub last_text: String,
}

/// What a run has cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bill {
    /// Tokens of all its model calls.
    pub usage: Usage,
    /// Money of all its model calls.
    pub cost: NanoUsd,
    /// How many model calls it made.
    pub model_calls: u32,
}

impl Bill {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What a run waits for beside its tools, and how it is to end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// The model call that is under way.
    pub model_call: Option<ActionId>,
    /// The model that was asked; it is paid at its own prices also where another is chosen meanwhile.
    pub model: Option<ModelSpec>,
    /// What a stream that broke off came to; kept unless another attempt begins.
    pub partial: Option<Message>,
    /// The timer of the wall time limit.
    pub timer: Option<ActionId>,
    /// Why it is being stopped, if it is.
    pub stop: Option<StopCause>,
    /// Whether a tool that ends the run has succeeded.
    pub quit: bool,
    /// The limit of iterations that the model was warned of.
    pub warned_of: Option<u32>,
    /// Which part of the last request its provider refuses for its form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<RequestPart>,
    /// Where that is the longest answer: how many tokens it may have, if the provider says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_answer: Option<u64>,
    /// Where that is how tools are described: which of them, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_tools: Vec<String>,
    /// The event with which begins what the model declined: it is left out of what is sent from the end of the run on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declined: Option<u64>,
    /// How many answers in a row were paused, the last one among them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pauses: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Why a run is being stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopCause {
    /// How the run will end.
    pub status: RunStatus,
    /// Stable, for programs; empty for an interrupt.
    pub code: String,
    /// For people.
    pub message: String,
    /// Whether it is on record.
    pub record: Record,
}

/// How far it has come that the log says why a run is being stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// A report is due once nothing is open any more.
    Due,
    /// The report was asked for.
    Asked,
    /// The log says it.
    Made,
}

impl StopCause {
    /// It is stopped from outside.
    pub(crate) fn interrupt(reason: &str) -> Self {
        Self {
            status: RunStatus::Interrupted,
            code: String::new(),
            message: reason.to_owned(),
            record: Record::Due,
        }
    }

    /// It cannot go on.
    pub(crate) fn error(status: RunStatus, code: &str, message: &str) -> Self {
        Self {
            status,
            code: code.to_owned(),
            message: message.to_owned(),
            record: Record::Due,
        }
    }

    /// A limit forbids that it goes on.
    pub(crate) fn limit(limit: &Reached) -> Self {
        Self::error(RunStatus::TimedOut, limit.code, &limit.message)
    }

    /// The same, where the log says so already.
    pub(crate) fn on_record(mut self) -> Self {
        self.record = Record::Made;
        self
    }
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
            bill: Bill::default(),
            beside: Bill::default(),
            pending: Pending::default(),
            last_text: String::new(),
        }
    }

    /// Milliseconds until `at` that count against its limit: those in which a program was there.
    pub(crate) fn used_ms(&self, at: Timestamp) -> u64 {
        at.millis_since(self.started_at).saturating_sub(self.away_ms)
    }

    /// Another program goes on with it: nobody did between the last fact and now.
    pub(super) fn come_back(&mut self, at: Timestamp) {
        self.away_ms = self.away_ms.saturating_add(at.millis_since(self.seen_at));
    }

    /// What counts against its limits.
    pub(crate) fn spent(&self) -> Spent {
        let mut spent = Spent {
            iterations: self.iterations,
            usage: self.bill.usage,
            cost: self.bill.cost,
        };
        spent.usage += self.beside.usage;
        spent.cost += self.beside.cost;
        spent
    }

    /// It goes on for the one before: what that has used up counts for both.
    pub(super) fn goes_on_for(&mut self, before: &Self) {
        let Spent { usage, cost, .. } = before.spent();
        self.beside = Bill {
            usage,
            cost,
            model_calls: 0,
        };
    }
}

/// The step that is being taken: where it stands in the session, and what follows from it so far.
pub(crate) struct Step<'a> {
    pub(crate) agent: &'a AgentStateId,
    pub(crate) seq: u64,
    pub(crate) at: Timestamp,
    pub(crate) context: &'a Context<'a>,
    /// What the agent spends in this step, before those above have heard of it.
    spent: Spent,
    follows: Transition,
}

impl<'a> Step<'a> {
    /// The step that `fact` makes `agent` take.
    pub(crate) fn new(
        agent: &'a AgentStateId,
        fact: &Envelope<EnvironmentEvent>,
        context: &'a Context<'a>,
    ) -> Self {
        Self {
            agent,
            seq: fact.seq,
            at: fact.at,
            context,
            spent: Spent::default(),
            follows: Transition::default(),
        }
    }

    /// The step is taken.
    pub(crate) fn end(self) -> Transition {
        self.follows
    }

    /// Whether anybody but agents hears what follows.
    pub(crate) fn is_heard(&self) -> bool {
        self.context.heard_by == HeardBy::Everybody
    }

    /// Whether anybody at all hears what the agent says.
    pub(crate) fn speaks(&self) -> bool {
        self.context.heard_by != HeardBy::Nobody
    }

    /// The place of the next action among all that answer the same fact.
    pub(crate) fn next_action(&self) -> usize {
        self.context.before.actions + self.follows.acted.actions
    }

    /// How many agents the session has, with those that are wanted by now.
    pub(crate) fn census(&self) -> Census {
        let wanted = self
            .context
            .before
            .agents
            .saturating_add(self.follows.acted.agents);
        self.context.census.with(wanted)
    }

    /// The agent spends something.
    pub(crate) fn spend(&mut self, usage: Usage, cost: NanoUsd) {
        self.spent.usage += usage;
        self.spent.cost += cost;
    }

    /// Why no model may be asked any more, if a limit of an agent above forbids it.
    pub(crate) fn used_up_above(&self) -> Option<StopCause> {
        self.context.above?.used_up(&self.spent)
    }

    /// The limit above for which the agent is stopped by another one, if one is the reason.
    pub(crate) fn stops_above(&self) -> Option<StopCause> {
        self.context.above?.stops(&self.spent)
    }

    /// What a call did already, as far as the log has it, and what the calls did that it made.
    pub(crate) fn recorded(&self, call: &ToolCallId) -> Arc<RecordedEffects> {
        let all = self.context.recorded;
        all.map(|all| RecordedEffects::of(call, all)).unwrap_or_default()
    }

    /// Wants `body` done.
    pub(crate) fn act(&mut self, run_id: &RunId, body: ActionBody) -> ActionId {
        self.act_in(Some(run_id.clone()), body)
    }

    /// Wants `body` done, in that run.
    pub(crate) fn act_in(&mut self, run_id: Option<RunId>, body: ActionBody) -> ActionId {
        let action_id = ActionId::following(self.seq, self.next_action());
        self.follows.acted.count(&body);
        if self.is_heard() {
            self.want(action_id.clone(), run_id, body);
        }
        action_id
    }

    /// Wants a model asked for what `request` says; the request is made where somebody hears of it.
    pub(crate) fn ask(&mut self, run_id: &RunId, request: impl FnOnce() -> ModelRequest) -> ActionId {
        let action_id = ActionId::following(self.seq, self.next_action());
        self.follows.acted.actions += 1;
        if self.is_heard() {
            let call = CallModel {
                request: Arc::new(request()),
                taken: self.context.taken.cloned().unwrap_or_default(),
            };
            self.want(
                action_id.clone(),
                Some(run_id.clone()),
                ActionBody::CallModel(call),
            );
        }
        action_id
    }

    fn want(&mut self, action_id: ActionId, run_id: Option<RunId>, body: ActionBody) {
        self.follows.actions.push(Action {
            action_id,
            agent_state_id: self.agent.clone(),
            run_id,
            body,
        });
    }

    pub(crate) fn stream(&mut self, output: StreamOutput) {
        if self.is_heard() {
            self.follows.outputs.push(AgentOutput::Stream(output));
        }
    }

    pub(crate) fn state(&mut self, output: StateOutput) {
        self.say(AgentOutput::State(output));
    }

    pub(crate) fn message(&mut self, output: MessageOutput) {
        self.say(AgentOutput::Message(output));
    }

    pub(crate) fn turn(&mut self, output: TurnOutput) {
        self.say(AgentOutput::Turn(output));
    }

    fn say(&mut self, output: AgentOutput) {
        if self.speaks() {
            self.follows.outputs.push(output);
        }
    }
}
