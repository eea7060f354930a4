//! A chat that opens a session after a crash asks what became of a call that was running, if the settings say
//! so for its tool; without a person the model is told that nobody knows.
#![cfg(unix)]

use crate::common::Sandbox;
use crate::ends::wait_until_it_runs;
use crate::pty::Pty;

/// A command that lasts, and an answer to each result that it may have.
fn sandbox(seconds: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let answers = format!(
        r#"
- {{ result: "*says that it was done*", say: Good to know. }}
- {{ result: "*may or may not*", say: Nobody knows. }}
- {{ input: "go", call: {{ tool: bash, input: {{ command: "sleep {seconds}" }} }} }}
"#
    );
    sandbox.demo(&answers, "tools: {ask_unknown: [bash]}\n");
    sandbox
}

/// A chat that dies while its command runs.
fn died(sandbox: &Sandbox, seconds: &str) {
    let mut chat = Pty::start(sandbox, &["chat", "--yes"], 100, 50);
    chat.wait_for_last("›");
    chat.keys("go\r");
    wait_until_it_runs(seconds);
    chat.kill_program();
}

#[test]
fn a_chat_asks_what_became_of_a_call_that_was_cut_off() {
    let seconds = "30417";
    let sandbox = sandbox(seconds);
    died(&sandbox, seconds);
    let mut chat = Pty::start(&sandbox, &["resume", "--last"], 100, 50);
    chat.wait_for("it is unknown whether the call had its effect");
    chat.wait_for("1. done");
    chat.wait_for("3. run again");
    chat.keys("1\r");
    chat.wait_for("Good to know.");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    let id = crate::rewind::id_of(&sandbox, 0);
    let replayed = sandbox.run(&["replay", &id]);
    assert_eq!(replayed.code, Some(0), "{replayed}");
}

#[test]
fn without_a_person_the_model_is_told_that_nobody_knows() {
    let seconds = "30418";
    let sandbox = sandbox(seconds);
    died(&sandbox, seconds);
    let id = crate::rewind::id_of(&sandbox, 0);
    let ran = sandbox.run(&["run", "--session", &id, "--quiet"]);
    assert!(ran.stdout.contains("Nobody knows."), "{ran}");
}
