//! A guest in the operator's session: the guest's words and acts have their name in the operator's chat, in
//! `sessions show` and in exports, and nothing of theirs is shown as the reader's own.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot start fails; it reads files"
)]

use crate::common::Sandbox;
use crate::pty::Pty;
use crate::serving::Serving;

/// The machine of somebody whom the server of a sandbox trusts under this name, and their id.
fn guest(sandbox: &Sandbox, name: &str) -> (Sandbox, String) {
    let other = Sandbox::new();
    other.run(&["identity", "new"]);
    let shown = other.command(&["--json", "identity", "show"]).output().unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let key = shown["public_key"].as_str().unwrap();
    let trusted = sandbox.run(&["identity", "trust", key, "--name", name, "--as", "member"]);
    assert_eq!(trusted.code, Some(0), "{trusted}");
    (other, shown["person"].as_str().unwrap().to_owned())
}

#[test]
fn a_guests_words_and_acts_have_the_guests_name_everywhere() {
    let sandbox = Sandbox::new();
    let (ada, id) = guest(&sandbox, "ada");
    let begun = sandbox.command(&["--json", "run", "hello"]).output().unwrap();
    let begun: serde_json::Value = serde_json::from_slice(&begun.stdout).unwrap();
    let session = begun["session_id"].as_str().unwrap();
    let shared = sandbox.run(&["sessions", "share", session, &id, "--as", "drive"]);
    assert_eq!(shared.code, Some(0), "{shared}");
    let server = Serving::start(&sandbox);
    let resume = ["--plain", "--connect", &server.url, "resume", session];
    let mut desk = Pty::start(&sandbox, &resume, 100, 60);
    desk.wait_for("you: hello");
    let mut guest = Pty::start(&ada, &resume, 100, 60);
    guest.wait_for("the operator: hello");
    guest.keys("thanks\r");
    desk.wait_for("You are welcome.");
    desk.wait_for("ada: thanks");
    guest.wait_for("You are welcome.");
    for (typed, told) in [
        ("/pin\r", "· ada pinned message msg_"),
        ("/unpin\r", "· ada unpinned message msg_"),
        ("/compact\r", "· ada asked to condense the conversation"),
    ] {
        guest.keys(typed);
        desk.wait_for(told);
    }
    let lines = desk.lines().join("\n");
    assert!(
        !lines.contains("you: ada") && !lines.contains("you: thanks"),
        "{lines}"
    );
    assert!(!guest.lines().join("\n").contains("the operator: thanks"));
    drop(server);

    let mut show = sandbox.command(&["sessions", "show", session]);
    let shown = show.env("ACCESSIBLE", "1").output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    for told in [
        "you: hello",
        "ada: thanks",
        "· ada pinned message msg_",
        "· ada unpinned message msg_",
        "· ada asked to condense the conversation",
    ] {
        assert!(
            shown.lines().any(|line| line.starts_with(told)),
            "{told}: {shown}"
        );
    }
    for format in ["md", "html"] {
        let export = sandbox.run(&["sessions", "export", session, "--format", format]);
        let by = format!("Another person ({id})");
        assert_eq!(export.stdout.matches(&by).count(), 4, "{export}");
        assert!(export.stdout.contains("unpinned message msg_"), "{export}");
    }
}
