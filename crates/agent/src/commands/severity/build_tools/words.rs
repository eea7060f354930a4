//! Words of build and test tools that do more than they select: they set a variable, read options from a file, name code
//! of another place, or reach a shell with signs that it reads.

use super::{Command, Part, is_option};
use crate::commands::command_analysis::BLANK;
use crate::pattern::is_within;

/// Signs that a shell reads in a word that a tool puts into a line for it.
pub(super) const SIGNS: &[char] = &[
    ';', '|', '&', '$', '`', '(', ')', '<', '>', '\n', '\r', '\t', '\'', '"', '\\',
];

/// Programs that put none of their words into a line for a shell. The others may do so: `make` by `$@`, `npm` for
/// scripts, `rake` by `sh`.
const WITHOUT_SHELL: &str = "black bundle cargo coverage ctest dotnet eslint go jest mocha mypy node phpunit pipenv poetry \
    prettier pytest python rspec ruff rustc tsc unittest uv uvx vitest";

/// Subcommands of the managers of JavaScript packages whose words are names of packages.
const OF_PACKAGES: &str = "add i info install outdated remove rm uninstall view why";

/// Options and subcommands of these managers whose next word is the name of a package in the workspace.
const OF_MEMBERS: &str = "--filter -F --workspace -w workspace";

impl Command<'_> {
    /// Returns whether the word at this place, or the value in it, does more than it selects.
    pub(super) fn is_doubtful(&self, at: usize, part: Part<'_>) -> bool {
        let word = self.words[at];
        let is_hazard = if is_option(word) {
            self.is_hazard(value(word), part)
        } else {
            begins_as_glob(word) || (self.is_hazard(word, part) && !self.is_package(at))
        };
        let is_sent = self.meets_a_shell() && word.contains(SIGNS);
        is_hazard || is_sent || leaves(word, self.workspace)
    }

    /// Returns whether the program may put its words into a line for a shell.
    pub(super) fn meets_a_shell(&self) -> bool {
        !super::has(WITHOUT_SHELL, self.program)
    }

    /// Returns whether a word sets a variable, reads options from a file, or names code of another place.
    fn is_hazard(&self, word: &str, part: Part<'_>) -> bool {
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
            "dotnet" => word.contains([';', ',']) || (part == Part::Inner && word.contains('=')),
            "deno" => ["npm:", "jsr:", "data:", "blob:", "node:"]
                .iter()
                .any(|start| word.starts_with(start)),
            // A target in a file of its own names a linker.
            "cargo" => word.ends_with(".json"),
            "go" => word.contains('@'),
            "cmake" => word == "install" || word.starts_with("install/"),
            "tsc" => {
                word.ends_with(".json") && !is_typescript_project(word.rsplit('/').next().unwrap_or(word))
            }
            // The script may be `tsc`.
            "npm" | "pnpm" | "yarn" | "bun" => part != Part::Own && word.ends_with(".json"),
            _ => false,
        }
    }

    /// Returns whether the word at this place is the name of a package, as `@scope/name` is, and not of a file with
    /// options.
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
            super::has(OF_MEMBERS, last) && (is_in_front || is_of_npm)
        });
        let is_added = before
            .first()
            .is_some_and(|subcommand| super::has(OF_PACKAGES, subcommand));
        is_name && (is_member || is_added)
    }
}

/// Returns whether a word asks `make` for its full lines.
fn is_loudness(word: &str) -> bool {
    matches!(word, "V=0" | "V=1" | "V=2" | "VERBOSE=0" | "VERBOSE=1")
}

/// Returns whether a name without a folder is one of the usual names of projects of TypeScript.
fn is_typescript_project(name: &str) -> bool {
    name == "." || (name.starts_with("tsconfig") && name.ends_with(".json") && !name.contains('/'))
}

/// Returns whether an option that is not listed is harmless with this value.
pub(super) fn is_known_value(program: &str, option: &str, value: &str) -> bool {
    let is_name = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    match (program, option) {
        ("tsc", "-p" | "--project") => is_typescript_project(value),
        // It never loads a plugin then.
        ("pytest", "-p") => value.strip_prefix("no:").is_some_and(is_name),
        // A category with a dot would be imported.
        ("pytest", "-W") => {
            let (action, category) = value.split_once("::").unwrap_or((value, "Warning"));
            let is_action = matches!(
                action,
                "always" | "default" | "error" | "ignore" | "module" | "once"
            );
            is_action && is_name(category)
        }
        // A name with another ending may be that of a source.
        ("go", "-coverprofile") => value
            .strip_suffix(".out")
            .or_else(|| value.strip_suffix(".cov"))
            .is_some_and(is_name),
        ("eslint", "-f" | "--format") => matches!(value, "compact" | "json" | "stylish"),
        _ => false,
    }
}

/// The value in an option: behind `=`, or behind the letter.
fn value(option: &str) -> &str {
    match option.split_once('=') {
        Some((_, value)) => value,
        None if option.starts_with("--") => "",
        None => option.get(2..).unwrap_or_default(),
    }
}

/// Returns whether a shell replaces the word by names of files, of which one may begin with a dash.
pub(super) fn begins_as_glob(word: &str) -> bool {
    word.starts_with(['*', '?', '[', '{'])
}

/// Returns whether a word, or the value in it, is a path out of the workspace or an address.
pub(super) fn leaves(word: &str, workspace: &str) -> bool {
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
