//! `agentx memory` by hand: what a person adds, and what is never kept; and proposals of a model.

#![allow(clippy::unwrap_used, reason = "a test: it fails by panicking")]

use serde_json::Value;

use crate::common::Sandbox;
#[cfg(unix)]
use crate::pty::Pty;

#[test]
fn a_secret_that_is_known_becomes_no_memory() {
    let sandbox = Sandbox::new();
    let secret = "tok3n-Ahj29sKx81Lm";
    let with_secret = |args: &[&str]| {
        let mut command = sandbox.command(args);
        command.env("DEPLOY_TOKEN", secret).output().unwrap()
    };
    let added = with_secret(&["memory", "add", "deploys go over staging"]);
    assert!(added.status.success(), "{added:?}");
    for args in [
        &["memory", "add", "the token is tok3n-Ahj29sKx81Lm"][..],
        &["memory", "edit", "1", "use tok3n-Ahj29sKx81Lm"],
    ] {
        let refused = with_secret(args);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("DEPLOY_TOKEN") && !said.contains(secret), "{said}");
    }
    let listed = sandbox.run(&["memory", "list"]);
    assert!(listed.stdout.contains("deploys go over staging"), "{listed}");
    assert!(!listed.stdout.contains("tok3n"), "{listed}");
}

#[cfg(unix)]
#[test]
fn a_chat_shows_what_a_model_proposes_and_the_person_decides() {
    let sandbox = Sandbox::new();
    sandbox.config("memory: {enabled: true, learning: {threshold_turns: 1}}\n");
    let mut chat = Pty::start(&sandbox, &["chat"], 110, 30);
    chat.wait_for("/help lists commands and keys");
    chat.keys("remember that deploys go over staging\r");
    chat.keys("hello\r");
    // The demo proposes one itself with its tool.
    chat.wait_for("1 memory proposed: 2");
    drop(chat);
    let inbox = || {
        let shown = sandbox.run(&["memory", "--json"]);
        serde_json::from_str::<Value>(&shown.stdout).unwrap()
    };
    let waiting = inbox()["waiting"].clone();
    assert_eq!(waiting[0]["text"], "deploys go over staging");
    assert_eq!(waiting[0]["state"], "proposed");
    let origin = &waiting[0]["origin"];
    assert_eq!(origin["session"], "ses_[id]", "{origin}");
    assert!(origin["seq"].as_u64().unwrap() > 0, "{origin}");
    sandbox.run(&["memory", "accept", "2"]);
    assert_eq!(inbox()["accepted"], 1);
}
