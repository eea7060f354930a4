//! Files that no call opens by default: those that may hold secrets, and the program's own.
//!
//! The list is data of the configuration ([`Guard`]), because only a program that reads the environment knows
//! the home directory. The program's own files are refused regardless of the rules. A file that may hold
//! secrets needs a rule that names it, or a person's approval.
//!
//! Paths are compared in lower case and in every way in which a home may be written. A call is checked in
//! three ways: the path that it names, the names in its command line, and, for a tool without a declared path
//! argument, all texts in its arguments.

use std::collections::BTreeSet;

use agentx_types::{Access, Guard, Rule, ToolSpec};

pub use super::prepared_guard::Guarded;
use super::prepared_guard::{PreparedGuard, shown};
use crate::commands::command_analysis::read;
use crate::pattern::{fits, fits_path};

/// Returns whether a path from a call or a command line is guarded. A relative one begins at `workspace`.
///
/// ```
/// use agentx_agent::closed_files::{Guarded, guarded};
/// let guard = agentx_types::Guard {
///     secrets: vec!["/**/.env".into(), "~/.aws/**".into()],
///     own: vec!["/data/agentx/**".into()],
///     ..Default::default()
/// };
/// assert_eq!(guarded(&guard, "sub/.env", "/ws"), Some(Guarded::Secret));
/// assert_eq!(guarded(&guard, "$HOME/.aws/credentials", "/ws"), Some(Guarded::Secret));
/// assert_eq!(guarded(&guard, "/Users/Ada/.aws/config", "/ws"), Some(Guarded::Secret));
/// assert_eq!(guarded(&guard, "/data/agentx", "/ws"), Some(Guarded::Own));
/// assert_eq!(guarded(&guard, "src/env.rs", "/ws"), None);
/// ```
pub fn guarded(guard: &Guard, path: &str, workspace: &str) -> Option<Guarded> {
    PreparedGuard::new(guard, workspace).reason(path)
}

/// Returns whether a rule names files with secrets: its pattern fits them even if its stars stand for nothing
/// or for one letter. `.env` and `~/.ssh/*` do, `**` does not, so a rule about all files of a folder opens
/// none of them by accident.
///
/// ```
/// use agentx_agent::closed_files::names_secret;
/// let guard = agentx_types::Guard { secrets: vec!["/**/.env".into(), "/**/*.pem".into()], ..Default::default() };
/// assert!(names_secret(&guard, "config/.env", "/ws"));
/// assert!(names_secret(&guard, "**/*.pem", "/ws"));
/// assert!(!names_secret(&guard, "config/*", "/ws"));
/// ```
pub fn names_secret(guard: &Guard, pattern: &str, base: &str) -> bool {
    names_prepared_secret(&PreparedGuard::new(guard, base), pattern, base)
}

/// Returns the same as [`names_secret`], by a guard that is prepared for this base or another one.
pub(crate) fn names_prepared_secret(guard: &PreparedGuard<'_>, pattern: &str, base: &str) -> bool {
    let rebased = guard.rebased(base);
    let guard = rebased.as_ref().unwrap_or(guard);
    ["x", ""].into_iter().any(|plain| {
        let path = pattern
            .replace("\\*", "x")
            .replace("**", plain)
            .replace('*', plain);
        guard.reason(&path).is_some()
    })
}

/// Returns whether a pattern of command lines names a file with secrets.
pub(crate) fn line_names_secret(guard: &PreparedGuard<'_>, pattern: &str, workspace: &str) -> bool {
    let paths = read(pattern).paths;
    let mut paths = paths.iter();
    paths.any(|path| names_prepared_secret(guard, path, workspace))
}

/// Returns whether a rule opens files with secrets to this tool: for a program that shows a person which
/// rules do.
///
/// ```
/// use agentx_agent::closed_files::opens_secrets;
/// use agentx_types::{Guard, Rule, RuleEffect};
/// let guard = Guard { secrets: vec!["/**/.env".into()], ..Guard::default() };
/// let allow = |path: &str| {
///     Rule {
///         effect: RuleEffect::Allow, tool: "read".into(), argument: None, path: Some(path.into()), workspace: None, origin: None,
///     }
/// };
/// assert!(opens_secrets(&guard, &allow("config/.env"), "/ws"));
/// assert!(!opens_secrets(&guard, &allow("config/*"), "/ws"), "a star does not name a secret");
/// ```
pub fn opens_secrets(guard: &Guard, rule: &Rule, workspace: &str) -> bool {
    let guard = PreparedGuard::new(guard, workspace);
    let base = rule.workspace.as_deref().unwrap_or(workspace);
    let by_path = |path: &str| names_prepared_secret(&guard, path, base);
    let by_line = |line: &str| line_names_secret(&guard, line, workspace);
    rule.path.as_deref().is_some_and(by_path) || rule.argument.as_deref().is_some_and(by_line)
}

/// A guard for checking many files, as in a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct SecretGuard {
    /// The program's own files, which nothing excepts.
    own: WatchedFiles,
    secrets: WatchedFiles,
    /// Patterns of paths that only look like those of secrets.
    except: Vec<String>,
}

/// Patterns of one kind. Those without a folder are compared only with the file's name, and those for other
/// places are left out.
#[derive(Clone, Debug, Default)]
struct WatchedFiles {
    /// Patterns of a file's name, in any folder.
    names: Vec<String>,
    /// Names of folders of which everything is guarded.
    folders: Vec<String>,
    /// Patterns of whole paths that may match below the root of the search.
    places: Vec<String>,
}

impl SecretGuard {
    /// The guard of the files below `root`, which is absolute and normalized.
    pub(crate) fn below_root(guard: &Guard, root: &str) -> Self {
        let root = root.to_lowercase();
        Self {
            own: WatchedFiles::from_patterns(&guard.own, &root),
            secrets: WatchedFiles::from_patterns(&guard.secrets, &root),
            except: guard
                .except
                .iter()
                .map(|pattern| pattern.to_lowercase())
                .collect(),
        }
    }

    /// Returns whether this file is guarded.
    pub(crate) fn covers(&self, path: &str) -> bool {
        let path = path.to_lowercase();
        let excepted = || self.except.iter().any(|pattern| fits_path(pattern, &path, "/"));
        self.own.covers(&path) || (self.secrets.covers(&path) && !excepted())
    }
}

impl WatchedFiles {
    /// Sorts patterns by how they are tried; `root` is in small letters.
    fn from_patterns(patterns: &[String], root: &str) -> Self {
        let mut watched = Self::default();
        for pattern in patterns {
            let pattern = pattern.to_lowercase();
            let anywhere = pattern.strip_prefix("/**/");
            match anywhere.map(|rest| (rest, rest.strip_suffix("/**"))) {
                Some((_, Some(folder))) if !folder.contains('/') => watched.folders.push(folder.to_owned()),
                Some((name, None)) if !name.contains('/') => watched.names.push(name.to_owned()),
                Some(_) => watched.places.push(pattern),
                // A search has absolute paths, and no home is written in them as `~`.
                None if pattern.starts_with('~') => {}
                None if may_meet(&pattern, root) => watched.places.push(pattern),
                None => {}
            }
        }
        watched
    }

    /// Returns whether a pattern fits this path, which is in small letters.
    fn covers(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_folder = |part: &str| self.folders.iter().any(|pattern| pattern == part);
        self.names.iter().any(|pattern| fits(pattern, name))
            || (!self.folders.is_empty() && path.split('/').any(is_folder))
            || self.places.iter().any(|pattern| fits_path(pattern, path, "/"))
    }
}

/// Returns whether an absolute pattern may fit something below `root`, or a folder around it.
fn may_meet(pattern: &str, root: &str) -> bool {
    let fixed = pattern.split('*').next().unwrap_or_default();
    let root = format!("{}/", root.trim_end_matches('/'));
    fixed.starts_with(&root) || root.starts_with(fixed)
}

/// The first guarded path of a call, or a glob that may match one, with the reason. The program's own files
/// come before secrets.
pub(crate) fn first_guarded<'p>(
    guard: &PreparedGuard<'_>,
    paths: impl Iterator<Item = &'p str>,
    globs: &[String],
    version: u32,
) -> Option<(Guarded, String)> {
    let (mut secret, mut seen) = (None, BTreeSet::new());
    // A line may name one file very often.
    for path in paths.filter(|path| seen.insert(*path)) {
        for way in ways_to_read(path) {
            match guard.reason(way) {
                Some(Guarded::Own) => return Some((Guarded::Own, path.to_owned())),
                Some(_) => secret = secret.or(Some(path)),
                None => {}
            }
        }
    }
    let glob = |wanted| {
        let meets = |glob: &&String| guard.reason_of_glob(glob, version) == Some(wanted);
        globs.iter().find(meets).map(|glob| shown(glob))
    };
    let own = glob(Guarded::Own).map(|glob| (Guarded::Own, glob));
    own.or_else(|| {
        Some((
            Guarded::Secret,
            secret.map(str::to_owned).or_else(|| glob(Guarded::Secret))?,
        ))
    })
}

/// A word of a command line unchanged, and without a prefix before a file's name: `file=@.env`, `HEAD:.env`.
fn ways_to_read(word: &str) -> impl Iterator<Item = &str> {
    let behind = |mark: char| word.rsplit_once(mark).map(|(_, rest)| rest);
    [Some(word), behind('@'), behind(':'), behind('=')]
        .into_iter()
        .flatten()
        .filter(|way| !way.is_empty())
}

/// Texts that may be paths, among the arguments of a tool that names no argument as a path.
pub(crate) fn texts_of(tool: &ToolSpec, input: &serde_json::Value) -> Vec<String> {
    let says = tool.path_argument.is_some() || tool.command_argument.is_some();
    if says || tool.access == Access::Internal {
        return Vec::new();
    }
    let mut texts = Vec::new();
    collect(input, &mut texts);
    texts
}

/// The maximum length in bytes of a text that is checked: longer ones cannot be paths.
const LONGEST: usize = 4096;
/// The maximum number of texts of a call that are checked.
const MOST: usize = 1000;

/// Gathers the texts in the arguments, at any depth.
fn collect(value: &serde_json::Value, texts: &mut Vec<String>) {
    use serde_json::Value;
    match value {
        Value::String(text) if text.len() <= LONGEST && texts.len() < MOST => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(map) => map.values().for_each(|item| collect(item, texts)),
        _ => {}
    }
}
