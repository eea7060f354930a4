//! Commands that files describe: `/NAME WORDS` sends the text of a command or a skill.

use std::path::PathBuf;

use agentx::config::{FolderTrust, PromptFile, PromptFiles, PromptKind, Settings, nearest};

use super::help::{help, in_rows, is_about};
use super::unescaped;
use crate::attach::attached;
use crate::error::ChatError;
use crate::render::clean::visible;
use crate::slash_names::NAMES;

/// The number of names that the error about an unknown command suggests.
const NEAREST: usize = 3;

/// The message that a line makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptMessage {
    /// The text.
    pub text: String,
    /// Whether `@FILE` in it attaches files. The text of a skill attaches none: the model reads its files.
    pub attaches_files: bool,
    /// Notes for the person, one per line.
    pub notes: Vec<String>,
}

/// The name and the words of a line such as `/NAME WORDS`.
fn split(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim().strip_prefix('/')?;
    Some(rest.split_once(char::is_whitespace).unwrap_or((rest, "")))
}

/// Returns the message that a line makes if it names a command or a skill of a file; `None` if it names none,
/// or a command of the chat, which no file replaces.
///
/// # Errors
/// Returns an error in words for the person, if the command belongs to the folder and names a file that is
/// not the folder's or may hold secrets: only the person attaches such files.
pub fn message(line: &str, settings: &Settings) -> Result<Option<PromptMessage>, String> {
    let Some((name, words)) = split(line).filter(|(name, _)| !NAMES.contains(name)) else {
        return Ok(None);
    };
    let files = settings.prompt_files();
    let Some(file) = files.commands().into_iter().find(|file| file.name == name) else {
        return Ok(None);
    };
    let text = file.message(words);
    let attaches_files = file.kind == PromptKind::Command;
    if attaches_files
        && file.of_folder
        && let Some(other) = file_elsewhere(&text, settings)
    {
        return Err(format!(
            "nothing was sent: /{name} is a command of this folder, and attaches only files of the folder that hold no \
             secrets; to attach {}, name it in a message of your own",
            visible(&other.to_string_lossy())
        ));
    }
    let mut notes = Vec::new();
    if file.names_shell_commands() {
        notes.push(format!(
            "/{name} has commands in !`…`; AgentX runs none of a file, so the agent gets them as words"
        ));
    }
    Ok(Some(PromptMessage {
        text,
        attaches_files,
        notes,
    }))
}

/// Returns the prompt of a run that was typed: the message that it makes if it names a command or a skill of
/// a file, otherwise the words. `//NAME` stands for the words `/NAME`, as in a chat.
///
/// # Errors
/// Returns the error of [`message`], and an error with the nearest names if the prompt begins with a command
/// that does not exist.
pub fn prompt_of_run(typed: &str, settings: &Settings) -> Result<PromptMessage, ChatError> {
    match sent_command(typed, settings)? {
        Some(made) => Ok(made),
        None => words(typed, settings),
    }
}

/// Returns the prompt of a run that is nothing but standard input, as [`prompt_of_run`] does. It attaches no
/// file, because another program wrote it.
///
/// # Errors
/// Returns an error for the same reasons as [`prompt_of_run`].
pub fn prompt_of_input(input: &str, settings: &Settings) -> Result<PromptMessage, ChatError> {
    let Some(mut made) = sent_command(input, settings)? else {
        return words(input, settings);
    };
    let names_files = attached(&made.text, &settings.workspace, |path| settings.is_guarded(path));
    if made.attaches_files && names_files.is_ok_and(|named| !named.files.is_empty()) {
        made.notes.push(
            "standard input attaches no file; give the command as an argument to attach those that it names"
                .into(),
        );
    }
    made.attaches_files = false;
    Ok(made)
}

/// The message of a command or a skill, with the errors of a run.
fn sent_command(line: &str, settings: &Settings) -> Result<Option<PromptMessage>, ChatError> {
    let hint = "a command of your own, in the directory of your configuration, may attach any file";
    message(line, settings).map_err(|what| ChatError::usage(what, hint))
}

/// The message of words that name no command of a file.
fn words(typed: &str, settings: &Settings) -> Result<PromptMessage, ChatError> {
    let mut notes = Vec::new();
    match command_name(typed) {
        Some(name) if NAMES.contains(&name) => {
            notes.push(format!(
                "/{name} is a command of a chat; here it is sent to the model as words"
            ));
        }
        Some(name) => return Err(unknown_command(name, settings)),
        None => {}
    }
    let literal = unescaped(typed);
    let is_escaped = command_name(literal).is_some();
    let text = if is_escaped { literal } else { typed };
    Ok(PromptMessage {
        text: text.to_owned(),
        attaches_files: true,
        notes,
    })
}

/// The name in a line such as `/NAME WORDS`, if a command could have it. A path, a comment and a pattern are
/// none.
fn command_name(line: &str) -> Option<&str> {
    let (name, _) = split(line)?;
    let is_part = |part: &str| {
        part.starts_with(char::is_alphanumeric)
            && part
                .chars()
                .all(|char| char.is_alphanumeric() || "-_.".contains(char))
    };
    name.split(':').all(is_part).then_some(name)
}

/// Returns the commands of files with the nearest names, such as `/team:review or /review-all`; `None` if no
/// name is near.
fn similar(name: &str, settings: &Settings) -> Option<String> {
    let files = settings.prompt_files();
    let names = usable(&files).into_iter().map(|file| file.name.as_str());
    let near = nearest(name, names, NEAREST).into_iter();
    let near: Vec<String> = near.map(|near| format!("/{near}")).collect();
    (!near.is_empty()).then(|| near.join(" or "))
}

/// Returns the words about a line of a chat that names no command, with the commands of files that have
/// similar names.
pub(crate) fn with_similar(line: &str, what: &str, settings: &Settings) -> String {
    let unknown = command_name(line).filter(|name| !NAMES.contains(name));
    match unknown.and_then(|name| similar(name, settings)) {
        Some(near) => visible(&format!("{what}; a file has {near}")),
        None => what.to_owned(),
    }
}

/// The error about a command that does not exist, with the nearest names and what to do.
fn unknown_command(name: &str, settings: &Settings) -> ChatError {
    let near = similar(name, settings)
        .map(|near| format!("; did you mean {near}?"))
        .unwrap_or_default();
    let mut hint =
        format!("write //{name} to send the words as they are; `/help all` in a chat lists the commands");
    if settings.folder.trust == FolderTrust::Unknown && !settings.folder_prompt_files().is_empty() {
        hint.push_str("; those of this folder count once you trust it: agentx config trust");
    }
    ChatError::usage(format!("there is no command /{name}{near}"), hint)
}

/// Returns a file that a text names and that is outside of the folder, or may hold secrets.
fn file_elsewhere(text: &str, settings: &Settings) -> Option<PathBuf> {
    let named = attached(text, &settings.workspace, |path| settings.is_guarded(path)).ok()?;
    let is_elsewhere =
        |file: &PathBuf| !file.starts_with(&settings.workspace_root) || settings.is_guarded(file);
    named.files.into_iter().find(is_elsewhere)
}

/// Returns the commands and skills that a person may send, without those that have the name of a command of
/// the chat.
pub(crate) fn usable(files: &PromptFiles) -> Vec<&PromptFile> {
    let mut commands = files.commands();
    commands.retain(|file| !NAMES.contains(&file.name.as_str()));
    commands
}

/// Returns the help for a topic, wrapped to `width`, with the commands of files.
pub(crate) fn help_with_files(topic: Option<&str>, files: &PromptFiles, width: usize) -> String {
    let own = help(topic, width);
    let Some(topic) = topic.map(|topic| topic.trim_start_matches('/')) else {
        return own + &in_rows(&overview(files), width);
    };
    let of_files = lines(files);
    if matches!(topic, "all" | "commands") && !of_files.is_empty() {
        let group = format!("\nFrom files\n{}", of_files.join("\n"));
        return own + &in_rows(&group, width);
    }
    let name = topic.split(char::is_whitespace).next().unwrap_or_default();
    match of_files.iter().find(|line| is_about(line, name)) {
        Some(line) if !NAMES.contains(&name) => in_rows(line, width),
        _ => own,
    }
}

/// The names of commands of files for the overview of `/help`; nothing if there are none.
fn overview(files: &PromptFiles) -> String {
    let names: Vec<String> = usable(files)
        .iter()
        .map(|file| format!("/{}", file.name))
        .collect();
    if names.is_empty() {
        return String::new();
    }
    format!("\nFrom files: {}\n  /help all explains them\n", names.join(" "))
}

/// A line for each command of a file in the form of the lines of `/help all`: its name, its use, and its
/// file.
fn lines(files: &PromptFiles) -> Vec<String> {
    let line = |file: &&PromptFile| {
        let taken = if NAMES.contains(&file.name.as_str()) {
            "not used, because a command of AgentX has this name; "
        } else {
            ""
        };
        let hint = match file.argument_hint.as_str() {
            "" => String::new(),
            hint => format!(" {hint}"),
        };
        visible(&format!(
            "/{}{hint}  {}{taken}{} {}",
            file.name,
            described(&file.description),
            if file.of_folder { "of this folder" } else { "yours" },
            file.file.display()
        ))
    };
    files.commands().iter().map(line).collect()
}

/// A description with a sign behind it, before what follows.
fn described(description: &str) -> String {
    match description {
        "" => String::new(),
        text => format!("{}; ", text.trim_end_matches(['.', ';'])),
    }
}
