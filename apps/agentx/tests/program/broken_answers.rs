//! The output of a run whose answers break off: standard output is data, and half an answer is not an answer.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use crate::common::Sandbox;
use crate::models::streaming;
use crate::pty::Pty;

/// Two attempts; the first breaks off.
const HALF: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"A half\\nand\"}}]}\n\n";
const WHOLE: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"A whole one.\"}}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn sandbox(answers: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new().env("OPENAI_BASE_URL", &streaming(answers));
    sandbox.config("model_calls:\n  retries: 1\n");
    sandbox
}

const RUN: [&str; 3] = ["run", "--model", "openai/own"];

#[test]
fn only_the_answer_that_stands_is_on_standard_output() {
    let ran = sandbox(&[HALF, WHOLE]).run(&[&RUN[..], &["hello"]].concat());
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "A whole one.\n"),
        "{ran}"
    );
    let streams = sandbox(&[HALF, WHOLE]).run(&[&RUN[..], &["--streams", "hello"]].concat());
    assert_eq!(streams.code, Some(0), "{streams}");
    assert!(streams.stdout.ends_with("agentx │ A whole one.\n"), "{streams}");
    assert!(!streams.stdout.contains("A half"), "{streams}");
}

#[test]
fn a_run_whose_answers_all_broke_off_has_none() {
    let ran = sandbox(&[HALF]).run(&[&RUN[..], &["hello"]].concat());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(5), ""), "{ran}");
    assert!(ran.stderr.contains("A half\nand\n"), "{ran}");
    let quiet = sandbox(&[HALF]).run(&[&RUN[..], &["--quiet", "hello"]].concat());
    assert_eq!((quiet.code, quiet.stdout.as_str()), (Some(5), ""), "{quiet}");
}

#[test]
fn in_a_terminal_the_words_are_shown_as_they_come_and_the_answer_is_there_once() {
    let sandbox = sandbox(&[HALF, WHOLE]);
    let mut terminal = Pty::start(&sandbox, &[&RUN[..], &["hello"]].concat(), 80, 24);
    assert_eq!(terminal.end(), Some(0));
    let lines = terminal.lines();
    let count = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert_eq!(
        (count("A half"), count("retrying in"), count("A whole one.")),
        (1, 1, 1),
        "{lines:#?}"
    );
}
