//! `agentx chat`, `agentx resume` and `agentx` alone: a conversation in a terminal, or in lines without one.

use agentx::config::Settings;
use tokio::sync::mpsc;

use crate::args::{AgentArgs, Global};
use crate::chat::appearance;
use crate::chat_opening::{ChatRequest, hold_chat, read_inputs};
use crate::cmd::block_on;
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::folder::{self, FolderDecision};
use crate::logging;
use crate::mcp_changes;
use crate::models::model_question::ask_for_model;
use crate::other_directory::place_of;
use crate::picker::{self, PickerOutcome, PickerScope};
use crate::server_patience::ServerPatience;
use crate::session_opening::Target;
use crate::start::{self, SettingsRead};
use crate::terminal::TerminalInput;

/// Opens the chat, which begins with `prompt`.
pub(crate) fn run(
    global: &Global,
    agent: &AgentArgs,
    (target, fork): (Target, bool),
    prompt: &[String],
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let mut loaded = start::settings(global, agent)?;
    match folder::ask(&loaded, console)? {
        FolderDecision::NotAsked => {}
        FolderDecision::Said => loaded = start::settings(global, agent)?,
        FolderDecision::Leave => return Ok(Exit::Ok),
    }
    console.say(&start::notes(&loaded, SettingsRead::All));
    console.say(&folder::note(&loaded));
    console.say(&folder::note_of_claude(&loaded));
    console.say(&start::check_tools(&loaded)?);
    console.say(&mcp_changes::note(&loaded.settings));
    logging::start(&loaded.settings, console.terminal.output)?;
    appearance::settle(&loaded.settings.chat, console);
    let held = block_on(async {
        let mut typed = None;
        let target = match target {
            Target::Chosen if console.terminal.input && console.terminal.output => {
                let inputs = typed.insert(read_inputs(console));
                match choose(global, &loaded.settings, inputs, console).await? {
                    PickerOutcome::Session(id) => Target::Id(id.to_string()),
                    PickerOutcome::Nothing(exit) => return Ok(Err(exit)),
                }
            }
            target => target,
        };
        let names_none = target == Target::New && agent.agent.is_none();
        if names_none && !ask_for_model(&mut loaded.settings, console).await? {
            return Ok(Err(Exit::Ok));
        }
        let place = place_of(
            global,
            agent,
            &mut loaded,
            &target,
            ServerPatience::default(),
            console,
        )
        .await?;
        place.say_ended_trials(console).await;
        let request = ChatRequest {
            target,
            fork,
            wanted: agent.wanted(),
            auto_approve: agent.yes,
            prompt: prompt.join(" "),
            inputs: typed,
        };
        let ended = hold_chat(&place, &loaded, request, console).await;
        place.end_servers().await;
        let ended = ended?;
        Ok::<_, ChatError>(Ok(ended))
    })?;
    match held {
        Ok(ended) => ended.say_farewell(console),
        Err(exit) => Ok(exit),
    }
}

async fn choose(
    global: &Global,
    settings: &Settings,
    inputs: &mut mpsc::Receiver<TerminalInput>,
    console: &mut Console,
) -> Result<PickerOutcome, ChatError> {
    let place = CommandTarget::of(settings, global.cwd.as_deref()).await?;
    place.introduce(console);
    let has_keys = console.terminal.capable;
    picker::pick(&place, settings, console, inputs, has_keys, PickerScope::Here).await
}
