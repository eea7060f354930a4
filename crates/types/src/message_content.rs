//! The message of a person, as clients send it: a text, or content parts. Parts are read one by one, so that
//! a client cannot make the reader hold more than a message may have.

use std::fmt;

use serde::Deserializer;
use serde::de::{Error, SeqAccess, Visitor};

use crate::ContentPart;

/// Maximum number of parts of a message of a person.
pub const MOST_PARTS: usize = 1000;

/// Reads the content of a message: a text, or content parts.
///
/// # Errors
/// Returns an error if it is neither, or has more than [`MOST_PARTS`].
pub fn text_or_parts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ContentPart>, D::Error> {
    deserializer.deserialize_any(TextOrPartsVisitor)
}

/// The schema of the content of a message: a text, or content parts.
#[cfg(feature = "schema")]
pub fn text_or_parts_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let parts = generator.subschema_for::<ContentPart>();
    schemars::json_schema!({
        "anyOf": [{"type": "string"}, {"type": "array", "items": parts, "maxItems": MOST_PARTS}],
    })
}

struct TextOrPartsVisitor;

impl<'de> Visitor<'de> for TextOrPartsVisitor {
    type Value = Vec<ContentPart>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text, or an array of content parts")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(vec![ContentPart::text(text)])
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(vec![ContentPart::text(text)])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut parts = Vec::new();
        while let Some(part) = sequence.next_element()? {
            if parts.len() == MOST_PARTS {
                return Err(A::Error::custom(format_args!(
                    "a message has at most {MOST_PARTS} parts: join texts, or send several messages"
                )));
            }
            parts.push(part);
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn a_message_has_so_many_parts_and_no_more() {
        let parts = |count: usize| {
            let part = r#"{"type":"text","text":""}"#;
            let text = format!("[{}]", vec![part; count].join(","));
            text_or_parts(&mut serde_json::Deserializer::from_str(&text))
        };
        assert_eq!(parts(MOST_PARTS).unwrap().len(), MOST_PARTS);
        let refused = parts(MOST_PARTS + 1).unwrap_err().to_string();
        assert!(refused.contains("at most 1000 parts"), "{refused}");
    }
}
