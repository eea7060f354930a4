//! Build and test tools, which people allow with a star. A star stands for options of a list, and for words that lead
//! nowhere else: `cargo test *` allows `cargo test -p a name`, but neither `--config …`, which may name a program to run
//! instead of the tests, nor a path out of the workspace.
//!
//! | words | a star stands for |
//! | --- | --- |
//! | options of the tool | those in `table` |
//! | words behind `--` or a script (`node x.js`, `go run .`) | options in `table`; any, if the rule names `--` or the script |
//! | words behind `npm test --`, `yarn test`, `just test` | options that are harmless for all usual runners |
//! | words behind `npx jest`, `python -m pytest`, `uv run pytest` | the same as behind `jest` and `pytest` |
//! | other words | names, and paths within the workspace |
//!
//! From version 9 of the rules on.

mod table;

use crate::commands::command_analysis::BLANK;
use crate::pattern::is_within;
use table::{Harmless, TABLE};

/// Commands that run another program of the project: program and subcommand.
const LAUNCHERS: &[(&str, &str)] = &[
    ("bundle", "exec"),
    ("bunx", ""),
    ("hatch", "run"),
    ("npx", ""),
    ("pdm", "run"),
    ("pipenv", "run"),
    ("pnpm", "exec"),
    ("poetry", "run"),
    ("uv", "run"),
    ("yarn", "exec"),
];

/// Commands whose first word is a script, to which the words behind it belong: program and subcommand.
const OF_SCRIPTS: &[(&str, &str)] = &[("deno", "run"), ("go", "run"), ("node", ""), ("python", "")];

/// Programs that are only judged where they run another one.
const ONLY_LAUNCHERS: &[&str] = &["bundle", "hatch", "pdm", "pipenv", "poetry", "uv"];

/// Programs that pass the options behind the name of a script or recipe on to it.
const PASS_ON: &[&str] = &["bun", "just", "pnpm", "yarn"];

/// The maximum number of programs that run the next one: `npx npx npx jest`.
const MOST_LAUNCHERS: usize = 4;

/// Subcommands of these that run no script of this name.
const OF_MANAGERS: &[&str] = &[
    "add", "audit", "ci", "i", "install", "list", "ls", "outdated", "remove", "run", "why",
];

/// Programs whose options are the same behind each word, and those whose first word is another program.
const WITHOUT_SUBCOMMAND: &[&str] = &["bunx", "cmake", "just", "node", "npx", "python"];

/// Returns the words of one command that no star matches, as they would be written in a pattern. `in_words` has marks
/// for blanks within a word. `is_whole`: whether it is a command, and not the beginning of a pattern.
pub(super) fn unlisted(in_words: &str, workspace: &str, is_whole: bool) -> Vec<String> {
    let words: Vec<&str> = in_words.split(' ').filter(|word| !word.is_empty()).collect();
    let command = Command::of(&words, workspace, is_whole, MOST_LAUNCHERS);
    command.map_or_else(Vec::new, |command| command.unlisted())
}

/// Returns whether a dangerous word is one of a tool in the table, so that its effect is not known.
pub(crate) fn is_of_build_tool(word: &str) -> bool {
    word.split(' ')
        .next()
        .is_some_and(|program| tool(program).is_some())
}

/// The name of a program in the table; `python3.12` is `python`.
fn tool(program: &str) -> Option<&str> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || c == '.');
    let name = match name.strip_prefix("python") {
        Some(rest) if is_version(rest) => "python",
        _ => name,
    };
    TABLE.iter().any(|row| has(row.programs, name)).then_some(name)
}

/// A command of a tool.
struct Command<'a> {
    program: &'a str,
    words: &'a [&'a str],
    workspace: &'a str,
    is_whole: bool,
    /// How many launchers are followed.
    launchers: usize,
}

impl<'a> Command<'a> {
    /// Returns the command of these words, if the first one is a tool of the table.
    fn of(words: &'a [&'a str], workspace: &'a str, is_whole: bool, launchers: usize) -> Option<Self> {
        let (program, words) = words.split_first()?;
        Some(Self {
            program: tool(program)?,
            words,
            workspace,
            is_whole,
            launchers,
        })
    }

    fn unlisted(&self) -> Vec<String> {
        let subcommand = self.words.iter().find(|word| !is_option(word)).copied();
        let subcommand = subcommand.filter(|_| !WITHOUT_SUBCOMMAND.contains(&self.program));
        let subcommand = subcommand.unwrap_or_default();
        if let Some(at) = self.launched(subcommand) {
            return self.with_launched(at, subcommand);
        }
        if ONLY_LAUNCHERS.contains(&self.program) {
            return Vec::new();
        }
        let (own, behind) = (self.rows(subcommand, false), self.rows(subcommand, true));
        let mut found = Vec::new();
        let mut part = Part::Own;
        let mut plain = 0;
        for word in self.words {
            if *word == "--" {
                if !behind.is_empty() {
                    part = Part::Inner;
                    // A rule that names the border allows all options behind it.
                    found.extend((!self.is_whole).then(|| self.named(subcommand, "--")));
                }
            } else if is_option(word) {
                let rows = if part == Part::Own { &own } else { &behind };
                let word = (!are_listed(rows, word)).then(|| match part {
                    Part::Inner => self.named(subcommand, "--"),
                    Part::Script(script) => self.named(subcommand, script),
                    Part::Own | Part::PassedOn => self.named("", name(word)),
                });
                found.extend(word);
            } else {
                plain += 1;
                let next = self.behind_plain(word, subcommand, plain);
                if let (Part::Own, Some(next)) = (part, next) {
                    part = next;
                    if let Part::Script(script) = next {
                        found.extend((!self.is_whole).then(|| self.named(subcommand, script)));
                    }
                }
                found.extend(self.is_hazard(word, part).then(|| self.named("", word)));
            }
            if leaves(word, self.workspace) {
                found.push(self.named("", word));
            }
        }
        found
    }

    /// What the words behind a word without dashes belong to, if that changes. `plain` is its number.
    fn behind_plain<'w>(&self, word: &'w str, subcommand: &str, plain: usize) -> Option<Part<'w>> {
        let scripts = OF_SCRIPTS.iter().find(|(program, _)| *program == self.program);
        if let Some((_, before)) = scripts {
            let at = 1 + usize::from(!before.is_empty());
            return (plain == at && (before.is_empty() || *before == subcommand))
                .then_some(Part::Script(word));
        }
        let is_test = self.program == "bun" && subcommand == "test";
        let is_own = is_test || OF_MANAGERS.contains(&subcommand) && (subcommand != "run" || plain == 1);
        let is_passed = PASS_ON.contains(&self.program) && (self.program == "just" || !is_own);
        is_passed.then_some(Part::PassedOn)
    }

    /// Returns where the program that this command runs stands among its words.
    fn launched(&self, subcommand: &str) -> Option<usize> {
        let plain = |skipped: usize| {
            let words = self.words.iter().enumerate();
            words.filter(|(_, word)| !is_option(word)).skip(skipped)
        };
        if self.program == "python" {
            let at = self
                .words
                .iter()
                .position(|word| !is_option(word) || *word == "-m")?;
            let module = self.words.get(at + 1).filter(|_| self.words[at] == "-m")?;
            return tool(module).map(|_| at + 1);
        }
        let is_it = |(program, before): &&(&str, &str)| {
            *program == self.program && (before.is_empty() || *before == subcommand)
        };
        let Some((_, before)) = LAUNCHERS.iter().find(is_it) else {
            // `yarn jest`, `pnpm tsc`: without a script of this name it is the program.
            let runs = PASS_ON.contains(&self.program) && self.program != "just";
            return plain(0)
                .next()
                .filter(|(_, word)| runs && tool(word).is_some())
                .map(|(at, _)| at);
        };
        let skipped = usize::from(!before.is_empty());
        // The value of an option may stand before the program.
        let known = plain(skipped).find(|(_, word)| tool(word).is_some());
        known.or_else(|| plain(skipped).next()).map(|(at, _)| at)
    }

    /// The words that no star matches of a command that runs the program at this place.
    fn with_launched(&self, at: usize, subcommand: &str) -> Vec<String> {
        let (own, rest) = self.words.split_at(at);
        let module = usize::from(self.program == "python");
        let own = own[..own.len() - module]
            .iter()
            .filter(|word| is_option(word) && **word != "--");
        let rows = self.rows("", false);
        let others = own.filter(|word| !are_listed(&rows, word));
        let mut found: Vec<String> = others.map(|word| self.named("", name(word))).collect();
        let Some((inner, words)) = rest.split_first() else {
            return found;
        };
        if let Some(next) = Command::of(
            rest,
            self.workspace,
            self.is_whole,
            self.launchers.saturating_sub(1),
        ) {
            let is_followed = self.launchers > 0;
            found.extend(if is_followed {
                next.unlisted()
            } else {
                vec![self.named("", inner)]
            });
            return found;
        }
        // A rule that names the program allows all of its options.
        let is_listed = |word: &&str| !is_option(word) || has(table::OF_ANY, name(word));
        if !self.is_whole || !words.iter().all(is_listed) {
            found.push(self.named(subcommand, inner));
        }
        let outside = rest.iter().filter(|word| leaves(word, self.workspace));
        found.extend(outside.map(|word| self.named("", word)));
        found
    }

    /// The rows for its own words, or for those `behind` the border to another program.
    fn rows(&self, subcommand: &str, behind: bool) -> Vec<&'static Harmless> {
        let rows = TABLE.iter().filter(|row| has(row.programs, self.program));
        let rows = rows.filter(|row| match row.subcommand.strip_suffix("--") {
            Some(before) => behind && (before.is_empty() || before.trim_end() == subcommand),
            None => !behind && (row.subcommand.is_empty() || row.subcommand == subcommand),
        });
        rows.collect()
    }

    /// Returns whether a word without dashes does more than it selects: it sets a variable, reads options from a file,
    /// or names code of another place.
    fn is_hazard(&self, word: &str, part: Part<'_>) -> bool {
        match self.program {
            "make" | "gmake" | "rake" => word.contains('='),
            // It puts words into lines for a shell, sets variables by them, and runs recipes of other folders.
            "just" => !word
                .chars()
                .all(|c| c.is_alphanumeric() || "-_.:,@+%".contains(c)),
            "mvn" | "mvnw" => word.matches(':').count() > 1,
            "dotnet" if part == Part::Inner => word.contains('='),
            "deno" => ["npm:", "jsr:", "data:", "blob:", "node:"]
                .iter()
                .any(|start| word.starts_with(start)),
            // A target in a file of its own names a linker.
            "cargo" => word.ends_with(".json"),
            "go" => word.contains('@'),
            "npm" | "npx" | "pnpm" | "yarn" | "bun" | "bunx" => false,
            _ => word.starts_with('@'),
        }
    }

    /// A word as it would be written in a pattern.
    fn named(&self, subcommand: &str, word: &str) -> String {
        let words = [self.program, subcommand, word];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        words.join(" ").replace(BLANK, " ")
    }
}

/// The program that words of a command belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part<'a> {
    /// The tool itself.
    Own,
    /// The one behind `--`.
    Inner,
    /// One that is not known, to which the tool passes on what it does not know.
    PassedOn,
    /// This script.
    Script(&'a str),
}

/// Returns whether the rows list an option: as a whole word, or each letter of its group.
fn are_listed(rows: &[&Harmless], word: &str) -> bool {
    if rows
        .iter()
        .any(|row| has(row.words, name(word)) || has(row.words, word))
    {
        return true;
    }
    let Some(group) = word.strip_prefix('-').filter(|group| !group.starts_with('-')) else {
        return false;
    };
    for letter in group.chars() {
        if rows.iter().any(|row| row.valued.contains(letter)) {
            return true;
        }
        if !rows.iter().any(|row| row.letters.contains(letter)) {
            return false;
        }
    }
    true
}

/// Returns whether a list, parted by blanks, has this word.
fn has(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// The name of an option, without its value.
fn name(word: &str) -> &str {
    word.split('=').next().unwrap_or_default()
}

/// Returns whether a word, or the value in it, is a path out of the workspace or an address.
fn leaves(word: &str, workspace: &str) -> bool {
    let is_outside = |text: &str| {
        let is_inside = !workspace.is_empty() && is_within(workspace, text);
        let is_home = text.starts_with('~');
        is_home || (text.starts_with('/') && !is_inside)
    };
    let attached = word.strip_prefix('-').and_then(|group| group.get(1..));
    let mut parts = word.split(['=', ',']).chain(attached);
    word.contains("://")
        || word.split(['/', '\\', '=', ',']).any(|part| part == "..")
        || parts.any(|part| is_outside(part.trim_start_matches('+')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_no_star_stands_for_are_named() {
        let cases: &[(&str, &[&str])] = &[
            ("cargo test -p a -- --nocapture", &[]),
            (
                "cargo -q test --config=/x",
                &["cargo --config", "cargo --config=/x"],
            ),
            ("cargo test -- --logfile x", &["cargo test --"]),
            ("node a.js --port 80", &["node a.js"]),
            ("node -r b a.js", &["node -r"]),
            ("go run . -v x", &["go run ."]),
            ("python3.12 -m pytest -p x", &["pytest -p"]),
            ("python3 -m x", &["python -m"]),
            ("uv run --extra dev pytest -c x", &["uv --extra", "pytest -c"]),
            ("npx a --b", &["npx a"]),
            ("npx npx npx npx npx npx jest", &["npx npx"]),
            ("poetry install --no-root", &[]),
            ("yarn jest -c x", &["jest -c"]),
            ("pnpm test -r x", &["pnpm -r"]),
            ("make -C x A\u{1}b=c", &["make -C", "make A b=c"]),
            ("./gradlew -I x", &["gradlew -I"]),
            (
                "pytest /ws/a ../b ~/c /d",
                &["pytest ../b", "pytest ~/c", "pytest /d"],
            ),
            ("ls --config x", &[]),
        ];
        for (command, found) in cases {
            assert_eq!(unlisted(command, "/ws", true), *found, "{command}");
        }
    }

    #[test]
    fn the_beginning_of_a_pattern_names_the_border_and_the_script() {
        let cases: &[(&str, &[&str])] = &[
            ("cargo test ", &[]),
            ("cargo test -- ", &["cargo test --"]),
            ("node a.js ", &["node a.js"]),
            ("npx a ", &["npx a"]),
            ("npx jest ", &[]),
            ("pytest -c ", &["pytest -c"]),
        ];
        for (head, named) in cases {
            assert_eq!(unlisted(head, "/ws", false), *named, "{head}");
        }
    }

    #[test]
    fn each_tool_has_options_and_no_option_stands_twice_in_a_row() {
        for row in TABLE {
            let words: Vec<&str> = row.words.split(' ').collect();
            let twice = words
                .iter()
                .find(|word| words.iter().filter(|w| w == word).count() > 1);
            assert!(twice.is_none(), "{}: {twice:?}", row.programs);
            assert!(words.iter().all(|word| word.is_empty() == row.words.is_empty()));
        }
    }
}
