//! The lines that the shell reads from its pipe: one that sets it up, and one for each command.
//!
//! Standard input of the shell itself is a pipe that only this program writes, so nothing that is typed into
//! the terminal is ever taken for a command. Programs that the shell runs get the terminal as their input.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// Sets the shell up: no history, no prompts but the sequence of [`super::prompt_scanner`], which it prints
/// with the number of the last command, its exit code and the directory.
const SET_UP: &str = concat!(
    "exec 9<&1; set +o history; set +H; unset HISTFILE MAILCHECK TMOUT PROMPT_COMMAND PS0; PS1= PS2=; ",
    "__agentx_begin() { __agentx_number=$1; return \"$__agentx_last\"; }; ",
    "__agentx_end() { __agentx_last=$?; PS1= PS2= PROMPT_COMMAND=__agentx_prompt; return \"$__agentx_last\"; }; ",
    "__agentx_prompt() { __agentx_last=$?; printf '\\e]777;agentx;WORD;%s;%s;%s\\a' ",
    "\"$__agentx_number\" \"$__agentx_last\" \"$PWD\" >&9; }; ",
    "__agentx_number=0 __agentx_last=0 PROMPT_COMMAND=__agentx_prompt\n",
);

/// Returns a word that no program knows by chance.
pub(super) fn secret_word() -> String {
    // Each state is made from random numbers of the system.
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}

/// Returns the line that sets a shell up, whose prompts have this word.
pub(super) fn set_up(word: &str) -> String {
    SET_UP.replace("WORD", word)
}

/// Returns the line that runs a command. It is evaluated outside of any function, so that everything that it
/// declares stays, and with the terminal as its input.
pub(super) fn command(number: u64, line: &str) -> String {
    format!(
        "__agentx_begin {number}; eval {} 0<&9 9<&-; __agentx_end\n",
        quoted(line)
    )
}

/// Quotes a text as one word on one line (`$'…'`).
fn quoted(text: &str) -> String {
    let mut word = String::with_capacity(text.len() + 8);
    word.push_str("$'");
    for c in text.chars() {
        match c {
            '\\' => word.push_str("\\\\"),
            '\'' => word.push_str("\\'"),
            '\n' => word.push_str("\\n"),
            c if c.is_ascii_control() => word.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => word.push(c),
        }
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_what_was_quoted() {
        for text in [
            "",
            "a b",
            "it's \\n \"$HOME\" `x` !!",
            "two\nlines\n",
            "\t\u{1}\u{7f}f 你好 \u{85}",
        ] {
            let line = format!("printf %s {}", quoted(text));
            assert!(!line.contains('\n'), "{line}");
            let said = std::process::Command::new("bash")
                .args(["-c", &line])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), text);
        }
    }

    #[test]
    fn each_shell_has_its_own_word() {
        let (one, other) = (secret_word(), secret_word());
        assert!(one != other && one.len() == 32);
        assert!(set_up(&one).contains(&one) && set_up(&one).matches('\n').count() == 1);
    }
}
