//! A form of a server: shows it to a person, and reads their text as the values of its fields. Pure.
//!
//! A form has fields of plain kinds (text, number, yes or no, one or several of a list), as the protocol
//! allows them. A person writes the value of a single field as it is, those of several as
//! `NAME=VALUE, NAME=VALUE`, and anything as a JSON object.

use serde_json::{Map, Value};

use crate::limits::{FORM_FIELDS, OUTPUT_LINE_BYTES};
use crate::server_tool::{cut, shown};

/// The fields that a server wants filled in.
pub(crate) struct Form<'a> {
    fields: Vec<(&'a String, &'a Value)>,
    required: Vec<&'a str>,
}

impl<'a> Form<'a> {
    /// Reads the schema of a form.
    ///
    /// # Errors
    /// Returns the reason if it has too many fields.
    pub(crate) fn of(schema: &'a Value) -> Result<Self, String> {
        let fields: Vec<_> = schema["properties"].as_object().into_iter().flatten().collect();
        if fields.len() > FORM_FIELDS {
            return Err(format!("its form has more than {FORM_FIELDS} fields"));
        }
        let required = schema["required"].as_array().into_iter().flatten();
        Ok(Self {
            fields,
            required: required.filter_map(Value::as_str).collect(),
        })
    }

    /// The fields for a person, a line each; empty if there are none.
    pub(crate) fn in_words(&self) -> String {
        let line = |(name, field): &(&String, &Value)| {
            let about = field["description"].as_str().or(field["title"].as_str());
            let about = cut(&shown_text(about.unwrap_or_default()), OUTPUT_LINE_BYTES);
            let mut notes = vec![kind(field)];
            if self.is_required(name) {
                notes.push("required".to_owned());
            }
            if let Some(usual) = field.get("default") {
                notes.push(format!("{} by default", shown(&plain(usual))));
            }
            format!("{} ({}) {about}", shown(name), notes.join("; "))
                .trim()
                .to_owned()
        };
        self.fields.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Explains how to write an answer with several fields; `None` for one field.
    pub(crate) fn how_to_answer(&self) -> Option<String> {
        let names = self.fields.iter().map(|(name, _)| format!("{}=…", shown(name)));
        (self.fields.len() > 1).then(|| names.collect::<Vec<_>>().join(", "))
    }

    /// The values of the fields as a person wrote them.
    ///
    /// # Errors
    /// Returns what does not fit.
    pub(crate) fn filled_in(&self, text: &str) -> Result<Value, String> {
        let mut content = self.written(text.trim())?;
        for (name, field) in &self.fields {
            match (content.get(*name), field.get("default")) {
                (Some(value), _) => check(field, value).map_err(|why| format!("{}: {why}", shown(name)))?,
                (None, Some(usual)) => {
                    content.insert((*name).clone(), usual.clone());
                }
                (None, None) if self.is_required(name) => {
                    return Err(format!("{}: a value is required", shown(name)));
                }
                (None, None) => {}
            }
        }
        Ok(Value::Object(content))
    }

    fn written(&self, text: &str) -> Result<Map<String, Value>, String> {
        if text.is_empty() {
            return Ok(Map::new());
        }
        if text.starts_with('{') {
            let object: Map<String, Value> =
                serde_json::from_str(text).map_err(|error| format!("this is not a JSON object: {error}"))?;
            if let Some(name) = object.keys().find(|name| self.field(name).is_none()) {
                return Err(format!("there is no field {:?}", shown(name)));
            }
            return Ok(object);
        }
        let one = |(name, field): &(&String, &Value), text: &str| ((*name).clone(), value(field, text));
        match &self.fields[..] {
            [] => Ok(Map::new()),
            [only] => {
                let named = text.strip_prefix(only.0.as_str());
                let named = named.and_then(|rest| rest.trim_start().strip_prefix('='));
                Ok([one(only, named.unwrap_or(text).trim())].into_iter().collect())
            }
            _ => {
                let mut content = Map::new();
                for part in self.parts(text) {
                    let (name, written) = part.split_once('=').ok_or("write NAME=VALUE, NAME=VALUE")?;
                    let name = name.trim();
                    let field = self
                        .field(name)
                        .ok_or(format!("there is no field {:?}", shown(name)))?;
                    let (name, value) = one(&field, written.trim());
                    content.insert(name, value);
                }
                Ok(content)
            }
        }
    }

    /// Splits a text into parts `NAME=VALUE`: a comma ends a part only if the name of a field follows.
    fn parts(&self, text: &str) -> Vec<String> {
        let mut parts = Vec::<String>::new();
        for piece in text.split([',', '\n']) {
            let begins = piece
                .split_once('=')
                .is_some_and(|(name, _)| self.field(name.trim()).is_some());
            match parts.last_mut() {
                Some(last) if !begins => last.push_str(&format!(",{piece}")),
                _ => parts.push(piece.trim().to_owned()),
            }
        }
        parts
    }

    fn field(&self, name: &str) -> Option<(&'a String, &'a Value)> {
        self.fields.iter().copied().find(|(known, _)| *known == name)
    }

    fn is_required(&self, name: &str) -> bool {
        self.required.contains(&name)
    }
}

/// Returns the values that a field accepts; empty if it accepts any.
fn choices(field: &Value) -> Vec<&str> {
    let of = if field["type"] == "array" {
        &field["items"]
    } else {
        field
    };
    let listed = of["enum"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let titled = of["oneOf"]
        .as_array()
        .or(of["anyOf"].as_array())
        .into_iter()
        .flatten();
    listed
        .chain(titled.filter_map(|choice| choice["const"].as_str()))
        .collect()
}

/// Describes the type of a field.
fn kind(field: &Value) -> String {
    let choices = choices(field);
    let list = || {
        choices
            .iter()
            .map(|choice| shown(choice))
            .collect::<Vec<_>>()
            .join(", ")
    };
    match field["type"].as_str() {
        Some("array") => format!("any of {}", list()),
        _ if !choices.is_empty() => format!("one of {}", list()),
        Some("boolean") => "yes or no".to_owned(),
        Some("number") => "a number".to_owned(),
        Some("integer") => "a whole number".to_owned(),
        _ => field["format"].as_str().map_or_else(|| "text".to_owned(), shown),
    }
}

/// Converts a text to the type of its field; keeps it as a text if that is impossible.
fn value(field: &Value, text: &str) -> Value {
    let word = || Value::String(text.to_owned());
    match field["type"].as_str() {
        Some("boolean") => match text.to_lowercase().as_str() {
            "yes" | "y" | "true" => Value::Bool(true),
            "no" | "n" | "false" => Value::Bool(false),
            _ => word(),
        },
        Some("integer" | "number") => serde_json::from_str(text)
            .ok()
            .filter(Value::is_number)
            .unwrap_or_else(word),
        Some("array") => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            items.map(Value::from).collect()
        }
        _ => word(),
    }
}

/// Checks a value.
fn check(field: &Value, value: &Value) -> Result<(), String> {
    let fits = match field["type"].as_str() {
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        Some("number") => value.is_number(),
        Some("array") => value
            .as_array()
            .is_some_and(|items| items.iter().all(Value::is_string)),
        _ => value.is_string(),
    };
    if !fits {
        return Err(format!("{} is not {}", shown(&plain(value)), kind(field)));
    }
    let choices = choices(field);
    let is_choice = |text: &str| choices.is_empty() || choices.contains(&text);
    let words = value.as_array().into_iter().flatten().chain([value]);
    if let Some(other) = words.filter_map(Value::as_str).find(|word| !is_choice(word)) {
        return Err(format!("{} is not {}", shown(other), kind(field)));
    }
    let size = match value {
        Value::String(text) => (text.chars().count() as f64, "minLength", "maxLength"),
        Value::Array(items) => (items.len() as f64, "minItems", "maxItems"),
        other => (other.as_f64().unwrap_or_default(), "minimum", "maximum"),
    };
    let (size, least, most) = size;
    match (field[least].as_f64(), field[most].as_f64()) {
        (Some(bound), _) if size < bound => Err(format!("at least {bound} ({least})")),
        (_, Some(bound)) if size > bound => Err(format!("at most {bound} ({most})")),
        _ => Ok(()),
    }
}

/// A value without the quotes of a text.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A text of a server on one line, without what cannot be shown.
fn shown_text(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({"type": "object", "required": ["name", "age"], "properties": {
            "name": {"type": "string", "description": "Who\u{1b}[2J is it?", "minLength": 2},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "color": {"type": "string", "enum": ["red", "blue"], "default": "blue"},
            "known": {"type": "boolean"},
            "pets": {"type": "array", "items": {"anyOf": [{"const": "cat"}, {"const": "dog"}]}},
        }})
    }

    #[test]
    fn what_a_person_writes_becomes_the_values_of_the_fields() {
        let schema = schema();
        let form = Form::of(&schema).unwrap();
        for (written, content) in [
            (
                "name=Ada, age=36",
                Ok(json!({"name": "Ada", "age": 36, "color": "blue"})),
            ),
            (
                "age = 36,name=Lovelace, Ada,known=yes, pets=cat, dog",
                Ok(
                    json!({"name": "Lovelace, Ada", "age": 36, "color": "blue", "known": true, "pets": ["cat", "dog"]}),
                ),
            ),
            (
                r#"{"name": "Ada", "age": 36, "color": "red"}"#,
                Ok(json!({"name": "Ada", "age": 36, "color": "red"})),
            ),
            ("name=Ada", Err("age: a value is required")),
            ("name=Ada, age=old", Err("age: old is not a whole number")),
            ("name=Ada, age=151", Err("age: at most 150 (maximum)")),
            ("name=A, age=1", Err("name: at least 2 (minLength)")),
            (
                "name=Ada, age=1, color=green",
                Err("color: green is not one of red, blue"),
            ),
            (
                "name=Ada, age=1, pets=cow",
                Err("pets: cow is not any of cat, dog"),
            ),
            ("Ada", Err("write NAME=VALUE, NAME=VALUE")),
            (r#"{"other": 1}"#, Err("there is no field \"other\"")),
            ("", Err("name: a value is required")),
        ] {
            assert_eq!(
                form.filled_in(written),
                content.map_err(str::to_owned),
                "{written}"
            );
        }
        let words = form.in_words();
        assert!(words.contains("name (text; required) Who [2J is it?"), "{words}");
        assert!(
            words.contains("color (one of red, blue; blue by default)"),
            "{words}"
        );
    }

    #[test]
    fn a_single_field_takes_the_whole_text() {
        let schema = json!({"properties": {"ok": {"type": "boolean"}}});
        let form = Form::of(&schema).unwrap();
        assert_eq!(form.filled_in("ok = no"), Ok(json!({"ok": false})));
        assert_eq!(form.filled_in("yes"), Ok(json!({"ok": true})));
        assert_eq!(form.filled_in(""), Ok(json!({})), "it is not required");
        assert_eq!(form.how_to_answer(), None);
        let none = json!({});
        assert_eq!(Form::of(&none).unwrap().filled_in("what?"), Ok(json!({})));
        let many: Map<String, Value> = (0..100).map(|n| (n.to_string(), json!({}))).collect();
        assert!(Form::of(&json!({"properties": many})).is_err());
    }
}
