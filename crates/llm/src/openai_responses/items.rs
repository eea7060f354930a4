//! The items of an answer while they stream.
//!
//! ```text
//! response.output_item.added   {"output_index":0,"item":{"type":"function_call","call_id":"call_1","name":"read"}}
//! response.function_call_arguments.delta  {"output_index":0,"delta":"{\"path\":"}
//! response.output_item.done    {"output_index":0,"item":{"type":"function_call","arguments":"{\"path\":\"a.md\"}"}}
//! ```
//!
//! The last event of an item has all of it. Parts that came piece by piece are not emitted again; others are
//! emitted then. Some servers send no events for items at all: theirs are in the response that ends the
//! stream.
//!
//! `known_items` assigns events to items.

use agentx_types::{EnvironmentEvent, ToolCallId};
use serde_json::{Value, json};

use super::API;
use super::known_items::{ItemName, KnownItems};
use super::wire::{ItemPart, OutputItem};
use crate::emitter::{Emitter, PartKind, parse_input};
use crate::lenient_json::raw_text;
use crate::stream_error::StreamError;

/// The field of reasoning that is sent back.
pub(super) const ENCRYPTED: &str = "encrypted_content";
/// The field of a message that distinguishes a comment from the answer.
pub(super) const PHASE: &str = "phase";
/// Marks a call of a tool whose argument is free text instead of JSON.
pub(super) const CUSTOM: &str = "custom";

/// The items of one answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Items {
    known: KnownItems,
    /// The items, in the order in which they began.
    all: Vec<StreamedItem>,
    has_calls: bool,
    /// Whether there are arguments of a call that has not begun. It may still come as a whole.
    has_lost_arguments: bool,
    refused: bool,
    /// Whether the answer has words.
    has_text: bool,
}

/// A piece of an item: the name of the item, and the part within it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PiecePlace<'a> {
    pub(super) item: ItemName<'a>,
    pub(super) part: u64,
}

/// A part of an item that is known.
#[derive(Clone, Copy, Debug)]
struct PieceAt {
    /// The index of the item.
    at: usize,
    part: u64,
}

/// An item that has begun.
#[derive(Clone, Debug, Default)]
struct StreamedItem {
    /// The part within the item that was emitted last; `None` if nothing was.
    part: Option<u64>,
    /// The call, as long as it has not ended.
    call: Option<ItemCall>,
}

/// A call whose arguments are still coming.
#[derive(Clone, Debug)]
struct ItemCall {
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
        let at = self.known.begun(index, item);
        self.begin_at(at, item, emitter, out);
    }

    fn begin_at(
        &mut self,
        at: usize,
        item: &OutputItem<'_>,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) {
        if at < self.all.len() {
            return;
        }
        let call = ItemCall::of(item, emitter);
        if let Some(call) = &call {
            self.has_calls = true;
            self.has_lost_arguments = false;
            emitter.tool_start(&call.id, &call.name, out);
        } else {
            emitter.next_part();
        }
        self.all.push(StreamedItem { part: None, call });
    }

    /// Emits a piece of a message or of its reasoning.
    pub(super) fn chunk(
        &mut self,
        place: PiecePlace<'_>,
        kind: PartKind,
        text: String,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) {
        if text.is_empty() {
            return;
        }
        let at = self.known.of_piece(place.item, kind);
        if at == self.all.len() {
            // An item that nothing announced.
            emitter.next_part();
            self.all.push(StreamedItem::default());
        }
        let at = PieceAt { at, part: place.part };
        self.chunk_at(at, kind, text, emitter, out);
    }

    fn chunk_at(
        &mut self,
        PieceAt { at, part }: PieceAt,
        kind: PartKind,
        text: String,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) {
        let Some(item) = self.all.get_mut(at).filter(|_| !text.is_empty()) else {
            return;
        };
        if item.part.is_some_and(|before| before != part) {
            match kind {
                PartKind::Text => emitter.next_part(),
                // One item is one part, because its data belongs to all of its paragraphs.
                PartKind::Thinking => emitter.chunk(kind, "\n\n".into(), out),
            }
        }
        if kind == PartKind::Text {
            if self.has_text && item.part.is_none() {
                // Readers join the words of an answer. A blank line separates its messages.
                emitter.chunk(kind, "\n\n".into(), out);
            }
            self.has_text = true;
        }
        item.part = Some(part);
        emitter.chunk(kind, text, out);
    }

    /// Emits a piece of a refusal.
    pub(super) fn refusal(
        &mut self,
        place: PiecePlace<'_>,
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
        name: ItemName<'_>,
        piece: &str,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) {
        emitter.count_arguments(piece.len());
        let at = self.known.of_arguments(name);
        if let Some(call) = at.and_then(|at| self.all.get_mut(at)?.call.as_mut()) {
            call.input.push_str(piece);
            // The pieces of a custom tool's input are text, and chunks are JSON.
            if !call.is_custom {
                emitter.tool_chunk(&call.id, piece, out);
            }
        } else if at.is_none() && !piece.is_empty() {
            self.has_lost_arguments = true;
        }
    }

    /// Ends an item: emits the parts that did not come in pieces, and the kept data.
    pub(super) fn end(
        &mut self,
        index: u64,
        raw: &str,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) -> Result<(), StreamError> {
        let item: OutputItem<'_> =
            serde_json::from_str(raw).map_err(|error| StreamError::malformed(error, raw))?;
        if let Some(at) = self.known.ended(index, &item) {
            self.end_at(at, raw, &item, emitter, out);
        }
        Ok(())
    }

    /// Emits the parts of the whole response that no event had.
    pub(super) fn end_whole(
        &mut self,
        output: &[&serde_json::value::RawValue],
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) -> Result<(), StreamError> {
        self.known.begin_whole();
        for raw in output {
            let item: OutputItem<'_> =
                serde_json::from_str(raw.get()).map_err(|error| StreamError::malformed(error, raw.get()))?;
            if let Some(at) = self.known.of_whole(&item) {
                self.end_at(at, raw.get(), &item, emitter, out);
            }
        }
        Ok(())
    }

    fn end_at(
        &mut self,
        at: usize,
        raw: &str,
        item: &OutputItem<'_>,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) {
        self.begin_at(at, item, emitter, out);
        let call = self.all.get_mut(at).and_then(|item| item.call.take());
        match (item.kind.as_deref().unwrap_or_default(), call) {
            (_, Some(call)) => call.end(item, emitter, out),
            ("message", None) => self.end_message(at, item, emitter, out),
            ("reasoning", None) => self.end_reasoning(at, raw, item, emitter, out),
            _ => emitter.opaque(API, serde_json::from_str(raw).unwrap_or_default(), out),
        }
    }

    fn has_said(&self, at: usize) -> bool {
        self.all.get(at).is_some_and(|item| item.part.is_some())
    }

    fn end_message(
        &mut self,
        at: usize,
        item: &OutputItem<'_>,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) {
        if !self.has_said(at) {
            for (number, part) in (0_u64..).zip(item.content.iter().flatten()) {
                let of = |text: &Option<crate::lenient_json::Str<'_>>| {
                    text.as_deref().unwrap_or_default().to_owned()
                };
                let refusal = of(&part.refusal);
                self.refused |= !refusal.is_empty();
                let at = PieceAt { at, part: number };
                self.chunk_at(at, PartKind::Text, of(&part.text), emitter, out);
                self.chunk_at(at, PartKind::Text, refusal, emitter, out);
            }
            if !self.has_said(at) {
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
        at: usize,
        raw: &str,
        item: &OutputItem<'_>,
        emitter: &mut Emitter,
        out: &mut Vec<EnvironmentEvent>,
    ) {
        if !self.has_said(at) {
            let parts = [&item.summary, &item.content];
            let said = parts.into_iter().flatten().find(|parts| !parts.is_empty());
            for (number, part) in (0_u64..).zip(said.into_iter().flatten()) {
                let at = PieceAt { at, part: number };
                self.chunk_at(at, PartKind::Thinking, words(part), emitter, out);
            }
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

    /// Returns whether there are arguments of a call that never began.
    pub(super) fn has_lost_arguments(&self) -> bool {
        self.has_lost_arguments
    }

    /// Emits the calls that never ended: the answer was cut off.
    pub(super) fn end_open_calls(&mut self, emitter: &mut Emitter, out: &mut Vec<EnvironmentEvent>) {
        for item in &mut self.all {
            if let Some(call) = item.call.take() {
                call.emit(true, emitter, out);
            }
        }
    }
}

fn words(part: &ItemPart<'_>) -> String {
    part.text.as_deref().unwrap_or_default().to_owned()
}

impl ItemCall {
    /// The item as a call; `None` if it is another kind of item, or a call that the server makes itself.
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
        if self.name.is_empty() {
            item.name
                .as_deref()
                .unwrap_or_default()
                .clone_into(&mut self.name);
        }
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
