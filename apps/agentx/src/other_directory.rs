//! A session that is continued from another directory than its own: the files and the configuration of its
//! own directory apply, and AgentX reports what is missing there.

use std::path::{Path, PathBuf};

use agentx::assembly::tools_lacking;
use agentx::config::{ConfigPaths, Loaded};
use agentx::types::{AgentConfig, SessionId};

use crate::args::{AgentArgs, Global};
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::default_model;
use crate::error::ChatError;
use crate::folder;
use crate::render::clean::visible;
use crate::seen_notes;
use crate::server_patience::ServerPatience;
use crate::session_opening::{self, Target};
use crate::sessions_here::SessionsHere;
use crate::start::{SettingsRead, check_tools, lookup, notes, settings};

/// Maximum number of mistakes in agent and tool files to report when an agent starts.
const MOST_MISTAKES: usize = 3;

/// The place that the settings name. If the session that is meant works in another directory of this machine,
/// settings and place become those of that directory, as if it had been named. Must be called inside an async
/// runtime; a server that cannot be reached is tried again for as long as `patience`. Reports mistakes in the
/// files of agents and tools there.
pub(crate) async fn place_of(
    global: &Global,
    agent: &AgentArgs,
    loaded: &mut Loaded,
    target: &Target,
    patience: ServerPatience,
    console: &mut Console,
) -> Result<CommandTarget, ChatError> {
    let place = find_place(global, agent, loaded, target, patience, console).await?;
    console.say(&broken_files(&place));
    Ok(place)
}

/// The model does not see a tool whose file has a mistake, so the person has to.
fn broken_files(place: &CommandTarget) -> String {
    let mistakes = place.mistakes();
    let lines = mistakes.iter().take(MOST_MISTAKES);
    let mut text: String = lines
        .map(|mistake| format!("warning: {}\n", visible(&mistake.to_string())))
        .collect();
    if let Some(more @ 1..) = mistakes.len().checked_sub(MOST_MISTAKES) {
        text.push_str(&format!("hint: `agentx agents check` shows {more} more\n"));
    }
    text
}

async fn find_place(
    global: &Global,
    agent: &AgentArgs,
    loaded: &mut Loaded,
    target: &Target,
    patience: ServerPatience,
    console: &mut Console,
) -> Result<CommandTarget, ChatError> {
    // An agent from a file may name its own model.
    if *target == Target::New && agent.agent.is_none() {
        default_model::settle(&mut loaded.settings, console).await?;
        default_model::check_configured(loaded)?;
    }
    let reaching = CommandTarget::of_within(&loaded.settings, global.cwd.as_deref(), patience);
    let address = loaded.settings.connect.as_deref();
    let place = patience
        .reach(address, reaching, |text| console.say(text))
        .await?;
    place.introduce(console);
    if place.remote().is_some() {
        return Ok(place);
    }
    let here = SessionsHere::of(&loaded.settings);
    // The command that opens it reports what is wrong with it.
    let Ok(Some(id)) = session_opening::find(&place, &loaded.settings, target).await else {
        return Ok(place);
    };
    let info = place.runtime().info(&id).await.ok();
    if let Some(what) = info.and_then(|info| here.belongs_to_another(&info)) {
        console.say(&format!("note: {what}\n"));
    }
    let Some(config) = place.agent_of_elsewhere(&loaded.settings, &id).await else {
        return Ok(place);
    };
    let there = PathBuf::from(&config.workspace);
    let root = ConfigPaths::find(&there, &lookup).map(|places| places.workspace_root);
    let place = match root {
        Ok(root) if root != loaded.settings.workspace_root => {
            drop(place);
            let there = Global {
                cwd: Some(there),
                ..global.clone()
            };
            let data_dir = loaded.settings.data_dir.clone();
            let said = std::mem::take(&mut loaded.warnings);
            *loaded = settings(&there, agent)?;
            loaded.warnings.retain(|warning| !said.contains(warning));
            console.say(&notes(loaded, SettingsRead::All));
            console.say(&folder::note(loaded));
            console.say(&check_tools(loaded)?);
            loaded.settings.data_dir = data_dir;
            CommandTarget::local(&loaded.settings).await?
        }
        _ => place,
    };
    console.say(&lacks(&place, &loaded.settings.data_dir, &id, &config));
    Ok(place)
}

/// Returns a note about tools that the session had and that are missing now; only once for the same tools.
fn lacks(place: &CommandTarget, data_dir: &Path, id: &SessionId, agent: &AgentConfig) -> String {
    let here = place.runtime().tools();
    let lacking = tools_lacking(agent, &here);
    if !seen_notes::is_news(data_dir, id, &lacking.join(", ")) {
        return String::new();
    }
    let workspace = &agent.workspace;
    format!(
        "note: the session works in {workspace}, which no longer defines these of its tools: {}\n\
         hint: put their files back into {workspace}/.agentx/tools and resume\n",
        lacking.join(", ")
    )
}
