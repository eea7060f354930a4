//! `glob`: files by name.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use agentx_runtime::{ToolContext, ToolOutcome};
use agentx_types::{Access, ToolStatus};
use ignore::DirEntry;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::search_permits::SearchPermits;
use super::walk::{PathDisplay, PathGlob, SearchWalk, WalkEnd, literal_prefix};
use super::withheld::WithheldMatches;
use crate::blocking_work::{StopFlag, blocking};
use crate::failure::ToolFailure;
use crate::options::SearchOptions;
use crate::typed::{ToolAbout, TypedTool};
use crate::workspace::Scope;

/// The arguments of `glob`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GlobInput {
    /// For example **/*.rs or src/*.{ts,tsx}; without / it matches names in any directory.
    pattern: String,
    /// Directory to search; the working directory if left out.
    path: Option<String>,
    /// Order; path if left out.
    sort: Option<Sort>,
    /// Also list what .gitignore excludes.
    ignored: Option<bool>,
    /// Number of paths.
    limit: Option<u64>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Sort {
    Path,
    /// newest first
    Modified,
}

pub(crate) struct GlobTool {
    options: SearchOptions,
    turns: SearchPermits,
}

impl GlobTool {
    pub(crate) fn new(options: SearchOptions, turns: SearchPermits) -> Self {
        Self { options, turns }
    }
}

impl TypedTool for GlobTool {
    type Input = GlobInput;

    fn about(&self) -> ToolAbout {
        let description = "Lists files whose path matches a glob, relative to the working directory. Leaves out what .gitignore \
                           excludes.";
        ToolAbout::new("glob", description, Access::Read)
            .path("path")
            .idempotent()
    }

    async fn run(&self, input: GlobInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        let (scope, options) = (Scope::of("glob", &context), self.options.clone());
        let stop = StopFlag::new(&context.cancel, Some(options.timeout));
        let turn = self.turns.take(&self.options, &context).await?;
        // A search whose call was cancelled continues for a moment; it keeps its permit until it has ended.
        blocking(&context.cancel, move || {
            let _turn = turn;
            list(&scope, &input, &options, &stop)
        })
        .await
    }
}

/// The sort key of paths: time first if it matters, then the path itself.
type SortKey = (Reverse<Option<SystemTime>>, PathBuf);

/// The first so many of any number of paths.
struct FirstPaths {
    limit: usize,
    keys: Vec<SortKey>,
}

impl FirstPaths {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            keys: Vec::new(),
        }
    }

    fn push(&mut self, key: SortKey) {
        self.keys.push(key);
        if self.keys.len() >= 4 * self.limit.max(256) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.keys.sort_unstable();
        self.keys.truncate(self.limit);
    }
}

/// The results of one thread; they join the others' when the thread has ended.
struct GlobMatches<'a> {
    first: FirstPaths,
    all: &'a Mutex<FirstPaths>,
}

impl Drop for GlobMatches<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.keys.append(&mut self.first.keys);
        all.cut();
    }
}

fn list(
    scope: &Scope,
    input: &GlobInput,
    options: &SearchOptions,
    stop: &StopFlag,
) -> Result<ToolOutcome, ToolFailure> {
    let (place, pattern) = place(input);
    // A pattern keeps its meaning without its directories: `src/*.rs` does not become `*.rs` anywhere below
    // `src`.
    let glob = PathGlob::new(pattern, !input.pattern.contains('/'))?;
    let root = match scope.resolve_existing(&place) {
        Ok((root, metadata)) if metadata.is_dir() => root,
        Ok(_) => {
            return Err(ToolFailure::failed(format!(
                "{place} is a file, not a directory."
            )));
        }
        Err(failure) if failure.status == ToolStatus::Failed && input.path.as_deref() != Some(&place) => {
            return Ok(ToolOutcome::success(format!("No files match: {}", failure.text)));
        }
        Err(failure) => return Err(failure),
    };
    let ignored = input.ignored == Some(true);
    let walk = SearchWalk {
        root,
        ignored,
        file_type: None,
        threads: options.threads,
        left_out: Arc::default(),
    };
    let by_time = input.sort == Some(Sort::Modified);
    let withheld = WithheldMatches::of(scope, &walk.root);
    let wanted = GlobQuery {
        glob: &glob,
        by_time,
        limit: options.limit(input.limit),
        withheld: &withheld,
    };
    let (first, matched, ended) = find(&walk, &wanted, stop)?;
    let (mut text, listed) = render(scope, &first.keys, matched, options);
    text.push_str(&withheld.note());
    text.push_str(&walk.left_out.note(&walk.root));
    Ok(ended.outcome(text, json!({ "matched": matched, "shown": listed })))
}

/// The parts of a search that threads share.
struct GlobQuery<'a> {
    glob: &'a PathGlob,
    by_time: bool,
    limit: usize,
    withheld: &'a WithheldMatches,
}

/// Walks. Returns the first paths, their total number, and whether the search is complete.
fn find(
    walk: &SearchWalk,
    wanted: &GlobQuery<'_>,
    stop: &StopFlag,
) -> Result<(FirstPaths, usize, WalkEnd), ToolFailure> {
    let (matched, ended) = (AtomicUsize::new(0), WalkEnd::default());
    let all = Mutex::new(FirstPaths::new(wanted.limit));
    walk.parallel()?.run(|| {
        let mut local = GlobMatches {
            first: FirstPaths::new(wanted.limit),
            all: &all,
        };
        let (matched, ended) = (&matched, &ended);
        Box::new(move |entry| {
            if let Some(key) = entry.ok().and_then(|entry| key(&entry, walk, wanted)) {
                matched.fetch_add(1, Ordering::Relaxed);
                local.first.push(key);
            }
            ended.walk_state(stop)
        })
    });
    let first = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((first, matched.into_inner(), ended))
}

/// Splits the input into the directory to walk, and the pattern from there.
fn place(input: &GlobInput) -> (String, &str) {
    let base = input.path.as_deref().unwrap_or(".");
    match literal_prefix(&input.pattern) {
        ("", rest) => (base.into(), rest),
        (prefix, rest) if prefix.starts_with('/') => (prefix.into(), rest),
        (prefix, rest) => (format!("{base}/{prefix}"), rest),
    }
}

fn key(entry: &DirEntry, walk: &SearchWalk, wanted: &GlobQuery<'_>) -> Option<SortKey> {
    if !entry.file_type().is_some_and(|kind| kind.is_file()) {
        return None;
    }
    let path = entry.path().strip_prefix(&walk.root).ok()?;
    if !wanted.glob.matches(path) || wanted.withheld.takes(entry.path()) {
        return None;
    }
    let time = if wanted.by_time {
        entry
            .metadata()
            .ok()
            .and_then(|metadata| metadata.modified().ok())
    } else {
        None
    };
    Some((Reverse(time), entry.path().to_owned()))
}

/// Returns the paths as text, and how many are in it.
fn render(scope: &Scope, keys: &[SortKey], matched: usize, options: &SearchOptions) -> (String, usize) {
    let shown = PathDisplay::new(scope);
    let mut text = String::new();
    let mut listed = 0;
    for (_, path) in keys {
        if text.len() >= options.shown_bytes {
            break;
        }
        text.push_str(&shown.path(path).to_string_lossy());
        text.push('\n');
        listed += 1;
    }
    if matched == 0 {
        text.push_str("No files match.\n");
    }
    if listed < matched {
        let note = format!("[{listed} of {matched} files; narrow the pattern or the path, or raise limit]\n");
        text.push_str(&note);
    }
    (text, listed)
}
