//! The guard of a configuration, prepared once for comparison with all names of a call.
//!
//! A call is compared with some hundred patterns, and a command line may have thousands of names. So the
//! patterns are written in lower case and as absolute ones only once, and sorted
//! ([`crate::files::sorted_patterns`]). `closed_files` calls this module; it says what is guarded and why.

use std::borrow::Cow;
use std::iter::once;
use std::sync::Arc;

use agentx_types::{Guard, since};

use super::path_pattern::{ReadGlob, ReadPath, absolute_pattern, below_home};
use super::sorted_patterns::{GlobParts, SortedPatterns};
use crate::commands::command_analysis::{
    ANYTHING, PathOverlap, meeting, names_behind_stars, names_path, reaches,
};

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

/// A guard, for the calls in one workspace.
#[derive(Clone, Debug)]
pub(crate) struct PreparedGuard<'g> {
    guard: &'g Guard,
    patterns: Arc<GuardPatterns>,
}

/// The patterns of a guard, for the calls in one workspace.
#[derive(Debug)]
pub(crate) struct GuardPatterns {
    /// The workspace in lower case.
    workspace: String,
    /// The program's own files, which nothing excepts.
    own: GuardedFiles,
    secrets: GuardedFiles,
    /// Files that only look like those of secrets.
    except: GuardedFiles,
    /// The names of which the paths of the program's own files are made.
    own_ends: Vec<Vec<String>>,
}

impl GuardPatterns {
    /// Prepares the patterns of a guard for the names of calls in a workspace.
    pub(crate) fn new(guard: &Guard, workspace: &str) -> Self {
        let workspace = workspace.to_lowercase();
        Self {
            own: GuardedFiles::new(&guard.own, &workspace),
            secrets: GuardedFiles::new(&guard.secrets, &workspace),
            except: GuardedFiles::new(&guard.except, &workspace),
            own_ends: own_ends(guard),
            workspace,
        }
    }
}

impl<'g> PreparedGuard<'g> {
    /// Prepares a guard for the names of calls in a workspace.
    pub(crate) fn new(guard: &'g Guard, workspace: &str) -> Self {
        Self::of_patterns(guard, Arc::new(GuardPatterns::new(guard, workspace)))
    }

    /// A guard whose patterns were prepared before.
    pub(crate) fn of_patterns(guard: &'g Guard, patterns: Arc<GuardPatterns>) -> Self {
        Self { guard, patterns }
    }

    /// The same guard for relative names that begin at `base`; `None` if these do so.
    pub(crate) fn rebased(&self, base: &str) -> Option<Self> {
        (base.to_lowercase() != self.patterns.workspace).then(|| Self::new(self.guard, base))
    }

    /// The names of which each path of the program's own files is made, in lower case, without the `**` at
    /// its end. Paths of a single name are left out.
    pub(crate) fn own_ends(&self) -> &[Vec<String>] {
        &self.patterns.own_ends
    }

    /// The reason why a path is guarded.
    pub(crate) fn reason(&self, path: &str) -> Option<Guarded> {
        let forms = forms_in_small_letters(path);
        let paths: Vec<ReadPath> = forms
            .map(|path| ReadPath::new(&path, &self.patterns.workspace))
            .collect();
        let is_one_of = |files: &GuardedFiles| paths.iter().any(|path| files.has(path));
        if is_one_of(&self.patterns.own) {
            Some(Guarded::Own)
        } else if is_one_of(&self.patterns.secrets) && !is_one_of(&self.patterns.except) {
            Some(Guarded::Secret)
        } else {
            None
        }
    }

    /// The reason why a name with globs or expansions is guarded, as [`reason`](Self::reason) returns it for
    /// a path.
    ///
    /// Stars alone match the program's own files; they name no other file in particular.
    pub(crate) fn reason_of_glob(&self, name: &str, version: u32) -> Option<Guarded> {
        let forms = forms_in_small_letters(name);
        let read: Vec<ReadGlob> = forms
            .map(|name| ReadGlob::new(&name, &self.patterns.workspace))
            .collect();
        let is_one_of = |files: &GuardedFiles, holds: fn(&str, &str) -> bool| {
            // Earlier versions accept only a name that is surely one of the files.
            let holds = match version {
                since::STARS_MATCH_OWN_FILES.. => holds,
                _ => names_path,
            };
            read.iter().any(|name| files.has_glob(name, holds))
        };
        if is_one_of(&self.patterns.own, reaches) {
            Some(Guarded::Own)
        } else {
            is_one_of(&self.patterns.secrets, names_behind_stars).then_some(Guarded::Secret)
        }
    }

    /// The first of these folders that contains the program's own files or secrets, as far as the patterns
    /// name their place: a pattern for any folder (`/**/.env`) does not.
    pub(crate) fn first_around(&self, folders: &[String]) -> Option<(Guarded, String)> {
        let is_around =
            |folder: &&String| self.lies_in(&[&self.patterns.own, &self.patterns.secrets], folder);
        let folder = folders.iter().find(is_around)?;
        Some((Guarded::Around, shown(folder)))
    }

    /// The first folder of these that has the program's own files in it.
    pub(crate) fn first_around_own(&self, folders: &[String]) -> Option<String> {
        let is_around = |folder: &&String| self.lies_in(&[&self.patterns.own], folder);
        folders.iter().find(is_around).map(|folder| shown(folder))
    }

    /// Returns whether a file of these may be in a folder, at any depth.
    fn lies_in(&self, files: &[&GuardedFiles], folder: &str) -> bool {
        let below = |folder: &str| format!("{}/{ANYTHING}", folder.trim_end_matches('/'));
        ways_to_take(folder).any(|folder| {
            forms_in_small_letters(folder).any(|folder| {
                // A name that begins with the mark of a variable may be any place; others decide about those.
                let name = (!folder.starts_with(ANYTHING))
                    .then(|| ReadGlob::new(&below(&folder), &self.patterns.workspace));
                name.is_some_and(|name| files.iter().any(|files| files.may_lie_in(&name)))
            })
        })
    }
}

/// Patterns of one kind.
#[derive(Debug, Default)]
struct GuardedFiles {
    /// Those of a home, as `/~/REST`.
    of_home: SortedPatterns,
    others: SortedPatterns,
}

impl GuardedFiles {
    /// Sorts patterns; `workspace` is in lower case.
    fn new(patterns: &[String], workspace: &str) -> Self {
        let sorted = |of_home: bool| {
            let patterns = patterns
                .iter()
                .filter(|pattern| pattern.starts_with('~') == of_home);
            SortedPatterns::new(patterns.map(|pattern| {
                let is_placed = !pattern.starts_with("/**/");
                (absolute_in_small_letters(pattern, workspace), is_placed)
            }))
        };
        Self {
            of_home: sorted(true),
            others: sorted(false),
        }
    }

    /// Returns whether a path in lower case is one of these files.
    fn has(&self, path: &ReadPath) -> bool {
        let of_home = path.below_home.as_ref();
        of_home.is_some_and(|path| self.of_home.fit(path)) || self.others.fit(&path.absolute)
    }

    /// Returns whether a name with globs is one of these files, according to `holds`.
    ///
    /// If it begins with a variable, it may begin at the root as well, which counts only if the rest names
    /// the file.
    fn has_glob(&self, name: &ReadGlob, holds: fn(&str, &str) -> bool) -> bool {
        let has = |patterns: &SortedPatterns, name: &str, holds: fn(&str, &str) -> bool| {
            let parts = GlobParts::new(name);
            let mut candidates = patterns.candidates_of_glob(&parts);
            candidates.any(|pattern| holds(pattern, name))
        };
        let (of_home, at_root) = (name.below_home.as_ref(), name.at_root.as_ref());
        of_home.is_some_and(|name| has(&self.of_home, name, holds))
            || has(&self.others, &name.absolute, holds)
            || at_root.is_some_and(|name| has(&self.others, name, names_path))
    }

    /// Returns whether one of these files, whose place is known, may have such a name.
    fn may_lie_in(&self, name: &ReadGlob) -> bool {
        let may = |patterns: &SortedPatterns, name: &str| {
            let parts = GlobParts::new(name);
            let mut candidates = patterns.placed_candidates_of_glob(&parts);
            candidates.any(|pattern| meeting(pattern, name) != PathOverlap::Never)
        };
        let of_home = name.below_home.as_ref();
        of_home.is_some_and(|name| may(&self.of_home, name)) || may(&self.others, &name.absolute)
    }
}

/// A name for display in a question.
pub(crate) fn shown(glob: &str) -> String {
    glob.replace(|c: char| c.is_control(), "*")
}

/// The names of which the paths of the program's own files are made, in lower case, without the `**` at their
/// end. Paths of a single name are left out.
fn own_ends(guard: &Guard) -> Vec<Vec<String>> {
    let mut ends: Vec<Vec<String>> = Vec::new();
    for pattern in &guard.own {
        let pattern = pattern.to_lowercase();
        let parts = pattern
            .split('/')
            .filter(|part| !matches!(*part, "" | "~" | "**"));
        let end: Vec<String> = parts.map(str::to_owned).collect();
        if end.len() > 1 && !ends.contains(&end) {
            ends.push(end);
        }
    }
    ends
}

/// A pattern as an absolute one in lower case.
fn absolute_in_small_letters<'p>(pattern: &'p str, workspace: &str) -> Cow<'p, str> {
    match in_small_letters(pattern) {
        Cow::Borrowed(pattern) => absolute_pattern(pattern, workspace),
        Cow::Owned(pattern) => absolute_pattern(&pattern, workspace).into_owned().into(),
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

/// A name in lower case, and as one below `~` if it is below a home: homes are known by `$HOME` and `/Users`,
/// which small letters would hide.
fn forms_in_small_letters(name: &str) -> impl Iterator<Item = String> {
    let below_home = below_home(name).map(|name| name.trim_start_matches('/').to_lowercase());
    once(name.to_lowercase()).chain(below_home)
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

#[cfg(test)]
mod tests {
    use agentx_types::RULES_VERSION;

    use super::*;
    use crate::files::secret_files::secret_files;

    /// The guard of a person at `/data/me`.
    fn guard() -> Guard {
        let homes = ["~".to_owned(), "/data/me".to_owned()];
        let own = homes.iter().map(|home| format!("{home}/.local/share/agentx/**"));
        Guard {
            own: own.collect(),
            ..secret_files(&homes)
        }
    }

    /// The number of patterns with which a name is compared.
    fn comparisons(guard: &PreparedGuard<'_>, name: &str) -> usize {
        let path = ReadPath::new(name, "/ws");
        let glob = ReadGlob::new(name, "/ws");
        let parts = GlobParts::new(&glob.absolute);
        let of_kind = |files: &GuardedFiles| {
            let of_home = path.below_home.iter();
            files.others.candidates(&path.absolute).count()
                + of_home
                    .map(|path| files.of_home.candidates(path).count())
                    .sum::<usize>()
                + files.others.placed_candidates_of_glob(&parts).count()
        };
        of_kind(&guard.patterns.own) + of_kind(&guard.patterns.secrets)
    }

    #[test]
    fn an_ordinary_name_is_compared_with_no_pattern_of_hundreds() {
        let guard = guard();
        let prepared = PreparedGuard::new(&guard, "/ws");
        assert!(guard.secrets.len() > 150);
        for n in 0..1_000 {
            for name in [
                format!("word{n}"),
                format!("src/a{n}/b{n}.rs"),
                format!("~/a{n}"),
                format!("/srv/{n}"),
            ] {
                assert_eq!(comparisons(&prepared, &name), 0, "{name}");
            }
        }
        assert_eq!(comparisons(&prepared, "a/.env"), 2, "with `.env` and `*.env`");
    }

    #[test]
    fn an_ordinary_glob_is_compared_with_few_patterns() {
        let guard = guard();
        let prepared = PreparedGuard::new(&guard, "/ws");
        let compared = |name: &str| {
            let glob = ReadGlob::new(&name.replace('*', "\u{1}"), "/ws");
            let parts = GlobParts::new(&glob.absolute);
            let files = [&prepared.patterns.own.others, &prepared.patterns.secrets.others];
            files
                .map(|files| files.candidates_of_glob(&parts).count())
                .iter()
                .sum::<usize>()
        };
        // Patterns for a folder anywhere are left, and those whose names may begin and end so.
        for (name, most) in [("src/*.rs", 30), ("src/*/a.rs", 10), ("word*", 60)] {
            let compared = compared(name);
            assert!(compared < most, "{name}: {compared}");
        }
    }

    #[test]
    fn places_and_letters_are_compared_as_before_the_sorting() {
        let guard = Guard {
            own: vec!["~/Own/**".into(), "**/mine".into()],
            secrets: vec!["/**/.env*".into(), "/SRV/*/key".into(), "rel/*.x".into()],
            except: vec!["/**/.env.example".into()],
            ..Guard::default()
        };
        let prepared = PreparedGuard::new(&guard, "/Ws");
        for (name, expected) in [
            ("~/own", Some(Guarded::Own)),
            ("$HOME/OWN/a", Some(Guarded::Own)),
            ("/home/me/own/a", Some(Guarded::Own)),
            ("a/mine", Some(Guarded::Own)),
            ("/mine", None),
            (".ENV", Some(Guarded::Secret)),
            (".env.example", None),
            ("/srv/a/KEY", Some(Guarded::Secret)),
            ("/srv/a/b/key", None),
            ("rel/a.x", Some(Guarded::Secret)),
            ("/rel/a.x", None),
        ] {
            assert_eq!(prepared.reason(name), expected, "{name}");
        }
        for (name, expected) in [
            ("~/o*", Some(Guarded::Own)),
            ("$/own/a", None),
            ("$/mine", Some(Guarded::Own)),
            (".en*", Some(Guarded::Secret)),
            ("*/.env", Some(Guarded::Secret)),
            ("/srv/*/key", Some(Guarded::Secret)),
            ("$srv/a/key", Some(Guarded::Secret)),
            ("*", Some(Guarded::Own)),
            ("*.rs", None),
        ] {
            let marked = name.replace('*', "\u{1}").replace('$', "\0");
            assert_eq!(
                prepared.reason_of_glob(&marked, RULES_VERSION),
                expected,
                "{name}"
            );
        }
        let folders = |name: &str| prepared.first_around(&[name.to_owned()]).is_some();
        assert!(folders("~") && folders("/srv") && folders("rel") && folders("/srv:/x"));
        assert!(!folders("/opt") && !folders("/opt/srv"));
    }
}
