//! Reads the events of a newer version as far as this one can. It is called after the usual way has failed,
//! so it costs nothing if everything is known.
//!
//! An unknown word of a closed set is read as the least specific one, an unknown content part as one that
//! only its provider understands. Nothing else is guessed: the whole event stays unknown.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{self, DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::{Deserialize as _, forward_to_deserialize_any};
use serde_json::{Value, json};

use crate::ContentPart;

/// The `api` of a content part of a newer version: no provider is called so, and so none is sent it.
const NEWER_PART: &str = "newer-agentx";

/// The fallback for unknown words of each set: the least specific word, or the strictest if it allows
/// something.
const LEAST: &[(&str, &str)] = &[
    ("Source", "system"),
    ("Role", "assistant"),
    ("InputMode", "queue"),
    ("ApprovalDecision", "deny"),
    ("StopReason", "other"),
    ("ToolStatus", "unknown"),
    ("OutputChannel", "stdout"),
    ("ActionKind", "unknown"),
    ("Timer", "unknown"),
    ("AgentKind", "unknown"),
    ("ApprovalMode", "deny"),
    ("AskUser", "decide"),
    ("StuckMode", "calls"),
    ("LoopKind", "unknown"),
    ("LoopResponse", "unknown"),
    ("RuleEffect", "deny"),
    ("TextOrigin", "unknown"),
    ("SecurityRisk", "unknown"),
    ("JudgeDecision", "refuse"),
    ("ConfirmationPolicy", "always"),
    ("VarKind", "string"),
    ("Api", "unknown"),
    ("InputMedium", "file"),
    ("Access", "run"),
    ("RunStatus", "failed"),
    ("RequestPart", "unknown"),
    ("SessionRole", "watch"),
    ("WheelReason", "taken"),
    ("WireView", "runtime"),
    ("UiToolStatus", "error"),
    ("WindowKind", "unknown"),
    // Sets of other crates, which occur in answers of a server over HTTP.
    ("WaitKind", "unknown"),
    ("ReactorState", "unknown"),
    ("RestoreEffect", "changed"),
    ("RestoreConflict", "not_known"),
    ("AgentOrigin", "workspace"),
];

/// Sets of [`LEAST`] in which some words have fields. The fields of an unknown word are dropped with it.
const WITH_FIELDS: &[&str] = &["RestoreConflict"];

/// The fallback for unknown words of the set with this name, if it has one.
fn least_of(name: &str) -> Option<&'static str> {
    let found = LEAST.iter().find(|(set, _)| *set == name);
    found.map(|(_, least)| *least)
}

/// The reason why a value cannot be read.
#[derive(Debug)]
pub enum Unreadable {
    /// A newer version has a variant or a condition there that this one does not know.
    Newer,
    /// The event has another shape.
    Wrong,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Newer => "of a newer version",
            Self::Wrong => "of another shape",
        })
    }
}

impl std::error::Error for Unreadable {}

impl de::Error for Unreadable {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Wrong
    }

    fn unknown_variant(_: &str, _: &'static [&'static str]) -> Self {
        Self::Newer
    }

    fn unknown_field(_: &str, _: &'static [&'static str]) -> Self {
        Self::Newer
    }
}

/// Reads the payload of an event that has words of a newer version.
pub(crate) fn payload<T: DeserializeOwned>(text: &str) -> Result<T, Unreadable> {
    let mut value: Value = serde_json::from_str(text).map_err(|_| Unreadable::Wrong)?;
    for of_parts in ["content", "result"] {
        parts(value.get_mut(of_parts));
    }
    T::deserialize(Tolerant(value))
}

/// Reads an answer of a newer program that is not an event: unknown words are read as the least specific
/// ones.
///
/// # Errors
/// Returns an error if it is not JSON, or not of its shape.
pub fn from_newer_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(text).or_else(|error| {
        let value: Value = serde_json::from_slice(text)?;
        T::deserialize(Tolerant(value)).map_err(|_| error)
    })
}

/// Reads a single word; one of a newer version as the least specific.
pub(crate) fn word<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    T::deserialize(Tolerant(value)).map_err(de::Error::custom)
}

/// Puts each content part that is not known, or is of something that is not, into one that is kept and shown
/// to no provider.
fn parts(list: Option<&mut Value>) {
    for part in list.and_then(Value::as_array_mut).into_iter().flatten() {
        if part["type"] == "tool_result" {
            parts(part.get_mut("content"));
        }
        let newer = ContentPart::deserialize(Tolerant(part.clone()));
        if matches!(newer, Err(Unreadable::Newer)) {
            let data = part.take();
            *part = json!({"type": "opaque", "provider": {"api": NEWER_PART, "data": data}});
        }
    }
}

/// A value that may contain words of a newer version.
struct Tolerant(Value);

impl<'de> IntoDeserializer<'de, Unreadable> for Tolerant {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Tolerant {
    type Error = Unreadable;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::String(value) => visitor.visit_string(value),
            Value::Array(items) => visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(Self))),
            Value::Object(fields) => visitor.visit_map(MapDeserializer::new(
                fields.into_iter().map(|(key, value)| (key, Self(value))),
            )),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(value), _, _) => visitor.visit_u64(value),
                (_, Some(value), _) => visitor.visit_i64(value),
                (_, _, Some(value)) => visitor.visit_f64(value),
                _ => Err(Unreadable::Wrong),
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        match self.0 {
            Value::String(word) => {
                let is_known = variants.contains(&word.as_str());
                let least = least_of(name).filter(|_| !is_known);
                visitor.visit_enum(least.unwrap_or(word.as_str()).into_deserializer())
            }
            Value::Object(fields) => {
                let is_known = fields.keys().any(|key| variants.contains(&key.as_str()));
                let is_new = fields.len() == 1 && !is_known && WITH_FIELDS.contains(&name);
                if let Some(least) = least_of(name).filter(|_| is_new) {
                    return visitor.visit_enum(least.into_deserializer());
                }
                let fields = fields.into_iter().map(|(key, value)| (key, Self(value)));
                let variant = MapAccessDeserializer::new(MapDeserializer::new(fields));
                variant.deserialize_enum(name, variants, visitor)
            }
            _ => Err(Unreadable::Wrong),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct
        map struct identifier ignored_any
    }
}
