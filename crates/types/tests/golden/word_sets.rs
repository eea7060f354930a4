//! The closed set that each word of a golden event belongs to, by the generated schema of the protocol.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;

/// The sets of words at each place of a value, which is named by its JSON pointer.
pub(crate) type SetsByPlace = BTreeMap<String, BTreeSet<String>>;

/// The schema of the protocol.
pub(crate) struct WordSets {
    definitions: Value,
}

impl WordSets {
    /// Reads the schema from the documentation.
    pub(crate) fn read() -> Self {
        let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let path = here.join("../../docs/protocol/agentx.v1.schema.json");
        let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        Self {
            definitions: schema["$defs"].clone(),
        }
    }

    /// All sets of words that values of a definition may have, at any depth.
    pub(crate) fn reachable(&self, definition: &str) -> BTreeSet<String> {
        let (mut seen, mut waiting) = (BTreeSet::new(), vec![definition.to_owned()]);
        while let Some(name) = waiting.pop() {
            if seen.insert(name.clone()) {
                references(&self.definitions[&name], &mut waiting);
            }
        }
        seen.retain(|name| self.is_set(name));
        seen
    }

    /// The sets of the words in a value of a definition.
    pub(crate) fn of(&self, definition: &str, value: &Value) -> SetsByPlace {
        let mut found = SetsByPlace::new();
        self.walk(&self.definitions[definition], value, "", &mut found);
        found
    }

    /// Returns whether a definition is a closed set of words.
    fn is_set(&self, name: &str) -> bool {
        let is_word = |way: &Value| way["type"] == "string" && way.get("const").or(way.get("enum")).is_some();
        let definition = &self.definitions[name];
        let ways = definition["oneOf"].as_array();
        is_word(definition) || ways.is_some_and(|ways| ways.iter().all(is_word))
    }

    fn walk(&self, schema: &Value, value: &Value, place: &str, found: &mut SetsByPlace) {
        if let Some(name) = reference(schema) {
            if self.is_set(name) && value.is_string() {
                found.entry(place.to_owned()).or_default().insert(name.to_owned());
            } else {
                self.walk(&self.definitions[name], value, place, found);
            }
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            if let Some(value) = value.get(name) {
                self.walk(field, value, &format!("{place}/{name}"), found);
            }
        }
        if let Some(items) = schema.get("items") {
            for (index, value) in value.as_array().into_iter().flatten().enumerate() {
                self.walk(items, value, &format!("{place}/{index}"), found);
            }
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let ways = schema[keyword].as_array().into_iter().flatten();
            for way in ways.filter(|way| may_be(way, value)) {
                self.walk(way, value, place, found);
            }
        }
    }
}

/// The name of the definition that a schema refers to.
fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// Adds the names of all definitions that are named inside a schema.
fn references(schema: &Value, found: &mut Vec<String>) {
    found.extend(reference(schema).map(str::to_owned));
    match schema {
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| references(field, found)),
        _ => {}
    }
}

/// Returns whether a value has the required fields and the tags of one of several ways to write it.
fn may_be(way: &Value, value: &Value) -> bool {
    let mut required = way["required"].as_array().into_iter().flatten();
    let mut fields = way["properties"].as_object().into_iter().flatten();
    required.all(|name| name.as_str().is_some_and(|name| value.get(name).is_some()))
        && fields.all(|(name, field)| field.get("const").is_none_or(|tag| value.get(name) == Some(tag)))
}
