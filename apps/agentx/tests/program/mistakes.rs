//! The errors of commands whose arguments can be read but make no sense: each once, with what to do.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::{Ran, Sandbox, squeezed};

/// The session that everything here is asked of.
fn session(sandbox: &Sandbox) -> String {
    let ran = sandbox.run(&["run", "--output-format", "json", "thanks"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let output = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    list[0]["session_id"].as_str().unwrap().to_owned()
}

/// Public keys of the examples of RFC 8032, section 7.1.
const ADA: &str = "ed25519:11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
const OTHER_ADA: &str = "ed25519:PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw";

/// Every line of these ends with 2, and says an error.
fn all(sandbox: &Sandbox, lines: &[&[&str]]) -> String {
    let said = |args: &&[&str]| -> Ran {
        let ran = sandbox.run(args);
        assert_eq!(ran.code, Some(2), "{ran}");
        let first = ran.stderr.lines().find(|line| !line.starts_with("note: "));
        assert!(first.is_some_and(|line| line.starts_with("error: ")), "{ran}");
        ran
    };
    let all: Vec<String> = lines.iter().map(|args| said(args).to_string()).collect();
    all.join("\n\n")
}

#[test]
fn what_a_session_cannot_do_is_said() {
    let sandbox = Sandbox::new();
    let id = session(&sandbox);
    let id = id.as_str();
    sandbox.write("ws/there.md", "words");
    let lines: &[&[&str]] = &[
        &["run", "--session", id, "--system", "x", "hi"],
        &["rewind", id, "--to", "99", "--yes"],
        &["rewind", id, "--undo", "--yes"],
        &["diff", id],
        &["fork", id, "--at", "999"],
        &["show", id, "--at", "999"],
        &["show", id, "--step", "999"],
        &["context", id, "--summary", "1"],
        &["sessions", "rename", id, " "],
        &["sessions", "export", id, "-o", "there.md"],
        &["sessions", "delete", id],
        &["sessions", "share", id, "nobody", "--as", "watch"],
        &["sessions", "share", id, "anyone", "--as", "drive"],
        &["sessions", "share", id, "anyone", "--as", "own"],
    ];
    insta::assert_snapshot!("mistakes_of_sessions", all(&sandbox, lines));
    for _ in 0..2 {
        assert_eq!(sandbox.run(&["fork", id]).code, Some(0));
    }
    let forks = sandbox.run(&["diff", id]);
    assert!(forks.stderr.contains("has 2 forks: "), "{forks}");
    assert_eq!(forks.code, Some(2), "{forks}");
}

#[test]
fn names_that_two_people_have_and_editors_that_nobody_named_are_said() {
    let sandbox = Sandbox::new();
    let id = session(&sandbox);
    for key in [ADA, OTHER_ADA] {
        let ran = sandbox.run(&["identity", "trust", key, "--name", "ada", "--as", "member"]);
        assert_eq!(ran.code, Some(0), "{ran}");
    }
    let lines: &[&[&str]] = &[
        &["sessions", "share", &id, "ada", "--as", "watch"],
        &["config", "edit"],
    ];
    insta::assert_snapshot!("mistakes_of_names", all(&sandbox, lines));
}

#[test]
fn where_nobody_else_is_and_nothing_is_under_way_that_is_said() {
    let sandbox = Sandbox::new();
    let id = session(&sandbox);
    let fork = sandbox.run(&["fork", &id, "--at", "2"]);
    assert_eq!(fork.code, Some(0), "{fork}");
    let list = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    let ids = list.as_array().unwrap().iter();
    let fork = ids
        .filter_map(|row| row["session_id"].as_str())
        .find(|other| *other != id);
    let lines: &[&[&str]] = &[&["run", "--session", fork.unwrap()]];
    insta::assert_snapshot!("mistakes_of_nothing_under_way", all(&sandbox, lines));
    let chat = sandbox.run_with_input(&[], "/wheel give ada\n");
    insta::assert_snapshot!("mistakes_of_being_alone", squeezed(&chat));
}

#[test]
fn what_tools_rules_and_settings_cannot_be_is_said() {
    let sandbox = Sandbox::new().env("EDITOR", "/nowhere/editor");
    let lines: &[&[&str]] = &[
        &["tools", "run", "nosuch"],
        &["tools", "run", "read", "[1]"],
        &["tools", "run", "read", "{"],
        &["tools", "show", "nosuch"],
        &["tools", "new", "../x"],
        &["agents", "show", "nosuch"],
        &["approvals", "remove", "99"],
        &["approvals", "test", "nosuch: x"],
        &["approvals", "test", "todo: x"],
        &["config", "set", "modle", "x"],
        &["config", "edit"],
        &["identity", "trust", "nonsense"],
        &["identity", "untrust", "nobody"],
        &["man", "nosuch"],
        &["usage", "--since", "yesterday"],
    ];
    insta::assert_snapshot!("mistakes_of_files", all(&sandbox, lines));
}
