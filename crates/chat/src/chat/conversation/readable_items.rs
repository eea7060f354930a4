//! Collects reasoning and calls from the events of a session, so that they can be printed in full.

use std::collections::HashMap;

use agentx::types::{
    AgentStateId, ContentPart, Envelope, RuntimeEvent, Timestamp, ToolCallId, ToolFailed, ToolStatus,
};
use serde_json::Value;

use crate::render::call_summary::call_summary;
use crate::render::clean::visible;
use crate::render::names::AgentNames;
use crate::render::tool::outcome;
use crate::render::units;

/// Maximum number of bytes of an output that are read.
const MOST_BYTES: usize = 4 << 20;

/// The whole reasoning of an answer.
#[derive(Debug, Default)]
pub(super) struct ReadableThought {
    agent: Option<AgentStateId>,
    pub(super) text: String,
    pub(super) since: Timestamp,
    pub(super) until: Timestamp,
    over: bool,
}

/// A call with its whole output, or the answer of an agent that worked in the background.
#[derive(Debug, Default)]
pub(super) struct ReadableCall {
    id: Option<ToolCallId>,
    pub(super) name: String,
    pub(super) what: String,
    pub(super) input: Value,
    pub(super) output: String,
    pub(super) result: String,
    /// The outcome with its time; empty while the call runs.
    pub(super) end: String,
}

/// An agent that another one made.
#[derive(Debug, Default)]
struct ChildAgent {
    name: String,
    /// Its name on the screen.
    shown: String,
    /// The text of its latest message.
    said: String,
}

/// The items that can be read again.
#[derive(Debug, Default)]
pub(super) struct ReadableItem {
    pub(super) thoughts: Vec<ReadableThought>,
    pub(super) calls: Vec<ReadableCall>,
    /// Calls that were requested and have not begun. The runtime itself answers some of them, such as
    /// `delegate`: those never begin.
    requested: Vec<ReadableCall>,
    children: HashMap<AgentStateId, ChildAgent>,
    names: AgentNames,
    /// The answers of agents that another one made, in the order of their ends.
    pub(super) answers: Vec<AgentAnswer>,
}

/// The whole answer of an agent that another one made.
#[derive(Debug)]
pub(super) struct AgentAnswer {
    /// The name of the agent on the screen.
    pub(super) shown: String,
    pub(super) text: String,
}

impl ReadableItem {
    /// Takes the next event.
    pub(super) fn take(&mut self, envelope: &Envelope<RuntimeEvent>) {
        let agent = &envelope.agent_state_id;
        if let RuntimeEvent::ThinkingDelta(delta) = &envelope.event {
            return self.think(agent.as_ref(), envelope.at, &delta.text);
        }
        let thoughts = self.thoughts.iter_mut().rev();
        if let Some(thought) = thoughts.take(8).find(|thought| thought.agent == *agent) {
            thought.over = true;
        }
        if let Some(agent) = agent {
            self.note_child(agent, &envelope.event);
        }
        match &envelope.event {
            RuntimeEvent::ToolCallRequested(call) => {
                let call = ReadableCall::new(&call.tool_call_id, &call.name, &call.input);
                self.requested.push(call);
            }
            RuntimeEvent::ToolExecuting(call) => {
                self.requested
                    .retain(|asked| asked.id.as_ref() != Some(&call.tool_call_id));
                let call = ReadableCall::new(&call.tool_call_id, &call.name, &call.input);
                self.calls.push(call);
            }
            RuntimeEvent::ToolOutput(output) => {
                if let Some(call) = self.call(&output.tool_call_id)
                    && call.output.len() < MOST_BYTES
                {
                    call.output.push_str(&output.text);
                }
            }
            RuntimeEvent::ToolCompleted(done) => {
                self.begin_requested(&done.tool_call_id);
                let ended = how_it_ended("done", done.duration_ms, done.details.as_ref());
                self.end(&done.tool_call_id, ended);
            }
            RuntimeEvent::ToolFailed(failed) => {
                if !was_refused(failed) {
                    self.begin_requested(&failed.tool_call_id);
                }
                let ended = how_it_ended("failed", failed.duration_ms, failed.details.as_ref());
                self.end(&failed.tool_call_id, ended);
            }
            RuntimeEvent::ToolCallAnswered(answered) => {
                if let Some(call) = self.call(&answered.tool_call_id) {
                    call.result = answered.result.iter().filter_map(ContentPart::as_text).collect();
                }
            }
            _ => {}
        }
    }

    fn think(&mut self, agent: Option<&AgentStateId>, at: Timestamp, text: &str) {
        let open = self.thoughts.iter_mut().rev().take(8);
        let mut open = open.filter(|thought| !thought.over && thought.agent.as_ref() == agent);
        if let Some(thought) = open.next() {
            thought.text.push_str(text);
            thought.until = at;
            return;
        }
        self.thoughts.push(ReadableThought {
            agent: agent.cloned(),
            text: text.to_owned(),
            since: at,
            until: at,
            over: false,
        });
    }

    /// Notes what an agent that another one made says. If it works in the background, no call has its answer,
    /// so the answer itself can be read.
    fn note_child(&mut self, agent: &AgentStateId, event: &RuntimeEvent) {
        match event {
            RuntimeEvent::AgentStarted(started) if started.parent.is_some() => {
                let child = ChildAgent {
                    name: started.name.clone(),
                    shown: self.names.add(agent, &visible(&started.name)),
                    said: String::new(),
                };
                self.children.insert(agent.clone(), child);
            }
            RuntimeEvent::AssistantMessageAdded(added) => {
                if let Some(child) = self.children.get_mut(agent) {
                    child.said = added.message.text();
                }
            }
            RuntimeEvent::RunFinished(_) => {
                let Some(child) = self.children.get_mut(agent) else {
                    return;
                };
                let said = std::mem::take(&mut child.said);
                if !said.trim().is_empty() {
                    self.answers.push(AgentAnswer {
                        shown: child.shown.clone(),
                        text: said.clone(),
                    });
                }
                if self
                    .calls
                    .iter()
                    .any(|call| call.is_background_work_of(&child.name))
                {
                    self.calls.push(ReadableCall {
                        name: child.name.clone(),
                        result: said,
                        end: "done".to_owned(),
                        ..ReadableCall::default()
                    });
                }
            }
            RuntimeEvent::AgentDestroyed(_) => self.names.remove(agent),
            _ => {}
        }
    }

    /// Returns the last answer of the agent with this name on the screen.
    pub(super) fn answer_of(&self, shown: &str) -> Option<&AgentAnswer> {
        self.answers.iter().rev().find(|answer| answer.shown == shown)
    }

    /// Moves a call that ended without having begun to the calls that can be read.
    fn begin_requested(&mut self, id: &ToolCallId) {
        let at = self
            .requested
            .iter()
            .position(|call| call.id.as_ref() == Some(id));
        if let Some(at) = at {
            self.calls.push(self.requested.remove(at));
        }
    }

    fn call(&mut self, id: &ToolCallId) -> Option<&mut ReadableCall> {
        let all = self.calls.iter_mut().chain(&mut self.requested);
        all.rev().find(|call| call.id.as_ref() == Some(id))
    }

    fn end(&mut self, id: &ToolCallId, ended: String) {
        if let Some(call) = self.call(id) {
            call.end = ended;
        }
    }
}

impl ReadableCall {
    fn new(id: &ToolCallId, name: &str, input: &Value) -> Self {
        Self {
            id: Some(id.clone()),
            name: name.to_owned(),
            what: call_summary(name, input),
            input: input.clone(),
            ..Self::default()
        }
    }

    /// Returns whether the result is the answer of another agent, which is Markdown.
    pub(super) fn is_of_an_agent(&self) -> bool {
        // The answer of an agent in the background has no call.
        self.output.is_empty() && (self.id.is_none() || self.name == "delegate")
    }

    /// Returns whether this call gave work to an agent of this name without waiting for its answer.
    fn is_background_work_of(&self, name: &str) -> bool {
        let is_it = |argument: &str, value: Value| self.input.get(argument) == Some(&value);
        is_it("agent", name.into()) && is_it("background", true.into())
    }
}

/// Returns the outcome of a call with its time and, as its entry has it, the exit code or the counts.
fn how_it_ended(word: &str, millis: u64, details: Option<&Value>) -> String {
    let mut words = vec![word.to_owned(), units::duration(millis), outcome(details)];
    words.retain(|words| !words.is_empty());
    words.join(" · ")
}

/// Returns whether nothing was done for a call that failed.
fn was_refused(failed: &ToolFailed) -> bool {
    matches!(
        failed.status,
        ToolStatus::Invalid | ToolStatus::Denied | ToolStatus::Refused
    )
}

#[cfg(test)]
mod tests {
    use agentx::types::{
        AgentStarted, AssistantMessageAdded, EventDraft, Message, Role, RunFinished, RunId, RunStatus,
        SessionId, Source, ToolCallAnswered, ToolCallRequested, ToolCompleted,
    };
    use serde_json::json;

    use super::*;

    fn take(items: &mut ReadableItem, agent: &str, event: impl Into<RuntimeEvent>) {
        let draft = EventDraft::new(Source::Agent, Some(agent.into()), event);
        items.take(&draft.into_envelope(SessionId::new("ses_1"), 1, Timestamp(1)));
    }

    fn order(id: &str, background: bool) -> ToolCallRequested {
        ToolCallRequested {
            tool_call_id: id.into(),
            name: "delegate".into(),
            input: json!({"agent": "scout", "input": "look", "background": background}),
        }
    }

    fn answered(id: &str, text: &str) -> ToolCallAnswered {
        ToolCallAnswered {
            tool_call_id: id.into(),
            result: vec![ContentPart::text(text)],
            is_error: false,
        }
    }

    fn done(id: &str) -> ToolCompleted {
        ToolCompleted {
            tool_call_id: id.into(),
            name: "delegate".into(),
            duration_ms: 1_000,
            details: None,
        }
    }

    #[test]
    fn a_call_that_no_effector_begins_can_be_read_when_it_has_ended() {
        for is_answered_first in [true, false] {
            let mut items = ReadableItem::default();
            take(&mut items, "a", order("c1", false));
            assert!(items.calls.is_empty());
            if is_answered_first {
                take(&mut items, "a", answered("c1", "It is there."));
                take(&mut items, "a", done("c1"));
            } else {
                take(&mut items, "a", done("c1"));
                take(&mut items, "a", answered("c1", "It is there."));
            }
            let [call] = &items.calls[..] else {
                panic!("{:?}", items.calls)
            };
            assert_eq!(
                (call.name.as_str(), call.result.as_str(), call.end.as_str()),
                ("delegate", "It is there.", "done · 1.0s")
            );
            assert!(call.is_of_an_agent());
        }
    }

    #[test]
    fn the_end_of_a_call_has_its_exit_code() {
        let mut items = ReadableItem::default();
        take(&mut items, "a", order("c1", false));
        let failed = ToolFailed {
            tool_call_id: "c1".into(),
            name: "bash".into(),
            status: ToolStatus::Failed,
            error: "it failed".into(),
            duration_ms: 3_000,
            details: Some(json!({"exit_code": 3})),
        };
        take(&mut items, "a", failed);
        assert_eq!(items.calls[0].end, "failed · 3.0s · exit 3");
    }

    #[test]
    fn a_refused_call_has_no_output() {
        let mut items = ReadableItem::default();
        take(&mut items, "a", order("c1", false));
        let failed = ToolFailed {
            tool_call_id: "c1".into(),
            name: "delegate".into(),
            status: ToolStatus::Denied,
            error: "Not allowed: no".into(),
            duration_ms: 0,
            details: None,
        };
        take(&mut items, "a", failed);
        assert!(items.calls.is_empty());
    }

    #[test]
    fn the_answer_of_an_agent_in_the_background_can_be_read() {
        let mut items = ReadableItem::default();
        take(&mut items, "a", order("c1", true));
        take(&mut items, "a", answered("c1", "scout works in the background."));
        take(&mut items, "a", done("c1"));
        let started = AgentStarted {
            name: "scout".into(),
            parent: Some("a".into()),
            routes: false,
        };
        take(&mut items, "b", started);
        let message = Message {
            message_id: "msg_1".into(),
            role: Role::Assistant,
            content: vec![ContentPart::text("Found it.")],
            by: None,
        };
        let added = AssistantMessageAdded {
            message,
            partial: false,
        };
        take(&mut items, "b", added);
        let finished = RunFinished {
            run_id: RunId::new("run_1"),
            status: RunStatus::Completed,
            reason: None,
            iterations: 1,
        };
        take(&mut items, "b", finished);
        let last = items
            .calls
            .last()
            .map(|call| (call.name.as_str(), call.result.as_str()));
        assert_eq!(last, Some(("scout", "Found it.")));
        let answer = items.answer_of("scout").map(|answer| answer.text.as_str());
        assert_eq!(answer, Some("Found it."));
        assert!(items.answer_of("scout 2").is_none());
    }
}
