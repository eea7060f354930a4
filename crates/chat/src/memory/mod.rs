//! The memories of the person as they see and change them: `agentx memory`, and `/memory` in a chat. Both
//! read the same words and do the same.

mod arguments;
mod show;

use agentx::config::Settings;
use agentx::memory::{Memory, MemoryEdit, MemoryError, MemoryFilter, MemoryState, MemoryStore, NewMemory};
use agentx::node::open_memories;
use agentx::runtime::{LogError, RuntimeError};
use serde_json::{Value, json};

pub use arguments::MemoryCommand;
use arguments::{EditArguments, MemoryLine};

use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::units::{self, counted};
use crate::terminal::console::Console;

/// Memories that a list or a search shows.
const LISTED: usize = 200;
/// The hint for a number that does not exist.
const LIST_HINT: &str = "`agentx memory list` lists them (`/memory list` in a chat)";

/// The output of a command about memories.
struct MemoryOutput {
    text: String,
    /// The same for a program.
    value: Value,
}

/// Performs a command about memories.
///
/// # Errors
/// Returns an error if the memories are unavailable, a named memory does not exist, or the output cannot be
/// written.
pub fn run(
    command: Option<MemoryCommand>,
    settings: &Settings,
    as_json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let is_export = matches!(command, Some(MemoryCommand::Export));
    let said = perform(command, settings, console.out_width())?;
    if as_json || is_export {
        console.out_pretty(&said.value)?;
        return Ok(Exit::Ok);
    }
    if !settings.memory.enabled {
        console.say("note: memory is off, so models get no memories\nhint: `agentx config set memory.enabled true` turns it on\n");
    }
    console.out(&said.text)?;
    Ok(Exit::Ok)
}

/// Does what `/memory` asks for; returns the text for the person.
///
/// # Errors
/// Returns an error for the same reasons as [`run`].
pub(crate) fn in_chat(line: &str, settings: &Settings, width: usize) -> Result<String, ChatError> {
    let command = MemoryLine::read(line).map_err(|what| ChatError::usage(what, "/help memory"))?;
    let off = if settings.memory.enabled {
        ""
    } else {
        "memory is off: `agentx config set memory.enabled true` turns it on for new sessions\n"
    };
    Ok(format!("{off}{}", perform(command, settings, width)?.text))
}

fn perform(
    command: Option<MemoryCommand>,
    settings: &Settings,
    width: usize,
) -> Result<MemoryOutput, ChatError> {
    let store = open_memories(settings).map_err(failed)?;
    let here = settings.workspace.to_string_lossy().into_owned();
    match command {
        None => inbox(&store, width),
        Some(MemoryCommand::List {
            state,
            here: only_here,
        }) => {
            let filter = MemoryFilter {
                state: state.map(Into::into),
                workspace: only_here.then_some(here),
            };
            let memories = store.list(&filter, LISTED).map_err(failed)?;
            Ok(listed(&memories, "there are no memories", width))
        }
        Some(MemoryCommand::Search { words }) => {
            let found = store.search(&words.join(" "), &MemoryFilter::default(), LISTED);
            Ok(listed(
                &found.map_err(failed)?,
                "no memory has these words",
                width,
            ))
        }
        Some(MemoryCommand::Show { id }) => {
            let memory = store.get(id).map_err(failed)?;
            Ok(MemoryOutput {
                text: show::whole(&memory),
                value: json!(memory),
            })
        }
        Some(MemoryCommand::Accept { ids, all }) => decide(&store, &ids, all, MemoryState::Accepted),
        Some(MemoryCommand::Refuse { ids, all }) => decide(&store, &ids, all, MemoryState::Refused),
        Some(MemoryCommand::Edit(edit)) => edited(&store, edit, here, settings),
        Some(MemoryCommand::Add {
            text,
            here: only_here,
            pin,
        }) => {
            let new = NewMemory {
                pinned: pin,
                folder: only_here.then_some(here),
                ..NewMemory::of_person(without_secret(text.join(" "), settings)?)
            };
            let (memory, is_new) = store.add(&new, units::now()).map_err(failed)?;
            let what = if is_new { "added" } else { "known already as" };
            Ok(changed(what, &[memory]))
        }
        Some(MemoryCommand::Delete { ids }) => {
            let deleted = ids.iter().map(|id| store.delete(*id).map_err(failed));
            let deleted: Vec<Memory> = deleted.collect::<Result<_, _>>()?;
            Ok(changed("deleted", &deleted))
        }
        Some(MemoryCommand::Export) => {
            let all = store.list(&MemoryFilter::default(), usize::MAX).map_err(failed)?;
            Ok(listed(&all, "there are no memories", width))
        }
        Some(MemoryCommand::Erase { yes }) => erase(&store, yes),
    }
}

/// The words of a memory, unless a secret that AgentX knows is among them.
fn without_secret(text: String, settings: &Settings) -> Result<String, ChatError> {
    let redactor = agentx::node::redactor(settings);
    let found = redactor.and_then(|redactor| redactor.find(&text).into_iter().next());
    match found {
        None => Ok(text),
        Some(found) => Err(ChatError::usage(
            format!(
                "the text contains the secret {}, which is never kept as a memory",
                found.name
            ),
            "write it without the secret",
        )),
    }
}

/// Returns the output about the proposals that wait for the person, with their number.
fn inbox(store: &MemoryStore, width: usize) -> Result<MemoryOutput, ChatError> {
    let filter = MemoryFilter {
        state: Some(MemoryState::Proposed),
        workspace: None,
    };
    let waiting = store.list(&filter, LISTED).map_err(failed)?;
    let accepted = store.count(MemoryState::Accepted).map_err(failed)?;
    let what = match accepted {
        1 => "1 accepted memory".to_owned(),
        count => format!("{count} accepted memories"),
    };
    let text = if waiting.is_empty() {
        format!("no proposal waits for you; {what}\n")
    } else {
        let list = show::rows(&waiting, width);
        format!(
            "{list}`accept NUMBER` and `refuse NUMBER` decide, `edit NUMBER TEXT` changes the words; {what}\n"
        )
    };
    let value = json!({ "waiting": waiting, "accepted": accepted });
    Ok(MemoryOutput { text, value })
}

/// Decides about proposals: those of these numbers, or all that wait.
fn decide(
    store: &MemoryStore,
    ids: &[i64],
    all: bool,
    state: MemoryState,
) -> Result<MemoryOutput, ChatError> {
    let waiting = MemoryFilter {
        state: Some(MemoryState::Proposed),
        workspace: None,
    };
    let ids = if all {
        let waiting = store.list(&waiting, usize::MAX).map_err(failed)?;
        waiting.iter().map(|memory| memory.id).collect()
    } else {
        ids.to_vec()
    };
    // None is changed if one of them does not exist.
    for id in &ids {
        store.get(*id).map_err(failed)?;
    }
    let edit = MemoryEdit {
        state: Some(state),
        ..MemoryEdit::default()
    };
    let decided = ids
        .iter()
        .map(|id| store.edit(*id, &edit, units::now()).map_err(failed));
    let decided: Vec<Memory> = decided.collect::<Result<_, _>>()?;
    Ok(changed(state.word(), &decided))
}

fn edited(
    store: &MemoryStore,
    wanted: EditArguments,
    here: String,
    settings: &Settings,
) -> Result<MemoryOutput, ChatError> {
    let words = without_secret(wanted.text.join(" "), settings)?;
    let edit = MemoryEdit {
        text: (!words.is_empty()).then_some(words),
        state: None,
        pinned: match (wanted.pin, wanted.unpin) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        },
        folder: match (wanted.here, wanted.everywhere) {
            (true, _) => Some(Some(here)),
            (_, true) => Some(None),
            _ => None,
        },
    };
    if edit == MemoryEdit::default() {
        let hint = "name other words, or --pin, --unpin, --here, --everywhere";
        return Err(ChatError::usage("nothing to change", hint));
    }
    let memory = store.edit(wanted.id, &edit, units::now()).map_err(failed)?;
    Ok(changed("changed", &[memory]))
}

fn erase(store: &MemoryStore, yes: bool) -> Result<MemoryOutput, ChatError> {
    if !yes {
        let all = store.list(&MemoryFilter::default(), usize::MAX).map_err(failed)?;
        let what = match all.len() {
            1 => "1 memory".to_owned(),
            count => format!("{count} memories"),
        };
        return Err(ChatError::usage(
            format!("this deletes {what} for good, proposals and refused ones too"),
            "`agentx memory export` writes them down; `agentx memory erase --yes` deletes them",
        ));
    }
    let erased = store.erase().map_err(failed)?;
    Ok(MemoryOutput {
        text: format!("erased {erased}; sessions that used them keep what they said\n"),
        value: json!({ "erased": erased }),
    })
}

fn listed(memories: &[Memory], none: &str, width: usize) -> MemoryOutput {
    let text = if memories.is_empty() {
        format!("{none}\n")
    } else {
        show::rows(memories, width)
    };
    MemoryOutput {
        text,
        value: json!(memories),
    }
}

fn changed(what: &str, memories: &[Memory]) -> MemoryOutput {
    let lines = memories
        .iter()
        .map(|memory| format!("{what}: {}\n", show::line(memory)));
    let text: String = lines.collect();
    let text = if text.is_empty() {
        format!("{}\n", counted(0_u64, "proposal"))
    } else {
        text
    };
    MemoryOutput {
        text,
        value: json!(memories),
    }
}

fn failed(error: MemoryError) -> ChatError {
    let hint = match &error {
        MemoryError::NotFound(_) => LIST_HINT,
        MemoryError::Full(_) => "`agentx memory` shows the inbox, `agentx memory delete` makes room",
        MemoryError::InvalidText(_) => "",
        MemoryError::NoSpace { path } => {
            let path = path.clone();
            return ChatError::Runtime(RuntimeError::Log(LogError::Full { path }));
        }
        MemoryError::Store { .. } => "`agentx doctor` checks the data directory",
    };
    ChatError::usage(error.to_string(), hint)
}

#[cfg(test)]
mod tests;
