//! `agentx chat`, `agentx resume` and `agentx` alone: a conversation in a terminal, or in lines where there is none.

use std::sync::Arc;

use agentx::config::{EditKeys, FolderTrust, Loaded, Settings};
use agentx::runtime::Session;
use agentx::types::{AgentConfig, Api, ApprovalMode, SessionId};
use agentx_terminal::{Editor, LineHistory};
use tokio::sync::mpsc;

use crate::args::{AgentArgs, Global};
use crate::chat::appearance;
use crate::chat::drawing::DepartedSession;
use crate::chat::screen::Screen;
use crate::chat::server_wait::Inputs;
use crate::chat::welcome::{Where, welcome};
use crate::chat::{Chat, ChatInterface};
use crate::cmd::block_on;
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::default_model;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::folder::{self, FolderDecision};
use crate::headless::result::ASKS_NOBODY;
use crate::logging;
use crate::new_agent::NewAgent;
use crate::other_directory::place_of;
use crate::other_server;
use crate::picker::{self, PickerOutcome};
use crate::render::conversation;
use crate::session_opening::{self, Target};
use crate::signals::Signals;
use crate::start;
use crate::terminal::{RawMode, TerminalInput, keys, lines};

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
    console.say(&start::notes(&loaded));
    console.say(&folder::note(&loaded));
    console.say(&start::check_tools(&loaded)?);
    logging::start(&loaded.settings, console.terminal.output)?;
    appearance::settle(&loaded.settings.chat, console);
    let (again, exit) = block_on(async {
        let mut typed = None;
        let target = match target {
            Target::Chosen if console.terminal.input && console.terminal.output => {
                let inputs = typed.insert(inputs(console));
                match choose(global, &loaded.settings, inputs, console).await? {
                    PickerOutcome::Session(id) => Target::Id(id.to_string()),
                    PickerOutcome::Nothing(exit) => return Ok((None, Ok(exit))),
                }
            }
            target => target,
        };
        let place = place_of(global, agent, &mut loaded, &target, console).await?;
        place.say_ended_trials(console).await;
        let ends = (target, typed, prompt.join(" "));
        let (left, exit) = chat(&place, &loaded, agent, ends, fork, console).await?;
        let again = left.map(|left| (place.command(&format!("resume {}", left.session)), left));
        Ok::<_, ChatError>((again, exit))
    })?;
    let mut exit = exit;
    if let Some((again, left)) = again {
        let (style, columns) = (console.err_style(), console.terminal.width);
        if let Some((error, stood)) = left.unsaved {
            let error = ChatError::Runtime(error.into());
            // An error that ended the chat is said at the end.
            if let Ok(exit) = &mut exit {
                console.complain(&error);
                *exit = error.exit();
            }
            if stood.runs {
                console.say(&style.warn(&conversation::stop_not_saved(stood.queued)));
            }
        }
        if left.queued > 0 {
            console.say(&style.dim(&conversation::stays_queued(left.queued)));
        }
        if let Some(jobs) = &left.jobs {
            console.say(&style.dim(jobs));
        }
        console.say(&style.dim(&conversation::go_on_with(&again, columns)));
    }
    exit
}

/// The session that the person chooses.
async fn choose(
    global: &Global,
    settings: &Settings,
    inputs: &mut mpsc::Receiver<TerminalInput>,
    console: &mut Console,
) -> Result<PickerOutcome, ChatError> {
    let place = CommandTarget::of(settings, global.cwd.as_deref()).await?;
    place.introduce(console);
    let has_keys = console.terminal.capable;
    picker::pick(&place, settings, console, inputs, has_keys).await
}

/// What a chat on this machine says of where it is.
fn here(settings: &Settings, api: Api) -> Where<'_> {
    let is_connected = settings.providers.iter().any(|provider| provider.is_connected());
    match settings.scripted_answers.is_empty() {
        true if api == Api::Scripted && is_connected => Where::Demo,
        true => Where::Here(&settings.user_file),
        false => Where::Answered(&settings.user_file),
    }
}

async fn chat(
    place: &CommandTarget,
    loaded: &Loaded,
    given: &AgentArgs,
    (target, typed, prompt): (Target, Option<mpsc::Receiver<TerminalInput>>, String),
    fork: bool,
    console: &mut Console,
) -> Result<(Option<DepartedSession>, Result<Exit, ChatError>), ChatError> {
    let settings = &loaded.settings;
    let signals = Signals::listen()?;
    console.say(session_opening::note_of_mode(place, settings, &given.wanted()).unwrap_or_default());
    let session = match session_opening::find(place, settings, &target).await? {
        Some(id) => Some(resumed(place, settings, given, id, fork, console).await?),
        None => None,
    };
    let (agent, tools_change) = agent_of(session.as_ref(), place, settings, given).await?;
    let config = &agent.config;
    let id = session.as_ref().map(|session| session.id().to_string());
    let whereabouts = place
        .address()
        .map_or_else(|| here(settings, config.model.api), Where::Server);
    let mut text = welcome(
        &config.model,
        id.as_deref(),
        &config.workspace,
        whereabouts,
        (console.out_style(), console.terminal.width),
    );
    let approval = mode_shown(place, session.is_none(), config);
    text.push_str(&differences_notice(place, settings, approval, console));
    let other_model = default_model::note_of_session(settings, &config.model);
    let other_model = other_model.filter(|_| session.is_some() && place.remote().is_none());
    let notes = [session_opening::note_of_cost(config), tools_change, other_model];
    notes.into_iter().flatten().for_each(|note| console.say(&note));
    let inputs = typed.unwrap_or_else(|| inputs(console));
    let (mut face, history) = face(console, settings)?;
    greet(&mut face, &text, console)?;
    let mut inputs = Inputs::new(inputs);
    if !prompt.trim().is_empty() {
        // It answers no question that is open already.
        inputs.keep(TerminalInput::Waited(prompt));
    }
    let ends = (inputs, signals);
    let editor = Editor::with_keys(history, settings.chat.keys == EditKeys::Vi);
    let mut chat = Chat::new(place, settings, console, face, editor, agent, ends);
    if given.yes {
        chat.answer_with_yes();
    }
    let mut chat = match session {
        Some(session) => chat.resumed(session).await?,
        None => chat,
    };
    listen(place).await;
    let exit = chat.talk().await;
    if let Some(session) = chat.session_at_rest() {
        session_opening::limits_again(place, &given.wanted(), session.as_ref()).await;
    }
    match (chat.close().await, exit) {
        (Ok(left), exit) => Ok((left, exit)),
        (Err(_), Err(error)) | (Err(error), Ok(_)) => Err(error),
    }
}

/// The agent of the session, or a new one, and a note about tools that changed since the session was left.
async fn agent_of(
    session: Option<&Arc<dyn Session>>,
    place: &CommandTarget,
    settings: &Settings,
    given: &AgentArgs,
) -> Result<(NewAgent, Option<String>), ChatError> {
    let Some(session) = session else {
        let agent = session_opening::new_agent(place, settings, &given.wanted()).await?;
        return Ok((agent, None));
    };
    let state = session.state().await?;
    let note = session_opening::note_of_tools(&state.tools_change);
    Ok((NewAgent::whole(state.config), note))
}

/// The approval mode that the welcome reports. A server reports its mode with the new session; until then the welcome claims nothing.
fn mode_shown(place: &CommandTarget, is_new: bool, config: &AgentConfig) -> ApprovalMode {
    match place.remote() {
        Some(_) if is_new => ApprovalMode::Ask,
        _ => session_opening::who_decides(config),
    }
}

/// The session that is gone on with. A line says if calls are asked about again.
async fn resumed(
    place: &CommandTarget,
    settings: &Settings,
    agent: &AgentArgs,
    id: SessionId,
    fork: bool,
    console: &mut Console,
) -> Result<Arc<dyn Session>, ChatError> {
    let there = place.runtime().info(&id).await?.last_seq;
    let session = session_opening::resume(place, settings, &agent.wanted(), id, fork).await?;
    let of_server = other_server::record(place, settings, session.as_ref()).await;
    let changed = place.changed_by_opening(session.id(), there).await;
    let of_decisions = session_opening::note_of_decisions(settings, &changed);
    let notes = [of_server, of_decisions];
    notes.into_iter().flatten().for_each(|note| console.say(&note));
    Ok(session)
}

/// What of the usual does not hold here, for the first lines of a chat: that nothing may be done, whoever says yes, or that nobody is
/// asked.
fn differences_notice(
    place: &CommandTarget,
    settings: &Settings,
    approval: ApprovalMode,
    console: &Console,
) -> String {
    let is_read_only = place.remote().is_none() && settings.folder.trust == FolderTrust::ReadOnly;
    let words = match approval {
        _ if is_read_only => {
            "this folder is read only: the agent changes and runs nothing; `agentx config trust` changes that"
                .to_owned()
        }
        ApprovalMode::Auto => format!("{ASKS_NOBODY}; `/approve-mode ask` changes that"),
        ApprovalMode::Deny => {
            "calls that no rule allows are refused; `/approve-mode ask` lets them ask you".to_owned()
        }
        ApprovalMode::Ask => return String::new(),
    };
    format!("{}\n", console.out_style().warn(&words))
}

/// Whether the terminal can do more than take and print lines.
fn has_keys(console: &Console) -> bool {
    console.terminal.input && console.terminal.output && console.terminal.capable
}

/// What the person types, from now on: a terminal has one reader.
fn inputs(console: &Console) -> mpsc::Receiver<TerminalInput> {
    if has_keys(console) { keys() } else { lines() }
}

/// Says who is there, in rows as wide as the terminal where that is known.
fn greet(face: &mut ChatInterface, text: &str, console: &mut Console) -> Result<(), ChatError> {
    match face {
        ChatInterface::Editor { screen, .. } => {
            screen.print(text);
            let bytes = screen.take();
            console.paint(&bytes)
        }
        ChatInterface::Lines { .. } => console.out(text),
    }
}

/// An editor where the terminal can do that, else lines; and what was typed before.
fn face(console: &mut Console, settings: &Settings) -> Result<(ChatInterface, LineHistory), ChatError> {
    if !has_keys(console) {
        let eager = console.terminal.input;
        return Ok((ChatInterface::Lines { eager }, LineHistory::default()));
    }
    let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
    let screen = Screen::new(
        columns.into(),
        rows.into(),
        appearance::theme(&settings.chat, console.theme()),
    );
    // What was said before has rows that end as they do outside this mode.
    console.finish()?;
    let raw = Some(RawMode::enter()?);
    Ok((
        ChatInterface::Editor { raw, screen },
        LineHistory::load(&settings.data_dir),
    ))
}

/// Connects to the server, if there is one: whoever decides about calls of others is told which wait before they have said anything.
async fn listen(place: &CommandTarget) {
    if let Some(server) = place.remote() {
        server.dial_now().await;
    }
}
