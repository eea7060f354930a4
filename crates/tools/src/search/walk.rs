//! The directory walk of both searches: it is parallel, honours ignore files, and never follows symbolic
//! links, so that it cannot leave its root.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agentx_runtime::ToolOutcome;
use agentx_types::{ToolStatus, nearest};
use globset::{GlobBuilder, GlobMatcher};
use ignore::types::TypesBuilder;
use ignore::{DirEntry, WalkBuilder, WalkParallel, WalkState};
use serde_json::Value;

use super::ignore_files::{self, SkippedDirectories};
use crate::blocking_work::StopFlag;
use crate::failure::ToolFailure;
use crate::workspace::Scope;

/// The start of a search and the directories that it skips.
pub(crate) struct SearchWalk {
    pub(crate) root: PathBuf,
    pub(crate) ignored: bool,
    pub(crate) file_type: Option<String>,
    pub(crate) threads: usize,
    /// The directories that the walk skipped.
    pub(crate) left_out: Arc<SkippedDirectories>,
}

impl SearchWalk {
    pub(crate) fn parallel(&self) -> Result<WalkParallel, ToolFailure> {
        if !self.ignored {
            ignore_files::check(&self.root)?;
        }
        let (left_out, ignored) = (Arc::clone(&self.left_out), self.ignored);
        let may_enter = move |entry: &DirEntry| {
            let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            ignored || !is_directory || left_out.may_enter(entry.path())
        };
        let mut builder = WalkBuilder::new(&self.root);
        builder
            .hidden(false)
            .require_git(false)
            .threads(self.threads)
            .filter_entry(move |entry| {
                entry.depth() == 0 || (entry.file_name() != ".git" && may_enter(entry))
            });
        if self.ignored {
            builder
                .ignore(false)
                .git_ignore(false)
                .git_global(false)
                .git_exclude(false)
                .parents(false);
        }
        if let Some(name) = &self.file_type {
            builder.types(types(name)?);
        }
        Ok(builder.build_parallel())
    }
}

/// Whether a walk was ended before its end.
#[derive(Default)]
pub(crate) struct WalkEnd {
    early: AtomicBool,
}

impl WalkEnd {
    /// Returns what a thread does after each entry.
    pub(crate) fn walk_state(&self, stop: &StopFlag) -> WalkState {
        if stop.due() {
            self.early.store(true, Ordering::Relaxed);
            return WalkState::Quit;
        }
        WalkState::Continue
    }

    /// Returns the outcome of a search, with a note if it is incomplete.
    pub(crate) fn outcome(&self, mut text: String, details: Value) -> ToolOutcome {
        if !self.early.load(Ordering::Relaxed) {
            return ToolOutcome::success(text).with_details(details);
        }
        text.push_str("[the search took too long and was stopped; this is not all]\n");
        ToolOutcome::failed(ToolStatus::TimedOut, text).with_details(details)
    }
}

fn types(name: &str) -> Result<ignore::types::Types, ToolFailure> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let built = builder.select(name).build();
    built.map_err(|_| {
        let known = builder.definitions();
        let near = nearest(name, known.iter().map(|known| known.name()), 1);
        let hint = near.first().map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
        ToolFailure::invalid(format!(
            "{name:?} is not a file type{hint} Types are like rust, py, ts, md; else use glob, for example \"*.{name}\"."
        ))
    })
}

/// A glob as models write it: without `/` it matches names in any directory, with `/` paths from the start of
/// the search.
#[derive(Clone, Debug)]
pub(crate) struct PathGlob {
    matcher: GlobMatcher,
    names: bool,
    negated: bool,
}

impl PathGlob {
    /// Matches names or paths, depending on the pattern; a leading `!` negates it.
    pub(crate) fn filter(pattern: &str) -> Result<Self, ToolFailure> {
        let (negated, plain) = match pattern.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, pattern),
        };
        let glob = Self::new(plain, !plain.contains('/'))?;
        Ok(Self { negated, ..glob })
    }

    /// About names, or about paths.
    pub(crate) fn new(pattern: &str, names: bool) -> Result<Self, ToolFailure> {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .build()
            .map_err(|error| {
                ToolFailure::invalid(format!(
                    "Bad glob {pattern:?}: {}. For example: src/**/*.{{ts,tsx}}",
                    error.kind()
                ))
            })?;
        Ok(Self {
            matcher: glob.compile_matcher(),
            names,
            negated: false,
        })
    }

    /// Returns whether a path, relative to the start of the search, matches.
    pub(crate) fn matches(&self, path: &Path) -> bool {
        let place = if self.names {
            path.file_name().map(Path::new).unwrap_or(path)
        } else {
            path
        };
        self.matcher.is_match(place) != self.negated
    }
}

/// Returns the directories that a pattern begins with, and the rest: `src/a/**/*.rs` is `src/a` and
/// `**/*.rs`. A walk from there ignores everything else.
pub(crate) fn literal_prefix(pattern: &str) -> (&str, &str) {
    let special = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    match pattern[..special].rfind('/') {
        Some(0) => ("/", &pattern[1..]),
        Some(end) => (&pattern[..end], &pattern[end + 1..]),
        None => ("", pattern),
    }
}

/// Shows paths of a walk as people write them, without asking the file system for each.
pub(crate) struct PathDisplay {
    root: PathBuf,
}

impl PathDisplay {
    pub(crate) fn new(scope: &Scope) -> Self {
        Self {
            root: scope.real_root(),
        }
    }

    pub(crate) fn path<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_mean_names_or_paths() {
        let check = |pattern: &str, path: &str| PathGlob::filter(pattern).unwrap().matches(Path::new(path));
        assert!(check("*.rs", "a/b/c.rs"));
        assert!(check("**/*.rs", "c.rs"));
        assert!(check("a/*/c.rs", "a/b/c.rs"));
        assert!(!check("a/*.rs", "a/b/c.rs"));
        assert!(check("*.{ts,tsx}", "x/y.tsx"));
        assert!(!check("!*.rs", "a.rs"));
        assert!(check("!*.rs", "a.md"));
        assert!(PathGlob::filter("a[").is_err());
    }

    #[test]
    fn patterns_begin_with_directories() {
        assert_eq!(literal_prefix("src/a/**/*.rs"), ("src/a", "**/*.rs"));
        assert_eq!(literal_prefix("*.rs"), ("", "*.rs"));
        assert_eq!(literal_prefix("src/main.rs"), ("src", "main.rs"));
        assert_eq!(literal_prefix("/*.rs"), ("/", "*.rs"));
        assert_eq!(literal_prefix("/a/b*/c"), ("/a", "b*/c"));
    }
}
