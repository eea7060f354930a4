//! The body of a request while it is built. The tree borrows the texts, schemas and arguments of the
//! conversation: they are most of a body and equal in every call, so they are copied only once, into the
//! bytes that are sent.
//!
//! A body of a long conversation is several megabytes. `serde_json::Value` would copy all of it twice: into
//! the tree, and into the bytes. This tree copies only the parts that a request adds: names of fields,
//! numbers and short texts.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// A JSON value that borrows as much as possible.
#[derive(Debug)]
pub(crate) enum BorrowedJson<'a> {
    Null,
    Bool(bool),
    /// A whole number from 0: tokens and limits.
    Whole(u64),
    /// A number with a fraction, such as `temperature`.
    Fraction(f64),
    /// A text, borrowed from the conversation if it is sent unchanged.
    Text(Cow<'a, str>),
    /// A list, such as the messages.
    List(Vec<BorrowedJson<'a>>),
    /// An object, with its fields in the order in which they are written.
    Object(Vec<(&'a str, BorrowedJson<'a>)>),
    /// A part of the conversation, unchanged.
    Value(&'a Value),
    /// A part that was made for the request.
    Owned(Value),
}

/// An object, written as `json!` writes one.
macro_rules! object {
    ($($key:literal: $value:expr),* $(,)?) => {
        $crate::json::BorrowedJson::Object(vec![$(($key, $crate::json::BorrowedJson::from($value))),*])
    };
}
pub(crate) use object;

impl<'a> BorrowedJson<'a> {
    /// The text under `type`: the kind of block.
    pub(crate) fn kind(&self) -> Option<&str> {
        self.text("type")
    }

    /// The text under a key.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match self {
            Self::Object(fields) => match fields.iter().find(|(present, _)| *present == key)? {
                (_, BorrowedJson::Text(text)) => Some(text),
                (_, BorrowedJson::Value(value)) => value.as_str(),
                _ => None,
            },
            Self::Value(value) => value.get(key)?.as_str(),
            _ => None,
        }
    }

    /// Returns whether this is an object without fields.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Object(fields) if fields.is_empty())
    }

    /// Returns whether this is an object with this field.
    pub(crate) fn has(&self, key: &str) -> bool {
        match self {
            Self::Object(fields) => fields.iter().any(|(present, _)| *present == key),
            Self::Value(value) => value.get(key).is_some(),
            _ => false,
        }
    }

    /// A field of an object that was built here.
    pub(crate) fn field(&self, key: &str) -> Option<&BorrowedJson<'a>> {
        match self {
            Self::Object(fields) => fields
                .iter()
                .find_map(|(present, json)| (*present == key).then_some(json)),
            _ => None,
        }
    }

    /// A field of an object.
    pub(crate) fn field_mut(&mut self, key: &str) -> Option<&mut BorrowedJson<'a>> {
        let mut fields = self.fields()?.iter_mut();
        fields.find_map(|(present, json)| (*present == key).then_some(json))
    }

    /// Sets a field of an object, in its old place if there is one. Other values do not change.
    pub(crate) fn set(&mut self, key: &'a str, json: impl Into<BorrowedJson<'a>>) {
        let Some(fields) = self.fields() else { return };
        match fields.iter_mut().find(|(present, _)| *present == key) {
            Some((_, old)) => *old = json.into(),
            None => fields.push((key, json.into())),
        }
    }

    /// Sets a field of an object, unless it has one of this name.
    pub(crate) fn set_missing(&mut self, key: &'a str, json: impl Into<BorrowedJson<'a>>) {
        let Some(fields) = self.fields() else { return };
        if fields.iter().all(|(present, _)| *present != key) {
            fields.push((key, json.into()));
        }
    }

    /// The fields of an object. Those of a borrowed one become this tree's own; their values stay borrowed.
    fn fields(&mut self) -> Option<&mut Vec<(&'a str, BorrowedJson<'a>)>> {
        if let Self::Value(Value::Object(object)) = self {
            let fields = object.iter().map(|(key, value)| (key.as_str(), value.into()));
            *self = Self::Object(fields.collect());
        }
        match self {
            Self::Object(fields) => Some(fields),
            _ => None,
        }
    }

    /// Returns the JSON as bytes, for sending.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.rough_len());
        // Writing to memory cannot fail, and all keys are texts.
        let _ = serde_json::to_writer(&mut bytes, self);
        bytes
    }

    /// Returns the approximate length of the JSON in bytes, rather too large than too small, so that the
    /// buffer need not grow.
    fn rough_len(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) | Self::Whole(_) | Self::Fraction(_) => SCALAR,
            Self::Text(text) => text_len(text),
            Self::List(items) => 2 + items.iter().map(|item| item.rough_len() + 1).sum::<usize>(),
            Self::Object(fields) => {
                let field = |(key, json): &(&str, BorrowedJson<'_>)| text_len(key) + json.rough_len() + 2;
                2 + fields.iter().map(field).sum::<usize>()
            }
            Self::Value(value) => value_len(value),
            Self::Owned(value) => value_len(value),
        }
    }
}

/// The estimated length of `null`, `true` or a number.
const SCALAR: usize = 8;

/// Returns the estimated length of a text with its quotes, and an eighth for escapes, as many as in source
/// code.
fn text_len(text: &str) -> usize {
    2 + text.len() + text.len() / 8
}

/// The estimated length of a borrowed value; see [`BorrowedJson::rough_len`].
fn value_len(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => SCALAR,
        Value::String(text) => text_len(text),
        Value::Array(items) => 2 + items.iter().map(|item| value_len(item) + 1).sum::<usize>(),
        Value::Object(object) => {
            let fields = object.iter();
            2 + fields
                .map(|(key, value)| text_len(key) + value_len(value) + 2)
                .sum::<usize>()
        }
    }
}

impl Serialize for BorrowedJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(bool) => serializer.serialize_bool(*bool),
            Self::Whole(number) => serializer.serialize_u64(*number),
            Self::Fraction(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(fields) => serializer.collect_map(fields.iter().map(|(key, json)| (key, json))),
            Self::Value(value) => value.serialize(serializer),
            Self::Owned(value) => value.serialize(serializer),
        }
    }
}

impl<'a> From<&'a str> for BorrowedJson<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.into())
    }
}

impl<'a> From<&'a String> for BorrowedJson<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for BorrowedJson<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl<'a> From<Cow<'a, str>> for BorrowedJson<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for BorrowedJson<'_> {
    fn from(bool: bool) -> Self {
        Self::Bool(bool)
    }
}

impl From<u64> for BorrowedJson<'_> {
    fn from(number: u64) -> Self {
        Self::Whole(number)
    }
}

impl From<f64> for BorrowedJson<'_> {
    fn from(number: f64) -> Self {
        Self::Fraction(number)
    }
}

impl<'a> From<Vec<BorrowedJson<'a>>> for BorrowedJson<'a> {
    fn from(items: Vec<BorrowedJson<'a>>) -> Self {
        Self::List(items)
    }
}

impl<'a> From<&'a Value> for BorrowedJson<'a> {
    fn from(value: &'a Value) -> Self {
        Self::Value(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn written(json: &BorrowedJson<'_>) -> String {
        String::from_utf8(json.to_bytes()).unwrap()
    }

    #[test]
    fn it_is_written_as_serde_json_writes_it() {
        let borrowed = json!({"b": [1, -2.5, "\"\u{1}"], "a": null});
        let json = object! {
            "type": "text", "text": "a\"\n\u{1f980}", "n": 3, "f": 1.0, "nan": f64::NAN, "yes": true, "none": BorrowedJson::Null,
            "list": vec![object! {}, BorrowedJson::List(Vec::new())], "value": &borrowed,
        };
        let expected = json!({
            "type": "text", "text": "a\"\n\u{1f980}", "n": 3, "f": 1.0, "nan": f64::NAN, "yes": true, "none": null,
            "list": [{}, []], "value": borrowed,
        });
        assert_eq!(written(&json), expected.to_string());
        assert_eq!(written(&BorrowedJson::from(&expected)), expected.to_string());
    }

    #[test]
    fn a_borrowed_object_reads_and_changes_like_an_own_one() {
        let value = json!({"type": "text", "text": "a", "n": {"deep": 1}});
        let own = object! {"type": "text", "text": "a", "n": object! {"deep": 1}};
        for mut json in [BorrowedJson::from(&value), own] {
            assert_eq!(
                (json.kind(), json.text("n"), json.text("x")),
                (Some("text"), None, None)
            );
            json.set_missing("text", "not this one");
            json.set("type", "other");
            json.set_missing("z", true);
            assert_eq!(
                written(&json),
                r#"{"type":"other","text":"a","n":{"deep":1},"z":true}"#
            );
            assert_eq!((json.kind(), json.text("text")), (Some("other"), Some("a")));
        }
        let list = json!(["type"]);
        let mut no_object = BorrowedJson::from(&list);
        no_object.set("type", "text");
        no_object.set_missing("type", "text");
        assert_eq!(
            (written(&no_object).as_str(), no_object.kind()),
            (r#"["type"]"#, None)
        );
    }

    #[test]
    fn the_buffer_does_not_grow() {
        let code = "    let name = \"value\".to_owned();\n".repeat(200);
        let value = json!({"content": code, "numbers": [1, 2, 3], "ok": true});
        let json =
            object! {"text": &code, "value": &value, "list": vec![BorrowedJson::from(1), BorrowedJson::Null]};
        let bytes = json.to_bytes();
        assert_eq!(bytes.capacity(), json.rough_len());
    }
}
