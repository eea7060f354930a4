//! A JSON value on its way from one thread to another: its parts one after the other, in one piece of memory.
//!
//! In a tree each text and each object is a separate allocation. Each would be fetched from the other
//! processor's cache, and freed by the other thread's allocator, under its lock: for a small call that took
//! longer than its script. So the caller writes the arguments flat, the lane reads them from there, and
//! leaves the result in the same memory. When the caller has read it, the next call of its thread reuses the
//! memory.

use std::cell::RefCell;
use std::hint::black_box;

use serde_json::Value;

use crate::json::flat_part::{FlatPart, tag};
use crate::json::reader::ValueReader;

/// A value in a row.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct FlatValue(pub(crate) Vec<u8>);

/// The capacity that suffices for most arguments and results, in bytes.
const ROOM: usize = 256;
/// Memory beyond this is not kept for the next value, so that one large value does not stay forever.
const KEPT: usize = 16 << 10;
/// Maximum number of buffers that a thread keeps for its next calls, and the maximum size of each.
const SPARE: usize = 64;
const SPARE_SIZE: usize = 2 << 10;
/// A line of a processor's cache.
const LINE: usize = 64;

thread_local! {
    static SPARES: RefCell<Vec<FlatValue>> = const { RefCell::new(Vec::new()) };
}

impl FlatValue {
    /// An empty one, without memory.
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Flattens a value within these bounds on depth and bytes; the error names the exceeded bound. Its
    /// numbers are those that a script sees.
    pub(crate) fn of(value: &Value, depth: usize, bytes: usize) -> Result<Self, String> {
        let mut flat = Self::spare();
        if flat.put(value, depth, &mut { bytes }) {
            Ok(flat)
        } else {
            let most = crate::limits::Bytes(bytes);
            Err(format!("more than {most} of JSON, or nested deeper than {depth}"))
        }
    }

    /// An empty one, with memory.
    fn spare() -> Self {
        // A thread that is ending has no spare memory.
        let spare = SPARES.try_with(|spares| spares.borrow_mut().pop());
        spare
            .ok()
            .flatten()
            .unwrap_or_else(|| Self(Vec::with_capacity(ROOM)))
    }

    /// Keeps its memory, if it is small, for the next value on this thread.
    pub(crate) fn recycle(mut self) {
        if self.0.capacity() <= SPARE_SIZE {
            self.clear();
            let _ = SPARES.try_with(|spares| {
                let mut spares = spares.borrow_mut();
                if spares.len() < SPARE {
                    spares.push(self);
                }
            });
        }
    }

    /// Asks for its memory, if it is little. Another processor wrote it: all of it comes at once, if it would
    /// come piece by piece when it is read.
    pub(crate) fn fetch(&self) {
        if self.0.len() <= SPARE_SIZE {
            let each = self.0.iter().step_by(LINE);
            black_box(each.fold(0, |all, byte| all ^ byte));
        }
    }

    /// Returns `false` if it does not fit.
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
            (Value::Null, _) => self.push(FlatPart::Null),
            (Value::Bool(flag), _) => self.push(FlatPart::Bool(*flag)),
            (Value::Number(number), _) => self.push(FlatPart::Number(number.as_f64().unwrap_or(f64::NAN))),
            (Value::String(text), _) => self.text(text),
            (Value::Array(_) | Value::Object(_), 0) => return false,
            (Value::Array(items), _) => {
                self.push(FlatPart::List(items.len()));
                return items.iter().all(|item| self.put(item, depth - 1, left));
            }
            (Value::Object(fields), _) => {
                self.push(FlatPart::Named(fields.len()));
                return fields.iter().all(|(name, item)| {
                    *left = left.saturating_sub(name.len() + 2);
                    self.text(name);
                    self.put(item, depth - 1, left)
                });
            }
        }
        true
    }

    /// Writes a part; of a text only how long it is.
    pub(crate) fn push(&mut self, part: FlatPart) {
        match part {
            FlatPart::Null => self.0.push(tag::NULL),
            FlatPart::Bool(false) => self.0.push(tag::FALSE),
            FlatPart::Bool(true) => self.0.push(tag::TRUE),
            FlatPart::Whole(number) => match u8::try_from(number) {
                Ok(small) => self.0.extend([tag::SMALL_WHOLE, small]),
                Err(_) => self.wide(tag::WHOLE, number.to_le_bytes()),
            },
            FlatPart::Number(number) => match small(number) {
                Some(small) => self.0.extend([tag::SMALL_NUMBER, small]),
                None => self.wide(tag::NUMBER, number.to_le_bytes()),
            },
            FlatPart::Text(bytes) => match u8::try_from(bytes) {
                Ok(bytes) => self.0.extend([tag::SHORT_TEXT, bytes]),
                Err(_) => self.wide(tag::TEXT, wide(bytes)),
            },
            FlatPart::List(count) => self.wide(tag::LIST, wide(count)),
            FlatPart::Placed { count, sorted: true } => self.wide(tag::SORTED, wide(count)),
            FlatPart::Placed { count, sorted: false } => self.wide(tag::UNSORTED, wide(count)),
            FlatPart::Named(count) => self.wide(tag::NAMED, wide(count)),
        }
    }

    /// A tag and eight bytes.
    fn wide(&mut self, tag: u8, bytes: [u8; 8]) {
        self.0.push(tag);
        self.0.extend(bytes);
    }

    /// Writes a text with its length.
    pub(crate) fn text(&mut self, text: &str) {
        self.push(FlatPart::Text(text.len()));
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Begins a list, a table or an object whose kind and count are known only after its values.
    pub(crate) fn later(&mut self) -> usize {
        let at = self.0.len();
        self.push(FlatPart::List(0));
        at
    }

    /// Fills a placeholder of [`FlatValue::later`].
    pub(crate) fn fill(&mut self, at: usize, part: FlatPart) {
        let end = self.0.len();
        self.push(part);
        let written = self.0.len() - end;
        self.0.copy_within(end.., at);
        self.0.truncate(end);
        debug_assert_eq!(written, WIDE, "only what is counted is known later");
    }

    /// Empties it, and keeps its memory if that is small.
    pub(crate) fn clear(&mut self) {
        if self.0.capacity() > KEPT {
            *self = Self::default();
        }
        self.0.clear();
    }

    /// Reads it part by part, from its beginning.
    pub(crate) fn reader(&self) -> ValueReader<'_> {
        ValueReader::of(&self.0)
    }

    /// The value. Objects that have no order are sorted by their names.
    pub(crate) fn value(&self) -> Value {
        self.reader().value()
    }
}

/// The encoded size of a part with eight bytes of content.
const WIDE: usize = 9;

fn wide(count: usize) -> [u8; 8] {
    (count as u64).to_le_bytes()
}

/// The number in one byte, if it is a small whole number; negative zero is not.
fn small(number: f64) -> Option<u8> {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what is cut off is missing below"
    )]
    let small = number as u8;
    (f64::from(small).to_bits() == number.to_bits()).then_some(small)
}

/// A value that is stored inline if it is small: following a pointer into memory that another processor wrote
/// takes time.
#[derive(Debug)]
pub(crate) struct NearValue {
    flat: FlatValue,
    near: [u8; NEAR],
}

/// The maximum size of such a value, in bytes: a number or a short text.
const NEAR: usize = 40;

impl NearValue {
    /// Stores a small value inline, and keeps a larger one on the heap.
    pub(crate) fn of(flat: FlatValue) -> Self {
        let mut near = [0; NEAR];
        if let Some(there) = near.get_mut(..flat.0.len()) {
            there.copy_from_slice(&flat.0);
        }
        Self { flat, near }
    }

    pub(crate) fn value(&self) -> Value {
        let bytes = self.near.get(..self.flat.0.len());
        ValueReader::of(bytes.unwrap_or(&self.flat.0)).value()
    }

    /// Keeps its memory for the next value on this thread.
    pub(crate) fn recycle(self) {
        self.flat.recycle();
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

    /// Returns the size that a value counts as.
    fn size(value: &Value) -> usize {
        2 + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(size).sum(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, item)| name.len() + 2 + size(item))
                .sum(),
            _ => 0,
        }
    }

    /// Returns the value on the other side, and keeps the memory for the next value.
    fn crossed(flat: Result<FlatValue, String>) -> Result<Value, String> {
        let near = NearValue::of(flat?);
        let value = near.value();
        near.recycle();
        Ok(value)
    }

    proptest! {
        #[test]
        fn a_value_comes_back_as_it_was(value in any_value()) {
            let flat = FlatValue::of(&value, 64, 1 << 20).map_err(TestCaseError::fail)?;
            prop_assert_eq!(flat.value(), value.clone());
            prop_assert_eq!(NearValue::of(flat).value(), value.clone());
            let bytes = size(&value);
            prop_assert!(FlatValue::of(&value, 64, bytes).is_ok());
            prop_assert!(FlatValue::of(&value, 64, bytes - 1).is_err());
        }
    }

    #[test]
    fn what_comes_without_an_order_is_sorted() {
        let mut flat = FlatValue::default();
        let at = flat.later();
        for (place, text) in [(2, "second"), (1, "first")] {
            flat.push(FlatPart::Whole(place));
            flat.push(FlatPart::Named(2));
            flat.text("text");
            flat.text(text);
            flat.text("at");
            flat.push(FlatPart::Whole(place));
        }
        flat.fill(
            at,
            FlatPart::Placed {
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
        let of = |value: Value| FlatValue::of(&value, 9, 1 << 20);
        let spares = || SPARES.with_borrow(Vec::len);
        let text = "x".repeat(SPARE_SIZE + 1);
        for (value, left) in [(json!({"a": [1.5, "b"]}), 1), (json!("c"), 1), (json!(text), 0)] {
            assert_eq!(crossed(of(value.clone())), Ok(value));
            assert_eq!(spares(), left);
        }
        for flat in (0..SPARE + 9).map(|_| of(json!(2.5))).collect::<Vec<_>>() {
            assert_eq!(crossed(flat), Ok(json!(2.5)));
        }
        assert_eq!(spares(), SPARE);
    }

    #[test]
    fn every_number_and_every_length_comes_back() {
        let long = "x".repeat(256);
        let floats = [0.0, -0.0, 1.0, 255.0, 256.0, -1.0, 0.5, 1e300];
        let wholes = [0, 1, 255, 256, -1, i64::MAX, i64::MIN];
        let mut flat = FlatValue::default();
        floats
            .iter()
            .for_each(|number| flat.push(FlatPart::Number(*number)));
        wholes
            .iter()
            .for_each(|number| flat.push(FlatPart::Whole(*number)));
        ["", "x", &long[..255], &long]
            .iter()
            .for_each(|text| flat.text(text));
        let from = flat.reader();
        for number in floats {
            assert!(matches!(from.part(), FlatPart::Number(read) if read.to_bits() == number.to_bits()));
        }
        for number in wholes {
            assert_eq!(from.part(), FlatPart::Whole(number));
        }
        for length in [0, 1, 255, 256] {
            assert_eq!(from.part(), FlatPart::Text(length));
            assert_eq!(from.text(length), &long[..length]);
        }
        assert_eq!(from.part(), FlatPart::Null, "nothing is left");
    }

    #[test]
    fn nothing_is_deeper_than_it_may_be() {
        assert!(FlatValue::of(&json!([[1]]), 2, 100).is_ok());
        assert!(FlatValue::of(&json!([[1]]), 1, 100).is_err());
    }
}
