//! A session whose stored bytes are damaged: each command that reads it says so, says what to do, and exits
//! with 9. What does not need the damaged part works.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test: it fails by panicking")]

use crate::common::Sandbox;

/// A session of two runs, whose last row is damaged.
fn damaged(sandbox: &Sandbox) -> String {
    damaged_at(sandbox, "SELECT max(id) FROM batches")
}

/// A session of two runs, of which one row is damaged.
fn damaged_at(sandbox: &Sandbox, row: &str) -> String {
    let ran = sandbox
        .command(&["run", "--output-format", "json", "hello"])
        .output()
        .unwrap();
    let ran: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let session = ran["session_id"].as_str().unwrap().to_owned();
    let again = sandbox.run(&["run", "--session", &session, "hello again"]);
    assert_eq!(again.code, Some(0), "{again}");
    let sql = rusqlite::Connection::open(sandbox.path("home/.local/share/agentx/sessions.db")).unwrap();
    let damage = format!("UPDATE batches SET data = zeroblob(length(data)) WHERE id = ({row})");
    assert_eq!(sql.execute(&damage, []).unwrap(), 1);
    session
}

#[test]
fn each_command_that_reads_a_damaged_session_exits_with_9_and_says_what_to_do() {
    let sandbox = Sandbox::new();
    let session = damaged(&sandbox);
    for args in [
        &["show", "ID"][..],
        &["sessions", "show", "ID"],
        &["sessions", "export", "ID"],
        &["sessions", "export", "ID", "--format", "md"],
        &["sessions", "verify", "ID"],
        &["sessions", "stats", "ID"],
        &["sessions", "stats"],
        &["sessions", "rename", "ID", "made up"],
        &["sessions", "share", "ID"],
        &["fork", "ID"],
        &["rewind", "ID"],
        &["diff", "ID", "ID"],
        &["replay", "ID"],
        &["context", "ID"],
        &["watch", "ID"],
        &["run", "--session", "ID", "go on"],
        &["run", "--last", "go on"],
        &["chat", "-r", "ID"],
        &["resume", "ID"],
    ] {
        let args: Vec<&str> = args
            .iter()
            .map(|arg| if *arg == "ID" { session.as_str() } else { arg })
            .collect();
        let ran = sandbox.run(&args);
        assert_eq!(ran.code, Some(9), "{args:?}: {ran}");
        let advice = ["agentx sessions verify", "agentx fork"];
        assert!(
            ran.stderr.contains("is damaged") && advice.iter().any(|advice| ran.stderr.contains(advice)),
            "{args:?}: {ran}"
        );
    }
}

#[test]
fn what_does_not_read_the_damaged_part_works() {
    let sandbox = Sandbox::new();
    let session = damaged(&sandbox);
    for args in [
        &["sessions", "list"][..],
        &["sessions", "search", "hello"],
        &["usage"],
        &["fork", "ID", "--at", "3"],
        &["run", "hello"],
    ] {
        let args: Vec<&str> = args
            .iter()
            .map(|arg| if *arg == "ID" { session.as_str() } else { arg })
            .collect();
        let ran = sandbox.run(&args);
        assert_eq!(ran.code, Some(0), "{args:?}: {ran}");
    }
}

/// A copy of a session that is damaged in the middle could not be opened, so there is none. Its intact
/// beginning can be copied.
#[test]
fn a_session_that_is_damaged_in_the_middle_is_not_copied() {
    let sandbox = Sandbox::new();
    let middle = "SELECT id FROM batches ORDER BY id LIMIT 1 OFFSET (SELECT count(*) / 2 FROM batches)";
    let session = damaged_at(&sandbox, middle);
    let before = sandbox.run(&["sessions", "list", "--json"]).stdout;
    let forked = sandbox.run(&["fork", &session]);
    assert_eq!(forked.code, Some(9), "{forked}");
    assert_eq!(forked.stdout, "", "{forked}");
    assert_eq!(
        sandbox.run(&["sessions", "list", "--json"]).stdout,
        before,
        "no copy is left"
    );
}
