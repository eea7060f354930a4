//! Reads a flat value part by part: as JSON in this file, as values of a VM in `value/mod.rs`.
//!
//! The data was written in this process and is well-formed. Malformed data would be a bug in this crate; then
//! it reads as nulls and empty texts, and never beyond the memory.

use std::cell::Cell;

use serde_json::{Map, Value};

use crate::json::flat_part::{FlatPart, tag};

/// Reads a value part by part.
pub(crate) struct ValueReader<'f> {
    flat: &'f [u8],
    /// The position of the reader.
    at: Cell<usize>,
}

impl<'f> ValueReader<'f> {
    /// Reads the value in these bytes, from its beginning.
    pub(crate) fn of(flat: &'f [u8]) -> Self {
        Self {
            flat,
            at: Cell::new(0),
        }
    }

    /// The next bytes; empty if fewer are left.
    pub(crate) fn bytes(&self, count: usize) -> &'f [u8] {
        let from = self.at.get();
        let bytes = self.flat.get(from..from.saturating_add(count));
        self.at.set(from.saturating_add(count));
        bytes.unwrap_or_default()
    }

    /// The next byte; 0 behind the end.
    fn byte(&self) -> u8 {
        self.bytes(1).first().copied().unwrap_or_default()
    }

    /// The next eight bytes.
    fn eight(&self) -> [u8; 8] {
        self.bytes(8).try_into().unwrap_or_default()
    }

    /// A count in eight bytes.
    fn count(&self) -> usize {
        usize::try_from(u64::from_le_bytes(self.eight())).unwrap_or_default()
    }

    /// The next part; nothing but nulls come after the last.
    pub(crate) fn part(&self) -> FlatPart {
        match self.byte() {
            tag::FALSE => FlatPart::Bool(false),
            tag::TRUE => FlatPart::Bool(true),
            tag::WHOLE => FlatPart::Whole(i64::from_le_bytes(self.eight())),
            tag::NUMBER => FlatPart::Number(f64::from_le_bytes(self.eight())),
            tag::SMALL_WHOLE => FlatPart::Whole(self.byte().into()),
            tag::SMALL_NUMBER => FlatPart::Number(self.byte().into()),
            tag::TEXT => FlatPart::Text(self.count()),
            tag::SHORT_TEXT => FlatPart::Text(self.byte().into()),
            tag::LIST => FlatPart::List(self.count()),
            tag::SORTED => self.placed_part(true),
            tag::UNSORTED => self.placed_part(false),
            tag::NAMED => FlatPart::Named(self.count()),
            _ => FlatPart::Null,
        }
    }

    /// A list whose values each come after their position.
    fn placed_part(&self, sorted: bool) -> FlatPart {
        let count = self.count();
        FlatPart::Placed { count, sorted }
    }

    /// The text of the part that was read last, which has this many bytes.
    pub(crate) fn text(&self, bytes: usize) -> &'f str {
        text_of(self.bytes(bytes))
    }

    /// The name that comes next.
    pub(crate) fn name(&self) -> &'f [u8] {
        match self.part() {
            FlatPart::Text(bytes) => self.bytes(bytes),
            _ => &[],
        }
    }

    /// The position that comes next.
    pub(crate) fn place(&self) -> i64 {
        match self.part() {
            FlatPart::Whole(place) => place,
            _ => 0,
        }
    }

    /// Reads with `read`; if it returns `None`, the position does not change.
    pub(crate) fn attempt<T>(&self, read: impl FnOnce() -> Option<T>) -> Option<T> {
        let at = self.at.get();
        let made = read();
        if made.is_none() {
            self.at.set(at);
        }
        made
    }

    /// The value that comes next, as a tree.
    pub(crate) fn value(&self) -> Value {
        match self.part() {
            FlatPart::Null => Value::Null,
            FlatPart::Bool(flag) => Value::Bool(flag),
            FlatPart::Whole(number) => Value::from(number),
            FlatPart::Number(number) => Value::from(number),
            FlatPart::Text(bytes) => Value::String(self.text(bytes).to_owned()),
            FlatPart::List(count) => Value::Array((0..count).map(|_| self.value()).collect()),
            FlatPart::Placed { count, sorted } => Value::Array(self.in_places(count, sorted)),
            FlatPart::Named(count) => Value::Object(self.named(count)),
        }
    }

    /// The values of a list in the order of their positions.
    fn in_places(&self, count: usize, sorted: bool) -> Vec<Value> {
        let items = (0..count).map(|_| (self.place(), self.value()));
        if sorted {
            return items.map(|(_, item)| item).collect();
        }
        let mut items: Vec<_> = items.collect();
        items.sort_unstable_by_key(|(place, _)| *place);
        items.into_iter().map(|(_, item)| item).collect()
    }

    /// The fields of an object.
    fn named(&self, count: usize) -> Map<String, Value> {
        let mut fields = Map::with_capacity(count);
        let mut sorted = true;
        let mut last: &[u8] = &[];
        for _ in 0..count {
            let name = self.name();
            sorted &= last <= name;
            last = name;
            fields.insert(text_of(name).to_owned(), self.value());
        }
        if !sorted {
            fields.sort_keys();
        }
        fields
    }
}

/// All texts were texts when they were written.
fn text_of(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}
