//! Content blocks while they stream. Text, thinking and tool calls are emitted as they arrive; every other
//! block is assembled here from its deltas and emitted as a whole, because it must be sent back complete.
//!
//! | type of the block | while it streams | when it ends |
//! | --- | --- | --- |
//! | `text` | `text_chunk` | a `provider_part` with its citations, attached to the text |
//! | `thinking` | `thinking_chunk` | a `provider_part` with its signature, attached to the thinking |
//! | `tool_use` | `tool_call_start`, `tool_call_chunk` | `tool_call` |
//! | any other: `redacted_thinking`, `server_tool_use`, … | nothing | one `provider_part` with the block |
//! | `fallback` | `model_fell_back`, at its start | one `provider_part` with the block |
//!
//! A `provider_part` is sent back to Anthropic unchanged in later requests; other APIs never see it.

use agentx_types::{EnvironmentEvent, InvalidInput, ModelFellBack, ToolCallId};
use serde_json::{Map, Value};

use super::API;
use super::wire::BlockDelta;
use crate::emitter::{Emitter, PartKind, parse_given, parse_input};

/// The kinds of deltas of the API.
const KNOWN_DELTAS: [&str; 5] = [
    "text_delta",
    "thinking_delta",
    "signature_delta",
    "citations_delta",
    "input_json_delta",
];

/// The block that is open.
#[derive(Clone, Debug)]
pub(super) enum OpenBlock {
    /// Text or thinking. `extra` is the data besides the text (signature, citations, new keys): it is
    /// attached to the part when the block ends.
    Words {
        /// Whether the block is text or thinking.
        kind: PartKind,
        extra: Map<String, Value>,
    },
    /// A tool call.
    Tool {
        /// The id that the result of the call refers to; the provider's own unless it is missing or a
        /// duplicate.
        id: ToolCallId,
        name: String,
        /// The `input` of `content_block_start`. It is `{}` unless a gateway sends the whole input at once.
        given: Value,
        /// The pieces of `input_json_delta`, joined.
        json: String,
        extra: Map<String, Value>,
    },
    /// Any other block.
    Whole { block: Map<String, Value>, json: String },
}

/// A call that has ended without arguments. The reason of the message's end decides whether that means
/// "none".
#[derive(Clone, Debug)]
pub(super) struct HeldCall {
    pub(super) id: ToolCallId,
    pub(super) name: String,
    pub(super) extra: Map<String, Value>,
}

impl HeldCall {
    /// Emits the call with an empty input, or as an invalid call if the answer was `cut` off by its length
    /// limit: then the arguments are missing, not empty.
    pub(super) fn emit(self, cut: bool, emitter: &mut Emitter, out: &mut Vec<EnvironmentEvent>) {
        emit_call(self.id, self.name, parse_input("", cut), self.extra, emitter, out);
    }
}

impl OpenBlock {
    /// Opens a block from the object `content_block` of a `content_block_start` event:
    ///
    /// ```text
    /// {"type":"tool_use","id":"toolu_1","name":"read","input":{}}
    /// ```
    ///
    /// Fields that this decoder does not know are kept in `extra`, so that they can be sent back.
    pub(super) fn start(
        mut block: Map<String, Value>,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) -> Self {
        emitter.next_part();
        match block.get("type").and_then(Value::as_str) {
            Some("text") => Self::words(PartKind::Text, "text", block, emitter, out),
            Some("thinking") => Self::words(PartKind::Thinking, "thinking", block, emitter, out),
            Some("tool_use") => {
                let id = emitter.call_id(&take_string(&mut block, "id"));
                let name = take_string(&mut block, "name");
                let given = block.remove("input").unwrap_or_default();
                emitter.tool_start(&id, &name, out);
                Self::Tool {
                    id,
                    name,
                    given,
                    json: String::new(),
                    extra: tool_extra(block),
                }
            }
            kind => {
                if let (Some("fallback"), Some(model)) = (kind, fallback_model(&block)) {
                    out.push(ModelFellBack { model, prices: None }.into());
                }
                Self::Whole {
                    block,
                    json: String::new(),
                }
            }
        }
    }

    /// Opens a text or thinking block. Its first words may already be in the start event.
    fn words(
        kind: PartKind,
        key: &str,
        mut block: Map<String, Value>,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) -> Self {
        let text = take_string(&mut block, key);
        block.remove("type");
        block.retain(|_, value| !is_nothing(value));
        if !text.is_empty() {
            emitter.chunk(kind, text, out);
        }
        Self::Words { kind, extra: block }
    }

    /// Returns whether pieces of JSON belong to this block.
    pub(super) fn takes_arguments(&self) -> bool {
        !matches!(self, Self::Words { .. })
    }

    /// Applies a delta if its kind belongs to this kind of block, which is nearly always so. Returns `false`
    /// if it does not; then [`Self::merge`] merges it whole.
    pub(super) fn delta(
        &mut self,
        delta: &mut BlockDelta<'_>,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) -> bool {
        match (self, delta.kind.as_deref()) {
            (
                Self::Words {
                    kind: kind @ PartKind::Text,
                    ..
                },
                Some("text_delta"),
            ) => emit_chunk(*kind, delta.text.take(), emitter, out),
            (
                Self::Words {
                    kind: kind @ PartKind::Thinking,
                    ..
                },
                Some("thinking_delta"),
            ) => {
                emit_chunk(*kind, delta.thinking.take(), emitter, out);
            }
            (
                Self::Words {
                    kind: PartKind::Thinking,
                    extra,
                },
                Some("signature_delta"),
            ) => {
                if let Some(signature) = delta.signature.take() {
                    extra.insert("signature".into(), Value::String(signature.into_string()));
                }
            }
            (
                Self::Words {
                    kind: PartKind::Text,
                    extra,
                },
                Some("citations_delta"),
            ) => {
                push_to(extra, "citations", delta.citation.take());
            }
            (Self::Tool { id, json, .. }, Some("input_json_delta")) => {
                let piece = delta.partial_json.take().unwrap_or_default();
                emitter.count_arguments(piece.len());
                emitter.tool_chunk(id, &piece, out);
                json.push_str(&piece);
            }
            (Self::Whole { json, .. }, Some("input_json_delta")) => {
                let piece = delta.partial_json.take().unwrap_or_default();
                emitter.count_arguments(piece.len());
                json.push_str(&piece);
            }
            // SGLang: <https://github.com/sgl-project/sglang/pull/24294>.
            (Self::Tool { .. }, Some("text_delta")) => {
                emit_chunk(PartKind::Text, delta.text.take(), emitter, out);
            }
            // A delta that does not belong to this kind of block is dropped: it would be sent back and
            // refused.
            (Self::Words { .. } | Self::Tool { .. }, Some(kind)) if KNOWN_DELTAS.contains(&kind) => {}
            _ => return false,
        }
        true
    }

    /// Applies a delta of an unusual kind: its keys are merged into the block that will be sent back.
    pub(super) fn merge(&mut self, delta: Map<String, Value>) {
        let into = match self {
            Self::Words { extra, .. } | Self::Tool { extra, .. } => extra,
            Self::Whole { block, .. } => block,
        };
        for (key, value) in delta {
            match (key.as_str(), value) {
                ("type", _) => {}
                ("citation", citation) => push_to(into, "citations", Some(citation)),
                (_, value) => merge_key(into, key, value),
            }
        }
    }

    /// Ends the block. A call without arguments is returned instead of emitted.
    pub(super) fn stop(self, emitter: &mut Emitter, out: &mut Vec<EnvironmentEvent>) -> Option<HeldCall> {
        match self {
            Self::Words { kind, extra } => {
                if !extra.is_empty() {
                    emitter.ensure_part(kind, out);
                    emitter.attach(API, Value::Object(extra), out);
                }
            }
            Self::Tool {
                id,
                name,
                given,
                json,
                extra,
            } => {
                let input = match given {
                    Value::Object(object) if json.trim().is_empty() && !object.is_empty() => {
                        parse_given(Value::Object(object))
                    }
                    _ if json.trim().is_empty() => return Some(HeldCall { id, name, extra }),
                    _ => parse_input(&json, false),
                };
                emit_call(id, name, input, extra, emitter, out);
            }
            Self::Whole { mut block, json } => {
                if !json.trim().is_empty() {
                    let input = serde_json::from_str(&json).unwrap_or(Value::String(json));
                    block.insert("input".into(), input);
                }
                emitter.opaque(API, Value::Object(block), out);
            }
        }
        None
    }
}

/// Emits a chunk of text or thinking. Empty chunks are left out.
fn emit_chunk(
    kind: PartKind,
    text: Option<crate::lenient_json::Str<'_>>,
    emitter: &mut Emitter,
    out: &mut Vec<EnvironmentEvent>,
) {
    if let Some(text) = text
        && !text.is_empty()
    {
        emitter.chunk(kind, text.into_string(), out);
    }
}

/// Emits a complete call, and the fields that belong to it as an attached `provider_part`.
fn emit_call(
    id: ToolCallId,
    name: String,
    input: (Value, Option<Box<InvalidInput>>),
    extra: Map<String, Value>,
    emitter: &mut Emitter,
    out: &mut Vec<EnvironmentEvent>,
) {
    emitter.tool_call(id, name, input, out);
    if !extra.is_empty() {
        emitter.attach(API, Value::Object(extra), out);
    }
}

/// The model that continues with the answer, in a block `fallback`:
/// `{"from": {"model": …}, "to": {"model": …}}`.
fn fallback_model(block: &Map<String, Value>) -> Option<String> {
    let model = block.get("to")?.get("model")?.as_str()?;
    (!model.is_empty()).then(|| model.to_owned())
}

/// Returns the unusual keys of a tool call: its caller, if it is not the model itself.
fn tool_extra(mut block: Map<String, Value>) -> Map<String, Value> {
    block.remove("type");
    block.retain(|key, value| !is_nothing(value) && (key != "caller" || value["type"] != "direct"));
    block
}

/// Returns whether a field carries no information: `null`, an empty text or an empty list.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Removes a text from a block; the result is empty if there is none.
fn take_string(block: &mut Map<String, Value>, key: &str) -> String {
    match block.remove(key) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    }
}

/// Appends an item to the list under `key`, and creates the list if needed.
fn push_to(into: &mut Map<String, Value>, key: &str, item: Option<Value>) {
    if let Some(item) = item {
        match into.get_mut(key) {
            Some(Value::Array(items)) => items.push(item),
            _ => {
                into.insert(key.into(), Value::Array(vec![item]));
            }
        }
    }
}

/// Strings and arrays grow, anything else is replaced.
fn merge_key(into: &mut Map<String, Value>, key: String, value: Value) {
    match (into.get_mut(&key), value) {
        (Some(Value::String(present)), Value::String(later)) => present.push_str(&later),
        (Some(Value::Array(present)), Value::Array(later)) => present.extend(later),
        (_, value) => {
            into.insert(key, value);
        }
    }
}
