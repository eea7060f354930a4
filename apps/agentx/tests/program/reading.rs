//! Reading in a real terminal: tools side by side, reasoning that folds, what was cut printed in full, the
//! row that says how things stand, the terminal's background, and a chat for who listens.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::Sandbox;
use crate::pty::Pty;

/// A sandbox whose model gives these answers.
fn scripted(answers: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .write("ws/.agentx/config.yaml", "scripted_answers: script.yaml\n")
        .write("ws/.agentx/script.yaml", answers);
    sandbox
}

const QUESTION: &str = "allow? y once · s session · a always · n no · Alt+letter at once ›";

fn leave(mut chat: Pty) -> Vec<String> {
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    chat.lines()
}

/// The lines from the one that is this on, without times.
fn after(lines: &[String], begin: &str) -> Vec<String> {
    let at = lines.iter().position(|line| line.trim_end() == begin).unwrap();
    let timeless = |line: &String| match line.split_once('✓') {
        Some((before, _)) => format!("{before}✓"),
        None => line.trim_end().to_owned(),
    };
    lines[at + 1..].iter().map(timeless).collect()
}

const SIDE_BY_SIDE: &str = r#"
- input: "*both*"
  calls:
    - { tool: bash, input: { command: "mkfifo a; echo a1; read x < a; echo a2" } }
    - { tool: bash, input: { command: "mkfifo b; echo b1; read x < b; echo b2" } }
    - { tool: todo, input: { todos: [ {content: Read, status: completed}, {content: Write, status: in_progress} ] } }
- input: "*both*"
  result: "*"
  say: That is it.
- input: "*list*"
  call: { tool: todo, input: { todos: [ {content: Read, status: completed}, {content: Write, status: in_progress} ] } }
- input: "*list*"
  result: "*"
  say: That is all.
"#;

#[test]
fn tools_side_by_side_have_a_row_each_and_are_told_one_after_the_other() {
    let sandbox = scripted(SIDE_BY_SIDE);
    let mut chat = Pty::start(&sandbox, &["--yes"], 100, 40);
    chat.wait_for_last("›");
    chat.keys("do both\r");
    chat.wait_for("todo  1 of 2 done");
    chat.wait_for("· a1");
    chat.wait_for("· b1");
    chat.wait_for("▸ Write · 1 of 2 done");
    chat.wait_for("bash ×2 run · ");
    sandbox.write("ws/a", "\n");
    chat.wait_for("  │ a2");
    sandbox.write("ws/b", "\n");
    chat.wait_for("That is it.");
    chat.wait_for_last("›");
    let lines = after(&leave(chat), "› do both");
    let expected = [
        "● todo  1 of 2 done",
        "  ☑ Read",
        "  ▸ Write",
        "  └ ✓",
        "● bash  mkfifo a; echo a1; read x < a; echo a2",
        "  │ a1",
        "  │ a2",
        "  └ ✓",
        "● bash  mkfifo b; echo b1; read x < b; echo b2",
        "  │ b1",
        "  │ b2",
        "  └ ✓",
        "That is it.",
    ];
    assert_eq!(lines[..expected.len()], expected, "{}", lines.join("\n"));
}

#[test]
fn what_was_cut_is_printed_whole_by_a_key() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &["--yes"], 80, 24);
    chat.wait_for_last("›");
    chat.keys("run seq 1 50\r");
    chat.wait_for("… 34 lines (Ctrl-O shows more) …");
    chat.wait_for_last("›");
    chat.keys("\u{f}");
    chat.wait_for("  │ 30");
    chat.wait_for("  └ done · ");
    chat.wait_for_last("›");
    chat.keys("/output 2\r");
    chat.wait_for("1 tools have run: /output 1 is the first of them");
    chat.wait_for_last("›");
    let lines = leave(chat);
    let thirty = lines.iter().filter(|line| line.trim_end() == "  │ 30").count();
    let one = lines.iter().filter(|line| line.trim_end() == "  │ 1").count();
    assert_eq!((one, thirty), (2, 1), "{}", lines.join("\n"));
}

#[test]
fn a_long_change_and_a_long_command_are_read_whole() {
    let rows: String = (1..=60).map(|n| format!("row {n}\\n")).collect();
    let sandbox = scripted(&format!(
        "- {{ input: \"*make*\", call: {{ tool: write, input: {{ path: new.txt, content: \"{rows}\" }} }} }}\n\
         - {{ input: \"*make*\", result: \"*\", say: \"It is made.\" }}\n\
         - {{ input: \"*begin*\", call: {{ tool: bash, input: {{ command: \"echo one\\necho two\" }} }} }}\n\
         - {{ input: \"*begin*\", result: \"*\", say: \"It has begun.\" }}\n"
    ));
    let mut chat = Pty::start(&sandbox, &[], 80, 70);
    chat.wait_for_last("›");
    chat.keys("make it\r");
    chat.wait_for("… 20 lines more (Ctrl-O shows all)");
    chat.wait_for_last(QUESTION);
    assert!(!chat.lines().iter().any(|line| line.contains("+row 60")));
    chat.keys("\u{f}");
    chat.wait_for("+row 60");
    chat.wait_for_last(QUESTION);
    chat.keys("y\r");
    chat.wait_for("It is made.");
    chat.wait_for_last("›");
    chat.keys("begin\r");
    chat.wait_for("command: echo one");
    chat.wait_for_last(QUESTION);
    chat.keys("y\r");
    chat.wait_for("● bash  echo one↵echo two");
    chat.wait_for("It has begun.");
    chat.wait_for_last("›");
    chat.keys("\u{f}");
    chat.wait_for("  └ done · ");
    chat.wait_for_last("›");
    let lines = leave(chat);
    let asked = lines
        .iter()
        .filter(|line| line.trim_end() == "    echo two")
        .count();
    assert_eq!(asked, 2, "in the question and by the key:\n{}", lines.join("\n"));
}

/// A line in the middle of a long command does something else than its ends.
#[test]
fn a_command_that_does_not_fit_on_the_screen_is_read_before_it_is_allowed() {
    let notes = "# a note\\n".repeat(30);
    let sandbox = scripted(&format!(
        "- {{ input: \"*begin*\", call: {{ tool: bash, input: {{ command: \"{notes}touch made\\n{notes}\" }} }} }}\n\
         - {{ input: \"*begin*\", result: \"*\", say: \"It has begun.\" }}\n"
    ));
    let mut chat = Pty::start(&sandbox, &[], 80, 24);
    chat.wait_for_last("›");
    chat.keys("begin\r");
    chat.wait_for("more rows (Ctrl-O shows all)");
    chat.wait_for_last(QUESTION);
    chat.keys("y\r");
    chat.wait_for("not all of this question fits on the screen");
    chat.wait_for_last(QUESTION);
    assert!(!sandbox.path("ws/made").exists(), "nobody has seen that line");
    chat.keys("\u{f}");
    chat.wait_for("    touch made");
    chat.wait_for_last(QUESTION);
    chat.keys("y\r");
    chat.wait_for("It has begun.");
    assert!(sandbox.path("ws/made").exists());
    chat.wait_for_last("›");
    leave(chat);
}

#[test]
fn reasoning_is_folded_and_shown_again() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 100, 40);
    chat.wait_for_last("›");
    chat.keys("think about rain\r");
    chat.wait_for("words (/thinking shows it)");
    chat.wait_for_last("›");
    assert!(
        !chat
            .lines()
            .iter()
            .any(|line| line.contains("this text only shows how reasoning looks"))
    );
    chat.keys("/thinking\r");
    chat.wait_for("this text only shows how reasoning looks");
    chat.wait_for_last("›");
    chat.keys("\u{14}");
    chat.wait_for("reasoning is now shown (Ctrl-T folds it)");
    chat.keys("think about snow\r");
    chat.wait_for("is: snow");
    chat.wait_for_last("›");
    leave(chat);
}

#[test]
fn the_row_is_what_the_person_wants_it_to_be() {
    let sandbox = Sandbox::new();
    sandbox.config("chat:\n  status: \"{session} | {iterations} | {workspace}\"\n");
    let mut chat = Pty::start(&sandbox, &[], 100, 30);
    chat.wait_for_last("›");
    chat.keys("hello\r");
    chat.wait_for(" | 0 rounds | ");
    chat.wait_for_last("›");
    leave(chat);
    sandbox.config("chat:\n  status_command: \"grep -o '\\\"model\\\":[^,]*'\"\n");
    let mut chat = Pty::start(&sandbox, &[], 100, 30);
    chat.wait_for_last("›");
    chat.keys("hello\r");
    chat.wait_for("\"model\":\"scripted\"");
    chat.wait_for_last("›");
    leave(chat);
    sandbox.config("chat: {status: \"{modell}\"}\n");
    let ran = sandbox.run(&["chat"]);
    assert_eq!(ran.code, Some(3), "{ran}");
    assert!(
        ran.stderr.contains("there is no `{modell}`") && ran.stderr.contains("did you mean"),
        "{ran}"
    );
}

#[test]
fn the_answer_about_the_background_never_ends_in_what_is_written() {
    let sandbox = Sandbox::new();
    let colours = [("NO_COLOR", ""), ("TERM", "xterm-256color")];
    let mut chat = Pty::start_with(&sandbox, &[], 80, 30, &colours);
    chat.wait_for_last("›");
    chat.keys("hel\u{1b}]11;rgb:ffff/ffff/ffff\u{1b}\\lo\r");
    chat.wait_for("› hello");
    chat.wait_for("built-in demo");
    chat.wait_for_last("›");
    let lines = leave(chat);
    assert!(
        !lines.iter().any(|line| line.contains("rgb:")),
        "{}",
        lines.join("\n")
    );
}

#[test]
fn who_listens_gets_whole_lines_and_words() {
    let sandbox = scripted(SIDE_BY_SIDE);
    let mut chat = Pty::start(&sandbox, &["--plain", "--yes"], 100, 60);
    chat.wait_for("config.yaml");
    chat.keys("make a list\r");
    chat.wait_for("done; type a message and press Enter");
    chat.keys("/quit\r");
    assert_eq!(chat.end(), Some(0));
    let lines = chat.lines();
    for told in [
        "waiting for scripted",
        "done: Read",
        "now: Write",
        "tool todo: 1 of 2 done",
        "That is all.",
    ] {
        assert!(
            lines.iter().any(|line| line.contains(told)),
            "{told}:\n{}",
            lines.join("\n")
        );
    }
    assert!(
        !lines.iter().any(|line| line.contains(['●', '└', '✓', '│', '⠋'])),
        "{}",
        lines.join("\n")
    );
}
