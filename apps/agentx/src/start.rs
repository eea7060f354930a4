//! From what was typed to settings: which flags stand for which key, and what is said about the configuration.

use std::path::PathBuf;

use agentx::assembly::{Misnamed, misnamed_tools};
use agentx::config::{ConfigError, Flag, Loaded, Places, Request, check_environment, load};

use crate::args::{AgentArgs, Approve, Global};
use crate::console::Console;
use crate::error::CliError;
use crate::folder;
use crate::render::clean::visible;

/// Reads the environment; a value that is not UTF-8 counts as not set.
pub(crate) fn lookup(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Where things are for this command line.
pub(crate) fn places(global: &Global) -> Result<Places, CliError> {
    let cwd = match &global.cwd {
        Some(cwd) if !names_server(global) => cwd.clone(),
        _ => std::env::current_dir().map_err(|error| CliError::Directory {
            path: "the current directory".into(),
            what: error.to_string(),
        })?,
    };
    match Places::find(&cwd, &lookup) {
        Err(ConfigError::File { path, what }) => Err(CliError::Directory {
            path: path.display().to_string(),
            what,
        }),
        found => Ok(found?),
    }
}

/// Whether a server is named, on the command line or in the environment: then `--cwd` is a directory there.
fn names_server(global: &Global) -> bool {
    let named = global.connect.clone().or_else(|| lookup("AGENTX_CONNECT"));
    named.is_some_and(|server| !server.is_empty() && server != "local")
}

/// All settings for this command line.
pub(crate) fn settings(global: &Global, agent: &AgentArgs) -> Result<Loaded, CliError> {
    let places = places(global)?;
    let mut loaded = load(Request {
        places,
        lookup: &lookup,
        flags: flags(global, agent),
    })?;
    let set: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let set = set.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    loaded.warnings.extend(check_environment(set));
    Ok(loaded)
}

/// The same, and what a person should know about it goes to standard error.
pub(crate) fn settings_aloud(
    global: &Global,
    agent: &AgentArgs,
    console: &mut Console,
) -> Result<Loaded, CliError> {
    let loaded = settings(global, agent)?;
    console.say(&notes(&loaded));
    Ok(loaded)
}

/// The same, where an agent is going to work: what is left out of a folder that is not trusted is said too.
pub(crate) fn settings_of_run(
    global: &Global,
    agent: &AgentArgs,
    console: &mut Console,
) -> Result<Loaded, CliError> {
    let loaded = settings_aloud(global, agent, console)?;
    console.say(&folder::note(&loaded));
    console.say(&check_tools(&loaded)?);
    Ok(loaded)
}

/// Refuses settings whose rules would let calls through because they name a tool that does not exist. What else they name wrongly, in
/// lines for the person. Rules of a server are the server's matter.
pub(crate) fn check_tools(loaded: &Loaded) -> Result<String, CliError> {
    if loaded.settings.connect.is_some() {
        return Ok(String::new());
    }
    let misnamed = misnamed_tools(loaded);
    if !misnamed.mistakes.is_empty() {
        return Err(ConfigError::Mistakes(misnamed.mistakes).into());
    }
    Ok(warnings(&misnamed))
}

/// The warnings about names of tools that no tool has, in lines for the person, whether there are mistakes beside them or not.
pub(crate) fn tool_warnings(loaded: &Loaded) -> String {
    match loaded.settings.connect {
        Some(_) => String::new(),
        None => warnings(&misnamed_tools(loaded)),
    }
}

fn warnings(misnamed: &Misnamed) -> String {
    let lines = misnamed.warnings.iter();
    lines.map(|warning| format!("warning: {warning}\n")).collect()
}

/// What a person should know about the configuration.
pub(crate) fn notes(loaded: &Loaded) -> String {
    let mut text = String::new();
    for warning in &loaded.warnings {
        text.push_str(&format!("warning: {}\n", visible(&warning.to_string())));
    }
    for mistake in &loaded.broken {
        text.push_str(&format!(
            "warning: this folder is not trusted, so its file is left out: {}\n",
            visible(&mistake.to_string())
        ));
    }
    for ignored in &loaded.ignored {
        text.push_str(&format!(
            "note: `{}` is left out: {} ({})\n",
            visible(&ignored.key),
            ignored.why,
            visible(&ignored.origin.to_string())
        ));
    }
    if loaded.ignored.iter().any(|ignored| ignored.waits_for_trust) {
        text.push_str("hint: `agentx config trust --show` shows what the folder brings, `agentx config trust` takes all of it\n");
    }
    text
}

fn flags(global: &Global, agent: &AgentArgs) -> Vec<Flag> {
    let approve = match (agent.approve, agent.yes) {
        (_, true) => Some(("--yes", "auto")),
        (Some(Approve::Ask), _) => Some(("--approve", "ask")),
        (Some(Approve::Auto), _) => Some(("--approve", "auto")),
        (Some(Approve::Deny), _) => Some(("--approve", "deny")),
        (None, _) => None,
    };
    let data = global
        .data
        .as_ref()
        .map(|path| absolute(path).to_string_lossy().into_owned());
    let given = [
        ("--model", "model", agent.model.clone()),
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
    let flag = |name: &str, key, value: String| Flag {
        name: name.to_owned(),
        key,
        value,
    };
    let mut flags: Vec<Flag> = given
        .into_iter()
        .filter_map(|(name, key, value)| Some(flag(name, key, value?)))
        .collect();
    if agent.plain {
        flags.push(flag("--plain", "chat.screen_reader", "true".to_owned()));
    }
    flags.extend(approve.map(|(name, word)| flag(name, "approval", word.to_owned())));
    flags
}

/// A path of the command line starts in the directory of the shell, whatever `--cwd` says.
fn absolute(path: &PathBuf) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.clone())
}
