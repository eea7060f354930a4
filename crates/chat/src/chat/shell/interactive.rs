//! Commands of the person's own that need the terminal: editors, pagers, `git add -p`, and whatever is written behind `!!`. The terminal is lent to
//! them, and the chat comes back when they end.

use std::io;

use agentx::config::Settings;
use agentx::node::program_environment;
use tokio::process::{Child, Command};

use super::ShellEnd;
use super::process::shell;
use crate::chat::own_editor::Visit;
use crate::chat::{Chat, ChatFlow};
use crate::error::ChatError;

/// Programs that draw on the whole screen or read keys.
const PROGRAMS: &[&str] = &[
    "vi", "vim", "nvim", "nano", "emacs", "micro", "hx", "less", "more", "most", "man", "top", "htop",
    "btop", "watch", "fzf", "tig", "lazygit", "tmux", "screen", "ssh", "sudo", "su", "passwd", "psql",
    "mysql", "gdb", "lldb",
];
/// Programs that read from a person if they are given nothing else.
const ALONE: &[&str] = &[
    "python", "python3", "ipython", "node", "irb", "sqlite3", "bash", "zsh", "fish", "sh",
];
/// Flags by which Git asks about each change.
const ASKING_FLAGS: &[&str] = &["-p", "--patch", "-i", "--interactive", "-e", "--edit"];
/// Flags by which `git commit` has its message.
const MESSAGE_FLAGS: &[&str] = &[
    "-m",
    "--message",
    "-F",
    "--file",
    "-C",
    "--no-edit",
    "--dry-run",
    "--fixup",
];

/// The error where the chat has no terminal to lend.
const NO_TERMINAL: &str =
    "not run: it needs a terminal, which a chat in plain lines cannot lend; use another window";
/// What the agent reads of such a command.
const NOT_KEPT: &str = "(it had the terminal, so its output was not recorded)";

/// The command that needs the terminal, without the second `!`; `None` where its output is shown as that of others.
pub(super) fn wanting_terminal(command: &str) -> Option<&str> {
    if let Some(rest) = command.strip_prefix('!') {
        return Some(rest.trim()).filter(|rest| !rest.is_empty());
    }
    let mut words = command.split_whitespace();
    let program = words.next()?.rsplit('/').next().unwrap_or_default();
    let words: Vec<&str> = words.collect();
    let is_piped = command.contains(['|', '>', '<']);
    let asks = match program {
        "git" => git_asks(&words),
        program if ALONE.contains(&program) => words.is_empty(),
        program => PROGRAMS.contains(&program),
    };
    (asks && !is_piped).then_some(command)
}

fn git_asks(words: &[&str]) -> bool {
    let has = |flags: &[&str]| {
        let is_flag = |word: &&str| {
            flags
                .iter()
                .any(|flag| word.split('=').next() == Some(flag) || is_short(word, flag))
        };
        words.iter().any(is_flag)
    };
    match words.first() {
        Some(&("add" | "checkout" | "restore" | "reset" | "stash" | "rebase" | "clean")) => has(ASKING_FLAGS),
        Some(&"commit") => {
            has(ASKING_FLAGS) || !has(MESSAGE_FLAGS) && !words.iter().any(|word| word.starts_with("-am"))
        }
        Some(&("mergetool" | "difftool")) => true,
        _ => false,
    }
}

/// Whether a word is a flag of one letter with its value behind it: `-mwords`.
fn is_short(word: &str, flag: &str) -> bool {
    flag.len() == 2 && !word.starts_with("--") && word.starts_with(flag)
}

impl Chat<'_> {
    /// Runs a command that has the terminal until it ends.
    pub(super) async fn lend_to_command(&mut self, command: &str) -> Result<ChatFlow, ChatError> {
        let style = self.display.style();
        if let Err(error) = self.session().await {
            tracing::debug!(%error, "a command without a session");
        }
        let Some(loan) = self.lend_terminal()? else {
            return self.display.print_line(NO_TERMINAL);
        };
        let visit = match begin(command, self.settings) {
            Ok(child) => self.visit(child).await,
            Err(error) => {
                drop(loan);
                return self
                    .display
                    .print_line(&style.bad(&format!("  it could not be run: {error}")));
            }
        };
        drop(loan);
        // What the program wrote last may have no end of line.
        self.display.console.paint("\r\n")?;
        self.measure_terminal().await?;
        match visit? {
            Visit::Leaves(exit) => Ok(ChatFlow::Leave(exit)),
            Visit::Over(status) => {
                let (end, shown) = ShellEnd::By(status).words(style);
                self.keep_for_agent(command, NOT_KEPT.to_owned(), end).await;
                let (corner, note) = (
                    style.dim("  └ "),
                    style.dim(" · the agent is told that you ran it"),
                );
                self.display.print_line(&format!("{corner}{shown}{note}"))
            }
        }
    }
}

/// Starts a command with the terminal of the chat.
fn begin(command: &str, settings: &Settings) -> io::Result<Child> {
    Command::new(shell())
        .args(["-c", command])
        .current_dir(&settings.workspace)
        .env_clear()
        .envs(program_environment(settings).variables())
        .kill_on_drop(true)
        .spawn()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_draw_or_ask_get_the_terminal() {
        for command in [
            "vim src/main.rs",
            "/usr/bin/less a.txt",
            "git add -p",
            "git commit",
            "git commit --amend",
            "git rebase -i HEAD~3",
            "python3",
            "sudo ls",
        ] {
            assert_eq!(wanting_terminal(command), Some(command), "{command}");
        }
        for command in [
            "ls",
            "git add .",
            "git commit -m words",
            "git commit -mwords",
            "git commit -am words",
            "git commit --message=words",
            "git rebase main",
            "git log",
            "python3 a.py",
            "echo a | less",
            "",
        ] {
            assert_eq!(wanting_terminal(command), None, "{command}");
        }
        assert_eq!(wanting_terminal("! ./ask.sh"), Some("./ask.sh"));
        assert_eq!(wanting_terminal("!"), None);
    }
}
