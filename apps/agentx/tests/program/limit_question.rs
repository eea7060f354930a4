//! A run that reaches a limit asks in a chat whether to continue, and ends as before without a person.
#![cfg(unix)]

use crate::common::Sandbox;
use crate::pty::Pty;

/// Three commands, one after the other.
const ANSWERS: &str = r#"
- { result: "*gamma*", say: All three ran. }
- { result: "*beta*", call: { tool: bash, input: { command: "echo gamma" } } }
- { result: "*alpha*", call: { tool: bash, input: { command: "echo beta" } } }
- { input: "go", call: { tool: bash, input: { command: "echo alpha" } } }
"#;

/// A sandbox in which a run may have one round of tools.
fn one_round() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.demo(ANSWERS, "limits: {max_iterations: 1}\n");
    sandbox
}

#[test]
fn a_chat_asks_at_a_limit_and_continues_or_ends_as_the_person_says() {
    let sandbox = one_round();
    let mut chat = Pty::start(&sandbox, &["chat", "--yes"], 100, 50);
    chat.wait_for_last("›");
    chat.keys("go\r");
    chat.wait_for("a limit of the run is reached");
    chat.wait_for("1. continue with 1 tool round more");
    chat.wait_for("1–2 or your own words");
    chat.keys("1\r");
    chat.wait_for("answered: continue with 1 tool round more");
    chat.wait_for("the limit of 2 tool rounds in one run is reached");
    chat.keys("1 more\r");
    chat.wait_for("All three ran.");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    let id = crate::rewind::id_of(&sandbox, 0);
    let replayed = sandbox.run(&["replay", &id]);
    assert_eq!(replayed.code, Some(0), "{replayed}");

    let mut chat = Pty::start(&sandbox, &["chat", "--yes"], 100, 50);
    chat.wait_for_last("›");
    chat.keys("go\r");
    chat.wait_for("1–2 or your own words");
    chat.keys("stop\r");
    chat.wait_for("limit reached: the limit of 1 tool rounds in one run is reached; a person stopped it");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn without_a_person_or_with_the_setting_off_the_run_ends_at_its_limit() {
    let sandbox = one_round();
    let ran = sandbox.run(&["run", "--yes", "--output-format", "json", "go"]);
    assert_eq!(ran.code, Some(6), "{ran}");
    assert_eq!(ran.result()["error"]["kind"], "iteration_limit", "{ran}");

    let sandbox = Sandbox::new();
    sandbox.demo(ANSWERS, "limits: {max_iterations: 1, ask: false}\n");
    let mut chat = Pty::start(&sandbox, &["chat", "--yes"], 100, 50);
    chat.wait_for_last("›");
    chat.keys("go\r");
    chat.wait_for("limit reached: the limit of 1 tool rounds in one run is reached");
    assert!(!chat.lines().iter().any(|line| line.contains("continue with")));
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}
