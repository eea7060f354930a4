//! The items of an answer while they stream, told apart by their place in the output.
//!
//! ```text
//! response.output_item.added   {"output_index":0,"item":{"type":"function_call","call_id":"call_1","name":"read"}}
//! response.function_call_arguments.delta  {"output_index":0,"delta":"{\"path\":"}
//! response.output_item.done    {"output_index":0,"item":{"type":"function_call","arguments":"{\"path\":\"a.md\"}"}}
//! ```
//!
//! The last event of an item has all of it. What came piece by piece is not emitted again; of what no piece came, all is
//! emitted then. Some servers send no events for items at all: theirs are in the response that ends the stream.

use std::collections::BTreeMap;

use agentx_types::{EnvironmentEvent, ToolCallId};
use serde_json::{Value, json};

use super::API;
use super::wire::{ItemPart, OutputItem};
use crate::emitter::{Emitter, PartKind, parse_input};
use crate::lenient_json::raw_text;
use crate::stream::StreamError;

/// The field of reasoning that is sent back.
pub(super) const ENCRYPTED: &str = "encrypted_content";
/// The field of a message that says whether it is a comment or the answer.
pub(super) const PHASE: &str = "phase";
/// Marks a call of a tool that takes any text instead of JSON.
pub(super) const CUSTOM: &str = "custom";

/// The items of one answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Items {
    open: BTreeMap<u64, OpenItem>,
    /// The places of items that have ended.
    ended: std::collections::BTreeSet<u64>,
    has_calls: bool,
    refused: bool,
}

/// The place of a piece: the item, and the part within it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartPlace {
    pub(super) item: u64,
    pub(super) part: u64,
}

/// An item that has begun.
#[derive(Clone, Debug, Default)]
struct OpenItem {
    /// The part within the item that was emitted last; `None` if nothing was.
    part: Option<u64>,
    call: Option<OpenCall>,
}

/// A call whose arguments are still coming.
#[derive(Clone, Debug)]
struct OpenCall {
    id: ToolCallId,
    name: String,
    input: String,
    is_custom: bool,
}

impl Items {
    /// Returns whether the answer has calls of tools.
    pub(super) fn has_calls(&self) -> bool {
        self.has_calls
    }

    /// Returns whether the model refused to answer.
    pub(super) fn refused(&self) -> bool {
        self.refused
    }

    /// Begins an item. Calls are announced; anything else waits for its first piece.
    pub(super) fn begin(
        &mut self,
        index: u64,
        item: &OutputItem<'_>,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) {
        if self.ended.contains(&index) || self.open.contains_key(&index) {
            return;
        }
        let call = OpenCall::of(item, emitter);
        if let Some(call) = &call {
            self.has_calls = true;
            emitter.tool_start(&call.id, &call.name, out);
        } else {
            emitter.next_part();
        }
        self.open.insert(index, OpenItem { part: None, call });
    }

    /// Emits a piece of a message or of its reasoning.
    pub(super) fn chunk(
        &mut self,
        place: PartPlace,
        kind: PartKind,
        text: String,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) {
        if text.is_empty() {
            return;
        }
        let item = self.open.entry(place.item).or_default();
        if item.part.is_some_and(|before| before != place.part) {
            match kind {
                PartKind::Text => emitter.next_part(),
                // One item is one part: what is sent back belongs to all of its paragraphs.
                PartKind::Thinking => emitter.chunk(kind, "\n\n".into(), out),
            }
        }
        item.part = Some(place.part);
        emitter.chunk(kind, text, out);
    }

    /// Emits a piece of a refusal.
    pub(super) fn refusal(
        &mut self,
        place: PartPlace,
        text: String,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) {
        self.refused |= !text.is_empty();
        self.chunk(place, PartKind::Text, text, emitter, out);
    }

    /// Emits a piece of the arguments of a call.
    pub(super) fn arguments(
        &mut self,
        index: u64,
        piece: &str,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) {
        emitter.count_arguments(piece.len());
        if let Some(call) = self.open.get_mut(&index).and_then(|item| item.call.as_mut()) {
            call.input.push_str(piece);
            // The pieces of a custom tool's input are text, and chunks are JSON.
            if !call.is_custom {
                emitter.tool_chunk(&call.id, piece, out);
            }
        }
    }

    /// Ends an item: emits what did not come in pieces, and what is kept of it.
    pub(super) fn end(
        &mut self,
        index: u64,
        raw: &str,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) -> Result<(), StreamError> {
        if self.ended.contains(&index) {
            return Ok(());
        }
        let item: OutputItem<'_> =
            serde_json::from_str(raw).map_err(|error| StreamError::malformed(error, raw))?;
        self.begin(index, &item, emitter, out);
        let open = self.open.remove(&index).unwrap_or_default();
        self.ended.insert(index);
        match (item.kind.as_deref().unwrap_or_default(), open.call) {
            (_, Some(call)) => call.end(&item, emitter, out),
            ("message", None) => self.end_message(index, open.part, &item, emitter, out),
            ("reasoning", None) => self.end_reasoning(index, open.part, raw, &item, emitter, out),
            _ => emitter.opaque(API, serde_json::from_str(raw).unwrap_or_default(), out),
        }
        Ok(())
    }

    fn end_message(
        &mut self,
        index: u64,
        emitted: Option<u64>,
        item: &OutputItem<'_>,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) {
        if emitted.is_none() {
            for (at, part) in (0_u64..).zip(item.content.iter().flatten()) {
                let place = PartPlace {
                    item: index,
                    part: at,
                };
                let of = |text: &Option<crate::lenient_json::Str<'_>>| {
                    text.as_deref().unwrap_or_default().to_owned()
                };
                self.chunk(place, PartKind::Text, of(&part.text), emitter, out);
                self.refusal(place, of(&part.refusal), emitter, out);
            }
            let has_said = self.open.remove(&index).is_some();
            if !has_said {
                return;
            }
        }
        if let Some(phase) = item.phase.as_deref() {
            emitter.attach(API, json!({PHASE: phase}), out);
        }
        emitter.next_part();
    }

    /// Attaches reasoning that can be sent back to its thinking, which may have no words.
    fn end_reasoning(
        &mut self,
        index: u64,
        emitted: Option<u64>,
        raw: &str,
        item: &OutputItem<'_>,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) {
        if emitted.is_none() {
            let parts = [&item.summary, &item.content];
            let said = parts.into_iter().flatten().find(|parts| !parts.is_empty());
            for (at, part) in (0_u64..).zip(said.into_iter().flatten()) {
                let place = PartPlace {
                    item: index,
                    part: at,
                };
                self.chunk(place, PartKind::Thinking, words(part), emitter, out);
            }
            self.open.remove(&index);
        }
        if item.encrypted_content.is_some()
            && let Ok(Value::Object(mut data)) = serde_json::from_str(raw)
        {
            data.retain(|key, _| matches!(key.as_str(), "type" | "summary" | ENCRYPTED));
            data.entry("summary").or_insert_with(|| json!([]));
            emitter.ensure_part(PartKind::Thinking, out);
            emitter.attach(API, Value::Object(data), out);
        }
        emitter.next_part();
    }

    /// Emits the calls that never ended: the answer was cut off.
    pub(super) fn end_open_calls(&mut self, emitter: &mut Emitter, out: &mut Vec<EnvironmentEvent>) {
        for (_, item) in std::mem::take(&mut self.open) {
            if let Some(call) = item.call {
                call.emit(true, emitter, out);
            }
        }
    }
}

fn words(part: &ItemPart<'_>) -> String {
    part.text.as_deref().unwrap_or_default().to_owned()
}

impl OpenCall {
    /// The call that an item is; `None` if it is none, or one that the server makes itself.
    fn of(item: &OutputItem<'_>, emitter: &mut Emitter) -> Option<Self> {
        let is_custom = match item.kind.as_deref()? {
            "function_call" => false,
            "custom_tool_call" => true,
            _ => return None,
        };
        Some(Self {
            id: emitter.call_id(item.call_id.as_deref().unwrap_or_default()),
            name: item.name.as_deref().unwrap_or_default().to_owned(),
            input: String::new(),
            is_custom,
        })
    }

    /// The last event of a call has its arguments as a whole, and counts.
    fn end(mut self, item: &OutputItem<'_>, emitter: &mut Emitter, out: &mut Vec<EnvironmentEvent>) {
        let whole = if self.is_custom {
            item.input
        } else {
            item.arguments
        };
        if let Some(whole) = whole.and_then(raw_text).filter(|whole| !whole.is_empty()) {
            if self.input.is_empty() {
                emitter.count_arguments(whole.len());
            }
            self.input = whole.into_owned();
        }
        let is_cut = item.status.as_deref() == Some("incomplete");
        self.emit(is_cut, emitter, out);
    }

    fn emit(self, is_cut: bool, emitter: &mut Emitter, out: &mut Vec<EnvironmentEvent>) {
        if self.is_custom {
            emitter.tool_call(self.id, self.name, (json!({"input": self.input}), None), out);
            emitter.attach(API, json!({CUSTOM: true}), out);
        } else {
            emitter.tool_call(self.id, self.name, parse_input(&self.input, is_cut), out);
        }
    }
}
