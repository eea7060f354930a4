//! Logs of OpenHands through the program. All logs here are made up.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test: it fails by panicking, and reads files"
)]

use serde_json::{Value, json};

use crate::common::{Ran, Sandbox};
use crate::rewind::id_of;

fn ok(ran: Ran) -> Ran {
    assert_eq!(ran.code, Some(0), "{ran}");
    ran
}

/// The events of a conversation with one command, in V0.
fn log() -> Vec<Value> {
    vec![
        json!({"id": 0, "timestamp": "2025-01-02T03:04:05", "source": "user", "action": "message", "args": {"content": "Find the walrus."}}),
        json!({"id": 1, "timestamp": "2025-01-02T03:04:06", "source": "agent", "action": "run", "args": {"command": "touch acted", "thought": "I look."}}),
        json!({"id": 2, "timestamp": "2025-01-02T03:04:07", "source": "agent", "cause": 1, "observation": "run", "content": "a walrus",
            "extras": {"metadata": {"exit_code": 0}}}),
        json!({"id": 3, "source": "environment", "observation": "agent_state_changed", "content": "", "extras": {"agent_state": "running"}}),
        json!({"id": 4, "timestamp": "2025-01-02T03:04:08", "source": "agent", "action": "finish", "args": {"final_thought": "It is there."}}),
    ]
}

#[test]
fn a_log_shows_is_found_forks_replays_and_goes_on() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/log.json", json!(log()).to_string());
    let told = ok(sandbox.run(&["sessions", "import", "log.json"]));
    assert!(told.stderr.contains("OpenHands V0: 5 events"), "{told}");
    assert!(
        told.stderr.contains("not in the session: 1 × state running"),
        "{told}"
    );
    let id = id_of(&sandbox, 0);
    let shown = ok(sandbox.run(&["show", &id])).stdout;
    for text in [
        "Find the walrus.",
        "I look.",
        "touch acted",
        "a walrus",
        "It is there.",
    ] {
        assert!(shown.contains(text), "{shown}");
    }
    for check in [
        &["replay", &id][..],
        &["sessions", "verify", &id],
        &["sessions", "stats", &id],
    ] {
        ok(sandbox.run(check));
    }
    let found = ok(sandbox.run(&["sessions", "search", "walrus"])).stdout;
    assert!(found.contains("Find the walrus."), "{found}");
    ok(sandbox.run(&["fork", &id]));
    ok(sandbox.run(&["replay", &id_of(&sandbox, 0)]));
    let exported = ok(sandbox.run(&["sessions", "export", &id])).stdout;
    assert!(exported.contains("2025-01-02 03:04:06"), "{exported}");
    assert!(!sandbox.path("ws/acted").exists(), "nothing of a log runs");
    ok(sandbox.run(&["run", "--quiet", "--model", "demo", "--session", &id, "hello"]));
    ok(sandbox.run(&["replay", &id]));
    assert!(!sandbox.path("ws/acted").exists(), "nothing of a log runs");
    let again = sandbox.run(&["sessions", "import", "log.json"]);
    assert!(
        again.code != Some(0) && again.stderr.contains("already exists"),
        "{again}"
    );
}

#[test]
fn folders_and_lines_are_read_and_a_report_is_for_programs() {
    let sandbox = Sandbox::new();
    for event in log() {
        sandbox.write(&format!("ws/v0/events/{}.json", event["id"]), event.to_string());
    }
    let message = |id: &str, source: &str, text: &str| json!({"id": id, "kind": "MessageEvent", "source": source, "llm_message": {"content": [{"type": "text", "text": text}]}});
    let said = [message("a", "user", "Where?"), message("b", "agent", "There.")];
    sandbox.write("ws/v1/base_state.json", "{}");
    for (index, event) in said.iter().enumerate() {
        sandbox.write(
            &format!("ws/v1/events/event-0000{index}-x.json"),
            event.to_string(),
        );
    }
    sandbox.write("ws/lines/events.jsonl", format!("{}\n{}\n", said[1], said[0]));
    let record = |word: &str| json!({"history": [{"action": "message", "content": word}, {"action": "finish", "thought": "Done."}]});
    sandbox.write(
        "ws/output.jsonl",
        format!("{}\n{}\n", record("One."), record("Two.")),
    );
    for (path, version, events) in [
        ("v0", "OpenHands V0", 5),
        ("v1", "OpenHands V1", 2),
        ("lines", "OpenHands V1", 2),
    ] {
        let told = ok(sandbox.run(&["sessions", "import", "--json", path]));
        let told: Value = serde_json::from_str(&told.stdout).unwrap();
        assert_eq!(
            (&told["read"]["version"], &told["read"]["events"]),
            (&json!(version), &json!(events)),
            "{told}"
        );
    }
    let told = ok(sandbox.run(&["sessions", "import", "--json", "output.jsonl"]));
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(told.as_array().map(Vec::len), Some(2), "{told}");
}

#[test]
fn damaged_logs_are_refused_with_the_place() {
    let sandbox = Sandbox::new();
    let lines = "{\"kind\":\"PauseEvent\"}\n{\"kind\":\n";
    sandbox.write("ws/cut.jsonl", lines);
    sandbox.write("ws/bad/events/0.json", "{\"action\":");
    sandbox.write("ws/none/readme.txt", "x");
    for (path, expected) in [
        ("cut.jsonl", "error: cut.jsonl: line 2: it is not JSON: "),
        ("bad", "error: bad: 0.json: it is not JSON: "),
        ("none", "error: none: the folder has no events of OpenHands"),
        ("gone", "error: gone: "),
    ] {
        let ran = sandbox.run(&["sessions", "import", path]);
        assert_eq!(ran.code, Some(2), "{ran}");
        assert!(
            ran.stderr.starts_with(expected) && ran.stderr.contains("hint: "),
            "{ran}"
        );
    }
    assert!(
        ok(sandbox.run(&["sessions", "list"]))
            .stdout
            .contains("no sessions yet")
    );
}

/// A folder may come from a stranger: what its links lead to is the person's, and would become part of a
/// session.
#[test]
fn links_that_lead_out_of_a_folder_are_not_read() {
    let sandbox = Sandbox::new();
    let event = |id: u64, text: &str| {
        json!({"id": id, "source": "user", "action": "message", "args": {"content": text}}).to_string()
    };
    sandbox.write("home/private.json", event(1, "the private walrus"));
    sandbox.write(
        "home/private.jsonl",
        format!("{}\n", event(0, "the private walrus")),
    );
    sandbox.write("home/events/0.json", event(0, "the private walrus"));
    sandbox.write("ws/files/events/0.json", event(0, "Find it."));
    sandbox.write("ws/files/events/kept", event(2, "the shared walrus"));
    sandbox.write("ws/whole/readme.txt", "x");
    let link =
        |target: &str, at: &str| std::os::unix::fs::symlink(sandbox.path(target), sandbox.path(at)).unwrap();
    link("home/private.json", "ws/files/events/1.json");
    link("ws/files/events/kept", "ws/files/events/2.json");
    link("home/private.jsonl", "ws/files/events.jsonl");
    link("home/events", "ws/whole/events");
    let told = ok(sandbox.run(&["sessions", "import", "files"]));
    for file in ["files/events/1.json", "files/events.jsonl"] {
        let note = format!("note: {file} is not read, because it is a link that leads out of the folder");
        assert!(told.stderr.contains(&note), "{told}");
    }
    let shown = ok(sandbox.run(&["show", &id_of(&sandbox, 0)])).stdout;
    assert!(
        shown.contains("Find it.") && shown.contains("the shared walrus"),
        "{shown}"
    );
    assert!(!shown.contains("private"), "{shown}");
    let refused = sandbox.run(&["sessions", "import", "whole"]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(
        refused.stderr.contains("note: whole/events is not read"),
        "{refused}"
    );
}
