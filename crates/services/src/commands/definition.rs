//! The definitions of commands as data, made from the table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::handling::{CommandHandler, RestOptions};
use super::handling::{Handling, handling, requires_gui};
use super::table::{COMMAND_GROUPS, COMMAND_NAMES, PAGE_COMMANDS};

/// Examples of commands whose use is not plain from their form.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("approvals", &["/approvals test bash: rm -rf build"]),
    (
        "compact",
        &["/compact the decisions about the schema", "/compact undo"],
    ),
    ("config", &["/config", "/config all"]),
    ("help", &["/help rewind", "/help keys"]),
    ("memory", &["/memory add deploys go over staging"]),
    ("model", &["/model sonnet"]),
    ("plan", &["/plan move the tests to their crates", "/plan off"]),
    ("rewind", &["/rewind", "/rewind undo"]),
    ("usage", &["/usage day"]),
];

/// The source of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandOrigin {
    /// The program.
    BuiltIn,
    /// A file of the person or of the folder.
    File,
    /// A reactor that is attached to the runtime.
    Reactor,
}

/// A command, for programs that show and call it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommandDefinition {
    /// The name, without a slash.
    pub name: String,
    /// The description.
    pub description: String,
    /// Its forms: `/rewind [N]`, `/rewind undo`.
    pub usage: Vec<String>,
    /// The part that carries it out.
    pub handler: CommandHandler,
    /// The `command` of the `system_command` that carries it out, if the handler is `server`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_command: Option<String>,
    /// The requests that carry it out, if the handler is `rest`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<RestOptions>,
    /// Whether the caller has to be signed in.
    pub requires_signature: bool,
    /// Whether only a graphical page has a use for it.
    pub requires_gui: bool,
    /// Whether a chat in a terminal has it, too.
    pub in_chat: bool,
    /// Lines that a person could type.
    pub examples: Vec<String>,
    /// The source.
    pub origin: CommandOrigin,
}

impl CommandDefinition {
    /// A command of a file: the server sends the text of the file, with the words of the person, as an input.
    pub fn of_file(name: &str, description: &str, argument_hint: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            usage: vec![format!("/{name} {argument_hint}").trim_end().to_owned()],
            handler: CommandHandler::Server,
            system_command: Some(name.to_owned()),
            rest: None,
            requires_signature: true,
            requires_gui: false,
            in_chat: true,
            examples: Vec::new(),
            origin: CommandOrigin::File,
        }
    }

    /// A command that an attached reactor serves.
    pub fn of_reactor(name: &str, description: &str, argument_hint: &str) -> Self {
        Self {
            in_chat: false,
            origin: CommandOrigin::Reactor,
            ..Self::of_file(name, description, argument_hint)
        }
    }

    /// A built-in command with the forms that are about it.
    fn built_in(name: &str, forms: &[(&str, &str)], in_chat: bool) -> Self {
        let Handling { handler, frame, rest } = handling(name);
        let examples = EXAMPLES.iter().find(|(of, _)| *of == name);
        let examples = examples.map_or(&[] as &[&str], |(_, examples)| *examples);
        Self {
            name: name.to_owned(),
            description: forms
                .first()
                .map(|(_, does)| *does)
                .unwrap_or_default()
                .to_owned(),
            usage: forms.iter().map(|(usage, _)| (*usage).to_owned()).collect(),
            handler,
            system_command: frame.map(str::to_owned),
            rest,
            requires_signature: handler != CommandHandler::Client && name != "ping",
            requires_gui: requires_gui(name),
            in_chat,
            examples: examples.iter().map(|line| (*line).to_owned()).collect(),
            origin: CommandOrigin::BuiltIn,
        }
    }
}

/// The definitions of all built-in commands: those of a chat, the most used first, and those of pages.
pub fn definitions() -> Vec<CommandDefinition> {
    let rows = || COMMAND_GROUPS.iter().flat_map(|(_, rows)| rows.iter().copied());
    let of_chat = COMMAND_NAMES.iter().map(|name| {
        let forms: Vec<(&str, &str)> = rows().filter(|(usage, _)| is_form_of(usage, name)).collect();
        CommandDefinition::built_in(name, &forms, true)
    });
    let of_pages = PAGE_COMMANDS.iter().map(|form| {
        let name = form.0.trim_start_matches('/');
        CommandDefinition::built_in(name, &[*form], false)
    });
    of_chat.chain(of_pages).collect()
}

/// Returns whether `/pin [N], /unpin [N]` is a form of a command.
fn is_form_of(usage: &str, name: &str) -> bool {
    let mut words = usage.split([' ', ',']);
    words.any(|word| word.strip_prefix('/') == Some(name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_is_defined_once_and_says_what_it_does() {
        let all = definitions();
        let names: BTreeSet<&str> = all.iter().map(|command| command.name.as_str()).collect();
        assert_eq!(names.len(), all.len(), "no name twice");
        for command in &all {
            assert!(
                !command.description.is_empty() && !command.usage.is_empty(),
                "{command:?}"
            );
            let is_called = |line: &String| is_form_of(line, &command.name);
            assert!(command.usage.iter().all(is_called), "{command:?}");
            assert!(command.examples.iter().all(is_called), "{command:?}");
            let server = command.handler == CommandHandler::Server;
            assert_eq!(command.system_command.is_some(), server, "{command:?}");
            assert_eq!(command.rest.is_some(), command.handler == CommandHandler::Rest);
        }
        for name in [
            "help", "ping", "identity", "config", "prompt", "history", "clear", "theme", "memory",
        ] {
            assert!(names.contains(name), "{name}");
        }
    }

    #[test]
    fn each_row_of_the_table_is_a_form_of_a_command() {
        for (_, rows) in COMMAND_GROUPS {
            for (usage, _) in *rows {
                assert!(
                    COMMAND_NAMES.iter().any(|name| is_form_of(usage, name)),
                    "{usage}"
                );
            }
        }
    }

    #[test]
    fn commands_that_read_or_change_what_is_a_persons_need_a_signature() {
        let find = |name: &str| {
            definitions()
                .into_iter()
                .find(|command| command.name == name)
                .unwrap()
        };
        for name in ["config", "prompt", "history", "title", "usage"] {
            assert!(find(name).requires_signature, "{name}");
        }
        for name in ["help", "ping", "theme"] {
            assert!(!find(name).requires_signature, "{name}");
        }
        assert!(find("theme").requires_gui);
    }
}
