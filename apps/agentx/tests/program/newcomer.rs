//! What a person types in their first hours without having read anything: bare commands, short ids, flags where other programs
//! take them.
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use crate::common::Sandbox;

#[test]
fn a_command_of_commands_alone_lists_or_shows() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "hello"]);
    sandbox.run(&["identity", "new"]);
    for (typed, means) in [
        (&["sessions"][..], &["sessions", "list"][..]),
        (&["sessions", "ls"], &["sessions", "list"]),
        (&["approvals"], &["approvals", "list"]),
        (&["config"], &["config", "show"]),
        (&["identity"], &["identity", "show"]),
        (&["tools", "ls"], &["tools", "list"]),
        (&["models", "ls"], &["models", "list"]),
        (&["mcp", "ls"], &["mcp", "list"]),
    ] {
        let (short, whole) = (sandbox.run(typed), sandbox.run(means));
        assert_eq!(short.code, Some(0), "{short}");
        assert_eq!(short.stdout, whole.stdout, "{typed:?}");
    }
}

#[test]
fn a_letter_is_no_id_of_a_session() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "hello"]);
    let id = crate::rewind::id_of(&sandbox, 0);
    for short in ["s", "ses_", &id[..7], &id[4..7]] {
        for command in ["fork", "rewind", "show", "replay"] {
            let ran = sandbox.run(&[command, short]);
            assert_ne!(ran.code, Some(0), "{short}: {ran}");
        }
    }
    let ran = sandbox.run(&["show", &id[..7]]);
    assert!(ran.stderr.contains("at least 4 behind `ses_`"), "{ran}");
    for enough in [&id[..8], &id[4..8], &id] {
        let ran = sandbox.run(&["show", enough]);
        assert_eq!(ran.code, Some(0), "{enough}: {ran}");
    }
}

#[test]
fn flags_of_a_command_may_stand_before_it_and_a_session_is_resumed_by_its_flag() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["--output-format", "json", "run", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.result()["session_id"].is_string(), "{ran}");
    let id = crate::rewind::id_of(&sandbox, 0);
    let ran = sandbox.run(&["-r", &id, "-p", "hello again"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(crate::rewind::id_of(&sandbox, 0), id);
    let ran = sandbox.run_with_input(&["-r", &id], "hello\n");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(crate::rewind::id_of(&sandbox, 0), id);
    let wrong = sandbox.run(&["--output-formt", "json", "run", "hello"]);
    assert_eq!(wrong.code, Some(2), "{wrong}");
}

#[test]
fn a_file_that_is_not_there_says_what_an_import_reads() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["sessions", "import", "nope.json"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.stderr.contains("sessions export ID --format json"), "{ran}");
}
