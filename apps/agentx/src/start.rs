//! Turns the command line into settings: maps flags to keys, and prints notes about the configuration.

use std::path::PathBuf;

use agentx::config::{
    CommandLineSetting, ConfigError, ConfigPaths, LoadRequest, Loaded, load, load_whatever_workspace,
};

use crate::args::{AgentArgs, Approve, Global};
pub(crate) use crate::configuration::{
    SettingsRead, check_tools, lookup, notes, notes_after_change, tool_warnings, warning_lines,
    wrong_variables,
};
use crate::console::Console;
use crate::error::ChatError;
use crate::folder;

/// Returns the paths of files for this command line.
pub(crate) fn places(global: &Global) -> Result<ConfigPaths, ChatError> {
    let cwd = match &global.cwd {
        Some(cwd) if !names_server(global) => cwd.clone(),
        _ => std::env::current_dir().map_err(|error| ChatError::Directory {
            path: "the current directory".into(),
            what: error.to_string(),
        })?,
    };
    match ConfigPaths::find(&cwd, &lookup) {
        Err(ConfigError::File { path, what }) => Err(ChatError::Directory {
            path: path.display().to_string(),
            what,
        }),
        found => Ok(found?),
    }
}

/// Returns whether a server is named, on the command line or in the environment: then `--cwd` is a directory
/// there.
fn names_server(global: &Global) -> bool {
    let named = global.connect.clone().or_else(|| lookup("AGENTX_CONNECT"));
    named.is_some_and(|server| !server.is_empty() && server != "local")
}

/// All settings for this command line.
pub(crate) fn settings(global: &Global, agent: &AgentArgs) -> Result<Loaded, ChatError> {
    settings_by(load, global, agent)
}

/// Returns the settings for a command that only reads the folder or stored data: no mistake in the folder's
/// own file stops it, even if the file is trusted.
pub(crate) fn settings_to_look(global: &Global) -> Result<Loaded, ChatError> {
    settings_by(load_whatever_workspace, global, &AgentArgs::default())
}

/// Returns what this command line says about where the settings are, and what they are.
pub(crate) fn request(global: &Global, agent: &AgentArgs) -> Result<LoadRequest<'static>, ChatError> {
    Ok(LoadRequest {
        places: places(global)?,
        lookup: &lookup,
        flags: flags(global, agent),
    })
}

fn settings_by(
    load: fn(LoadRequest<'_>) -> Result<Loaded, ConfigError>,
    global: &Global,
    agent: &AgentArgs,
) -> Result<Loaded, ChatError> {
    let mut loaded = load(request(global, agent)?)?;
    loaded.warnings.extend(wrong_variables());
    Ok(loaded)
}

/// Reads the settings for a command that runs no agent, and prints the notes that concern it.
pub(crate) fn settings_aloud(
    read: SettingsRead,
    global: &Global,
    console: &mut Console,
) -> Result<Loaded, ChatError> {
    let loaded = settings(global, &AgentArgs::default())?;
    console.say_once(&notes(&loaded, read));
    Ok(loaded)
}

/// Reads the settings for a command that runs an agent, and also lists the files of an untrusted folder that
/// are not loaded.
pub(crate) fn settings_of_run(
    global: &Global,
    agent: &AgentArgs,
    console: &mut Console,
) -> Result<Loaded, ChatError> {
    let loaded = settings(global, agent)?;
    console.say_once(&notes(&loaded, SettingsRead::All));
    console.say_once(&folder::note(&loaded));
    console.say_once(&folder::note_of_claude(&loaded));
    console.say_once(&check_tools(&loaded)?);
    console.say_once(&crate::mcp_changes::note(&loaded.settings));
    Ok(loaded)
}

fn flags(global: &Global, agent: &AgentArgs) -> Vec<CommandLineSetting> {
    let approve = match (agent.approve, agent.yes) {
        (_, true) => Some(("--yes", "auto")),
        (Some(Approve::Ask), _) => Some(("--approval", "ask")),
        (Some(Approve::AcceptEdits), _) => Some(("--approval", "accept-edits")),
        (Some(Approve::Auto), _) => Some(("--approval", "auto")),
        (Some(Approve::Deny), _) => Some(("--approval", "deny")),
        (None, _) => None,
    };
    let data = global
        .data
        .as_ref()
        .map(|path| absolute(path).to_string_lossy().into_owned());
    let given = [
        ("--model", "model", agent.model.clone()),
        (
            "--fallback",
            "fallbacks",
            agent.fallbacks.as_ref().map(|names| names.join(",")),
        ),
        ("--system", "system_prompt", agent.system.clone()),
        (
            "--max-iterations",
            "limits.max_iterations",
            agent.max_iterations.clone(),
        ),
        ("--max-cost", "limits.max_cost", agent.max_cost.clone()),
        ("--timeout", "limits.timeout", agent.timeout.clone()),
        ("--data", "data_dir", data),
        ("--connect", "connect", global.connect.clone()),
    ];
    let flag = |name: &str, key, value: String| CommandLineSetting {
        name: name.to_owned(),
        key,
        value,
    };
    let mut flags: Vec<CommandLineSetting> = given
        .into_iter()
        .filter_map(|(name, key, value)| Some(flag(name, key, value?)))
        .collect();
    if agent.plain {
        flags.push(flag("--screen-reader", "chat.screen_reader", "true".to_owned()));
    }
    flags.extend(approve.map(|(name, word)| flag(name, "approval", word.to_owned())));
    flags
}

/// A path of the command line starts in the directory of the shell, whatever `--cwd` says.
fn absolute(path: &PathBuf) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.clone())
}
