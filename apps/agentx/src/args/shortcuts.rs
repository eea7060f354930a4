//! Command lines without a command, as people know them from other programs: `agentx "PROMPT"`, `agentx -p
//! "PROMPT"`, `agentx -c`.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Index of the inserted command: behind the name of the program. In front of a word it could separate a flag
/// from its value, or from the words before it.
const COMMAND_INDEX: usize = 1;

/// The words with the command that a flag in front of any command stands for: `-p` for `run`, `-c` for a chat
/// that continues.
pub(super) fn with_command(words: &[OsString], is_command: impl Fn(&str) -> bool) -> Option<Vec<OsString>> {
    let is = |word: &OsString, flags: [&str; 2]| word.to_str().is_some_and(|word| flags.contains(&word));
    let is_print = |word: &OsString| is(word, ["-p", "--print"]);
    let is_continue = |word: &OsString| is(word, ["-c", "--continue"]);
    let ends_flags = |word: &OsString| word.to_str().is_some_and(|word| word == "--" || is_command(word));
    let at = words
        .iter()
        .position(|word| is_print(word) || is_continue(word))?;
    if words[..at].iter().skip(1).any(ends_flags) {
        return None;
    }
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let command = if words[..end].iter().any(is_print) {
        "run"
    } else {
        "chat"
    };
    let mut meant = words.to_vec();
    let mut place = 0..;
    meant.retain(|word| place.next() >= Some(end) || !is_print(word));
    meant.insert(COMMAND_INDEX, command.into());
    Some(meant)
}

/// `agentx "fix the bug"` opens a chat that begins with that: a single argument of several words is not a
/// misspelt command.
pub(super) fn with_chat(error: &clap::Error, words: &[OsString]) -> Option<Vec<OsString>> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let is_prompt = word.trim().contains(char::is_whitespace) && error.kind() == ErrorKind::InvalidSubcommand;
    let mut words = words.to_vec();
    words.insert(COMMAND_INDEX, "chat".into());
    is_prompt.then_some(words)
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
