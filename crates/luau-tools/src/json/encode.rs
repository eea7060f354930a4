//! Writes a large value as JSON text one piece at a time, so that others have their turn between two pieces.
//!
//! The text equals that of `serde_json`, without spaces. Names of objects have the order of the value. The
//! text is returned only when it is complete.

use std::io::Write;

use serde_json::{Map, Value};

use crate::json::flat_value::FlatValue;

/// Approximate number of bytes to write at a time: well below a millisecond.
const PIECE: usize = 64 << 10;
/// Maximum number of bytes of one text to write at a time: each may become six.
const OF_TEXT: usize = 8 << 10;

/// A value that is being written. It may be given up at any piece.
pub(crate) struct Encoding {
    /// The flat input that is not a tree yet.
    flat: Option<FlatValue>,
    /// The unfinished values, the outermost first.
    open: Vec<UnfinishedValue>,
    /// The text until now.
    out: Vec<u8>,
}

/// A value that is not written completely.
enum UnfinishedValue {
    Items(std::vec::IntoIter<Value>, bool),
    Fields(<Map<String, Value> as IntoIterator>::IntoIter, bool),
    /// A text, from now on.
    Text(String, usize),
}

impl Encoding {
    /// Begins to write this value.
    pub(crate) fn of(flat: FlatValue) -> Self {
        Self {
            flat: Some(flat),
            open: Vec::new(),
            out: Vec::new(),
        }
    }

    /// Writes a piece more; the text when all is written.
    pub(crate) fn more(&mut self) -> Option<Vec<u8>> {
        if let Some(flat) = self.flat.take() {
            self.value(flat.value());
            return None;
        }
        let until = self.out.len() + PIECE;
        while self.out.len() < until {
            let Some(open) = self.open.pop() else {
                return Some(std::mem::take(&mut self.out));
            };
            self.write_piece(open);
        }
        None
    }

    /// Writes a piece of the innermost value that is open.
    fn write_piece(&mut self, open: UnfinishedValue) {
        match open {
            UnfinishedValue::Items(mut items, is_first) => match items.next() {
                Some(item) => {
                    self.comma(is_first);
                    self.open.push(UnfinishedValue::Items(items, false));
                    self.value(item);
                }
                None => self.out.push(b']'),
            },
            UnfinishedValue::Fields(mut fields, is_first) => match fields.next() {
                Some((name, item)) => {
                    self.comma(is_first);
                    self.open.push(UnfinishedValue::Fields(fields, false));
                    self.small(&Value::String(name));
                    self.out.push(b':');
                    self.value(item);
                }
                None => self.out.push(b'}'),
            },
            UnfinishedValue::Text(text, from) => self.text(text, from),
        }
    }

    /// Parts a value from the one before.
    fn comma(&mut self, is_first: bool) {
        if !is_first {
            self.out.push(b',');
        }
    }

    /// Writes a value, or opens it if it has parts. Long texts are opened as well.
    fn value(&mut self, value: Value) {
        match value {
            Value::Array(items) => {
                self.out.push(b'[');
                self.open.push(UnfinishedValue::Items(items.into_iter(), true));
            }
            Value::Object(fields) => {
                self.out.push(b'{');
                self.open.push(UnfinishedValue::Fields(fields.into_iter(), true));
            }
            Value::String(text) if text.len() > OF_TEXT => {
                self.out.push(b'"');
                self.text(text, 0);
            }
            small => self.small(&small),
        }
    }

    /// Writes a value without parts.
    fn small(&mut self, value: &Value) {
        // Writing into memory cannot fail.
        let _ = write!(self.out, "{value}");
    }

    /// Writes a part of a text; the rest comes with the next piece.
    fn text(&mut self, text: String, from: usize) {
        let rest = text.get(from..).unwrap_or_default();
        let mut end = rest.len().min(OF_TEXT);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let piece = Value::from(rest.get(..end).unwrap_or_default()).to_string();
        let within = piece.as_bytes().get(1..piece.len() - 1);
        self.out.extend_from_slice(within.unwrap_or_default());
        if end < rest.len() {
            self.open.push(UnfinishedValue::Text(text, from + end));
        } else {
            self.out.push(b'"');
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn written(value: &Value) -> (String, usize) {
        let flat = FlatValue::of(value, 64, 1 << 26).unwrap_or_default();
        let mut encoding = Encoding::of(flat);
        let mut pieces = 0;
        let text = loop {
            pieces += 1;
            if let Some(text) = encoding.more() {
                break text;
            }
        };
        (String::from_utf8(text).unwrap_or_default(), pieces)
    }

    /// Encodes a value at once, as a script sees it: all numbers are alike.
    fn at_once(value: &Value) -> String {
        FlatValue::of(value, 64, 1 << 26)
            .unwrap_or_default()
            .value()
            .to_string()
    }

    #[test]
    fn a_large_value_is_written_in_pieces() {
        let values = [
            json!("\0".repeat(1 << 20)),
            json!({"a": "\"北京\"".repeat(1 << 16), "b": []}),
            json!([
                vec![json!({"k": 0.5}); 1 << 15],
                {},
                "x".repeat(OF_TEXT),
                "\"".repeat(OF_TEXT + 1)
            ]),
        ];
        for value in values {
            let (text, pieces) = written(&value);
            assert!(text == at_once(&value), "it is the same text");
            assert!(pieces > text.len() / (2 * PIECE), "{pieces} of {}", text.len());
        }
    }

    proptest! {
        #[test]
        fn the_text_is_the_same(value in any_value()) {
            prop_assert_eq!(written(&value).0, at_once(&value));
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
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
}
