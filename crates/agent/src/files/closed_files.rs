//! Files that no call opens by default: those that may hold secrets, and the program's own.
//!
//! The list is data of the configuration ([`Guard`]), because only a program that reads the environment knows
//! the home directory. The program's own files are refused regardless of the rules. A file that may hold
//! secrets needs a rule that names it, or a person's approval.
//!
//! Paths are compared in lower case and in every way in which a home may be written. A call is checked in
//! three ways: the path that it names, the names in its command line, and, for a tool without a declared path
//! argument, all texts in its arguments.

use std::borrow::Cow;
use std::collections::BTreeSet;

use agentx_types::{Access, Guard, Rule, ToolSpec, since};

use crate::commands::command_analysis::{PathOverlap, names_behind_stars, reaches, read};
use crate::files::path_pattern::{ReadPath, below_home, glob_holds, glob_meets, may_lie_in};
use crate::pattern::{fits, fits_path};

/// The reason why a file is guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarded {
    /// A file that may hold secrets.
    Secret,
    /// A file of the program itself.
    Own,
    /// A folder with such files in it, which a command acts on as a whole.
    Around,
}

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
    let workspace = workspace.to_lowercase();
    // Homes are known by `$HOME` and `/Users`, which small letters would hide.
    let below_home = below_home(path).map(|path| path.trim_start_matches('/').to_lowercase());
    let paths: Vec<ReadPath> = [Some(path.to_lowercase()), below_home]
        .iter()
        .flatten()
        .map(|path| ReadPath::new(path, &workspace))
        .collect();
    let is_one_of = |patterns: &[String]| {
        patterns.iter().any(|pattern| {
            let pattern = in_small_letters(pattern);
            paths.iter().any(|path| path.is_named_by(&pattern, &workspace))
        })
    };
    if is_one_of(&guard.own) {
        Some(Guarded::Own)
    } else if is_one_of(&guard.secrets) && !is_one_of(&guard.except) {
        Some(Guarded::Secret)
    } else {
        None
    }
}

/// A pattern in lower case; nearly all of them are.
fn in_small_letters(pattern: &str) -> Cow<'_, str> {
    let is_small = pattern
        .bytes()
        .all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    if is_small {
        pattern.into()
    } else {
        pattern.to_lowercase().into()
    }
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
    ["x", ""].into_iter().any(|plain| {
        let path = pattern
            .replace("\\*", "x")
            .replace("**", plain)
            .replace('*', plain);
        guarded(guard, &path, base).is_some()
    })
}

/// Returns whether a pattern of command lines names a file with secrets.
pub(crate) fn line_names_secret(guard: &Guard, pattern: &str, workspace: &str) -> bool {
    let paths = read(pattern).paths;
    paths.iter().any(|path| names_secret(guard, path, workspace))
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
    let base = rule.workspace.as_deref().unwrap_or(workspace);
    let by_path = rule
        .path
        .as_deref()
        .is_some_and(|path| names_secret(guard, path, base));
    by_path
        || rule
            .argument
            .as_deref()
            .is_some_and(|line| line_names_secret(guard, line, workspace))
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
    guard: &Guard,
    paths: impl Iterator<Item = &'p str> + Clone,
    globs: &[String],
    workspace: &str,
    version: u32,
) -> Option<(Guarded, String)> {
    let (mut secret, mut seen) = (None, BTreeSet::new());
    // A line may name one file very often.
    for path in paths.filter(|path| seen.insert(*path)) {
        for way in ways_to_read(path) {
            match guarded(guard, way, workspace) {
                Some(Guarded::Own) => return Some((Guarded::Own, path.to_owned())),
                Some(_) => secret = secret.or(Some(path)),
                None => {}
            }
        }
    }
    let glob = |wanted| {
        let meets = |glob: &&String| glob_is_guarded(guard, glob, workspace, version) == Some(wanted);
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

/// The first of these folders that contains the program's own files or secrets, as far as the patterns name
/// their place: a pattern for any folder (`/**/.env`) does not.
pub(crate) fn first_around(guard: &Guard, folders: &[String], workspace: &str) -> Option<(Guarded, String)> {
    let patterns = guard.own.iter().chain(&guard.secrets);
    let folder = first_with(patterns, folders, workspace)?;
    Some((Guarded::Around, folder))
}

/// The first folder of these that has the program's own files in it.
pub(crate) fn first_around_own(guard: &Guard, folders: &[String], workspace: &str) -> Option<String> {
    first_with(guard.own.iter(), folders, workspace)
}

/// The first of these folders that contains a file of the patterns.
fn first_with<'p>(
    patterns: impl Iterator<Item = &'p String>,
    folders: &[String],
    workspace: &str,
) -> Option<String> {
    let placed: Vec<String> = patterns
        .filter(|pattern| !pattern.starts_with("/**/"))
        .map(|pattern| pattern.to_lowercase())
        .collect();
    let workspace = workspace.to_lowercase();
    let is_around = |folder: &&String| {
        let mut ways = ways_to_take(folder).flat_map(|folder| {
            // Homes are known by `$HOME` and `/Users`, which small letters would hide.
            let below_home = below_home(folder).map(|path| path.trim_start_matches('/').to_lowercase());
            [Some(folder.to_lowercase()), below_home]
        });
        ways.any(|folder| {
            let mut patterns = placed.iter();
            folder.is_some_and(|folder| {
                patterns.any(|pattern| may_lie_in(pattern, &folder, &workspace, &workspace))
            })
        })
    };
    folders.iter().find(is_around).map(|folder| shown(folder))
}

/// The reason why a name with globs or expansions is guarded, as [`guarded`] returns it for a path.
///
/// Stars alone match the program's own files; they name no other file in particular.
pub(crate) fn glob_is_guarded(guard: &Guard, name: &str, workspace: &str, version: u32) -> Option<Guarded> {
    let below_home = below_home(name).map(|name| name.trim_start_matches('/').to_lowercase());
    let names = [Some(name.to_lowercase()), below_home];
    let workspace = workspace.to_lowercase();
    let is_one_of = |patterns: &[String], holds: fn(&str, &str) -> bool| {
        let mut patterns = patterns.iter().map(|pattern| in_small_letters(pattern));
        patterns.any(|pattern| {
            let mut names = names.iter().flatten();
            names.any(|name| match version {
                since::STARS_MATCH_OWN_FILES.. => glob_holds(&pattern, name, &workspace, holds),
                _ => glob_meets(&pattern, name, &workspace, &workspace) == PathOverlap::Named,
            })
        })
    };
    if is_one_of(&guard.own, reaches) {
        Some(Guarded::Own)
    } else {
        is_one_of(&guard.secrets, names_behind_stars).then_some(Guarded::Secret)
    }
}

/// A name for display in a question.
pub(crate) fn shown(glob: &str) -> String {
    glob.replace(|c: char| c.is_control(), "*")
}

/// A word of a command line unchanged, and without a prefix before a file's name: `file=@.env`, `HEAD:.env`.
fn ways_to_read(word: &str) -> impl Iterator<Item = &str> {
    let behind = |mark: char| word.rsplit_once(mark).map(|(_, rest)| rest);
    [Some(word), behind('@'), behind(':'), behind('=')]
        .into_iter()
        .flatten()
        .filter(|way| !way.is_empty())
}

/// A folder of a command line unchanged, and as the source of a volume: `/:/host`, `type=bind,source=/`.
fn ways_to_take(word: &str) -> impl Iterator<Item = &str> {
    let volume = word.split_once(':').map(|(source, _)| source);
    let mount = ["source=", "src="]
        .iter()
        .find_map(|key| word.split_once(key)?.1.split(',').next());
    [Some(word), volume, mount]
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
