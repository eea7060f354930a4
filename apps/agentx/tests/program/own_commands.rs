//! Commands of the user in a chat: shown while they run, stopped with all that they started, and in nobody's
//! way.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::Sandbox;
use crate::pty::Pty;

const UP: &str = "\u{1b}[A";
const STOP: &str = "\u{3}";

fn count(chat: &Pty, text: &str) -> usize {
    chat.lines().iter().filter(|line| line.trim_end() == text).count()
}

fn leave(mut chat: Pty) -> Vec<String> {
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    chat.lines()
}

#[test]
fn a_command_of_ones_own_is_shown_while_it_runs_and_ends_with_all_that_it_started() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 100, 40);
    chat.wait_for_last("›");
    chat.keys("!sh -c 'echo $$ > inner; echo up; sleep 60' & wait\r");
    chat.wait_for("  │ up");
    chat.wait_for("sleep 60' & wait · ");
    chat.keys("typed meanwhile\u{1b}");
    chat.wait_for("  └ ■ stopped · sent to the agent with your next message");
    chat.wait_for_last("› typed meanwhile");
    chat.keys("\u{15}!while grep -qs sleep /proc/$(cat inner)/cmdline; do :; done; seq 1 100; exit 3\r");
    chat.wait_for("  └ exit 3 · sent to the agent with your next message");
    let shown = leave(chat);
    for line in ["  │ 1", "  │ 20", "  │ … 60 lines …", "  │ 81", "  │ 100"] {
        assert!(
            shown.iter().any(|row| row.trim_end() == line),
            "{line}: {shown:#?}"
        );
    }
}

#[test]
fn a_command_that_asks_has_the_terminal_and_the_chat_comes_back() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "ws/ask.sh",
        "printf 'your name? '; read -r name; test -t 1 && echo \"hello $name\"; exit 4\n",
    );
    let mut chat = Pty::start(&sandbox, &[], 100, 40);
    chat.wait_for_last("›");
    chat.keys("!!sh ask.sh\r");
    chat.wait_for_last("your name?");
    chat.keys("Ada\r");
    chat.wait_for("hello Ada");
    chat.wait_for("  └ exit 4 · the agent sees that you ran it");
    chat.wait_for_last("›");
    chat.keys("echo still here\r");
    chat.wait_for("still here");
    chat.wait_for("in, 3 out");
    chat.wait_for_last("›");
    leave(chat);
    let exported = sandbox.run(&["sessions", "list", "--json"]);
    assert!(exported.stdout.contains("ses_"), "{exported}");
}

#[test]
fn a_command_that_has_the_terminal_is_marked_and_names_what_it_did_not_get() {
    let sandbox = Sandbox::new().env("MADE_UP_TOKEN", "not-for-commands");
    let mut chat = Pty::start(&sandbox, &[], 100, 40);
    chat.wait_for_last("›");
    chat.keys("!!env > seen; grep -c '^AGENTX_CALL=' seen; grep -c MADE_UP_TOKEN seen\r");
    chat.wait_for("  └ exit 1 · the agent sees that you ran it");
    chat.wait_for("  · commands run without MADE_UP_TOKEN");
    chat.wait_for_last("›");
    let seen = std::fs::read_to_string(sandbox.path("ws/seen")).unwrap();
    assert!(
        seen.lines().any(|line| line.starts_with("AGENTX_CALL=")),
        "{seen}"
    );
    assert!(!seen.contains("not-for-commands"), "{seen}");
    leave(chat);
}

#[test]
fn two_marks_alone_say_how_the_terminal_is_lent() {
    let ran = Sandbox::new().run_with_input(&[], "!!\n");
    assert!(
        ran.stdout
            .contains("not run: `!!COMMAND` gives the terminal to a command that reads keys"),
        "{ran}"
    );
}

#[test]
fn a_command_runs_in_the_shell_of_the_person() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/shell", "#!/bin/sh\necho \"my shell: $2\"; echo oops >&2\n");
    let shell = sandbox.path("ws/shell");
    std::fs::set_permissions(&shell, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let sandbox = sandbox.env("SHELL", shell.to_str().unwrap());
    let ran = sandbox.run_with_input(&[], "!ls 'a b'\n");
    assert!(ran.stdout.contains("  │ my shell: ls 'a b'\n  │ oops"), "{ran}");
}

#[test]
fn what_a_command_leaves_running_is_a_job_and_ends_with_the_chat() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 100, 40);
    chat.wait_for_last("›");
    chat.keys("!sh -c 'echo $$ > inner; exec sleep 600' & sh -c 'exec sleep 601' &\r");
    chat.wait_for("  · own_1 continues in the background until you leave; /jobs stop own_1 ends it");
    chat.keys("!sleep 602 &\r");
    chat.wait_for("  · own_2 continues");
    chat.wait_for("2 jobs");
    chat.keys("/jobs stop 2\r");
    chat.wait_for("own_2 was ended");
    chat.wait_until_gone("2 jobs");
    chat.keys("\u{4}");
    chat.wait_for("1 job is still running: sh -c 'echo $$ > inner; exec sleep 600' & sh -c 'exec");
    let shown = leave(chat);
    assert!(
        shown
            .iter()
            .any(|line| line.starts_with("1 job was ended: sh -c")),
        "{shown:#?}"
    );
    let mut next = Pty::start(&sandbox, &[], 100, 40);
    next.wait_for_last("›");
    next.keys("!while grep -qs sleep /proc/$(cat inner)/cmdline; do :; done; echo it is gone\r");
    next.wait_for("  │ it is gone");
    next.wait_for_last("›");
    leave(next);
}

#[test]
fn a_flood_that_a_command_leaves_behind_keeps_nobody_waiting() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 80, 24);
    chat.wait_for_last("›");
    chat.keys("!for i in 1 2 3 4 5 6 7 8; do yes a flood & done\r");
    chat.wait_for("  └ exit 0 · sent to the agent");
    chat.keys("!yes another\r");
    chat.wait_for("! running yes another · ");
    chat.keys("\u{1b}");
    chat.wait_for("  └ ■ stopped · sent to the agent");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn long_lines_are_broken_and_nothing_of_them_is_left_out() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 40, 40);
    chat.wait_for_last("›");
    chat.keys("!echo this line is longer than the terminal is wide\r");
    chat.wait_for("  └ exit 0");
    chat.wait_for_last("›");
    let lines = leave(chat);
    let said: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.strip_prefix("  │ "))
        .collect();
    let said: Vec<&str> = said.iter().map(|line| line.trim_end()).collect();
    assert_eq!(said, ["this line is longer than the", "terminal is wide"]);
}

#[test]
fn what_is_typed_meanwhile_is_seen_and_what_is_sent_waits() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 80, 40);
    chat.wait_for_last("›");
    chat.keys("!until [ -e over ]; do sleep 0.05; done; echo it is over\r");
    chat.wait_for("! running ");
    chat.keys("hello");
    chat.wait_for_last("› hello");
    chat.keys("\r");
    chat.wait_for("  … hello · sent when it has ended");
    chat.keys("and more\r");
    chat.wait_for("  … and more · sent when it has ended");
    chat.keys(UP);
    chat.wait_for_last("› and more");
    assert_eq!(count(&chat, "  … and more · sent when it has ended"), 0);
    sandbox.write("ws/over", "");
    chat.wait_for("  └ exit 0");
    chat.wait_for("built-in demo");
    chat.wait_for_last("› and more");
    assert_eq!((count(&chat, "› hello"), count(&chat, "  │ it is over")), (1, 1));
    chat.keys("\u{15}!sleep 60\r");
    chat.wait_for("! running sleep 60 · ");
    chat.keys("not yet\r");
    chat.wait_for("  … not yet · sent when it has ended");
    chat.keys(STOP);
    chat.wait_for("■ stopped");
    chat.wait_for_last("› not yet");
    chat.keys("\u{15}");
    chat.wait_for_last("›");
    leave(chat);
}

#[test]
fn a_question_that_comes_meanwhile_is_answered_at_once() {
    let sandbox = Sandbox::new();
    sandbox
        .config("rules: [{ effect: allow, tool: bash, argument: \"sh wait.sh\" }]\n")
        .write("ws/.agentx/config.yaml", "scripted_answers: script.yaml\n")
        .write("ws/wait.sh", "until [ -e one ]; do sleep 0.05; done\n")
        .write(
            "ws/.agentx/script.yaml",
            "- { input: \"*go*\", call: { tool: bash, input: { command: sh wait.sh } } }\n\
             - { input: \"*go*\", result: \"*\", nth: 2, call: { tool: bash, input: { command: touch two } } }\n\
             - { input: \"*go*\", result: \"*\", say: \"That is all.\" }\n",
        );
    let mut chat = Pty::start(&sandbox, &[], 80, 40);
    chat.wait_for_last("›");
    chat.keys("go\r");
    chat.wait_for("bash runs");
    chat.keys("!until [ -e three ]; do sleep 0.05; done\r");
    chat.wait_for("! running until [ -e three ]");
    // Sent before anybody asked: it is not an answer.
    chat.keys("y\r");
    chat.wait_for("  … y · sent when it has ended");
    sandbox.write("ws/one", "");
    chat.wait_for("command: touch two");
    chat.wait_for_last("allow? y once · s session · a always · n no · Alt+letter at once ›");
    assert!(!sandbox.path("ws/two").exists());
    chat.keys("y\r");
    chat.wait_for("That is all.");
    assert!(sandbox.path("ws/two").exists());
    sandbox.write("ws/three", "");
    chat.wait_for("  └ exit 0 · sent to the agent");
    chat.wait_for("› y");
    chat.wait_for_last("›");
    leave(chat);
}

#[test]
fn a_person_leaves_while_a_command_of_their_own_runs_and_it_ends() {
    for keys in ["\u{4}", "/quit\r", "exit\r"] {
        let sandbox = Sandbox::new();
        let mut chat = Pty::start(&sandbox, &[], 80, 24);
        chat.wait_for_last("›");
        chat.keys("!sleep 60\r");
        chat.wait_for("! running sleep 60 · ");
        chat.keys(keys);
        assert_eq!(chat.end(), Some(0), "{keys:?}");
        assert_eq!(
            count(&chat, "  └ ■ stopped · sent to the agent with your next message"),
            1,
            "{keys:?}: {:#?}",
            chat.lines()
        );
    }
}

#[test]
fn commands_that_only_show_something_do_not_wait_for_a_command_of_ones_own() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 80, 40);
    chat.wait_for_last("›");
    chat.keys("!sleep 60\r");
    chat.wait_for("! running sleep 60 · ");
    chat.keys("/approve-mode\r");
    chat.wait_for("you are asked about calls that no rule covers");
    chat.keys("/approve-mode deny\r");
    chat.wait_for("  … /approve-mode deny · sent when it has ended");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn what_waits_for_a_command_of_ones_own_is_in_the_history_when_the_program_is_ended() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 80, 40);
    chat.wait_for_last("›");
    chat.keys("!sleep 60\r");
    chat.wait_for("! running sleep 60 · ");
    chat.keys("first the tests\rthen the docs\r");
    chat.wait_for("  … then the docs · sent when it has ended");
    chat.terminate_program();
    assert_eq!(chat.end(), Some(143));
    let told = "· 2 messages were not sent; press ↑ in the next chat to get them back";
    assert_eq!(count(&chat, told), 1, "{:#?}", chat.lines());
    let mut next = Pty::start(&sandbox, &[], 80, 40);
    next.wait_for_last("›");
    next.keys(UP);
    next.wait_for_last("› then the docs");
    next.keys(UP);
    next.wait_for_last("› first the tests");
    next.keys("\u{15}");
    next.wait_for_last("›");
    leave(next);
}
