//! Words of build and test tools that do more than they select: they set a variable, read options from a
//! file, name code of another place, or reach a shell with signs that it reads.

use super::values::{is_place_of_project, is_typescript_project};
use super::{BuildCommand, WordOwner, has, is_option};
use crate::commands::command_analysis::BLANK;
use crate::pattern::is_within;

/// Signs that a shell reads in a word that a tool puts into a line for it.
pub(super) const SIGNS: &[char] = &[
    ';', '|', '&', '$', '`', '(', ')', '<', '>', '\n', '\r', '\t', '\'', '"', '\\',
];

/// Programs that put none of their words into a line for a shell. The others may do so: `make` by `$@`, `npm`
/// for scripts, `rake` by `sh`.
const WITHOUT_SHELL: &str = "black bundle cargo coverage ctest dotnet eslint go jest mocha mypy node phpunit pipenv poetry \
    prettier pytest python rspec rubocop ruff rustc tsc unittest uv uvx vitest";

/// Subcommands of the managers of JavaScript packages whose words are names of packages.
const OF_PACKAGES: &str = "add i info install outdated remove rm uninstall view why";

/// Options and subcommands of these managers whose next word is the name of a package in the workspace.
const OF_MEMBERS: &str = "--filter -F --workspace -w workspace";

impl BuildCommand<'_> {
    /// Returns whether the word at this place, or the value in it, does more than it selects.
    pub(super) fn is_doubtful(&self, at: usize, part: WordOwner<'_>) -> bool {
        let word = self.words[at];
        let is_hazard = if is_option(word) {
            self.is_hazard(value(word), part)
        } else {
            begins_as_glob(word) || (self.is_hazard(word, part) && !self.is_package(at))
        };
        let is_sent = self.meets_a_shell() && word.contains(SIGNS);
        is_hazard || is_sent || leaves(word, self.workspace) || self.may_name_code(at)
    }

    /// Returns whether `unittest` may import and call any code by the word at this place: it takes each name
    /// with dots, also of the standard library (`http.server.test`).
    fn may_name_code(&self, at: usize) -> bool {
        let is_value = at
            .checked_sub(1)
            .is_some_and(|before| matches!(self.words[before], "-k" | "-p"));
        self.program == "unittest"
            && !is_option(self.words[at])
            && !is_value
            && !is_name_of_tests(self.words[at])
    }

    /// Returns whether a word is a script or program of the project, whose options are all allowed:
    /// `scripts/a.py`, and `.` for `go run`. Hidden folders and those of packages hold programs of others.
    pub(super) fn is_of_project(&self, word: &str) -> bool {
        let endings: &[&str] = match self.program {
            "python" | "coverage" | "uv" => &[".py"],
            "node" | "bun" | "deno" => &[".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"],
            "go" => &[".go"],
            _ => return false,
        };
        let is_package = self.program == "go" && (word == "." || word.starts_with("./"));
        let is_script = endings.iter().any(|ending| word.ends_with(*ending));
        (is_package || is_script) && is_place_of_project(word, self.workspace)
    }

    /// Returns whether what stands behind `--` belongs to the program of the project.
    pub(super) fn runs_its_program(&self, subcommand: &str) -> bool {
        self.program == "cargo" && matches!(subcommand, "run" | "r")
    }

    /// Returns whether Python runs a module that only shows a file of JSON, or makes a usual environment.
    pub(super) fn runs_plain_module(&self) -> bool {
        let is_file = |word: &str| !is_option(word) && !begins_as_glob(word) && !leaves(word, self.workspace);
        self.program == "python"
            && self.is_whole
            && match self.words {
                ["-m", "json.tool"] | ["-m", "venv", ".venv" | "venv"] => true,
                ["-m", "json.tool", file] => is_file(file),
                _ => false,
            }
    }

    /// Returns whether the program may put its words into a line for a shell.
    pub(super) fn meets_a_shell(&self) -> bool {
        meets_a_shell(self.program)
    }

    /// Returns whether a word sets a variable, reads options from a file, or names code of another place.
    fn is_hazard(&self, word: &str, part: WordOwner<'_>) -> bool {
        if word.starts_with('@') {
            return true;
        }
        match self.program {
            "make" | "gmake" | "bmake" => word.contains(['=', BLANK]) && !is_loudness(word),
            "rake" => word.contains(['=', BLANK]),
            // Its words become variables and recipes of other folders.
            "just" => !word
                .chars()
                .all(|c| c.is_alphanumeric() || "-_.:,@+%".contains(c)),
            "mvn" | "mvnw" => word.matches(':').count() > 1,
            // These part properties, of which one may name a program.
            "dotnet" => word.contains([';', ',']) || (part == WordOwner::Inner && word.contains('=')),
            // An address needs no slashes, and its scheme may have any case: `http:host/x.ts`, `NPM:x`.
            "deno" => word.contains(':') && self.words.first() != Some(&"task"),
            // A target in a JSON file names a linker.
            "cargo" => word.ends_with(".json"),
            "go" => word.contains('@'),
            "cmake" => word == "install" || word.starts_with("install/"),
            "tsc" => {
                word.ends_with(".json") && !is_typescript_project(word.rsplit('/').next().unwrap_or(word))
            }
            // The script may be `tsc`.
            "npm" | "pnpm" | "yarn" | "bun" => part != WordOwner::Own && word.ends_with(".json"),
            _ => false,
        }
    }

    /// Returns whether the word at this place is the name of a package, as `@scope/name` is, and not of a
    /// file with options.
    fn is_package(&self, at: usize) -> bool {
        if !matches!(self.program, "npm" | "pnpm" | "yarn" | "bun") {
            return false;
        }
        let Some((_, name)) = self.words[at].split_once('@') else {
            return false;
        };
        let is_name = name.matches('/').count() == 1
            && name.chars().all(|c| c.is_alphanumeric() || "-_./@^~".contains(c));
        let before = &self.words[..at];
        let is_member = before.split_last().is_some_and(|(last, earlier)| {
            let is_in_front = earlier.iter().all(|word| is_option(word) && *word != "--");
            let is_of_npm = self.program == "npm" && !earlier.contains(&"--") && is_option(last);
            has(OF_MEMBERS, last) && (is_in_front || is_of_npm)
        });
        let is_added = before
            .first()
            .is_some_and(|subcommand| has(OF_PACKAGES, subcommand));
        is_name && (is_member || is_added)
    }
}

/// Returns whether a program may put its words into a line for a shell.
pub(super) fn meets_a_shell(program: &str) -> bool {
    !has(WITHOUT_SHELL, program)
}

/// Returns whether a word asks `make` for its full lines.
fn is_loudness(word: &str) -> bool {
    matches!(word, "V=0" | "V=1" | "V=2" | "VERBOSE=0" | "VERBOSE=1")
}

/// Returns whether a word of `unittest` is a path to tests, or a name with dots that begins with or has a
/// package of tests.
fn is_name_of_tests(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    if !word.chars().all(is_plain) {
        return false;
    }
    if word.contains('/')
        || matches!(word, "." | "discover" | "src" | "lib" | "test" | "tests")
        || word.ends_with(".py")
    {
        return true;
    }
    let is_test = |name: &str| {
        name == "tests" || name.starts_with("test_") || name.ends_with("_test") || name.ends_with("_tests")
    };
    // `test` is a package of the standard library, too.
    let rest = word.strip_prefix("test.").unwrap_or(word);
    rest.split('.').any(is_test)
}

/// The value in an option: behind `=`, or behind the letter.
fn value(option: &str) -> &str {
    match option.split_once('=') {
        Some((_, value)) => value,
        None if option.starts_with("--") => "",
        None => option.get(2..).unwrap_or_default(),
    }
}

/// Returns the words of a line that begin with a sign of a glob and stand in quotes, so that the shell leaves
/// them. None if the line has quotes of both kinds or other signs that end or begin them.
pub(super) fn quoted_globs(line: &str) -> Vec<&str> {
    let has_other = |other: char| line.contains([other, '\\', '`', '$', '\n']);
    let quote = match (has_other('"'), has_other('\'')) {
        (false, _) => '\'',
        (_, false) => '"',
        _ => return Vec::new(),
    };
    let parts: Vec<&str> = line.split(quote).collect();
    let is_whole = |at: usize| {
        let is_next = parts
            .get(at + 1)
            .is_some_and(|next| next.is_empty() || next.starts_with(' '));
        is_next && parts[at - 1].ends_with(' ')
    };
    let is_plain = |word: &str| {
        parts
            .iter()
            .step_by(2)
            .all(|part| part.split(' ').all(|other| other != word))
    };
    let places = (1..parts.len()).step_by(2).filter(|at| is_whole(*at));
    places
        .map(|at| parts[at])
        .filter(|word| begins_as_glob(word) && is_plain(word))
        .collect()
}

/// Returns whether a shell replaces the word by names of files, of which one may begin with a dash.
pub(super) fn begins_as_glob(word: &str) -> bool {
    word.starts_with(['*', '?', '[', '{'])
}

/// Returns whether a word, or the value in it, is a path out of the workspace or an address.
pub(crate) fn leaves(word: &str, workspace: &str) -> bool {
    let is_outside = |text: &str| {
        let is_inside = !workspace.is_empty() && is_within(workspace, text);
        let is_home = text.starts_with('~');
        is_home || (text.starts_with('/') && !is_inside)
    };
    let attached = word.strip_prefix('-').and_then(|group| group.get(1..));
    let mut parts = word.split(['=', ',', ':']).chain(attached);
    word.contains("://")
        || word.split(['/', '\\', '=', ',', ':']).any(|part| part == "..")
        || attached.is_some_and(|value| value.split(['/', '\\']).any(|part| part == ".."))
        || parts.any(|part| is_outside(part.trim_start_matches('+')))
}
