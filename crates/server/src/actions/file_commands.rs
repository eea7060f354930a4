//! Commands that do not belong to the program: those that files of the operator describe, which become
//! inputs, and those that attached reactors serve.
//!
//! Members neither see nor call those of files, because the files are the operator's own.

use agentx_config::PromptFile;
use agentx_services::{COMMAND_NAMES, CommandDefinition, definitions};
use serde_json::Value;

use crate::auth::caller::Caller;
use crate::state::ServerState;

/// Returns the definitions of all commands that the caller may use: the program's first, then those of files
/// and reactors.
pub(crate) fn all_definitions(state: &ServerState, caller: &Caller) -> Vec<CommandDefinition> {
    let mut all = definitions();
    let served = state.runtime().commands().served();
    let of_reactors = served.iter().map(|command| {
        CommandDefinition::of_reactor(&command.name, &command.description, &command.argument_hint)
    });
    for command in definitions_of_files(state, caller).into_iter().chain(of_reactors) {
        if all.iter().all(|known| known.name != command.name) {
            all.push(command);
        }
    }
    all
}

/// Returns the definitions of the commands in files that the caller may use.
fn definitions_of_files(state: &ServerState, caller: &Caller) -> Vec<CommandDefinition> {
    with_files(state, caller, |files| {
        let define = |file: &&PromptFile| {
            CommandDefinition::of_file(&file.name, &file.description, &file.argument_hint)
        };
        files.iter().map(define).collect()
    })
}

/// Returns the input that a command of a file makes with these arguments; `None` if there is no such command.
/// The arguments are a text, or an object with the text as `words`.
pub(crate) fn input_of_file(
    state: &ServerState,
    caller: &Caller,
    name: &str,
    args: &Value,
) -> Option<String> {
    let words = args.as_str().or_else(|| args.get("words")?.as_str());
    with_files(state, caller, |files| {
        let file = files.iter().find(|file| file.name == name);
        file.map(|file| file.message(words.unwrap_or_default()))
    })
}

/// Gives the commands of files that the caller may use, without those whose name the program has.
fn with_files<T>(state: &ServerState, caller: &Caller, uses: impl FnOnce(&[&PromptFile]) -> T) -> T {
    if !caller.operator {
        return uses(&[]);
    }
    let files = state.settings().prompt_files();
    let mut commands = files.commands();
    commands.retain(|file| !COMMAND_NAMES.contains(&file.name.as_str()));
    uses(&commands)
}
