//! Another session in the same chat: what it is opened with, what holds in it, and what becomes of the one
//! before.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::{Ran, Sandbox};
use crate::pty::Pty;
use crate::serving::Serving;

/// A folder whose script greets, and starts a command in the background when it hears `watch`.
fn scripted() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .write("ws/.agentx/config.yaml", "scripted_answers: script.yaml\n")
        .write(
            "ws/.agentx/script.yaml",
            "- result: \"*\"\n  say: It is being watched.\n\
             - input: \"*watch*\"\n  call: { tool: bash, input: { command: \"sleep 600\", run_in_background: true } }\n\
             - input: \"*\"\n  say: Hello to you.\n",
        );
    sandbox
}

/// The ids of all sessions, the latest first.
fn ids(sandbox: &Sandbox, more: &[&str]) -> Vec<String> {
    let args = [more, &["--json", "sessions", "list"]].concat();
    let listed = sandbox.command(&args).output().unwrap().stdout;
    let listed: serde_json::Value = serde_json::from_slice(&listed).unwrap();
    let ids = listed.as_array().unwrap().iter();
    ids.map(|row| row["session_id"].as_str().unwrap().to_owned())
        .collect()
}

/// The limits of rounds that a session recorded, in order.
fn limits(sandbox: &Sandbox, id: &str) -> Vec<u64> {
    let export = sandbox.run(&["sessions", "export", id, "--format", "json"]);
    let kept: serde_json::Value = serde_json::from_str(&export.stdout).unwrap();
    let events = kept["events"].as_array().unwrap().iter();
    events
        .map(|event| &event["payload"])
        .flat_map(|payload| [&payload["config"]["limits"], &payload["change"]["limits"]])
        .filter_map(|limits| limits["max_iterations"].as_u64())
        .collect()
}

fn lines(sandbox: &Sandbox, args: &[&str], input: &str) -> Ran {
    sandbox.run_with_input(&[&["chat"], args].concat(), input)
}

#[test]
fn a_command_that_ends_jobs_is_confirmed_by_typing_it_again() {
    let sandbox = scripted();
    let input = "watch it\n/new\n/status\n/new\n/new\n/status\n";
    let ran = lines(&sandbox, &["--yes"], input);
    let warnings = ran
        .stdout
        .matches("still running: sleep 600; /new again to end it");
    assert_eq!(warnings.count(), 2, "another command came between: {ran}");
    assert!(ran.stdout.contains("the session before is kept"), "{ran}");
    assert!(
        ran.stdout.contains("session    starts with your first message"),
        "{ran}"
    );
}

#[test]
fn each_command_that_leaves_the_session_warns_of_jobs_for_itself() {
    let sandbox = scripted();
    lines(&sandbox, &[], "the first one\n");
    let first = ids(&sandbox, &[]).remove(0);
    let input = format!("watch it\n/fork\n/retry\n/resume {first}\n/resume {first}\n/retry\n");
    let ran = lines(&sandbox, &["--yes"], &input);
    for command in ["/fork", "/retry", "/resume ses_[id]"] {
        let warning = format!("1 job is still running: sleep 600; {command} again to end it");
        assert_eq!(ran.stdout.matches(&warning).count(), 1, "{command}: {ran}");
    }
    assert!(ran.stdout.contains("› the first one"), "{ran}");
    assert!(
        ran.stdout.contains("asked again in a copy"),
        "there are no jobs any more: {ran}"
    );
}

#[test]
fn a_session_that_ran_without_asking_says_so_in_a_chat_as_on_the_command_line() {
    let sandbox = scripted();
    let note = "calls ran without asking in this session; from now on you are asked again";
    lines(&sandbox, &["--yes"], "the first one\n");
    let first = ids(&sandbox, &[]).remove(0);
    let ran = lines(&sandbox, &[], &format!("/resume {first}\n"));
    assert!(ran.stdout.contains(note), "{ran}");
    lines(&sandbox, &["--yes"], "the second one\n");
    let resumed = sandbox.run_with_input(&["resume", "--last"], "/status\n");
    assert!(resumed.stderr.contains(note), "{resumed}");
}

#[test]
fn a_session_whose_server_has_moved_says_so_in_a_chat_as_on_the_command_line() {
    let sandbox = Sandbox::new();
    let at = |address: &str, args: &[&str], input: &str| {
        let variables = [
            ("OPENAI_BASE_URL", format!("{address}/v1")),
            ("OPENAI_API_KEY", "sk-made-up".to_owned()),
            ("AGENTX_MODEL", "openai/own".to_owned()),
        ];
        sandbox.run_where(&variables, args, input)
    };
    let answer = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}\n\n\
                  data: [DONE]\n\n";
    let ((one, _), (two, sent)) = (crate::models::recording(answer), crate::models::recording(answer));
    let begun = at(&one, &["run", "keep this"], "");
    assert_eq!(begun.code, Some(0), "{begun}");
    let first = ids(&sandbox, &[]).remove(0);
    let note = "note: this session used the server at";
    let ran = at(&two, &["chat"], &format!("/resume {first}\n"));
    assert!(ran.stdout.contains(note), "{ran}");
    let resumed = at(&two, &["resume", "--last"], "/status\n");
    assert!(resumed.stderr.contains(note), "{resumed}");
    assert_eq!(sent.lock().unwrap().len(), 0, "nothing was sent");
}

#[test]
fn limits_of_the_command_line_hold_in_each_session_of_the_chat() {
    let sandbox = scripted();
    lines(&sandbox, &[], "the first one\n");
    let first = ids(&sandbox, &[]).remove(0);
    assert_eq!(limits(&sandbox, &first), [50]);
    let input = format!("hello\n/new\nagain\n/resume {first}\nmore\n");
    let ran = lines(&sandbox, &["--max-iterations", "7"], &input);
    assert_eq!(limits(&sandbox, &first), [50, 7], "{ran}");
    for other in ids(&sandbox, &[]).iter().filter(|id| **id != first) {
        assert_eq!(limits(&sandbox, other), [7], "{ran}");
    }
}

#[test]
fn limits_of_the_command_line_end_in_a_session_of_a_server_when_the_chat_leaves_it() {
    let sandbox = scripted();
    let server = Serving::start(&sandbox);
    let at = ["--connect", &server.url];
    let args = [&at[..], &["chat", "--max-iterations", "7"]].concat();
    let ran = sandbox.run_with_input(&args, "hello\n/new\nagain\n/fork\nonce more\n");
    let all = ids(&sandbox, &at);
    assert_eq!(all.len(), 3, "{ran}");
    for id in &all {
        let limits = limits(&sandbox, id);
        assert_eq!((limits.first(), limits.last()), (Some(&7), Some(&50)), "{ran}");
    }
    server.stop();
}

#[test]
fn the_title_of_the_terminal_follows_the_session() {
    let sandbox = scripted();
    let mut chat = Pty::start(&sandbox, &[], 80, 24);
    chat.wait_for_last("›");
    chat.keys("the apple one\r");
    chat.wait_for("Hello to you.");
    chat.wait_for_last("›");
    chat.keys("/new\r");
    chat.wait_for("a new session starts");
    chat.wait_for_last("›");
    chat.wait_for_title("ws · agentx");
    let first = ids(&sandbox, &[]).remove(0);
    chat.keys(&format!("/resume {first}\r"));
    chat.wait_for("› the apple one");
    chat.wait_for_last("›");
    chat.wait_for_title("the apple one · agentx");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn what_cannot_be_tried_again_or_copied_says_why() {
    let sandbox = scripted();
    let ran = lines(
        &sandbox,
        &[],
        "/retry\n!true\n/retry\n/copy\n/status\nhello\n/effort high\n/status\n/effort none\n",
    );
    for said in [
        "nothing to retry: there are no messages yet",
        "nothing to retry: the agent has not answered yet",
        "error: /copy needs a terminal",
        "effort     default",
        "effort     high",
        "there is no effort `none`: default, low, medium, high, or a number of tokens",
    ] {
        assert!(ran.stdout.contains(said), "{said}: {ran}");
    }
}

#[test]
fn a_call_that_has_not_failed_is_not_tried_again() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &["--yes"], 80, 24);
    chat.wait_for_last("›");
    chat.keys("run sleep 100\r");
    chat.wait_for("bash runs · ");
    chat.keys("/retry\r");
    chat.wait_for("stop what runs first (Esc); then /retry");
    assert!(
        !chat.lines().iter().any(|line| line.contains("error: ")),
        "{:#?}",
        chat.lines()
    );
    chat.keys("\u{3}");
    chat.wait_for("■ stopped");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn ctrl_d_at_an_open_question_asks_for_a_second_one() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 100, 24);
    chat.wait_for_last("›");
    chat.keys("run echo one\r");
    chat.wait_for_last("allow? y once · s session · a always · n no · Alt+letter at once ›");
    chat.keys("\u{4}");
    chat.wait_for("a question is open; press Ctrl-D again to leave without answering it");
    chat.keys("\u{4}");
    chat.wait_for("· not answered, so not run: bash; the agent is informed");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn commands_are_answered_while_the_server_is_away_and_messages_wait() {
    let sandbox = scripted();
    let server = Serving::start(&sandbox);
    let address = server.address();
    let mut chat = Pty::start(&sandbox, &["--connect", &server.url, "chat"], 100, 40);
    chat.wait_for_last("›");
    chat.keys("the apple one\r");
    chat.wait_for("Hello to you.");
    chat.wait_for_last("›");
    server.kill();
    chat.wait_for("reconnecting …");
    chat.keys("/copy\r");
    chat.wait_for("sent the last answer (1 line) to the clipboard of your terminal");
    chat.keys("/status\r");
    chat.wait_for("the server is away; try again when it is connected again");
    // A message waits, and what is typed behind it is answered all the same.
    chat.keys("the pear one\r");
    chat.wait_for("  … the pear one");
    chat.keys("/todo\r");
    chat.wait_for("there is no to-do list");
    chat.keys("the plum one\r");
    chat.wait_for("  … the plum one · sent when the server is back");
    let server = Serving::at(&sandbox, &address, &[]);
    chat.wait_for("· connected again");
    chat.wait_for("› the pear one");
    chat.wait_for("› the plum one");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    let shown = sandbox.run(&["sessions", "show", &ids(&sandbox, &[])[0]]);
    let at = |text: &str| {
        shown
            .stdout
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {shown}"))
    };
    assert!(at("the pear one") < at("the plum one"), "{shown}");
    server.stop();
}

#[test]
fn a_chat_whose_server_is_away_can_be_left_while_a_message_waits() {
    let sandbox = scripted();
    let server = Serving::start(&sandbox);
    let mut chat = Pty::start(&sandbox, &["--connect", &server.url, "chat"], 100, 40);
    chat.wait_for_last("›");
    chat.keys("the apple one\r");
    chat.wait_for("Hello to you.");
    chat.wait_for_last("›");
    server.kill();
    chat.wait_for("reconnecting …");
    chat.keys("the pear one\r");
    chat.wait_for("  … the pear one");
    chat.keys("/quit\r");
    assert_eq!(chat.end(), Some(0));
}
