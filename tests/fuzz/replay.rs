//! The kept corpus of the fuzzers as an ordinary test: everything that once reached new code, or failed, is
//! checked each time.
#![allow(
    unreachable_pub,
    reason = "the modules are also a library of their own, which the fuzzers link"
)]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a check fails by panicking")]

use std::fs;
use std::path::PathBuf;

use agentx_tests::workspace_root;

#[path = "src/lib.rs"]
mod targets;

use targets::{files, frames, luau_values, records, shell, sse};

/// Checks every file of a corpus, and the first half of each.
fn replay(name: &str, check: fn(&[u8])) {
    let folder = workspace_root().join("tests/fuzz/corpus").join(name);
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(
        paths.len() >= 10,
        "{} has {} files",
        folder.display(),
        paths.len()
    );
    for path in paths {
        let bytes = fs::read(&path).unwrap();
        // With `--nocapture` the last one is the one that failed.
        println!("{}", path.display());
        check(&bytes);
        check(&bytes[..bytes.len() / 2]);
    }
}

#[test]
fn streams_of_models() {
    replay("sse", sse::check);
}

#[test]
fn frames_and_facts() {
    replay("frames", frames::check);
}

#[test]
fn records_of_a_log() {
    replay("records", records::check);
}

#[test]
fn files_of_people() {
    replay("files", files::check);
}

#[test]
fn command_lines() {
    replay("shell", shell::check);
}

#[test]
fn values_of_scripts() {
    replay("luau_values", luau_values::check);
}

#[test]
fn the_corpora_are_small() {
    let corpora = workspace_root().join("tests/fuzz/corpus");
    let files = fs::read_dir(corpora)
        .unwrap()
        .flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
    let bytes: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes <= 1 << 20, "{bytes} bytes");
}
