//! The children of a match agent: their inputs and their results.
//!
//! Each route has at most one child, created on demand and kept, so that it knows the earlier messages. Its
//! output streams to the person. A closed child is created again for the next task.
//!
//! ```text
//! Task ──hand_over──▶ spawn_agent, send_input ──▶ the child's run ──▶ run_finished ──▶ child_ended ──▶ next task
//!          │                                           ▲
//!          └── forward (steer): the same rule again ───┘
//! ```
//!
//! The machine knows three things about a child: the inputs that it has not taken up yet (`unheard`), whether
//! it has a run (`runs`), and whether it is the working one (`WorkingChild`). A child is done when its run
//! has ended and it has taken up all inputs.

use agentx_types::{
    ActionBody, AgentConfig, AgentKind, AgentOutput, AgentStateId, CloseAgent, ContentPart, InputMode,
    InterruptAgent, MessageId, MessageOutput, RunStatus, SendInput, SpawnAgent, StateOutput, TurnOutput,
    UserMessage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::MatchAgent;
use super::plan::{ActiveChild, ChildTask, RouteTarget, add_text};
use crate::matching::Intent;
use crate::run_lifecycle::{RunStep, made_by};

/// An agent that this one made. It stays for the inputs to come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct MatchChild {
    pub(super) id: AgentStateId,
    /// The route that it is for.
    pub(super) place: RouteTarget,
    /// Whether it matches by its own rules; then it gets only the person's words.
    pub(super) matches: bool,
    /// Inputs that it was sent and has not taken up: a run is to come for them, or they join the one that it
    /// has.
    pub(super) unheard: Vec<SentInput>,
    /// Whether it has a run in progress.
    pub(super) runs: bool,
}

/// An input that a child was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SentInput {
    /// The id of the message, by which the child acknowledges it.
    message_id: MessageId,
    /// The task, so that another child can be given it.
    task: ChildTask,
}

/// The child that does something now. There is at most one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct WorkingChild {
    pub(super) child: AgentStateId,
    /// The rule by which it got its task; `None` for an input that no rule fits.
    pub(super) rule: Option<String>,
    /// Whether it was asked to stop because of another request.
    pub(super) leaving: bool,
}

impl MatchAgent {
    /// Gives a task to its child, which is created if it does not exist. From now on that child is the active
    /// one.
    pub(super) fn hand_over(&mut self, task: &ChildTask, step: &mut RunStep<'_>) {
        let Some(child) = self.child_for(task.place, step) else {
            return;
        };
        self.at_work = Some(WorkingChild {
            child: child.clone(),
            rule: task.rule.clone(),
            leaving: false,
        });
        self.active = Some(ActiveChild {
            place: task.place,
            rule: task.rule.clone(),
        });
        self.send(&child, task, InputMode::Queue, step);
        self.lifecycle.set_status(RunStatus::AwaitingTool, step);
    }

    /// Gives the child that is at work something more, which joins its run.
    pub(super) fn forward(&mut self, task: &ChildTask, step: &mut RunStep<'_>) {
        if let Some(work) = &self.at_work {
            let child = work.child.clone();
            self.send(&child, task, InputMode::Steer, step);
        }
    }

    /// Returns whether there is a child for this place.
    pub(super) fn has_child(&self, place: RouteTarget) -> bool {
        self.children.iter().any(|child| child.place == place)
    }

    /// The child of this route; it is created if there is none. `None` if the configuration no longer has an
    /// agent for the route.
    fn child_for(&mut self, place: RouteTarget, step: &mut RunStep<'_>) -> Option<AgentStateId> {
        if let Some(child) = self.children.iter().find(|child| child.place == place) {
            return Some(child.id.clone());
        }
        let config: AgentConfig = made_by(
            &self.lifecycle.deciding(&self.config),
            place.config(self.config.routing.as_deref()?)?,
        );
        let id = AgentStateId::with_suffix(format_args!("{}_{}", step.seq, step.next_action()));
        self.children.push(MatchChild {
            id: id.clone(),
            place,
            matches: config.kind == AgentKind::Match,
            unheard: Vec::new(),
            runs: false,
        });
        let spawn = SpawnAgent {
            agent_state_id: id.clone(),
            config: Box::new(config),
        };
        self.request_action(ActionBody::SpawnAgent(spawn), step);
        Some(id)
    }

    /// Sends a child the person's own words, and the intent to which they were matched.
    fn send(&mut self, to: &AgentStateId, task: &ChildTask, mode: InputMode, step: &mut RunStep<'_>) {
        let Some(child) = self.child(to) else {
            return;
        };
        let message_id = MessageId::with_suffix(format_args!("routed_{}_{}", step.seq, step.next_action()));
        child.unheard.push(SentInput {
            message_id: message_id.clone(),
            task: task.clone(),
        });
        let mut content = task.message.content.clone();
        // One that matches reads the words by its own rules.
        let intent = task.intent.as_ref().filter(|_| !child.matches);
        content.extend(intent.map(|intent| ContentPart::text(intent_note(intent, task.one_of_several))));
        let message = UserMessage {
            message_id,
            content,
            mode,
            idempotency_key: None,
            by: task.message.by.clone(),
            answer_schema: None,
        };
        let to = to.clone();
        self.request_action(ActionBody::SendInput(SendInput { to, message }), step);
    }

    /// Asks a child to stop; the child reports when it has.
    pub(super) fn interrupt_child(&self, to: AgentStateId, reason: &str, step: &mut RunStep<'_>) {
        let reason = Some(reason.to_owned());
        self.request_action(ActionBody::InterruptAgent(InterruptAgent { to, reason }), step);
    }

    /// Closes a child.
    pub(super) fn close_child(&self, agent_state_id: AgentStateId, reason: &str, step: &mut RunStep<'_>) {
        let close = CloseAgent {
            agent_state_id,
            reason: reason.to_owned(),
        };
        self.request_action(ActionBody::CloseAgent(close), step);
    }

    /// Requests an action in the run in progress.
    fn request_action(&self, body: ActionBody, step: &mut RunStep<'_>) {
        step.act_in(self.lifecycle.run_id(), body);
    }

    /// Handles an output of a child: its spending is also this agent's, its text becomes the run's, and the
    /// end of its run ends its task.
    pub(crate) fn on_child_output(
        &mut self,
        id: &AgentStateId,
        output: &AgentOutput,
        step: &mut RunStep<'_>,
    ) {
        match output {
            AgentOutput::State(StateOutput::Spent { usage, cost, .. }) => {
                self.lifecycle.share(*usage, *cost, step)
            }
            AgentOutput::Message(MessageOutput::User { message }) => {
                if let Some(child) = self.child(id) {
                    child.unheard.retain(|sent| sent.message_id != message.message_id);
                    child.runs = true;
                }
            }
            AgentOutput::Turn(TurnOutput::Response {
                text, model_calls, ..
            }) => {
                let works = self.is_at_work(id);
                if let Some(run) = self.lifecycle.active().filter(|_| works) {
                    add_text(&mut run.last_text, text);
                    run.bill.model_calls += model_calls;
                }
            }
            AgentOutput::State(StateOutput::RunFinished { status, reason, .. }) => {
                if let Some(child) = self.child(id) {
                    child.runs = false;
                }
                if self.is_at_work(id) {
                    self.child_ended(id, *status, reason.as_deref(), step);
                }
            }
            AgentOutput::State(StateOutput::Closed { .. }) => self.child_gone(id, step),
            _ => {}
        }
        if let Some(run) = self.lifecycle.active() {
            run.seen_at = step.at;
        }
    }

    /// The child with this id, if it is one.
    fn child(&mut self, id: &AgentStateId) -> Option<&mut MatchChild> {
        self.children.iter_mut().find(|child| child.id == *id)
    }

    /// Returns whether this is the child that does something now.
    fn is_at_work(&self, id: &AgentStateId) -> bool {
        self.at_work.as_ref().is_some_and(|work| work.child == *id)
    }

    /// Handles the end of a run of the working child. A child that was sent more meanwhile continues, or is
    /// stopped again.
    fn child_ended(
        &mut self,
        id: &AgentStateId,
        status: RunStatus,
        reason: Option<&str>,
        step: &mut RunStep<'_>,
    ) {
        let is_stopping = self.lifecycle.is_stopping();
        let has_more = |child: &MatchChild| child.id == *id && !child.unheard.is_empty();
        let Some(work) = self.at_work.clone() else { return };
        if self.children.iter().any(has_more) {
            // It continues with the inputs that came meanwhile.
            if is_stopping || work.leaving {
                self.interrupt_child(work.child, "the agent that made it was stopped", step);
            }
            return;
        }
        self.at_work = None;
        if !is_stopping && !work.leaving {
            self.note_outcome(status, reason);
        }
        self.proceed(step);
    }

    /// Records the outcome of a task: if it failed, so does the run, and the first failure counts. A person
    /// who stops a child also stops the remaining tasks.
    fn note_outcome(&mut self, status: RunStatus, reason: Option<&str>) {
        let reason = reason.map(str::to_owned);
        match status {
            RunStatus::Completed => {
                if reason.is_some() {
                    self.outcome.get_or_insert((status, reason));
                }
                return;
            }
            RunStatus::Interrupted => self.plan.clear(),
            _ => {}
        }
        let is_first = !matches!(&self.outcome, Some((before, _)) if *before != RunStatus::Completed);
        if is_first {
            self.outcome = Some((status, reason));
        }
    }

    /// Forgets a closed child. Inputs that it was sent and never took up become tasks again, and another
    /// child is made for them.
    fn child_gone(&mut self, id: &AgentStateId, step: &mut RunStep<'_>) {
        let Some(index) = self.children.iter().position(|child| child.id == *id) else {
            return;
        };
        let gone = self.children.remove(index);
        if self
            .active
            .as_ref()
            .is_some_and(|active| active.place == gone.place)
        {
            self.active = None;
        }
        if let Some(work) = self.at_work.take_if(|work| work.child == *id) {
            if !work.leaving && !self.lifecycle.is_stopping() {
                let unheard = gone.unheard.into_iter().rev().map(|sent| sent.task);
                unheard.for_each(|task| self.plan.push_front(task));
            }
            self.proceed(step);
        }
    }
}

/// The text for a child about an input, besides the words: the rule and its values.
fn intent_note(intent: &Intent, one_of_several: bool) -> String {
    let args = Value::Object(intent.args.clone().into_iter().collect());
    let only = if one_of_several {
        " Others see to the rest of the message."
    } else {
        ""
    };
    format!("[The message was matched to {}: {args}.{only}]", intent.rule)
}
