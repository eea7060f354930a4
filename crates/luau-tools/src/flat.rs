//! A JSON value on its way from one thread to another: its parts in a row, in two pieces of memory.
//!
//! In a tree each text and each object is a piece of memory of its own. Each would be fetched from the other processor's cache, and
//! given back to the other thread's allocator, under its lock: for a small call that took longer than its script. So the caller
//! writes the arguments in a row, the lane reads them from there, and leaves the result in the same memory. When the caller has read it
//! the memory is there for the next call of its thread.

use std::cell::{Cell, RefCell};

use serde_json::{Map, Value};

/// A part of a value. Texts are in one row beside the parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Part {
    Null,
    Bool(bool),
    Whole(i64),
    Number(f64),
    /// A text of so many bytes.
    Text(usize),
    /// An array of so many values, which follow.
    List(usize),
    /// The same, from a table: each value comes after its position, in the order of positions or in any other.
    Placed {
        count: usize,
        sorted: bool,
    },
    /// An object of so many values, each after its name. One that comes from a table has no order.
    Named(usize),
}

/// A value in a row.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Flat {
    parts: Vec<Part>,
    text: String,
}

/// What most arguments and results need.
const PARTS: usize = 32;
const TEXT: usize = 128;
/// Memory beyond this is not kept for what comes next.
const KEPT: usize = 16 << 10;
/// So many a thread keeps for its next calls, and none that is larger than this.
const SPARE: usize = 64;
const SPARE_SIZE: usize = 2 << 10;

thread_local! {
    static SPARES: RefCell<Vec<Flat>> = const { RefCell::new(Vec::new()) };
}

impl Flat {
    /// A value within depth and bytes, and how many bytes it has, about; the error says what it is not. What numbers it has are
    /// those that a script sees.
    pub(crate) fn of(value: &Value, depth: usize, bytes: usize) -> Result<(Self, usize), String> {
        let mut flat = Self::spare();
        let mut left = bytes;
        if flat.put(value, depth, &mut left) {
            Ok((flat, bytes - left))
        } else {
            let most = crate::limits::Bytes(bytes);
            Err(format!("more than {most} of JSON, or nested deeper than {depth}"))
        }
    }

    /// An empty one, with memory.
    fn spare() -> Self {
        // A thread that ends has none any more.
        let spare = SPARES.try_with(|spares| spares.borrow_mut().pop());
        spare.ok().flatten().unwrap_or_else(|| Self {
            parts: Vec::with_capacity(PARTS),
            text: String::with_capacity(TEXT),
        })
    }

    /// Its value. The memory is kept where it is little.
    pub(crate) fn into_value(mut self) -> Value {
        let value = self.value();
        if self.capacity() <= SPARE_SIZE {
            self.clear();
            let _ = SPARES.try_with(|spares| {
                let mut spares = spares.borrow_mut();
                if spares.len() < SPARE {
                    spares.push(self);
                }
            });
        }
        value
    }

    /// False where it does not fit.
    fn put(&mut self, value: &Value, depth: usize, left: &mut usize) -> bool {
        let own = match value {
            Value::String(text) => text.len() + 2,
            _ => 2,
        };
        let Some(rest) = left.checked_sub(own) else {
            return false;
        };
        *left = rest;
        match (value, depth) {
            (Value::Null, _) => self.push(Part::Null),
            (Value::Bool(flag), _) => self.push(Part::Bool(*flag)),
            (Value::Number(number), _) => self.push(Part::Number(number.as_f64().unwrap_or(f64::NAN))),
            (Value::String(text), _) => self.text(text),
            (Value::Array(_) | Value::Object(_), 0) => return false,
            (Value::Array(items), _) => {
                self.push(Part::List(items.len()));
                return items.iter().all(|item| self.put(item, depth - 1, left));
            }
            (Value::Object(fields), _) => {
                self.push(Part::Named(fields.len()));
                return fields.iter().all(|(name, item)| {
                    *left = left.saturating_sub(name.len() + 2);
                    self.text(name);
                    self.put(item, depth - 1, left)
                });
            }
        }
        true
    }

    pub(crate) fn push(&mut self, part: Part) {
        self.parts.push(part);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.parts.push(Part::Text(text.len()));
        self.text.push_str(text);
    }

    /// A part that is known only when others have come after it.
    pub(crate) fn later(&mut self) -> usize {
        self.parts.push(Part::Null);
        self.parts.len() - 1
    }

    /// What [`Flat::later`] left open.
    pub(crate) fn fill(&mut self, at: usize, part: Part) {
        if let Some(open) = self.parts.get_mut(at) {
            *open = part;
        }
    }

    /// Empty, with its memory where that is little.
    pub(crate) fn clear(&mut self) {
        if self.capacity() > KEPT {
            *self = Self::default();
        }
        self.parts.clear();
        self.text.clear();
    }

    fn capacity(&self) -> usize {
        self.parts.capacity() * size_of::<Part>() + self.text.capacity()
    }

    /// About how much it takes as a value of a script.
    pub(crate) fn size(&self) -> usize {
        self.parts.len() * size_of::<Part>() + self.text.len()
    }

    /// The value. Objects that have no order are sorted by their names.
    pub(crate) fn value(&self) -> Value {
        Reader::new(self).value()
    }
}

/// Reads a value part by part.
pub(crate) struct Reader<'f> {
    flat: &'f Flat,
    at: Cell<usize>,
    text_at: Cell<usize>,
}

impl<'f> Reader<'f> {
    pub(crate) const fn new(flat: &'f Flat) -> Self {
        Self {
            flat,
            at: Cell::new(0),
            text_at: Cell::new(0),
        }
    }

    /// The next part; nothing but nulls come after the last.
    pub(crate) fn part(&self) -> Part {
        let at = self.at.replace(self.at.get() + 1);
        self.flat.parts.get(at).copied().unwrap_or(Part::Null)
    }

    /// The text of the part that was read last, which has so many bytes.
    pub(crate) fn text(&self, bytes: usize) -> &'f str {
        let from = self.text_at.replace(self.text_at.get() + bytes);
        self.flat.text.get(from..from + bytes).unwrap_or_default()
    }

    /// The name that comes next.
    pub(crate) fn name(&self) -> &'f str {
        match self.part() {
            Part::Text(bytes) => self.text(bytes),
            _ => "",
        }
    }

    /// The position that comes next.
    pub(crate) fn place(&self) -> i64 {
        match self.part() {
            Part::Whole(place) => place,
            _ => 0,
        }
    }

    /// What `read` makes of that which comes next. Where it makes nothing of it, nothing was read.
    pub(crate) fn attempt<T>(&self, read: impl FnOnce() -> Option<T>) -> Option<T> {
        let (at, text_at) = (self.at.get(), self.text_at.get());
        let made = read();
        if made.is_none() {
            self.at.set(at);
            self.text_at.set(text_at);
        }
        made
    }

    fn value(&self) -> Value {
        match self.part() {
            Part::Null => Value::Null,
            Part::Bool(flag) => Value::Bool(flag),
            Part::Whole(number) => Value::from(number),
            Part::Number(number) => Value::from(number),
            Part::Text(bytes) => Value::String(self.text(bytes).to_owned()),
            Part::List(count) => Value::Array((0..count).map(|_| self.value()).collect()),
            Part::Placed { count, sorted } => Value::Array(self.placed(count, sorted)),
            Part::Named(count) => Value::Object(self.named(count)),
        }
    }

    fn placed(&self, count: usize, sorted: bool) -> Vec<Value> {
        let items = (0..count).map(|_| (self.place(), self.value()));
        if sorted {
            return items.map(|(_, item)| item).collect();
        }
        let mut items: Vec<_> = items.collect();
        items.sort_unstable_by_key(|(place, _)| *place);
        items.into_iter().map(|(_, item)| item).collect()
    }

    fn named(&self, count: usize) -> Map<String, Value> {
        let mut fields = Map::with_capacity(count);
        let mut sorted = true;
        let mut last = "";
        for _ in 0..count {
            let name = self.name();
            sorted &= last <= name;
            last = name;
            fields.insert(name.to_owned(), self.value());
        }
        if !sorted {
            fields.sort_keys();
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-1e9..1e9).prop_map(|number: f64| Value::from(number + 0.5)),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 48, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(".{0,6}", inner, 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_value_comes_back_as_it_was(value in any_value()) {
            let (flat, bytes) = Flat::of(&value, 64, 1 << 20).map_err(TestCaseError::fail)?;
            prop_assert_eq!(flat.value(), value.clone());
            prop_assert!(Flat::of(&value, 64, bytes).is_ok());
            prop_assert!(Flat::of(&value, 64, bytes - 1).is_err());
        }
    }

    #[test]
    fn what_comes_without_an_order_is_sorted() {
        let mut flat = Flat::default();
        let at = flat.later();
        for (place, text) in [(2, "second"), (1, "first")] {
            flat.push(Part::Whole(place));
            flat.push(Part::Named(2));
            flat.text("text");
            flat.text(text);
            flat.text("at");
            flat.push(Part::Whole(place));
        }
        flat.fill(
            at,
            Part::Placed {
                count: 2,
                sorted: false,
            },
        );
        let value = flat.value();
        assert_eq!(
            value.to_string(),
            r#"[{"at":1,"text":"first"},{"at":2,"text":"second"}]"#
        );
        flat.clear();
        assert_eq!(flat.value(), Value::Null);
    }

    #[test]
    fn memory_of_a_small_one_is_used_again_and_holds_nothing_of_it() {
        let of = |value: Value| Flat::of(&value, 9, 1 << 20).map(|(flat, _)| flat);
        let spares = || SPARES.with_borrow(Vec::len);
        let text = "x".repeat(SPARE_SIZE + 1);
        for (value, left) in [(json!({"a": [1.5, "b"]}), 1), (json!("c"), 1), (json!(text), 0)] {
            assert_eq!(of(value.clone()).map(Flat::into_value), Ok(value));
            assert_eq!(spares(), left);
        }
        for flat in (0..SPARE + 9).map(|_| of(json!(2.5))).collect::<Vec<_>>() {
            assert_eq!(flat.map(Flat::into_value), Ok(json!(2.5)));
        }
        assert_eq!(spares(), SPARE);
    }

    #[test]
    fn nothing_is_deeper_than_it_may_be() {
        assert!(Flat::of(&json!([[1]]), 2, 100).is_ok());
        assert!(Flat::of(&json!([[1]]), 1, 100).is_err());
    }
}
