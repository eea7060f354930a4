//! Limits of the built-in tools, in one place. Each has a default that suits models; a runtime may set its
//! own.

use std::sync::Arc;
use std::time::Duration;

use agentx_sandbox::SandboxLauncher;

use crate::{CommandRecords, DocumentReader, OutputBudget, ProgramEnvironment};

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

/// Limits of `bash` and `job`.
#[derive(Clone, Debug)]
pub struct BashOptions {
    /// The time limit of a command if the call sets none: 2 minutes.
    pub timeout: Duration,
    /// The longest time that a call may ask for: 1 hour.
    pub max_timeout: Duration,
    /// The time between SIGTERM and SIGKILL: 300 ms.
    pub grace: Duration,
    /// The time to wait for output after the shell has ended: 200 ms. Processes that still run then become a
    /// job.
    pub linger: Duration,
    /// Bytes of output per call that become events: 256 KiB.
    pub event_bytes: usize,
    /// Bytes of an event, at most: 8 KiB.
    pub chunk_bytes: usize,
    /// The delay in which output is collected before it becomes an event: 10 ms.
    pub chunk_delay: Duration,
    /// Bytes from the beginning of the output that the model sees: 16 KiB.
    pub head_bytes: usize,
    /// Bytes from the end of the output that the model sees: 16 KiB.
    pub tail_bytes: usize,
    /// Bytes of output that are kept as a blob: the first 16 MiB. The rest is only counted.
    pub kept_bytes: usize,
    /// Bytes of output that all calls together may hold for blobs before these are stored: 64 MiB. When the
    /// budget is used up, a call keeps its output so far, and the end.
    pub budget: OutputBudget,
    /// Bytes of output after which the command is killed: 2 GiB.
    pub kill_bytes: u64,
    /// Bytes of output of a background job that wait for the next poll: the last 1 MiB.
    pub backlog_bytes: usize,
    /// Background jobs that may run at once in a session: 16.
    pub max_jobs: usize,
    /// The longest time that `job` waits for news: 10 minutes.
    pub max_wait: Duration,
    /// The environment variables of commands: all but those that look like secrets.
    pub environment: ProgramEnvironment,
    /// The file that records running commands, so that they are found after this program was killed. By
    /// default `None`: then only commands that kept their environment are found.
    pub records: Option<CommandRecords>,
    /// Starts commands in a sandbox. By default `None`: they can do what this process can.
    pub sandbox: Option<SandboxLauncher>,
}

impl Default for BashOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(120),
            max_timeout: Duration::from_secs(3600),
            grace: Duration::from_millis(300),
            linger: Duration::from_millis(200),
            event_bytes: 256 << 10,
            chunk_bytes: 8 << 10,
            chunk_delay: Duration::from_millis(10),
            head_bytes: 16 << 10,
            tail_bytes: 16 << 10,
            kept_bytes: 16 << 20,
            budget: OutputBudget::new(64 << 20),
            kill_bytes: 2 << 30,
            backlog_bytes: 1 << 20,
            max_jobs: 16,
            max_wait: Duration::from_secs(600),
            environment: ProgramEnvironment::default(),
            records: None,
            sandbox: None,
        }
    }
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
