//! The results of a search in files: collected by many threads, bounded, and independent of their order.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use crate::text;

/// A shown line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HitLine {
    number: u64,
    /// Whether it matches itself, or is context of a match.
    matched: bool,
    /// Whether lines between the one before and this one are left out.
    gap: bool,
    text: String,
}

/// The results in one file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileHits {
    pub(crate) path: PathBuf,
    pub(crate) matches: u64,
    pub(crate) lines: Vec<HitLine>,
}

impl FileHits {
    /// Returns its part of the limit.
    fn weight(&self) -> usize {
        self.lines.iter().filter(|line| line.matched).count().max(1)
    }
}

/// The results in all files.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    pub(crate) limit: usize,
    pub(crate) files: Vec<FileHits>,
    weight: usize,
    pub(crate) searched: u64,
    pub(crate) matched_files: u64,
    pub(crate) matches: u64,
    pub(crate) unreadable: u64,
}

impl Hits {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    pub(crate) fn push(&mut self, file: FileHits) {
        self.matched_files += 1;
        self.matches += file.matches;
        self.weight += file.weight();
        self.files.push(file);
        if self.weight >= 4 * self.limit.max(256) {
            self.cut();
        }
    }

    /// Leaves the first files that fill the limit, in the order of their paths.
    pub(crate) fn cut(&mut self) {
        self.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self.weight = 0;
        let kept = self.files.iter().take_while(|file| {
            let room = self.weight < self.limit;
            self.weight += if room { file.weight() } else { 0 };
            room
        });
        let kept = kept.count();
        self.files.truncate(kept);
    }

    fn join(&mut self, mut other: Self) {
        self.files.append(&mut other.files);
        self.searched += other.searched;
        self.matched_files += other.matched_files;
        self.matches += other.matches;
        self.unreadable += other.unreadable;
        self.cut();
    }
}

/// The results of one thread; they join the others' when the thread has ended.
pub(crate) struct ThreadHits<'a> {
    pub(crate) hits: Hits,
    pub(crate) all: &'a Mutex<Hits>,
}

impl Drop for ThreadHits<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.join(std::mem::take(&mut self.hits));
    }
}

/// The part of a file that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HitMode {
    Lines,
    /// Only whether it matches.
    Any,
    /// Only how often.
    Count,
}

/// Takes the matches of one file.
pub(crate) struct Collector {
    wanted: HitMode,
    limit: usize,
    line_bytes: usize,
    gap: bool,
    kept: usize,
    pub(crate) matches: u64,
    pub(crate) lines: Vec<HitLine>,
}

impl Collector {
    pub(crate) fn new(wanted: HitMode, limit: usize, line_bytes: usize) -> Self {
        Self {
            wanted,
            limit,
            line_bytes,
            gap: false,
            kept: 0,
            matches: 0,
            lines: Vec::new(),
        }
    }

    /// Returns the hits of the file, if there are any.
    pub(crate) fn finish(self, path: &Path) -> Option<FileHits> {
        (self.matches > 0).then(|| FileHits {
            path: path.to_owned(),
            matches: self.matches,
            lines: self.lines,
        })
    }

    fn keep(&mut self, number: Option<u64>, matched: bool, bytes: &[u8]) {
        let line = String::from_utf8_lossy(bytes);
        let text = text::cut_line(line.trim_end_matches(['\n', '\r']), self.line_bytes);
        self.lines.push(HitLine {
            number: number.unwrap_or(0),
            matched,
            gap: self.gap,
            text,
        });
        self.gap = false;
    }
}

impl Sink for Collector {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.matches += 1;
        if self.wanted == HitMode::Lines && self.kept < self.limit {
            self.kept += 1;
            self.keep(found.line_number(), true, found.bytes());
        }
        Ok(self.wanted != HitMode::Any)
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.wanted == HitMode::Lines && self.kept < self.limit {
            self.keep(context.line_number(), false, context.bytes());
        }
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, io::Error> {
        self.gap = !self.lines.is_empty();
        Ok(true)
    }
}

/// Returns the hits as text of at most about `bytes`, and how many matches are in it.
pub(crate) fn render(
    hits: &Hits,
    wanted: HitMode,
    bytes: usize,
    show: impl Fn(&Path) -> String,
) -> (String, u64) {
    let mut text = String::new();
    let mut shown = 0;
    for file in &hits.files {
        if text.len() >= bytes || shown >= hits.limit as u64 {
            break;
        }
        let path = show(&file.path);
        match wanted {
            HitMode::Any => text.push_str(&format!("{path}\n")),
            HitMode::Count => text.push_str(&format!("{path}:{}\n", file.matches)),
            HitMode::Lines => {
                let heading = if text.is_empty() { "" } else { "\n" };
                text.push_str(&format!("{heading}{path}\n"));
                shown += render_lines(file, bytes, hits.limit as u64 - shown, &mut text);
                continue;
            }
        }
        shown += 1;
    }
    (text, shown)
}

fn render_lines(file: &FileHits, bytes: usize, room: u64, text: &mut String) -> u64 {
    let mut shown = 0;
    for line in &file.lines {
        if text.len() >= bytes || (line.matched && shown == room) {
            break;
        }
        let gap = if line.gap { "--\n" } else { "" };
        let mark = if line.matched { ':' } else { '-' };
        text.push_str(&format!("{gap}{}{mark}{}\n", line.number, line.text));
        shown += u64::from(line.matched);
    }
    shown
}
