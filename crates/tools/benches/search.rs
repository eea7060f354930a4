//! `grep` and `glob` on a tree of 100,000 files, against `rg` on the same tree in the same run. The bar: at
//! most twice the time of `rg`.
//!
//! `cargo bench -p agentx-tools --bench search`; without `rg` (Debian: `apt-get install ripgrep`) only our
//! own times are shown.
#![allow(
    clippy::expect_used,
    reason = "a bench that cannot set up its tree has nothing to measure"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentx_runtime::{BlobStore, BoxFuture, Journal, LogError, ToolContext, ToolOutputSink};
use agentx_tools::{ToolOptions, Toolbox};
use agentx_types::{BlobId, SessionId, ToolCallId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const FILES: usize = 100_000;
const ROUNDS: usize = 7;

/// Keeps nothing: searches make no blobs.
struct NoBlobs;

impl BlobStore for NoBlobs {
    fn put_blob(&self, _bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, LogError>> {
        Box::pin(async { Ok(BlobId::new("b3_none")) })
    }

    fn get_blob(
        &self,
        id: &BlobId,
        _range: std::ops::Range<u64>,
    ) -> BoxFuture<'_, Result<Vec<u8>, LogError>> {
        let id = id.clone();
        Box::pin(async { Err(LogError::NoBlob(id)) })
    }

    fn blob_size(&self, id: &BlobId) -> BoxFuture<'_, Result<u64, LogError>> {
        let id = id.clone();
        Box::pin(async { Err(LogError::NoBlob(id)) })
    }
}

fn main() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let root = home.path().canonicalize().expect("its real path");
    make_tree(&root);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let toolbox = Toolbox::builtin(ToolOptions::default());
    let cases: [(&str, &str, Value, &[&str]); 5] = [
        (
            "rare word",
            "grep",
            json!({"pattern": "needle_[0-9]+"}),
            &["-n", "needle_[0-9]+"],
        ),
        (
            "word in every file",
            "grep",
            json!({"pattern": "function"}),
            &["-n", "function"],
        ),
        (
            "any case, files",
            "grep",
            json!({"pattern": "NEEDLE", "case_insensitive": true, "mode": "files"}),
            &["-il", "NEEDLE"],
        ),
        (
            "one type",
            "grep",
            json!({"pattern": "needle", "glob": "*.rs"}),
            &["-n", "needle", "-g", "*.rs"],
        ),
        (
            "names",
            "glob",
            json!({"pattern": "**/*7.rs"}),
            &["--files", "-g", "**/*7.rs"],
        ),
    ];
    println!("{FILES} files, best of {ROUNDS}, milliseconds");
    println!("{:<20} {:>8} {:>8} {:>7}", "search", "ours", "rg", "ratio");
    for (name, tool, input, arguments) in cases {
        let (mut ours, mut theirs) = (Duration::MAX, Some(Duration::MAX));
        // The two take turns, so that other load on the machine affects both.
        for _ in 0..ROUNDS {
            ours = ours.min(time(|| {
                drop(runtime.block_on(toolbox.call(tool, input.clone(), context(&root))))
            }));
            theirs = theirs.and_then(|best| Some(best.min(rg(&root, arguments)?)));
        }
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        match theirs {
            Some(theirs) => println!(
                "{name:<20} {:>8.1} {:>8.1} {:>7.2}",
                millis(ours),
                millis(theirs),
                ours.as_secs_f64() / theirs.as_secs_f64()
            ),
            None => println!("{name:<20} {:>8.1} {:>8} {:>7}", millis(ours), "-", "-"),
        }
    }
}

fn context(root: &Path) -> ToolContext {
    ToolContext {
        tool_call_id: ToolCallId::new("call_1"),
        session_id: SessionId::new("ses_1"),
        workspace: root.to_owned(),
        outside_workspace: false,
        output: ToolOutputSink::discard(),
        journal: Journal::discard(),
        blobs: Arc::new(NoBlobs),
        cancel: CancellationToken::new(),
        values: Default::default(),
        slots: Default::default(),
    }
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Measures `rg`, with hidden files as in our searches; `None` if it is not installed.
fn rg(root: &Path, arguments: &[&str]) -> Option<Duration> {
    let start = Instant::now();
    let mut command = Command::new("rg");
    command
        .args(["--hidden", "--no-require-git"])
        .args(arguments)
        .arg(".")
        .current_dir(root);
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    // 1 is "no match"; any other code means that the search failed.
    output
        .status
        .code()
        .filter(|code| *code <= 1)
        .map(|_| start.elapsed())
}

/// 1,000 directories in two levels, 100 files of about 1.5 KiB each, one of 500 with the rare word, some of
/// them ignored.
fn make_tree(root: &Path) {
    let line = "    let value = function(argument, other_argument); // some words about it\n";
    for number in 0..FILES {
        let directory = root.join(format!("d{:02}/e{:02}", number / 100 % 25, number / 2500 % 40));
        if number % 100 == 0 {
            fs::create_dir_all(&directory).expect("a directory");
        }
        let extension = ["rs", "py", "ts", "md"][number % 4];
        let mut text = line.repeat(20);
        if number % 500 == 0 {
            text.push_str(&format!("needle_{number}\n"));
        }
        fs::write(directory.join(format!("file{number}.{extension}")), text).expect("a file");
    }
    fs::write(root.join(".gitignore"), "d24/\n*.log\n").expect("a file");
}
