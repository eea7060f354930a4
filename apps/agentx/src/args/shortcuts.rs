//! Command lines without a command, as people know them from other programs: `agentx "PROMPT"`,
//! `agentx -p "PROMPT"`, `agentx -c`, `agentx -r ID`; and flags of a command in front of it.

use std::ffi::OsString;

use agentx_chat::other_programs::is_prompt;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Index of the inserted command: behind the name of the program. In front of a word it could separate a flag
/// from its value, or from the words before it.
const COMMAND_INDEX: usize = 1;

/// Expands a flag in front of any command to its command: `-p` to `run`, `-c` and `-r ID` to a chat that
/// continues, `-r` to `resume`.
pub(super) fn with_command(words: &[OsString], is_command: impl Fn(&str) -> bool) -> Option<Vec<OsString>> {
    let is = |word: &OsString, flags: [&str; 2]| word.to_str().is_some_and(|word| flags.contains(&word));
    let is_print = |word: &OsString| is(word, ["-p", "--print"]);
    let is_continue = |word: &OsString| is(word, ["-c", "--continue"]);
    let is_resume = |word: &OsString| {
        let text = word.to_str().unwrap_or_default();
        is(word, ["-r", "--resume"]) || text.starts_with("--resume=")
    };
    let ends_flags = |word: &OsString| word.to_str().is_some_and(|word| word == "--" || is_command(word));
    let at = words
        .iter()
        .position(|word| is_print(word) || is_continue(word) || is_resume(word))?;
    if words[..at].iter().skip(1).any(ends_flags) {
        return None;
    }
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let names_none = |at: usize| {
        let value = words[..end].get(at + 1).and_then(|word| word.to_str());
        !words[at].to_string_lossy().contains('=') && value.is_none_or(|word| word.starts_with('-'))
    };
    let bare = words[..end]
        .iter()
        .position(is_resume)
        .filter(|at| names_none(*at));
    let command = match bare {
        _ if words[..end].iter().any(is_print) => "run",
        Some(_) => "resume",
        None => "chat",
    };
    let mut meant = words.to_vec();
    if let Some(bare) = bare.filter(|_| command == "resume") {
        meant.remove(bare);
    }
    let mut place = 0..;
    meant.retain(|word| place.next() >= Some(end) || !is_print(word));
    meant.insert(COMMAND_INDEX, command.into());
    Some(meant)
}

/// The words with a command that takes the unknown flag in front of it: `agentx --output-format json run hi`.
pub(super) fn with_flags_behind(error: &clap::Error, words: &[OsString]) -> Option<Vec<OsString>> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let is_command = |word: &OsString| word.to_str().is_some_and(|word| ["run", "chat"].contains(&word));
    let at = words
        .iter()
        .position(is_command)
        .filter(|at| *at > COMMAND_INDEX)?;
    let mut meant = words.to_vec();
    let command = meant.remove(at);
    meant.insert(COMMAND_INDEX, command);
    Some(meant)
}

/// `agentx "fix the bug"` and `agentx tour` open a chat that begins with that, unless a command was mistyped.
pub(super) fn with_chat(
    error: &clap::Error,
    words: &[OsString],
    root: &clap::Command,
) -> Option<Vec<OsString>> {
    let (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) =
        (error.kind(), error.get(ContextKind::InvalidSubcommand))
    else {
        return None;
    };
    let mut before = words.iter().skip(1).take_while(|typed| *typed != word.as_str());
    let is_of_command = before.any(|typed| root.find_subcommand(typed).is_some());
    let commands: Vec<&str> = root.get_subcommands().map(clap::Command::get_name).collect();
    let mut words = words.to_vec();
    words.insert(COMMAND_INDEX, "chat".into());
    (!is_of_command && is_prompt(word, &commands)).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_other_programs_stand_for_commands() {
        let meant = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let meant = with_command(&words, |word| ["run", "resume", "models"].contains(&word));
            let words = meant.unwrap_or(words);
            words.join(&OsString::from(" ")).into_string().unwrap()
        };
        for (typed, stands_for) in [
            ("agentx -p hello", "agentx run hello"),
            ("agentx --model x -p hello", "agentx run --model x hello"),
            ("agentx -p --model x hello", "agentx run --model x hello"),
            ("agentx hello --model x -p", "agentx run hello --model x"),
            (
                "agentx --yes hello -c --model x",
                "agentx chat --yes hello -c --model x",
            ),
            ("agentx hello -c -p", "agentx run hello -c"),
            ("agentx -p hello --json", "agentx run hello --json"),
            ("agentx hello -p", "agentx run hello"),
            ("agentx -c", "agentx chat -c"),
            ("agentx --continue hello", "agentx chat --continue hello"),
            ("agentx -r", "agentx resume"),
            ("agentx --resume", "agentx resume"),
            ("agentx -r --model x", "agentx resume --model x"),
            ("agentx -r ses_abcd", "agentx chat -r ses_abcd"),
            ("agentx --resume=ses_abcd", "agentx chat --resume=ses_abcd"),
            ("agentx -r ses_abcd -p hello", "agentx run -r ses_abcd hello"),
            ("agentx resume -r", "agentx resume -r"),
            ("agentx -c -p hello", "agentx run -c hello"),
            ("agentx -p hello -c", "agentx run hello -c"),
            ("agentx -p -- -p", "agentx run -- -p"),
            ("agentx run -c hello", "agentx run -c hello"),
            ("agentx models -p", "agentx models -p"),
            ("agentx", "agentx"),
        ] {
            assert_eq!(meant(typed), stands_for, "{typed}");
        }
    }
}
