//! The plan: intents as tasks for children, in order.
//!
//! Tasks are done one after the other. The effect of an input depends on its first task and on the working
//! child:
//!
//! | the input means | a child is at work by that rule | by another rule | none is at work |
//! | --- | --- | --- | --- |
//! | a rule with a route | the child gets it, the rest is planned after it | the child is stopped, the plan is replaced | planned |
//! | no rule | the child gets it | the child gets it | the active child, otherwise the default |
//!
//! If no agent handles an input, the machine itself answers so.

use std::collections::VecDeque;
use std::sync::Arc;

use agentx_types::{AgentConfig, ContentPart, Message, MessageId, MessageOutput, Role, Routing, RunStatus};
use serde::{Deserialize, Serialize};

use super::MatchAgent;
use crate::matching::Intent;
use crate::run_lifecycle::{RunStep, StopCause, StopRecord};

/// The route that a task is for. There is one child for each at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RouteTarget {
    /// The agent of the route at this index.
    Route(usize),
    /// The agent for inputs that no rule fits.
    Default,
}

impl RouteTarget {
    /// The configuration of the agent for this route; `None` if there is none.
    pub(super) fn config(self, routing: &Routing) -> Option<&AgentConfig> {
        match self {
            Self::Route(index) => routing.routes.get(index).map(|route| &route.agent),
            Self::Default => routing.default.as_deref(),
        }
    }
}

/// A task for a child.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ChildTask {
    /// The route that it is for.
    pub(super) place: RouteTarget,
    /// The name of the rule; `None` for an input that no rule fits.
    pub(super) rule: Option<String>,
    /// The intent, if a rule fits.
    pub(super) intent: Option<Intent>,
    /// Whether the input has other intents too.
    pub(super) one_of_several: bool,
    /// The input with this intent.
    pub(super) message: Arc<Message>,
}

/// The child to which the person is talking. Inputs that no rule fits go there: "a bit louder" after a song
/// was played.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ActiveChild {
    /// The route of that child.
    pub(super) place: RouteTarget,
    /// The rule by which it was last given something.
    pub(super) rule: Option<String>,
}

/// The answer to a person whose input matches no rule when no default agent is set.
const NOBODY: &str = "No rule fits this, and there is no agent for what no rule fits.";

impl MatchAgent {
    /// Makes tasks of the intents of an input, according to the table above. The caller has to call
    /// `proceed`.
    ///
    /// A child that is being stopped is notified once; inputs that come meanwhile only replace the plan.
    pub(super) fn plan_intents(
        &mut self,
        message: &Arc<Message>,
        intents: Vec<Intent>,
        step: &mut RunStep<'_>,
    ) {
        let tasks = self.tasks(message, intents);
        let Some(first) = tasks.front() else {
            return self.handle_unmatched(message, step);
        };
        match &mut self.at_work {
            Some(work) if !work.leaving && work.rule == first.rule => self.start_tasks(tasks, step),
            Some(work) => {
                let is_news = !std::mem::replace(&mut work.leaving, true);
                let child = work.child.clone();
                self.plan = tasks;
                if is_news {
                    self.interrupt_child(child, "something else was asked for", step);
                }
            }
            None => self.plan.extend(tasks),
        }
    }

    /// Sends the first task to the working child and queues the others.
    fn start_tasks(&mut self, mut tasks: VecDeque<ChildTask>, step: &mut RunStep<'_>) {
        if let Some(first) = tasks.pop_front() {
            self.forward(&first, step);
        }
        self.plan.extend(tasks);
    }

    /// The tasks for these intents, in order.
    ///
    /// Intents whose rule has no route are for the default, if there is one. If no intent has a route, there
    /// are no tasks: the input is treated as one that no rule fits.
    fn tasks(&self, message: &Arc<Message>, intents: Vec<Intent>) -> VecDeque<ChildTask> {
        let Some(routing) = self.config.routing.as_deref() else {
            return VecDeque::new();
        };
        let route_of = |rule: &String| routing.routes.iter().position(|route| route.rules.contains(rule));
        if !intents.iter().any(|intent| route_of(&intent.rule).is_some()) {
            return VecDeque::new();
        }
        let one_of_several = intents.len() > 1;
        let task = |intent: Intent| {
            let place = match route_of(&intent.rule) {
                Some(index) => RouteTarget::Route(index),
                None => routing.default.as_ref().map(|_| RouteTarget::Default)?,
            };
            Some(ChildTask {
                place,
                rule: Some(intent.rule.clone()),
                intent: Some(intent),
                one_of_several,
                message: message.clone(),
            })
        };
        intents.into_iter().filter_map(task).collect()
    }

    /// Gives an input that no rule fits to the active child, otherwise to the default, otherwise answers that
    /// there is no agent. The child of a planned task counts as the active one.
    fn handle_unmatched(&mut self, message: &Arc<Message>, step: &mut RunStep<'_>) {
        let has_default = self
            .config
            .routing
            .as_deref()
            .is_some_and(|routing| routing.default.is_some());
        let last = self.plan.back().map(|task| (task.place, task.rule.clone()));
        let active = self
            .active
            .as_ref()
            .map(|active| (active.place, active.rule.clone()));
        let works_on = self.at_work.as_ref().is_some_and(|work| !work.leaving);
        let default = has_default.then_some((RouteTarget::Default, None));
        let Some((place, rule)) = last.filter(|_| !works_on).or(active).or(default) else {
            return self.answer_no_agent(step);
        };
        let task = ChildTask {
            place,
            rule,
            intent: None,
            one_of_several: false,
            message: message.clone(),
        };
        if works_on {
            self.forward(&task, step);
        } else {
            self.plan.push_back(task);
        }
    }

    /// Answers in the machine's own name that there is no agent: its only own answer that a person reads.
    fn answer_no_agent(&mut self, step: &mut RunStep<'_>) {
        let message = Message {
            message_id: MessageId::with_suffix(format_args!("nobody_{}", step.seq)),
            role: Role::Assistant,
            content: vec![ContentPart::text(NOBODY)],
            by: None,
        };
        step.message(MessageOutput::Assistant {
            message: Arc::new(message),
            partial: false,
        });
        if let Some(run) = self.lifecycle.active() {
            add_text(&mut run.last_text, NOBODY);
        }
        self.outcome
            .get_or_insert((RunStatus::Completed, Some(NOBODY.to_owned())));
    }

    /// Continues with the next input to match, the next task, or the end of the run.
    ///
    /// May be called after any change. It returns when something is in progress (a model call, a child, a
    /// report) or nothing is left to do; each round of the loop uses up an input, a task or the run, so it
    /// ends.
    pub(super) fn proceed(&mut self, step: &mut RunStep<'_>) {
        loop {
            let Some(run) = self.lifecycle.active() else {
                if self.lifecycle.inputs.closed().is_some() {
                    return;
                }
                match self.lifecycle.inputs.next() {
                    Some(input) => self.start_run(input, step),
                    None => return,
                }
                continue;
            };
            if run.pending.model_call.is_some() {
                return;
            }
            if let Some(cause) = run.pending.stop.clone() {
                if self.at_work.is_some() || cause.record == StopRecord::Asked {
                    return;
                }
                if let Some((status, reason)) = self.lifecycle.end_stopped(cause, step) {
                    self.finish_run(status, Some(reason), step);
                }
            } else if let Some(input) = self.lifecycle.next_steering() {
                self.take_up(input.message, step);
            } else if self.at_work.is_some() {
                return self.lifecycle.set_status(RunStatus::AwaitingTool, step);
            } else if let Some(task) = self.plan.pop_front() {
                self.begin(task, step);
            } else {
                let (status, reason) = self.outcome.take().unwrap_or((RunStatus::Completed, None));
                self.finish_run(status, reason, step);
            }
        }
    }

    /// Hands a task to its child, unless a limit forbids it or the session has no room for one more agent.
    fn begin(&mut self, task: ChildTask, step: &mut RunStep<'_>) {
        let full = step.census().full().filter(|_| !self.has_child(task.place));
        let full = full.map(|why| StopCause::error(RunStatus::Failed, "too_many_agents", &why));
        match self.lifecycle.used_up(&self.config.limits, step).or(full) {
            Some(cause) => self.begin_stop(cause, step),
            None => self.hand_over(&task, step),
        }
    }
}

/// Adds the text of one more child, as a separate paragraph.
pub(super) fn add_text(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}
