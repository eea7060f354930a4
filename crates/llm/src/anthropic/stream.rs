//! Decodes the answer of the Messages API as it streams.

use std::collections::BTreeMap;

use agentx_types::{EnvironmentEvent, StopReason, Usage};
use serde_json::{Map, Value};

use super::block::{HeldCall, OpenBlock};
use super::finish;
use super::wire::{AnthropicUsageWire, BlockDelta, Event, MessageStart};
use crate::emitter::Emitter;
use crate::error;
use crate::event_stream::EventAnswer;
use crate::lenient_json;
use crate::stream_context::StreamContext;
use crate::stream_error::StreamError;

/// Reads one Messages stream event by event.
///
/// Events are distinguished by the `type` in their data, not by their name, because gateways drop names.
/// Blocks are distinguished by their `index`, as the vendor's SDKs do, and emitted one after another.
/// Anthropic never has two of them open; gateways that translate parallel calls of another API have
/// (<https://github.com/langchain-ai/langchain/pull/37025>, <https://github.com/praxis-proxy/ai/pull/273>). A
/// delta with an unknown index belongs to the open block.
///
/// Gateways leave beginnings out, too: of the message
/// (<https://github.com/router-for-me/CLIProxyAPI/issues/530>) and of blocks
/// (<https://github.com/BerriAI/litellm/pull/30115>). Words need no beginning. Arguments without one belong
/// to a call that nobody can know, so the answer is malformed, as it is for the SDKs of the vendor.
///
/// ```
/// use agentx_llm::{StreamContext, StreamDecoder};
/// use agentx_types::{Api, EnvironmentEvent};
///
/// let mut decoder = StreamDecoder::new(Api::Anthropic, StreamContext::new("msg_1", 1));
/// let mut events = Vec::new();
/// for data in [
///     r#"{"type":"message_start","message":{"id":"msg_1","model":"m"}}"#,
///     r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi"}}"#,
///     r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
///     r#"{"type":"message_stop"}"#,
/// ] {
///     decoder.push(format!("data: {data}\n\n").as_bytes(), &mut events)?;
/// }
/// assert!(decoder.is_done());
/// assert!(matches!(events.last(), Some(EnvironmentEvent::StreamEnd(_))));
/// # Ok::<(), agentx_llm::StreamError>(())
/// ```
#[derive(Clone, Debug)]
pub(crate) struct MessageState {
    pub(super) emitter: Emitter,
    /// The id of the message, as it was given.
    id: Option<String>,
    block: Option<OpenBlock>,
    /// The index of the block that is open, or of the last one.
    index: Option<u64>,
    /// The events of blocks that began while another one was open, by index: they are emitted when that one
    /// has ended.
    waiting: BTreeMap<u64, Vec<String>>,
    held: Option<HeldCall>,
    usage: Usage,
    stop: (StopReason, Option<String>),
    /// Whether the stop reason has come.
    says_why: bool,
}

impl EventAnswer for MessageState {
    fn emitter(&self) -> &Emitter {
        &self.emitter
    }

    fn event(&mut self, name: &str, data: &str, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        self.named_event(name, data, out)
    }

    fn has_stop_reason(&self) -> bool {
        self.says_why
    }

    fn complete(&mut self, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        if self.says_why {
            self.stop(out);
        }
        Ok(())
    }

    fn give_up(&mut self, _out: &mut Vec<EnvironmentEvent>) {
        self.emitter.stop();
    }
}

impl MessageState {
    pub(crate) fn new(context: StreamContext) -> Self {
        Self {
            emitter: Emitter::new(context),
            id: None,
            block: None,
            index: None,
            waiting: BTreeMap::new(),
            held: None,
            usage: Usage::default(),
            stop: (StopReason::Other, None),
            says_why: false,
        }
    }

    /// Decodes an event that a gateway named. An event named `error` is an error, independent of its data.
    fn named_event(
        &mut self,
        name: &str,
        data: &str,
        out: &mut Vec<EnvironmentEvent>,
    ) -> Result<(), StreamError> {
        if name == "error" && !self.emitter.ended() {
            return Err(StreamError::Provider(error::from_stream(data)));
        }
        self.event(data, out)?;
        self.emit_waiting(out)
    }

    /// Emits the events that waited for the end of the open block, up to the next block that stays open.
    fn emit_waiting(&mut self, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        while self.block.is_none()
            && let Some((_, events)) = self.waiting.pop_first()
        {
            for data in events {
                self.event(&data, out)?;
            }
        }
        Ok(())
    }

    /// Ends all blocks: the message ends.
    fn stop_blocks(&mut self, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        self.block_stop(out);
        while !self.waiting.is_empty() {
            self.emit_waiting(out)?;
            self.block_stop(out);
        }
        Ok(())
    }

    /// Returns whether an event is about another block than the open one, so that it has to wait.
    fn must_wait(&self, event: &Event<'_>) -> Option<u64> {
        let index = event.index?.number;
        let is_another = self.block.is_some() && self.index.is_some_and(|open| open != index);
        let waits = match event.kind.as_deref()? {
            "content_block_start" => is_another,
            "content_block_delta" | "content_block_stop" => is_another && self.waiting.contains_key(&index),
            _ => false,
        };
        waits.then_some(index)
    }

    /// Decodes the data of one event and emits its events.
    fn event(&mut self, data: &str, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        if self.emitter.ended() {
            return Ok(());
        }
        let mut event: Event<'_> = match serde_json::from_str(data) {
            Ok(event) => event,
            Err(error) => {
                return match lenient_json::with_whole_characters(data) {
                    Some(whole) => self.event(&whole, out),
                    None => self.odd_event(&error, data),
                };
            }
        };
        if let Some(index) = self.must_wait(&event) {
            self.emitter.count_arguments(data.len());
            self.waiting.entry(index).or_default().push(data.to_owned());
            return self.emitter.check();
        }
        match event.kind.as_deref() {
            Some("content_block_delta") => {
                if let Some(delta) = &mut event.delta {
                    self.begin_words(delta, event.index.map(|index| index.number), out);
                    self.delta(delta, data, out)?;
                }
            }
            Some("content_block_start") => {
                self.block_start(event.content_block.unwrap_or_default(), out);
                self.index = event.index.map(|index| index.number);
            }
            Some("content_block_stop") => self.block_stop(out),
            Some("message_start") => {
                let message = event.message.unwrap_or_default();
                if self.is_another(&message) {
                    return Err(StreamError::malformed(
                        "another message began before the first ended",
                        data,
                    ));
                }
                self.start(&message, out);
            }
            Some("message_delta") => {
                self.stop_blocks(out)?;
                self.message_delta(&event.delta.unwrap_or_default(), event.usage, out);
            }
            Some("message_stop") => {
                self.stop_blocks(out)?;
                self.stop(out);
            }
            Some("error") => return Err(StreamError::Provider(error::from_stream(data))),
            // `ping`, and events of newer versions.
            Some(_) => {}
            None => return self.untyped(data),
        }
        self.emitter.check()
    }

    /// An event that is not of the usual shape: noise of a gateway, something new, or garbage.
    fn odd_event(&self, error: &serde_json::Error, data: &str) -> Result<(), StreamError> {
        const KNOWN: [&str; 6] = [
            "content_block_delta",
            "content_block_start",
            "content_block_stop",
            "message_start",
            "message_delta",
            "message_stop",
        ];
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        match serde_json::from_str::<Value>(data) {
            Ok(Value::Object(object)) => match object.get("type").and_then(Value::as_str) {
                Some("error") => Err(StreamError::Provider(error::from_stream(data))),
                Some(kind) if KNOWN.contains(&kind) => Err(StreamError::malformed(error, data)),
                Some(_) => Ok(()),
                None => self.untyped(data),
            },
            _ => Err(StreamError::malformed(error, data)),
        }
    }

    /// A gateway may report its own errors without a type.
    fn untyped(&self, data: &str) -> Result<(), StreamError> {
        let has_error = serde_json::from_str::<Map<String, Value>>(data)
            .is_ok_and(|object| object.get("error").is_some_and(error::says_something));
        if has_error {
            Err(StreamError::Provider(error::from_stream(data)))
        } else {
            Ok(())
        }
    }

    /// Returns whether this begins another message than the current one: a gateway called the model twice,
    /// and merged two answers.
    fn is_another(&self, message: &MessageStart<'_>) -> bool {
        let id = message.id.as_deref().unwrap_or_default();
        let given = self.id.as_deref().unwrap_or_default();
        !id.is_empty() && !given.is_empty() && id != given
    }

    /// Opens the stream. The usage of the start has the input tokens; that of `message_delta` is added later.
    pub(super) fn start(&mut self, message: &MessageStart<'_>, out: &mut Vec<EnvironmentEvent>) {
        let id = message.id.as_deref().unwrap_or_default();
        self.id.get_or_insert_with(|| id.to_owned());
        self.emitter
            .start(id, message.model.as_deref().unwrap_or_default(), out);
        self.usage(message.usage, out);
    }

    /// Opens a block, and ends the one before it: some gateways send no `content_block_stop`.
    pub(super) fn block_start(&mut self, block: Map<String, Value>, out: &mut Vec<EnvironmentEvent>) {
        self.emitter.start("", "", out);
        self.block_stop(out);
        self.release(false, out);
        self.block = Some(OpenBlock::start(block, &mut self.emitter, out));
    }

    /// Opens a block for words that come without the beginning of theirs.
    fn begin_words(&mut self, delta: &BlockDelta<'_>, index: Option<u64>, out: &mut Vec<EnvironmentEvent>) {
        if self.block.is_none()
            && let Some(kind) = delta.kind_of_words()
        {
            self.block_start(Map::from_iter([("type".to_owned(), kind.into())]), out);
            self.index = index;
        }
    }

    fn delta(
        &mut self,
        delta: &mut BlockDelta<'_>,
        data: &str,
        out: &mut Vec<EnvironmentEvent>,
    ) -> Result<(), StreamError> {
        let takes_arguments = self.block.as_ref().is_some_and(OpenBlock::takes_arguments);
        if delta.has_arguments() && !takes_arguments {
            let what = "arguments of a call that never began";
            return Err(StreamError::malformed(what, data));
        }
        let Some(block) = &mut self.block else {
            return Ok(());
        };
        if block.delta(delta, &mut self.emitter, out) {
            return Ok(());
        }
        if let Ok(mut event) = serde_json::from_str::<Map<String, Value>>(data)
            && let Some(Value::Object(delta)) = event.remove("delta")
        {
            block.merge(delta);
        }
        Ok(())
    }

    pub(super) fn block_stop(&mut self, out: &mut Vec<EnvironmentEvent>) {
        if let Some(block) = self.block.take() {
            self.held = block.stop(&mut self.emitter, out);
        }
    }

    fn release(&mut self, cut: bool, out: &mut Vec<EnvironmentEvent>) {
        if let Some(call) = self.held.take() {
            call.emit(cut, &mut self.emitter, out);
        }
    }

    pub(super) fn message_delta(
        &mut self,
        delta: &BlockDelta<'_>,
        usage: Option<AnthropicUsageWire>,
        out: &mut Vec<EnvironmentEvent>,
    ) {
        if let Some(reason) = &delta.stop_reason {
            self.stop = finish::stop_reason(reason, delta);
            self.says_why = true;
        }
        self.block_stop(out);
        self.release(self.stop.0 == StopReason::MaxTokens, out);
        self.usage(usage, out);
    }

    fn usage(&mut self, wire: Option<AnthropicUsageWire>, out: &mut Vec<EnvironmentEvent>) {
        let Some(wire) = wire else { return };
        let usage = finish::usage(self.usage, &wire);
        if self.usage != usage {
            self.usage = usage;
            self.emitter.usage(usage, out);
        }
    }

    pub(super) fn stop(&mut self, out: &mut Vec<EnvironmentEvent>) {
        self.block_stop(out);
        self.release(false, out);
        let (reason, raw) = std::mem::replace(&mut self.stop, (StopReason::Other, None));
        self.emitter.end(reason, raw, out);
    }
}
