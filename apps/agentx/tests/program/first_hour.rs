//! The first hour of people who come from other programs: who decides about calls, what is
//! left out of the environment, what runs in the background, and lines that were meant for the chat.
#![cfg(unix)]

use crate::common::Sandbox;
use crate::pty::Pty;
use crate::rewind::id_of;

const PROMPT: &str = "›";
const QUESTION: &str = "allow? y once · s session · a always · n no · Alt+letter at once ›";

/// Made up.
const TOKEN: &str = "made-up-token-of-nobody";

fn leave(mut chat: Pty) {
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn the_row_says_who_decides_from_the_start_and_as_soon_as_that_changes() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &["--yes"], 120, 40);
    chat.wait_for_last(PROMPT);
    chat.wait_for("auto-yes · scripted");
    chat.keys("/status\r");
    chat.wait_for("calls run without asking; `--yes` also answers the questions of rules");
    chat.keys("/approve-mode ask\r");
    chat.wait_for("from now on you are asked about calls that no rule covers");
    chat.wait_until_gone("auto-yes");
    chat.keys("run touch made\r");
    chat.wait_for("because running a program needs your approval");
    chat.wait_for_last(QUESTION);
    chat.keys("n\r");
    chat.wait_for_last(PROMPT);
    chat.keys("/approve-mode auto\r");
    chat.wait_for("from now on calls run without asking");
    chat.wait_for("auto · scripted");
    chat.keys("/status\r");
    chat.wait_for("approval   calls run without asking, unless a rule asks or denies");
    assert!(
        !chat.lines().iter().any(|line| line.contains("auto-yes · ")),
        "{:#?}",
        chat.lines()
    );
    leave(chat);
}

#[test]
fn the_approval_mode_deny_is_shown_and_named_where_it_refuses() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &["--approve", "deny"], 200, 40);
    chat.wait_for_last(PROMPT);
    chat.wait_for("calls that no rule allows are refused; with `/approve-mode ask` you are asked about them");
    chat.wait_for("deny · scripted");
    chat.keys("run touch made\r");
    chat.wait_for("in the approval mode `deny` nobody is asked. `/approve-mode ask` changes that.");
    chat.wait_for_last(PROMPT);
    assert!(!sandbox.path("ws/made").exists());
    leave(chat);
}

#[test]
fn a_number_answers_no_question_and_leaving_says_what_was_not_run() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 120, 40);
    chat.wait_for_last(PROMPT);
    chat.keys("run touch made\r");
    chat.wait_for_last(QUESTION);
    chat.keys("1\r");
    chat.wait_for("`1` is not one of the answers: y once, s session, a always, n no");
    chat.wait_for_last(QUESTION);
    chat.keys("nope\r");
    chat.wait_for("`nope` is not one of the answers");
    chat.wait_for_last(QUESTION);
    chat.keys("\u{4}");
    chat.wait_for("a question is open; press Ctrl-D again to leave");
    chat.keys("\u{4}");
    chat.wait_for("· not answered, so not run: bash; the agent is informed");
    assert_eq!(chat.end(), Some(0));
    let id = id_of(&sandbox, 0);
    let exported = sandbox.run(&["sessions", "export", &id, "--format", "md"]);
    let told = "Not run: the run was stopped before anybody allowed this call.";
    assert!(exported.stdout.contains(told), "{exported}");
    assert!(!sandbox.path("ws/made").exists());
}

#[test]
fn lines_that_are_meant_for_the_chat_are_not_sent() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 120, 40);
    chat.wait_for_last(PROMPT);
    chat.keys("!\r");
    chat.wait_for("not run: `!COMMAND` runs a command in your shell");
    chat.keys("!cd ..\r");
    chat.wait_for("each command runs in its own shell, so `cd` alone has no");
    chat.keys("clear\r");
    chat.wait_for("not sent: Ctrl-L clears the screen");
    chat.keys("/status\r");
    chat.wait_for("starts with your first message");
    leave(chat);
}

#[test]
fn a_run_says_why_a_line_is_no_answer() {
    let sandbox = Sandbox::new();
    let mut run = Pty::start(&sandbox, &["run", "run touch made"], 120, 40);
    run.wait_for("allow? y once");
    run.keys("perhaps\r");
    run.wait_for("`perhaps` is not one of the answers: y once, s session, a always, n no");
    run.keys("a touch *\r");
    run.wait_for("to give a pattern, use a chat (`agentx chat`)");
    run.keys("n\r");
    run.end();
    assert!(!sandbox.path("ws/made").exists());
}

#[test]
fn what_is_left_out_of_the_environment_is_said_once() {
    let sandbox = Sandbox::new().env("GITHUB_TOKEN", TOKEN);
    let note = "commands run without GITHUB_TOKEN";
    let mut chat = Pty::start(&sandbox, &["--yes"], 200, 40);
    chat.wait_for_last(PROMPT);
    chat.keys("!echo \"own=$GITHUB_TOKEN.\"\r");
    chat.wait_for("own=.");
    chat.wait_for(note);
    chat.keys("!echo again\r");
    chat.wait_for("  │ again");
    chat.keys("run sh -c 'exit 3'\r");
    chat.wait_for("exit 3");
    chat.wait_for(" out · ");
    chat.wait_for_last(PROMPT);
    let told = chat.lines().iter().filter(|line| line.contains(note)).count();
    assert_eq!(told, 2, "once for each: {:#?}", chat.lines());
    leave(chat);
}

#[test]
fn a_command_in_the_background_is_named_listed_and_ended() {
    let sandbox = Sandbox::new();
    sandbox
        .write("ws/.agentx/config.yaml", "scripted_answers: script.yaml\n")
        .write(
            "ws/.agentx/script.yaml",
            "- { input: \"*job_1*ended*\", say: I know that it was ended. }\n\
             - { input: \"*go*\", result: \"*\", say: It runs now. }\n\
             - { input: \"*go*\", call: { tool: bash, input: { command: sleep 600, run_in_background: true } } }\n",
        );
    let mut chat = Pty::start(&sandbox, &["--yes"], 120, 40);
    chat.wait_for_last(PROMPT);
    chat.keys("/jobs\r");
    chat.wait_for("nothing runs in the background");
    chat.keys("/bashes\r");
    chat.wait_for("/jobs lists the commands in the background");
    chat.keys("go\r");
    chat.wait_for("runs in the background as job_1");
    chat.wait_for("It runs now.");
    chat.wait_for_last(PROMPT);
    chat.keys("/jobs\r");
    chat.wait_for("/jobs stop NAME ends one");
    chat.keys("/jobs stop job_7\r");
    chat.wait_for("there is no job `job_7`");
    chat.keys("/jobs stop 1\r");
    chat.wait_for("· job_1 has ended: ended by the person, ");
    chat.wait_until_gone("· 1 job");
    leave(chat);
}
