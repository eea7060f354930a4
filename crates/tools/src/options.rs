//! Limits of the built-in tools. Each has a default that suits models; a runtime may set its own.

use std::sync::Arc;
use std::time::Duration;

use crate::bash::BashOptions;
use crate::document_reader::DocumentReader;

/// Limits of all built-in tools.
#[derive(Clone, Debug, Default)]
pub struct ToolOptions {
    /// The options of `bash` and `job`.
    pub bash: BashOptions,
    /// The options of `read`, `write` and `edit`.
    pub files: FileOptions,
    /// The options of `glob` and `grep`.
    pub search: SearchOptions,
}

/// Limits of `read`, `write` and `edit`.
#[derive(Clone, Debug)]
pub struct FileOptions {
    /// Lines that one `read` shows, at most: 2,000.
    pub read_lines: usize,
    /// Bytes that one `read` shows, at most: 64 KiB.
    pub read_bytes: usize,
    /// Bytes of a line, at most: 2,000. The rest of the line is left out.
    pub line_bytes: usize,
    /// The biggest image in bytes: 3,750,000, which is 5 MB in Base64.
    pub image_bytes: u64,
    /// The biggest PDF in bytes that `read` shows: 32 MiB.
    pub document_bytes: u64,
    /// Reads PDFs; `None` if the program has nothing that does.
    pub documents: Option<Arc<dyn DocumentReader>>,
    /// The biggest file in bytes that `edit` changes, and whose earlier state `write` keeps: 16 MiB.
    pub edit_bytes: u64,
    /// Bytes of a diff in the details: 64 KiB.
    pub diff_bytes: usize,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self {
            read_lines: 2000,
            read_bytes: 64 << 10,
            line_bytes: 2000,
            image_bytes: 3_750_000,
            document_bytes: 32 << 20,
            documents: None,
            edit_bytes: 16 << 20,
            diff_bytes: 64 << 10,
        }
    }
}

/// Limits of `glob` and `grep`.
#[derive(Clone, Debug)]
pub struct SearchOptions {
    /// The time limit of a search: 60 s.
    pub timeout: Duration,
    /// Paths or lines that are shown if the call sets no limit: 200.
    pub results: usize,
    /// Paths or lines that a call may ask for, at most: 2,000.
    pub max_results: usize,
    /// Bytes that are shown, at most: 64 KiB.
    pub shown_bytes: usize,
    /// Bytes of a shown line, at most: 500.
    pub line_bytes: usize,
    /// Threads that search: as many as there are cores, at most 12.
    pub threads: usize,
    /// Bytes of a line in a file that is searched, at most: 4 MiB. A file with a longer one counts as
    /// unreadable.
    pub heap_bytes: usize,
    /// Searches that run at once: 4. Others wait for their turn, which counts as their time.
    pub at_once: usize,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            results: 200,
            max_results: 2000,
            shown_bytes: 64 << 10,
            line_bytes: 500,
            threads: std::thread::available_parallelism()
                .map_or(1, usize::from)
                .min(12),
            heap_bytes: 4 << 20,
            at_once: 4,
        }
    }
}

impl SearchOptions {
    /// Returns the number of results to show if the call asks for `asked`.
    pub(crate) fn limit(&self, asked: Option<u64>) -> usize {
        let asked = asked.map_or(self.results, |asked| usize::try_from(asked).unwrap_or(usize::MAX));
        asked.clamp(1, self.max_results)
    }
}
