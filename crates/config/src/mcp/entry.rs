//! An entry of a project's `.mcp.json`: its variables and values, described for a person.

use std::collections::{BTreeMap, BTreeSet};

use agentx_types::shell_word;
use serde_json::{Map, Value};

use crate::mcp::command_line;

/// An entry of the project, in words for a person who decides about the folder.
#[derive(Debug)]
pub(crate) struct ServerEffect {
    /// The name of the server.
    pub(crate) name: String,
    /// The effect of its tools.
    does: String,
    /// The reason why it is not started, even in a trusted folder.
    pub(crate) left_out: Option<String>,
    /// Whole sentences about what else it may do.
    pub(crate) also: Vec<String>,
}

impl ServerEffect {
    /// Describes an entry, whether its variables are set or not; `None` if it names neither a program nor an
    /// address.
    pub(crate) fn of(name: &str, fields: &Map<String, Value>) -> Option<Self> {
        Some(Self {
            name: name.to_owned(),
            does: effect_of_tools(fields)?,
            left_out: None,
            also: Vec::new(),
        })
    }

    /// Returns the sentences about it, even if the server is left out: the reason for that may disappear
    /// without a change of the file.
    pub(crate) fn sentences(self) -> impl Iterator<Item = String> {
        let Self { name, does, .. } = self;
        let first = match self.left_out {
            None => format!("MCP server `{name}`: {does}"),
            Some(why) => format!("MCP server `{name}` is not started: {why}; once it can start, {does}"),
        };
        std::iter::once(first).chain(self.also)
    }
}

/// Returns the effect of an entry's tools; `None` if it names neither a program nor an address.
fn effect_of_tools(fields: &Map<String, Value>) -> Option<String> {
    let what = match (fields.contains_key("command"), fields.contains_key("url")) {
        (true, _) => "its tools start this program",
        (false, true) => "its tools send to this address",
        (false, false) => return None,
    };
    let mut variables = BTreeSet::new();
    add_variables(fields.values(), &mut variables);
    let with = match variables.len() {
        0 => String::new(),
        _ => format!(
            ", with the values of {}",
            variables.into_iter().collect::<Vec<_>>().join(" and ")
        ),
    };
    let details = details(fields);
    let details = match details.len() {
        0 => String::new(),
        _ => format!("; it sets {}", details.join(", ")),
    };
    Some(format!("{what}: {}{details}{with}", as_written(fields)))
}

/// Returns the command line or the address of an entry, as it is written.
pub(crate) fn as_written(fields: &Map<String, Value>) -> String {
    let written = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    if !fields.contains_key("command") {
        return written("url").to_owned();
    }
    let arguments = fields.get("args").and_then(Value::as_array).into_iter().flatten();
    command_line(written("command"), arguments.filter_map(Value::as_str))
}

/// Returns the other values of an entry besides the command line or the address, as they are written. A value
/// in a folder's file is not a secret of the person; only `${NAME}` stays a name.
pub(crate) fn details(fields: &Map<String, Value>) -> Vec<String> {
    let directory = fields.get("cwd").and_then(Value::as_str);
    let mut details: Vec<String> = directory
        .map(|directory| format!("the directory {}", shell_word(directory)))
        .into_iter()
        .collect();
    for (key, sign) in [("env", "="), ("headers", ": ")] {
        let values = fields.get(key).and_then(Value::as_object).into_iter().flatten();
        let values: BTreeMap<&String, &Value> = values.collect();
        for (name, value) in values {
            let written = value.as_str().unwrap_or_default();
            details.push(format!("{name}{sign}{}", shell_word(written)));
        }
    }
    details
}

/// A variable in a text.
pub(crate) struct NamedVariable {
    pub(crate) begin: usize,
    pub(crate) end: usize,
    pub(crate) name: String,
    pub(crate) default: Option<String>,
}

/// Adds the names of the variables in each text of these values. A text by itself decides: what looks like
/// the beginning of a variable in one does not hide those of the next.
pub(crate) fn add_variables<'a>(values: impl IntoIterator<Item = &'a Value>, names: &mut BTreeSet<String>) {
    for value in values {
        match value {
            Value::String(text) => names.extend(variables_in(text).into_iter().map(|variable| variable.name)),
            Value::Array(items) => add_variables(items, names),
            Value::Object(fields) => add_variables(fields.values(), names),
            _ => {}
        }
    }
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
    fn everything_that_changes_what_runs_is_said_as_it_is_written() {
        let entry = json!({
            "command": "uvx", "cwd": "../other",
            "env": {"GIT_ASKPASS": "./docs/a.sh", "PATH": "t:/usr/bin", "NODE_OPTIONS": "--require ./x.js", "API_KEY": "12345", "TOKEN": "${MINE:-x y}"},
            "headers": {"X-Team": "blue"},
        });
        let said = details(entry.as_object().expect("an object"));
        assert_eq!(
            said,
            [
                "the directory ../other",
                "API_KEY=12345",
                "GIT_ASKPASS=./docs/a.sh",
                "NODE_OPTIONS='--require ./x.js'",
                "PATH=t:/usr/bin",
                "TOKEN='${MINE:-x y}'",
                "X-Team: blue",
            ]
        );
    }
}
