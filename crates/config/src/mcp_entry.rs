//! An entry of a project's `.mcp.json`: the variables that it names, and what it sets, in words for a person.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::mcp::{McpServerSettings, McpTarget, quoted};

/// Returns a sentence that describes a server of the project.
pub(crate) fn effect(server: &McpServerSettings) -> String {
    let what = match &server.target {
        McpTarget::Program { .. } => "its tools start this program",
        McpTarget::Address { .. } => "its tools send to this address",
    };
    let variables = server.variables();
    let with = match variables.len() {
        0 => String::new(),
        _ => format!(", with the values of {}", variables.join(" and ")),
    };
    let details = match server.details.len() {
        0 => String::new(),
        _ => format!("; it sets {}", server.details.join(", ")),
    };
    format!(
        "MCP server `{}`: {what}: {}{details}{with}",
        server.name, server.shown
    )
}

/// Returns the other settings of an entry besides the command line or the address, as they are written.
///
/// A value whose name looks like a secret's is only counted: it may be a secret of the project.
pub(crate) fn details(fields: &Map<String, Value>) -> Vec<String> {
    let directory = fields.get("cwd").and_then(Value::as_str);
    let mut details: Vec<String> = directory
        .map(|directory| format!("the directory {}", quoted(directory)))
        .into_iter()
        .collect();
    for (key, sign) in [("env", "="), ("headers", ": ")] {
        let values = fields.get(key).and_then(Value::as_object).into_iter().flatten();
        let values: BTreeMap<&String, &Value> = values.collect();
        for (name, value) in values {
            let written = value.as_str().unwrap_or_default();
            let is_literal = variables_in(written).is_empty();
            details.push(if is_literal && is_secret_name(name) {
                format!("{name} (a value of {} bytes)", written.len())
            } else {
                format!("{name}{sign}{}", quoted(written))
            });
        }
    }
    details
}

/// Returns whether the name of a variable or header says that its value is a secret.
fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASS", "AUTH", "COOKIE", "CREDENTIAL"]
        .iter()
        .any(|word| name.contains(word))
}

/// A variable in a text.
pub(crate) struct NamedVariable {
    pub(crate) begin: usize,
    pub(crate) end: usize,
    pub(crate) name: String,
    pub(crate) default: Option<String>,
}

/// The variables that a text names as `${NAME}` or `${NAME:-default}`, in order.
pub(crate) fn variables_in(text: &str) -> Vec<NamedVariable> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(begin) = text[from..].find("${").map(|at| from + at) {
        let Some(end) = text[begin..].find('}').map(|at| begin + at + 1) else {
            break;
        };
        let inside = &text[begin + 2..end - 1];
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default.to_owned())),
            None => (inside, None),
        };
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if is_name {
            found.push(NamedVariable {
                begin,
                end,
                name: name.to_owned(),
                default,
            });
        }
        from = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_that_changes_what_runs_is_said_and_secrets_are_counted() {
        let entry = json!({
            "command": "uvx", "cwd": "../other",
            "env": {"PATH": "t:/usr/bin", "NODE_OPTIONS": "--require ./x.js", "API_KEY": "12345", "TOKEN": "${MINE:-x y}"},
            "headers": {"X-Team": "blue"},
        });
        let said = details(entry.as_object().expect("an object"));
        assert_eq!(
            said,
            [
                "the directory ../other",
                "API_KEY (a value of 5 bytes)",
                "NODE_OPTIONS='--require ./x.js'",
                "PATH=t:/usr/bin",
                "TOKEN='${MINE:-x y}'",
                "X-Team: blue",
            ]
        );
    }
}
