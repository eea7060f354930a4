//! The commands that NEXUS has, in the form of its definitions, and the lines in which clients give them.

use serde::Serialize;
use serde_json::{Value, json};

use super::requests::NexusCommand;

/// The paths of the request that carries out a command.
#[derive(Clone, Copy)]
struct RequestPaths {
    read: &'static str,
    change: Option<&'static str>,
}

impl RequestPaths {
    const fn same(path: &'static str) -> Self {
        Self {
            read: path,
            change: Some(path),
        }
    }

    const fn to_read(path: &'static str) -> Self {
        Self {
            read: path,
            change: None,
        }
    }
}

/// NEXUS's own commands and the part that carries each out: the program of the person, this server, or a
/// request with its paths.
const OF_NEXUS: &[(&str, &str, Option<RequestPaths>)] = &[
    ("help", "client", None),
    ("clear", "client", None),
    ("theme", "client", None),
    ("ping", "server", None),
    ("identity", "server", None),
    ("config", "rest", Some(RequestPaths::same("/api/v1/config"))),
    ("prompt", "rest", Some(RequestPaths::same("/api/v1/prompts"))),
    ("history", "rest", Some(RequestPaths::to_read("/api/v1/messages"))),
];

/// The outcome of a command.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NexusResult {
    /// `success` or `error`.
    pub status: &'static str,
    /// The words for the person.
    pub message: String,
    /// The data for programs.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

/// A command line in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NexusCommandLine {
    /// The whole line, with its slash.
    pub line: String,
    /// The name, without a slash.
    pub name: String,
    /// The words behind it.
    pub words: String,
}

/// The part that a command needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NexusCommandPlace {
    /// This module of the server.
    Here,
    /// The program of the person.
    Client,
    /// A request of its own, at this path.
    Request(&'static str),
    /// The session: a command of a file or of a reactor.
    Session,
}

impl NexusResult {
    /// Returns the outcome of a command that was carried out.
    pub fn success(message: impl Into<String>, data: Value) -> Self {
        Self {
            status: "success",
            message: message.into(),
            data,
        }
    }

    /// Returns the outcome of a command that was not carried out.
    pub fn error(message: impl Into<String>) -> Self {
        Self {
            status: "error",
            message: message.into(),
            data: Value::Null,
        }
    }
}

/// Splits the line of a command; its slash may be absent.
pub fn command_line(command: &NexusCommand) -> NexusCommandLine {
    let given = command.command.trim().trim_start_matches('/');
    let (name, words) = given.split_once(char::is_whitespace).unwrap_or((given, ""));
    let mut all: Vec<&str> = Some(words.trim())
        .filter(|words| !words.is_empty())
        .into_iter()
        .collect();
    all.extend(command.args.iter().map(String::as_str));
    let words = all.join(" ");
    NexusCommandLine {
        line: format!("/{name} {words}").trim_end().to_owned(),
        name: name.to_owned(),
        words,
    }
}

/// Returns the part that carries out the command with this name.
pub fn place_of(name: &str) -> NexusCommandPlace {
    match OF_NEXUS.iter().find(|(known, ..)| *known == name) {
        // A client shows its own help; one that asks the server for it gets the list.
        Some(("help", ..)) => NexusCommandPlace::Here,
        Some((_, "client", _)) => NexusCommandPlace::Client,
        Some((_, _, Some(paths))) => NexusCommandPlace::Request(paths.read),
        Some(_) => NexusCommandPlace::Here,
        None => NexusCommandPlace::Session,
    }
}

/// Returns the definitions in NEXUS's form, made of the server's own: NEXUS's commands, and those of files
/// and reactors. The other commands of the server are for its own programs.
pub fn definitions_document(own: &Value) -> Value {
    let own = || own.as_array().into_iter().flatten();
    let of_nexus = OF_NEXUS.iter().filter_map(|(name, handler, paths)| {
        let found = own().find(|command| command["name"] == *name)?;
        Some(definition(found, handler, *paths))
    });
    let others = own()
        .filter(|command| command["origin"] != "built_in")
        .map(|command| definition(command, "server", None));
    of_nexus.chain(others).collect()
}

fn definition(own: &Value, handler: &str, paths: Option<RequestPaths>) -> Value {
    let mut definition = json!({
        "name": own["name"],
        "description": own["description"],
        "usage": own["usage"][0],
        "handler": handler,
        // Callers prove their key when they connect, so no command is signed.
        "requiresSignature": false,
        "requiresGUI": own["requires_gui"],
        "examples": own["examples"],
    });
    if let Some(RequestPaths { read, change }) = paths {
        definition["restOptions"] = json!({"getEndpoint": read, "postEndpoint": change, "method": "GET"});
    }
    definition
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(command: &str, args: &[&str]) -> NexusCommandLine {
        command_line(&NexusCommand {
            command: command.into(),
            args: args.iter().map(|word| (*word).to_owned()).collect(),
        })
    }

    /// The first three lines are written down from NEXUS's code; the others are made up.
    #[test]
    fn a_line_has_a_name_and_words() {
        for (command, args, line, name, words) in [
            ("/ping", &[][..], "/ping", "ping", ""),
            ("ping", &[], "/ping", "ping", ""),
            ("/identity delete", &[], "/identity delete", "identity", "delete"),
            (
                " /tell  me more ",
                &["now"],
                "/tell me more now",
                "tell",
                "me more now",
            ),
            ("/", &[], "/", "", ""),
        ] {
            let parts = given(command, args);
            let expected = NexusCommandLine {
                line: line.into(),
                name: name.into(),
                words: words.into(),
            };
            assert_eq!(parts, expected, "{command:?}");
        }
    }

    /// The names and the handlers are NEXUS's.
    #[test]
    fn commands_have_the_handlers_of_nexus() {
        for (name, place) in [
            ("ping", NexusCommandPlace::Here),
            ("identity", NexusCommandPlace::Here),
            ("help", NexusCommandPlace::Here),
            ("clear", NexusCommandPlace::Client),
            ("theme", NexusCommandPlace::Client),
            ("config", NexusCommandPlace::Request("/api/v1/config")),
            ("prompt", NexusCommandPlace::Request("/api/v1/prompts")),
            ("history", NexusCommandPlace::Request("/api/v1/messages")),
            ("standup", NexusCommandPlace::Session),
        ] {
            assert_eq!(place_of(name), place, "{name}");
        }
    }

    /// Made up; the names of the fields are NEXUS's.
    #[test]
    fn definitions_have_the_fields_of_nexus() {
        let own = json!([
            {"name": "config", "description": "settings", "usage": ["/config"], "handler": "rest",
             "requires_signature": true, "requires_gui": false, "examples": [], "origin": "built_in"},
            {"name": "rewind", "description": "go back", "usage": ["/rewind"], "handler": "client",
             "requires_signature": false, "requires_gui": false, "examples": [], "origin": "built_in"},
            {"name": "standup", "description": "a report", "usage": ["/standup [DAY]"], "handler": "server",
             "requires_signature": true, "requires_gui": false, "examples": [], "origin": "file"},
        ]);
        assert_eq!(
            definitions_document(&own),
            json!([
                {"name": "config", "description": "settings", "usage": "/config", "handler": "rest",
                 "requiresSignature": false, "requiresGUI": false, "examples": [],
                 "restOptions": {"getEndpoint": "/api/v1/config", "postEndpoint": "/api/v1/config",
                                 "method": "GET"}},
                {"name": "standup", "description": "a report", "usage": "/standup [DAY]", "handler": "server",
                 "requiresSignature": false, "requiresGUI": false, "examples": []},
            ])
        );
    }
}
