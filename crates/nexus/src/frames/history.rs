//! Messages of a conversation as NEXUS's documents: `GET /messages` lists the newest first.

use std::collections::VecDeque;

use agentx_types::{AgentStateId, ContentPart, Message, Role, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::ui_frames::is_made_by_an_agent;
use super::{run_of_input, without_time_note};

/// A message as the server lists it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ListedMessage {
    /// The time at which it was recorded.
    pub at: Timestamp,
    /// The agent that it belongs to.
    #[serde(default)]
    pub agent_state_id: Option<AgentStateId>,
    /// The message.
    pub message: Message,
}

/// A message as NEXUS stores it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NexusDocument {
    /// The id.
    pub id: String,
    /// The run; empty if the page before has its input.
    pub run_id: String,
    /// The owner of the conversation.
    pub owner_key: String,
    /// `HUMAN`, `AI`, `SYSTEM` or `TOOL`.
    pub role: &'static str,
    /// The words.
    pub content: String,
    /// ISO 8601, in UTC.
    pub timestamp: String,
    /// More about it: calls of an answer, the call of a result.
    pub metadata: Value,
}

/// The latest messages of a conversation, the oldest first, each with its run. Those of agents that the agent
/// made are left out.
#[derive(Debug)]
pub struct LatestMessages {
    wanted: usize,
    /// The run of the next answer: that of the last input.
    run: String,
    kept: VecDeque<(ListedMessage, String)>,
}

impl LatestMessages {
    /// Creates an empty list for this number of wanted messages.
    pub fn new(wanted: usize) -> Self {
        Self {
            wanted,
            run: String::new(),
            kept: VecDeque::new(),
        }
    }

    /// Adds the next message. The oldest one is dropped if there are more than wanted.
    pub fn add(&mut self, listed: ListedMessage) {
        if listed.agent_state_id.as_ref().is_some_and(is_made_by_an_agent) {
            return;
        }
        if let Some(opened) = run_of(&listed.message) {
            self.run = opened;
        }
        self.kept.push_back((listed, self.run.clone()));
        if self.kept.len() > self.wanted {
            self.kept.pop_front();
        }
    }

    /// Returns whether there are as many as wanted.
    pub fn has_enough(&self) -> bool {
        self.kept.len() >= self.wanted
    }

    /// Returns them as documents, in the opposite order: the newest first.
    pub fn documents(&self, owner: &str) -> Vec<NexusDocument> {
        let newest_first = self.kept.iter().rev();
        newest_first
            .map(|(listed, run)| document(listed, owner, run))
            .collect()
    }
}

/// Returns the run that a message opens, if it is an input.
fn run_of(message: &Message) -> Option<String> {
    let run = run_of_input(&message.message_id).filter(|_| message.role == Role::User);
    run.map(|run| run.to_string())
}

fn document(listed: &ListedMessage, owner: &str, run: &str) -> NexusDocument {
    let message = &listed.message;
    let (role, content) = match message.role {
        Role::User => ("HUMAN", without_time_note(&message.text()).to_owned()),
        Role::Assistant => ("AI", message.text()),
        Role::System => ("SYSTEM", message.text()),
        Role::Tool => ("TOOL", result_text(message)),
    };
    NexusDocument {
        id: message.message_id.to_string(),
        run_id: run.to_owned(),
        owner_key: owner.to_owned(),
        role,
        content,
        timestamp: iso(listed.at),
        metadata: metadata(message),
    }
}

/// Returns the texts of the results in a message.
fn result_text(message: &Message) -> String {
    let results = message.content.iter().filter_map(|part| match part {
        ContentPart::ToolResult(result) => Some(&result.content),
        _ => None,
    });
    results.flatten().filter_map(ContentPart::as_text).collect()
}

fn metadata(message: &Message) -> Value {
    let mut calls = Vec::new();
    let mut fields = Map::new();
    for part in &message.content {
        match part {
            ContentPart::ToolCall(call) => calls.push(json!({
                "tool_call_id": call.tool_call_id, "tool_name": call.name, "args": call.input,
            })),
            ContentPart::ToolResult(result) => {
                fields.insert("tool_call_id".into(), json!(result.tool_call_id));
                fields.insert("tool_name".into(), json!(result.name));
                let status = if result.is_error { "error" } else { "success" };
                fields.insert("status".into(), json!(status));
            }
            _ => {}
        }
    }
    if !calls.is_empty() {
        fields.insert("tool_calls".into(), Value::Array(calls));
    }
    Value::Object(fields)
}

/// Returns a time as ISO 8601 in UTC, to the microsecond.
fn iso(at: Timestamp) -> String {
    let utc = at.utc();
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
        utc.year,
        utc.month,
        utc.day,
        utc.hour,
        utc.minute,
        utc.second,
        at.0.rem_euclid(1_000_000)
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    fn listed(agent: &str, message: Value) -> ListedMessage {
        let listed = json!({"seq": 1, "at": 1_763_629_200_123_456_i64, "partial": false,
                            "agent_state_id": agent, "message": message});
        serde_json::from_str(&listed.to_string()).unwrap()
    }

    /// Made up; the fields and the words of the roles are NEXUS's.
    #[test]
    fn a_conversation_is_listed_with_the_newest_first() {
        let call =
            json!({"type": "tool_call", "tool_call_id": "call_1", "name": "read", "input": {"path": "a"}});
        let result = json!({"type": "tool_result", "tool_call_id": "call_1", "name": "read", "is_error": true,
                            "content": [{"type": "text", "text": "no such file"}]});
        let note = "[Sent at 2025-10-12 18:00:00+08:00 by the sender's clock.]";
        let messages = [
            listed(
                "agt_a",
                json!({"message_id": "msg_4", "role": "user",
                       "content": [{"type": "text", "text": "read a"}, {"type": "text", "text": note}]}),
            ),
            listed(
                "agt_a",
                json!({"message_id": "msg_x", "role": "assistant", "content": [call]}),
            ),
            listed(
                "agt_5_0",
                json!({"message_id": "msg_6", "role": "user",
                       "content": [{"type": "text", "text": "inside"}]}),
            ),
            listed(
                "agt_a",
                json!({"message_id": "msg_y", "role": "tool", "content": [result]}),
            ),
        ];
        let latest = |wanted| {
            let mut latest = LatestMessages::new(wanted);
            messages.iter().cloned().for_each(|message| latest.add(message));
            latest
        };
        let all = latest(20).documents("own_1");
        let [tool, answer, input] = &all[..] else {
            panic!("{all:?}");
        };
        assert_eq!((input.role, input.content.as_str()), ("HUMAN", "read a"));
        assert_eq!(input.timestamp, "2025-11-20T09:00:00.123456Z");
        assert_eq!(
            (answer.role, &answer.metadata["tool_calls"][0]["tool_call_id"]),
            ("AI", &json!("call_1"))
        );
        assert_eq!((tool.role, tool.content.as_str()), ("TOOL", "no such file"));
        assert_eq!(
            tool.metadata,
            json!({"tool_call_id": "call_1", "tool_name": "read", "status": "error"})
        );
        assert!(
            all.iter()
                .all(|message| message.run_id == "run_4" && message.owner_key == "own_1")
        );
        assert!(!latest(20).has_enough() && latest(1).has_enough());
        assert_eq!(latest(1).documents("own_1")[0].role, "TOOL");
    }

    /// Made up.
    #[test]
    fn messages_of_made_agents_take_no_place_of_the_conversation() {
        let input = |agent: &str| {
            let text = json!([{"type": "text", "text": "hi"}]);
            listed(
                agent,
                json!({"message_id": "msg_4", "role": "user", "content": text}),
            )
        };
        let mut latest = LatestMessages::new(2);
        latest.add(input("agt_a"));
        for _ in 0..1_000 {
            latest.add(input("agt_5_0"));
        }
        assert!(!latest.has_enough());
        let answer = json!({"message_id": "msg_x", "role": "assistant", "content": []});
        for _ in 0..3 {
            latest.add(listed("agt_a", answer.clone()));
        }
        let shown = latest.documents("own_1");
        let shown: Vec<_> = shown
            .iter()
            .map(|shown| (shown.role, shown.run_id.as_str()))
            .collect();
        assert_eq!(
            shown,
            [("AI", "run_4"); 2],
            "the input is not kept, but its run is"
        );
    }
}
