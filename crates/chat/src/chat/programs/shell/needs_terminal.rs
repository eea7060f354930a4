//! Recognizes commands of the person that need the terminal: editors, `git add -p`, `ssh HOST`, and any
//! command after `!!`. All others run as `!COMMAND`, and the log keeps their output for the agent. A wrong
//! guess costs little: `!!` lends the terminal to anything.

/// Programs that draw on the whole screen or read keys, whatever their arguments are. Pagers are not among
/// them: without a terminal they print the text and end.
const SCREEN_PROGRAMS: &[&str] = &[
    "vi", "vim", "nvim", "nano", "emacs", "micro", "hx", "top", "htop", "btop", "watch", "fzf", "tig",
    "lazygit", "passwd", "su",
];
/// Programs that read from a person if they are given nothing else.
const ALONE: &[&str] = &[
    "python", "python3", "ipython", "node", "irb", "sqlite3", "bash", "zsh", "fish", "sh", "tmux", "screen",
];
/// Flags with which no program waits for a person.
const ABOUT: &[&str] = &["--help", "--version"];
/// Programs that read from a person, unless one of these flags says what to do. A flag of one letter may have
/// its value behind it.
const UNLESS: &[(&str, &[&str])] = &[
    ("psql", &["-c", "--command", "-f", "--file", "-l", "--list", "-V"]),
    ("mysql", &["-e", "--execute", "-V"]),
    ("gdb", &["-batch", "--batch"]),
    ("lldb", &["-b", "--batch"]),
    ("top", &["-b"]),
    ("emacs", &["--batch", "-batch"]),
    ("vim", &["-es"]),
    ("nvim", &["--headless", "-es"]),
    ("fzf", &["-f", "--filter"]),
];
/// Subcommands of programs that take over the terminal otherwise.
const ATTACHING: &[(&str, &[&str])] = &[
    (
        "tmux",
        &["attach", "attach-session", "a", "at", "new", "new-session"],
    ),
    ("screen", &["-r", "-x", "-R", "-RR", "-S"]),
];
/// Flags of `ssh` that have a value.
const SSH_VALUES: &str = "BbcDEeFIiJLlmOoPpQRSWw";
/// Flags of `sudo` that have a value.
const SUDO_VALUES: &[&str] = &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t"];
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

/// The command that needs the terminal, without the second `!`; `None` if its output is shown as that of
/// others.
pub(super) fn wanting_terminal(command: &str) -> Option<&str> {
    if let Some(rest) = command.strip_prefix('!') {
        return Some(rest.trim()).filter(|rest| !rest.is_empty());
    }
    let words: Vec<&str> = command.split_whitespace().collect();
    let is_piped = command.contains(['|', '>', '<']);
    (!is_piped && reads_keys(&words)).then_some(command)
}

fn reads_keys(words: &[&str]) -> bool {
    let Some((program, words)) = words.split_first() else {
        return false;
    };
    let program = program.rsplit('/').next().unwrap_or_default();
    if words.iter().any(|word| ABOUT.contains(word)) {
        return false;
    }
    match (program, flags_of(UNLESS, program)) {
        (_, Some(flags)) => !has_flag(words, flags),
        ("git", _) => git_asks(words),
        ("ssh", _) => ssh_has_no_command(words),
        ("sudo", _) => sudo_asks(words),
        (program, _) if ALONE.contains(&program) => {
            let attaches = flags_of(ATTACHING, program).unwrap_or_default();
            words.is_empty()
                || words.first().is_some_and(|word| attaches.contains(word)) && !is_detached(words)
        }
        (program, _) => SCREEN_PROGRAMS.contains(&program),
    }
}

fn flags_of(table: &[(&str, &'static [&'static str])], program: &str) -> Option<&'static [&'static str]> {
    let row = table.iter().find(|(name, _)| *name == program);
    row.map(|(_, flags)| *flags)
}

/// Returns whether `tmux new -d` or `screen -S NAME -dm` starts something and returns immediately.
fn is_detached(words: &[&str]) -> bool {
    words
        .iter()
        .any(|word| matches!(*word, "-d" | "-dm" | "-dmS" | "-X"))
}

/// Returns whether `ssh` opens a shell: it has no command behind the host, or `-t` gives the command a
/// terminal.
fn ssh_has_no_command(words: &[&str]) -> bool {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(flags) = word.strip_prefix('-') else {
            return words.next().is_none();
        };
        match flags {
            "t" | "tt" => return true,
            "V" | "G" | "N" | "f" => return false,
            _ => {}
        }
        // The value of the last flag is the next word, unless it follows the letter directly.
        if flags.len() == 1 && SSH_VALUES.contains(flags) {
            words.next();
        }
    }
    false
}

/// Returns whether `sudo` may ask for a password, or what it runs reads keys.
fn sudo_asks(words: &[&str]) -> bool {
    let is_quiet = |word: &&str| *word == "-n" || *word == "--non-interactive";
    let mut at = 0;
    while let Some(flag) = words.get(at).filter(|word| word.starts_with('-')) {
        at += if SUDO_VALUES.contains(flag) { 2 } else { 1 };
    }
    let (flags, command) = words.split_at(at.min(words.len()));
    !flags.iter().any(is_quiet) || reads_keys(command)
}

fn git_asks(words: &[&str]) -> bool {
    match words.first() {
        Some(&("add" | "checkout" | "restore" | "reset" | "stash" | "rebase" | "clean")) => {
            has_flag(words, ASKING_FLAGS)
        }
        Some(&"commit") => {
            has_flag(words, ASKING_FLAGS)
                || !has_flag(words, MESSAGE_FLAGS) && !words.iter().any(|word| word.starts_with("-am"))
        }
        Some(&("mergetool" | "difftool")) => true,
        _ => false,
    }
}

fn has_flag(words: &[&str], flags: &[&str]) -> bool {
    let is_flag = |word: &&str| {
        flags
            .iter()
            .any(|flag| word.split('=').next() == Some(flag) || is_short(word, flag))
    };
    words.iter().any(is_flag)
}

/// Returns whether a word is a flag of one letter with its value behind it: `-mwords`.
fn is_short(word: &str, flag: &str) -> bool {
    flag.len() == 2 && !word.starts_with("--") && word.starts_with(flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_draw_or_ask_get_the_terminal() {
        for command in [
            "vim src/main.rs",
            "/usr/bin/nano a.txt",
            "git add -p",
            "git commit",
            "git commit --amend",
            "git rebase -i HEAD~3",
            "python3",
            "sudo ls",
            "sudo -u ada ls",
            "sudo -n vim /etc/hosts",
            "ssh host",
            "ssh -p 2222 -i key ada@host",
            "ssh -t host top",
            "psql -h db shop",
            "mysql shop",
            "top",
            "tmux",
            "tmux attach -t work",
            "gdb ./a.out",
        ] {
            assert_eq!(wanting_terminal(command), Some(command), "{command}");
        }
        assert_eq!(wanting_terminal("! ./ask.sh"), Some("./ask.sh"));
    }

    #[test]
    fn programs_that_are_told_what_to_do_run_as_others() {
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
            "man git",
            "less a.txt",
            "/usr/bin/more a.txt",
            "ssh host uptime",
            "ssh -p 2222 ada@host git status",
            "ssh -p2222 host ls",
            "ssh -V",
            "sudo -n ls",
            "sudo -u ada -n ls",
            "sudo --non-interactive systemctl status",
            "psql -c 'select 1'",
            "psql shop --command='select 1'",
            "psql -l",
            "mysql shop -e 'select 1'",
            "mysql -e'select 1'",
            "top -b -n1",
            "tmux ls",
            "tmux new -d -s work",
            "gdb -batch -ex bt ./a.out",
            "vim --version",
            "nvim --headless +q",
            "",
        ] {
            assert_eq!(wanting_terminal(command), None, "{command}");
        }
        assert_eq!(wanting_terminal("!"), None);
    }
}
