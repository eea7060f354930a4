//! The assignment of stream events to items.
//!
//! OpenAI numbers the items of an answer by `output_index`, and names them by `id` and calls by `call_id`.
//! Other servers deviate from that, and a call that is mistaken for another one would run twice, or never:
//!
//! | the server | source |
//! | --- | --- |
//! | gives a text and a call the same index, or an index past the place in the list at the end | <https://github.com/theopenco/llmgateway/pull/2908> |
//! | gives no index (llama.cpp) | <https://github.com/tontinton/maki/pull/514> |
//! | gives an item another `id` in each event (GitHub Copilot) | <https://github.com/BerriAI/litellm/pull/30072> |
//! | gives it another `id` in the list at the end | <https://github.com/openclaw/openclaw/issues/122473> |
//! | ends with an empty list | <https://github.com/BerriAI/litellm/pull/41014> |
//!
//! So a call is identified by its `call_id`, and any item by its `id`; otherwise it is the latest open item
//! with this index and kind. The list at the end is compared kind by kind: its second message is the second
//! one that streamed.

use super::wire::OutputItem;
use crate::emitter::PartKind;

/// The name by which an event refers to its item.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ItemName<'a> {
    /// The place in the output; 0 if it is missing.
    pub(super) index: u64,
    /// The id that the server gave the item; may be empty.
    pub(super) id: &'a str,
}

/// The items that have begun, in their order. Methods return an index into it; the next free one is a new
/// item.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownItems {
    all: Vec<KnownItem>,
    /// The number of items of each kind that the list at the end has named until now.
    named: Vec<(ItemKind, usize)>,
}

#[derive(Clone, Debug)]
struct KnownItem {
    index: u64,
    id: String,
    call_id: String,
    /// `None` as long as only a piece of it came.
    kind: Option<ItemKind>,
    ended: bool,
}

/// The kinds that are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ItemKind {
    Message,
    Reasoning,
    Call,
    Other,
}

impl ItemKind {
    fn of(item: &OutputItem<'_>) -> Self {
        match item.kind.as_deref().unwrap_or_default() {
            "message" => Self::Message,
            "reasoning" => Self::Reasoning,
            "function_call" | "custom_tool_call" => Self::Call,
            _ => Self::Other,
        }
    }
}

impl KnownItems {
    /// The item that begins with this event.
    pub(super) fn begun(&mut self, index: u64, item: &OutputItem<'_>) -> usize {
        let name = name_of(index, item);
        let found = self.by_names(name, item).or_else(|| {
            self.last(|known| {
                let is_piece = known.kind.is_none();
                let is_again =
                    known.kind == Some(ItemKind::of(item)) && known.has_no_name() && name.id.is_empty();
                known.index == name.index && !known.ended && (is_piece || is_again) && known.may_be(item)
            })
        });
        self.take(found, name, item)
    }

    /// The item that ends with this event; `None` if it has ended before.
    pub(super) fn ended(&mut self, index: u64, item: &OutputItem<'_>) -> Option<usize> {
        let (kind, name) = (ItemKind::of(item), name_of(index, item));
        let here = |known: &KnownItem| {
            known.index == name.index && known.kind.is_none_or(|its| its == kind) && known.may_be(item)
        };
        let found = self
            .by_names(name, item)
            .or_else(|| self.last(|known| here(known) && !known.ended))
            .or_else(|| self.last(|known| here(known) && (known.id.is_empty() || name.id.is_empty())));
        let at = self.take(found, name, item);
        self.end(at)
    }

    /// Begins the comparison with the list at the end of the stream.
    pub(super) fn begin_whole(&mut self) {
        self.named.clear();
    }

    /// The next item of the list at the end of the stream; `None` if it has ended before.
    pub(super) fn of_whole(&mut self, item: &OutputItem<'_>) -> Option<usize> {
        let kind = ItemKind::of(item);
        let number = match self.named.iter_mut().find(|(named, _)| *named == kind) {
            Some((_, number)) => {
                *number += 1;
                *number - 1
            }
            None => {
                self.named.push((kind, 1));
                0
            }
        };
        let call_id = item.call_id.as_deref().unwrap_or_default();
        let of_kind = self
            .all
            .iter()
            .enumerate()
            .filter(|(_, known)| known.is_of(kind))
            .nth(number);
        let of_kind = of_kind.filter(|(_, known)| known.may_be(item)).map(|(at, _)| at);
        // A list that leaves a call out counts otherwise than the stream did.
        let by_call = || self.last(|known| !call_id.is_empty() && known.call_id == call_id);
        let found = of_kind.or_else(by_call);
        let name = name_of(u64::MAX, item);
        let at = self.take(found, name, item);
        self.end(at)
    }

    /// The item of a piece of text or of reasoning.
    pub(super) fn of_piece(&mut self, name: ItemName<'_>, kind: PartKind) -> usize {
        let kind = match kind {
            PartKind::Text => ItemKind::Message,
            PartKind::Thinking => ItemKind::Reasoning,
        };
        let is_text = |known: &KnownItem| known.kind.is_none_or(|its| its == kind) && !known.ended;
        let by_id = self.last(|known| is_text(known) && !name.id.is_empty() && known.id == name.id);
        let found = by_id.or_else(|| self.last(|known| is_text(known) && known.index == name.index));
        found.unwrap_or_else(|| self.add(name, "", None))
    }

    /// The call of a piece of arguments.
    pub(super) fn of_arguments(&self, name: ItemName<'_>) -> Option<usize> {
        let is_open = |known: &KnownItem| known.kind == Some(ItemKind::Call) && !known.ended;
        let by_id = self.last(|known| is_open(known) && !name.id.is_empty() && known.id == name.id);
        by_id.or_else(|| self.last(|known| is_open(known) && known.index == name.index))
    }

    fn by_names(&self, name: ItemName<'_>, item: &OutputItem<'_>) -> Option<usize> {
        let call_id = item.call_id.as_deref().unwrap_or_default();
        let has_id = |known: &KnownItem| !name.id.is_empty() && known.id == name.id;
        // Two calls may have the same `call_id`; then everything else differs.
        let is_call = |known: &KnownItem| {
            let is_other = !known.id.is_empty() && !name.id.is_empty() && known.id != name.id;
            known.call_id == call_id && (known.index == name.index || !is_other)
        };
        let by_call = self.last(|known| !call_id.is_empty() && is_call(known));
        by_call.or_else(|| self.last(|known| has_id(known) && known.may_be(item)))
    }

    fn last(&self, is_it: impl Fn(&KnownItem) -> bool) -> Option<usize> {
        self.all.iter().rposition(is_it)
    }

    /// Updates the item from the event; it is a new one if none was found.
    fn take(&mut self, found: Option<usize>, name: ItemName<'_>, item: &OutputItem<'_>) -> usize {
        let kind = ItemKind::of(item);
        let call_id = item.call_id.as_deref().unwrap_or_default();
        let at = found.unwrap_or_else(|| self.add(name, call_id, Some(kind)));
        if let Some(known) = self.all.get_mut(at) {
            known.kind.get_or_insert(kind);
        }
        at
    }

    fn add(&mut self, name: ItemName<'_>, call_id: &str, kind: Option<ItemKind>) -> usize {
        self.all.push(KnownItem {
            index: name.index,
            id: name.id.to_owned(),
            call_id: call_id.to_owned(),
            kind,
            ended: false,
        });
        self.all.len() - 1
    }

    fn end(&mut self, at: usize) -> Option<usize> {
        let known = self.all.get_mut(at)?;
        (!std::mem::replace(&mut known.ended, true)).then_some(at)
    }
}

fn name_of<'a>(index: u64, item: &'a OutputItem<'_>) -> ItemName<'a> {
    let id = item.id.as_deref().unwrap_or_default();
    ItemName { index, id }
}

impl KnownItem {
    fn has_no_name(&self) -> bool {
        self.id.is_empty() && self.call_id.is_empty()
    }

    fn is_of(&self, kind: ItemKind) -> bool {
        let untold = self.kind.is_none() && matches!(kind, ItemKind::Message | ItemKind::Reasoning);
        self.kind == Some(kind) || untold
    }

    /// Returns whether no `call_id` distinguishes it from this item.
    fn may_be(&self, item: &OutputItem<'_>) -> bool {
        let call_id = item.call_id.as_deref().unwrap_or_default();
        self.call_id.is_empty() || call_id.is_empty() || self.call_id == call_id
    }
}
