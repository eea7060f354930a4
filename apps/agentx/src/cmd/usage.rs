//! Reports an invalid command line, also to a program that reads results.

use agentx::config::nearest;
use agentx_chat::failure::{FailureOutput, fail};
use agentx_chat::other_programs::{instead_of_nested, instead_of_word};
use agentx_chat::refused_line::{failure_output, message_and_hints};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Parser as _};

use crate::args::Cli;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::wrapped_text::wrap_lines;

/// Answers a command line that is a question (`--help`, `--version`) or a mistake.
pub(crate) fn answer(error: &clap::Error, console: &mut Console) -> Exit {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let text = error.render().to_string();
        // On a narrow terminal, the handwritten parts are wrapped between words.
        let text = if console.terminal.output {
            wrap_lines(&text, console.terminal.width)
        } else {
            text
        };
        let _ = console.out(&text);
        return Exit::Ok;
    }
    // An argument that is not text cannot be a known word.
    let typed: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let output = failure_output(&typed);
    let lacks_command = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if lacks_command && output == FailureOutput::Nothing {
        // The list of commands shows what is missing.
        console.say(&error.render().to_string());
        return Exit::Usage;
    }
    let error = match command_in(&typed).filter(|_| lacks_command) {
        Some(command) => {
            let hint = format!("`agentx help {command}` lists its commands");
            ChatError::usage(format!("`agentx {command}` needs one of its commands"), hint)
        }
        None => as_usage(error, &typed),
    };
    fail(error, output, console)
}

/// The parser's words as a message and a hint.
fn as_usage(error: &clap::Error, typed: &[String]) -> ChatError {
    let text = error.render().to_string();
    let (message, mut hints) = message_and_hints(&text);
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) {
        let command = Cli::command();
        // The mistake is in a command of a command, if the usage names one.
        let usage = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("Usage: agentx "));
        let above = usage.and_then(|usage| command.find_subcommand(usage.split_whitespace().next()?));
        let names = above
            .unwrap_or(&command)
            .get_subcommands()
            .map(|sub| sub.get_name());
        hints = nearest(word, names.collect::<Vec<_>>(), 1)
            .iter()
            .map(|near| match above {
                Some(above) => format!("did you mean `{} {near}`?", above.get_name()),
                None => format!("did you mean `{near}`? To start a chat with it: agentx chat \"{word}\""),
            })
            .collect();
        if let Some(instead) = above.and_then(|above| instead_of_nested(above.get_name(), word)) {
            hints = vec![instead.to_owned()];
        }
        if let Some(above) = above.filter(|_| hints.is_empty()) {
            hints.push(format!("`agentx {} --help` shows its commands", above.get_name()));
        }
    }
    if let Some(near) = near_flag(error, typed) {
        hints = vec![format!("did you mean `--{near}`?")];
    }
    if lacks_session(error, &text) {
        hints.retain(|hint| !hint.contains("as a value"));
        hints.push("`agentx sessions list` shows the ids, the latest first".to_owned());
        if Cli::try_parse_from(typed.iter().map(String::as_str).chain(["--last"])).is_ok() {
            hints.push("`--last` takes the latest session of this directory".to_owned());
        }
    }
    if let Some(hint) = of_another_program(error, typed) {
        hints = vec![hint];
    }
    if hints.is_empty() {
        hints.push(match command_in(typed) {
            Some(command) => format!("`agentx help {command}` explains it"),
            None => "`agentx --help` shows all commands".into(),
        });
    }
    ChatError::usage(message, hints.join("; "))
}

/// Returns the nearest existing flag of the typed command to an unknown one. Unlike the parser's own measure,
/// it counts a swap of two letters as one step.
fn near_flag(error: &clap::Error, typed: &[String]) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let word = word
        .strip_prefix("--")
        .filter(|_| error.kind() == ErrorKind::UnknownArgument)?;
    let word = word.split('=').next()?;
    let mut root = Cli::command();
    root.build();
    let mut at = &root;
    for name in command_in(typed).iter().flat_map(|path| path.split(' ')) {
        at = at.find_subcommand(name)?;
    }
    let flags: Vec<&str> = at.get_arguments().filter_map(clap::Arg::get_long).collect();
    nearest(word, flags, 1).first().map(|near| (*near).to_owned())
}

/// Returns a hint for flags and commands of other programs, and for a prompt in the place of a command.
fn of_another_program(error: &clap::Error, typed: &[String]) -> Option<String> {
    let told = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    let word = match error.kind() {
        ErrorKind::UnknownArgument => told(ContextKind::InvalidArg)?,
        ErrorKind::InvalidSubcommand => told(ContextKind::InvalidSubcommand)?,
        _ => return None,
    };
    let above = command_in(typed);
    // A hint of the command itself takes precedence over a hint about another program.
    let is_at_chat = matches!(above.as_deref(), None | Some("chat" | "run" | "resume"));
    if let Some(instead) = instead_of_word(word).filter(|_| is_at_chat) {
        return Some(instead.to_owned());
    }
    if word.starts_with("ses_") && above.is_none() {
        return Some(format!("to continue that session: agentx resume {word}"));
    }
    let is_prompt = word.contains(char::is_whitespace) || above.as_deref() == Some("chat");
    let may_be_prompt = above.is_none_or(|above| above == "chat") && !word.starts_with('-');
    let words = if is_prompt { "PROMPT" } else { word };
    let is_near = |command: &clap::Command| !nearest(word, vec![command.get_name()], 1).is_empty();
    let is_command = error.kind() == ErrorKind::InvalidSubcommand && !is_prompt;
    let is_known = is_command && Cli::command().get_subcommands().any(is_near);
    (may_be_prompt && !is_known).then(|| {
        format!("to run one prompt: agentx run \"{words}\"; to start a chat with it: agentx chat \"{words}\"; `agentx --help` shows all commands")
    })
}

/// Returns whether a command that takes the id of a session got none, or `--last` in its place.
fn lacks_session(error: &clap::Error, text: &str) -> bool {
    let lacks_it = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) => word == "--last",
        Some(ContextValue::Strings(missing)) => missing.iter().any(|argument| argument == "<ID>"),
        _ => false,
    };
    let takes_id = |line: &str| line.contains("Usage: agentx") && line.contains("<ID>");
    lacks_it && text.lines().any(takes_id)
}

/// The command that was typed, as far as there is one: `sessions list`.
fn command_in(typed: &[String]) -> Option<String> {
    let root = Cli::command();
    let (mut at, mut path) = (&root, Vec::new());
    for word in typed.iter().skip(1) {
        if let Some(sub) = at.find_subcommand(word) {
            path.push(word.as_str());
            at = sub;
        }
    }
    (!path.is_empty()).then(|| path.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_the_command_that_was_typed() {
        let typed = |line: &str| {
            let words = line.split(' ').map(str::to_owned);
            command_in(&words.collect::<Vec<_>>())
        };
        assert_eq!(
            typed("agentx --data x sessions list --limit y").as_deref(),
            Some("sessions list")
        );
        assert_eq!(typed("agentx usage --since x").as_deref(), Some("usage"));
        assert_eq!(typed("agentx --model"), None);
    }

    #[test]
    fn a_word_of_a_command_that_is_none_leads_to_the_one_that_is() {
        for (line, said) in [
            (
                "agentx sessions delete --last",
                "`agentx sessions list` shows the ids",
            ),
            (
                "agentx sessions verify",
                "`--last` takes the latest session of this directory",
            ),
            ("agentx context", "`agentx sessions list` shows the ids"),
            (
                "agentx sessions rename",
                "`--last` takes the latest session of this directory",
            ),
            (
                "agentx sessions share",
                "`--last` takes the latest session of this directory",
            ),
            ("agentx sessions rename ses_1", "usage: agentx sessions rename"),
            ("agentx config get model", "agentx config show"),
            ("agentx version", "agentx --version"),
        ] {
            let typed: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let error = Cli::try_parse_from(&typed).unwrap_err();
            let hint = as_usage(&error, &typed).hint().unwrap_or_default();
            assert!(
                hint.contains(said) && !hint.contains("as a value"),
                "{line}: {hint}"
            );
        }
    }

    #[test]
    fn the_format_is_read_from_a_broken_command_line() {
        let typed = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (line, output) in [
            ("agentx run --output-format json --nope", FailureOutput::RunResult),
            (
                "agentx run --nope --output-format=stream-json",
                FailureOutput::RunResult,
            ),
            ("agentx run --output-format text --nope", FailureOutput::Nothing),
            ("agentx sessions --nope --json", FailureOutput::Error),
            ("agentx sessions export --format json", FailureOutput::Error),
            ("agentx sessions --nope -- --json", FailureOutput::Nothing),
        ] {
            assert_eq!(failure_output(&typed(line)), output, "{line}");
        }
    }
}
