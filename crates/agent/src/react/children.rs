//! Agents that this agent created with its tool `delegate`. If it waits for one, the call is open until the
//! child's run ends; the result of one in the background comes as an input. The spending of children counts
//! for this agent too.

use agentx_types::{
    ActionBody, AgentConfig, AgentOutput, AgentStateId, ApprovalMode, CloseAgent, ContentPart, InputMode,
    InterruptAgent, Message, MessageId, RequestedCall, Role, RunStatus, SendInput, SpawnAgent, StateOutput,
    ToolCallId, ToolStatus, TurnOutput, UserMessage,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ReactAgent;
use crate::built_in_agents;
use crate::ledger::CallStage;
use crate::run_lifecycle::{RunInput, RunStep, made_by};
use crate::tools::delegation_tools::{AGENTS, DELEGATE};

/// The most children that may be at work at once.
const MAX_AT_WORK: usize = 16;

/// An agent that this one created.
///
/// | | it is waited for | it works in the background |
/// | --- | --- | --- |
/// | `call` | the call of `delegate`, open until its run has ended | `None`: the call was answered at once |
/// | its last answer | is the result of that call | comes as an input, and may open a run |
///
/// Its spending counts for this agent in both cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ReactChild {
    id: AgentStateId,
    name: String,
    /// The call that waits for it; `None` if it works in the background.
    call: Option<ToolCallId>,
    /// The final status of its run; `None` while it is at work.
    ended: Option<RunStatus>,
    text: String,
    /// Whether it was asked to stop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    stopping: bool,
    /// The mode to which words of people other than the owner bound the run that made it: a run that its
    /// answer opens is at least as strict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode_of_words: Option<ApprovalMode>,
}

/// The arguments of a call of `delegate`.
struct Order {
    config: Box<AgentConfig>,
    input: String,
    background: bool,
}

impl ReactAgent {
    /// Performs a call of one of the machine's own tools; `None` if the call is for another tool. An `Err` is
    /// the message to the model about wrong arguments.
    pub(super) fn own_call(
        &mut self,
        call: &RequestedCall,
        step: &mut RunStep<'_>,
    ) -> Option<Result<CallStage, String>> {
        if let Some(answered) = self.answer_by_itself(call, step) {
            return Some(answered);
        }
        let is_about_agents = matches!(call.name.as_str(), DELEGATE | AGENTS);
        if !is_about_agents || (self.config.agents.is_empty() && self.own_tool(DELEGATE).is_none()) {
            return None;
        }
        match call.name.as_str() {
            DELEGATE => Some(self.order(&call.input).map(|order| match self.no_room(step) {
                Some(why) => self.answer_now(call, ToolStatus::Refused, format!("not run: {why}."), step),
                None => self.delegate(order, call, step),
            })),
            AGENTS => Some(self.look_after(&call.input, call, step)),
            _ => None,
        }
    }

    /// Reads the arguments of `delegate`; an `Err` is the message to the model about them.
    fn order(&self, input: &Value) -> Result<Order, String> {
        let text = |key: &str| {
            input
                .get(key)
                .and_then(Value::as_str)
                .ok_or_else(|| format!("`{key}` is missing: it is a text."))
        };
        let (name, said) = (text("agent")?, text("input")?);
        let Some(config) = self.child_config(name) else {
            let configured = self.config.agents.iter().map(|agent| agent.name.as_str());
            let built_in = built_in_agents::known_to(&self.config).map(|(name, _)| name);
            let names: Vec<&str> = configured.chain(built_in).collect();
            return Err(format!(
                "There is no agent {name:?}. The agents are: {}.",
                names.join(", ")
            ));
        };
        let background = input.get("background").and_then(Value::as_bool).unwrap_or(false);
        Ok(Order {
            config: Box::new(config),
            input: said.to_owned(),
            background,
        })
    }

    /// The configuration of the agent of this name, bound by the restrictions of this one. A configured agent
    /// comes before a built-in one.
    fn child_config(&self, name: &str) -> Option<AgentConfig> {
        let configured = self.config.agents.iter().find(|agent| agent.name == name);
        let built_in = || built_in_agents::config_of(name, &self.config, self.own_model());
        let config = configured.cloned().or_else(built_in)?;
        Some(made_by(&self.deciding(), &config))
    }

    /// The reason why no other agent may be made, if there is one, with advice.
    fn no_room(&self, step: &RunStep<'_>) -> Option<String> {
        let at_work = self.children.iter().filter(|child| child.ended.is_none()).count();
        if at_work >= MAX_AT_WORK {
            return Some(format!(
                "{at_work} agents are at work for you, which is the most at once; give out the rest when some of them have ended \
                 (`{AGENTS}` lists them, and stops one)"
            ));
        }
        step.census().full()
    }

    /// Creates the agent and gives it its input; its id follows from the event and the place of the action.
    fn delegate(&mut self, order: Order, call: &RequestedCall, step: &mut RunStep<'_>) -> CallStage {
        let id = AgentStateId::with_suffix(format_args!("{}_{}", step.seq, step.next_action()));
        let name = order.config.name.clone();
        let run_id = self.lifecycle.run_id();
        step.act_in(
            run_id.clone(),
            ActionBody::SpawnAgent(SpawnAgent {
                agent_state_id: id.clone(),
                config: order.config,
            }),
        );
        let message = UserMessage {
            message_id: MessageId::with_suffix(format_args!("input_{}", id.as_str())),
            content: vec![ContentPart::text(order.input)],
            mode: InputMode::Queue,
            idempotency_key: None,
            by: None,
            answer_schema: None,
        };
        let to = id.clone();
        let send = ActionBody::SendInput(SendInput { to, message });
        let action_id = step.act_in(run_id, send);
        self.children.push(ReactChild {
            id: id.clone(),
            name: name.clone(),
            call: (!order.background).then(|| call.tool_call_id.clone()),
            ended: None,
            text: String::new(),
            stopping: false,
            mode_of_words: self.lifecycle.run.as_ref().and_then(|run| run.mode_of_words),
        });
        if order.background {
            let text =
                format!("Agent {name} works in the background as {id}. Its answer will come as a message.");
            return self.answer_now(call, ToolStatus::Success, text, step);
        }
        CallStage::Delegated { action_id, child: id }
    }

    /// The tool `agents`: lists them, reports the state of one, or stops one.
    fn look_after(
        &mut self,
        input: &Value,
        call: &RequestedCall,
        step: &mut RunStep<'_>,
    ) -> Result<CallStage, String> {
        let wanted = input.get("id").and_then(Value::as_str);
        let is_wanted = |child: &&ReactChild| wanted.is_none_or(|id| child.id.as_str() == id);
        if let Some(id) = wanted.filter(|_| !self.children.iter().any(|child| is_wanted(&child))) {
            return Err(format!("There is no agent {id}."));
        }
        match input.get("action").and_then(Value::as_str) {
            Some("list" | "status") | None => {}
            Some("stop") if wanted.is_some() => {
                self.interrupt_those(is_wanted, "stopped by the agent that made it", step);
            }
            Some("stop") => return Err("`id` is missing: which agent is to stop.".into()),
            Some(other) => {
                return Err(format!("`action` is list, status or stop, not {other:?}."));
            }
        }
        let shown: Vec<Value> = self
            .children
            .iter()
            .filter(is_wanted)
            .map(ReactChild::shown)
            .collect();
        let text = Value::Array(shown).to_string();
        Ok(self.answer_now(call, ToolStatus::Success, text, step))
    }

    /// Stops all working children.
    pub(super) fn interrupt_children(&mut self, why: &str, step: &mut RunStep<'_>) {
        self.interrupt_those(|_| true, why, step);
    }

    /// Interrupts the working children that are wanted, and marks them as stopping.
    fn interrupt_those(&mut self, wanted: impl Fn(&&ReactChild) -> bool, why: &str, step: &mut RunStep<'_>) {
        let run_id = self.lifecycle.run_id();
        for child in &mut self.children {
            if child.ended.is_some() || !wanted(&&*child) {
                continue;
            }
            child.stopping = true;
            let interrupt = InterruptAgent {
                to: child.id.clone(),
                reason: Some(why.to_owned()),
            };
            step.act_in(run_id.clone(), ActionBody::InterruptAgent(interrupt));
        }
    }

    /// Ends the working children, because nobody needs their results.
    pub(super) fn close_children(&mut self, reason: &str, step: &mut RunStep<'_>) {
        let run_id = self.lifecycle.run_id();
        for child in self.children.iter().filter(|child| child.ended.is_none()) {
            let close = CloseAgent {
                agent_state_id: child.id.clone(),
                reason: reason.to_owned(),
            };
            step.act_in(run_id.clone(), ActionBody::CloseAgent(close));
        }
    }

    /// Handles an output of a child.
    pub(crate) fn on_child_output(
        &mut self,
        id: &AgentStateId,
        output: &AgentOutput,
        step: &mut RunStep<'_>,
    ) {
        let known = self.children.iter().position(|child| child.id == *id);
        match output {
            AgentOutput::State(StateOutput::Spent { usage, cost, .. }) => {
                self.lifecycle.share(*usage, *cost, step);
            }
            AgentOutput::Turn(TurnOutput::Response { text, .. }) => {
                if let Some(child) = known.and_then(|index| self.children.get_mut(index)) {
                    child.text.clone_from(text);
                }
            }
            AgentOutput::State(StateOutput::RunFinished { status, reason, .. }) => {
                if let Some(index) = known {
                    self.child_ended(index, *status, reason.as_deref(), step);
                }
            }
            _ => {}
        }
    }

    /// Handles the first end of a child's run: closes the child, and hands on its answer.
    fn child_ended(&mut self, index: usize, status: RunStatus, reason: Option<&str>, step: &mut RunStep<'_>) {
        let Some(child) = self.children.get_mut(index) else {
            return;
        };
        if child.ended.replace(status).is_some() {
            return;
        }
        let (child, said) = (child.clone(), child.end_message(status, reason));
        let run_id = self.lifecycle.run_id();
        let close = CloseAgent {
            agent_state_id: child.id.clone(),
            reason: "its work is done".into(),
        };
        step.act_in(run_id, ActionBody::CloseAgent(close));
        let Some(call) = &child.call else {
            self.background_answer(&child, said, status, step);
            return;
        };
        let waits = |stage: &CallStage| matches!(stage, CallStage::Delegated { .. });
        let open = self
            .ledger
            .entries()
            .iter()
            .position(|entry| entry.call.tool_call_id == *call && waits(&entry.stage));
        if let Some(open) = open {
            self.answer_open(open, tool_status(status), said, step);
        }
    }

    /// Returns whether the limit that ends a child, or leaves nothing to answer it with, has ended this
    /// agent's run too.
    fn ended_at_the_same_limit(&self, status: RunStatus, step: &RunStep<'_>) -> bool {
        let nothing_left = || self.lifecycle.is_used_up(&self.config.limits, step);
        self.lifecycle.is_at_a_limit() && (status == RunStatus::TimedOut || nothing_left())
    }

    /// Takes the answer of an agent in the background as an input: it joins the run in progress, or opens
    /// one. The answer of a stopped agent opens no run: the next run reads it.
    fn background_answer(
        &mut self,
        child: &ReactChild,
        said: String,
        status: RunStatus,
        step: &mut RunStep<'_>,
    ) {
        let ReactChild {
            name,
            id,
            mode_of_words,
            ..
        } = child;
        let text = format!("[Agent {name} ({id}) in the background has ended.]\n{said}");
        let message = Message {
            message_id: MessageId::with_suffix(format_args!("answer_{}", child.id.as_str())),
            role: Role::User,
            content: vec![ContentPart::text(text)],
            by: None,
        };
        let mut input = RunInput::from_background(message, step);
        input.mode_of_words = *mode_of_words;
        let goes_on = self.lifecycle.active().is_some() && !self.lifecycle.is_stopping();
        let was_stopped = status == RunStatus::Interrupted || self.ended_at_the_same_limit(status, step);
        if was_stopped && !goes_on {
            self.lifecycle.inputs.keep(input.message);
        } else if self.lifecycle.is_free() && !self.lifecycle.inputs.is_held() {
            self.start_run(input, step);
        } else {
            self.lifecycle.inputs.steer(input);
        }
    }
}

impl ReactChild {
    fn shown(&self) -> Value {
        json!({
            "id": self.id,
            "agent": self.name,
            "background": self.call.is_none(),
            "status": self.ended.map_or(json!(if self.stopping { "stopping" } else { "working" }), |status| json!(status)),
            "answer": self.text,
        })
    }

    /// The words about its end for the agent that made it.
    fn end_message(&self, status: RunStatus, reason: Option<&str>) -> String {
        if status == RunStatus::Completed {
            return self.text.clone();
        }
        let why = reason.unwrap_or("no reason was given");
        let text = if self.text.is_empty() {
            String::new()
        } else {
            format!("\nWhat it said last:\n{}", self.text)
        };
        format!("Agent {} did not come to its end: {why}.{text}", self.name)
    }
}

fn tool_status(status: RunStatus) -> ToolStatus {
    match status {
        RunStatus::Completed => ToolStatus::Success,
        RunStatus::Interrupted => ToolStatus::Interrupted,
        RunStatus::TimedOut => ToolStatus::TimedOut,
        _ => ToolStatus::Failed,
    }
}
