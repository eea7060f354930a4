//! The edges of a schema: the schemas directly below it, and the targets of its `$ref`.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// A schema and the places that a `$ref` in it may name.
pub(super) struct Graph<'a> {
    root: &'a Value,
    /// Places by `$anchor`.
    anchors: HashMap<&'a str, &'a Value>,
}

/// A schema that another one leads to.
pub(super) struct Edge<'a> {
    /// The schema.
    pub(super) schema: &'a Value,
    /// Whether it applies to the same place of the value, and not to a part of it.
    pub(super) same_place: bool,
}

/// Keywords that another place is referred to with, and that are not followed.
const DYNAMIC: &[&str] = &["$dynamicRef", "$recursiveRef"];
/// Keywords whose schema, or each of whose schemas, applies to the same place of the value.
pub(super) const SAME_PLACE: &[&str] = &[
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
];
/// Keywords whose schemas apply to a part of the value.
const INSIDE: &[&str] = &[
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "contentSchema",
];
/// Keywords with schemas by name.
const BY_NAME: &[&str] = &[
    "properties",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
];

impl<'a> Graph<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        let mut anchors = HashMap::new();
        let mut waiting = vec![root];
        while let Some(value) = waiting.pop() {
            match value {
                Value::Object(fields) => {
                    if let Some(name) = fields.get("$anchor").and_then(Value::as_str) {
                        anchors.entry(name).or_insert(value);
                    }
                    waiting.extend(fields.values());
                }
                Value::Array(items) => waiting.extend(items),
                _ => {}
            }
        }
        Self { root, anchors }
    }

    /// The schemas that this one leads to.
    ///
    /// # Errors
    /// Returns an error if it refers to a place that is not in the schema.
    pub(super) fn edges(&self, fields: &'a Map<String, Value>) -> Result<Vec<Edge<'a>>, String> {
        let mut edges = Vec::new();
        for (key, value) in fields {
            let same_place = SAME_PLACE.contains(&key.as_str());
            if DYNAMIC.contains(&key.as_str()) {
                return Err(format!("`{key}` is not supported: use `$ref`"));
            } else if let Some(target) = self.target(key, value)? {
                edges.push(Edge {
                    schema: target,
                    same_place: true,
                });
            } else if same_place || INSIDE.contains(&key.as_str()) {
                let schemas = subschemas(key, value);
                edges.extend(schemas.map(|schema| Edge { schema, same_place }));
            }
        }
        Ok(edges)
    }

    /// The target of a `$ref`; `None` for another keyword.
    pub(super) fn target(&self, key: &str, value: &'a Value) -> Result<Option<&'a Value>, String> {
        let ("$ref", Value::String(reference)) = (key, value) else {
            return Ok(None);
        };
        let base = self.root.get("$id").and_then(Value::as_str).unwrap_or_default();
        let base = base.trim_end_matches('#');
        let fragment = match reference.strip_prefix(base).unwrap_or(reference) {
            "" => Some(""),
            rest => rest.strip_prefix('#'),
        };
        let found = fragment.and_then(|fragment| match decoded(fragment) {
            pointer if pointer.is_empty() => Some(self.root),
            pointer if pointer.starts_with('/') => self.root.pointer(&pointer),
            name => self.anchors.get(name.as_str()).copied(),
        });
        let missing =
            || "a `$ref` may only lead to a place in this schema, such as `#/$defs/city`".to_owned();
        found.map(Some).ok_or_else(missing)
    }

    /// Returns whether this is the schema as a whole.
    pub(super) fn is_root(&self, fields: &Map<String, Value>) -> bool {
        self.root
            .as_object()
            .is_some_and(|root| std::ptr::eq(root, fields))
    }
}

/// The schemas under a keyword.
pub(super) fn subschemas<'a>(key: &str, value: &'a Value) -> Box<dyn Iterator<Item = &'a Value> + 'a> {
    match value {
        Value::Array(schemas) => Box::new(schemas.iter()),
        Value::Object(schemas) if BY_NAME.contains(&key) => Box::new(schemas.values()),
        one => Box::new(std::iter::once(one)),
    }
}

/// A fragment of a reference without its `%` escapes; one that is not UTF-8 names nothing.
fn decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = (*first == b'%').then(|| after.get(..2)).flatten();
        let byte = escaped
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| fragment.to_owned())
}
