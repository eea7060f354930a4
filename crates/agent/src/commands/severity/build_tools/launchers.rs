//! Commands that run another program of the project: `npx jest`, `uv run pytest`, `python -m mypy`. That program is
//! judged by its own rows.

use super::words::{SIGNS, begins_as_glob, leaves};
use super::{Command, PASS_ON, Part, are_listed, has, is_option, name, table, tool};

/// Commands that run another program: program and subcommand.
const LAUNCHERS: &[(&str, &str)] = &[
    ("bundle", "exec"),
    ("bunx", ""),
    ("hatch", "run"),
    ("npx", ""),
    ("pdm", "run"),
    ("pipenv", "run"),
    ("pnpm", "exec"),
    ("pnpx", ""),
    ("poetry", "run"),
    ("uv", "run"),
    ("uvx", ""),
    ("yarn", "exec"),
];

/// Programs that are only judged where they run another one, with the subcommands that a star matches with all options:
/// they install what the project names, or show something. Those that fetch more, publish, or run something are missing.
#[rustfmt::skip]
const ONLY_LAUNCHERS: &[(&str, &str)] = &[
    ("bundle", "check doctor exec help info install list lock outdated show update version"),
    ("hatch", "build clean run status version"),
    ("pdm", "build cache fix info init install list lock outdated remove run search show sync update venv"),
    ("pipenv", "check clean graph lock requirements run scripts sync uninstall update verify"),
    ("poetry", "about build cache check help init install list lock remove run search show sync update version"),
    ("uv", "build cache export help init lock remove run sync tree venv version"),
];

impl Command<'_> {
    /// Returns where the program that this command runs stands among its words. `at` is the place of the subcommand.
    pub(super) fn launched(&self, at: Option<usize>) -> Option<usize> {
        let subcommand = at.map_or("", |at| self.words[at]);
        let behind = at.map_or(0, |at| at + 1);
        if self.program == "python" || (self.program == "coverage" && subcommand == "run") {
            let mut words = self.words.iter().enumerate().skip(behind);
            let (option, word) = words.find(|(_, word)| !is_option(word) || **word == "-m")?;
            let module = self.words.get(option + 1).filter(|_| *word == "-m")?;
            return tool(module).map(|_| option + 1);
        }
        let mut launchers = LAUNCHERS.iter();
        if launchers.any(|(program, before)| *program == self.program && *before == subcommand) {
            return self.plain_from(behind);
        }
        // `yarn jest`, `pnpm tsc`: without a script of this name it is the program.
        let runs = PASS_ON.contains(&self.program) && self.program != "just";
        at.filter(|at| runs && tool(self.words[*at]).is_some())
    }

    /// The words that no star matches of a command that runs the program at this place.
    pub(super) fn with_launched(&self, at: usize, subcommand: &str) -> Vec<String> {
        let (own, rest) = self.words.split_at(at);
        let module = usize::from(matches!(self.program, "python" | "coverage"));
        let own = own.len().saturating_sub(module);
        let mut found = self.own_of_launcher(own, subcommand);
        let Some((inner, words)) = rest.split_first() else {
            return found;
        };
        let next = Command::of(
            rest,
            self.workspace,
            self.is_whole,
            self.launchers.saturating_sub(1),
        );
        // The words of a known program are judged with it.
        let judged = if next.is_some() { 1 } else { rest.len() };
        let is_sent = |word: &str| self.meets_a_shell() && word.contains(SIGNS);
        let is_doubtful =
            |word: &str| leaves(word, self.workspace) || begins_as_glob(word) || word.starts_with('@');
        for (place, word) in rest.iter().enumerate() {
            let is_judged = place < judged;
            let is_named = is_sent(word) || (is_judged && is_doubtful(word));
            found.extend(is_named.then(|| self.named("", word)));
        }
        // Behind `bundle exec`, a single word with signs is a line for a shell.
        let is_line = inner.contains(SIGNS) && !self.meets_a_shell();
        found.extend(is_line.then(|| self.named("", inner)));
        if let Some(next) = next {
            found.extend(if self.launchers > 0 {
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
        found
    }

    /// The words that no star matches among those of the launcher itself, up to this place.
    fn own_of_launcher(&self, until: usize, subcommand: &str) -> Vec<String> {
        let rows = self.rows(subcommand, false);
        let mut found = Vec::new();
        for (place, word) in self.words.iter().enumerate().take(until) {
            let is_unlisted = is_option(word) && *word != "--" && !are_listed(&rows, word);
            found.extend(is_unlisted.then(|| self.named("", name(word))));
            let is_doubtful = self.is_doubtful(place, Part::Own);
            found.extend(is_doubtful.then(|| self.named("", word)));
        }
        found
    }

    /// The subcommands that a star matches of a program that is only judged where it runs another one.
    pub(super) fn known_subcommands(&self) -> Option<&'static str> {
        let mut rows = ONLY_LAUNCHERS.iter();
        rows.find(|(program, _)| *program == self.program)
            .map(|(_, known)| *known)
    }

    /// The words that no star matches of such a program that runs no other one.
    pub(super) fn of_launcher(&self, at: Option<usize>, known: &str) -> Vec<String> {
        let subcommand = at.map_or("", |at| self.words[at]);
        let runs = matches!(subcommand, "run" | "exec");
        let own = at.filter(|_| !runs).unwrap_or(self.words.len());
        let mut found = self.own_of_launcher(own, subcommand);
        let is_unknown = at.is_some() && !has(known, subcommand);
        found.extend(is_unknown.then(|| self.named("", subcommand)));
        let others = (own..self.words.len()).filter(|place| self.is_doubtful(*place, Part::Own));
        found.extend(others.map(|place| self.named("", self.words[place])));
        found
    }
}
