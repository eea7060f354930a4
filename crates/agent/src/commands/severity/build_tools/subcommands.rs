//! The subcommands of build tools and package managers that a star matches, in their full spelling. Any other
//! subcommand has to be named in a rule: it may fetch and run code, run any program, or change what is
//! published and who may do so. So an abbreviation, another case, a plugin or an alias of the user is asked
//! about.
//!
//! | entry | matches |
//! | --- | --- |
//! | `run` | `run`, with any words behind it |
//! | `config/get` | `config get` |
//! | `audit/` | `audit` without a further word |
//!
//! Names of scripts, recipes and tasks are in `targets`.

use super::targets::is_target;
use super::{BuildCommand, are_listed, has, is_option, tool};

/// The subcommands of a program.
#[rustfmt::skip]
const KNOWN: &[(&str, &str)] = &[
    ("bun", "audit/ outdated pm/bin pm/hash pm/ls remove run test why"),
    ("bundle", "check doctor exec help info install list lock outdated show update version"),
    ("cabal", "bench build check clean haddock outdated run test"),
    ("cargo",
     "add b bench build c check clean clippy d doc expand fetch fix fmt generate-lockfile help init install llvm-cov/ \
      llvm-cov/nextest llvm-cov/report llvm-cov/run llvm-cov/test locate-project metadata new nextest/list nextest/run pkgid \
      publish r remove run rustc rustdoc t test tree update verify-project version"),
    ("composer",
     "audit check-platform-reqs depends diagnose dump-autoload fund help install licenses list outdated prohibits remove \
      run-script show status suggests update validate"),
    ("coverage", "combine erase help html json lcov report run xml"),
    ("deno", "bench cache check coverage doc fmt help info lint run task test types"),
    ("dotnet", "build clean format help list pack publish restore run test watch/ watch/run watch/test"),
    ("go",
     "build clean doc env fix fmt generate help list mod/download mod/graph mod/tidy mod/verify mod/why run test \
      version vet"),
    ("hatch", "build clean env/show fmt run status test version/"),
    ("mix",
     "clean compile coveralls credo deps deps.compile deps.get deps.tree dialyzer docs format help phx.routes run test xref"),
    ("npm",
     "audit/ audit/signatures ci config/get config/list config/ls doctor explain find-dupes fund get help install list ll ls \
      outdated pkg/get prefix publish query restart root run run-script start stop test uninstall version/ why"),
    ("pdm", "build fix info init install list lock outdated remove run show sync update"),
    ("pipenv", "check clean graph lock requirements run scripts sync uninstall update verify"),
    ("pnpm",
     "audit/ bin config/get config/list exec install licenses/list list ls outdated remove restart root run run-script start \
      stop test why"),
    ("poetry", "about build check env/info env/list help init install list lock remove run show sync update version/"),
    ("ruff", "check clean config format help linter rule version"),
    ("stack", "bench build clean haddock ls path run test"),
    ("tox", "depends list run run-parallel"),
    ("uv",
     "build cache/dir export help init lock pip/check pip/freeze pip/list pip/show pip/tree remove run sync tree venv version/"),
    ("yarn",
     "bin check config/get config/list exec help licenses/list list outdated remove run start test why workspaces/info \
      workspaces/list"),
];

/// Words behind which the subcommand of the same program stands: the program, the word, and the number of
/// words that belong to it.
const IN_FRONT: &[(&str, &str, usize)] = &[("pnpm", "recursive", 0), ("yarn", "workspace", 1)];

/// Programs that run a script of the project by its name alone.
const RUN_SCRIPTS: &str = "bun composer pnpm yarn";

/// Subcommands whose next word is the name of a script.
const BEFORE_SCRIPTS: &[(&str, &str)] = &[
    ("bun", "run"),
    ("composer", "run-script"),
    ("deno", "task"),
    ("npm", "run run-script"),
    ("pnpm", "run run-script"),
    ("yarn", "run"),
];

impl BuildCommand<'_> {
    /// The place of the subcommand, behind the words that may stand in front of it.
    pub(super) fn behind_front(&self, first: usize) -> usize {
        let mut at = first;
        loop {
            let word = self.words[at];
            let front = IN_FRONT
                .iter()
                .find(|(program, name, _)| *program == self.program && *name == word);
            let Some((_, _, own)) = front else {
                return at;
            };
            let behind = (0..=*own).try_fold(at, |place, _| self.plain_from(place + 1));
            match behind {
                Some(place) => at = place,
                None => return at,
            }
        }
    }

    /// The subcommand at this place as a rule has to name it, if no star matches it.
    pub(super) fn unknown_subcommand(&self, at: Option<usize>) -> Option<String> {
        let (_, known) = KNOWN.iter().find(|(program, _)| *program == self.program)?;
        let Some(at) = at else {
            // Without a word, it installs.
            let shows = |word: &&str| matches!(*word, "--help" | "-h" | "--version" | "-v");
            let installs = self.program == "yarn" && self.is_whole && !self.words.iter().any(shows);
            return installs.then(|| self.named("", "install"));
        };
        let next = self.plain_from(at + 1).map(|at| self.words[at]);
        let (word, next_word) = (self.words[at], next.unwrap_or_default());
        let nested = format!("{word}/{next_word}");
        if has(known, word) || has(known, &nested) {
            return self.unknown_script(at, word);
        }
        let is_script = has(RUN_SCRIPTS, self.program) && (is_target(word) || self.is_own_tool(word));
        let is_file = self.program == "bun" && self.is_of_project(word);
        if is_script || is_file {
            return None;
        }
        let is_nested = known
            .split(' ')
            .any(|entry| entry.split_once('/').is_some_and(|(first, _)| first == word));
        Some(if is_nested {
            self.named(word, next_word)
        } else {
            self.named("", word)
        })
    }

    /// Returns the script behind a subcommand at this place if it has an unusual name and is not a file of
    /// the project.
    fn unknown_script(&self, at: usize, subcommand: &str) -> Option<String> {
        let mut rows = BEFORE_SCRIPTS.iter();
        rows.find(|(program, names)| *program == self.program && has(names, subcommand))?;
        let script = self.words[self.plain_from(at + 1)?];
        let is_known = is_target(script) || self.is_own_tool(script) || self.is_of_project(script);
        (!is_known).then(|| self.named(subcommand, script))
    }

    /// The word behind the subcommand that may be the subcommand itself, if no star matches it: an option in
    /// front that nobody knows may have a value.
    pub(super) fn hidden_subcommand(&self, at: usize) -> Option<String> {
        let before = self.words.get(at.checked_sub(1)?)?;
        let is_unclear =
            is_option(before) && !before.contains('=') && !are_listed(&self.rows("", false), before);
        let next = self.plain_from(at + 1).filter(|_| is_unclear)?;
        self.unknown_subcommand(Some(next))
    }

    /// Returns whether a word is the bare name of a tool of the table that belongs to the same language as
    /// this launcher.
    pub(super) fn is_own_tool(&self, word: &str) -> bool {
        const OF_JAVASCRIPT: &str = "eslint jest mocha prettier tsc vitest";
        const OF_PYTHON: &str = "black coverage mypy nox pytest ruff tox";
        let is_bare = !word.contains('/');
        let known = tool(word).filter(|_| is_bare).unwrap_or_default();
        match self.program {
            "npx" | "bunx" | "pnpx" => known == "npx" || has(OF_JAVASCRIPT, known),
            "bun" | "npm" | "pnpm" | "yarn" => has(OF_JAVASCRIPT, known),
            "python" => known == "unittest" || has(OF_PYTHON, known),
            "coverage" => matches!(known, "pytest" | "unittest"),
            "uvx" => has(OF_PYTHON, known),
            "hatch" | "pdm" | "pipenv" | "poetry" | "uv" => known == "python" || has(OF_PYTHON, known),
            "bundle" => matches!(known, "rake" | "rspec" | "rubocop"),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::unlisted;

    #[test]
    fn what_is_not_listed_in_its_full_spelling_has_to_be_named() {
        for (command, found) in [
            ("npm i x", Some("npm i")),
            ("npm pu", Some("npm pu")),
            ("npm distTag add x", Some("npm distTag")),
            ("npm audit fix", Some("npm audit fix")),
            ("npm audit", None),
            ("npm run build", None),
            ("npm run deploy", Some("npm run deploy")),
            ("npm test", None),
            ("npm config get registry", None),
            ("npm config set x y", Some("npm config set")),
            ("npm --loglevel error publish-x", Some("npm publish-x")),
            ("pnpm --filter a dlx x", Some("pnpm dlx")),
            ("pnpm --filter a run test", None),
            ("pnpm recursive unpublish", Some("pnpm unpublish")),
            ("pnpm mv a b", Some("pnpm mv")),
            ("yarnpkg npm publish", Some("yarn npm")),
            ("yarn", Some("yarn install")),
            ("yarn --version", None),
            ("yarn workspace a dlx x", Some("yarn dlx")),
            ("yarn workspace a test", None),
            ("yarn workspace a workspace b tag add", Some("yarn tag")),
            ("composer exe x", Some("composer exe")),
            ("composer test", None),
            ("cargo yank x", Some("cargo yank")),
            ("cargo +nightly yank x", Some("cargo yank")),
            ("cargo watch -- x", Some("cargo watch")),
            ("cargo nextest archive", Some("cargo nextest archive")),
            ("cargo test", None),
            ("go telemetry on", Some("go telemetry")),
            ("go mod edit", Some("go mod edit")),
            ("go mod tidy", None),
            ("uv pip list", None),
            ("uv pip install x", Some("uv pip install")),
        ] {
            let words: Vec<&str> = command.split(' ').collect();
            let all = unlisted(&words, "/ws", true);
            assert_eq!(all.first().map(String::as_str), found, "{command}");
        }
    }
}
