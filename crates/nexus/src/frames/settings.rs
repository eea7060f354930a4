//! The settings and the texts of a person in NEXUS's form: names of fields with their group (`config.model`,
//! `prompts.persona`), and plain values.

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The group of the settings.
const CONFIG: &str = "config";
/// The group of the texts.
const PROMPTS: &str = "prompts";

/// The body of `POST /config` and `POST /prompts`. The signature in `auth` is not read; the token of the
/// request says who sends it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct NexusOverrides {
    /// The values by name; `null` takes the usual one again.
    pub overrides: Map<String, Value>,
}

/// Returns the answer of `GET /config`, made of the server's own.
pub fn config_document(own: &Value) -> Value {
    let mut fields: Vec<Value> = list(own, "editable_fields")
        .filter_map(Value::as_str)
        .map(|name| json!(format!("{CONFIG}.{name}")))
        .collect();
    let mut options = Map::new();
    for (name, field) in object(own, "field_options") {
        options.insert(format!("{CONFIG}.{name}"), field.clone());
    }
    for (name, _) in editable_texts(own) {
        fields.push(json!(format!("{PROMPTS}.{name}")));
        options.insert(format!("{PROMPTS}.{name}"), json!({"type": "textarea"}));
    }
    let values = object(own, "effective_config");
    let values: Map<String, Value> = values
        .map(|(name, value)| (name.clone(), value["value"].clone()))
        .collect();
    json!({
        "effective_config": values,
        "effective_prompts": texts(own),
        "user_overrides": {
            "config_overrides": own["user_overrides"],
            "prompt_overrides": own_texts(own),
        },
        "editable_fields": fields,
        "field_options": options,
    })
}

/// Returns the answer of `GET /prompts`, made of the server's own answer about settings.
pub fn prompts_document(own: &Value) -> Value {
    let whole = config_document(own);
    let prefix = format!("{PROMPTS}.");
    let is_text = |name: &str| name.starts_with(&prefix);
    let fields: Vec<&Value> = list(&whole, "editable_fields")
        .filter(|field| field.as_str().is_some_and(is_text))
        .collect();
    let options: Map<String, Value> = object(&whole, "field_options")
        .filter(|(name, _)| is_text(name))
        .map(|(name, field)| (name.clone(), field.clone()))
        .collect();
    json!({
        "effective_prompts": whole["effective_prompts"],
        "prompt_overrides": whole["user_overrides"]["prompt_overrides"],
        "editable_fields": fields,
        "field_options": options,
    })
}

/// Returns the server's own change for overrides of settings.
pub fn config_change(overrides: Map<String, Value>) -> Value {
    json!({CONFIG: without_group(CONFIG, overrides)})
}

/// Returns the server's own change for overrides of texts.
pub fn prompts_change(overrides: Map<String, Value>) -> Value {
    json!({PROMPTS: without_group(PROMPTS, overrides)})
}

/// Returns the values by names without their group, which a client may send or leave out.
fn without_group(group: &str, overrides: Map<String, Value>) -> Map<String, Value> {
    let prefix = format!("{group}.");
    let name = |name: String| name.strip_prefix(&prefix).map(str::to_owned).unwrap_or(name);
    overrides
        .into_iter()
        .map(|(key, value)| (name(key), value))
        .collect()
}

fn texts(own: &Value) -> Map<String, Value> {
    let shown = |text: &Value| json!({"content": text["content"], "editable": text["editable"]});
    object(own, "effective_prompts")
        .map(|(name, text)| (name.clone(), shown(text)))
        .collect()
}

/// Returns the texts that the person wrote.
fn own_texts(own: &Value) -> Map<String, Value> {
    object(own, "effective_prompts")
        .filter(|(_, text)| text["origin"] == "person")
        .map(|(name, text)| (name.clone(), text["content"].clone()))
        .collect()
}

fn editable_texts(own: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object(own, "effective_prompts").filter(|(_, text)| text["editable"] == true)
}

fn object<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = (&'v String, &'v Value)> + use<'v> {
    value[name].as_object().into_iter().flatten()
}

fn list<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value[name].as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    fn own() -> Value {
        json!({
            "editable_fields": ["model", "temperature"],
            "field_options": {
                "model": {"type": "select", "options": ["a"], "default": "a"},
                "temperature": {"type": "slider", "min": 0.0, "max": 2.0, "step": 0.1, "default": null},
            },
            "effective_config": {
                "model": {"value": "a", "origin": "operator"},
                "temperature": {"value": 0.9, "origin": "person"},
            },
            "user_overrides": {"temperature": 0.9},
            "effective_prompts": {
                "persona": {"content": "You are mine.", "origin": "person", "editable": true},
                "system": {"content": "Facts.", "origin": "operator", "editable": false},
            },
        })
    }

    /// The shape is NEXUS's, written down from its code; the values are made up.
    #[test]
    fn settings_have_the_shape_of_nexus() {
        assert_eq!(
            config_document(&own()),
            json!({
                "effective_config": {"model": "a", "temperature": 0.9},
                "effective_prompts": {
                    "persona": {"content": "You are mine.", "editable": true},
                    "system": {"content": "Facts.", "editable": false},
                },
                "user_overrides": {
                    "config_overrides": {"temperature": 0.9},
                    "prompt_overrides": {"persona": "You are mine."},
                },
                "editable_fields": ["config.model", "config.temperature", "prompts.persona"],
                "field_options": {
                    "config.model": {"type": "select", "options": ["a"], "default": "a"},
                    "config.temperature": {
                        "type": "slider", "min": 0.0, "max": 2.0, "step": 0.1, "default": null,
                    },
                    "prompts.persona": {"type": "textarea"},
                },
            })
        );
        let texts = prompts_document(&own());
        assert_eq!(texts["prompt_overrides"], json!({"persona": "You are mine."}));
        assert_eq!(texts["editable_fields"], json!(["prompts.persona"]));
        assert_eq!(
            texts["field_options"],
            json!({"prompts.persona": {"type": "textarea"}})
        );
        let empty = config_document(&Value::Null);
        assert_eq!(empty["editable_fields"], json!([]));
    }

    #[test]
    fn overrides_are_changes_of_the_server_with_or_without_their_group() {
        let overrides = |value: Value| serde_json::from_value::<NexusOverrides>(value).unwrap().overrides;
        let sent =
            json!({"overrides": {"config.model": "a", "temperature": null}, "auth": {"publicKey": "0x1"}});
        assert_eq!(
            config_change(overrides(sent)),
            json!({"config": {"model": "a", "temperature": null}})
        );
        let sent = json!({"overrides": {"prompts.persona": "You.", "tools": "T"}});
        assert_eq!(
            prompts_change(overrides(sent)),
            json!({"prompts": {"persona": "You.", "tools": "T"}})
        );
    }
}
