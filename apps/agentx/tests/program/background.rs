//! A headless run whose agent has another one at work in the background: it is over when that one's answer
//! was answered, and a person's Ctrl-C stops both.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use std::process::Stdio;

use crate::common::Sandbox;
use crate::serving::Running;

/// Polls for a limited time, so that it ends after a test that killed its program and removed the folder.
const SCRIPT: &str = r#"
- { system: "You look.*", result: "*", say: The hill is empty. }
- { system: "You look.*", call: { tool: bash, input: { command: "n=0; until [ -e seen ] || [ $((n += 1)) -gt 6000 ]; do sleep 0.01; done" } } }
- { system: "You ask.*", input: "thanks", say: Not at all. }
- { system: "You ask.*", input: "*in the background has ended*", say: Nobody is there. }
- { system: "You ask.*", result: "*", say: The scout is on its way. }
- { system: "You ask.*", call: { tool: delegate, input: { agent: scout, input: look, background: true } } }
"#;

/// A run of an agent that has sent another one off, and whose own words are over; the other waits for the
/// file `ws/seen`.
fn sent_off(sandbox: &Sandbox) -> Running {
    sent_off_by(sandbox, SCRIPT)
}

/// The same, with models that answer from this script.
fn sent_off_by(sandbox: &Sandbox, script: &str) -> Running {
    let chief = "name: chief\ntype: react\nprompt: You ask.\nagents: [{ $ref: 'agent:scout' }]\n";
    let scout = "name: scout\ntype: react\nprompt: You look.\ntools: [{ $ref: 'tool:bash' }]\n";
    sandbox
        .write("ws/.agentx/config.yaml", "scripted_answers: script.yaml\n")
        .write("ws/.agentx/script.yaml", script)
        .write("ws/.agentx/agents/chief.yaml", chief)
        .write("ws/.agentx/agents/scout.yaml", scout);
    let args = [
        "run",
        "--agent",
        "chief",
        "--yes",
        "--output-format",
        "stream-json",
        "go",
    ];
    let mut command = sandbox.command(&args);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut running = Running::start(command);
    running.prints("until [ -e seen ]");
    running.prints("\"event\":\"run_finished\"");
    running
}

fn result(out: &str) -> serde_json::Value {
    serde_json::from_str(out.lines().last().unwrap()).unwrap()
}

#[test]
fn a_run_is_over_when_who_works_in_the_background_was_heard() {
    let sandbox = Sandbox::new();
    let script = SCRIPT.replace("The scout is on its way.", r#""The \e[2Jscout is on its way.""#);
    let running = sent_off_by(&sandbox, &script);
    sandbox.write("ws/seen", "");
    let (status, out, err) = running.end();
    assert_eq!(status.code(), Some(0), "{err}");
    let result = result(&out);
    assert_eq!(result["text"], "Nobody is there.", "{out}");
    assert_eq!(
        result["model_calls"], 3,
        "those before it are paid for too: {out}"
    );
    assert!(err.contains("The scout is on its way."), "{err}");
    assert!(!err.contains('\u{1b}'), "a model moves no cursor: {err:?}");
}

#[test]
fn who_works_in_the_background_is_stopped_with_the_run() {
    let sandbox = Sandbox::new();
    let (status, out, err) = sent_off(&sandbox).interrupt();
    assert_eq!(status.code(), Some(130), "{err}");
    let result = result(&out);
    assert_eq!(result["text"], "The scout is on its way.", "{out}");
    assert_eq!(result["exit_code"], 130, "{out}");
}

#[test]
fn who_was_sent_off_before_a_crash_is_heard_by_the_next_run() {
    let sandbox = Sandbox::new();
    sent_off(&sandbox).kill();
    let ran = sandbox.run(&[
        "run",
        "--last",
        "--yes",
        "--output-format",
        "stream-json",
        "thanks",
    ]);
    // What the killed process had started waits no longer.
    sandbox.write("ws/seen", "");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stdout.contains("in the background has ended"), "{ran}");
}
