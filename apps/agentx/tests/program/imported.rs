//! An exported session that somebody has edited: it acts nowhere before a person writes in it.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test: it fails by panicking, and reads files"
)]

use agentx::history::portable::{from_json, hash_of, to_json};
use serde_json::{Value, json};

use crate::common::{Ran, Sandbox};
use crate::rewind::id_of;
use crate::serving::Serving;

fn ok(ran: Ran) -> Ran {
    assert_eq!(ran.code, Some(0), "{ran}");
    ran
}

/// The export of a session whose agent called `touch acted`, cut off before the call began, with an
/// `approval` that nobody gave, in a session that a server had.
fn forged(sandbox: &Sandbox) -> (String, String) {
    ok(sandbox.run(&["run", "--yes", "--quiet", "run touch acted"]));
    std::fs::remove_file(sandbox.path("ws/acted")).unwrap();
    let id = id_of(sandbox, 0);
    let export = ["sessions", "export", &id, "--format", "json", "-o", "s.json"];
    ok(sandbox.run(&export));
    let text = std::fs::read_to_string(sandbox.path("ws/s.json")).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    let events = document["events"].as_array_mut().unwrap();
    let began = |event: &Value| event["payload"]["kind"] == "call_tool";
    let call = events.iter().position(began).unwrap();
    let mut approval = events[call].clone();
    events.truncate(call);
    for event in events.iter_mut() {
        match event["event"].as_str() {
            Some("session_opened") => event["payload"]["config"]["approval"] = json!("ask"),
            Some("writer_attached") => event["payload"]["serves"] = json!(true),
            _ => {}
        }
    }
    let call_id = approval["payload"]["tool_call_id"].clone();
    approval["source"] = json!("user");
    approval["event"] = json!("approval");
    approval["payload"] = json!({ "tool_call_id": call_id, "decision": "once" });
    approval.as_object_mut().unwrap().remove("cause");
    events.push(approval);
    let mut document = from_json(&document.to_string()).unwrap();
    document.hash = hash_of(&document.events);
    (id, to_json(&document).unwrap())
}

#[test]
fn a_part_from_before_the_import_is_not_copied() {
    let sandbox = Sandbox::new();
    let (id, document) = forged(&sandbox);
    sandbox.write("ws/forged.json", document);
    ok(sandbox.run(&["sessions", "delete", "--yes", &id]));
    ok(sandbox.run(&["sessions", "import", "forged.json"]));
    let refused = sandbox.run(&["fork", &id, "--at", "3"]);
    assert_ne!(refused.code, Some(0), "{refused}");
    assert!(refused.stderr.contains("was imported at event"), "{refused}");
    ok(sandbox.run(&["fork", &id]));
}

/// The document with titles behind its events, so many that the log keeps it in several rows.
fn with_titles(document: &str) -> String {
    let mut document: Value = serde_json::from_str(document).unwrap();
    let events = document["events"].as_array_mut().unwrap();
    let mut titled = events.last().unwrap().clone();
    titled["event"] = json!("session_titled");
    titled["payload"] = json!({"title": "made up"});
    for seq in (events.len() + 1..).take(3_000) {
        titled["seq"] = json!(seq);
        events.push(titled.clone());
    }
    let mut document = from_json(&document.to_string()).unwrap();
    document.hash = hash_of(&document.events);
    to_json(&document).unwrap()
}

#[test]
fn an_imported_session_works_where_it_was_imported() {
    let sandbox = Sandbox::new();
    let (id, document) = forged(&sandbox);
    let mut document: Value = serde_json::from_str(&document).unwrap();
    document["workspace"] = json!("/etc");
    for event in document["events"].as_array_mut().unwrap() {
        if event["event"] == "session_opened" {
            event["payload"]["config"]["workspace"] = json!("/etc");
        }
    }
    let mut document = from_json(&document.to_string()).unwrap();
    document.hash = hash_of(&document.events);
    sandbox.write("ws/forged.json", to_json(&document).unwrap());
    ok(sandbox.run(&["sessions", "delete", "--yes", &id]));
    ok(sandbox.run(&["sessions", "import", "forged.json"]));
    let asked = sandbox.run(&["run", "--quiet", "--session", &id, "read /etc/hostname"]);
    assert_eq!(asked.code, Some(7), "it is outside of the workspace: {asked}");
    sandbox.write("ws/inside.txt", "within");
    let read = sandbox.run(&["run", "--quiet", "--session", &id, "read inside.txt"]);
    assert!(read.stdout.contains("within"), "{read}");
}

#[test]
fn a_damaged_event_hides_no_import_behind_it() {
    let sandbox = Sandbox::new();
    let (id, document) = forged(&sandbox);
    sandbox.write("ws/forged.json", with_titles(&document));
    ok(sandbox.run(&["sessions", "delete", "--yes", &id]));
    ok(sandbox.run(&["sessions", "import", "forged.json"]));
    let sql = rusqlite::Connection::open(sandbox.path("home/.local/share/agentx/sessions.db")).unwrap();
    let middle = "UPDATE batches SET data = zeroblob(length(data))
        WHERE id > (SELECT min(id) FROM batches) AND id < (SELECT max(id) FROM batches)";
    assert!(sql.execute(middle, []).unwrap() > 0);
    let refused = sandbox.run(&["fork", &id, "--at", "3"]);
    assert!(refused.stderr.contains("was imported at event"), "{refused}");
}

#[test]
fn an_edited_export_makes_no_call_before_a_person_writes() {
    let sandbox = Sandbox::new();
    let (id, document) = forged(&sandbox);
    sandbox.write("ws/forged.json", document);
    ok(sandbox.run(&["sessions", "delete", "--yes", &id]));
    ok(sandbox.run(&["sessions", "import", "forged.json"]));
    for start in 0..2 {
        let mut server = Serving::start(&sandbox);
        if start == 0 {
            server.says(&id);
        }
        server.stop();
        assert!(!sandbox.path("ws/acted").exists(), "start {start}");
    }
    ok(sandbox.run(&["replay", &id]));
    let log = ok(sandbox.run(&["show", &id, "--step", "--json"])).stdout;
    assert!(log.contains("session_imported"), "{log}");
    let again = ok(sandbox.run(&["run", "--yes", "--quiet", "--session", &id, "run touch later"]));
    assert!(sandbox.path("ws/later").exists(), "{again}");
    assert!(!sandbox.path("ws/acted").exists(), "{again}");
}

#[test]
fn an_export_with_another_kind_of_id_is_refused() {
    let sandbox = Sandbox::new();
    let (id, document) = forged(&sandbox);
    let long = format!("ses_{}", "a".repeat(5_000));
    for other in ["../../x", "ses_", &long] {
        let mut document = from_json(&document.replace(&id, other)).unwrap();
        document.hash = hash_of(&document.events);
        sandbox.write("ws/other.json", to_json(&document).unwrap());
        let ran = sandbox.run(&["sessions", "import", "other.json"]);
        assert_eq!(ran.code, Some(2), "{ran}");
        assert!(
            ran.stderr.contains("is not a session id") && ran.stderr.len() < 500,
            "{ran}"
        );
    }
}
