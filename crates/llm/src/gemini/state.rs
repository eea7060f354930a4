//! The state of an answer of Gemini while its chunks are read.
//!
//! | `finishReason` | becomes |
//! | --- | --- |
//! | `STOP` | `tool_use` if there are calls, otherwise `end_turn` |
//! | `MAX_TOKENS` | `max_tokens` |
//! | `SAFETY`, `RECITATION`, `BLOCKLIST`, `PROHIBITED_CONTENT`, `SPII`, `MODEL_ARMOR`, and those of images | `refusal` |
//! | `MALFORMED_FUNCTION_CALL`, `UNEXPECTED_TOOL_CALL`, `MALFORMED_RESPONSE` | an error after which the same request may succeed |
//! | `TOO_MANY_TOOL_CALLS`, `LANGUAGE`, `OTHER`, … without an answer | an error (`unfinished.rs`) |
//! | any other, and these with an answer | `other` |
//!
//! The words are those of `FinishReason` in
//! <https://github.com/googleapis/python-genai/blob/66807187f2123c6676175ac991f4e34eb09200d1/google/genai/types.py>.
//!
//! A text and its signature may come in different parts: `{"text":"Hel"}`,
//! `{"text":"lo","thoughtSignature":"s"}`. Both become one part here, so that a front end shows one text; the
//! attached data has the beginning of the signed part, so that both go back as they came.

use agentx_types::{EnvironmentEvent, StopReason, ToolCallId, Usage};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::partial_args::PartialArgs;
use super::wire::{Candidate, FunctionCallWire, GeminiChunk, PartWire, PromptFeedback, UsageMetadata};
use super::{API, SIGNATURE, SIGNED_FROM, unfinished};
use crate::emitter::{Emitter, PartKind, parse_given, parse_input};
use crate::error::{self, ErrorCode, ModelError};
use crate::event_stream::EventAnswer;
use crate::stream_context::StreamContext;
use crate::stream_error::StreamError;

/// The number of attempts at an answer with a word in it.
const ATTEMPTS_AT_WORDS: u32 = 3;

/// Reads one stream of Gemini event by event.
///
/// The answer ends with the bytes, and is complete if a `finishReason` came before: no event is marked as the
/// last.
///
/// ```
/// use agentx_llm::{StreamContext, StreamDecoder};
/// use agentx_types::{Api, EnvironmentEvent};
///
/// let mut decoder = StreamDecoder::new(Api::Gemini, StreamContext::new("msg_1", 1));
/// let mut events = Vec::new();
/// let hi = br#"data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]}}],"modelVersion":"m"}"#;
/// let end = br#"data: {"candidates":[{"finishReason":"STOP"}]}"#;
/// for event in [&hi[..], &end[..]] {
///     decoder.push(event, &mut events)?;
///     decoder.push(b"\r\n\r\n", &mut events)?;
/// }
/// assert!(!decoder.is_done(), "more may come");
/// decoder.finish(&mut events)?;
/// assert!(matches!(events.last(), Some(EnvironmentEvent::StreamEnd(_))));
/// # Ok::<(), agentx_llm::StreamError>(())
/// ```
#[derive(Clone, Debug)]
pub(crate) struct GeminiState {
    emitter: Emitter,
    usage: Option<UsageMetadata>,
    /// The usage that was emitted last.
    said_usage: Usage,
    finish: Option<Finish>,
    /// The part that can be extended, and the size of its text in bytes.
    open: Option<(PartKind, usize)>,
    /// A call whose arguments come in pieces.
    call: Option<StreamedCall>,
    has_calls: bool,
    /// Whether anything of the answer itself came: a word, a call, or something that only Google understands.
    has_answer: bool,
}

/// The reason why the model stopped, in the provider's words.
#[derive(Clone, Debug)]
struct Finish {
    reason: String,
    message: Option<String>,
}

/// A call whose arguments are still coming.
#[derive(Clone, Debug)]
struct StreamedCall {
    id: ToolCallId,
    name: String,
    args: PartialArgs,
    signature: Option<String>,
}

impl EventAnswer for GeminiState {
    fn emitter(&self) -> &Emitter {
        &self.emitter
    }

    fn event(&mut self, _name: &str, data: &str, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        self.chunk(data, out)
    }

    fn has_stop_reason(&self) -> bool {
        self.is_finished()
    }

    fn complete(&mut self, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        if self.is_finished() {
            self.close(out)?;
        }
        Ok(())
    }

    fn give_up(&mut self, out: &mut Vec<EnvironmentEvent>) {
        if !self.emitter.ended() {
            self.emit_usage(out);
            self.emitter.stop();
        }
    }
}

impl GeminiState {
    pub(crate) fn new(context: StreamContext) -> Self {
        Self {
            emitter: Emitter::new(context),
            usage: None,
            said_usage: Usage::default(),
            finish: None,
            open: None,
            call: None,
            has_calls: false,
            has_answer: false,
        }
    }

    /// Returns whether the model has finished. More chunks may still come.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Decodes one chunk.
    pub(super) fn chunk(&mut self, data: &str, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        if self.emitter.ended() || data.is_empty() || data.trim() == "[DONE]" {
            return Ok(());
        }
        let chunk = GeminiChunk::parse(data)?;
        let says_nothing = chunk.candidates.is_none() && chunk.usage_metadata.is_none();
        if chunk.is_error()
            || (says_nothing && chunk.block_reason().is_none() && error::Extracted::is_error(data))
        {
            return Err(StreamError::Provider(error::from_stream(data)));
        }
        let id = chunk.response_id.as_deref().unwrap_or_default();
        let model = chunk.model_version.as_deref().unwrap_or_default();
        self.emitter.start(id, model, out);
        if let Some(usage) = chunk.usage_metadata.filter(UsageMetadata::counts) {
            self.usage = Some(usage);
        }
        if let Some(blocked) = blocked(&chunk) {
            return Err(StreamError::Provider(blocked));
        }
        let is_first = |candidate: &Candidate<'_>| candidate.index.unwrap_or_default().number == 0;
        for candidate in chunk.candidates.into_iter().flatten().filter(is_first) {
            self.candidate(candidate, out)?;
        }
        self.emit_usage(out);
        self.emitter.check()
    }

    fn candidate(
        &mut self,
        candidate: Candidate<'_>,
        out: &mut Vec<EnvironmentEvent>,
    ) -> Result<(), StreamError> {
        let parts = candidate.content.and_then(|content| content.parts);
        for part in parts.into_iter().flatten() {
            self.part(part, out)?;
        }
        if let Some(reason) = candidate.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish = Some(Finish {
                reason: reason.into_string(),
                message: candidate.finish_message.map(|message| message.into_string()),
            });
        }
        Ok(())
    }

    fn part(&mut self, raw: &RawValue, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        let part = PartWire::parse(raw)?;
        let signature = part.signature();
        if let Some(call) = &part.function_call {
            self.has_answer = true;
            return self.function_call(call, signature, raw, out);
        }
        match &part.text {
            Some(text) => {
                let kind = if part.is_thought() {
                    PartKind::Thinking
                } else {
                    PartKind::Text
                };
                self.has_answer |= kind == PartKind::Text && !text.trim().is_empty();
                self.text(kind, text, signature, out);
            }
            None if is_empty(raw) => {}
            None => {
                self.has_answer = true;
                self.open = None;
                let data = serde_json::from_str(raw.get()).unwrap_or_default();
                self.emitter.opaque(API, data, out);
            }
        }
        Ok(())
    }

    /// Emits a piece of a text. A signature closes the part: later text belongs to another one
    /// (<https://ai.google.dev/gemini-api/docs/thought-signatures>: parts with signatures are not merged).
    fn text(&mut self, kind: PartKind, text: &str, signature: Option<&str>, out: &mut Vec<EnvironmentEvent>) {
        let before = self
            .open
            .filter(|(open, _)| *open == kind)
            .map_or(0, |open| open.1);
        if !text.is_empty() {
            self.emitter.chunk(kind, text.to_owned(), out);
            self.open = Some((kind, before + text.len()));
        }
        let Some(signature) = signature else { return };
        self.emitter.ensure_part(kind, out);
        let mut data = json!({SIGNATURE: signature});
        if before > 0 {
            data[SIGNED_FROM] = before.into();
        }
        self.emitter.attach(API, data, out);
        self.emitter.next_part();
        self.open = None;
    }

    /// A complete call, or a piece of one. A piece without a name continues the call before it, and ends it
    /// unless it announces more.
    fn function_call(
        &mut self,
        call: &FunctionCallWire<'_>,
        signature: Option<&str>,
        raw: &RawValue,
        out: &mut Vec<EnvironmentEvent>,
    ) -> Result<(), StreamError> {
        self.open = None;
        let name = call.name.as_deref().unwrap_or_default();
        let is_piece = call.continues() || call.partial_args.is_some();
        if name.is_empty() && self.call.is_none() && call.args.is_none() && !is_piece {
            return Ok(());
        }
        if !name.is_empty() || self.call.is_none() {
            self.end_open_call(out);
            self.has_calls = true;
            let id = self.emitter.call_id(call.id.as_deref().unwrap_or_default());
            self.emitter.tool_start(&id, name, out);
            if !is_piece {
                let args = call.args.map_or("", RawValue::get);
                self.emitter.count_arguments(args.len());
                self.emitter
                    .tool_call(id, name.to_owned(), parse_input(args, false), out);
                self.sign(signature, out);
                return Ok(());
            }
            self.call = Some(StreamedCall {
                id,
                name: name.to_owned(),
                args: PartialArgs::new(),
                signature: None,
            });
        }
        self.emitter.count_arguments(raw.get().len());
        let Some(open) = &mut self.call else { return Ok(()) };
        if let Some(signature) = signature {
            open.signature = Some(signature.to_owned());
        }
        for piece in call.partial_args.iter().flatten() {
            let what = "a piece of an argument without a place";
            open.args
                .add(piece)
                .ok_or_else(|| StreamError::malformed(what, raw.get()))?;
        }
        if !call.continues() {
            self.end_open_call(out);
        }
        Ok(())
    }

    /// Emits the call whose arguments came in pieces.
    fn end_open_call(&mut self, out: &mut Vec<EnvironmentEvent>) {
        if let Some(call) = self.call.take() {
            self.emitter
                .tool_call(call.id, call.name, parse_given(call.args.into_value()), out);
            self.sign(call.signature.as_deref(), out);
        }
    }

    /// Attaches a signature to the call before it.
    fn sign(&mut self, signature: Option<&str>, out: &mut Vec<EnvironmentEvent>) {
        if let Some(signature) = signature {
            self.emitter.attach(API, json!({SIGNATURE: signature}), out);
        }
    }

    /// Ends the answer, which has a finish reason.
    ///
    /// # Errors
    /// Returns an error if a limit was broken, or if the model failed to write a call: the same request may
    /// succeed.
    pub(super) fn close(&mut self, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        let Some(finish) = self.finish.take() else {
            return Err(StreamError::Truncated);
        };
        let said = finish.message.as_deref().unwrap_or_default();
        let failure = unfinished::failure(&finish.reason, said, self.has_answer);
        if let Some(failure) = failure.or_else(|| self.empty(&finish)) {
            return Err(StreamError::Provider(failure));
        }
        self.end_open_call(out);
        self.emitter.check()?;
        self.emit_usage(out);
        let stop_reason = self.stop_reason(&finish.reason);
        self.emitter.end(stop_reason, Some(finish.reason), out);
        self.emitter.check()
    }

    /// Emits the current counts, if they are higher than before: every chunk has them, and an answer that
    /// breaks off costs the counts of its last chunk.
    fn emit_usage(&mut self, out: &mut Vec<EnvironmentEvent>) {
        let Some(usage) = self.usage.as_ref().map(UsageMetadata::tokens) else {
            return;
        };
        if self.emitter.started() && usage != self.said_usage {
            self.said_usage = usage;
            self.emitter.usage(usage, out);
        }
    }

    /// The error of an answer that stopped without text or a call. gemini-cli tries again after one
    /// (`NO_RESPONSE_TEXT`, see `unfinished.rs`); if two more attempts yield nothing, the model has nothing
    /// to say.
    fn empty(&self, finish: &Finish) -> Option<ModelError> {
        let is_empty = finish.reason == "STOP" && !self.has_answer;
        let message = "the model ended its answer without a word or a call";
        (is_empty && self.emitter.attempt() < ATTEMPTS_AT_WORDS)
            .then(|| ModelError::of(ErrorCode::BadGeneration, message))
    }

    fn stop_reason(&self, reason: &str) -> StopReason {
        match reason {
            "STOP" if self.has_calls => StopReason::ToolUse,
            "STOP" => StopReason::EndTurn,
            "MAX_TOKENS" => StopReason::MaxTokens,
            "SAFETY"
            | "RECITATION"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION"
            | "MODEL_ARMOR" => StopReason::Refusal,
            _ => StopReason::Other,
        }
    }
}

/// Returns whether a part is empty.
fn is_empty(raw: &RawValue) -> bool {
    let fields: Result<Map<String, Value>, _> = serde_json::from_str(raw.get());
    fields.is_ok_and(|mut fields| {
        fields.retain(|key, _| key != "thought");
        fields.is_empty()
    })
}

/// The error of a prompt that was blocked.
fn blocked(chunk: &GeminiChunk<'_>) -> Option<ModelError> {
    let reason = chunk.block_reason()?;
    let PromptFeedback {
        block_reason_message, ..
    } = chunk.prompt_feedback.as_ref()?;
    let message = match block_reason_message.as_deref() {
        Some(words) if !words.is_empty() => format!("the prompt was blocked ({reason}): {words}"),
        _ => format!("the prompt was blocked ({reason})"),
    };
    Some(ModelError::of(ErrorCode::ContentFilter, &message))
}
