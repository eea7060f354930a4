//! Decodes the answer of Responses as it streams.

use agentx_types::{EnvironmentEvent, StopReason};

use super::items::{Items, PiecePlace};
use super::known_items::ItemName;
use super::wire::{OutputItem, ResponseWire, ResponsesEvent};
use crate::emitter::{Emitter, PartKind};
use crate::error;
use crate::event_stream::EventAnswer;
use crate::lenient_json::LenientCount;
use crate::openai_chat::usage;
use crate::stream_context::StreamContext;
use crate::stream_error::StreamError;

/// Reads one Responses stream event by event.
///
/// The answer is complete after `response.completed` or `response.incomplete`. A stream that ends without one
/// of them is truncated.
///
/// ```
/// use agentx_llm::{StreamContext, StreamDecoder};
/// use agentx_types::{Api, EnvironmentEvent};
///
/// let mut decoder = StreamDecoder::new(Api::OpenaiResponses, StreamContext::new("msg_1", 1));
/// let mut events = Vec::new();
/// let created = br#"data: {"type":"response.created","response":{"id":"resp_1","model":"m"}}"#;
/// let delta = br#"data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hi"}"#;
/// let completed = br#"data: {"type":"response.completed","response":{"id":"resp_1","status":"completed"}}"#;
/// for event in [&created[..], &delta[..], &completed[..]] {
///     decoder.push(event, &mut events)?;
///     decoder.push(b"\n\n", &mut events)?;
/// }
/// assert!(decoder.is_done());
/// assert!(matches!(events.last(), Some(EnvironmentEvent::StreamEnd(_))));
/// # Ok::<(), agentx_llm::StreamError>(())
/// ```
#[derive(Clone, Debug)]
pub(crate) struct ResponseState {
    emitter: Emitter,
    items: Items,
}

impl EventAnswer for ResponseState {
    fn emitter(&self) -> &Emitter {
        &self.emitter
    }

    // Decodes the data of one server-sent event. Its name is the `type` of the data, if the data have none.
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        if self.emitter.ended() || data.is_empty() || data.trim() == "[DONE]" {
            return Ok(());
        }
        let event = ResponsesEvent::parse(data)?;
        let kind = event.kind.as_deref().unwrap_or(name);
        if kind == "error" || (kind.is_empty() && event.error.is_some_and(error::is_reported)) {
            return Err(StreamError::Provider(error::from_stream(data)));
        }
        match kind {
            "response.completed" | "response.incomplete" | "response.failed" => {
                let response = event.response.map_or("{}", |response| response.get());
                let response = ResponseWire::parse(response)?;
                if kind == "response.completed" && !self.emitter.started() && response.output.is_none() {
                    return Err(StreamError::malformed("the answer ended before it began", data));
                }
                return self.close(&response, out);
            }
            _ => {}
        }
        if !self.emitter.started() {
            let response = event.response.map(|response| ResponseWire::parse(response.get()));
            self.begin(&response.transpose()?.unwrap_or_default(), out);
        }
        let kind = kind.to_owned();
        self.item_event(&kind, event, out)?;
        self.emitter.check()
    }

    fn give_up(&mut self, _out: &mut Vec<EnvironmentEvent>) {
        self.emitter.stop();
    }
}

impl ResponseState {
    pub(crate) fn new(context: StreamContext) -> Self {
        Self {
            emitter: Emitter::new(context),
            items: Items::default(),
        }
    }

    fn item_event(
        &mut self,
        kind: &str,
        event: ResponsesEvent<'_>,
        out: &mut Vec<EnvironmentEvent>,
    ) -> Result<(), StreamError> {
        let index = number(event.output_index);
        let (items, emitter) = (&mut self.items, &mut self.emitter);
        let part = number(event.content_index);
        let id = event.item_id.as_deref().unwrap_or_default();
        let name = ItemName { index, id };
        let place = PiecePlace { item: name, part };
        let delta = event.delta.map(|delta| delta.into_string()).unwrap_or_default();
        match kind {
            "response.output_text.delta" => items.chunk(place, PartKind::Text, delta, emitter, out),
            "response.refusal.delta" => items.refusal(place, delta, emitter, out),
            "response.reasoning_text.delta" => items.chunk(place, PartKind::Thinking, delta, emitter, out),
            "response.reasoning_summary_text.delta" => {
                let part = number(event.summary_index);
                let place = PiecePlace { item: name, part };
                items.chunk(place, PartKind::Thinking, delta, emitter, out);
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                items.arguments(name, &delta, emitter, out);
            }
            "response.output_item.added" => {
                if let Some(item) = event.item {
                    let item: OutputItem<'_> = serde_json::from_str(item.get())
                        .map_err(|error| StreamError::malformed(error, item.get()))?;
                    items.begin(index, &item, emitter, out);
                }
            }
            "response.output_item.done" => {
                if let Some(item) = event.item {
                    items.end(index, item.get(), emitter, out)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Opens the stream.
    fn begin(&mut self, response: &ResponseWire<'_>, out: &mut Vec<EnvironmentEvent>) {
        let id = response.id.as_deref().unwrap_or_default();
        self.emitter
            .start(id, response.model.as_deref().unwrap_or_default(), out);
    }

    /// Ends the answer with the response as a whole, unless it failed.
    pub(super) fn close(
        &mut self,
        response: &ResponseWire<'_>,
        out: &mut Vec<EnvironmentEvent>,
    ) -> Result<(), StreamError> {
        if let Some(failure) = failure(response) {
            self.usage(response, out);
            return Err(failure);
        }
        self.begin(response, out);
        let output = response.output.as_deref().unwrap_or_default();
        self.items.end_whole(output, &mut self.emitter, out)?;
        self.items.end_open_calls(&mut self.emitter, out);
        if self.items.has_lost_arguments() {
            let detail = "arguments of a call that never began".to_owned();
            return Err(StreamError::Malformed { detail });
        }
        self.emitter.check()?;
        self.usage(response, out);
        let raw = response.incomplete_reason().or(response.status.as_deref());
        let raw = raw.map(str::to_owned);
        self.emitter.end(self.stop_reason(response), raw, out);
        self.emitter.check()
    }

    /// Emits the usage, even of an answer that failed, if any was begun.
    fn usage(&mut self, response: &ResponseWire<'_>, out: &mut Vec<EnvironmentEvent>) {
        if let Some(reported) = &response.usage
            && self.emitter.started()
        {
            let mut usage = usage(reported);
            if response.service_tier.as_deref() == Some("priority") {
                usage.unpriced_tokens = usage.context_tokens();
            }
            self.emitter.usage(usage, out);
        }
    }

    fn stop_reason(&self, response: &ResponseWire<'_>) -> StopReason {
        match response.incomplete_reason() {
            Some("max_output_tokens") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            Some(_) => StopReason::Other,
            None if response.status.as_deref() == Some("incomplete") => StopReason::Other,
            None if self.items.has_calls() => StopReason::ToolUse,
            None if self.items.refused() => StopReason::Refusal,
            None => StopReason::EndTurn,
        }
    }
}

/// The error of a response that failed; `None` if it did not.
fn failure(response: &ResponseWire<'_>) -> Option<StreamError> {
    let is_failed = matches!(response.status.as_deref(), Some("failed" | "cancelled"));
    let error = response.error();
    if error.is_none() && !is_failed {
        return None;
    }
    let said = error.map_or(r#"{"message":"the response failed"}"#, |error| error.get());
    Some(StreamError::Provider(error::from_stream(said)))
}

fn number(count: Option<LenientCount>) -> u64 {
    count.unwrap_or_default().number
}
