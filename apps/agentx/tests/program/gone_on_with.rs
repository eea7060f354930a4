//! Tests that today's trust and rules decide what a resumed session may do.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::json;

use crate::another_folder::replace;
use crate::common::{Ran, Sandbox};
use crate::pty::Pty;

/// A trusted folder, and a session in which an answer allowed the command for the session.
fn allowed() -> Sandbox {
    let sandbox = Sandbox::new().of_a_stranger();
    sandbox.write("ws/.git/HEAD", "ref: refs/heads/main\n");
    assert_eq!(sandbox.run(&["config", "trust"]).code, Some(0));
    let mut chat = Pty::start(&sandbox, &["--model", "demo"], 100, 30);
    chat.wait_for_last("›");
    chat.keys("run touch made\r");
    chat.wait_for("allow? y once · s session · a always");
    chat.keys("s\r");
    chat.wait_for("exit 0");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    let (ran, told) = runs(&sandbox, &[]);
    assert!(ran, "the rule of the session holds: {told}");
    sandbox
}

/// Continues with the latest session, and whether its command ran.
fn runs(sandbox: &Sandbox, flags: &[&str]) -> (bool, Ran) {
    let made = sandbox.path("ws/made");
    let _ = std::fs::remove_file(&made);
    let id = latest(sandbox);
    let ran = sandbox.run(&[&["run", "--session", &id], flags, &["run touch made"]].concat());
    (made.exists(), ran)
}

fn latest(sandbox: &Sandbox) -> String {
    let listed = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    list[0]["session_id"].as_str().unwrap().to_owned()
}

const NOTE: &str = "`allow` rules of this session no longer apply";

/// The command does not run, which is said once and for this reason; nor does it run after the folder is
/// trusted again.
fn holds_no_more(sandbox: &Sandbox, why: &str) {
    let (ran, told) = runs(sandbox, &[]);
    assert!(!ran && told.stderr.contains(&format!("{NOTE}: {why}")), "{told}");
    let (ran, told) = runs(sandbox, &[]);
    assert!(!ran && !told.stderr.contains(NOTE), "{told}");
    assert_eq!(sandbox.run(&["config", "trust"]).code, Some(0));
    let (ran, told) = runs(sandbox, &[]);
    assert!(!ran, "trust brings no rule back: {told}");
}

#[test]
fn rules_of_a_session_do_not_hold_in_another_folder_at_its_path() {
    let sandbox = allowed();
    replace(&sandbox, "ws");
    holds_no_more(&sandbox, "this folder is not trusted yet");
}

#[test]
fn the_latest_session_is_not_gone_on_with_in_another_folder_unless_it_is_named() {
    const OTHER: &str = "belongs to another folder, which was at";
    let sandbox = allowed();
    let old = latest(&sandbox);
    assert_eq!(sandbox.run(&["run", "--last", "hello"]).code, Some(0));
    replace(&sandbox, "ws");
    for command in [
        &["run", "--last", "hello"][..],
        &["run", "--last", "--fork", "hello"],
        &["run", "--resume", "go on"],
        &["resume", "--last"],
        &["resume"],
    ] {
        let told = sandbox.run(command);
        assert_eq!(told.code, Some(2), "{command:?}: {told}");
        assert!(
            told.stderr.contains(OTHER)
                && told
                    .stderr
                    .contains("--session ses_[id] (or `agentx resume ses_[id]`)"),
            "{command:?}: {told}"
        );
    }
    let again = sandbox.run(&["run", "--model", "demo", "hello"]);
    assert!(again.code == Some(0) && !again.stderr.contains(OTHER), "{again}");
    let last = sandbox.run(&["run", "--last", "hello"]);
    assert!(last.code == Some(0) && !last.stderr.contains(OTHER), "{last}");
    let named = sandbox.run(&["run", "--session", &old, "hello"]);
    assert!(
        named.code == Some(0)
            && named
                .stderr
                .contains(&format!("note: the session ses_[id] {OTHER}")),
        "{named}"
    );
    let last = sandbox.run(&["run", "--last", "hello"]);
    assert_eq!(latest(&sandbox), old, "a person named it");
    assert!(last.code == Some(0) && !last.stderr.contains(OTHER), "{last}");
}

/// Asks `agentx mcp serve` for its resources, and for this session.
fn served(sandbox: &Sandbox, session: &str) -> String {
    let requests = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "made up", "version": "1"},
        }}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "resources/list"}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {
            "uri": format!("agentx://sessions/{session}"),
        }}),
    ];
    let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let mut command = sandbox.command(&["mcp", "serve"]);
    let mut server = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    // A client that goes away gets no answers any more.
    let answers = BufReader::new(server.stdout.take().unwrap()).lines();
    let said: Vec<String> = answers.map(Result::unwrap).take(3).collect();
    drop(input);
    assert!(server.wait().unwrap().success());
    said.join("\n")
}

#[test]
fn sessions_of_a_folder_that_was_here_before_are_neither_served_nor_explained() {
    let sandbox = allowed();
    let old = latest(&sandbox);
    let said = served(&sandbox, &old);
    assert!(
        said.contains(&format!("agentx://sessions/{old}")) && said.contains("touch made"),
        "{said}"
    );
    let explained = sandbox.run(&["cache", "why"]);
    assert!(
        !explained.stderr.contains("belongs to another folder"),
        "{explained}"
    );
    replace(&sandbox, "ws");
    let said = served(&sandbox, &old);
    assert!(
        said.contains("\"resources\":[]") && !said.contains("touch made"),
        "{said}"
    );
    let explained = sandbox.run(&["cache", "why"]);
    assert_eq!(explained.code, Some(2), "{explained}");
    assert!(
        explained
            .stderr
            .contains("belongs to another folder, which was at")
            && explained.stderr.contains("agentx cache why --session ses_[id]"),
        "{explained}"
    );
    // What a person continues here is of this folder.
    assert_eq!(sandbox.run(&["run", "--session", &old, "hello"]).code, Some(0));
    assert!(served(&sandbox, &old).contains("touch made"));
}

#[test]
fn rules_of_a_session_do_not_hold_in_another_folder_that_was_trusted_since() {
    let sandbox = allowed();
    assert_eq!(sandbox.run(&["config", "trust"]).code, Some(0));
    assert!(runs(&sandbox, &[]).0, "to trust a folder again is not a break");
    replace(&sandbox, "ws");
    assert_eq!(sandbox.run(&["config", "trust"]).code, Some(0));
    let (ran, told) = runs(&sandbox, &["--fork"]);
    assert!(!ran, "nor in a copy: {told}");
    assert!(
        told.stderr
            .contains("they are older than your trust in this folder"),
        "{told}"
    );
}

#[test]
fn rules_of_a_session_go_with_the_trust_in_its_folder() {
    for (flag, why) in [
        ("--revoke", "this folder is not trusted yet"),
        ("--restricted", "this folder is restricted"),
        ("--read-only", "this folder is read-only"),
    ] {
        let sandbox = allowed();
        assert_eq!(sandbox.run(&["config", "trust", flag]).code, Some(0));
        holds_no_more(&sandbox, why);
    }
}

#[test]
fn a_folder_that_became_read_only_is_read_only_in_its_sessions() {
    let sandbox = allowed();
    assert_eq!(sandbox.run(&["config", "trust", "--read-only"]).code, Some(0));
    let (ran, told) = runs(&sandbox, &["--yes"]);
    assert!(!ran, "{told}");
    assert!(format!("{told}").contains("this folder is read-only"), "{told}");
}

#[test]
fn a_rule_that_denies_or_asks_holds_in_sessions_that_are_older() {
    for effect in ["deny", "ask"] {
        let sandbox = allowed();
        sandbox.run(&["approvals", "add", effect, "bash", "touch *"]);
        let (ran, told) = runs(&sandbox, &[]);
        assert!(!ran && !told.stderr.contains(NOTE), "{effect}: {told}");
        // `--yes` answers what is asked, and changes nothing about what is denied.
        let (ran, told) = runs(&sandbox, &["--yes"]);
        assert_eq!(ran, effect == "ask", "{effect}: {told}");
    }
}
