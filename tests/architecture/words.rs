//! Words of newer versions: each enum that is read from a log or from another program has a word to read in
//! place of an unknown one, or a reason why it needs none.

use std::collections::BTreeSet;

use agentx_tests::workspace_root;

use crate::none;
use crate::source::{Source, sources};

/// The crates whose types stand in logs, frames and answers over HTTP.
const CRATES: &[&str] = &["types", "session", "runtime", "remote-runtime"];

/// The file with the word that each set falls back to.
const FALLBACKS: &str = "crates/types/src/newer.rs";

/// Enums without such a word, each with the reason.
const NO_FALLBACK: &[(&str, &str)] = &[
    ("ActionBody", "inside one process only"),
    ("AgentOutput", "derived by the process that reads it"),
    (
        "ConfigChange",
        "its fact is kept whole, and the session is read-only",
    ),
    ("ContentPart", "the part is kept for no provider"),
    ("ContextChange", "its event is kept whole"),
    ("ContextRequest", "in requests only, which are not guessed"),
    (
        "EffectOutcome",
        "its fact is kept whole, and the session is read-only",
    ),
    ("MediaSource", "its part is kept for no provider"),
    ("Medium", "any text is one"),
    ("MessageOutput", "derived by the process that reads it"),
    ("NestedDecision", "inside one process only"),
    ("Phase", "derived by the process that reads it"),
    ("Report", "inside one process only"),
    ("SessionChange", "its event is kept whole"),
    ("SpendCause", "an answer has it as the text of a key"),
    ("StateOutput", "derived by the process that reads it"),
    ("StreamBody", "derived by the process that reads it"),
    ("StreamOutput", "derived by the process that reads it"),
    ("TurnOutput", "derived by the process that reads it"),
    ("UsageBy", "in requests only, which are not guessed"),
    ("View", "in requests only, which are not guessed"),
    ("WheelWish", "in requests only, which are not guessed"),
];

/// The names of the enums of a file that are read from JSON.
fn enums_read(source: &Source) -> Vec<String> {
    let lines: Vec<&str> = source.production().map(|(_, line)| line.trim()).collect();
    let name = |line: &str| {
        let (before, name) = line.split_once("enum ")?;
        let is_item = before.is_empty() || before.starts_with("pub");
        is_item.then(|| name.trim_end_matches(" {").to_owned())
    };
    let is_read = |at: usize| {
        let mut attributes = lines[..at].iter().rev().take_while(|line| line.starts_with("#["));
        attributes.any(|line| line.starts_with("#[derive(") && line.contains("Deserialize"))
    };
    let found = lines.iter().enumerate().filter(|(at, _)| is_read(*at));
    found.filter_map(|(_, line)| name(line)).collect()
}

/// The names of the sets that have a fallback.
fn with_fallback(sources: &[Source]) -> BTreeSet<String> {
    let file = sources.iter().find(|source| source.path == FALLBACKS).unwrap();
    let entries = file
        .text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("(\""));
    let sets = entries.filter_map(|entry| Some(entry.split_once("\", \"")?.0.to_owned()));
    sets.collect()
}

#[test]
fn each_enum_that_is_read_has_a_word_for_unknown_ones() {
    let sources = sources(&workspace_root());
    let fallbacks = with_fallback(&sources);
    let is_of_a_wire = |source: &&Source| {
        let mut crates = CRATES.iter();
        crates.any(|name| source.path.starts_with(&format!("crates/{name}/src/")))
    };
    let read: BTreeSet<String> = sources.iter().filter(is_of_a_wire).flat_map(enums_read).collect();
    let listed: BTreeSet<String> = NO_FALLBACK.iter().map(|(name, _)| (*name).to_owned()).collect();
    let undecided = read
        .iter()
        .filter(|name| !fallbacks.contains(*name) && !listed.contains(*name));
    let mut wrong: Vec<String> = undecided
        .map(|name| format!("{name}: add its least specific word to {FALLBACKS}"))
        .collect();
    let gone = listed.union(&fallbacks).filter(|name| !read.contains(*name));
    wrong.extend(gone.map(|name| format!("{name}: no enum of this name is read")));
    let both = listed.intersection(&fallbacks);
    wrong.extend(both.map(|name| format!("{name}: has a fallback and a reason for none")));
    none(
        &wrong,
        "an unknown word stops an older program, unless its enum has a fallback",
    );
}
