//! The JSON Schemas of a vocabulary: one alternative for each tag, and one for the tags of newer versions.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::Vocabulary;

/// A vocabulary whose payloads are known as schemas.
pub trait Payloads: Vocabulary {
    /// The name of the vocabulary.
    const NAME: &'static str;

    /// The schema of each tag's payload.
    fn payloads(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)>;
}

/// Returns one alternative for each tag, and one for tags of newer versions.
pub(crate) fn alternatives<E: Payloads>(generator: &mut SchemaGenerator, tag: &str) -> Vec<Value> {
    let mut alternatives = Vec::new();
    for (name, payload) in E::payloads(generator) {
        alternatives.push(json!({
            "properties": {tag: {"const": name}, "payload": payload},
            "required": [tag, "payload"],
        }));
    }
    alternatives.push(json!({
        "description": "Of a newer version.",
        "properties": {tag: {"type": "string", "not": {"enum": E::TAGS}}, "payload": {"type": "object"}},
        "required": [tag, "payload"],
    }));
    alternatives
}

/// An event of a vocabulary: its tag and its payload.
pub(crate) fn tagged<E: Payloads>(generator: &mut SchemaGenerator, tag: &str) -> Schema {
    let alternatives = alternatives::<E>(generator, tag);
    json_schema!({"type": "object", "oneOf": alternatives})
}
