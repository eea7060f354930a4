//! Lists the tools of a folder for a person who is about to trust them, one row each, the farthest-reaching
//! first.

use std::collections::BTreeSet;

use agentx::agent_files::definition::{GrantedNames, ToolBody, ToolDefinition};
use agentx::assembly::FolderContents;
use agentx::types::{Access, host_name};

use crate::render::units::counted;

/// Tools that run any command.
const RUN_ANYTHING: &[&str] = &["*", "bash", "job", "write", "edit"];

/// The reach of a tool; smaller values reach farther.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ToolAccess {
    /// The tool sends or runs something and gets variables, which may be credentials; or it replaces a tool
    /// of the user.
    Credentials,
    /// The tool runs programs, changes files, or gets variables.
    Programs,
    /// The tool sends something.
    Network,
    /// The tool calls other tools or agents.
    Tools,
    /// The tool computes, keeps values, or calls one of the user's models.
    Nothing,
}

fn reach_of(tool: &ToolDefinition) -> ToolAccess {
    let grants = tool.grants();
    let (sends, gets) = (!grants.hosts.is_empty(), !grants.variables.is_empty());
    let acts = !grants.tools.is_empty() || !grants.agents.is_empty();
    let runs = grants.tools.iter().any(|name| RUN_ANYTHING.contains(name));
    match () {
        () if tool.known.replaces || (gets && (sends || runs)) => ToolAccess::Credentials,
        () if runs || gets => ToolAccess::Programs,
        () if sends => ToolAccess::Network,
        () if acts => ToolAccess::Tools,
        () => ToolAccess::Nothing,
    }
}

/// A row about a tool, or about several.
pub(super) struct ToolRow {
    pub(super) text: String,
    /// Whether it reaches anything, or runs without a question.
    pub(super) reaches: bool,
}

/// Returns whether a tool does more than compute.
fn reaches_out(tool: &ToolDefinition) -> bool {
    reach_of(tool) != ToolAccess::Nothing
        || !tool.grants().is_empty()
        || matches!(tool.access(), Some(Access::Internal | Access::Read))
}

/// A row for each tool, at most `most`, and one that says what all others together reach. `is_key` tells the
/// variables that no file of a folder gets.
pub(super) fn rows(brings: &FolderContents, most: usize, is_key: &dyn Fn(&str) -> bool) -> Vec<ToolRow> {
    let mut sorted: Vec<&ToolDefinition> = brings.tools.iter().map(|tool| &tool.definition).collect();
    sorted.sort_by_key(|tool| reach_of(tool));
    let (shown, rest) = sorted.split_at(sorted.len().min(most));
    let row = |tool: &&ToolDefinition| ToolRow {
        text: row(tool, brings, tool.variables().into_iter().any(is_key)),
        reaches: reaches_out(tool),
    };
    let mut rows: Vec<ToolRow> = shown.iter().map(row).collect();
    rows.extend((!rest.is_empty()).then(|| ToolRow {
        text: together(rest, brings),
        reaches: rest.iter().any(|tool| reaches_out(tool)),
    }));
    rows
}

/// Describes one tool: what it reaches, which variables it gets, whether it asks.
fn row(tool: &ToolDefinition, brings: &FolderContents, asks_for_key: bool) -> String {
    let mut says = vec![match &tool.body {
        ToolBody::Luau(_) => "a script".to_owned(),
        ToolBody::Http(_) => "a request".to_owned(),
        ToolBody::Composite(_) => "tools in a row".to_owned(),
        ToolBody::Generator(_) | ToolBody::TextProcessor(_) if tool.models().is_empty() => {
            "asks the model of the session".to_owned()
        }
        ToolBody::Generator(_) | ToolBody::TextProcessor(_) => "asks a model".to_owned(),
        ToolBody::BuiltIn => "built in".to_owned(),
    }];
    if tool.known.replaces {
        says.push("replaces your own tool of this name".to_owned());
    }
    says.extend(reaches(&[tool], brings));
    if matches!(tool.access(), Some(Access::Internal | Access::Read)) {
        says.push("runs without asking".to_owned());
    }
    if asks_for_key {
        says.push("never gets the API key it asks for".to_owned());
    }
    format!("tool {}: {}", tool.name, says.join("; "))
}

/// Describes all tools that have no row.
fn together(tools: &[&ToolDefinition], brings: &FolderContents) -> String {
    let mut says = vec![format!("and {}", counted(tools.len(), "more tool"))];
    says.extend(reaches(tools, brings));
    says.push("`agentx config trust --show` lists them all".to_owned());
    says.join("; ")
}

/// Describes a model with its provider and address. One that the person's settings do not name may be in the
/// folder's own settings, or at a server that offers models by itself.
pub(super) fn model(name: &str, brings: &FolderContents) -> String {
    match brings.models.get(name) {
        Some(known) => format!("the model {known}"),
        None if name == "*" => "any model".to_owned(),
        None => format!("the model {name}, which your settings do not name"),
    }
}

/// An address or a host as the file has it, and the name of the host, with the port, if that is written in
/// another way there.
fn with_name(host: &str) -> String {
    match (host_name(host), port_of(host)) {
        (Some(name), Some(port)) if !host.contains(&name) => {
            format!("{host} (the host {name}, port {port})")
        }
        (Some(name), None) if !host.contains(&name) => format!("{host} (the host {name})"),
        _ => host.to_owned(),
    }
}

/// The port in an address, or behind a host.
fn port_of(host: &str) -> Option<u16> {
    let authority = host.split_once("://").map_or(host, |(_, rest)| rest);
    let authority = authority.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let (before, port) = authority.rsplit_once(':')?;
    let is_address = before.contains(':') && !before.ends_with(']');
    port.parse().ok().filter(|_| !is_address)
}

/// Describes everything that the files of these tools grant. The grants are taken apart by all of their
/// fields, so that no new one is left out.
fn reaches(tools: &[&ToolDefinition], brings: &FolderContents) -> Vec<String> {
    let of_models = tools.iter().flat_map(|tool| &tool.known.models_at);
    let of_models: BTreeSet<&str> = of_models.map(String::as_str).collect();
    let mut all: [BTreeSet<&str>; 6] = Default::default();
    for tool in tools {
        let GrantedNames {
            hosts,
            variables,
            tools: calls,
            models,
            key_spaces,
            agents,
        } = tool.grants();
        let granted = [hosts, variables, calls, models, key_spaces, agents];
        for (all, granted) in all.iter_mut().zip(granted) {
            all.extend(granted);
        }
    }
    let [hosts, variables, calls, asked, key_spaces, agents] = all;
    let hosts: Vec<String> = hosts.difference(&of_models).map(|host| with_name(host)).collect();
    let mut models: Vec<String> = asked.iter().map(|name| model(name, brings)).collect();
    if asked.contains("*") {
        // A star stands for a model whose address is not known; that model has its own words.
        let known = of_models.iter().filter(|address| **address != "*");
        models.extend(known.map(|address| format!("a model at {address}")));
    }
    let plain = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let kinds = [
        ("to", hosts),
        ("sends to", models),
        ("with", plain(variables)),
        ("uses", plain(calls)),
        ("keeps values in", plain(key_spaces)),
        ("creates agents:", plain(agents)),
    ];
    let granted = kinds.into_iter().filter(|(_, names)| !names.is_empty());
    granted
        .map(|(verb, names)| format!("{verb} {}", names.join(", ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use agentx::agent_files::FileOrigin;
    use agentx::assembly::FileTool;
    use serde_json::json;

    use super::*;

    fn tool(said: serde_json::Value) -> FileTool {
        let mut definition: ToolDefinition = serde_json::from_value(said).unwrap();
        definition.of_folder = true;
        FileTool {
            definition,
            origin: FileOrigin::Workspace,
            file: "/made/up.yaml".into(),
        }
    }

    #[test]
    fn the_tools_that_reach_farthest_stand_first_and_the_rest_is_said_together() {
        let script = |name: &str, capabilities| tool(granting(name, capabilities));
        let tools = [
            script("adds", json!({})),
            script("asks", json!({"http": ["api.example"]})),
            script("builds", json!({"tools": ["bash"]})),
            script("looks", json!({"tools": ["read"]})),
            script(
                "sends",
                json!({"http": ["thief.example"], "env": ["DEPLOY_TOKEN"]}),
            ),
        ];
        let tools = FolderContents {
            tools: tools.into(),
            ..FolderContents::default()
        };
        let first = |rows: &[ToolRow]| -> Vec<String> {
            let words = rows.iter().filter_map(|row| row.text.split([':', ';']).next());
            words.map(str::to_owned).collect()
        };
        let all = rows(&tools, usize::MAX, &|_| false);
        assert_eq!(
            first(&all),
            [
                "tool sends",
                "tool builds",
                "tool asks",
                "tool looks",
                "tool adds"
            ]
        );
        let two = rows(&tools, 2, &|_| false);
        assert_eq!(first(&two), ["tool sends", "tool builds", "and 3 more tools"]);
        assert!(
            two[2].text.contains("to api.example; uses read;"),
            "{}",
            two[2].text
        );
        assert_eq!(all.iter().filter(|row| row.reaches).count(), 4);
    }

    #[test]
    fn a_host_that_is_written_in_another_way_has_its_name_and_port() {
        for (written, shown) in [
            ("api.example:8443", "api.example:8443"),
            ("http://api.example:8443/x", "http://api.example:8443/x"),
            ("API.Example", "API.Example (the host api.example)"),
            (
                "API.Example:8443",
                "API.Example:8443 (the host api.example, port 8443)",
            ),
            (
                "http://127.1:8123/x?y=1:2",
                "http://127.1:8123/x?y=1:2 (the host 127.0.0.1, port 8123)",
            ),
        ] {
            assert_eq!(with_name(written), shown);
        }
        assert_eq!(
            (port_of("::1"), port_of("[::1]"), port_of("[::1]:8")),
            (None, None, Some(8))
        );
    }

    #[test]
    fn a_model_that_the_settings_do_not_name_is_not_said_to_be_of_the_folder() {
        let models = json!({"models": ["mine", "offered", "*"]});
        let mut asks = tool(granting("asks", models));
        asks.definition.known.models_at = ["*", "http://127.0.0.1:9912/v1"].map(str::to_owned).into();
        let mut brings = FolderContents {
            tools: vec![asks],
            ..FolderContents::default()
        };
        let at = "mine of local at http://127.0.0.1:9911/v1".to_owned();
        brings.models.insert("mine".to_owned(), at);
        let rows = rows(&brings, usize::MAX, &|_| false);
        assert_eq!(
            rows[0].text,
            "tool asks: a script; sends to any model, the model mine of local at http://127.0.0.1:9911/v1, \
             the model offered, which your settings do not name, a model at http://127.0.0.1:9912/v1"
        );
    }

    fn granting(name: &str, capabilities: serde_json::Value) -> serde_json::Value {
        json!({"name": name, "type": "luau", "lua": "return 1", "capabilities": capabilities})
    }

    #[test]
    fn every_grant_has_a_place_in_the_row_of_its_tool_and_of_a_tool_around_it() {
        let everything = json!({
            "http": ["api.example"], "env": ["TOKEN"], "models": ["big"], "tools": ["bash"],
            "kv": ["notes"], "agents": ["helper"],
        });
        let script = granting("all", everything);
        let row = json!({"name": "row", "type": "composite", "steps": [{"id": "one", "tool": script}]});
        let keeps = granting("keeps", json!({"kv": ["notes"]}));
        let makes = granting("makes", json!({"agents": ["*"]}));
        let brings = FolderContents {
            tools: [keeps, makes, script, row].map(tool).into(),
            ..FolderContents::default()
        };
        let rows = rows(&brings, usize::MAX, &|_| false);
        let texts: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
        let granted = |uses: &str| {
            format!(
                "to api.example; sends to the model big, which your settings do not name; with TOKEN; uses {uses}; \
                 keeps values in notes; creates agents: helper"
            )
        };
        assert_eq!(
            texts,
            [
                format!("tool all: a script; {}", granted("bash")),
                format!("tool row: tools in a row; {}", granted("all, bash")),
                "tool makes: a script; creates agents: *".to_owned(),
                "tool keeps: a script; keeps values in notes".to_owned(),
            ]
        );
        assert!(rows.iter().all(|row| row.reaches));
    }
}
