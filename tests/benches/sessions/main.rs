//! Measures what many sessions cost: the picker over 10,000 of them, and a search over 1 GB of messages.
//! It prints figures and asserts nothing.
//!
//! `cargo build --release -p agentx-cli && cargo bench -p agentx-tests --bench sessions`
//!
//! Making them takes some minutes and 3 GB. `AGENTX_BENCH_DATA` names a directory where they are kept for the
//! next time; `AGENTX_BENCH_MIB` sets the size of their messages (1000), `AGENTX_BIN` names another binary.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark that cannot measure stops"
)]

#[path = "../built.rs"]
mod built;
mod made;
mod terminal;
mod words;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use agentx::runtime::{SessionLog, SessionQuery};
use agentx::sqlite_log::SqliteLog;

use made::Size;
use words::Words;

const SESSIONS: usize = 10_000;
const RUNS: usize = 9;

fn main() {
    let wanted = |name: &str| {
        let mut names = std::env::args()
            .skip(1)
            .filter(|arg| !arg.starts_with('-'))
            .peekable();
        names.peek().is_none() || names.any(|arg| arg == name)
    };
    let (home, is_kept) = home();
    let mut words = Words::new();
    let database = data(&home).join(agentx::node::DATABASE);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    if !database.exists() {
        runtime.block_on(fill(&home, &mut words));
    }
    println!(
        "{SESSIONS} sessions, database of {:.2} GB",
        std::fs::metadata(&database).map_or(0, |file| file.len()) as f64 / 1e9
    );
    let words = Words::new();
    if wanted("list") {
        runtime.block_on(list(&home));
    }
    if wanted("search") {
        runtime.block_on(search(&home, &words));
    }
    if wanted("program") {
        programs(&home, &words);
    }
    if !is_kept {
        let _ = std::fs::remove_dir_all(&home);
    }
}

/// Returns the data folder of the benchmark, and whether it is kept.
fn home() -> (PathBuf, bool) {
    let kept = std::env::var_os("AGENTX_BENCH_DATA").map(PathBuf::from);
    let is_kept = kept.is_some();
    let home = kept.unwrap_or_else(|| {
        std::env::temp_dir().join(format!("agentx-bench-sessions-{}", std::process::id()))
    });
    std::fs::create_dir_all(home.join("ws")).expect("a directory");
    (home, is_kept)
}

fn data(home: &Path) -> PathBuf {
    home.join(".local/share/agentx")
}

fn open(home: &Path) -> Arc<SqliteLog> {
    built::log_in(&data(home))
}

async fn fill(home: &Path, words: &mut Words) {
    let mib = std::env::var("AGENTX_BENCH_MIB")
        .ok()
        .and_then(|mib| mib.parse().ok())
        .unwrap_or(1_000);
    let size = Size {
        sessions: SESSIONS,
        bytes: mib << 20,
    };
    let begun = Instant::now();
    let log = open(home);
    made::make(&log, &home.join("ws"), size, words).await;
    drop(log);
    println!("made in {:.0} s", begun.elapsed().as_secs_f64());
}

async fn list(home: &Path) {
    let log = open(home);
    for (what, limit) in [("the latest 120", 120), ("all", SESSIONS)] {
        let query = SessionQuery {
            owner: built::owner(),
            workspace: None,
            limit,
            before: None,
        };
        let mut times = Vec::new();
        for _ in 0..RUNS {
            let begun = Instant::now();
            let found = log.list(query.clone()).await.expect("a list");
            times.push(begun.elapsed().as_secs_f64() * 1e3);
            assert_eq!(found.len(), limit);
        }
        println!("list of {what:<20} {}", figures(times));
    }
}

/// The texts to search for: words of most messages down to those of few, several words, 中文, beginnings, words
/// in a row.
fn wanted(words: &Words) -> Vec<(&'static str, String)> {
    let word = |rank: usize| words.of_rank(rank).to_owned();
    let in_a_row = |ranks: &[usize]| ranks.iter().map(|rank| word(*rank)).collect::<Vec<_>>().join("-");
    vec![
        ("the most frequent word", word(0)),
        ("a frequent word", word(20)),
        ("a rare word", word(30_001)),
        (
            "three words",
            format!("{} {} {}", word(5), word(500), word(5_000)),
        ),
        ("中文, frequent", word(19)),
        ("中文, rare", word(29_999)),
        ("a beginning", "con".into()),
        ("one letter", "b".into()),
        ("a rare beginning", "zozo".into()),
        ("two beginnings", "con der".into()),
        ("a beginning, a rare word", format!("con {}", word(30_001))),
        ("one character, frequent", word(9).chars().take(1).collect()),
        ("one character", "中".into()),
        ("two in a row", in_a_row(&[0, 1])),
        ("four in a row, nowhere", in_a_row(&[20, 21, 22, 23])),
        ("a row that begins so", format!("{}-con", word(30_001))),
        ("nothing", "thereisnosuchword".into()),
    ]
}

async fn search(home: &Path, words: &Words) {
    for (what, text) in wanted(words) {
        let mut times = Vec::new();
        let mut count = 0;
        for _ in 0..RUNS {
            let log = open(home);
            let begun = Instant::now();
            count = log
                .search(&built::owner(), &text, 20)
                .await
                .expect("a search")
                .len();
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        println!("search for {what:<24} {:<32} {count} places", figures(times));
    }
}

fn programs(home: &Path, words: &Words) {
    let times = (0..RUNS).map(|_| terminal::until(home, &["resume"], "Enter resumes", "\u{1b}"));
    println!(
        "picker, whole process, until it is on the screen  {}",
        figures(times.collect())
    );
    for (what, text) in wanted(words) {
        let times = (0..RUNS).map(|_| {
            let begun = Instant::now();
            let output = program(home, &["sessions", "search", &text])
                .output()
                .expect("the program");
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            begun.elapsed().as_secs_f64() * 1e3
        });
        println!(
            "sessions search, whole process, {what:<24} {}",
            figures(times.collect())
        );
    }
}

/// The program, with a home of its own.
pub(crate) fn program(home: &Path, args: &[&str]) -> Command {
    let binary = std::env::var_os("AGENTX_BIN").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/release/agentx"),
        PathBuf::from,
    );
    let mut command = Command::new(binary);
    command
        .args(args)
        .env_clear()
        .env("HOME", home)
        .env("LANG", "C.UTF-8");
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("AGENTX_THEME", "dark");
    command.current_dir(home.join("ws")).stdin(Stdio::null());
    command
}

fn figures(mut times: Vec<f64>) -> String {
    times.sort_by(f64::total_cmp);
    let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
    format!("{median:.1} ms (worst of {} {worst:.1})", times.len())
}
