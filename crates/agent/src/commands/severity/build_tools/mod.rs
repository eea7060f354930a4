//! Build and test tools, which people allow with a star. A star matches options of a list, and words that
//! lead nowhere else: `cargo test *` allows `cargo test -p a name`, but neither `--config …`, which may name
//! a program to run instead of the tests, nor a path out of the workspace.
//!
//! | words | a star stands for |
//! | --- | --- |
//! | options of the tool | those in `table` |
//! | subcommands, at each level | those in `subcommands`, and scripts, recipes and tasks with usual names (`targets`) |
//! | words behind `--` | options in `table`; any, if the rule names `--` |
//! | words behind a script of the project (`node x.js`, `go run .`, `cargo run --`) | any options |
//! | words behind `npm test --`, `yarn test`, `just test` | options that are harmless for all usual runners |
//! | words behind `npx jest`, `python -m pytest`, `uv run pytest` | the same as behind `jest` and `pytest`; the tool has to be of the same language, and a bare name |
//! | words behind `cmake --build x --` | the same as behind `make` |
//! | other words | names, and paths within the workspace, as `words` says |
//!
//! A launcher runs the first word behind its own options, which have no values in the table. So the word
//! behind an option that is not listed is never taken for the program.
//!
//! From version 9 of the rules on.

mod launchers;
mod subcommands;
mod table;
mod targets;
mod values;
mod words;

use crate::commands::command_analysis::BLANK;
use table::{Harmless, TABLE};
use values::is_known_value;
pub(super) use words::leaves;
use words::{begins_as_glob, quoted_globs};

/// Other names of programs in the table.
const ALIASES: &[(&str, &str)] = &[
    ("cargo-clippy", "cargo"),
    ("cargo-fmt", "cargo"),
    ("cargo-nextest", "cargo"),
    ("nodejs", "node"),
    ("pn", "pnpm"),
    ("py.test", "pytest"),
    ("yarnpkg", "yarn"),
];

/// Commands whose first word is a script, to which the words behind it belong: program and subcommand.
const OF_SCRIPTS: &[(&str, &str)] = &[
    ("coverage", "run"),
    ("deno", "run"),
    ("go", "run"),
    ("node", ""),
    ("python", ""),
];

/// Programs that pass the options behind the name of a script or recipe on to it.
const PASS_ON: &[&str] = &["bun", "just", "pnpm", "yarn"];

/// The maximum number of programs that run the next one: `npx npx npx jest`.
const MOST_LAUNCHERS: usize = 4;

/// Subcommands of these that run no script of this name.
const OF_MANAGERS: &[&str] = &[
    "add", "audit", "ci", "i", "install", "list", "ls", "outdated", "remove", "run", "why",
];

/// Programs whose options are the same behind each word, and those whose first word is another program.
const WITHOUT_SUBCOMMAND: &[&str] = &["bunx", "cmake", "just", "node", "npx", "pnpx", "python", "uvx"];

/// Programs with options that take a value in the next word and may precede the subcommand.
const WITH_VALUE: &[(&str, &str)] = &[
    ("bmake", "-C"),
    ("bun", "--filter -F"),
    ("cargo", "--color --manifest-path"),
    ("gmake", "-C --directory"),
    ("make", "-C --directory"),
    ("npm", "--depth --loglevel --omit --prefix --workspace -w"),
    ("pnpm", "--depth --filter --loglevel --workspace-concurrency -F"),
    ("tox", "-e"),
    ("uv", "--extra --group"),
];

/// Returns the words of the commands of a line that no star matches. A form without the options in front of
/// its subcommand is left out if the whole command precedes it: the words there may be values.
pub(super) fn unlisted_of_all(
    line: &str,
    commands: &[String],
    workspace: &str,
    is_whole: bool,
) -> Vec<String> {
    let quoted = quoted_globs(line);
    let first = line.split(' ').next().unwrap_or_default();
    let mut found = Vec::new();
    let mut last = "";
    for command in commands {
        if is_shorter_form(command, last) {
            continue;
        }
        last = command;
        let is_direct = command.split(' ').next() == Some(first)
            && tool(first).is_some_and(|program| !words::meets_a_shell(program));
        let words = command.split(' ').filter(|word| !word.is_empty());
        // No shell makes names of files of what stands in quotes.
        let written: Vec<String> = words
            .map(|word| {
                if is_direct && quoted.contains(&word) {
                    format!("./{word}")
                } else {
                    word.to_owned()
                }
            })
            .collect();
        let words: Vec<&str> = written.iter().map(String::as_str).collect();
        found.extend(unlisted(&words, workspace, is_whole));
    }
    found
}

/// Returns whether a command is another one without words behind the program that begin with an option.
fn is_shorter_form(command: &str, whole: &str) -> bool {
    let (Some((program, rest)), Some((other, words))) = (command.split_once(' '), whole.split_once(' '))
    else {
        return false;
    };
    let removed = words
        .strip_suffix(rest)
        .filter(|_| name_of(program) == name_of(other));
    removed.is_some_and(|removed| removed.starts_with(['-', '+']) && removed.ends_with(' '))
}

/// The name of a program without its directory.
fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns the words of one command that no star matches, as a pattern would have them. Words have marks for
/// blanks within them. `is_whole`: whether it is a command, and not the beginning of a pattern.
fn unlisted(words: &[&str], workspace: &str, is_whole: bool) -> Vec<String> {
    let command = BuildCommand::of(words, workspace, is_whole, MOST_LAUNCHERS);
    command.map_or_else(Vec::new, |command| command.unlisted())
}

/// Returns whether a dangerous word is one of a tool in the table, so that its effect is not known.
pub(crate) fn is_of_build_tool(word: &str) -> bool {
    word.split(' ')
        .next()
        .is_some_and(|program| tool(program).is_some())
}

/// Returns whether a dangerous word is one that a shell replaces by names of files, which may be options.
pub(crate) fn may_become_an_option(word: &str) -> bool {
    word.split(' ').nth(1).is_some_and(begins_as_glob)
}

/// The name of a program in the table; `python3.12` is `python`, `py.test` is `pytest`.
pub(super) fn tool(program: &str) -> Option<&str> {
    let name = name_of(program);
    let is_version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || c == '.');
    let name = match name.strip_prefix("python") {
        Some(rest) if is_version(rest) => "python",
        _ => name,
    };
    let other = ALIASES.iter().find(|(alias, _)| *alias == name);
    let name = other.map_or(name, |(_, tool)| *tool);
    TABLE.iter().any(|row| has(row.programs, name)).then_some(name)
}

/// A command of a tool.
struct BuildCommand<'a> {
    program: &'a str,
    words: &'a [&'a str],
    workspace: &'a str,
    is_whole: bool,
    /// The number of launchers that are followed.
    launchers: usize,
}

impl<'a> BuildCommand<'a> {
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
        let at = self.subcommand_at();
        let subcommand = at.map_or("", |at| self.words[at]);
        if let Some(program) = self.launched(at) {
            return self.with_launched(program, subcommand);
        }
        if self.is_only_launcher() {
            return self.of_launcher(at);
        }
        if self.runs_plain_module() {
            return Vec::new();
        }
        let hidden = at.and_then(|at| self.hidden_subcommand(at));
        let mut found: Vec<String> = self.unknown_subcommand(at).into_iter().chain(hidden).collect();
        self.judge_words(at, &mut found);
        found
    }

    /// Adds the words that no star matches besides the subcommand, which is at this place.
    fn judge_words(&self, at: Option<usize>, found: &mut Vec<String>) {
        let subcommand = at.map_or("", |at| self.words[at]);
        let (own, behind) = (self.rows(subcommand, false), self.rows(subcommand, true));
        let mut part = WordOwner::Own;
        let mut plain = 0;
        for (place, word) in self.words.iter().enumerate() {
            if *word == "--" {
                if self.program == "cmake" {
                    found.extend(self.of_make(place + 1));
                    break;
                }
                if !behind.is_empty() {
                    part = WordOwner::Inner;
                    // A rule that names the border allows all options behind it.
                    found.extend((!self.is_whole).then(|| self.named(subcommand, "--")));
                }
                continue;
            }
            if is_option(word) {
                let is_known = match part {
                    WordOwner::Own => are_listed(&own, word),
                    WordOwner::Script(script) => self.is_of_project(script) || are_listed(&behind, word),
                    WordOwner::Inner => self.runs_its_program(subcommand) || are_listed(&behind, word),
                    WordOwner::PassedOn => are_listed(&behind, word),
                };
                let word = (!is_known && !self.has_known_value(place)).then(|| match part {
                    WordOwner::Inner => self.named(subcommand, "--"),
                    WordOwner::Script(script) => self.named(subcommand, script),
                    WordOwner::Own | WordOwner::PassedOn => self.named("", name(word)),
                });
                found.extend(word);
            } else if at.is_none_or(|at| place >= at) {
                plain += 1;
                let next = self.behind_plain(word, subcommand, plain);
                if let (WordOwner::Own, Some(next)) = (part, next) {
                    part = next;
                    if let WordOwner::Script(script) = next {
                        let is_known = self.is_whole && self.is_of_project(script);
                        found.extend((!is_known).then(|| self.named(subcommand, script)));
                    }
                }
            }
            let is_named = self.is_doubtful(place, part) || self.is_unknown_target(place);
            found.extend(is_named.then(|| self.named("", word)));
        }
    }

    /// The words that no star matches from this place on, which `cmake` passes on to `make`.
    fn of_make(&self, from: usize) -> Vec<String> {
        let words = self.words.get(from..).unwrap_or_default();
        let make = Self {
            program: "make",
            words,
            ..*self
        };
        make.unlisted()
    }

    /// The place of the subcommand.
    fn subcommand_at(&self) -> Option<usize> {
        let has_one = !WITHOUT_SUBCOMMAND.contains(&self.program);
        let first = has_one.then(|| self.plain_from(0)).flatten()?;
        // Behind `--`, tox has words for the tests.
        let is_passed = self.program == "tox" && self.words[..first].contains(&"--");
        (!is_passed).then(|| self.behind_front(first))
    }

    /// The place of the first word, from this one on, that is neither an option nor the value of one.
    fn plain_from(&self, start: usize) -> Option<usize> {
        let takes_next = |word: &str| {
            let mut rows = WITH_VALUE.iter();
            rows.any(|(program, options)| *program == self.program && has(options, word))
        };
        let mut at = start;
        while let Some(word) = self.words.get(at) {
            // `cargo +nightly` names a toolchain.
            let is_toolchain = self.program == "cargo" && word.starts_with('+');
            if !is_option(word) && !is_toolchain {
                return Some(at);
            }
            at += 1 + usize::from(takes_next(word));
        }
        None
    }

    /// Returns whether the option at this place has one of the values with which it is harmless.
    fn has_known_value(&self, at: usize) -> bool {
        let word = self.words[at];
        // With other subcommands, npm writes into that folder.
        let subcommand = || self.subcommand_at().map_or("", |at| self.words[at]);
        if self.program == "npm"
            && name(word) == "--prefix"
            && !has("run run-script start test", subcommand())
        {
            return false;
        }
        if let Some((option, value)) = word.split_once('=') {
            return is_known_value(self.program, option, value);
        }
        let next = self.words.get(at + 1).copied().unwrap_or_default();
        let attached = word.get(..2).zip(word.get(2..));
        is_known_value(self.program, word, next)
            || attached.is_some_and(|(option, value)| is_known_value(self.program, option, value))
    }

    /// Returns the part that the words behind the `plain`th word without dashes belong to, if it changes.
    fn behind_plain<'w>(&self, word: &'w str, subcommand: &str, plain: usize) -> Option<WordOwner<'w>> {
        // With `--test`, they select files.
        if self.program == "node" && self.words.contains(&"--test") {
            return None;
        }
        if self.program == "bun" && subcommand == "run" && plain == 2 && self.is_of_project(word) {
            return Some(WordOwner::Script(word));
        }
        let scripts = OF_SCRIPTS.iter().find(|(program, _)| *program == self.program);
        if let Some((_, before)) = scripts {
            let at = 1 + usize::from(!before.is_empty());
            return (plain == at && (before.is_empty() || *before == subcommand))
                .then_some(WordOwner::Script(word));
        }
        let is_test = self.program == "bun" && subcommand == "test";
        let is_own = is_test || OF_MANAGERS.contains(&subcommand) && (subcommand != "run" || plain == 1);
        let is_passed = PASS_ON.contains(&self.program) && (self.program == "just" || !is_own);
        is_passed.then_some(WordOwner::PassedOn)
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

    /// A word as it would be written in a pattern.
    fn named(&self, subcommand: &str, word: &str) -> String {
        let words = [self.program, subcommand, word];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        words.join(" ").replace(BLANK, " ")
    }
}

/// The program that words of a command belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordOwner<'a> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, is_whole: bool) -> Vec<String> {
        unlisted_of_all(line, &[line.trim().to_owned()], "/ws", is_whole)
    }

    #[test]
    fn a_glob_in_quotes_becomes_no_option() {
        let of = |line: &str, words: &str| unlisted_of_all(line, &[words.to_owned()], "/ws", true);
        let words = "prettier --check **/*.md";
        for line in ["prettier --check '**/*.md'", "prettier --check \"**/*.md\""] {
            assert!(of(line, words).is_empty(), "{line}");
        }
        for line in [
            "prettier --check **/*.md",
            "prettier --check ''**/*.md",
            "prettier --check 'x'**/*.md''",
            "prettier --check \"'\"**/*.md\"'\"",
            "sh -c 'prettier --check '**/*.md",
        ] {
            assert_eq!(of(line, words), ["prettier **/*.md"], "{line}");
        }
        let both = of("prettier '**/*.md' **/*.md", "prettier **/*.md **/*.md");
        assert_eq!(both, ["prettier **/*.md", "prettier **/*.md"]);
        assert_eq!(
            of("npx prettier '**/*.md'", "npx prettier **/*.md"),
            ["prettier **/*.md"]
        );
    }

    #[test]
    fn words_that_no_star_stands_for_are_named() {
        let cases: &[(&str, &[&str])] = &[
            ("cargo test -p a -- --nocapture", &[]),
            (
                "cargo -q test --config=/x",
                &["cargo --config", "cargo --config=/x"],
            ),
            ("cargo test -- --logfile x", &["cargo test --"]),
            ("node a.js --port 80", &[]),
            ("node .x/a.js --port 80", &["node .x/a.js", "node .x/a.js"]),
            ("python3 venv/bin/pip.py install x", &["python venv/bin/pip.py"]),
            ("node -r b a.js", &["node -r", "node b"]),
            ("go run . -v x", &[]),
            ("go run example.com/x", &["go run example.com/x"]),
            ("make -C sub test deploy", &["make deploy"]),
            ("cargo -q run --bin server", &[]),
            ("npm --prefix web test", &[]),
            ("npm --prefix web install", &["npm --prefix"]),
            ("npx OWNER/jest", &["npx OWNER/jest"]),
            ("npx black", &["npx black"]),
            ("uv run -m pytest", &[]),
            ("uv run -m evil", &["uv run -m"]),
            ("python3 -m json.tool a.json", &[]),
            ("python3 -m unittest x.main", &["unittest x.main"]),
            ("python3.12 -m pytest -p x", &["pytest -p"]),
            ("python3 -m x", &["python -m", "python x"]),
            ("uv run --extra dev pytest -c x", &["pytest -c"]),
            ("uv --color always run x", &["uv --color", "uv always"]),
            ("uv run ../x pytest", &["uv ../x", "uv run ../x"]),
            ("npx ../x/jest", &["npx ../x/jest"]),
            ("cmake --build b -- A=b", &["make A=b"]),
            ("cmake --build b -- install", &["make install"]),
            ("cmake -S . -B build -DCMAKE_BUILD_TYPE=Release", &[]),
            ("make a;b", &["make a;b"]),
            ("make --debug=a;b V=1", &["make --debug=a;b"]),
            ("cargo test *x", &["cargo *x"]),
            ("cargo clippy -- @x", &["cargo @x"]),
            ("coverage run -m pytest -c x", &["pytest -c"]),
            ("py.test -p no:x -p x", &["pytest -p"]),
            ("npx a --b", &["npx a"]),
            ("npx npx npx npx npx npx jest", &["npx npx"]),
            ("poetry install --no-root", &[]),
            ("yarn jest -c x", &["jest -c"]),
            ("pnpm test -r x", &["pnpm -r"]),
            ("pnpm -r test", &[]),
            ("make -C ../x A\u{1}b=c", &["make -C", "make ../x", "make A b=c"]),
            ("./gradlew -I x", &["gradlew -I", "gradlew x"]),
            (
                "pytest /ws/a ../b ~/c /d",
                &["pytest ../b", "pytest ~/c", "pytest /d"],
            ),
            ("ls --config x", &[]),
        ];
        for (command, found) in cases {
            assert_eq!(of(command, true), *found, "{command}");
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
            assert_eq!(of(head, false), *named, "{head}");
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
