//! The rules of a model's stream, in one place: all decoders emit events through [`Emitter`].
//!
//! It opens the stream once, separates neighbouring parts of one kind by a `part_end`, parses finished tool
//! arguments, mints missing ids, and ends the stream once.
//!
//! The order of events of one stream:
//!
//! ```text
//! stream_start
//! ( text_chunk | thinking_chunk | part_end | provider_part | tool_call_start | tool_call_chunk | tool_call )*
//! usage*
//! stream_end
//! ```
//!
//! Limits and promises of the API are checked by [`Emitter::check`], not by each method: decoders call it
//! once per event of the server, and stop at the first error. A value that is nested too deep is dropped
//! before any reader gets it.

use agentx_types::{
    EnvironmentEvent, InvalidInput, MessageId, PartEnd, ProviderPart, StopReason, StreamEnd, StreamStart,
    TextChunk, ThinkingChunk, ToolCall, ToolCallChunk, ToolCallId, ToolCallStart, Usage, UsageReport,
    WAS_THINKING,
};
use serde_json::{Map, Value, json};

use crate::stream_context::StreamContext;
use crate::stream_error::StreamError;

/// Maximum nesting of values. They are later nested in messages, frames and states, and JSON readers refuse a
/// nesting of more than 128.
pub(crate) const MAX_DEPTH: usize = 64;
/// Maximum size of the arguments of all calls of one answer.
pub(crate) const MAX_ARGUMENT_BYTES: usize = 8 << 20;

/// Kinds of parts that chunks belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// Words of the answer.
    Text,
    /// Words of the model's reasoning.
    Thinking,
}

/// Writes the events of one stream.
#[derive(Clone, Debug)]
pub(crate) struct Emitter {
    context: StreamContext,
    message_id: Option<MessageId>,
    /// The kind of the part that a chunk would join.
    open: Option<PartKind>,
    /// Whether the next chunk begins another part even if its kind is the open one.
    fresh: bool,
    /// The number of ids made here, because the server sent none or repeated one.
    minted: usize,
    /// The length of the arguments of all calls until now, in bytes.
    argument_bytes: usize,
    /// The reason why the answer is malformed; `None` while it is well formed.
    malformed: Option<String>,
    ended: bool,
}

impl Emitter {
    /// An emitter for one stream. Nothing is emitted until [`Self::start`].
    pub(crate) fn new(context: StreamContext) -> Self {
        Self {
            context,
            message_id: None,
            open: None,
            fresh: false,
            minted: 0,
            argument_bytes: 0,
            malformed: None,
            ended: false,
        }
    }

    /// The number of the attempt at this call; the first is 1.
    pub(crate) fn attempt(&self) -> u32 {
        self.context.attempt
    }

    /// Returns whether `stream_start` was emitted.
    pub(crate) fn started(&self) -> bool {
        self.message_id.is_some()
    }

    /// Returns whether `stream_end` was emitted, or the stream was given up: nothing follows.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Emits `stream_start`, once. A missing id, or one that the conversation already has, is replaced by the
    /// caller's own.
    pub(crate) fn start(&mut self, id: &str, model: &str, out: &mut Vec<EnvironmentEvent>) {
        if self.started() {
            return;
        }
        let given = MessageId::new(id);
        let message_id = if id.is_empty() || self.context.has_message(&given) {
            self.context.fallback_message_id.clone()
        } else {
            given
        };
        self.message_id = Some(message_id.clone());
        let start = StreamStart {
            message_id,
            model: model.to_owned(),
            attempt: self.context.attempt,
        };
        out.push(start.into());
    }

    /// Ends the present part: the next chunk belongs to another one.
    pub(crate) fn next_part(&mut self) {
        self.fresh = true;
    }

    /// Emits a chunk; an empty one only to open a part.
    pub(crate) fn chunk(&mut self, kind: PartKind, text: String, out: &mut Vec<EnvironmentEvent>) {
        if text.is_empty() && !self.fresh && self.open == Some(kind) {
            return;
        }
        if self.fresh && self.open == Some(kind) {
            out.push(PartEnd {}.into());
        }
        self.fresh = false;
        self.open = Some(kind);
        out.push(match kind {
            PartKind::Text => TextChunk { text }.into(),
            PartKind::Thinking => ThinkingChunk { text }.into(),
        });
    }

    /// Opens a part of this kind if none is open, so that the next attachment does not go to another part.
    pub(crate) fn ensure_part(&mut self, kind: PartKind, out: &mut Vec<EnvironmentEvent>) {
        if self.fresh || self.open != Some(kind) {
            self.chunk(kind, String::new(), out);
        }
    }

    /// Emits data that belongs to the part before it.
    pub(crate) fn attach(&mut self, api: &str, data: Value, out: &mut Vec<EnvironmentEvent>) {
        if self.reject_too_deep(&data) {
            return;
        }
        out.push(
            ProviderPart {
                api: api.to_owned(),
                attach: true,
                data,
            }
            .into(),
        );
    }

    /// Marks the text of the answer up to here as thinking. A blank line shows a reader its end.
    pub(crate) fn mark_as_thinking(&mut self, api: &str, out: &mut Vec<EnvironmentEvent>) {
        self.chunk(PartKind::Text, "\n\n".into(), out);
        self.attach(api, json!({ WAS_THINKING: true }), out);
        self.next_part();
    }

    /// Emits a part that only its provider understands.
    pub(crate) fn opaque(&mut self, api: &str, data: Value, out: &mut Vec<EnvironmentEvent>) {
        self.open = None;
        if self.reject_too_deep(&data) {
            return;
        }
        out.push(
            ProviderPart {
                api: api.to_owned(),
                attach: false,
                data,
            }
            .into(),
        );
    }

    /// Counts arguments that are put together.
    pub(crate) fn count_arguments(&mut self, bytes: usize) {
        self.argument_bytes = self.argument_bytes.saturating_add(bytes);
    }

    /// Checks that everything emitted until now is within the limits.
    pub(crate) fn check(&self) -> Result<(), StreamError> {
        if self.argument_bytes > MAX_ARGUMENT_BYTES {
            return Err(StreamError::ArgumentsTooLong {
                limit: MAX_ARGUMENT_BYTES,
            });
        }
        match &self.malformed {
            Some(detail) => Err(StreamError::Malformed {
                detail: detail.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Marks the answer as malformed if data is nested too deeply. Returns whether it is.
    fn reject_too_deep(&mut self, data: &Value) -> bool {
        let deep = is_deeper(data, MAX_DEPTH);
        if deep {
            self.malformed = Some(format!("a part is nested deeper than {MAX_DEPTH} levels"));
        }
        deep
    }

    /// The id to use for a call: the given one, unless it is missing or already taken.
    pub(crate) fn call_id(&mut self, given: &str) -> ToolCallId {
        let mut id = ToolCallId::new(given);
        while id.as_str().is_empty() || self.context.has_call(&id) {
            let message = self
                .message_id
                .as_ref()
                .unwrap_or(&self.context.fallback_message_id);
            id = minted_id(message.as_str(), self.minted);
            self.minted += 1;
        }
        self.context.take_call(id.clone());
        id
    }

    pub(crate) fn tool_start(&mut self, id: &ToolCallId, name: &str, out: &mut Vec<EnvironmentEvent>) {
        out.push(
            ToolCallStart {
                tool_call_id: id.clone(),
                name: name.to_owned(),
            }
            .into(),
        );
    }

    /// Emits a piece of a call's arguments. Empty pieces are left out.
    pub(crate) fn tool_chunk(&mut self, id: &ToolCallId, json: &str, out: &mut Vec<EnvironmentEvent>) {
        if !json.is_empty() {
            out.push(
                ToolCallChunk {
                    tool_call_id: id.clone(),
                    json: json.to_owned(),
                }
                .into(),
            );
        }
    }

    /// Emits a complete call. One without a name is emitted too: the agent answers it like a call of any
    /// unknown tool, and requests have another name for it (`request_words.rs`). Another attempt would cost a
    /// whole answer.
    pub(crate) fn tool_call(
        &mut self,
        id: ToolCallId,
        name: String,
        (input, invalid): (Value, Option<Box<InvalidInput>>),
        out: &mut Vec<EnvironmentEvent>,
    ) {
        self.open = None;
        out.push(
            ToolCall {
                tool_call_id: id,
                name,
                input,
                invalid,
            }
            .into(),
        );
    }

    /// Emits the current tokens of the call; a later report replaces an earlier one.
    pub(crate) fn usage(&mut self, usage: Usage, out: &mut Vec<EnvironmentEvent>) {
        out.push(UsageReport { usage }.into());
    }

    /// Emits `stream_end`, once, unless a limit was broken or nothing had begun.
    pub(crate) fn end(
        &mut self,
        stop_reason: StopReason,
        raw: Option<String>,
        out: &mut Vec<EnvironmentEvent>,
    ) {
        if !self.started() {
            self.malformed = Some("the answer ended before it began".to_owned());
        }
        if !self.ended && self.check().is_ok() {
            self.ended = true;
            out.push(StreamEnd { stop_reason, raw }.into());
        }
    }

    /// Stops the emitter: it emits no more events.
    pub(crate) fn stop(&mut self) {
        self.ended = true;
    }
}

/// Parses tool arguments. An empty text means no arguments, unless the answer was `cut` off by its length
/// limit: then the arguments are unknown.
pub(crate) fn parse_input(raw: &str, cut: bool) -> (Value, Option<Box<InvalidInput>>) {
    let empty = || Value::Object(Map::new());
    let invalid = |error: String| {
        (
            empty(),
            Some(Box::new(InvalidInput {
                raw: raw.to_owned(),
                error,
            })),
        )
    };
    if raw.trim().is_empty() {
        return if cut {
            invalid("the answer was cut off before the arguments".into())
        } else {
            (empty(), None)
        };
    }
    match serde_json::from_str(without_placeholder(raw)) {
        Ok(Value::Null) => (empty(), None),
        Ok(input) if is_deeper(&input, MAX_DEPTH) => {
            invalid(format!("the arguments are nested deeper than {MAX_DEPTH} levels"))
        }
        Ok(input @ Value::Object(_)) => (input, None),
        Ok(_) => invalid("the arguments are JSON, but not an object".into()),
        Err(error) => invalid(error.to_string()),
    }
}

/// The arguments without the `{}` that some servers send before the real ones.
fn without_placeholder(raw: &str) -> &str {
    let real = raw.trim_start().strip_prefix("{}").map(str::trim_start);
    real.filter(|real| real.starts_with('{')).unwrap_or(raw)
}

/// Checks tool arguments that came as a value and not as text.
pub(crate) fn parse_given(input: Value) -> (Value, Option<Box<InvalidInput>>) {
    if is_deeper(&input, MAX_DEPTH) {
        parse_input(&input.to_string(), false)
    } else {
        (input, None)
    }
}

/// Returns whether a value has more than `levels` levels of objects and arrays.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else {
        return value.is_object() || value.is_array();
    };
    match value {
        Value::Object(object) => object.values().any(|value| is_deeper(value, below)),
        Value::Array(items) => items.iter().any(|value| is_deeper(value, below)),
        _ => false,
    }
}

/// An id made from the message's id: equal for equal bytes, and short enough for every API.
fn minted_id(message_id: &str, index: usize) -> ToolCallId {
    ToolCallId::with_suffix(format_args!("{:016x}_{index}", fnv1a(message_id.as_bytes())))
}

/// Returns a portable hash: FNV-1a, 64 bits.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
