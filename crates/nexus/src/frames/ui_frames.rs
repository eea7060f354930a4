//! Frames to clients: `{event, run_id, payload}`, made of the view `ui`, which has NEXUS's names. A frame
//! differs from NEXUS's only by more: the id of a call, and the place of the event, from which a client that
//! was cut off continues.

use agentx_session::UiProjection;
use agentx_types::{
    AgentStateId, Envelope, OwnerId, RuntimeEvent, UiError, UiEvent, UiTextChunk, UiToolStatus,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::without_time_note;

/// The speaker of an answer.
const AI: &str = "AI";

/// The words for a visitor, whose messages reach no model.
const GUIDANCE: &str = "You are a visitor here, so your message was not sent to the assistant. Ask the \
    operator of this server to add your key (`agentx identity trust`), and prove it when you connect.";

/// A frame to a client.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NexusFrame {
    /// The kind.
    pub event: &'static str,
    /// The run; for a frame about something else, an id of the connection or the command.
    pub run_id: String,
    /// The fields of the kind.
    pub payload: Value,
    /// The place in the session: `seq.index`. Only events of the session have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl NexusFrame {
    /// Creates a frame that does not belong to an event of a session.
    pub fn new(event: &'static str, run_id: impl Into<String>, payload: Value) -> Self {
        Self {
            event,
            run_id: run_id.into(),
            payload,
            id: None,
        }
    }

    /// Returns the frame that says whether the client is a visitor.
    pub fn connection_state(connection: &str, visitor: bool) -> Self {
        Self::new("connection_state", connection, json!({"visitor": visitor}))
    }

    /// Returns the frame of an error.
    pub fn error(run_id: &str, message: &str, details: &str) -> Self {
        Self::new("error", run_id, json!({"message": message, "details": details}))
    }

    /// Returns the frames that answer the message of a visitor, as NEXUS answers it.
    pub fn guidance(run_id: &str, owner: &str, input: &str) -> [Self; 3] {
        [
            Self::new(
                "run_started",
                run_id,
                json!({"owner_key": owner, "user_input": input}),
            ),
            Self::new(
                "text_chunk",
                run_id,
                json!({"chunk": GUIDANCE, "role": AI, "is_final": true}),
            ),
            Self::new("run_finished", run_id, json!({"status": "visitor_guidance_sent"})),
        ]
    }

    /// Returns the JSON of the frame.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the frame as a server-sent event, with its place as the id.
    pub fn to_sse(&self) -> String {
        let id = self.id.as_ref().map(|id| format!("id: {id}\n"));
        let data = self.to_json();
        format!(
            "{}event: {}\ndata: {data}\n\n",
            id.unwrap_or_default(),
            self.event
        )
    }
}

/// Makes the frames of one conversation out of its view `runtime`.
///
/// A frame names the run that the view `ui` gives its event.
#[derive(Debug)]
pub struct NexusTranslator {
    projection: UiProjection,
}

impl NexusTranslator {
    /// Creates the translator of a conversation of `owner`.
    pub fn new(owner: OwnerId) -> Self {
        Self {
            projection: UiProjection::new(owner),
        }
    }

    /// Reads the next event; returns its frame, if it has one.
    pub fn next_frame(&mut self, event: &Envelope<RuntimeEvent>) -> Option<NexusFrame> {
        let mut shown = Vec::new();
        self.projection.project(event, &mut shown);
        let mut shown = shown.pop()?;
        shown.index = event.index;
        frame_of(&shown)
    }
}

/// Returns the frame for an event of the view `ui`; `None` if a client of NEXUS has no use for it: the end of
/// an attempt that is repeated, and everything of agents that the agent made, except questions.
pub fn frame_of(event: &Envelope<UiEvent>) -> Option<NexusFrame> {
    let is_asked = matches!(event.event, UiEvent::UiApprovalRequested(_));
    if !is_asked && event.agent_state_id.as_ref().is_some_and(is_made_by_an_agent) {
        return None;
    }
    let (name, payload) = payload_of(&event.event)?;
    let run = event.run_id.as_ref().map_or("", |run| run.as_str());
    Some(NexusFrame {
        event: name,
        run_id: run.to_owned(),
        payload,
        id: Some(format!("{}.{}", event.seq, event.index.unwrap_or(0))),
    })
}

/// Returns whether an agent made this one: such an id has the `seq` and the number of an action.
pub(super) fn is_made_by_an_agent(id: &AgentStateId) -> bool {
    let rest = id.as_str().strip_prefix(AgentStateId::PREFIX).unwrap_or_default();
    rest.contains('_')
}

fn payload_of(event: &UiEvent) -> Option<(&'static str, Value)> {
    Some(match event {
        UiEvent::UiRunStarted(run) => (
            "run_started",
            json!({"owner_key": run.owner_key, "user_input": without_time_note(&run.user_input)}),
        ),
        UiEvent::UiTextChunk(text) => ("text_chunk", chunk(text)),
        UiEvent::UiToolCallStarted(call) => (
            "tool_call_started",
            json!({"tool_call_id": call.tool_call_id, "tool_name": call.tool_name, "args": call.args}),
        ),
        UiEvent::UiToolCallFinished(call) => (
            "tool_call_finished",
            json!({
                "tool_call_id": call.tool_call_id,
                "tool_name": call.tool_name,
                "status": status_word(call.status),
                "result": call.result,
            }),
        ),
        UiEvent::UiApprovalRequested(asked) => (
            "approval_requested",
            serde_json::to_value(asked).unwrap_or_default(),
        ),
        UiEvent::UiRunFinished(run) => (
            "run_finished",
            json!({"status": end_word(&run.status), "outcome": run.status}),
        ),
        UiEvent::UiError(error) => ("error", error_payload(error)?),
        // The server says these itself, and they are not events of a session.
        UiEvent::UiCommandResult(_) | UiEvent::UiConnectionState(_) | UiEvent::Unknown(_) => return None,
    })
}

fn chunk(text: &UiTextChunk) -> Value {
    json!({"chunk": text.chunk, "role": AI, "is_final": text.is_final.unwrap_or(false)})
}

fn status_word(status: UiToolStatus) -> &'static str {
    match status {
        UiToolStatus::Success => "success",
        UiToolStatus::Error => "error",
    }
}

/// Returns the word of NEXUS for the end of a run. A run that was interrupted or that failed is an error to
/// its clients; `outcome` has the exact word.
fn end_word(status: &str) -> &'static str {
    match status {
        "completed" => "completed",
        "timed_out" => "timed_out",
        _ => "error",
    }
}

/// Returns the payload of an error. A client takes an error for the end of its run, so one after which the
/// server tries again is not shown.
fn error_payload(error: &UiError) -> Option<Value> {
    let details = error.details.as_ref();
    let field = |name: &str| details.and_then(|details| details.get(name));
    if field("retry_in_ms").is_some() {
        return None;
    }
    let code = field("code").and_then(Value::as_str).unwrap_or_default();
    Some(json!({"message": error.message, "details": code}))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    /// An event of the view `ui` of the agent `agent` in the run `run_9`.
    fn event(agent: &str, tag: &str, payload: Value) -> Envelope<UiEvent> {
        let frame = json!({
            "seq": 12, "index": 1, "at": 1, "source": "environment", "session_id": "ses_1",
            "agent_state_id": agent, "run_id": "run_9", "event": tag, "payload": payload,
        });
        serde_json::from_str(&frame.to_string()).unwrap()
    }

    fn shown(tag: &str, payload: Value) -> Option<Value> {
        let frame = frame_of(&event("agt_x7", tag, payload))?;
        let mut frame = serde_json::to_value(&frame).unwrap();
        // Frames of NEXUS do not have `id`.
        assert_eq!(frame.as_object_mut().unwrap().remove("id"), Some(json!("12.1")));
        Some(frame)
    }

    /// Label: from the upstream's code. The payloads on the right have the fields and words of NEXUS, and the
    /// frame around them its three fields; `tool_call_id` is added. The values are made up.
    #[test]
    fn events_are_nexus_frames() {
        let call = json!({"tool_call_id": "call_1", "tool_name": "web_search", "args": {"query": "rain"}});
        let end = |status: &str| {
            let id = "call_1";
            json!({"tool_call_id": id, "tool_name": "web_search", "status": status, "result": "wet"})
        };
        let start = json!({"owner_key": "own_1", "user_input": "Will it rain?"});
        let table = [
            ("run_started", start.clone(), start),
            (
                "text_chunk",
                json!({"chunk": "Yes", "role": "assistant"}),
                json!({"chunk": "Yes", "role": "AI", "is_final": false}),
            ),
            (
                "text_chunk",
                json!({"chunk": "", "role": "assistant", "is_final": true}),
                json!({"chunk": "", "role": "AI", "is_final": true}),
            ),
            ("tool_call_started", call.clone(), call),
            ("tool_call_finished", end("success"), end("success")),
            ("tool_call_finished", end("error"), end("error")),
            (
                "error",
                json!({"message": "no", "details": {"code": "unauthorized", "recoverable": false}}),
                json!({"message": "no", "details": "unauthorized"}),
            ),
        ];
        for (tag, ours, theirs) in table {
            let frame = json!({"event": tag, "run_id": "run_9", "payload": theirs});
            assert_eq!(shown(tag, ours), Some(frame));
        }
    }

    /// Made up: one fact ends `run_3` and begins `run_8`, whose input was queued.
    #[test]
    fn a_queued_run_begins_under_its_own_id() {
        let event = |index: u32, tag: &str, payload: Value| -> Envelope<RuntimeEvent> {
            let frame = json!({
                "seq": 12, "index": index, "at": 1, "source": "agent", "session_id": "ses_1",
                "agent_state_id": "agt_x7", "run_id": "run_3", "event": tag, "payload": payload,
            });
            serde_json::from_str(&frame.to_string()).unwrap()
        };
        let mut translator = NexusTranslator::new("own_1".into());
        let mut told = Vec::new();
        for event in [
            event(0, "text_delta", json!({"text": "done"})),
            event(
                1,
                "run_finished",
                json!({"run_id": "run_3", "status": "completed", "iterations": 0}),
            ),
            event(
                2,
                "run_started",
                json!({"run_id": "run_8", "message_id": "msg_8"}),
            ),
            event(3, "turn_request", json!({"run_id": "run_8", "text": "next"})),
        ] {
            let frame = translator.next_frame(&event);
            told.extend(frame.map(|frame| (frame.event, frame.run_id, frame.id.unwrap_or_default())));
        }
        let row = |event, run: &str, id: &str| (event, run.to_owned(), id.to_owned());
        assert_eq!(
            told,
            [
                row("text_chunk", "run_3", "12.0"),
                row("run_finished", "run_3", "12.1"),
                row("run_started", "run_8", "12.3"),
            ]
        );
    }

    /// The words on the right are NEXUS's and AURA's; `visitor_guidance_sent` has no run here.
    #[test]
    fn the_end_of_a_run_has_a_word_of_nexus() {
        for (ours, theirs) in [
            ("completed", "completed"),
            ("timed_out", "timed_out"),
            ("failed", "error"),
            ("interrupted", "error"),
            ("a word of a newer server", "error"),
        ] {
            let frame = shown("run_finished", json!({"status": ours})).unwrap();
            assert_eq!(frame["payload"], json!({"status": theirs, "outcome": ours}));
        }
    }

    /// Made up.
    #[test]
    fn a_client_hears_neither_of_repeated_attempts_nor_of_agents_of_the_agent() {
        let details = json!({"code": "overloaded", "recoverable": true, "retry_in_ms": 500});
        assert_eq!(
            shown("error", json!({"message": "busy", "details": details})),
            None
        );
        let text = json!({"chunk": "a", "role": "assistant"});
        assert_eq!(frame_of(&event("agt_7_0", "text_chunk", text)), None);
        let asked = json!({"tool_call_id": "call_1", "tool_name": "bash", "args": {}, "reason": "it runs"});
        let frame = frame_of(&event("agt_7_0", "approval_requested", asked.clone())).unwrap();
        assert_eq!((frame.event, frame.payload), ("approval_requested", asked));
        assert_eq!(shown("something_new", json!({})), None);
    }

    #[test]
    fn a_visitor_is_guided_in_three_frames() {
        let frames = NexusFrame::guidance("run_v1", "own_visitors", "hello");
        let events: Vec<&str> = frames.iter().map(|frame| frame.event).collect();
        assert_eq!(events, ["run_started", "text_chunk", "run_finished"]);
        assert_eq!(frames[2].payload, json!({"status": "visitor_guidance_sent"}));
        let sse = frames[2].to_sse();
        assert_eq!(
            sse,
            "event: run_finished\ndata: {\"event\":\"run_finished\",\"run_id\":\"run_v1\",\
             \"payload\":{\"status\":\"visitor_guidance_sent\"}}\n\n"
        );
    }
}
