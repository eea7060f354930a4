//! `grep`: files by content.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agentx_runtime::{ToolContext, ToolOutcome};
use agentx_types::Access;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::DirEntry;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::hits::{Collector, HitMode, Hits, ThreadHits, render};
use super::search_permits::SearchPermits;
use super::walk::{PathDisplay, PathGlob, SearchWalk, WalkEnd};
use super::withheld::WithheldMatches;
use crate::blocking_work::{StopFlag, StoppableReader, blocking};
use crate::failure::ToolFailure;
use crate::options::SearchOptions;
use crate::text;
use crate::typed::{ToolAbout, TypedTool};
use crate::workspace::Scope;

/// The arguments of `grep`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrepInput {
    /// Regular expression (Rust syntax), matched line by line.
    pattern: String,
    /// File or directory to search; the working directory if left out.
    path: Option<String>,
    /// The kind of output; content if left out.
    mode: Option<Mode>,
    /// Only files that match, for example *.rs or src/**/*.ts.
    glob: Option<String>,
    /// Only files of a type, for example rust, py, js.
    #[serde(rename = "type")]
    file_type: Option<String>,
    case_insensitive: Option<bool>,
    /// Lines to show before and after each match.
    context: Option<u64>,
    /// Also search what .gitignore excludes.
    ignored: Option<bool>,
    /// Number of matching lines (content) or files.
    limit: Option<u64>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// matching lines with numbers
    Content,
    /// paths only
    Files,
    /// matching lines per file
    Count,
}

impl GrepInput {
    fn walk(&self, root: PathBuf, threads: usize) -> SearchWalk {
        let ignored = self.ignored == Some(true);
        SearchWalk {
            root,
            ignored,
            file_type: self.file_type.clone(),
            threads,
            left_out: Arc::default(),
        }
    }

    fn wanted(&self) -> HitMode {
        match self.mode.unwrap_or(Mode::Content) {
            Mode::Content => HitMode::Lines,
            Mode::Files => HitMode::Any,
            Mode::Count => HitMode::Count,
        }
    }

    fn matcher(&self) -> Result<RegexMatcher, ToolFailure> {
        const COMPILED_BYTES: usize = 10 << 20;
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .case_insensitive(self.case_insensitive == Some(true));
        builder.line_terminator(Some(b'\n')).size_limit(COMPILED_BYTES);
        builder.build(&self.pattern).map_err(|error| {
            ToolFailure::invalid(format!(
                "Bad regular expression: {error}\nMatches are per line; escape . * + ? ( ) [ ] {{ }} | ^ $ \\ with \\ \
                 to match them literally; look-around and back-references are not supported."
            ))
        })
    }

    fn searcher(&self, heap_bytes: usize) -> Searcher {
        const MOST_CONTEXT: u64 = 50;
        let context = usize::try_from(self.context.unwrap_or(0).min(MOST_CONTEXT)).unwrap_or(0);
        let lines = self.wanted() == HitMode::Lines;
        SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_number(lines)
            .heap_limit(Some(heap_bytes))
            .before_context(if lines { context } else { 0 })
            .after_context(if lines { context } else { 0 })
            .build()
    }
}

pub(crate) struct GrepTool {
    options: SearchOptions,
    turns: SearchPermits,
}

impl GrepTool {
    pub(crate) fn new(options: SearchOptions, turns: SearchPermits) -> Self {
        Self { options, turns }
    }
}

impl TypedTool for GrepTool {
    type Input = GrepInput;

    fn about(&self) -> ToolAbout {
        let description = "Searches file contents with a regular expression; faster than grep in bash. Leaves out binary files and \
                           what .gitignore excludes.";
        ToolAbout::new("grep", description, Access::Read)
            .path("path")
            .idempotent()
    }

    async fn run(&self, input: GrepInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        let (scope, options) = (Scope::of("grep", &context), self.options.clone());
        let stop = StopFlag::new(&context.cancel, Some(options.timeout));
        let turn = self.turns.take(&self.options, &context).await?;
        // A search whose call was cancelled continues for a moment; it keeps its permit until it has ended.
        blocking(&context.cancel, move || {
            let _turn = turn;
            search(&scope, &input, &options, &stop)
        })
        .await
    }
}

/// The parts of a search that threads share.
struct GrepSearch<'a> {
    walk: &'a SearchWalk,
    glob: Option<PathGlob>,
    matcher: RegexMatcher,
    wanted: HitMode,
    limit: usize,
    line_bytes: usize,
    stop: &'a StopFlag,
    withheld: WithheldMatches,
}

fn search(
    scope: &Scope,
    input: &GrepInput,
    options: &SearchOptions,
    stop: &StopFlag,
) -> Result<ToolOutcome, ToolFailure> {
    let matcher = input.matcher()?;
    let place = input.path.as_deref().unwrap_or(".");
    let (root, metadata) = scope.resolve_existing(place)?;
    if !metadata.is_dir() && !metadata.is_file() {
        return Err(ToolFailure::failed(format!(
            "{place} is neither a file nor a directory."
        )));
    }
    let threads = if metadata.is_file() { 1 } else { options.threads };
    let walk = input.walk(root, threads);
    let search = GrepSearch {
        walk: &walk,
        glob: input.glob.as_deref().map(PathGlob::filter).transpose()?,
        matcher,
        wanted: input.wanted(),
        limit: options.limit(input.limit),
        line_bytes: options.line_bytes,
        stop,
        withheld: WithheldMatches::of(scope, &walk.root),
    };
    let (hits, ended) = search.run(|| input.searcher(options.heap_bytes))?;
    let (mut text, listed) = describe(scope, search.wanted, options, &hits);
    text.push_str(&search.withheld.note());
    text.push_str(&walk.left_out.note(&walk.root));
    let details = json!({
        "matches": hits.matches,
        "files": hits.matched_files,
        "searched": hits.searched,
        "shown": listed,
    });
    Ok(ended.outcome(text, details))
}

impl GrepSearch<'_> {
    /// Walks and searches each file. Returns the hits, and whether the search is complete.
    fn run(&self, searcher: impl Fn() -> Searcher) -> Result<(Hits, WalkEnd), ToolFailure> {
        let (all, ended) = (Mutex::new(Hits::new(self.limit)), WalkEnd::default());
        self.walk.parallel()?.run(|| {
            let mut local = ThreadHits {
                hits: Hits::new(self.limit),
                all: &all,
            };
            let mut searcher = searcher();
            let ended = &ended;
            Box::new(move |entry| {
                match entry {
                    Ok(entry) => self.look(&entry, &mut searcher, &mut local.hits),
                    Err(_) => local.hits.unreadable += 1,
                }
                ended.walk_state(self.stop)
            })
        });
        Ok((all.into_inner().unwrap_or_else(PoisonError::into_inner), ended))
    }

    fn look(&self, entry: &DirEntry, searcher: &mut Searcher, hits: &mut Hits) {
        if !entry.file_type().is_some_and(|kind| kind.is_file())
            || !self.is_meant(entry)
            || self.withheld.takes(entry.path())
        {
            return;
        }
        hits.searched += 1;
        let mut collector = Collector::new(self.wanted, self.limit, self.line_bytes);
        let done = File::open(entry.path()).and_then(|file| {
            let reader = StoppableReader {
                inner: file,
                stop: self.stop.clone(),
            };
            searcher.search_reader(&self.matcher, reader, &mut collector)
        });
        if done.is_err() {
            hits.unreadable += 1;
        }
        if let Some(file) = collector.finish(entry.path()) {
            hits.push(file);
        }
    }

    fn is_meant(&self, entry: &DirEntry) -> bool {
        let Some(glob) = &self.glob else { return true };
        let path = entry.path().strip_prefix(&self.walk.root).unwrap_or(entry.path());
        // A file that was named itself is relative to its directory.
        let path = if path.as_os_str().is_empty() {
            entry.path()
        } else {
            path
        };
        glob.matches(path)
    }
}

/// Returns the hits as text, and how many are in it.
fn describe(scope: &Scope, wanted: HitMode, options: &SearchOptions, hits: &Hits) -> (String, u64) {
    let shown = PathDisplay::new(scope);
    let show = |path: &Path| shown.path(path).to_string_lossy().into_owned();
    let (mut text, listed) = render(hits, wanted, options.shown_bytes, show);
    let (found, what) = match wanted {
        HitMode::Lines => (hits.matches, "matching lines"),
        HitMode::Any | HitMode::Count => (hits.matched_files, "files"),
    };
    if hits.searched == 0 {
        text.push_str("No files to search: nothing matches the path, glob and type.\n");
    } else if found == 0 {
        text.push_str(&format!("No matches (files searched: {}).\n", hits.searched));
    } else if listed < found {
        let files = hits.matched_files;
        text.push_str(&format!(
            "\n[{listed} of {found} {what} (files that match: {files}); narrow the search, or raise limit]\n"
        ));
    }
    if hits.unreadable > 0 {
        text.push_str(&format!(
            "[files or directories that could not be read, or with a line of more than {}: {}]\n",
            text::size(options.heap_bytes as u64),
            hits.unreadable
        ));
    }
    (text, listed)
}
