//! Random histories against strict vendors: whatever people, models, tools and crashes do, no vendor refuses
//! a request for its form, and every session can continue.
//!
//! The fold, the codecs and the vendors' checks are real; there are no sockets. Each history has a seed,
//! which a failure names:
//! `AGENTX_STRICT_SEED=17 cargo nextest run -p agentx-testing --test histories --no-capture` plays that one
//! and prints its events.
//! `AGENTX_STRICT_HISTORIES=10000 cargo test -p agentx-testing --test histories` plays more of them. With
//! nextest so many reach its limit of 600 seconds for each test (`.config/nextest.toml`).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "histories/answers.rs"]
mod answers;
#[path = "histories/chance.rs"]
mod chance;
#[path = "histories/counts.rs"]
mod counts;
#[path = "histories/history.rs"]
mod history;
#[path = "histories/people.rs"]
mod people;
#[path = "histories/refused_texts.rs"]
mod refused_texts;
#[path = "histories/shop.rs"]
mod shop;

use std::collections::BTreeMap;

use counts::Counts;
use history::History;

/// The number of histories, unless `AGENTX_STRICT_HISTORIES` sets another. Defects that show in one of two
/// hundred were found with it.
const HISTORIES: u64 = 1_000;
/// The largest number of steps of each.
const STEPS: u64 = 120;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Odd things that happen in histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Odd {
    /// Pictures that are cut off, too large, or of another type than they claim.
    BrokenPictures,
    /// Calls of tools whose names the model made up.
    MadeUpNames,
    /// Call ids of more than 40 characters.
    LongIds,
    /// Failed tool results without text, or with a picture.
    FailuresWithoutText,
    /// Conversations with Mistral, which refuses a user's message right after a tool's.
    Mistral,
    /// Conversations with Claude 4.5, which refuses a thinking budget in a turn that began without thinking.
    ThinkingBudget,
}

/// The steps that histories leave out for now, because requests are still refused after them. Remove an entry
/// once its defect is fixed; `AGENTX_STRICT_ALL=1` plays everything.
const NOT_YET: &[Odd] = &[];

impl Odd {
    /// Whether it happens in the histories that are played.
    pub(crate) fn happens(self) -> bool {
        std::env::var_os("AGENTX_STRICT_ALL").is_some() || !NOT_YET.contains(&self)
    }
}

#[test]
fn no_history_leads_to_a_request_that_is_refused_for_its_form() {
    if let Some(seed) = number("AGENTX_STRICT_SEED") {
        let history = History::play(seed, STEPS, true);
        assert!(history.wrong().is_empty(), "{:#?}", history.wrong());
        return;
    }
    let histories = number("AGENTX_STRICT_HISTORIES").unwrap_or(HISTORIES);
    let mut failed: BTreeMap<String, (String, Vec<u64>)> = BTreeMap::new();
    let mut seen = Counts::default();
    for seed in 0..histories {
        let history = History::play(seed, STEPS, false);
        seen.add_all(history.seen());
        for (wrong, words) in history.wrong() {
            let first = || (words.clone(), Vec::new());
            failed.entry(wrong.clone()).or_insert_with(first).1.push(seed);
        }
    }
    let line = |(wrong, (words, seeds)): (&String, &(String, Vec<u64>))| {
        let some = &seeds[..seeds.len().min(8)];
        format!("{wrong}: {} times, seeds {some:?}: {words}", seeds.len())
    };
    let lines: Vec<String> = failed.iter().map(line).collect();
    assert!(
        failed.is_empty(),
        "of {histories} histories with {seen}:\n{}",
        lines.join("\n")
    );
    let missing = seen.missing(histories);
    assert!(missing.is_empty(), "too little happened: {missing:?} in {seen}");
    eprintln!("{histories} histories: {seen}");
}
