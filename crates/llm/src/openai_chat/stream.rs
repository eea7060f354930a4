//! Decodes the answer of Chat Completions as it streams.

use agentx_types::{EnvironmentEvent, StopReason};

use super::API;
use super::finish;
use super::reasoning::Details;
use super::think_tags::{ThinkPiece, ThinkTags};
use super::tools::ToolCallBuffer;
use super::usage::{self, usage};
use super::wire::{ChoiceDelta, CompletionChunk, ToolDelta, UsageWire};
use crate::emitter::{Emitter, PartKind};
use crate::error;
use crate::event_stream::EventAnswer;
use crate::lenient_json::{self, Content, Str};
use crate::stream_context::StreamContext;
use crate::stream_error::StreamError;

/// Reads one Chat Completions stream event by event.
///
/// The answer has ended when a `finish_reason` came and then `[DONE]` or the end of the bytes: some servers
/// send no `[DONE]`, and the usage comes after the reason. Tool calls are emitted at that end, usage after
/// them, because only then both are known to be complete.
///
/// ```
/// use agentx_llm::{StreamContext, StreamDecoder};
/// use agentx_types::{Api, EnvironmentEvent};
///
/// let mut decoder = StreamDecoder::new(Api::OpenaiChat, StreamContext::new("msg_1", 1));
/// let mut events = Vec::new();
/// let chunk = br#"data: {"id":"c1","model":"m","choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}"#;
/// decoder.push(chunk, &mut events)?;
/// decoder.push(b"\n\ndata: [DONE]\n\n", &mut events)?;
/// assert!(decoder.is_done());
/// assert!(matches!(events.last(), Some(EnvironmentEvent::StreamEnd(_))));
/// # Ok::<(), agentx_llm::StreamError>(())
/// ```
#[derive(Clone, Debug)]
pub(crate) struct CompletionState {
    emitter: Emitter,
    calls: ToolCallBuffer,
    details: Details,
    tags: ThinkTags,
    usage: Option<UsageWire>,
    finish_reason: Option<String>,
    refused: bool,
    /// Whether there were words, and whether there was reasoning.
    has_said: bool,
    has_thought: bool,
    /// The first half of a character with which the last event ended.
    half: Option<String>,
}

impl EventAnswer for CompletionState {
    fn emitter(&self) -> &Emitter {
        &self.emitter
    }

    fn event(&mut self, name: &str, data: &str, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        if self.emitter.ended() || data.is_empty() {
            return Ok(());
        }
        if data.trim() == "[DONE]" {
            let has_begun = self.has_said || self.has_thought || !self.calls.is_empty();
            if !self.emitter.started() || (self.finish_reason.is_none() && !has_begun) {
                let detail = "[DONE] before anything of an answer".to_owned();
                return Err(StreamError::Malformed { detail });
            }
            return self.close(out);
        }
        if name == "error" {
            return Err(StreamError::Provider(error::from_stream(data)));
        }
        let joined = self
            .half
            .take()
            .and_then(|half| lenient_json::with_first_half(data, &half));
        let data = joined.as_deref().unwrap_or(data);
        let repaired;
        let mut chunk = match CompletionChunk::parse(data) {
            Ok(chunk) => chunk,
            Err(error) => {
                repaired = self.repaired(data).ok_or(error)?;
                CompletionChunk::parse(&repaired)?
            }
        };
        if let Some(error) = chunk.error() {
            self.note(&chunk);
            return Err(error);
        }
        if chunk.choices.is_none() && chunk.usage.is_none() && error::Extracted::is_error(data) {
            return Err(StreamError::Provider(error::from_stream(data)));
        }
        self.begin(&chunk, out);
        self.note(&chunk);
        let choices = chunk.choices.take().unwrap_or_default();
        for choice in choices
            .into_iter()
            .filter(|choice| choice.index.unwrap_or_default().number == 0)
        {
            if let Some(delta) = choice.delta {
                self.delta(delta, out);
            }
            if let Some(message) = choice.message {
                self.whole_message(message, out);
            }
        }
        self.emitter.check()
    }

    fn has_stop_reason(&self) -> bool {
        self.finish_reason.is_some()
    }

    fn complete(&mut self, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        if self.has_stop_reason() {
            self.close(out)?;
        }
        Ok(())
    }

    fn give_up(&mut self, out: &mut Vec<EnvironmentEvent>) {
        if !self.emitter.ended() && self.emitter.started() {
            self.emit_held(out);
            self.emit_usage(out);
        }
        self.emitter.stop();
    }
}

impl CompletionState {
    pub(crate) fn new(context: StreamContext) -> Self {
        Self {
            emitter: Emitter::new(context),
            calls: ToolCallBuffer::default(),
            details: Details::default(),
            tags: ThinkTags::default(),
            usage: None,
            finish_reason: None,
            refused: false,
            has_said: false,
            has_thought: false,
            half: None,
        }
    }

    /// Repairs an event that could not be parsed.
    fn repaired(&mut self, data: &str) -> Option<String> {
        let (cut, half) = lenient_json::without_first_half(data).unzip();
        self.half = half;
        let data = cut.as_deref().unwrap_or(data);
        let whole = lenient_json::with_whole_characters(data);
        lenient_json::without_duplicates(whole.as_deref().unwrap_or(data))
    }

    /// Opens the stream, unless this is Azure's first chunk, which has neither an id nor anything else.
    pub(super) fn begin(&mut self, chunk: &CompletionChunk<'_>, out: &mut Vec<EnvironmentEvent>) {
        if self.emitter.started() {
            return;
        }
        let id = chunk.id.as_deref().unwrap_or_default();
        if !id.is_empty() || chunk.choices.as_ref().is_some_and(|choices| !choices.is_empty()) {
            self.emitter
                .start(id, chunk.model.as_deref().unwrap_or_default(), out);
        }
    }

    /// Keeps the data that the end will need.
    pub(super) fn note(&mut self, chunk: &CompletionChunk<'_>) {
        let reported = chunk
            .usage
            .or_else(|| chunk.x_groq.as_ref().and_then(|extra| extra.usage))
            .or_else(|| chunk.choices.iter().flatten().find_map(|choice| choice.usage));
        if let Some(reported) = reported {
            self.usage = Some(usage::later(self.usage, reported));
        }
        let first = chunk
            .choices
            .iter()
            .flatten()
            .find(|choice| choice.index.unwrap_or_default().number == 0);
        if let Some(reason) = first.and_then(|choice| choice.finish_reason.as_deref())
            && !reason.is_empty()
        {
            self.finish_reason = Some(reason.to_owned());
        }
    }

    /// Handles a whole message within a stream: all of it if nothing was emitted yet; at the end, only the
    /// parts that did not come piece by piece. Everything else in it was emitted before.
    fn whole_message(&mut self, message: ChoiceDelta<'_>, out: &mut Vec<EnvironmentEvent>) {
        let is_last = self.finish_reason.is_some();
        if !is_last && (self.has_said || self.has_thought || !self.calls.is_empty()) {
            return;
        }
        let (has_said, has_thought, has_calls) = (self.has_said, self.has_thought, !self.calls.is_empty());
        self.delta(
            ChoiceDelta {
                content: message.content.filter(|_| !has_said),
                refusal: message.refusal.filter(|_| !has_said),
                reasoning_content: message.reasoning_content.filter(|_| !has_thought),
                reasoning: message.reasoning.filter(|_| !has_thought),
                reasoning_details: message.reasoning_details.filter(|_| !has_thought),
                tool_calls: message.tool_calls.filter(|_| !has_calls),
                function_call: message.function_call.filter(|_| !has_calls),
            },
            out,
        );
    }

    /// Emits the new parts of an answer in a fixed order: reasoning, text, refusal, tool calls.
    pub(super) fn delta(&mut self, delta: ChoiceDelta<'_>, out: &mut Vec<EnvironmentEvent>) {
        // A server that fills both repeats the same text, and one that fills one may send the other one
        // empty.
        let reasoning = [delta.reasoning_content, delta.reasoning];
        if let Some(reasoning) = reasoning.into_iter().flatten().find(|said| !said.is_empty()) {
            self.emit_content(PartKind::Thinking, reasoning, out);
        }
        if let Some(details) = delta.reasoning_details {
            self.details.add(details.get());
        }
        if let Some(content) = delta.content {
            self.emit_content(PartKind::Text, content, out);
        }
        if let Some(refusal) = delta.refusal {
            self.refused |= !refusal.is_empty();
            self.emit_text(PartKind::Text, refusal, out);
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.tool(call, out);
        }
        if let Some(function) = delta.function_call {
            let call = ToolDelta {
                function: Some(function),
                ..ToolDelta::default()
            };
            self.tool(call, out);
        }
    }

    fn tool(&mut self, call: ToolDelta<'_>, out: &mut Vec<EnvironmentEvent>) {
        self.emit_held(out);
        self.calls.delta(call, &mut self.emitter, out);
    }

    fn emit_content(&mut self, kind: PartKind, content: Content<'_>, out: &mut Vec<EnvironmentEvent>) {
        match content {
            Content::Text(text) => self.emit_text(kind, text, out),
            Content::Blocks(blocks) => {
                for block in blocks {
                    if let Some(thinking) = block.thinking {
                        self.emit_content(PartKind::Thinking, thinking, out);
                    }
                    if let Some(text) = block.text {
                        self.emit_text(kind, text, out);
                    }
                    if let Some(refusal) = block.refusal {
                        self.refused |= !refusal.is_empty();
                        self.emit_text(PartKind::Text, refusal, out);
                    }
                }
            }
        }
    }

    fn emit_text(&mut self, kind: PartKind, text: Str<'_>, out: &mut Vec<EnvironmentEvent>) {
        if text.is_empty() {
            return;
        }
        if kind != PartKind::Text {
            self.has_thought = true;
            self.emit_held(out);
            self.tags.ignore_tags();
            return self.emitter.chunk(kind, text.into_string(), out);
        }
        self.has_said = true;
        for told in self.tags.take(&text) {
            self.tell(told, out);
        }
    }

    fn tell(&mut self, told: ThinkPiece, out: &mut Vec<EnvironmentEvent>) {
        match told {
            ThinkPiece::Piece(kind, text) => self.emitter.chunk(kind, text, out),
            ThinkPiece::WasThinking => self.emitter.mark_as_thinking(API, out),
        }
    }

    /// Emits text that was held back because it could have become a tag.
    fn emit_held(&mut self, out: &mut Vec<EnvironmentEvent>) {
        for told in self.tags.flush() {
            self.tell(told, out);
        }
    }

    /// Ends the answer, unless its server failed in the middle of it.
    pub(super) fn close(&mut self, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        let has_answer = self.has_said || !self.calls.is_empty();
        if let Some(failure) = finish::failure(self.finish_reason.as_deref(), has_answer) {
            return Err(failure);
        }
        self.end(out);
        self.emitter.check()
    }

    fn end(&mut self, out: &mut Vec<EnvironmentEvent>) {
        self.emit_held(out);
        let calls = std::mem::take(&mut self.calls);
        let word = self.finish_reason.take();
        let (reason, raw) = finish::stop_reason(word.as_deref(), !calls.is_empty(), self.refused);
        if let Some(details) = std::mem::take(&mut self.details).finish() {
            self.emitter.opaque(API, details, out);
        }
        calls.finish(reason == StopReason::MaxTokens, &mut self.emitter, out);
        self.emit_usage(out);
        self.emitter.end(reason, raw, out);
    }

    fn emit_usage(&mut self, out: &mut Vec<EnvironmentEvent>) {
        if let Some(reported) = self.usage.take() {
            self.emitter.usage(usage(&reported), out);
        }
    }
}
