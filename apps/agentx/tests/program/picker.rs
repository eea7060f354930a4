//! Choosing a session in a terminal.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::Sandbox;
use crate::pty::Pty;

/// Three sessions, the last one somewhere else.
fn three(sandbox: &Sandbox) {
    for words in ["hello", "thanks"] {
        assert_eq!(sandbox.run(&["run", "--quiet", words]).code, Some(0));
    }
    let home = sandbox.path("home").to_string_lossy().into_owned();
    assert_eq!(
        sandbox.run(&["--cwd", &home, "run", "--quiet", "help"]).code,
        Some(0)
    );
}

#[test]
fn a_session_is_chosen_and_gone_on_with() {
    let sandbox = Sandbox::new();
    three(&sandbox);
    let mut picker = Pty::start(&sandbox, &["resume"], 80, 24);
    picker.wait_for("2 of 3 · here");
    picker.wait_for("You are welcome.");
    picker.keys("hel");
    picker.wait_for("resume › hel");
    picker.wait_for("I am AgentX's built-in");
    picker.keys("\r");
    picker.wait_for("› hello");
    picker.wait_for_last("›");
    let shown = picker.lines().join("\n");
    assert!(!shown.contains("resume › hel"), "the picker is gone:\n{shown}");
    picker.keys("thanks\r");
    picker.wait_for("You are welcome.");
    picker.wait_for_last("›");
    picker.keys("\u{4}");
    assert_eq!(picker.end(), Some(0));
    assert_eq!(
        sandbox.run(&["sessions", "list"]).stdout.lines().count(),
        4,
        "no session was made"
    );
}

#[test]
fn who_leaves_has_changed_nothing_and_has_the_terminal_back() {
    let sandbox = Sandbox::new();
    three(&sandbox);
    let before = sandbox.run(&["sessions", "list", "--json"]).stdout;
    for keys in ["\u{1b}", "\u{3}", "zzz\t?\u{1b}\u{1b}"] {
        let mut picker = Pty::start(&sandbox, &["resume"], 40, 10);
        picker.wait_for("Enter resumes");
        // A lone Esc is distinguished from a sequence by nothing following it.
        for key in keys.chars() {
            picker.keys(&key.to_string());
            if key == '\t' {
                picker.wait_for("everywhere");
            }
        }
        assert_eq!(picker.end(), Some(0), "{keys:?}");
        let shown = picker.lines().join("\n");
        assert_eq!(shown, "", "nothing stays on the screen after {keys:?}");
    }
    assert_eq!(sandbox.run(&["sessions", "list", "--json"]).stdout, before);
}

#[test]
fn a_dumb_terminal_has_a_numbered_list() {
    let sandbox = Sandbox::new().env("TERM", "dumb");
    three(&sandbox);
    let mut picker = Pty::start(&sandbox, &["resume"], 80, 24);
    let prompt = "which session? number, search words, or nothing to leave ›";
    picker.wait_for_last(prompt);
    picker.keys("7\n");
    picker.wait_for("no such number");
    picker.wait_for_last(prompt);
    picker.keys("hello\n");
    picker.wait_for("1  just now    hello");
    picker.wait_for_last(prompt);
    picker.keys("1\n");
    picker.wait_for("AgentX's built-in demo");
    picker.keys("\u{4}");
    assert_eq!(picker.end(), Some(0));
}

#[test]
fn without_sessions_there_is_nothing_to_choose() {
    let sandbox = Sandbox::new();
    let mut picker = Pty::start(&sandbox, &["resume"], 80, 24);
    picker.wait_for("to continue");
    assert_eq!(picker.end(), Some(8));
}
