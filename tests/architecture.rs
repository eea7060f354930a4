//! The rules of the house, as tests: which crate may know which, what the program may be made of, that the
//! pure crates are pure, how long files and functions may be, and that the architecture document names files
//! and tests that exist. A rule that is not a lint, a type or a test is only advice.
#![allow(clippy::unwrap_used, reason = "a test that cannot read the workspace fails")]

#[path = "architecture/dependencies.rs"]
mod dependencies;
#[path = "architecture/docs.rs"]
mod docs;
#[path = "architecture/edges.rs"]
mod edges;
#[path = "architecture/english.rs"]
mod english;
#[path = "architecture/habits.rs"]
mod habits;
#[path = "architecture/modules.rs"]
mod modules;
#[path = "architecture/names.rs"]
mod names;
#[path = "architecture/purity.rs"]
mod purity;
#[path = "architecture/renamed.rs"]
mod renamed;
#[path = "architecture/source.rs"]
mod source;
#[path = "architecture/tidy.rs"]
mod tidy;
#[path = "architecture/words.rs"]
mod words;

/// Fails with every violation of a rule, a line each.
#[track_caller]
fn none(violations: &[String], rule: &str) {
    assert!(violations.is_empty(), "{rule}:\n  {}", violations.join("\n  "));
}
