//! The view `ui`: RuntimeEvents for a simple client. It is a pure projection, so that a server and a mirror
//! return the same.
//!
//! The events of a fact follow only from that fact's own RuntimeEvents: a reader that begins anywhere gets
//! the same events as all others. `connection_state` and `command_result` do not follow from a fact; the
//! server sends them itself.

use agentx_types::{
    AgentStateId, ContentPart, Envelope, ErrorRaised, OwnerId, RunId, RunStatus, RuntimeEvent,
    ToolCallAnswered, ToolCallId, UiApprovalRequested, UiError, UiEvent, UiRunFinished, UiRunStarted,
    UiTextChunk, UiToolCallFinished, UiToolCallStarted, UiToolStatus,
};
use serde_json::{Value, json};

/// The speaker in a `text_chunk`.
const ASSISTANT: &str = "assistant";

/// Makes the view `ui` of one session out of its view `runtime`.
///
/// | RuntimeEvent | UiEvent |
/// | --- | --- |
/// | `turn_request` | `run_started` |
/// | `text_delta` | `text_chunk` |
/// | `message_stop` | `text_chunk`, empty and final |
/// | `tool_executing` | `tool_call_started` |
/// | `tool_completed`, `tool_failed` | `tool_call_finished`, with the answer that `tool_result` had before it |
/// | `approval_requested` | `approval_requested` |
/// | `run_finished` | `run_finished` |
/// | `error` | `error` |
///
/// All other events are left out. `index` counts the UiEvents of a fact from 0, so it differs from that of
/// the RuntimeEvent.
///
/// The run of a frame is that of its fact, with one exception. A fact that ends a run may begin the next one,
/// whose input was queued; from there on the frames of this agent name the new run. The payloads of the view
/// have no run, so a client knows it from the frame alone.
///
/// ```
/// use agentx_session::UiProjection;
/// use agentx_types::{Envelope, RuntimeEvent, UiEvent, Vocabulary as _};
///
/// let frame = r#"{"seq":9,"index":0,"at":1,"source":"environment","session_id":"ses_1","event":"text_delta","payload":{"text":"你好"}}"#;
/// let event: Envelope<RuntimeEvent> = serde_json::from_str(frame).unwrap();
/// let mut shown = Vec::new();
/// UiProjection::new("own_local".into()).project(&event, &mut shown);
/// assert_eq!((shown[0].seq, shown[0].index, shown[0].event.tag()), (9, Some(0), "text_chunk"));
/// ```
#[derive(Clone, Debug)]
pub struct UiProjection {
    owner: OwnerId,
    /// The fact whose events are being projected.
    seq: u64,
    /// The number of events that were made of it.
    made: u32,
    /// The result that the model reads about the call whose end comes next.
    answer: Option<(ToolCallId, String)>,
    /// The run that this fact began last, with its agent.
    begun: Option<(Option<AgentStateId>, RunId)>,
}

impl UiProjection {
    /// The projection of a session of `owner`. For every reader, `run_started` names the owner, as in NEXUS.
    pub fn new(owner: OwnerId) -> Self {
        Self {
            owner,
            seq: 0,
            made: 0,
            answer: None,
            begun: None,
        }
    }

    /// Reads the next event of the view `runtime` and adds its UiEvents. All events of one fact go through
    /// the same projection, in their order.
    pub fn project(&mut self, event: &Envelope<RuntimeEvent>, out: &mut Vec<Envelope<UiEvent>>) {
        if event.seq != self.seq {
            self.seq = event.seq;
            self.made = 0;
            self.answer = None;
            self.begun = None;
        }
        if let RuntimeEvent::RunStarted(run) = &event.event {
            self.begun = Some((event.agent_state_id.clone(), run.run_id.clone()));
        }
        if let Some(shown) = self.shown(&event.event) {
            let mut frame = event.derive(self.made, shown);
            if let Some(run) = self.run_of(event) {
                frame.run_id = Some(run.clone());
            }
            out.push(frame);
            self.made += 1;
        }
    }

    /// The run of an event, if it may differ from that of its fact.
    fn run_of<'e>(&'e self, event: &'e Envelope<RuntimeEvent>) -> Option<&'e RunId> {
        match &event.event {
            RuntimeEvent::TurnRequest(request) => Some(&request.run_id),
            RuntimeEvent::RunFinished(run) => Some(&run.run_id),
            _ => {
                let (agent, run) = self.begun.as_ref()?;
                (*agent == event.agent_state_id).then_some(run)
            }
        }
    }

    /// The event that a simple client is shown for this one; `None` for most.
    fn shown(&mut self, event: &RuntimeEvent) -> Option<UiEvent> {
        use RuntimeEvent as R;
        Some(match event {
            R::TurnRequest(request) => UiRunStarted {
                owner_key: self.owner.clone(),
                user_input: request.text.clone(),
            }
            .into(),
            R::TextDelta(delta) => text(&delta.text, None),
            R::MessageStop(_) => text("", Some(true)),
            R::ToolExecuting(call) => UiToolCallStarted {
                tool_call_id: call.tool_call_id.clone(),
                tool_name: call.name.clone(),
                args: call.input.clone(),
            }
            .into(),
            R::ToolCallAnswered(answered) => {
                self.answer = Some((answered.tool_call_id.clone(), result_text(answered)));
                return None;
            }
            R::ToolCompleted(call) => {
                self.finished(&call.tool_call_id, &call.name, UiToolStatus::Success, "")
            }
            R::ToolFailed(call) => {
                self.finished(&call.tool_call_id, &call.name, UiToolStatus::Error, &call.error)
            }
            R::ApprovalRequested(asked) => UiApprovalRequested {
                tool_call_id: asked.tool_call_id.clone(),
                tool_name: asked.name.clone(),
                args: asked.input.clone(),
                reason: asked.reason.clone(),
                question: asked.question.clone(),
            }
            .into(),
            R::RunFinished(run) => UiRunFinished {
                status: word(run.status).to_owned(),
            }
            .into(),
            R::ErrorRaised(error) => ui_error(error).into(),
            _ => return None,
        })
    }

    /// The end of a call, with the complete result; with `short` if this fact has none, because the call was
    /// answered before or by another fact.
    fn finished(&mut self, id: &ToolCallId, name: &str, status: UiToolStatus, short: &str) -> UiEvent {
        let answer = self.answer.take().filter(|(answered, _)| answered == id);
        UiToolCallFinished {
            tool_call_id: id.clone(),
            tool_name: name.to_owned(),
            status,
            result: answer.map_or_else(|| short.to_owned(), |(_, text)| text),
        }
        .into()
    }
}

/// A piece of the assistant's words.
fn text(chunk: &str, is_final: Option<bool>) -> UiEvent {
    UiTextChunk {
        chunk: chunk.to_owned(),
        role: Some(ASSISTANT.to_owned()),
        is_final,
    }
    .into()
}

/// The text of a result, with the name or type of each medium in brackets.
fn result_text(answered: &ToolCallAnswered) -> String {
    let mut text = String::new();
    for part in &answered.result {
        match part {
            ContentPart::Text(part) => text.push_str(&part.text),
            ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) => {
                text.push_str(&format!("[{}]", media.name.as_ref().unwrap_or(&media.media_type)));
            }
            ContentPart::Thinking(_)
            | ContentPart::ToolCall(_)
            | ContentPart::ToolResult(_)
            | ContentPart::Opaque(_) => {}
        }
    }
    text
}

/// An error as a simple client reads it, with its code and when the next attempt is made.
fn ui_error(error: &ErrorRaised) -> UiError {
    let mut details = json!({"code": error.code, "recoverable": error.recoverable});
    if let (Value::Object(details), Some(wait)) = (&mut details, error.retry_in_ms) {
        details.insert("retry_in_ms".to_owned(), json!(wait));
    }
    if let (Value::Object(details), Some(status)) = (&mut details, error.status) {
        details.insert("status".to_owned(), json!(status));
    }
    UiError {
        message: error.message.clone(),
        details: Some(details),
    }
}

/// A status as the word of the protocol, which serde writes too.
fn word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Pending => "pending",
        RunStatus::BuildingContext => "building_context",
        RunStatus::AwaitingLlm => "awaiting_llm",
        RunStatus::AwaitingApproval => "awaiting_approval",
        RunStatus::AwaitingTool => "awaiting_tool",
        RunStatus::Stopping => "stopping",
        RunStatus::Completed => "completed",
        RunStatus::Failed => "failed",
        RunStatus::TimedOut => "timed_out",
        RunStatus::Interrupted => "interrupted",
    }
}
