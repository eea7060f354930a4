//! A log that a newer version wrote is folded, independent of its unknown words; the fold reports the event
//! from which on no process of this version may continue it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test: it fails by panicking, and reads files"
)]

#[path = "../../types/tests/golden/newer_words.rs"]
mod newer_words;

use agentx_session::{DerivedDigest, SessionFold};
use agentx_types::*;
use serde_json::{Value, json};

use newer_words::{Newer, golden, newer};

/// An event of the golden files as a fact of the session.
fn fact(seq: u64, event: &Value) -> Envelope<EnvironmentEvent> {
    let frame = json!({
        "seq": seq, "at": seq, "source": "environment", "session_id": "ses_1", "agent_state_id": "agt_1", "run_id": "run_2",
        "cause": "act_2_0", "event": event["event"], "payload": event["payload"],
    });
    serde_json::from_value(frame).unwrap()
}

/// The golden facts, after the fact with which every session begins.
fn log() -> Vec<Value> {
    let mut lines = golden("environment.jsonl");
    let opened = lines.iter().find(|line| line["event"] == "session_opened");
    let opened = opened.unwrap().clone();
    lines.insert(0, opened);
    lines
}

fn folded(lines: &[Value]) -> SessionFold {
    let mut fold = SessionFold::new("ses_1".into());
    let mut digest = DerivedDigest::default();
    for (seq, line) in (1..).zip(lines) {
        let fact = fact(seq, line);
        let derived = fold.apply(&fact);
        digest.add(&fact, &derived);
    }
    fold
}

/// The log with one new thing in it.
fn with(log: &[Value], new: &Newer) -> Vec<Value> {
    let mut lines = log.to_vec();
    lines[new.line + 1] = new.event.clone();
    lines
}

#[test]
fn a_log_with_any_new_word_is_folded() {
    let log = log();
    assert_eq!(folded(&log).newer(), None);
    for new in newer("environment.jsonl") {
        let fold = folded(&with(&log, &new));
        assert_eq!(fold.last_seq(), log.len() as u64);
        assert!(fold.state().is_some(), "{} {}", new.place, new.event);
        let kind = new.place.ends_with("/kind") && new.place.contains("/config/");
        if new.is_word {
            let at = kind.then_some(new.line as u64 + 2);
            assert_eq!(fold.newer(), at, "{} {} {}", new.place, new.was, new.event);
        }
    }
}

#[test]
fn a_log_that_begins_with_what_is_new_is_folded() {
    let log = log();
    let opened: Vec<_> = newer("environment.jsonl")
        .into_iter()
        .filter(|new| new.event["event"] == "session_opened")
        .collect();
    assert!(!opened.is_empty());
    for new in opened {
        let mut lines = log.clone();
        lines[0] = new.event.clone();
        let fold = folded(&lines);
        let is_kind = new.place.ends_with("/kind") && new.place.contains("/config/");
        assert_eq!(fold.newer(), is_kind.then_some(1), "{}", new.place);
    }
}

#[test]
fn nobody_goes_on_from_a_rule_that_is_not_known() {
    let rule = json!({"effect": "deny", "tool": "bash", "only_on": "sunday"});
    let added = json!({"event": "config_changed", "payload": {"change": {"rule_added": rule}}});
    let another = json!({"event": "config_changed", "payload": {"change": {"zzz": 1}}});
    let unknown = json!({"event": "zzz", "payload": {}});
    let opened = log().remove(0);
    for (second, newer) in [(added, Some(2)), (another, Some(2)), (unknown, None)] {
        assert_eq!(folded(&[opened.clone(), second]).newer(), newer);
    }
}
