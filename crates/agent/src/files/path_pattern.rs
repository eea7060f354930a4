//! Decides whether a pattern of a rule matches a path as it is written in a call or a command line.
//!
//! The real home directory is unknown here, but `~/x`, `$HOME/x` and `/home/me/x` are evidently in one. So
//! paths below any home are compared as `/~/…`, and a pattern that begins with `~` fits all of them. Another
//! way to write the path does not evade a rule about `~/.ssh`. A home of another name (`/data/home`) is data
//! of the configuration: [`crate::files::home_paths`].
//!
//! It answers two questions: for a literal path ([`is_named_by`]), and for a name with globs or variables
//! ([`glob_meets`]). The patterns of a guard are compared in `prepared_guard`.

use std::borrow::Cow;

use crate::commands::command_analysis::{ANYTHING, PathOverlap, meeting};
use crate::pattern::{fits_path, literal, normalize};

/// A path below a home directory as `/~/REST`; `None` for any other. Homes are recognized by their spelling,
/// and those of other persons count too.
pub(crate) fn below_home(path: &str) -> Option<String> {
    let below = |start: &str| path.strip_prefix(start).map(|rest| format!("/~{rest}"));
    let of_person = |start: &str| {
        let rest = path.strip_prefix(start)?;
        let at = rest.find('/').unwrap_or(rest.len());
        Some(format!("/~{}", &rest[at..]))
    };
    ["~", "$HOME", "${HOME}", "/root"]
        .into_iter()
        .find_map(below)
        .or_else(|| ["/home/", "/Users/"].into_iter().find_map(of_person))
}

/// Returns whether `pattern` matches `path` as it is written in a call or a command line. A relative path of
/// the call begins at `workspace`, one of the pattern at `base`.
pub(crate) fn is_named_by(pattern: &str, path: &str, workspace: &str, base: &str) -> bool {
    ReadPath::new(path, workspace).is_named_by(pattern, base)
}

/// A path of a call or a command line, parsed once for comparison with many patterns.
pub(crate) struct ReadPath {
    /// The path as `/~/REST`, if it is below a home.
    pub(crate) below_home: Option<String>,
    /// Absolute and normal.
    pub(crate) absolute: String,
}

impl ReadPath {
    /// Reads a path; a relative one begins at `workspace`.
    pub(crate) fn new(path: &str, workspace: &str) -> Self {
        let below_home = below_home(path).map(|path| normalize("/", &path));
        // The place of `~` is unknown, but it is a separate place.
        let absolute = match &below_home {
            Some(below_home) if !path.starts_with('/') => below_home.clone(),
            _ => normalize(workspace, path),
        };
        Self { below_home, absolute }
    }

    /// Returns whether `pattern` is about it. A relative pattern begins at `base`.
    pub(crate) fn is_named_by(&self, pattern: &str, base: &str) -> bool {
        if pattern.starts_with('~') {
            let path = self.below_home.as_ref();
            return path.is_some_and(|path| fits_path(&format!("/{pattern}"), path, base));
        }
        fits_path(pattern, &self.absolute, base)
    }
}

/// The degree to which `pattern` is surely about a name with globs or expansions in it, as
/// [`crate::commands::command_analysis`] notes them: the surest of all ways to read the name.
pub(crate) fn glob_meets(pattern: &str, name: &str, workspace: &str, base: &str) -> PathOverlap {
    let ways = ways_to_hold(pattern, name, workspace, base);
    let met = ways.iter().map(|(pattern, name)| meeting(pattern, name));
    met.max().unwrap_or(PathOverlap::Never)
}

/// Returns whether a file that matches `pattern` may be in a folder, at any depth. The folder is a path or a
/// glob from [`crate::commands::command_analysis`].
pub(crate) fn may_lie_in(pattern: &str, folder: &str, workspace: &str, base: &str) -> bool {
    let below = format!("{}/{ANYTHING}", folder.trim_end_matches('/'));
    // A name that begins with the mark of a variable may be any place; this function does not decide about
    // those.
    !folder.starts_with(ANYTHING) && glob_meets(pattern, &below, workspace, base) != PathOverlap::Never
}

/// The absolute patterns and names to compare, for each way to read the name.
fn ways_to_hold(pattern: &str, name: &str, workspace: &str, base: &str) -> Vec<(String, String)> {
    let pattern_of_home = pattern.starts_with('~');
    let pattern = absolute_pattern(pattern, base).into_owned();
    let read = ReadGlob::new(name, workspace);
    if pattern_of_home {
        return read.below_home.map(|name| (pattern, name)).into_iter().collect();
    }
    let at_root = read.at_root.map(|name| (pattern.clone(), name));
    std::iter::once((pattern, read.absolute)).chain(at_root).collect()
}

/// A pattern as an absolute one: one of a home as `/~/REST`, a relative one below `base`.
pub(crate) fn absolute_pattern<'p>(pattern: &'p str, base: &str) -> Cow<'p, str> {
    if pattern.starts_with('/') {
        pattern.into()
    } else if pattern.starts_with('~') {
        format!("/{pattern}").into()
    } else {
        format!("{}/{pattern}", literal(base.trim_end_matches('/'))).into()
    }
}

/// A name with globs or variables, read once for comparison with many patterns.
pub(crate) struct ReadGlob {
    /// The name as `/~/REST`, if it is below a home.
    pub(crate) below_home: Option<String>,
    /// Absolute and normal.
    pub(crate) absolute: String,
    /// The name as one that begins at the root, if the value of a variable at its beginning may be that.
    pub(crate) at_root: Option<String>,
}

impl ReadGlob {
    /// Reads a name; a relative one begins at `workspace`.
    pub(crate) fn new(name: &str, workspace: &str) -> Self {
        let below_home = below_home(name).map(|name| normalize("/", &name));
        let absolute = match &below_home {
            Some(below_home) if !name.starts_with('/') => below_home.clone(),
            _ => normalize(workspace, name),
        };
        Self {
            below_home,
            absolute,
            at_root: name.starts_with(ANYTHING).then(|| normalize("/", name)),
        }
    }
}
