//! The steps of an answer while they stream, distinguished by their index.
//!
//! | step | its pieces | kept |
//! | --- | --- | --- |
//! | `model_output` | `text` | the text |
//! | `thought` | `thought_summary`, `thought_signature` | the text, and the signature attached to it |
//! | `function_call` | `arguments_delta`, JSON as a string | the call, and its signature if it has one |
//! | any other, such as `google_search_call` | its own fields | the step with all fields, as a part that only Google reads |
//!
//! A thought without a summary becomes empty thinking, to which its signature is attached.

use std::collections::{BTreeMap, BTreeSet};

use agentx_types::{EnvironmentEvent, ToolCallId};
use serde_json::{Map, Value, json};

use super::wire::{DeltaWire, StepWire, TextWire, parse};
use super::{API, SIGNATURE};
use crate::emitter::{Emitter, PartKind, parse_input};
use crate::lenient_json::{Str, raw_text};
use crate::stream_error::StreamError;

/// The steps of one answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    open: BTreeMap<u64, OpenStep>,
    ended: BTreeSet<u64>,
    has_calls: bool,
}

/// A step that has begun.
#[derive(Clone, Debug)]
enum OpenStep {
    /// Words of the answer, or of the reasoning.
    Words {
        kind: PartKind,
        signature: Option<String>,
    },
    Call(InteractionCall),
    /// A step that only Google understands, with all its received parts.
    Other(Map<String, Value>),
}

/// A call whose arguments are still coming.
#[derive(Clone, Debug)]
struct InteractionCall {
    id: ToolCallId,
    name: String,
    input: String,
    signature: Option<String>,
}

fn owned(text: &Option<Str<'_>>) -> String {
    text.as_deref().unwrap_or_default().to_owned()
}

fn signature(given: &Option<Str<'_>>) -> Option<String> {
    let given = given.as_deref().filter(|signature| !signature.is_empty());
    given.map(str::to_owned)
}

impl Steps {
    /// Returns whether the answer has calls of tools.
    pub(super) fn has_calls(&self) -> bool {
        self.has_calls
    }

    /// Begins a step; its first content is emitted.
    pub(super) fn begin(
        &mut self,
        index: u64,
        raw: &str,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) -> Result<(), StreamError> {
        if self.ended.contains(&index) || self.open.contains_key(&index) {
            return Ok(());
        }
        let step: StepWire<'_> = parse(raw)?;
        let open = match step.kind.as_deref().unwrap_or_default() {
            "model_output" => words(PartKind::Text, step.content, &step.signature, emitter, out),
            "thought" => words(PartKind::Thinking, step.summary, &step.signature, emitter, out),
            "function_call" => {
                self.has_calls = true;
                OpenStep::Call(InteractionCall::of(&step, emitter, out))
            }
            _ => OpenStep::Other(parse(raw)?),
        };
        self.open.insert(index, open);
        Ok(())
    }

    /// Emits a piece of a step.
    pub(super) fn delta(
        &mut self,
        index: u64,
        raw: &str,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) -> Result<(), StreamError> {
        let delta: DeltaWire<'_> = parse(raw)?;
        match self.open.get_mut(&index) {
            Some(OpenStep::Words { kind, signature: own }) => {
                let text = match &delta.content {
                    Some(TextWire { text }) => owned(text),
                    None => owned(&delta.text),
                };
                if !text.is_empty() {
                    emitter.chunk(*kind, text, out);
                }
                if let Some(given) = signature(&delta.signature) {
                    *own = Some(given);
                }
            }
            Some(OpenStep::Call(call)) => {
                if let Some(piece) = delta.arguments.and_then(raw_text) {
                    emitter.count_arguments(piece.len());
                    emitter.tool_chunk(&call.id, &piece, out);
                    call.input.push_str(&piece);
                }
                if let Some(given) = signature(&delta.signature) {
                    call.signature = Some(given);
                }
            }
            Some(OpenStep::Other(step)) => {
                let fields: Map<String, Value> = parse(raw)?;
                emitter.count_arguments(raw.len());
                step.extend(fields.into_iter().filter(|(key, _)| key != "type"));
            }
            None if self.ended.contains(&index) => {}
            None => return Err(StreamError::malformed("a piece of a step that never began", raw)),
        }
        Ok(())
    }

    /// Ends a step: emits the kept parts.
    pub(super) fn end(&mut self, index: u64, emitter: &mut Emitter, out: &mut Vec<EnvironmentEvent>) {
        self.ended.insert(index);
        match self.open.remove(&index) {
            Some(OpenStep::Words { kind, signature }) => {
                if let Some(signature) = signature {
                    emitter.ensure_part(kind, out);
                    emitter.attach(API, json!({SIGNATURE: signature}), out);
                }
                emitter.next_part();
            }
            Some(OpenStep::Call(call)) => call.emit(false, emitter, out),
            Some(OpenStep::Other(step)) => emitter.opaque(API, Value::Object(step), out),
            None => {}
        }
    }

    /// Emits a whole step, unless it came piece by piece.
    pub(super) fn whole(
        &mut self,
        index: u64,
        raw: &str,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) -> Result<(), StreamError> {
        if self.ended.contains(&index) || self.open.contains_key(&index) {
            return Ok(());
        }
        self.begin(index, raw, emitter, out)?;
        self.end(index, emitter, out);
        Ok(())
    }

    /// Emits the steps that never ended: the answer was cut off.
    pub(super) fn end_open(&mut self, emitter: &mut Emitter, out: &mut Vec<EnvironmentEvent>) {
        for index in self.open.keys().copied().collect::<Vec<_>>() {
            match self.open.remove(&index) {
                Some(OpenStep::Call(call)) => call.emit(true, emitter, out),
                Some(open) => {
                    self.open.insert(index, open);
                    self.end(index, emitter, out);
                }
                None => {}
            }
        }
    }
}

/// A step of words; those that it begins with are emitted.
fn words(
    kind: PartKind,
    texts: Option<Vec<TextWire<'_>>>,
    given: &Option<Str<'_>>,
    emitter: &mut Emitter,
    out: &mut Vec<EnvironmentEvent>,
) -> OpenStep {
    emitter.next_part();
    for text in texts.into_iter().flatten() {
        let text = owned(&text.text);
        if !text.is_empty() {
            emitter.chunk(kind, text, out);
        }
    }
    OpenStep::Words {
        kind,
        signature: signature(given),
    }
}

impl InteractionCall {
    fn of(step: &StepWire<'_>, emitter: &mut Emitter, out: &mut Vec<EnvironmentEvent>) -> Self {
        let mut call = Self {
            id: emitter.call_id(step.id.as_deref().unwrap_or_default()),
            name: owned(&step.name),
            input: String::new(),
            signature: signature(&step.signature),
        };
        emitter.tool_start(&call.id, &call.name, out);
        // A call that is streamed begins with no arguments.
        let begun = step.arguments.map(|arguments| arguments.get());
        if let Some(begun) = begun.filter(|begun| !matches!(*begun, "{}" | "null")) {
            emitter.count_arguments(begun.len());
            emitter.tool_chunk(&call.id, begun, out);
            begun.clone_into(&mut call.input);
        }
        call
    }

    fn emit(self, is_cut: bool, emitter: &mut Emitter, out: &mut Vec<EnvironmentEvent>) {
        emitter.tool_call(self.id, self.name, parse_input(&self.input, is_cut), out);
        if let Some(signature) = self.signature {
            emitter.attach(API, json!({SIGNATURE: signature}), out);
        }
    }
}
