//! The state of an answer of Converse while its events are read.
//!
//! | `stopReason` | becomes |
//! | --- | --- |
//! | `end_turn` | `tool_use` if there are calls, otherwise `end_turn` |
//! | `tool_use`, `max_tokens`, `stop_sequence` | the same |
//! | `guardrail_intervened`, `content_filtered` | `refusal` |
//! | `model_context_window_exceeded` | `context_window` |
//! | `malformed_tool_use`, `malformed_model_output` | an error after which the same request may succeed |
//! | any other | `other` |
//!
//! The words are those of
//! <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_MessageStopEvent.html>.

use agentx_types::{EnvironmentEvent, StopReason, ToolCallId};
use serde_json::json;

use super::wire::{
    ConverseBlockDelta, ConverseBlockEvent, ConverseMessageStop, ConverseMetadata, ConverseReasoning,
    ConverseToolUse, read,
};
use super::{API, SIGNATURE};
use crate::emitter::{Emitter, PartKind, parse_input};
use crate::error::{ErrorCode, ModelError};
use crate::stream_context::StreamContext;
use crate::stream_error::StreamError;

/// The state of one answer.
#[derive(Clone, Debug)]
pub(super) struct ConverseState {
    emitter: Emitter,
    /// The block that the last piece belonged to.
    block: Option<u64>,
    /// The call whose arguments still come.
    call: Option<ConverseCall>,
    /// A call that ended without arguments. Whether they were cut off is known at the end of the answer.
    empty: Option<ConverseCall>,
    stop_reason: Option<String>,
    has_calls: bool,
    has_usage: bool,
}

/// A call, as far as it came.
#[derive(Clone, Debug)]
struct ConverseCall {
    block: u64,
    id: ToolCallId,
    name: String,
    /// The arguments as text.
    input: String,
}

impl ConverseState {
    pub(super) fn new(context: StreamContext) -> Self {
        Self {
            emitter: Emitter::new(context),
            block: None,
            call: None,
            empty: None,
            stop_reason: None,
            has_calls: false,
            has_usage: false,
        }
    }

    /// Returns whether nothing more follows.
    pub(super) fn is_done(&self) -> bool {
        self.emitter.ended()
    }

    pub(super) fn has_stop_reason(&self) -> bool {
        self.is_done() || self.stop_reason.is_some()
    }

    /// Abandons the answer: it emits nothing more.
    pub(super) fn give_up(&mut self) {
        self.emitter.stop();
    }

    /// Decodes one event by its name.
    pub(super) fn event(
        &mut self,
        name: &str,
        payload: &str,
        out: &mut Vec<EnvironmentEvent>,
    ) -> Result<(), StreamError> {
        if self.is_done() {
            return Ok(());
        }
        match name {
            "messageStart" => self.start(out),
            "contentBlockStart" | "contentBlockDelta" | "contentBlockStop" => {
                self.start(out);
                let event: ConverseBlockEvent = read(payload)?;
                self.block_event(name, event, out);
            }
            "messageStop" => {
                self.start(out);
                let stop: ConverseMessageStop = read(payload)?;
                self.message_stop(stop.stop_reason.unwrap_or_default(), out);
            }
            "metadata" => {
                self.start(out);
                let metadata: ConverseMetadata = read(payload)?;
                if let Some(usage) = metadata.usage {
                    self.has_usage = true;
                    self.emitter.usage(usage.tokens(), out);
                }
            }
            // New events come without notice.
            _ => {}
        }
        if self.has_usage && self.stop_reason.is_some() {
            return self.close(out);
        }
        self.emitter.check()
    }

    /// Ends the answer, if it has its stop reason.
    pub(super) fn close(&mut self, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        let Some(reason) = self.stop_reason.take() else {
            return Ok(());
        };
        if reason.starts_with("malformed_") {
            let message = format!("the model wrote an answer that cannot be read ({reason})");
            let failure = ModelError::of(ErrorCode::BadGeneration, &message);
            return Err(StreamError::Provider(failure));
        }
        self.emitter.check()?;
        let stop_reason = self.meaning(&reason);
        self.emitter.end(stop_reason, Some(reason), out);
        self.emitter.check()
    }

    fn meaning(&self, reason: &str) -> StopReason {
        match reason {
            "end_turn" if self.has_calls => StopReason::ToolUse,
            "end_turn" => StopReason::EndTurn,
            "tool_use" => StopReason::ToolUse,
            "max_tokens" => StopReason::MaxTokens,
            "stop_sequence" => StopReason::StopSequence,
            "guardrail_intervened" | "content_filtered" => StopReason::Refusal,
            "model_context_window_exceeded" => StopReason::ContextWindow,
            _ => StopReason::Other,
        }
    }

    /// The API names neither the answer nor the model.
    fn start(&mut self, out: &mut Vec<EnvironmentEvent>) {
        self.emitter.start("", "", out);
    }

    fn block_event(&mut self, name: &str, event: ConverseBlockEvent, out: &mut Vec<EnvironmentEvent>) {
        let index = event.index();
        if name == "contentBlockStop" {
            if self.call.as_ref().is_some_and(|call| call.block == index) {
                self.end_call(out);
            }
            self.emitter.next_part();
            return;
        }
        if self.block != Some(index) {
            // A block has ended where the next one begins.
            self.end_call(out);
            self.emit_empty(false, out);
            self.emitter.next_part();
            self.block = Some(index);
        }
        if let Some(call) = event.start.and_then(|start| start.tool_use) {
            self.begin_call(index, call, out);
        }
        if let Some(delta) = event.delta {
            self.delta(index, delta, out);
        }
    }

    fn begin_call(&mut self, block: u64, call: ConverseToolUse, out: &mut Vec<EnvironmentEvent>) {
        let id = self
            .emitter
            .call_id(call.tool_use_id.as_deref().unwrap_or_default());
        let name = call.name.unwrap_or_default();
        self.emitter.tool_start(&id, &name, out);
        self.has_calls = true;
        self.call = Some(ConverseCall {
            block,
            id,
            name,
            input: String::new(),
        });
    }

    fn delta(&mut self, index: u64, delta: ConverseBlockDelta, out: &mut Vec<EnvironmentEvent>) {
        if let Some(text) = delta.text {
            self.emitter.chunk(PartKind::Text, text, out);
        }
        if let Some(reasoning) = delta.reasoning_content {
            self.reasoning(reasoning, out);
        }
        let piece = delta.tool_use.and_then(|call| call.input).unwrap_or_default();
        if let Some(call) = self.call.as_mut().filter(|call| call.block == index) {
            self.emitter.count_arguments(piece.len());
            self.emitter.tool_chunk(&call.id, &piece, out);
            call.input.push_str(&piece);
        }
    }

    fn reasoning(&mut self, reasoning: ConverseReasoning, out: &mut Vec<EnvironmentEvent>) {
        if let Some(text) = reasoning.text {
            self.emitter.chunk(PartKind::Thinking, text, out);
        }
        if let Some(signature) = reasoning.signature {
            self.emitter.ensure_part(PartKind::Thinking, out);
            self.emitter.attach(API, json!({SIGNATURE: signature}), out);
        }
        if let Some(redacted) = reasoning.redacted_content {
            let data = json!({"reasoningContent": {"redactedContent": redacted}});
            self.emitter.opaque(API, data, out);
        }
    }

    /// Ends the open call.
    fn end_call(&mut self, out: &mut Vec<EnvironmentEvent>) {
        let Some(call) = self.call.take() else { return };
        if call.input.trim().is_empty() {
            self.empty = Some(call);
        } else {
            self.emitter
                .tool_call(call.id, call.name, parse_input(&call.input, false), out);
        }
    }

    fn emit_empty(&mut self, is_cut: bool, out: &mut Vec<EnvironmentEvent>) {
        if let Some(call) = self.empty.take() {
            self.emitter
                .tool_call(call.id, call.name, parse_input(&call.input, is_cut), out);
        }
    }

    fn message_stop(&mut self, reason: String, out: &mut Vec<EnvironmentEvent>) {
        if reason == "tool_use" {
            self.end_call(out);
        }
        self.emit_empty(reason == "max_tokens", out);
        self.stop_reason = Some(reason);
    }
}
