//! Writing and steering in a real terminal: what is queued, taken back, heard at once; vi's keys; the
//! person's own editor.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::Sandbox;
use crate::pty::Pty;
use crate::serving::Serving;

const UP: &str = "\u{1b}[A";
const ALT_UP: &str = "\u{1b}[1;3A";
const STOP: &str = "\u{3}";

fn count(chat: &Pty, text: &str) -> usize {
    chat.lines().iter().filter(|line| line.trim_end() == text).count()
}

/// A chat in the middle of a long answer.
fn while_it_answers(sandbox: &Sandbox) -> Pty {
    let mut chat = Pty::start(sandbox, &[], 80, 40);
    chat.wait_for_last("›");
    chat.keys("tell a long story\r");
    chat.wait_for("Chapter 1");
    chat
}

fn leave(mut chat: Pty) -> Vec<String> {
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    chat.lines()
}

#[test]
fn what_is_queued_is_shown_taken_back_and_written_otherwise() {
    let sandbox = Sandbox::new();
    let mut chat = while_it_answers(&sandbox);
    chat.keys("thanks\r");
    chat.wait_for("  1 › thanks");
    chat.keys("and\u{a}more\r");
    chat.wait_for("  2 › and (+1 line)");
    chat.wait_for("Alt-↑ edits the last");
    chat.keys(UP);
    chat.wait_for_last("  more");
    assert_eq!(count(&chat, "  2 › and (+1 line)"), 0, "it is in the line again");
    chat.keys(" words");
    chat.keys(ALT_UP);
    chat.wait_until_gone("  1 › thanks");
    chat.wait_for("  … and · comes back when the line is free");
    chat.wait_for_last("› thanks");
    chat.keys("\r");
    chat.wait_for("  1 › thanks");
    chat.wait_for_last("  more words");
    chat.keys("\r");
    chat.wait_for("  2 › and (+1 line)");
    chat.keys("/queue remove 1\r");
    chat.wait_for("taken out: thanks");
    chat.keys(STOP);
    chat.wait_for("■ stopped");
    chat.wait_for_last("  more words");
    chat.keys(STOP);
    chat.wait_for_last("›");
    let lines = leave(chat);
    let said = lines.iter().filter(|line| line.starts_with("› ")).count();
    assert_eq!(said, 2, "the story and the command:\n{}", lines.join("\n"));
}

#[test]
fn a_key_that_comes_just_too_late_to_stop_a_run_does_not_leave() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 80, 40);
    chat.wait_for_last("›");
    chat.keys("hello\r");
    chat.wait_for("built-in demo");
    chat.wait_for_last("›");
    chat.keys(STOP);
    chat.wait_for_last("The answer had already ended. Ctrl-C again leaves AgentX.");
    chat.keys(STOP);
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn leaving_by_the_key_that_stops_takes_two_presses() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 80, 40);
    chat.wait_for_last("›");
    chat.keys(STOP);
    chat.wait_for_last("Ctrl-C again leaves AgentX.");
    chat.keys("hello\r");
    chat.wait_for("built-in demo");
    chat.wait_for_last("›");
    chat.keys("\u{3}\u{3}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn what_is_queued_comes_back_when_the_run_is_stopped() {
    let sandbox = Sandbox::new();
    let mut chat = while_it_answers(&sandbox);
    chat.keys("one\r");
    chat.wait_for("  1 › one");
    chat.keys("two\r");
    chat.wait_for("  2 › two");
    chat.keys("draft");
    chat.wait_for_last("› draft");
    chat.keys("\u{1b}");
    chat.wait_for("■ stopped");
    chat.wait_for_last("› one");
    chat.wait_for("  … two · comes back when the line is free");
    chat.wait_for("  … draft · comes back when the line is free");
    for next in ["› two", "› draft", "›"] {
        chat.keys("\u{3}");
        chat.wait_for_last(next);
    }
    let lines = leave(chat);
    assert!(
        !lines.iter().any(|line| line == "› one"),
        "nothing of it was said:\n{}",
        lines.join("\n")
    );
}

#[test]
fn what_is_to_be_heard_at_once_joins_the_run() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &["--yes"], 80, 40);
    chat.wait_for_last("›");
    chat.keys("run sh -c 'while [ ! -e go ]; do sleep 0.05; done'\r");
    chat.wait_for("Esc stops");
    chat.keys("later\r");
    chat.wait_for("  1 › later");
    chat.keys("hello\u{13}");
    chat.wait_for("  1 » hello · read next");
    chat.keys("\u{13}");
    chat.wait_for("  2 » later · read next");
    sandbox.write("ws/go", "");
    chat.wait_for_last("›");
    let lines = leave(chat);
    let said: Vec<&String> = lines.iter().filter(|line| line.starts_with("› ")).collect();
    assert_eq!(
        said[1..],
        ["› hello", "› later"],
        "in one run:\n{}",
        lines.join("\n")
    );
}

#[test]
fn what_is_queued_is_there_after_a_kill() {
    let sandbox = Sandbox::new();
    let mut chat = while_it_answers(&sandbox);
    chat.keys("thanks\r");
    chat.wait_for("  1 › thanks");
    chat.kill_program();
    let shown = sandbox.run(&["show", "--last"]);
    assert!(shown.stdout.contains("… thanks · queued"), "{shown}");
    let mut chat = Pty::start(&sandbox, &["resume", "--last"], 80, 40);
    chat.wait_for("  1 › thanks");
    chat.keys(UP);
    chat.wait_for_last("› thanks");
    chat.keys("!\r");
    chat.wait_for("  1 › thanks!");
    chat.keys(STOP);
    chat.wait_for_last("› thanks!");
    chat.keys("\r");
    chat.wait_for("■ stopped");
    chat.wait_for_last("›");
    let lines = leave(chat);
    assert!(
        lines.iter().any(|line| line == "› thanks!"),
        "{}",
        lines.join("\n")
    );
}

#[test]
fn what_was_written_and_not_sent_is_in_the_line_again_after_the_program_was_told_to_end() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &["chat"], 80, 40);
    chat.wait_for_last("›");
    chat.keys("an unsent draft of mine");
    chat.wait_for_last("› an unsent draft of mine");
    chat.terminate_program();
    assert_eq!(chat.end(), Some(143));
    let mut chat = Pty::start(&sandbox, &["chat"], 80, 40);
    chat.wait_for_last("› an unsent draft of mine");
    // It is in the history, too.
    chat.keys(STOP);
    chat.wait_for_last("›");
    chat.keys(UP);
    chat.wait_for_last("› an unsent draft of mine");
}

#[test]
fn a_draft_survives_a_kill_in_the_session_in_which_it_was_written_until_it_is_sent() {
    let sandbox = Sandbox::new();
    let draft = sandbox.path("home/.local/share/agentx/drafts/1");
    let mut chat = Pty::start(&sandbox, &[], 80, 40);
    chat.wait_for_last("›");
    chat.keys("tell a");
    chat.wait_for_last("› tell a");
    chat.wait_for_file(&draft);
    chat.kill_program();
    let mut chat = Pty::start(&sandbox, &[], 80, 40);
    chat.wait_for("· the text that you had not sent is in the line again");
    chat.wait_for_last("› tell a");
    chat.keys(" long story\r");
    chat.wait_for("Chapter 1");
    assert!(!draft.exists());
    chat.keys("\u{1b}");
    chat.wait_for("■ stopped");
    chat.wait_for_last("›");
    chat.keys("first line\u{a}second line");
    chat.wait_for_last("  second line");
    chat.wait_for_file(&draft);
    chat.kill_program();
    // It belongs to that session.
    let mut other = Pty::start(&sandbox, &[], 80, 40);
    other.wait_for_last("›");
    let _ = leave(other);
    let mut chat = Pty::start(&sandbox, &["resume", "--last"], 80, 40);
    chat.wait_for_last("  second line");
    chat.keys(STOP);
    chat.wait_for_last("›");
    let _ = leave(chat);
    assert!(!draft.exists());
}

#[test]
fn a_command_that_a_kill_cut_off_is_no_draft() {
    let sandbox = Sandbox::new();
    let draft = sandbox.path("home/.local/share/agentx/drafts/1");
    let mut chat = Pty::start(&sandbox, &[], 80, 40);
    chat.wait_for_last("›");
    chat.keys("!echo once >> ran.txt; sleep 10");
    chat.wait_for_file(&draft);
    chat.keys("\r");
    chat.wait_for_file(&sandbox.path("ws/ran.txt"));
    assert!(!draft.exists(), "it runs, and would run again");
    chat.kill_program();
}

#[test]
fn a_message_that_a_stalled_server_has_not_accepted_is_kept() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let mut chat = Pty::start(&sandbox, &["--connect", &server.url, "chat"], 100, 40);
    chat.wait_for_last("›");
    chat.keys("tell a long story\r");
    chat.wait_for("Chapter 1");
    server.freeze();
    chat.keys("and then the docs\r");
    chat.wait_for("  1 … and then the docs");
    let draft = sandbox.path("home/.local/share/agentx/drafts/1");
    chat.wait_for_file(&draft);
    chat.kill_program();
    let kept = std::fs::read_to_string(draft).unwrap();
    assert!(kept.contains("and then the docs"), "{kept}");
}

#[test]
fn a_draft_that_was_sent_after_all_or_whose_session_is_deleted_does_not_come_back() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["run", "hello there"]).code, Some(0));
    let id = sandbox.latest_id([]);
    let drafts = sandbox.path("home/.local/share/agentx/drafts");
    let draft = |name: &str, at: &str, after: &str, texts: &[&str]| {
        let lines = format!("{{\"at\":{at:?}{after}}}\n{texts:?}\n");
        sandbox.write(&format!("home/.local/share/agentx/drafts/{name}"), lines);
    };
    // A kill between the acceptance of a message and the end of its draft, or after a part was written. Files
    // of earlier versions do not say after which event they were written.
    let workspace = sandbox.path("ws").display().to_string();
    for after in ["", ",\"after\":0"] {
        draft("1", &id, after, &["hello the"]);
        draft("2", &workspace, after, &["hello there"]);
        let places: [&[&str]; 2] = [&["resume", "--last"], &[]];
        for args in places {
            let mut chat = Pty::start(&sandbox, args, 80, 40);
            chat.wait_for_last("›");
            let lines = leave(chat);
            let came_back = lines.iter().any(|line| line.contains("had not sent"));
            assert!(!came_back, "{after} {args:?}:\n{}", lines.join("\n"));
        }
        assert!(!drafts.join("1").exists() && !drafts.join("2").exists());
    }
    // The same words, typed after that message, also in a new chat; and a text behind one that was sent
    // meanwhile.
    let later = ",\"after\":9000000000000000";
    type Typed<'a> = (&'a str, &'a str, &'a [&'a str], &'a [&'a str], &'a str);
    let typed: [Typed<'_>; 3] = [
        (
            id.as_str(),
            later,
            &["hello there"],
            &["resume", "--last"],
            "› hello there",
        ),
        (workspace.as_str(), later, &["hello there"], &[], "› hello there"),
        (
            id.as_str(),
            ",\"after\":0",
            &["hello there", "a plan"],
            &["resume", "--last"],
            "› a plan",
        ),
    ];
    for (at, after, texts, args, line) in typed {
        draft("1", at, after, texts);
        let mut chat = Pty::start(&sandbox, args, 80, 40);
        chat.wait_for("· the text that you had not sent is in the line again");
        chat.wait_for_last(line);
        chat.keys(STOP);
        chat.wait_for_last("›");
        let _ = leave(chat);
    }
    draft("3", &id, "", &["a plan"]);
    let deleted = sandbox.run(&["sessions", "delete", &id, "--yes"]);
    assert_eq!(deleted.code, Some(0), "{deleted}");
    assert!(!drafts.join("3").exists());
    draft("4", &id, "", &["a plan"]);
    let collected = sandbox.run(&["sessions", "gc"]);
    assert_eq!(collected.code, Some(0), "{collected}");
    assert!(!drafts.join("4").exists());
}

#[test]
fn a_draft_with_the_words_of_the_last_message_survives_a_kill_also_in_a_chat_with_a_server() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let draft = sandbox.path("home/.local/share/agentx/drafts/1");
    let mut chat = Pty::start(&sandbox, &["--connect", &server.url, "chat"], 100, 40);
    chat.wait_for_last("›");
    chat.keys("tell a long story\r");
    chat.wait_for("Chapter 1");
    chat.keys("\u{1b}");
    chat.wait_for("■ stopped");
    chat.wait_for_last("›");
    chat.keys("tell a");
    chat.wait_for_last("› tell a");
    chat.wait_for_file(&draft);
    chat.kill_program();
    let mut chat = Pty::start(&sandbox, &["--connect", &server.url, "resume", "--last"], 100, 40);
    chat.wait_for("· the text that you had not sent is in the line again");
    chat.wait_for_last("› tell a");
}

#[test]
fn what_is_queued_at_a_server_is_seen_from_every_seat() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let mut chat = Pty::start(&sandbox, &["--connect", &server.url, "chat"], 100, 40);
    chat.wait_for_last("›");
    chat.keys("tell a long story\r");
    chat.wait_for("Chapter 1");
    let mut other = Pty::start(&sandbox, &["--connect", &server.url, "resume", "--last"], 100, 40);
    other.wait_for("Chapter 1");
    chat.keys("thanks\r");
    chat.wait_for("  1 › thanks");
    other.wait_for("  1 › thanks");
    chat.keys(UP);
    chat.wait_for_last("› thanks");
    other.wait_until_gone("  1 › thanks");
    chat.keys("!\r");
    other.wait_for("  1 › thanks!");
    chat.keys("\u{13}");
    other.wait_for("  1 » thanks! · read next");
    chat.keys("/queue remove 1\r");
    other.wait_until_gone("  1 » thanks! · read next");
    chat.wait_for("taken out: thanks!");
}

#[test]
fn the_keys_of_vi() {
    let sandbox = Sandbox::new();
    sandbox.write("home/.config/agentx/config.yaml", "chat:\n  keys: vi\n");
    let mut chat = Pty::start(&sandbox, &[], 80, 40);
    chat.wait_for_last("›");
    chat.keys("tell a lng story");
    chat.wait_for_last("› tell a lng story");
    chat.keys("\u{1b}");
    chat.wait_for_last("‹ tell a lng story");
    chat.keys("0fnio\u{1b}");
    chat.wait_for_last("‹ tell a long story");
    chat.keys("\r");
    chat.wait_for("Chapter 1");
    chat.keys("\u{1b}");
    chat.wait_for_last("‹");
    chat.keys("\u{1b}");
    chat.wait_for("■ stopped");
    chat.keys("\u{3}\u{3}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn the_line_is_written_in_the_persons_own_editor() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "bin/editor",
        "#!/bin/sh\nstty -a < /dev/tty | grep -q ' icanon' || exit 9\nstat -c %a \"$1\" > \"$HOME/mode\"\nprintf '%s' \"$1\" > \"$HOME/path\"\ncp \"$1\" \"$HOME/before\"\nread -r answer < /dev/tty\nprintf 'help\\nwith %s\\n' \"$answer\" > \"$1\"\n",
    );
    let made = std::process::Command::new("chmod")
        .args(["+x", sandbox.path("bin/editor").to_str().unwrap()])
        .status();
    assert!(made.unwrap().success());
    let editor = sandbox.path("bin/editor").display().to_string();
    let mut chat = Pty::start_with(&sandbox, &[], 80, 40, &[("VISUAL", &editor)]);
    chat.wait_for_last("›");
    chat.keys("draft\u{18}\u{5}");
    chat.wait_for_file(&sandbox.path("home/before"));
    chat.keys("words typed there\n");
    chat.wait_for_last("  with words typed there");
    let read = |name: &str| std::fs::read_to_string(sandbox.path(&format!("home/{name}"))).unwrap();
    assert_eq!(read("before"), "draft");
    assert_eq!(read("mode").trim(), "600");
    assert!(!std::path::Path::new(&read("path")).exists(), "the file is gone");
    chat.keys("!\r");
    chat.wait_for("  with words typed there!");
    chat.wait_for_last("›");
    leave(chat);
}

#[test]
fn an_editor_that_fails_loses_nothing() {
    let sandbox = Sandbox::new();
    let check = |editor: &str, complaint: &str| {
        let mut chat = Pty::start_with(&sandbox, &[], 100, 40, &[("EDITOR", editor)]);
        chat.wait_for_last("›");
        chat.keys("draft\u{18}\u{5}");
        chat.wait_for(complaint);
        chat.wait_for_last("› draft");
        chat.keys("\u{3}");
        chat.wait_for_last("›");
        leave(chat);
    };
    check("no-such-editor", "editor \"no-such-editor\" not found");
    check("false", "the input is unchanged");
    check("rm", "cannot use the text in");
}

#[test]
fn enter_with_shift_or_alt_and_a_paste_in_pieces() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 40, 30);
    chat.wait_for_last("›");
    chat.keys("one\u{1b}[13;2utwo\u{1b}\rthree\\\rfour");
    chat.wait_for_last("  four");
    chat.keys("\u{3}");
    chat.wait_for_last("›");
    chat.keys("\u{1b}[200~first half, ");
    chat.keys("e\u{301}👨‍👩‍👧好\n");
    chat.keys(&"line\r".repeat(4_998));
    chat.keys("end\u{1b}[201~");
    chat.wait_for_last("› [pasted 1: 5000 lines, 25.0 kB]");
    chat.keys("\u{7f}");
    chat.wait_for_last("›");
    leave(chat);
}

#[test]
fn xterm_is_asked_to_send_alt_as_others_do_and_is_given_back_as_it_was() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 80, 24);
    chat.wait_for_last("›");
    assert!(
        !chat.modes().iter().any(|told| told.contains("1036")),
        "it may be another"
    );
    chat.keys("\u{1b}P>|XTerm(390)\u{1b}\\");
    chat.wait_for_mode("?1036;1039h");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    let told: Vec<&String> = chat.modes().iter().filter(|told| told.contains("1036")).collect();
    assert_eq!(told, ["?1036;1039s", "?1036;1039h", "?1036;1039r"]);
}

#[test]
fn an_xterm_that_can_is_asked_to_tell_shift_enter_from_enter() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 80, 24);
    chat.wait_for_last("›");
    chat.keys("\u{1b}P>|XTerm(398)\u{1b}\\");
    chat.wait_for_mode(">4;1m");
    chat.keys("one\u{1b}[13;2utwo");
    chat.wait_for_last("  two");
    chat.keys("\u{3}\u{4}");
    assert_eq!(chat.end(), Some(0));
    let told: Vec<&String> = chat
        .modes()
        .iter()
        .filter(|told| told.starts_with(">4"))
        .collect();
    assert_eq!(told, [">4;1f", ">4;1m", ">4m", ">4f"]);
}

#[test]
fn keys_are_told_apart_while_the_chat_has_the_terminal_and_no_longer() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start_with(&sandbox, &[], 80, 24, &[("TERM", "xterm-kitty")]);
    chat.wait_for_last("›");
    chat.keys("one\u{1b}[13;2utwo");
    chat.wait_for_last("  two");
    chat.keys("\u{1b}[99;5u\u{1b}[100;5u");
    assert_eq!(chat.end(), Some(0));
    let keys: Vec<&String> = chat.modes().iter().filter(|told| told.ends_with('u')).collect();
    assert_eq!(
        keys,
        ["<16u", ">1u", "<u"],
        "what a killed program left is gone, too"
    );
}

#[test]
fn who_does_not_go_on_editing_is_told_that_nothing_was_changed() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/editor", "#!/bin/sh\nprintf 'log: loud\\n' > \"$1\"\n");
    let editor = format!("sh {}", sandbox.path("ws/editor").display());
    let mut edit = Pty::start_with(&sandbox, &["config", "edit"], 100, 24, &[("EDITOR", &editor)]);
    edit.wait_for("keep editing? y/n ›");
    edit.keys("n\r");
    edit.wait_for("error: the file is unchanged");
    assert_eq!(edit.end(), Some(2));
    assert!(!sandbox.path("home/.config/agentx/config.yaml").exists());
}
