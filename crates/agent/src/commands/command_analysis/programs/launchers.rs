//! Tools of programming languages that run another program: `uv run rm x`, `npx rm x`, `cargo watch -- rm x`.
//! Rules that deny, dangerous words and the guard of homes apply to that program as behind `timeout`.
//!
//! It finds more commands than run: each word that may begin the other command counts, because the options of
//! these tools are not known. It applies from version 9 of the rules. `severity/build_tools` decides what a
//! star of an `allow` rule matches.

use std::collections::BTreeSet;

use super::wrapper_commands::basename;
use crate::commands::command_analysis::lex::word::Word;

/// A tool that runs another program.
struct Launcher {
    /// The tool, with its other names, parted by blanks.
    names: &'static str,
    /// The subcommands behind which the other program stands, parted by blanks; none if it stands behind the
    /// tool.
    subcommands: &'static str,
    /// The number of words in front of that program, besides options.
    own: usize,
    /// Options whose value is a line for a shell.
    lines: &'static str,
}

/// Returns a row of the table below.
const fn row(names: &'static str, subcommands: &'static str, own: usize, lines: &'static str) -> Launcher {
    Launcher {
        names,
        subcommands,
        own,
        lines,
    }
}

/// The tools.
#[rustfmt::skip]
const LAUNCHERS: &[Launcher] = &[
    row("npx bunx pnpx uvx pipx dnx xvfb-run dotenv cross-env env-cmd nodemon watchexec", "", 0, "-c --call --exec -x"),
    row("npm", "exec x", 0, "-c --call"),
    row("pnpm pn", "exec dlx x", 0, "-c"),
    row("yarn yarnpkg", "exec dlx", 0, ""),
    row("bun", "x exec", 0, ""),
    row("deno", "x", 0, ""),
    row("bundle bundler", "exec e ex exe", 0, ""),
    row("composer", "exec exe ex e", 0, ""),
    row("uv poetry pdm pipenv hatch pipx rye pixi conda mamba micromamba", "run", 0, ""),
    row("cargo", "watch", 0, "-s --shell"),
    row("rustup", "run", 1, ""),
    row("stack cabal tox opam", "exec e v2-exec new-exec", 0, ""),
    row("mix", "cmd", 0, ""),
    row("mise rtx asdf rbenv pyenv nodenv fnm volta", "exec x run e", 0, "-c --command"),
    row("dotenvx doppler op", "run", 0, "--command"),
    row("direnv aws-vault", "exec", 1, ""),
    row("lerna rush nx", "exec", 0, ""),
];

/// Maximum number of words of a command that are searched for another one.
const SEARCHED: usize = 100;
/// Maximum number of commands that one command may run. With more of them, it hides one.
const MOST: usize = 16;

/// A command that a launcher may run.
pub(crate) enum Launched<'a> {
    /// These words.
    Words(&'a [Word]),
    /// A text that a shell reads, and whether all of it is known.
    Line(String, bool),
}

/// Returns the commands of which a launcher may run one; none if the words begin with no launcher.
pub(crate) fn launched(words: &[Word]) -> Vec<Launched<'_>> {
    let Some((program, arguments)) = words.split_first() else {
        return Vec::new();
    };
    let name = basename(&program.text);
    let rows = LAUNCHERS.iter().filter(|launcher| has(launcher.names, name));
    let mut found = Vec::new();
    for launcher in rows {
        if launcher.subcommands.is_empty() {
            found.extend(launcher.commands(arguments));
            continue;
        }
        let places = arguments.iter().take(SEARCHED).enumerate();
        for (at, _) in places.filter(|(_, word)| has(launcher.subcommands, &word.text)) {
            found.extend(launcher.commands(&arguments[at + 1..]));
        }
    }
    let mut starts = BTreeSet::new();
    found.retain(|command| match command {
        Launched::Words(words) => starts.insert(words.len()),
        Launched::Line(..) => true,
    });
    if found.len() > MOST {
        found.truncate(MOST);
        found.push(Launched::Line(String::new(), false));
    }
    found
}

impl Launcher {
    /// Returns the commands that may begin among the words behind the launcher's own.
    fn commands<'a>(&self, words: &'a [Word]) -> Vec<Launched<'a>> {
        let mut found = Vec::new();
        let mut own = self.own;
        let mut may_be_value = false;
        for (at, word) in words.iter().enumerate().take(SEARCHED) {
            let text = word.text.as_str();
            if text == "--" {
                found.extend(
                    words
                        .get(at + 1..)
                        .filter(|rest| !rest.is_empty())
                        .map(Launched::Words),
                );
                break;
            }
            if text.len() > 1 && text.starts_with('-') {
                found.extend(self.line(word, words.get(at + 1)));
                may_be_value = !text.contains('=');
                continue;
            }
            if own > 0 {
                own -= 1;
                continue;
            }
            found.push(Launched::Words(&words[at..]));
            if !std::mem::take(&mut may_be_value) {
                break;
            }
        }
        found
    }

    /// Returns the line for a shell that an option has as its value.
    fn line(&self, option: &Word, next: Option<&Word>) -> Option<Launched<'static>> {
        let text = option.text.as_str();
        let (name, attached) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        if self.lines.is_empty() || !has(self.lines, name) {
            return None;
        }
        match attached {
            Some(value) => Some(Launched::Line(value.to_owned(), !option.dynamic)),
            None => next.map(|word| Launched::Line(word.text.clone(), !word.dynamic)),
        }
    }
}

/// Returns whether a list, parted by blanks, has this word.
fn has(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::command_analysis::lex::lex;

    #[test]
    fn a_launcher_with_very_many_commands_hides_one() {
        let line = format!("uv run{} rm x", " --with a".repeat(30));
        let words = lex(&line, true).commands.remove(0);
        let found = launched(&words);
        assert!(found.len() == MOST + 1 && matches!(found.last(), Some(Launched::Line(_, false))));
    }

    #[test]
    fn each_command_that_a_launcher_may_run_is_found() {
        for (line, expected) in [
            ("uv run rm -r x", "rm -r x"),
            ("uv run --extra dev rm x", "dev rm x|rm x"),
            ("npx --yes rm x", "rm x|x"),
            ("npx -c 'rm x'", "[rm x]|rm x"),
            ("npm exec -- rm x", "rm x"),
            ("pnpm -r exec rm x", "rm x"),
            ("yarn workspace a exec rm x", "rm x"),
            ("cargo watch -x test -- rm x", "test -- rm x|rm x"),
            ("cargo watch -s 'rm x'", "[rm x]|rm x"),
            ("direnv exec . rm x", "rm x"),
            ("bundle exec rm x", "rm x"),
            ("uv tool run rm x", "rm x"),
            ("npm run rm x", ""),
            ("pnpm rm x", ""),
            ("cargo test", ""),
            ("ls x", ""),
        ] {
            let words = lex(line, true).commands.remove(0);
            let found: Vec<String> = launched(&words)
                .into_iter()
                .map(|command| match command {
                    Launched::Words(words) => {
                        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
                        texts.join(" ")
                    }
                    Launched::Line(line, _) => format!("[{line}]"),
                })
                .collect();
            assert_eq!(found.join("|"), expected, "{line}");
        }
    }
}
