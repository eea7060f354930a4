//! Bounds on one validation: the pairs of schema and value that a validator looks at, counted as if it never
//! stopped early.

use serde_json::{Map, Value};

use super::graph::{Graph, SAME_PLACE, subschemas};
use super::schema::looks_twice;

/// Maximum number of steps of one validation.
const MAX_STEPS: u64 = 1_000_000;
/// Maximum nesting of a validation: of the value, times the nesting of schemas that apply to one place.
const MAX_VALIDATION_DEPTH: usize = 256;

/// Checks that a value can be validated within the bounds.
///
/// # Errors
/// Returns an error that names the exceeded bound.
pub(crate) fn check(schema: &Value, value: &Value) -> Result<(), String> {
    let graph = Graph::new(schema);
    let mut work = Work {
        graph: &graph,
        left: MAX_STEPS,
    };
    work.schema(schema, value, 0)
}

struct Work<'g, 'a> {
    graph: &'g Graph<'a>,
    left: u64,
}

impl<'a> Work<'_, 'a> {
    fn take(&mut self, steps: u64) -> Result<(), String> {
        let left = self.left.checked_sub(steps);
        self.left = left.ok_or_else(|| {
            format!(
                "to hold this value against the schema takes more than {MAX_STEPS} steps, which is the limit"
            )
        })?;
        Ok(())
    }

    fn schema(&mut self, schema: &'a Value, value: &Value, depth: usize) -> Result<(), String> {
        self.take(1)?;
        if depth > MAX_VALIDATION_DEPTH {
            return Err(format!(
                "the schema and the value nest deeper than {MAX_VALIDATION_DEPTH} levels together, which is the limit"
            ));
        }
        let Some(fields) = schema.as_object() else {
            return Ok(());
        };
        let times = if looks_twice(fields) { 2 } else { 1 };
        for (key, part) in fields {
            self.take(1)?;
            if let Some(target) = self.graph.target(key, part)? {
                for _ in 0..times {
                    self.schema(target, value, depth + 1)?;
                }
            } else if SAME_PLACE.contains(&key.as_str()) {
                for _ in 0..times {
                    for schema in subschemas(key, part) {
                        self.schema(schema, value, depth + 1)?;
                    }
                }
            } else {
                self.add_inner_work(fields, key, part, value, depth + 1)?;
            }
        }
        Ok(())
    }

    /// The work of a keyword about the parts of the value, or of a comparison.
    fn add_inner_work(
        &mut self,
        fields: &'a Map<String, Value>,
        key: &str,
        part: &'a Value,
        value: &Value,
        depth: usize,
    ) -> Result<(), String> {
        match (key, value) {
            ("properties", Value::Object(given)) => {
                for (name, schema) in part.as_object().into_iter().flatten() {
                    self.take(1)?;
                    if let Some(child) = given.get(name) {
                        self.schema(schema, child, depth)?;
                    }
                }
                Ok(())
            }
            ("patternProperties", Value::Object(given)) => {
                for (pattern, schema) in part.as_object().into_iter().flatten() {
                    for (name, child) in given {
                        self.take(matching(pattern, name))?;
                        self.schema(schema, child, depth)?;
                    }
                }
                Ok(())
            }
            ("additionalProperties" | "unevaluatedProperties", Value::Object(given)) => {
                let named = fields.get("properties").and_then(Value::as_object);
                let is_named = |name: &str| named.is_some_and(|named| named.contains_key(name));
                for (_, child) in given.iter().filter(|(name, _)| !is_named(name)) {
                    self.schema(part, child, depth)?;
                }
                Ok(())
            }
            ("propertyNames", Value::Object(given)) => {
                for name in given.keys() {
                    self.schema(part, &Value::String(name.clone()), depth)?;
                }
                Ok(())
            }
            ("items" | "prefixItems", Value::Array(items)) if part.is_array() => {
                let schemas = part.as_array().into_iter().flatten();
                for (schema, item) in schemas.zip(items) {
                    self.schema(schema, item, depth)?;
                }
                Ok(())
            }
            ("items" | "additionalItems" | "unevaluatedItems" | "contains", Value::Array(items)) => {
                for item in items {
                    self.schema(part, item, depth)?;
                }
                Ok(())
            }
            ("enum" | "const" | "required" | "dependentRequired", _) => self.size(part),
            ("uniqueItems", Value::Array(_)) => self.size(value),
            ("pattern", Value::String(text)) => self.take(matching(part.as_str().unwrap_or_default(), text)),
            (_, Value::String(text)) => self.take(text.len() as u64 / 64),
            _ => Ok(()),
        }
    }

    /// Takes a step for each value in a value.
    fn size(&mut self, value: &Value) -> Result<(), String> {
        let mut waiting = vec![value];
        while let Some(value) = waiting.pop() {
            self.take(1)?;
            match value {
                Value::Array(items) => waiting.extend(items),
                Value::Object(fields) => waiting.extend(fields.values()),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The steps to match a text with a pattern: its bytes, times the states of the pattern. There is about one
/// for each byte of the pattern, and for each repetition that it counts some, because a class of letters has
/// many.
fn matching(pattern: &str, text: &str) -> u64 {
    /// A step of a validator takes about as long as this many steps of a regular expression.
    const STATES_PER_STEP: u64 = 32;
    const OF_A_CLASS: u64 = 20;
    let counts = pattern.split(|c: char| !c.is_ascii_digit());
    let counts = counts.filter_map(|digits| digits.parse::<u64>().ok());
    let repeated = counts.fold(0, u64::saturating_add);
    let of_each = if pattern.contains(['\\', '.']) {
        OF_A_CLASS
    } else {
        1
    };
    let states = (pattern.len() as u64).saturating_add(repeated.saturating_mul(of_each));
    let bytes = text.len() as u64 + 1;
    states.saturating_mul(bytes) / STATES_PER_STEP
}
