//! `agentx agents`: agents that files describe.

use std::collections::BTreeSet;
use std::path::Path;

use agentx::agent_files::{DefinitionMistake, Library, Scaffold, scaffold};
use agentx::assembly::{file_tools, user_folder, whole_library, workspace_folder};
use agentx::config::{Settings, refuse_links};
use agentx::luau_tools;
use agentx::runtime::{NamedAgent, RuntimeError};

use crate::agent_list::{find_agent, list_agents, show_agent};
use crate::args::{AgentKindArg, AgentsCommand, Global, NewAgentArgs};
use crate::cmd::{only_here, with_runtime};
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::models::foreign_models::replaced_models;
use crate::parameter_names::names_refused;
use crate::render::clean::visible;
use crate::render::units::counted;
use crate::start::{self, SettingsRead::All};
use crate::untrusted_files::{agent_names, not_trusted, unless_untrusted};
use crate::unwritten::unwritten;

/// Does what was asked for.
pub(crate) fn run(command: AgentsCommand, global: &Global, console: &mut Console) -> Result<Exit, ChatError> {
    match command {
        AgentsCommand::Check => only_here("agents check", global)?,
        AgentsCommand::New(_) => only_here("agents new", global)?,
        AgentsCommand::List | AgentsCommand::Show { .. } => {}
    }
    if let AgentsCommand::New(args) = command {
        let loaded = start::settings_aloud(All, global, console)?;
        return new(&loaded.settings, &args, console);
    }
    let json = global.json;
    with_runtime(All, global, console, async |place, loaded, console| {
        let settings = &loaded.settings;
        match command {
            AgentsCommand::List => list(place, settings, json, console).await,
            AgentsCommand::Check => check(place, &loaded.settings, json, console).await,
            AgentsCommand::Show { name } => {
                let agent = find_agent(place, settings, &name).await;
                let agent = agent.map_err(|error| unless_untrusted(error, place.library(), settings))?;
                show_agent(&agent, json, console)
            }
            AgentsCommand::New(_) => Ok(Exit::Ok),
        }
    })
}

async fn list(
    place: &CommandTarget,
    settings: &Settings,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let agents = place.runtime().agents().await?;
    if json {
        console.out_pretty(&agents)?;
        return Ok(Exit::Ok);
    }
    warn_of_mistakes(place.mistakes(), console);
    let not_trusted = not_trusted(place.library(), settings, agent_names);
    console.say(&not_trusted);
    if agents.is_empty() && not_trusted.is_empty() {
        console.say(match place.library() {
            Some(_) if !place.mistakes().is_empty() => "no agent file is valid\n",
            Some(_) => "no agent files here; `agentx agents new NAME` creates one\n",
            None => "the server has no agent files\n",
        });
    }
    list_agents(place, settings, agents, console).await?;
    Ok(Exit::Ok)
}

/// Says that files have mistakes, if they do.
pub(crate) fn warn_of_mistakes(mistakes: &[DefinitionMistake], console: &mut Console) {
    if !mistakes.is_empty() {
        console.say(&format!(
            "warning: the files have {}; `agentx agents check` shows them\n",
            counted(mistakes.len(), "mistake")
        ));
    }
}

/// Reports every mistake of all files.
pub(crate) async fn check(
    place: &CommandTarget,
    settings: &Settings,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let Some(loaded) = place.library() else {
        return Ok(Exit::Ok);
    };
    // A check for mistakes does not need trust in the files.
    let described = file_tools(loaded);
    let mut own = place.runtime().tools();
    own.retain(|tool| !described.contains_key(&tool.name));
    let whole = (!settings.folder.trusted_by_env).then(|| whole_library(settings, &own));
    let library = whole.as_ref().unwrap_or(loaded);
    let mut mistakes = place.mistakes().to_vec();
    if let Some(whole) = &whole {
        mistakes.retain(|mistake| !loaded.check().contains(mistake));
        mistakes.extend_from_slice(whole.check());
        mistakes.sort();
    }
    let mistakes = &mistakes[..];
    if json {
        console.out_pretty(&mistakes)?;
    } else {
        for mistake in mistakes {
            console.out(&format!("{}\n", visible(&mistake.to_string())))?;
        }
    }
    notes(place, library, console).await;
    console.say(&replaced_models(library, settings));
    let files: BTreeSet<&Path> = mistakes.iter().map(|mistake| mistake.file.as_path()).collect();
    let wrong = match mistakes.len() {
        0 => "no mistakes".to_owned(),
        count => format!(
            "{} in {}",
            counted(count, "mistake"),
            counted(files.len(), "file")
        ),
    };
    console.say(&format!(
        "{}: {}, {}, {wrong}\n",
        counted(library.files().count(), "file"),
        counted(library.agents().len(), "agent"),
        counted(library.tools().len(), "tool")
    ));
    Ok(if mistakes.is_empty() {
        Exit::Ok
    } else {
        Exit::Config
    })
}

/// Prints notes about files that are valid but not used as they may seem.
async fn notes(place: &CommandTarget, library: &Library, console: &mut Console) {
    for shadow in library.shadows() {
        let (shadowed, used) = (shadow.shadowed.to_string_lossy(), shadow.used.to_string_lossy());
        let (shadowed, used) = (visible(&shadowed), visible(&used));
        console.say(&format!(
            "note: {shadowed} is not used: {used} has the same name\n"
        ));
    }
    for passed in library.passed_over() {
        let path = visible(&passed.path.to_string_lossy());
        let why = visible(&passed.why.to_string());
        console.say(&format!("note: {path} is not read: {why}\n"));
    }
    for remark in library.remarks() {
        console.say(&format!("note: {}\n", visible(&remark.to_string())));
    }
    for (name, tool) in file_tools(library) {
        let refused = names_refused(&tool.definition.input_schema());
        if !refused.is_empty() {
            let (file, names) = (
                visible(&tool.file.to_string_lossy()),
                visible(&format!("{refused:?}")),
            );
            console.say(&format!(
                "note: {file}: Anthropic refuses these names of parameters of {}: {names}; it takes 1 to 64 of a-z, A-Z, 0-9, _, . and -\n",
                visible(&name)
            ));
        }
    }
    let wrong: BTreeSet<&Path> = place.mistakes().iter().map(|one| one.file.as_path()).collect();
    // A machine may lack a model or a variable that another has. Files with mistakes are reported so.
    let whole = |name: &str| library.files_of(name).is_disjoint(&wrong);
    for (name, loaded) in library.agents().iter().filter(|(name, _)| whole(name)) {
        if let Err(RuntimeError::BadAgent { what, .. }) =
            place.runtime().agent(&NamedAgent::new(name.as_str())).await
        {
            let (file, what) = (visible(&loaded.file.to_string_lossy()), visible(&what));
            console.say(&format!("note: {file} cannot be used on this machine: {what}\n"));
        }
    }
}

fn new(settings: &Settings, args: &NewAgentArgs, console: &mut Console) -> Result<Exit, ChatError> {
    let kind = match args.kind {
        AgentKindArg::React => Scaffold::Agent,
        AgentKindArg::Match => Scaffold::Router,
    };
    write(settings, kind, &args.name, args.user, console)
}

/// Writes a starter file, and the files that editors need.
pub(crate) fn write(
    settings: &Settings,
    kind: Scaffold,
    name: &str,
    user: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let folder = if user {
        user_folder(settings)
    } else {
        workspace_folder(settings)
    };
    let written = scaffold(kind, name).map_err(|mistakes| {
        let first = mistakes.first().map(|mistake| mistake.message.clone());
        ChatError::usage(
            first.unwrap_or_else(|| format!("{name:?} cannot be used as a file name")),
            "the name is also the name of the file, without folder and extension",
        )
    })?;
    let root = &settings.workspace_root;
    let types = folder.join("agentx.d.luau");
    let mut files = written.into_iter().map(|(path, text)| (folder.join(path), text));
    let Some((first, text)) = files.next() else {
        return Ok(Exit::Ok);
    };
    let rest: Vec<_> = files.collect();
    if !user {
        // All of them before the first is written.
        for path in [&first, &types]
            .into_iter()
            .chain(rest.iter().map(|(path, _)| path))
        {
            refuse_links(root, path)?;
        }
    }
    if first.symlink_metadata().is_ok() {
        return Err(ChatError::usage(
            format!("{} already exists", first.display()),
            "choose another name, or edit that file",
        ));
    }
    put(&first, &text)?;
    console.out(&format!("{}\n", first.display()))?;
    for (path, text) in rest {
        if path.symlink_metadata().is_err() {
            put(&path, &text)?;
        }
    }
    write_types(&types, console)
}

/// Writes the types of scripts for editors. Overwrites only a file of an earlier version.
fn write_types(path: &Path, console: &mut Console) -> Result<Exit, ChatError> {
    let text = luau_tools::types();
    let sign = text.lines().next();
    let there = match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => Some(String::new()),
        _ => std::fs::read_to_string(path).ok(),
    };
    match there {
        Some(there) if there == text => {}
        Some(there) if there.lines().next() != sign => {
            console.say(&format!(
                "note: {} was not written by AgentX and is left unchanged; no editor settings for scripts were written\n",
                path.display()
            ));
        }
        _ => put(path, text)?,
    }
    Ok(Exit::Ok)
}

fn put(path: &Path, text: &str) -> Result<(), ChatError> {
    let failed = |error: std::io::Error| unwritten(&path.display().to_string(), &error);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, text).map_err(failed)
}
