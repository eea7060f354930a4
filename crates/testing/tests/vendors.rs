//! Strict vendors: well-formed requests are accepted, each rule refuses requests that break it, and the table
//! in the docs matches the rules.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "vendors/anthropic.rs"]
mod anthropic;
#[path = "vendors/chat.rs"]
mod chat;
#[path = "vendors/clouds.rs"]
mod clouds;
#[path = "vendors/gemini.rs"]
mod gemini;
#[path = "vendors/interactions.rs"]
mod interactions;
#[path = "vendors/responses.rs"]
mod responses;
#[path = "vendors/thinking.rs"]
mod thinking;

use std::collections::BTreeSet;

use agentx_testing::vendors::{VendorRefusal, VendorRule, table};
use serde_json::Value;

/// A request with one change, and the rule that it breaks.
type Case = (&'static str, fn(&mut Value));

/// Plays each case, and fails unless each rule of `rules` is broken by one of them and no case breaks another
/// rule.
fn each_rule_is_broken_once(
    cases: &[Case],
    rules: &[VendorRule],
    except: &[&str],
    check: impl Fn(&str, &Value) -> Option<VendorRefusal>,
    good: impl Fn(&str) -> Value,
) {
    for (rule, change) in cases {
        let mut request = good(rule);
        let fine = check(rule, &request);
        assert_eq!(fine, None, "before it is changed for {rule}");
        change(&mut request);
        let refusal = check(rule, &request).unwrap_or_else(|| panic!("{rule} was accepted"));
        assert_eq!(refusal.rule.name, *rule, "{}", refusal.message);
        assert!(
            refusal.status >= 400 && refusal.body.to_string().contains("message"),
            "{refusal:?}"
        );
    }
    let broken: BTreeSet<&str> = cases
        .iter()
        .map(|(rule, _)| *rule)
        .chain(except.iter().copied())
        .collect();
    let all: BTreeSet<&str> = rules.iter().map(|rule| rule.name).collect();
    assert_eq!(broken, all);
}

#[test]
fn the_table_of_the_docs_is_the_rules() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/strict-vendors.md");
    let docs = std::fs::read_to_string(path).unwrap();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let head = docs.split("| rule |").next().unwrap();
        std::fs::write(path, format!("{head}{}", table())).unwrap();
        return;
    }
    assert!(
        docs.ends_with(&table()),
        "run this test once with UPDATE_GOLDEN=1"
    );
}
