//! A file with the hashes of all sessions shows later which session lost or changed which events, even if the
//! database was made consistent again.
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use crate::common::{Ran, Sandbox};

/// The database of the sandbox's sessions.
const DATABASE: &str = "home/.local/share/agentx/sessions.db";

fn ok(ran: Ran) -> Ran {
    assert_eq!(ran.code, Some(0), "{ran}");
    ran
}

/// A session of one run; returns its id.
fn session(sandbox: &Sandbox, prompt: &str) -> String {
    ok(sandbox.run(&["run", "--quiet", prompt]));
    sandbox.latest_id([])
}

fn verify(sandbox: &Sandbox) -> Ran {
    sandbox.run(&["sessions", "verify", "--anchor", "anchor.json"])
}

#[test]
fn sessions_that_only_grew_are_as_they_were_anchored() {
    let sandbox = Sandbox::new();
    let first = session(&sandbox, "hello");
    session(&sandbox, "hello again");
    let written = ok(sandbox.run(&["sessions", "anchor", "anchor.json"]));
    assert_eq!(written.stdout, "anchor.json: the hashes of 2 sessions\n");
    let text = std::fs::read_to_string(sandbox.path("ws/anchor.json")).unwrap();
    assert!(text.contains(&first) && !text.contains("hello"), "{text}");

    ok(sandbox.run(&["run", "--quiet", "--session", &first, "thanks"]));
    ok(sandbox.run(&["fork", &first]));
    let same = ok(verify(&sandbox));
    assert!(
        same.stdout.starts_with("2 sessions as anchored at ") && same.stdout.contains("; 1 session later\n"),
        "{same}"
    );
    let again = sandbox.run(&["sessions", "anchor", "anchor.json"]);
    assert!(
        again.stderr.contains("exists already") && again.code == Some(2),
        "{again}"
    );
    ok(sandbox.run(&["sessions", "anchor", "anchor.json", "--force"]));
    let same = ok(verify(&sandbox));
    assert!(same.stdout.starts_with("3 sessions as anchored at "), "{same}");
}

#[test]
fn a_session_that_lost_events_or_is_gone_is_named() {
    let sandbox = Sandbox::new();
    let (cut, gone) = (session(&sandbox, "hello"), session(&sandbox, "hello again"));
    // Two runs are two segments at least.
    ok(sandbox.run(&["run", "--quiet", "--session", &cut, "thanks"]));
    ok(sandbox.run(&["sessions", "anchor", "anchor.json"]));
    ok(sandbox.run(&["sessions", "delete", "--yes", &gone]));
    let sql = rusqlite::Connection::open(sandbox.path(DATABASE)).unwrap();
    let of_session = "(SELECT id FROM sessions WHERE session_id = ?1)";
    let last =
        format!("DELETE FROM batches WHERE id = (SELECT max(id) FROM batches WHERE id >> 36 = {of_session})");
    assert_eq!(sql.execute(&last, [&cut]).unwrap(), 1);
    // Whoever shortens a log also removes what read models know of its end.
    for table in ["messages", "spent"] {
        let rest = format!("DELETE FROM {table} WHERE session = {of_session}");
        sql.execute(&rest, [&cut]).unwrap();
    }
    drop(sql);
    ok(sandbox.run(&["sessions", "verify", &cut]));

    let ran = sandbox
        .command(&["sessions", "verify", "--anchor", "anchor.json"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(9), "{told}");
    let lost = told.lines().find(|line| line.contains(&cut)).unwrap_or_default();
    assert!(
        lost.contains(": events ") && lost.ends_with(" are missing"),
        "{told}"
    );
    assert!(
        told.contains(&format!("{gone} is missing: it was deleted or lost")),
        "{told}"
    );
}

#[test]
fn an_anchor_of_other_events_shows_between_which_events_they_differ() {
    let sandbox = Sandbox::new();
    let id = session(&sandbox, "hello");
    ok(sandbox.run(&["sessions", "anchor", "anchor.json"]));
    // As if all rows had been written anew: the hash of each event from the third on is another.
    let text = std::fs::read_to_string(sandbox.path("ws/anchor.json")).unwrap();
    let mut anchor: serde_json::Value = serde_json::from_str(&text).unwrap();
    let points = anchor["sessions"][0]["points"].as_array_mut().unwrap();
    let seqs: Vec<u64> = points
        .iter()
        .map(|point| point["seq"].as_u64().unwrap())
        .collect();
    for point in &mut points[2..] {
        point["hash"] = "00".repeat(32).into();
    }
    sandbox.write("ws/anchor.json", anchor.to_string());
    let ran = sandbox
        .command(&["sessions", "verify", "--anchor", "anchor.json"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    let said = format!("{id}: an event from {} to {} was changed", seqs[1] + 1, seqs[2]);
    assert!(told.contains(&said) && ran.status.code() == Some(9), "{told}");
}

#[test]
fn what_is_no_anchor_is_refused() {
    let sandbox = Sandbox::new();
    session(&sandbox, "hello");
    sandbox.write("ws/anchor.json", "{}");
    let ran = verify(&sandbox);
    assert!(
        ran.stderr
            .contains("it is not a file of `agentx sessions anchor`")
            && ran.code == Some(1),
        "{ran}"
    );
    let both = sandbox.run(&["sessions", "verify", "ses_1", "--anchor", "anchor.json"]);
    assert_eq!(both.code, Some(2), "{both}");
}
