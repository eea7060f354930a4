//! Showing a session: what was said around a place, and step by step.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::Sandbox;
use crate::pty::Pty;
use serde_json::Value;

/// Four inputs, one of them with 中文; the id of the session.
fn said(sandbox: &Sandbox) -> String {
    sandbox.run(&["run", "--quiet", "hello"]);
    for words in ["看会话日志", "thanks", "help"] {
        assert_eq!(sandbox.run(&["run", "--quiet", "--last", words]).code, Some(0));
    }
    let listed = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    listed[0]["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_search_names_a_place_and_the_place_is_shown() {
    let sandbox = Sandbox::new();
    let id = said(&sandbox);
    let found = sandbox
        .command(&["sessions", "search", "--json", "日志"])
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&found.stdout).unwrap();
    let hit = found
        .as_array()
        .unwrap()
        .iter()
        .find(|hit| hit["role"] == "user")
        .unwrap();
    assert_eq!(hit["session_id"], id.as_str());
    let seq = hit["seq"].to_string();
    let shown = sandbox.run(&["show", &id, "--at", &seq]);
    assert_eq!(shown.code, Some(0), "{shown}");
    let marked: Vec<&str> = shown
        .stdout
        .lines()
        .filter(|line| line.starts_with('▸'))
        .collect();
    assert_eq!(marked.len(), 1, "{shown}");
    assert!(marked[0].ends_with("› 看会话日志"), "{shown}");
    assert!(
        shown.stdout.contains("› hello"),
        "what was said before it: {shown}"
    );
    let as_before = sandbox.run(&["sessions", "show", &id, "--at", &seq]);
    assert_eq!(as_before.stdout, shown.stdout);
    let nowhere = sandbox.run(&["show", &id, "--at", "9999"]);
    assert_eq!(nowhere.code, Some(2), "{nowhere}");
    assert!(nowhere.stderr.contains("there is no event 9999"), "{nowhere}");
    let mut search = Pty::start(&sandbox, &["sessions", "search", "日志"], 80, 20);
    search.wait_for(&format!("agentx show {id} --at {seq}"));
    assert_eq!(search.end(), Some(0));
}

#[test]
fn programs_and_pipes_get_steps() {
    let sandbox = Sandbox::new();
    let id = said(&sandbox);
    let lines = sandbox.run(&["show", &id, "--step"]);
    assert!(lines.stdout.contains("session_opened"), "{lines}");
    assert!(lines.stdout.contains("a person says: 看会话日志"), "{lines}");
    let all = sandbox.run(&["show", &id, "--step", "--json"]);
    let all: Vec<Value> = all
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(all.iter().zip(1..).all(|(event, seq)| event["seq"] == seq));
    let second = all
        .iter()
        .find(|event| event["words"] == "a person says: 看会话日志")
        .unwrap();
    let seq = second["seq"].to_string();
    let step = sandbox.run(&["show", &id, "--step", &seq, "--json"]);
    let step: Value = serde_json::from_str(&step.stdout).unwrap();
    assert_eq!(step["event"]["event"], "user_message");
    assert_eq!(step["state"]["last_seq"].to_string(), seq);
    assert!(
        step["context"]["messages"].as_array().unwrap().len() >= 2,
        "{step}"
    );
    let text = sandbox.run(&["show", &id, "--step", &seq]);
    for head in ["── event", "── state", "── context"] {
        assert!(text.stdout.contains(head), "{text}");
    }
    for wrong in ["0", "9999", "x"] {
        assert_eq!(
            sandbox.run(&["show", &id, "--step", wrong]).code,
            Some(2),
            "{wrong}"
        );
    }
}

#[test]
fn one_goes_through_a_session_in_a_terminal() {
    let sandbox = Sandbox::new();
    let id = said(&sandbox);
    let mut step = Pty::start(&sandbox, &["show", &id, "--step"], 100, 30);
    step.wait_for("[event]");
    step.keys("\u{1b}[H");
    step.wait_for("the session begins, with scripted");
    step.keys("/看会\r");
    step.wait_for("says: 看会话日志");
    step.keys("\t\t");
    step.wait_for("[context]");
    step.keys("q");
    assert_eq!(step.end(), Some(0));
    assert_eq!(step.lines().join("\n"), "", "the terminal is as it was");
}
