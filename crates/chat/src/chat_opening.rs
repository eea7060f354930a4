//! Opens a chat, runs it, and prints the farewell. The caller chooses the place and the settings; everything
//! else that a chat needs is created here.

use agentx::config::{EditKeys, FolderTrust, Loaded, Settings};
use agentx::runtime::Session;
use agentx::types::{AgentConfig, Api, ApprovalMode};
use agentx_terminal::{Editor, HistoryFile, LineHistory};
use tokio::sync::mpsc;

use crate::chat::connection::server_wait::Inputs;
use crate::chat::display::appearance;
use crate::chat::display::drawing::DepartedSession;
use crate::chat::display::screen::Screen;
use crate::chat::display::welcome::{WelcomeContext, welcome};
use crate::chat::{Chat, ChatInterface, ChatStart};
use crate::error::ChatError;
use crate::exit::Exit;
use crate::headless::say_if_unheld;
use crate::place::Place;
use crate::render::conversation;
use crate::session_opening::new_agent::NewAgent;
use crate::session_opening::{self, ASKS_NOBODY, CommandLineOverrides, ContinuedSession, Target};
use crate::sessions::sessions_here::SessionsHere;
use crate::terminal::console::Console;
use crate::terminal::line_filter::line_filter;
use crate::terminal::signals::Signals;
use crate::terminal::{RawMode, TerminalInput, keys, lines};

/// A request to open a chat.
pub struct ChatRequest {
    /// The session that the chat opens.
    pub target: Target,
    /// Whether to continue in a copy of that session.
    pub fork: bool,
    /// The settings of the command line, which take precedence over the files.
    pub wanted: CommandLineOverrides,
    /// Whether to answer every question with yes.
    pub auto_approve: bool,
    /// The first message; empty for none.
    pub prompt: String,
    /// The input of the person, if it is already being read; a terminal has one reader.
    pub inputs: Option<mpsc::Receiver<TerminalInput>>,
}

/// A chat that has ended.
pub struct EndedChat {
    /// The session that it left, and the command that continues it; `None` if none began.
    left: Option<(DepartedSession, String)>,
    /// The exit code of the chat, or its error.
    exit: Result<Exit, ChatError>,
}

/// Opens a chat and runs it until the person leaves.
///
/// # Errors
/// Returns an error if the session cannot be opened, or the terminal cannot be written to. The outcome of a
/// chat that was opened is in the result.
pub async fn hold_chat(
    place: &Place,
    loaded: &Loaded,
    request: ChatRequest,
    console: &mut Console,
) -> Result<EndedChat, ChatError> {
    let settings = &loaded.settings;
    let wanted = &request.wanted;
    let signals = Signals::listen()?;
    console.say(session_opening::note_of_mode(place, settings, wanted).unwrap_or_default());
    let session = continued(place, settings, &request).await?;
    let (agent, notes) = match &session {
        Some(continued) => (
            NewAgent::whole(continued.state.config.clone()),
            continued.notes.clone(),
        ),
        None => {
            let agent = session_opening::new_agent(place, settings, wanted).await?;
            let notes = notes_of_new(place, settings, &request.target, &agent.config).await;
            (agent, notes)
        }
    };
    let session = session.map(|continued| continued.session);
    let text = first_lines(place, settings, &agent.config, session.as_deref(), console);
    notes.iter().for_each(|note| console.say(note));
    let is_unheld = say_if_unheld(place, settings, &agent.config, console);
    let inputs = request.inputs.unwrap_or_else(|| read_inputs(console));
    let (mut interface, history) = make_interface(console, settings)?;
    print_first(&mut interface, &text, console)?;
    let mut inputs = Inputs::new(inputs);
    if !request.prompt.trim().is_empty() {
        // It answers no question that is open already.
        inputs.keep(TerminalInput::Waited(request.prompt));
    }
    let paste = console.take_paste().map(TerminalInput::Paste);
    paste.into_iter().for_each(|paste| inputs.keep(paste));
    let (editor, ends) = (editor_of(history, settings), (inputs, signals));
    let mut chat = Chat::new(place, settings, console, interface, editor, agent, ends);
    if request.auto_approve {
        chat.answer_with_yes();
    }
    chat.note_told_of_unheld(is_unheld);
    chat.set_start(ChatStart {
        loaded: Some(loaded),
        wanted: wanted.clone(),
    });
    let mut chat = match session {
        Some(session) => chat.resumed(session).await?,
        None => chat,
    };
    // A person who decides about other people's calls sees the waiting ones before they type anything.
    if let Some(server) = place.remote() {
        server.dial_now().await;
    }
    let exit = chat.talk().await;
    if let Some(session) = chat.session_at_rest() {
        session_opening::limits_again(place, wanted, session.as_ref()).await;
    }
    match (chat.close().await, exit) {
        (Ok(left), exit) => {
            let resume = |left: &DepartedSession| place.command(&format!("resume {}", left.session));
            let left = left.map(|left| {
                let again = resume(&left);
                (left, again)
            });
            Ok(EndedChat { left, exit })
        }
        (Err(_), Err(error)) | (Err(error), Ok(_)) => Err(error),
    }
}

/// The editor of the line.
fn editor_of(history: LineHistory, settings: &Settings) -> Editor {
    Editor::with_keys(history, settings.chat.keys == EditKeys::Vi)
}

/// Returns the notes for a new session: about its cost, and about a session of this folder that the person
/// may want to continue instead. A server continues its sessions by itself.
async fn notes_of_new(
    place: &Place,
    settings: &Settings,
    target: &Target,
    config: &AgentConfig,
) -> Vec<String> {
    let mut notes: Vec<String> = session_opening::note_of_cost(config).into_iter().collect();
    if place.remote().is_none() && *target == Target::New {
        let here = SessionsHere::of(settings);
        notes.extend(here.note_of_unfinished(place.runtime()).await);
    }
    notes
}

/// Opens the session that the chat continues; `None` for a new one.
async fn continued(
    place: &Place,
    settings: &Settings,
    request: &ChatRequest,
) -> Result<Option<ContinuedSession>, ChatError> {
    let (target, fork) = (&request.target, request.fork);
    // A person who has typed words already, or wants a copy, means the latest session and no other.
    let found = if fork || !request.prompt.trim().is_empty() {
        session_opening::find_exactly(place, settings, target).await?
    } else {
        session_opening::find(place, settings, target).await?
    };
    let Some(id) = found else {
        return Ok(None);
    };
    let passed_over = match target {
        Target::Last | Target::Chosen => session_opening::note_of_passed_over(place, settings, &id).await,
        Target::New | Target::Id(_) => None,
    };
    let mut session = session_opening::continue_session(place, settings, &request.wanted, id, fork).await?;
    if let Some(note) = passed_over {
        session.notes.insert(0, note);
    }
    Ok(Some(session))
}

impl EndedChat {
    /// Prints what happens to the session and how to continue it. Returns the exit of the program.
    ///
    /// # Errors
    /// Returns the error that ended the chat.
    pub fn say_farewell(self, console: &mut Console) -> Result<Exit, ChatError> {
        let Self { left, mut exit } = self;
        let Some((left, again)) = left else {
            return exit;
        };
        let (style, columns) = (console.err_style(), console.terminal.width);
        if let Some((error, stood)) = left.unsaved {
            let error = ChatError::Runtime(error.into());
            // An error that ended the chat is printed at the end.
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
        console.say(&style.dim(&conversation::continue_hint(&again, columns)));
        exit
    }
}

/// Starts to read the person's input. A terminal has only one reader.
pub fn read_inputs(console: &Console) -> mpsc::Receiver<TerminalInput> {
    if has_keys(console) { keys() } else { lines() }
}

/// The first lines of a chat: the agent, its place, and unusual decisions about calls.
fn first_lines(
    place: &Place,
    settings: &Settings,
    config: &AgentConfig,
    session: Option<&dyn Session>,
    console: &Console,
) -> String {
    let id = session.map(|session| session.id().to_string());
    let is_connected = settings.providers.iter().any(|provider| provider.is_connected());
    let whereabouts = match place.address() {
        Some(address) => WelcomeContext::Server(address),
        None if !settings.scripted_answers.is_empty() => WelcomeContext::Answered(&settings.user_file),
        None if config.model.api == Api::Scripted && is_connected => WelcomeContext::Demo,
        None => WelcomeContext::Here(&settings.user_file),
    };
    let looks = (console.out_style(), console.terminal.width);
    let text = welcome(
        &config.model,
        id.as_deref(),
        &config.workspace,
        whereabouts,
        looks,
    );
    // A server reports its mode with the new session; until then nothing is claimed.
    let approval = match place.remote() {
        Some(_) if session.is_none() => ApprovalMode::Ask,
        _ => session_opening::who_decides(config),
    };
    let is_read_only = place.remote().is_none() && settings.folder.trust == FolderTrust::ReadOnly;
    let plans = config.plan_mode == Some(true);
    let unusual = if plans && !is_read_only {
        Some(PLANS.to_owned())
    } else {
        unusual_decisions(is_read_only, approval)
    };
    let unusual = unusual.map(|words| format!("{}\n", console.out_style().warn(&words)));
    text + &unusual.unwrap_or_default()
}

/// The note about plan mode.
const PLANS: &str = "plan mode is on: nothing is changed or run until you accept a plan; `/plan off` ends it";

/// Returns a note if the folder is read-only, or if calls need no approval.
fn unusual_decisions(is_read_only: bool, approval: ApprovalMode) -> Option<String> {
    match approval {
        _ if is_read_only => Some(
            "this folder is read-only: the agent cannot change files or run commands; `agentx config trust` changes that"
                .to_owned(),
        ),
        ApprovalMode::Auto => Some(format!("{ASKS_NOBODY}; `/approve-mode ask` changes that")),
        ApprovalMode::AcceptEdits => Some(
            "files of the workspace are changed without asking; `/approve-mode ask` changes that".to_owned(),
        ),
        ApprovalMode::Deny => {
            Some("calls that no rule allows are refused; with `/approve-mode ask` you are asked about them".to_owned())
        }
        ApprovalMode::Ask => None,
    }
}

/// Returns whether the terminal can do more than take and print lines.
fn has_keys(console: &Console) -> bool {
    console.terminal.input && console.terminal.output && console.terminal.capable
}

/// Prints the first lines, wrapped to the width of the terminal if it is known.
fn print_first(interface: &mut ChatInterface, text: &str, console: &mut Console) -> Result<(), ChatError> {
    match interface {
        ChatInterface::Editor { screen, .. } => {
            screen.print(text);
            let bytes = screen.take();
            console.paint(&bytes)
        }
        ChatInterface::Lines { .. } => console.out(text),
    }
}

/// Makes a line editor if the terminal supports one, otherwise an interface of lines; and returns the input
/// that was typed before.
fn make_interface(
    console: &mut Console,
    settings: &Settings,
) -> Result<(ChatInterface, LineHistory), ChatError> {
    if !has_keys(console) {
        let eager = console.terminal.input;
        return Ok((ChatInterface::Lines { eager }, LineHistory::default()));
    }
    let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
    let theme = appearance::theme(&settings.chat, console.theme());
    let screen = Screen::new(columns.into(), rows.into(), theme);
    // The earlier text has line ends for the terminal outside of raw mode.
    console.finish()?;
    let raw = Some(RawMode::enter()?);
    let history = line_history(settings);
    Ok((ChatInterface::Editor { raw, screen }, history))
}

/// The lines that were typed before. Those of now are stored without secrets, and those of before lose the
/// secrets that became known since.
fn line_history(settings: &Settings) -> LineHistory {
    let filter = line_filter(settings);
    if let Err(error) = HistoryFile::of(&settings.data_dir).filter(&filter) {
        tracing::warn!(%error, "the file of typed lines was not searched for secrets");
    }
    LineHistory::load(&settings.data_dir).filtered(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_told_before_the_first_words_how_calls_are_decided() {
        let told = |is_read_only, approval| unusual_decisions(is_read_only, approval).unwrap_or_default();
        assert_eq!(told(false, ApprovalMode::Ask), "");
        assert!(told(false, ApprovalMode::Auto).starts_with(ASKS_NOBODY));
        assert!(told(false, ApprovalMode::AcceptEdits).starts_with("files of the workspace are changed"));
        assert!(told(false, ApprovalMode::Deny).contains("are refused"));
        for approval in [
            ApprovalMode::Ask,
            ApprovalMode::AcceptEdits,
            ApprovalMode::Auto,
            ApprovalMode::Deny,
        ] {
            assert!(told(true, approval).starts_with("this folder is read-only"));
        }
    }
}
