//! A judge refuses a call, a person overrules it from a second program, and the score tells of it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]
#![cfg(unix)]

use crate::common::{Sandbox, check};
use crate::pty::Pty;

/// The scripted model is both the agent and the judge. All of it is made up.
const ANSWERS: &str = r#"
- { input: "*<call>*echo secret*", say: '{"risk": "high", "decision": "refuse", "reason": "made up"}' }
- { input: "*<call>*", say: '{"risk": "low", "decision": "allow", "reason": "it is harmless"}' }
- { result: "*a person may overrule this*", say: It was refused. }
- { result: "*", say: It ran. }
- { input: "go", call: { tool: bash, input: { command: "echo secret" } } }
- { input: "again", call: { tool: bash, input: { command: "echo secret" } } }
- { input: "list", call: { tool: bash, input: { command: "echo fine" } } }
"#;

#[test]
fn a_refusal_is_overruled_from_another_program_and_scored() {
    let sandbox = Sandbox::new();
    sandbox.demo(
        ANSWERS,
        "approval: auto\nsecurity: {analyzers: [model], judge: allow}\n",
    );
    check(&sandbox.run(&["run", "list"]), 0, &["It ran."]);
    check(&sandbox.run(&["run", "go"]), 0, &["It was refused."]);
    let id = crate::rewind::id_of(&sandbox, 0);
    let listed = sandbox.run(&["approvals", "overrule", &id]);
    check(&listed, 0, &["HIGH: made up", "echo secret"]);
    let listed = sandbox.run(&["approvals", "overrule", &id, "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    let call = listed["refused_calls"][0]["tool_call_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let wrong = sandbox.run(&["approvals", "overrule", &id, "nothing"]);
    check(&wrong, 2, &["no judge refused the call \"nothing\""]);
    check(
        &sandbox.run(&["approvals", "overrule", &id, &call]),
        0,
        &["is allowed"],
    );
    check(
        &sandbox.run(&["approvals", "overrule", &id]),
        0,
        &["no refusal of a judge is open"],
    );
    check(&sandbox.run(&["run", "--last", "again"]), 0, &["It ran."]);
    check(&sandbox.run(&["replay", &id]), 0, &[]);
    let scored = sandbox.run(&["approvals", "score", "--json"]);
    let scored: serde_json::Value = serde_json::from_str(&scored.stdout).unwrap();
    let model = &scored["analyzers"]["model"];
    assert_eq!(model["verdicts"], 2, "{scored}");
    assert_eq!(model["decided"], 1, "{scored}");
    assert_eq!(model["agreed"], 0, "{scored}");
    let shown = sandbox.run(&["approvals", "score"]);
    check(
        &shown,
        0,
        &["ANALYZER", "model", "rules", "HIGH", "allowed", "echo secret"],
    );
}

#[test]
fn a_refusal_is_overruled_in_the_chat() {
    let sandbox = Sandbox::new();
    sandbox.demo(ANSWERS, "approval: auto\nsecurity: {analyzers: [model]}\n");
    let mut chat = Pty::start(&sandbox, &["chat"], 100, 50);
    chat.wait_for_last("›");
    chat.keys("go\r");
    chat.wait_for("It was refused.");
    chat.keys("/approvals overrule\r");
    chat.wait_for("HIGH: made up");
    chat.keys("/approvals overrule 1\r");
    chat.wait_for("allowed: the call runs when the model makes it again");
    chat.keys("again\r");
    chat.wait_for("It ran.");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn a_session_without_analyzers_has_no_score() {
    let sandbox = Sandbox::new();
    sandbox.demo(ANSWERS, "approval: auto\n");
    check(&sandbox.run(&["run", "list"]), 0, &["It ran."]);
    check(
        &sandbox.run(&["approvals", "score"]),
        0,
        &["no call was assessed in 1 session"],
    );
}

#[test]
fn an_external_program_judges_within_its_time() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "home/gate.sh",
        "#!/bin/sh\necho '{\"risk\": \"high\", \"decision\": \"refuse\"}'\n",
    );
    let gate = sandbox.path("home/gate.sh");
    let lines = |command: &str| {
        format!(
            "approval: auto\nsecurity: {{analyzers: [gate], timeout: 2s}}\nanalyzers:\n  gate: {{command: /bin/sh, args: [{command}]}}\n"
        )
    };
    sandbox.demo(ANSWERS, &lines(&gate.display().to_string()));
    check(&sandbox.run(&["run", "list"]), 0, &["It was refused."]);
    // A program that is not there gives an unknown risk, which is asked about; nobody is there.
    sandbox.demo(ANSWERS, &lines("/nowhere/gate.sh"));
    sandbox.run(&["run", "list"]);
    let scored = sandbox.run(&["approvals", "score", "--json"]);
    let scored: serde_json::Value = serde_json::from_str(&scored.stdout).unwrap();
    let gate = &scored["analyzers"]["gate"];
    assert_eq!(gate["verdicts"], 2, "{scored}");
    assert_eq!(gate["unknown"], 1, "{scored}");
}

#[test]
fn mistakes_in_the_settings_of_analyzers_are_named() {
    let sandbox = Sandbox::new();
    for (lines, words) in [
        (
            "security: {analyzers: [modle]}\n",
            "there is no analyzer \"modle\"",
        ),
        (
            "security: {model: nothing-like-it, analyzers: [model]}\n",
            "unknown model \"nothing-like-it\"",
        ),
        (
            "analyzers: {gate: {args: [a]}}\n",
            "needs either `command` or `url`",
        ),
        ("security: {policy: sometimes}\n", "sometimes"),
    ] {
        sandbox.config(lines);
        let checked = sandbox.run(&["config", "check"]);
        assert_ne!(checked.code, Some(0), "{checked}");
        let said = format!("{}{}", checked.stdout, checked.stderr);
        assert!(said.contains(words), "{words:?}: {checked}");
    }
}
