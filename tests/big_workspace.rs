//! `grep` and `glob` on a tree of 100,000 files find what `rg` finds there: the same files, the same lines,
//! the same numbers. How fast they are beside `rg` is measured by `cargo bench -p agentx-tools --bench
//! search`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use agentx_runtime::ToolOutcome;
use agentx_testing::fixture;
use agentx_tools::{ToolOptions, Toolbox};
use agentx_types::{ContentPart, ToolStatus};
use serde_json::{Value, json};

const FOLDERS: usize = 500;
const FILES_A_FOLDER: usize = 200;
/// Every so many files have the rare word.
const RARE: usize = 997;
/// Far longer than a search here takes.
const BOUND: Duration = Duration::from_secs(20);

/// Returns the content of a file: a number, a word that all have, sometimes a rare one, sometimes words that
/// are not ASCII.
fn text(number: usize) -> Vec<u8> {
    let mut text = format!("// file {number}\nfunction work_{number}() {{}}\n").into_bytes();
    if number.is_multiple_of(RARE) {
        text.extend(format!("let needle_{number} = 1;\r\nNEEDLE again\n").bytes());
    }
    if number.is_multiple_of(5 * RARE) {
        text.extend("чай 中文 needle_é\n".bytes());
        text.extend(b"bytes \xff\xfe needle_bytes\n");
    }
    if number.is_multiple_of(7 * RARE) {
        text.extend(b"\0 needle_binary\n");
    }
    text
}

/// 100,000 files that are searched, and some that are not: ignored at the top, ignored further down, in
/// `.git`.
fn make_tree(root: &Path) {
    let endings = ["rs", "ts", "md", "py"];
    let mut number = 0;
    for folder in 0..FOLDERS {
        let place = root.join(format!("area{}/part{folder}", folder % 20));
        std::fs::create_dir_all(&place).unwrap();
        let plain = place.join("plain.txt");
        std::fs::write(&plain, text(number + 1)).unwrap();
        for index in 0..FILES_A_FOLDER {
            let ending = endings[number % endings.len()];
            let path = place.join(format!("file{index}.{ending}"));
            if index == 0 || number.is_multiple_of(RARE) {
                std::fs::write(path, text(number)).unwrap();
            } else {
                // A name more is made sooner than a file more, and is looked into all the same.
                std::fs::hard_link(&plain, path).unwrap();
            }
            number += 1;
        }
    }
    for (place, words) in [
        (".git/objects/pack", "needle_git\n"),
        ("target/debug/out.rs", "needle_ignored\n"),
        ("area3/part3/build/out.rs", "needle_ignored_below\n"),
        ("area3/part3/kept.log", "needle_kept\n"),
        ("area3/other.log", "needle_log\n"),
        (".hidden/deep/file.rs", "needle_hidden\n"),
        (".gitignore", "target/\n*.log\n"),
        ("area3/part3/.gitignore", "build/\n!kept.log\n"),
        ("area4/.ignore", "part4/\n"),
    ] {
        let path = root.join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, words).unwrap();
    }
}

fn words(outcome: &ToolOutcome) -> String {
    let text = outcome.content.iter().filter_map(|part| match part {
        ContentPart::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    text.collect()
}

/// The lines that `rg` prints, in an order of their own; `None` if there is no `rg`.
fn rg(root: &Path, arguments: &[&str]) -> Option<BTreeSet<Vec<u8>>> {
    let output = Command::new("rg")
        .args([
            "--hidden",
            "--no-require-git",
            "--no-config",
            "--no-messages",
            "--glob",
            "!.git",
        ])
        .args(arguments)
        .current_dir(root)
        .output()
        .ok()?;
    let lines = output.stdout.split(|byte| *byte == b'\n');
    Some(
        lines
            .filter(|line| !line.is_empty())
            .map(<[u8]>::to_vec)
            .collect(),
    )
}

struct Workspace {
    home: tempfile::TempDir,
    toolbox: Toolbox,
    runtime: tokio::runtime::Runtime,
}

impl Workspace {
    fn root(&self) -> &Path {
        self.home.path()
    }

    fn call(&self, tool: &str, input: Value) -> ToolOutcome {
        let began = Instant::now();
        let call = self
            .toolbox
            .call(tool, input.clone(), fixture::tool_context(self.root()));
        let outcome = self.runtime.block_on(call);
        assert_eq!(
            outcome.status,
            ToolStatus::Success,
            "{tool} {input}: {}",
            words(&outcome)
        );
        assert!(began.elapsed() < BOUND, "{tool} {input}: {:?}", began.elapsed());
        outcome
    }

    /// All that is shown is what `rg` says, in any order.
    fn same(&self, tool: &str, input: Value, arguments: &[&str]) {
        let outcome = self.call(tool, input.clone());
        let Some(theirs) = rg(self.root(), arguments) else {
            return;
        };
        let theirs: BTreeSet<String> = theirs
            .iter()
            .map(|line| String::from_utf8_lossy(line).trim_end_matches('\r').to_owned())
            .collect();
        let shown = words(&outcome);
        let ours: BTreeSet<String> = shown
            .lines()
            .map(|line| line.trim_end_matches('\r').to_owned())
            .filter(|line| !line.is_empty())
            .collect();
        let difference: Vec<&String> = ours.symmetric_difference(&theirs).take(10).collect();
        assert_eq!(difference, Vec::<&String>::new(), "{tool} {input}");
        assert!(!theirs.is_empty(), "{tool} {input} finds nothing");
    }

    /// The tool counts as many as `rg`, even if they are too many to show.
    fn as_many(&self, tool: &str, input: Value, count: &str, arguments: &[&str]) {
        let outcome = self.call(tool, input.clone());
        let Some(theirs) = rg(self.root(), arguments) else {
            return;
        };
        let ours = outcome.details.unwrap()[count].as_u64().unwrap();
        assert_eq!(ours, theirs.len() as u64, "{tool} {input}");
    }
}

/// The searches of both whose results can all be shown.
fn all_of_it() -> Vec<(&'static str, Value, &'static [&'static str])> {
    let files = |pattern: &str| json!({ "pattern": pattern, "mode": "files", "limit": 2000 });
    let with = |pattern: &str, key: &str, value: Value| {
        let mut input = files(pattern);
        input[key] = value;
        input
    };
    let names = |pattern: &str| json!({ "pattern": pattern, "limit": 2000 });
    vec![
        ("grep", files("needle_[0-9]+"), &["-l", "needle_[0-9]+"]),
        (
            "grep",
            with("NEEDLE", "case_insensitive", json!(true)),
            &["-il", "NEEDLE"],
        ),
        (
            "grep",
            with("needle", "glob", json!("*.md")),
            &["-l", "needle", "-g", "*.md"],
        ),
        (
            "grep",
            with("needle", "type", json!("py")),
            &["-l", "needle", "-t", "py"],
        ),
        ("grep", files("中."), &["-l", "中."]),
        (
            "grep",
            with("needle", "path", json!("area3")),
            &["-l", "needle", "area3"],
        ),
        (
            "grep",
            with("needle_i", "ignored", json!(true)),
            &["-l", "needle_i", "-u"],
        ),
        ("glob", names("**/*96.rs"), &["--files", "-g", "**/*96.rs"]),
        (
            "glob",
            names("area7/**/file1?.ts"),
            &["--files", "-g", "area7/**/file1?.ts"],
        ),
        (
            "glob",
            names("{kept.log,.gitignore}"),
            &["--files", "-g", "{kept.log,.gitignore}"],
        ),
    ]
}

/// The searches of both whose results are counted: tool, arguments, the count in its details, and what `rg`
/// lists.
fn numbers() -> Vec<(&'static str, Value, &'static str, &'static [&'static str])> {
    let pattern = |pattern: &str| json!({ "pattern": pattern });
    vec![
        ("grep", pattern("function"), "files", &["-l", "function"]),
        ("grep", pattern("function"), "matches", &["-n", "function"]),
        (
            "grep",
            pattern("needle_[0-9]+"),
            "matches",
            &["-n", "needle_[0-9]+"],
        ),
        (
            "grep",
            pattern("no such words"),
            "matches",
            &["-n", "no such words"],
        ),
        ("glob", pattern("**/*"), "matched", &["--files"]),
        (
            "glob",
            json!({ "pattern": "**/*", "ignored": true }),
            "matched",
            &["--files", "-u"],
        ),
    ]
}

#[test]
fn searching_100_000_files_finds_what_rg_finds() {
    let home = tempfile::tempdir().unwrap();
    make_tree(home.path());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let workspace = Workspace {
        home,
        toolbox: Toolbox::builtin(ToolOptions::default()),
        runtime: runtime.unwrap(),
    };
    if rg(workspace.root(), &["--version"]).is_none() {
        assert!(!agentx_tests::every_check_must_run(), "no rg to compare with");
        eprintln!("no rg on this machine (Debian: apt-get install ripgrep): the results are not compared");
    }
    for (tool, input, arguments) in all_of_it() {
        workspace.same(tool, input, arguments);
    }
    for (tool, input, count, arguments) in numbers() {
        workspace.as_many(tool, input, count, arguments);
    }
}
