//! The part of JSON Schema that the generated schema uses. An unknown keyword is an error, so that no part
//! goes unchecked.

use serde_json::Value;

/// Keywords that are only for people and generators.
const SILENT: &[&str] = &["title", "description", "default", "format", "$defs", "$schema"];

pub(crate) struct Validator<'a> {
    root: &'a Value,
}

impl<'a> Validator<'a> {
    pub(crate) fn of(root: &'a Value) -> Self {
        Self { root }
    }

    /// Checks a value against a definition. The error describes the difference.
    pub(crate) fn check(&self, definition: &str, value: &Value) -> Result<(), String> {
        self.value(self.definition(definition), value)
    }

    fn definition(&self, name: &str) -> &'a Value {
        self.root["$defs"]
            .get(name)
            .unwrap_or_else(|| panic!("no definition {name}"))
    }

    fn value(&self, schema: &'a Value, value: &Value) -> Result<(), String> {
        let Value::Object(keywords) = schema else {
            assert_eq!(schema, &Value::Bool(true), "a schema");
            return Ok(());
        };
        for (keyword, says) in keywords {
            let holds = match keyword.as_str() {
                "additionalProperties" => {
                    assert_eq!(says, &Value::Bool(false));
                    let known = |key| schema["properties"].get(key).is_some();
                    value.as_object().is_none_or(|fields| fields.keys().all(known))
                }
                "properties" | "items" | "$ref" | "allOf" => {
                    self.parts(keyword, says, value)?;
                    true
                }
                "oneOf" => self.matches(says, value) == 1,
                "anyOf" => self.matches(says, value) > 0,
                "not" => self.value(says, value).is_err(),
                silent if SILENT.contains(&silent) => true,
                keyword => simple(keyword, says, value),
            };
            if !holds {
                return Err(format!("{value} is not as {keyword} says: {says}"));
            }
        }
        Ok(())
    }

    /// Returns the parts of a value that are checked one by one.
    fn parts(&self, keyword: &str, says: &'a Value, value: &Value) -> Result<(), String> {
        match keyword {
            "properties" => {
                let fields = says.as_object().unwrap();
                let there = fields
                    .iter()
                    .filter_map(|(name, schema)| Some((schema, value.get(name)?)));
                there
                    .into_iter()
                    .try_for_each(|(schema, value)| self.value(schema, value))
            }
            "items" => {
                let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
                items.iter().try_for_each(|item| self.value(says, item))
            }
            "allOf" => {
                let schemas = says.as_array().unwrap();
                schemas.iter().try_for_each(|schema| self.value(schema, value))
            }
            _ => self.check(says.as_str().unwrap().trim_start_matches("#/$defs/"), value),
        }
    }

    fn matches(&self, says: &'a Value, value: &Value) -> usize {
        let schemas = says.as_array().unwrap().iter();
        schemas.filter(|schema| self.value(schema, value).is_ok()).count()
    }
}

fn simple(keyword: &str, says: &Value, value: &Value) -> bool {
    match keyword {
        "type" => match says {
            Value::Array(types) => types.iter().any(|says| is(says.as_str().unwrap(), value)),
            says => is(says.as_str().unwrap(), value),
        },
        "const" => value == says,
        "enum" => says.as_array().unwrap().contains(value),
        "required" => {
            let mut names = says.as_array().unwrap().iter();
            let has = |fields: &serde_json::Map<String, Value>| {
                names.all(|name| fields.contains_key(name.as_str().unwrap()))
            };
            value.as_object().is_none_or(has)
        }
        "minimum" => value
            .as_f64()
            .is_none_or(|number| number >= says.as_f64().unwrap()),
        "maximum" => value
            .as_f64()
            .is_none_or(|number| number <= says.as_f64().unwrap()),
        "maxItems" => value
            .as_array()
            .is_none_or(|items| items.len() as u64 <= says.as_u64().unwrap()),
        "maxLength" => value
            .as_str()
            .is_none_or(|text| text.chars().count() as u64 <= says.as_u64().unwrap()),
        other => panic!("the validator does not know {other}"),
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("no type {other}"),
    }
}
