//! Chats at one session of a server, each in a terminal of its own: who drives, who answers, and a server
//! that is killed.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that cannot start fails; it reads files"
)]

use crate::common::Sandbox;
use crate::ends::wait_until_it_runs;
use crate::pty::Pty;
use crate::serving::{Running, Serving};

/// A chat that has said something, so that there is a session.
fn chat(sandbox: &Sandbox, server: &Serving) -> Pty {
    wide_chat(sandbox, server, 100)
}

/// The same in a terminal of so many columns.
fn wide_chat(sandbox: &Sandbox, server: &Serving, columns: u16) -> Pty {
    let mut chat = Pty::start(sandbox, &["--connect", &server.url, "chat"], columns, 40);
    chat.wait_for_last("›");
    chat.keys("hello\r");
    chat.wait_for("built-in demo");
    chat
}

/// Another one at the latest session.
fn joined(sandbox: &Sandbox, server: &Serving) -> Pty {
    let mut chat = Pty::start(sandbox, &["--connect", &server.url, "resume", "--last"], 100, 40);
    chat.wait_for("· here:");
    chat
}

fn shows(chat: &Pty, text: &str) -> bool {
    chat.lines().iter().any(|line| line.contains(text))
}

/// The machine of somebody called ada, whom the server of a sandbox trusts as this.
fn member(sandbox: &Sandbox, role: &str) -> Sandbox {
    let other = Sandbox::new();
    other.run(&["identity", "new"]);
    let shown = other.command(&["--json", "identity", "show"]).output().unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let key = shown["public_key"].as_str().unwrap();
    let trusted = sandbox.run(&["identity", "trust", key, "--name", "ada", "--as", role]);
    assert_eq!(trusted.code, Some(0), "{trusted}");
    other
}

/// The latest session that somebody is shown.
fn latest(sandbox: &Sandbox, server: &Serving) -> String {
    let list = sandbox
        .command(&["--connect", &server.url, "--json", "sessions", "list"])
        .output()
        .unwrap();
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    list[0]["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_question_is_answered_from_another_seat() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let mut desk = chat(&sandbox, &server);
    let mut laptop = joined(&sandbox, &server);
    desk.wait_for("· here: you drive · you at");
    desk.keys("run echo 你好\r");
    for seat in [&mut desk, &mut laptop] {
        seat.wait_for("bash wants to run");
        seat.wait_for_last("allow? y once · s session · a always · n no · Alt+letter at once ›");
    }
    laptop.keys("y\r");
    laptop.wait_for("allowed once");
    for seat in [&mut desk, &mut laptop] {
        seat.wait_for("│ 你好");
        seat.wait_for_last("›");
    }
    assert!(shows(&desk, "answered elsewhere"));
    assert!(!shows(&desk, "allowed by another rule"));
    assert!(!shows(&laptop, "answered elsewhere"));
}

#[test]
fn a_word_that_fits_several_seats_gives_the_wheel_to_nobody() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let mut desk = chat(&sandbox, &server);
    let mut others = [joined(&sandbox, &server), joined(&sandbox, &server)];
    for other in &mut others {
        other.keys("/who\r");
        other.wait_for("WHO");
    }
    desk.keys("/wheel give own_\r");
    desk.wait_for("\"own_\" matches several people here");
    desk.wait_for("give more letters of the program's name");
}

#[test]
fn one_drives_and_the_wheel_changes_hands() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let mut desk = chat(&sandbox, &server);
    let mut laptop = joined(&sandbox, &server);
    laptop.keys("thanks\r");
    laptop.wait_for("Your other terminal controls this session; not sent (↑).");
    laptop.keys("/wheel ask\r");
    desk.wait_for("ask for the wheel: `/wheel give");
    desk.keys("/who\r");
    desk.wait_for("WHO");
    desk.keys("/wheel release\r");
    laptop.wait_for("· nobody is driving");
    laptop.keys("thanks\r");
    for seat in [&mut desk, &mut laptop] {
        seat.wait_for("You are welcome.");
    }
    laptop.wait_for("· you drive");
    desk.keys("/wheel take\r");
    desk.wait_for("· you drive");
    desk.keys("/wheel give nobody\r");
    desk.wait_for("nobody here is called \"nobody\"");
    desk.keys("\u{4}");
    assert_eq!(desk.end(), Some(0));
    laptop.wait_for("· the others have left");
    laptop.keys("/wheel\r");
    laptop.wait_for("nobody is driving; the next person to send a message takes the wheel");
}

#[test]
fn a_chat_goes_on_with_a_server_that_was_killed() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let mut desk = chat(&sandbox, &server);
    desk.keys("count to 120\r");
    desk.wait_for("21 22");
    let server = server.killed_and_started_again(&sandbox);
    desk.wait_for("reconnecting …");
    desk.keys("thanks\r");
    desk.wait_for("· connected again");
    desk.wait_for("Done.");
    desk.wait_for("You are welcome.");
    desk.wait_for_last("›");
    desk.keys("\u{4}");
    desk.wait_for("continue with: agentx --connect");
    assert_eq!(desk.end(), Some(0));
    server.stop();
}

#[test]
fn one_key_leaves_a_server_that_is_gone_and_the_hint_names_the_server() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let mut desk = chat(&sandbox, &server);
    desk.wait_for_last("›");
    let url = server.url.clone();
    server.kill();
    desk.wait_for("reconnecting …");
    desk.keys("unsent words\r");
    desk.keys("\u{4}");
    desk.wait_for("stopped waiting for an answer");
    assert_eq!(desk.end(), Some(0));
    let said = format!("continue with: agentx --connect {url}");
    assert!(shows(&desk, &said), "{said}: {:#?}", desk.lines());
}

#[test]
fn who_may_only_watch_sees_a_question_and_is_not_asked() {
    let sandbox = Sandbox::new();
    let other = member(&sandbox, "member");
    let server = Serving::start(&sandbox);
    let mut desk = chat(&sandbox, &server);
    let id = &*latest(&sandbox, &server);
    let shared = sandbox.run(&[
        "--connect",
        &server.url,
        "sessions",
        "share",
        id,
        "ada",
        "--as",
        "watch",
    ]);
    assert_eq!(shared.code, Some(0), "{shared}");
    let mut ada = Pty::start(&other, &["--connect", &server.url, "resume", id], 100, 40);
    ada.wait_for("· here:");
    desk.keys("run echo one\r");
    desk.wait_for_last("allow? y once · s session · a always · n no · Alt+letter at once ›");
    ada.wait_for("bash wants to run");
    ada.keys("y\r");
    ada.wait_for("you may only look here");
    ada.wait_for("--as drive");
    desk.keys("n\r");
    desk.wait_for("  refused");
    ada.wait_for("✗ refused");
}

#[test]
fn a_question_shows_the_change_and_files_go_back_where_the_server_is() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/notes.txt", "one\nhello\nthree\n");
    let server = Serving::start(&sandbox);
    let notes = || std::fs::read_to_string(sandbox.path("ws/notes.txt")).unwrap();
    let mut desk = chat(&sandbox, &server);
    // What is said while the answer comes is heard after it; going back to before it would cut that answer
    // off.
    desk.wait_for("163 in, 80 out");
    desk.keys("replace hello with bye in notes.txt\r");
    desk.wait_for_last("allow? y once · s session · a always · n no · Alt+letter at once ›");
    for line in ["    1  one", "    2 -hello", "    2 +bye", "    3  three"] {
        assert!(shows(&desk, line), "{line:?} is in {:#?}", desk.lines());
    }
    desk.keys("y\r");
    desk.wait_for("replaced 1 occurrence");
    desk.wait_for_last("›");
    assert_eq!(notes(), "one\nbye\nthree\n");
    desk.keys("/rewind 2\r");
    desk.wait_for_last("rewind? b both · c conversation · f files · d diff · n cancel ›");
    desk.keys("b\r");
    desk.wait_for("1 file put back: notes.txt");
    desk.wait_for_last("› replace hello with bye in notes.txt");
    assert_eq!(notes(), "one\nhello\nthree\n");
    desk.keys("\u{15}/rewind undo\r");
    desk.wait_for_last("undo this restore? y yes · d diff · n cancel ›");
    desk.keys("f\r");
    desk.wait_for_last("›");
    assert_eq!(notes(), "one\nbye\nthree\n");
    desk.keys("\u{4}");
    assert_eq!(desk.end(), Some(0));
}

/// A copy that ends in the middle of an answer is settled before it is said to be there.
#[test]
fn a_copy_of_the_middle_of_an_answer_is_at_rest_at_once() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let mut desk = chat(&sandbox, &server);
    desk.wait_for("163 in, 80 out");
    desk.keys("/fork 9\r");
    desk.wait_for("up to event 9; /diff ses_");
    desk.keys("/rewind undo\r");
    desk.wait_for("no files were restored, so there is nothing to undo");
    for text in ["stop the run first (Esc),", "■ stopped"] {
        assert!(!shows(&desk, text), "{text:?} is in {:#?}", desk.lines());
    }
    desk.keys("/rewind\r");
    desk.wait_for_last("before which message? number · Enter cancels ›");
    desk.keys("1\r");
    desk.wait_for_last("rewind? c conversation · n cancel ›");
    desk.keys("n\r\u{4}");
    assert_eq!(desk.end(), Some(0));
}

/// The next server ends what a killed server left running, and `--yes` ended with it: both are reported.
#[test]
fn a_server_that_was_killed_says_what_it_ended_and_that_calls_are_asked_about() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let mut desk = Pty::start(&sandbox, &["--connect", &server.url, "chat", "--yes"], 100, 40);
    desk.wait_for_last("›");
    let seconds = 4_000_000 + u64::from(std::process::id());
    desk.keys(&format!("run sleep {seconds}\r"));
    wait_until_it_runs(&seconds.to_string());
    let server = server.killed_and_started_again(&sandbox);
    desk.wait_for("still running from before, now ended: sleep");
    desk.wait_for("calls no longer run without asking: you are asked about calls that no rule covers");
    assert!(!shows(&desk, "close_notify"), "{:#?}", desk.lines());
    desk.keys("\u{4}");
    server.stop();
}

/// A member's answer that does not count takes no question away, and what they type next goes to nobody else.
#[test]
fn a_member_keeps_the_question_until_an_answer_counts() {
    let sandbox = Sandbox::new();
    let ada = member(&sandbox, "member");
    let server = Serving::start(&sandbox);
    let mut chat = chat(&ada, &server);
    chat.keys("run echo one\r");
    chat.wait_for("only the operator or an approver of the server may allow");
    chat.wait_for_last("the operator decides · n refuses it · Alt+letter at once ›");
    assert!(!shows(&chat, "always would save"));
    for answer in ["y", "a", "s echo *", "\u{1b}y"] {
        chat.keys(&format!("{answer}\r"));
        chat.wait_for(
            "ignored: only the server's operator may allow this call; `n` refuses it, Ctrl-C stops",
        );
        chat.wait_for_last("the operator decides · n refuses it · Alt+letter at once ›");
    }
    let id = latest(&ada, &server);
    let mut desk = Pty::start(&sandbox, &["--connect", &server.url, "resume", &id], 100, 40);
    desk.wait_for_last("allow? y once · n no · Alt+letter at once ›");
    desk.keys("a\r");
    desk.wait_for("ignored; valid answers: y once, n no");
    desk.keys("y\r");
    desk.wait_for("allowed once");
    chat.wait_for("answered elsewhere");
    chat.wait_for("│ one");
    chat.wait_for_last("›");
    chat.keys("run echo two\r");
    chat.wait_for_last("the operator decides · n refuses it · Alt+letter at once ›");
    chat.keys("n\r");
    chat.wait_for("  refused");
    for seat in [&chat, &desk] {
        assert!(!shows(seat, "queued") && !shows(seat, "/wheel"));
    }
}

/// A chat of the operator, in a session of their own, is notified of a member's call, once, and what to type.
#[test]
fn a_chat_of_the_operator_is_told_of_a_members_call() {
    let sandbox = Sandbox::new();
    let ada = member(&sandbox, "member");
    let server = Serving::start(&sandbox);
    let mut desk = wide_chat(&sandbox, &server, 180);
    let mut chat = chat(&ada, &server);
    chat.keys("run echo one\r");
    desk.wait_for("· ada: bash waits for your decision; in another terminal: agentx");
    desk.wait_for(&latest(&ada, &server));
    let lines = desk.lines().join("\n");
    assert_eq!(lines.matches("waits for your decision").count(), 1, "{lines}");
    // Whoever comes to look for questions says nothing first.
    let mut fresh = Pty::start(&sandbox, &["--connect", &server.url, "chat"], 180, 40);
    fresh.wait_for("· ada: bash waits for your decision");
}

/// Limits that a chat was given as flags end with it, if nothing is at work.
#[test]
fn limits_of_a_chat_end_when_it_leaves() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let args = ["--connect", &server.url, "chat", "--max-iterations", "7"];
    let mut chat = Pty::start(&sandbox, &args, 100, 40);
    chat.wait_for_last("›");
    chat.keys("hello\r");
    chat.wait_for("built-in demo");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    let id = latest(&sandbox, &server);
    let export = sandbox.run(&["sessions", "export", &id, "--format", "json"]);
    let kept: serde_json::Value = serde_json::from_str(&export.stdout).unwrap();
    let limits: Vec<u64> = kept["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| &event["payload"])
        .flat_map(|payload| [&payload["config"]["limits"], &payload["change"]["limits"]])
        .filter_map(|limits| limits["max_iterations"].as_u64())
        .collect();
    assert_eq!(limits, [7, 50], "{export}");
}

/// A run of a member waits for the operator, for as long as it says, and is continued when they have
/// answered.
#[test]
fn a_run_of_a_member_waits_for_the_operator() {
    let sandbox = Sandbox::new();
    let ada = member(&sandbox, "member");
    let server = Serving::start(&sandbox);
    let run = |words: &[&str]| {
        let mut args = vec!["--connect", &server.url, "run", "--yes"];
        args.extend(words);
        ada.run(&args)
    };
    let over = run(&["--wait", "0", "run echo one"]);
    assert_eq!(over.code, Some(7), "{over}");
    for said in [
        "note: `--yes` has no effect here: the server's operator decides about calls that no rule allows",
        "bash waits for the server's operator",
        "error: bash still waits for the server's operator, who did not answer within",
        "run --session ses_",
        "` shows the outcome",
        "hint: the call keeps waiting; use --approval-timeout to wait longer",
    ] {
        assert!(over.stderr.contains(said), "{said}: {over}");
    }
    let id = latest(&ada, &server);
    let waiting = sandbox.run(&["--connect", &server.url, "sessions", "list", "--waiting"]);
    assert!(waiting.stdout.contains("asks you"), "{waiting}");
    assert!(waiting.stdout.contains("(of ada) "), "{waiting}");
    let elsewhere = ada.run(&["--connect", &server.url, "--cwd", "/", "run", "hi"]);
    assert_eq!(elsewhere.code, Some(2), "{elsewhere}");
    assert!(
        elsewhere
            .stderr
            .contains("only the operator of a server can set the working directory (`--cwd`)"),
        "{elsewhere}"
    );
    let mut desk = Pty::start(&sandbox, &["--connect", &server.url, "resume", &id], 100, 40);
    desk.wait_for_last("allow? y once · n no · Alt+letter at once ›");
    let mut going_on = Running::start(ada.command(&["--connect", &server.url, "run", "--session", &id]));
    going_on.says("bash waits for the server's operator");
    desk.keys("y\r");
    desk.wait_for("allowed once");
    let (status, _, err) = going_on.end();
    assert!(status.success() && err.contains("exit 0"), "{status} {err}");
    let waiting = sandbox.run(&["--connect", &server.url, "sessions", "list", "--waiting"]);
    assert_eq!(waiting.stdout, "no call waits for a decision\n");
}

/// A server reads its settings again when their file changes; a file with mistakes changes nothing, and is
/// named.
#[test]
fn a_server_reads_changed_settings_and_says_so() {
    let sandbox = Sandbox::new();
    let mut server = Serving::start(&sandbox);
    let (laptop, url) = (member(&sandbox, "operator"), server.url.clone());
    let is_denied = || {
        let asked = laptop.run(&["--connect", &url, "run", "--yes", "run echo one"]);
        assert!(asked.stderr.contains("denies it"), "{asked}");
    };
    let asked = laptop.run(&["--connect", &url, "run", "--yes", "run echo one"]);
    assert!(!asked.stderr.contains("denies it"), "{asked}");
    // The next call is refused: it does not wait until the server looks at its files.
    sandbox.config("rules:\n  - {effect: deny, tool: bash, argument: \"echo *\"}\n");
    is_denied();
    server.says("the settings have changed; their rules, approval mode, limits and quotas now apply");
    sandbox.config(
        "rules:\n  - {effect: deny, tool: bash, argument: \"echo *\"}\ntools: {disabled: [grep]}\ndurability: machine\n",
    );
    server.says("these settings have changed and apply after a restart: tools, durability");
    is_denied();
    sandbox.config("rules: [unclosed\n");
    server.says("the changed settings have errors; the previous settings still apply");
    is_denied();
}

/// If visitors are allowed, somebody with an unknown key learns that they are a visitor.
#[test]
fn somebody_unknown_is_told_that_they_are_a_visitor() {
    let sandbox = Sandbox::new();
    let stranger = Sandbox::new();
    let server = Serving::at(&sandbox, "127.0.0.1:0", &["--allow-visitors"]);
    let listed = stranger.run(&["--connect", &server.url, "sessions", "list"]);
    for said in ["so you are a visitor", "agentx identity trust KEY --as member"] {
        assert!(listed.stderr.contains(said), "{listed}");
    }
    let own = sandbox.run(&["--connect", &server.url, "sessions", "list"]);
    assert!(!own.stderr.contains("visitor"), "{own}");
}
