//! Commands that run another program of the project: `npx jest`, `uv run pytest`, `python -m mypy`. That
//! program is judged by its own rows.

use super::words::{SIGNS, begins_as_glob, leaves};
use super::{BuildCommand, PASS_ON, WordOwner, are_listed, has, is_option, name};

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

/// Programs that are only judged where they run another one. Their other subcommands, which `subcommands`
/// lists, install what the project names or show something, with any options.
const ONLY_LAUNCHERS: &str = "bundle hatch pdm pipenv poetry uv";

impl BuildCommand<'_> {
    /// Returns where the program that this command runs stands among its words. `at` is the place of the
    /// subcommand.
    pub(super) fn launched(&self, at: Option<usize>) -> Option<usize> {
        let subcommand = at.map_or("", |at| self.words[at]);
        let behind = at.map_or(0, |at| at + 1);
        if self.program == "python" || (self.program == "coverage" && subcommand == "run") {
            let mut words = self.words.iter().enumerate().skip(behind);
            let (option, word) = words.find(|(_, word)| !is_option(word) || **word == "-m")?;
            let module = self.words.get(option + 1).filter(|_| *word == "-m")?;
            return self.is_own_tool(module).then_some(option + 1);
        }
        if self.program == "uv" && subcommand == "run" && self.words.get(behind) == Some(&"-m") {
            let module = self.words.get(behind + 1)?;
            return Some(behind + usize::from(self.is_own_tool(module)));
        }
        let mut launchers = LAUNCHERS.iter();
        if launchers.any(|(program, before)| *program == self.program && *before == subcommand) {
            return self.plain_from(behind);
        }
        // `yarn jest`, `pnpm tsc`: without a script of this name it is the program.
        let runs = PASS_ON.contains(&self.program) && self.program != "just";
        at.filter(|at| runs && self.is_own_tool(self.words[*at]))
    }

    /// The words that no star matches of a command that runs the program at this place.
    pub(super) fn with_launched(&self, at: usize, subcommand: &str) -> Vec<String> {
        let (own, rest) = self.words.split_at(at);
        // The word `-m` in front of a module.
        let module = usize::from(
            matches!(self.program, "python" | "coverage" | "uv")
                && own.last() == Some(&"-m")
                && rest.first().is_some_and(|inner| self.is_own_tool(inner)),
        );
        let own = own.len().saturating_sub(module);
        let mut found = self.own_of_launcher(own, subcommand);
        let Some((inner, _)) = rest.split_first() else {
            return found;
        };
        // Only a bare name is certainly that tool: `npx OWNER/jest` is anybody's repository.
        let of_tool = BuildCommand::of(
            rest,
            self.workspace,
            self.is_whole,
            self.launchers.saturating_sub(1),
        );
        let next = of_tool.filter(|_| self.is_own_tool(inner));
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
        // A rule that names the program, and a script of the project, allow all of its options.
        let is_known = self.is_whole && self.is_of_project(inner);
        let named = self.named(subcommand, inner);
        if !is_known && !found.contains(&named) {
            found.push(named);
        }
        found
    }

    /// The words that no star matches among those of the launcher itself, up to this place.
    fn own_of_launcher(&self, until: usize, subcommand: &str) -> Vec<String> {
        let rows = self.rows(subcommand, false);
        let mut found = Vec::new();
        for (place, word) in self.words.iter().enumerate().take(until) {
            let is_known = || are_listed(&rows, word) || self.has_known_value(place);
            let is_unlisted = is_option(word) && *word != "--" && !is_known();
            found.extend(is_unlisted.then(|| self.named("", name(word))));
            let is_doubtful = self.is_doubtful(place, WordOwner::Own);
            found.extend(is_doubtful.then(|| self.named("", word)));
        }
        found
    }

    /// Returns whether this program is only judged where it runs another one.
    pub(super) fn is_only_launcher(&self) -> bool {
        has(ONLY_LAUNCHERS, self.program)
    }

    /// The words that no star matches of such a program that runs no other one.
    pub(super) fn of_launcher(&self, at: Option<usize>) -> Vec<String> {
        let subcommand = at.map_or("", |at| self.words[at]);
        let runs = matches!(subcommand, "run" | "exec");
        let own = at.filter(|_| !runs).unwrap_or(self.words.len());
        let mut found = self.own_of_launcher(own, subcommand);
        found.extend(self.unknown_subcommand(at));
        let others = (own..self.words.len()).filter(|place| self.is_doubtful(*place, WordOwner::Own));
        found.extend(others.map(|place| self.named("", self.words[place])));
        found
    }
}
