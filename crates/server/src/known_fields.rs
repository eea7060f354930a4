//! Finds misspelt fields in requests whose fields are settings: the default in place of a misspelt setting
//! may be looser than what was meant. The known fields are those of the schema that describes the request.
//!
//! Readers of logs, events and answers accept unknown fields, because a newer version may have written them.

use std::fmt;

use agentx_types::nearest;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::limits::size_limits::shortened;

/// The longest chain of references and alternatives that is followed for one value.
const MOST_STEPS: usize = 64;
/// Maximum number of suggestions for a misspelt name.
const MOST_SUGGESTIONS: usize = 3;

/// A field of a request that does not exist.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnknownField {
    /// The path of the object that has it, the outermost field first.
    path: Vec<String>,
    name: String,
    /// The fields that the object may have.
    known: Vec<String>,
}

impl UnknownField {
    /// The place of the field, for programs: `config.limits.max_costs`.
    pub(crate) fn place(&self) -> String {
        let parts = self.path.iter().chain([&self.name]);
        parts.map(String::as_str).collect::<Vec<_>>().join(".")
    }
}

impl fmt::Display for UnknownField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path.join("."))?;
        }
        write!(f, "there is no field {:?}", self.name)?;
        let near = nearest(
            &self.name,
            self.known.iter().map(String::as_str),
            MOST_SUGGESTIONS,
        );
        match near.as_slice() {
            [] if self.known.is_empty() => write!(f, "; it has no fields"),
            [] => write!(f, "; the fields are {}", self.known.join(", ")),
            near => {
                let near: Vec<String> = near.iter().map(|name| format!("{name:?}")).collect();
                write!(f, "; did you mean {}?", near.join(" or "))
            }
        }
    }
}

/// Checks that a request of type `T` has no field that `T` does not have, at any depth.
///
/// # Errors
/// Returns the first field that does not exist.
pub(crate) fn check_fields<T: JsonSchema>(sent: &Value) -> Result<(), UnknownField> {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>().to_value();
    let schemas = RequestSchemas { root: &schema };
    schemas.unknown_field(&[&schema], sent).map_or(Ok(()), Err)
}

/// The schemas of a request, which refer to each other.
#[derive(Clone, Copy)]
struct RequestSchemas<'a> {
    root: &'a Value,
}

/// The schemas that describe a value together.
#[derive(Default)]
struct Described<'a> {
    /// Those with fields or items.
    schemas: Vec<&'a Map<String, Value>>,
    /// Whether one of them allows any value.
    is_free: bool,
}

impl<'a> Described<'a> {
    /// The values of a keyword.
    fn each(&self, keyword: &str) -> impl Iterator<Item = &'a Value> {
        self.schemas.iter().filter_map(move |schema| schema.get(keyword))
    }

    /// The schemas of a field; none if there is no such field.
    fn of_field(&self, name: &str) -> Vec<&'a Value> {
        let fields = self.each("properties").filter_map(|fields| fields.get(name));
        let fields: Vec<&Value> = fields.collect();
        if !fields.is_empty() {
            return fields;
        }
        let others = self.each("additionalProperties");
        others.filter(|schema| !is_closed(schema)).collect()
    }

    /// The names of the fields, sorted.
    fn names(&self) -> Vec<String> {
        let fields = self.each("properties").filter_map(Value::as_object);
        let mut names: Vec<String> = fields.flat_map(Map::keys).cloned().collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl<'a> RequestSchemas<'a> {
    /// Returns the first field of a value that none of its schemas has.
    fn unknown_field(self, schemas: &[&'a Value], sent: &Value) -> Option<UnknownField> {
        let mut described = Described::default();
        for schema in schemas {
            self.expand(schema, sent, MOST_STEPS, &mut described);
        }
        if described.is_free {
            return None;
        }
        match sent {
            Value::Object(fields) => fields.iter().find_map(|(name, value)| {
                let inner = described.of_field(name);
                if inner.is_empty() {
                    return Some(UnknownField {
                        path: Vec::new(),
                        name: shortened(name.clone()),
                        known: described.names(),
                    });
                }
                self.unknown_below(name.clone(), &inner, value)
            }),
            Value::Array(items) => {
                let inner: Vec<&Value> = described.each("items").collect();
                let mut items = items.iter().enumerate();
                items.find_map(|(index, item)| self.unknown_below(index.to_string(), &inner, item))
            }
            _ => None,
        }
    }

    /// The same for a part of a value, with its name in the path.
    fn unknown_below(self, name: String, schemas: &[&'a Value], sent: &Value) -> Option<UnknownField> {
        if schemas.is_empty() {
            return None;
        }
        let mut found = self.unknown_field(schemas, sent)?;
        found.path.insert(0, shortened(name));
        Some(found)
    }

    /// Adds the schemas that describe `sent`: this one, and those that it refers to.
    fn expand(self, schema: &'a Value, sent: &Value, steps: usize, described: &mut Described<'a>) {
        let Value::Object(keywords) = schema else {
            described.is_free |= *schema == Value::Bool(true);
            return;
        };
        if !has_type_of(keywords, sent) {
            return;
        }
        let has_fields = ["properties", "additionalProperties", "items"]
            .iter()
            .any(|keyword| keywords.contains_key(*keyword));
        if has_fields {
            described.schemas.push(keywords);
        }
        let others = self.referred(keywords, sent, steps);
        // A schema that says nothing about the parts of a value allows all of them.
        described.is_free |= steps == 0 || (!has_fields && others.is_empty());
        for other in others {
            self.expand(other, sent, steps.saturating_sub(1), described);
        }
    }

    /// The schemas that another one refers to; of alternatives, those that fit `sent`, or all if none does.
    fn referred(self, keywords: &'a Map<String, Value>, sent: &Value, steps: usize) -> Vec<&'a Value> {
        let mut others: Vec<&Value> = self.target(keywords).into_iter().collect();
        if steps == 0 {
            return Vec::new();
        }
        others.extend(list(keywords, "allOf"));
        for keyword in ["anyOf", "oneOf"] {
            let all: Vec<&Value> = list(keywords, keyword).collect();
            let fitting = all.iter().copied();
            let fitting = fitting.filter(|schema| self.fits(schema, sent, steps - 1));
            let fitting: Vec<&Value> = fitting.collect();
            others.extend(if fitting.is_empty() { all } else { fitting });
        }
        others
    }

    /// The schema that a reference names.
    fn target(self, keywords: &Map<String, Value>) -> Option<&'a Value> {
        let path = keywords.get("$ref")?.as_str()?;
        self.root.pointer(path.trim_start_matches('#'))
    }

    /// Returns whether a value may be meant by a schema: its type, its required fields and its constants.
    fn fits(self, schema: &'a Value, sent: &Value, steps: usize) -> bool {
        let Value::Object(keywords) = schema else {
            return *schema == Value::Bool(true);
        };
        if steps == 0 {
            return true;
        }
        let fits = |schema: &'a Value| self.fits(schema, sent, steps - 1);
        let has = |name: &Value| name.as_str().is_some_and(|name| sent.get(name).is_some());
        let constant = |(name, schema): (&String, &Value)| match (schema.get("const"), sent.get(name)) {
            (Some(wanted), Some(sent)) => wanted == sent,
            _ => true,
        };
        let fields = keywords.get("properties").and_then(Value::as_object);
        has_type_of(keywords, sent)
            && keywords.get("const").is_none_or(|wanted| wanted == sent)
            && list(keywords, "required").all(has)
            && fields.is_none_or(|fields| fields.iter().all(constant))
            && self.target(keywords).is_none_or(fits)
            && list(keywords, "allOf").all(fits)
            && ["anyOf", "oneOf"].iter().all(|keyword| {
                let mut all = list(keywords, keyword).peekable();
                all.peek().is_none() || all.any(fits)
            })
    }
}

/// Returns whether a schema allows no value at all, in either of its forms.
fn is_closed(schema: &Value) -> bool {
    *schema == Value::Bool(false) || schema.get("not").is_some_and(|not| *not == json!({}))
}

/// The values of a keyword that is a list.
fn list<'a>(keywords: &'a Map<String, Value>, keyword: &str) -> impl Iterator<Item = &'a Value> {
    keywords
        .get(keyword)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// Returns whether a value has the type, or one of the types, that a schema names.
fn has_type_of(keywords: &Map<String, Value>, sent: &Value) -> bool {
    let is = |name: &str| match sent {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(_) => name == "number" || name == "integer",
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    };
    match keywords.get("type") {
        Some(Value::String(name)) => is(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use agentx_runtime::ContextRequest;
    use agentx_testing::fixture;
    use agentx_types::{AgentConfig, ConfigChange};
    use serde::Deserialize;

    use super::*;

    /// A request with a configuration, as the server takes it.
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Request {
        #[serde(default)]
        config: Option<AgentConfig>,
        #[serde(default)]
        title: Option<String>,
    }

    fn refused<T: JsonSchema>(sent: &Value) -> String {
        check_fields::<T>(sent).unwrap_err().to_string()
    }

    /// The configuration of a session, with all that tests give one.
    fn config() -> Value {
        serde_json::to_value(fixture::config()).unwrap()
    }

    #[test]
    fn a_field_that_does_not_exist_is_named_with_its_place_and_what_was_meant() {
        let mut sent = json!({ "config": config() });
        assert_eq!(check_fields::<Request>(&sent), Ok(()));
        sent["config"]["limits"]["max_itertions"] = json!(5);
        let unknown = check_fields::<Request>(&sent).unwrap_err();
        assert_eq!(unknown.place(), "config.limits.max_itertions");
        assert_eq!(
            unknown.to_string(),
            "config.limits: there is no field \"max_itertions\"; did you mean \"max_iterations\"?"
        );
        let top = refused::<Request>(&json!({ "cofnig": {} }));
        assert_eq!(top, "there is no field \"cofnig\"; did you mean \"config\"?");
        let far = refused::<Request>(&json!({ "xyzzy": 1 }));
        assert_eq!(far, "there is no field \"xyzzy\"; the fields are config, title");
    }

    #[test]
    fn a_misspelt_field_is_found_at_every_depth() {
        let place = |change: fn(&mut Value)| {
            let mut sent = config();
            change(&mut sent);
            check_fields::<AgentConfig>(&sent).unwrap_err().place()
        };
        assert_eq!(
            place(|sent| sent["params"]["temprature"] = json!(1)),
            "params.temprature"
        );
        assert_eq!(place(|sent| sent["model"]["nam"] = json!("m")), "model.nam");
        let tool = json!({"name": "t", "description": "", "input_schema": {}, "acess": "internal"});
        let mut sent = config();
        sent["tools"] = json!([tool]);
        let unknown = check_fields::<AgentConfig>(&sent).unwrap_err();
        assert_eq!(unknown.place(), "tools.0.acess");
        let mut outer = config();
        outer["agents"] = json!([sent]);
        let unknown = check_fields::<AgentConfig>(&outer).unwrap_err();
        assert_eq!(unknown.place(), "agents.0.tools.0.acess");
    }

    #[test]
    fn what_is_free_by_its_nature_stays_free() {
        let mut sent = config();
        let schema =
            json!({"type": "object", "properties": {"any": {"x-made-up": 1}}, "x-made-up": {"a": 1}});
        sent["tools"] = json!([{
            "name": "t", "description": "", "input_schema": schema, "access": "internal",
        }]);
        sent["answer_schema"] = json!({ "schema": schema });
        assert_eq!(check_fields::<AgentConfig>(&sent), Ok(()));
    }

    #[test]
    fn of_alternatives_the_one_that_was_sent_counts() {
        let known = json!({"limits": {"max_cost": 1}});
        assert_eq!(check_fields::<ConfigChange>(&known), Ok(()));
        let unknown = refused::<ConfigChange>(&json!({"limits": {"max_costs": 1}}));
        assert!(
            unknown.contains("limits: there is no field \"max_costs\"; did you mean \"max_cost\""),
            "{unknown}"
        );
        let pin = json!({"pin": {"message_id": "msg_1", "pinned": true}});
        assert_eq!(check_fields::<ContextRequest>(&pin), Ok(()));
        let unknown = refused::<ContextRequest>(&json!({"pin": {"message_id": "msg_1", "pined": true}}));
        assert!(unknown.contains("\"pined\""), "{unknown}");
    }
}
