//! The main text of saved pages, held against what Readability extracts from them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a test says what it did not run")]
#![cfg(feature = "documents")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use agentx_web::DocumentFormat;
use tokio_util::sync::CancellationToken;

/// The folder of saved pages; `None` if it is missing. In CI, a missing folder panics.
fn saved_pages() -> Option<PathBuf> {
    let root = std::env::var_os("AGENTX_TEST_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let pages = root.join("readability");
    if pages.is_dir() {
        return Some(pages);
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "CI needs the pages: set AGENTX_TEST_DATA"
    );
    println!("not run: 52 saved pages (none at {})", pages.display());
    None
}

/// Counts how often each word occurs.
fn words(text: &str) -> HashMap<String, usize> {
    let mut words = HashMap::new();
    for word in text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        *words.entry(word.to_lowercase()).or_default() += 1;
    }
    words
}

/// The harmonic mean of precision and recall of the words.
fn overlap(found: &str, expected: &str) -> f64 {
    let (found, expected) = (words(found), words(expected));
    let shared: usize = found
        .iter()
        .map(|(word, count)| *count.min(expected.get(word).unwrap_or(&0)))
        .sum();
    let all: usize = found.values().chain(expected.values()).sum();
    if all == 0 {
        1.0
    } else {
        2.0 * shared as f64 / all as f64
    }
}

/// Markdown without the targets of links and pictures.
fn without_targets(markdown: &str) -> String {
    let mut kept = String::new();
    let mut rest = markdown;
    while let Some((before, after)) = rest.split_once("](") {
        kept.push_str(before);
        kept.push(' ');
        let mut depth = 1_usize;
        let end = after.char_indices().find(|(_, c)| {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        rest = end.map_or("", |(at, _)| &after[at + 1..]);
    }
    kept + rest
}

#[test]
fn the_main_text_of_saved_pages_is_found() {
    let Some(folder) = saved_pages() else { return };
    let mut overlaps = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let page = entry.unwrap().path();
        let Ok(html) = std::fs::read(page.join("source.html")) else {
            continue;
        };
        let expected = std::fs::read_to_string(page.join("expected.html")).unwrap();
        let expected = dom_smoothie::Readability::new(expected, None, None).unwrap();
        let expected = expected.doc.select("body").formatted_text();
        let found = crate::common::helper()
            .read(
                DocumentFormat::Html,
                html,
                Some("http://fakehost/test/page.html"),
                &CancellationToken::new(),
            )
            .unwrap();
        overlaps.push(overlap(&without_targets(&found.text), &expected));
    }
    overlaps.sort_by(f64::total_cmp);
    assert!(overlaps.len() >= 50, "only {} pages", overlaps.len());
    let (median, tenth) = (overlaps[overlaps.len() / 2], overlaps[overlaps.len() / 10]);
    println!(
        "{} pages: median {median:.3}, nine of ten at least {tenth:.3}",
        overlaps.len()
    );
    assert!(
        median >= 0.95 && tenth >= 0.80,
        "median {median}, a tenth below {tenth}"
    );
}
