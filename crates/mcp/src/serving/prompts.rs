//! Prompts: the texts of tools that only send a text to a model, for the model of the client.

use agentx_types::ToolSpec;
use serde_json::{Map, Value, json};

use super::ServedParts;
use super::content::text;
use super::message::INVALID_PARAMS;
use super::refusal::McpRefusal;

/// The description of a prompt whose file has none.
const UNDESCRIBED: &str = "A prompt of AgentX.";

/// The answer to `prompts/list`.
pub(super) fn list(parts: &dyn ServedParts) -> Value {
    let prompts: Vec<Value> = parts.prompts().iter().map(prompt).collect();
    json!({ "prompts": prompts })
}

fn prompt(spec: &ToolSpec) -> Value {
    let required = spec.input_schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        let mut names = required.into_iter().flatten();
        names.any(|required| required == name)
    };
    let properties = properties(spec).into_iter().flatten();
    let argument = |(name, schema): (&String, &Value)| {
        let mut argument = json!({"name": name, "required": is_required(name)});
        if let Some(about) = schema.get("description").filter(|about| about.is_string()) {
            argument["description"] = about.clone();
        }
        argument
    };
    json!({
        "name": spec.name,
        "description": description(spec),
        "arguments": properties.map(argument).collect::<Vec<_>>(),
    })
}

fn description(spec: &ToolSpec) -> &str {
    let about = spec.description.trim();
    if about.is_empty() { UNDESCRIBED } else { about }
}

fn properties(spec: &ToolSpec) -> Option<&Map<String, Value>> {
    spec.input_schema.get("properties").and_then(Value::as_object)
}

/// The answer to `prompts/get`.
pub(super) fn get(parts: &dyn ServedParts, params: &Map<String, Value>) -> Result<Value, McpRefusal> {
    let Some(name) = params.get("name").and_then(Value::as_str) else {
        let why = "`name` must be the name of a prompt";
        return Err(McpRefusal::new(INVALID_PARAMS, why));
    };
    let spec = named(parts, name)?;
    let input = input(&spec, params.get("arguments"))?;
    let words = parts.prompt(&spec, &input);
    let words = words.map_err(|why| McpRefusal::new(INVALID_PARAMS, why))?;
    Ok(json!({
        "description": description(&spec),
        "messages": [{"role": "user", "content": text(&words)}],
    }))
}

/// Returns the prompt with this name.
pub(super) fn named(parts: &dyn ServedParts, name: &str) -> Result<ToolSpec, McpRefusal> {
    let found = parts.prompts().into_iter().find(|spec| spec.name == name);
    found.ok_or_else(|| McpRefusal::new(INVALID_PARAMS, format!("there is no prompt {name:?}")))
}

/// Returns the arguments of the tool. Clients send each one as a text; if the schema requires another type,
/// the text is JSON.
fn input(spec: &ToolSpec, given: Option<&Value>) -> Result<Value, McpRefusal> {
    let given = match given {
        None | Some(Value::Null) => return Ok(json!({})),
        Some(Value::Object(given)) => given,
        Some(_) => return Err(McpRefusal::new(INVALID_PARAMS, "`arguments` must be an object")),
    };
    let mut input = Map::new();
    for (name, value) in given {
        let Value::String(words) = value else {
            let why = format!("the argument {name:?} of a prompt must be a text");
            return Err(McpRefusal::new(INVALID_PARAMS, why));
        };
        let schema = properties(spec).and_then(|properties| properties.get(name));
        let read = if takes_text(schema) {
            None
        } else {
            serde_json::from_str(words).ok()
        };
        input.insert(name.clone(), read.unwrap_or_else(|| value.clone()));
    }
    Ok(Value::Object(input))
}

/// Returns whether an argument may be a text: its schema says so, or does not say what it is.
fn takes_text(schema: Option<&Value>) -> bool {
    match schema.and_then(|schema| schema.get("type")) {
        None => true,
        Some(Value::Array(types)) => types.iter().any(|one| one == "string"),
        Some(one) => one == "string",
    }
}

/// Returns the values that the schema of an argument names.
///
/// # Errors
/// Refuses an argument that the prompt does not have.
pub(super) fn values(spec: &ToolSpec, argument: &str) -> Result<Vec<String>, McpRefusal> {
    let schema = properties(spec).and_then(|properties| properties.get(argument));
    let Some(schema) = schema else {
        let why = format!("the prompt {:?} has no argument {argument:?}", spec.name);
        return Err(McpRefusal::new(INVALID_PARAMS, why));
    };
    if let Some(listed) = schema.get("enum").and_then(Value::as_array) {
        let words = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        return Ok(listed.iter().map(words).collect());
    }
    let is_bool = schema.get("type").is_some_and(|one| one == "boolean");
    let truths = ["true", "false"].into_iter().filter(|_| is_bool);
    Ok(truths.map(str::to_owned).collect())
}
