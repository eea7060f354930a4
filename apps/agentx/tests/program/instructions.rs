//! The model's context besides the prompt: where it works, the user's own instructions, and those of folders
//! in which it works.
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use std::fs;

use crate::common::Sandbox;
use crate::models::recording;

/// A made-up answer of a server that speaks Chat Completions.
const ANSWER: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"fine\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// The request that a server gets for a prompt.
fn asked(sandbox: Sandbox, args: &[&str]) -> (Sandbox, String) {
    let (address, bodies) = recording(ANSWER);
    let sandbox = sandbox
        .env("OPENAI_API_KEY", "sk-test")
        .env("OPENAI_BASE_URL", &address);
    let ran = sandbox.run(&[&["run", "--model", "openai/made-up"], args].concat());
    assert_eq!(ran.code, Some(0), "{ran}");
    let last = bodies.lock().unwrap().last().unwrap().clone();
    (sandbox, last)
}

#[test]
fn a_model_is_told_where_it_works_and_the_demo_is_not() {
    let sandbox = Sandbox::new().env("AGENTX_TRUST_FOLDER", "1");
    sandbox.write("ws/.git/HEAD", "ref: refs/heads/topic/tides\n");
    let (sandbox, sent) = asked(sandbox, &["hello"]);
    let workspace = fs::canonicalize(sandbox.path("ws")).unwrap();
    let place = format!("- Working directory: {}\\n", workspace.display());
    for told in [
        "Environment when this session began or was last continued:",
        &place,
        "- Git: branch topic/tides\\n",
        "- Date: 20",
    ] {
        assert!(sent.contains(told), "{told}: {sent}");
    }
    let kept = sandbox.run(&["run", "--model", "demo", "hello"]);
    assert_eq!(kept.code, Some(0), "{kept}");
    let listed = sandbox.run(&["sessions", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    let request = sandbox.run(&["context", listed[0]["session_id"].as_str().unwrap()]);
    assert!(!request.stdout.contains("Working directory"), "{request}");

    sandbox.config("context: {environment: false}\n");
    let (_, sent) = asked(sandbox, &["hello"]);
    assert!(!sent.contains("Working directory"), "{sent}");
}

#[test]
fn a_session_tells_the_branch_that_it_continues_on() {
    let sandbox = Sandbox::new().env("AGENTX_TRUST_FOLDER", "1");
    sandbox.write("ws/.git/HEAD", "ref: refs/heads/main\n");
    let (sandbox, _) = asked(sandbox, &["hello"]);
    sandbox.write("ws/.git/HEAD", "ref: refs/heads/other\n");
    let (_, sent) = asked(sandbox, &["--last", "and now"]);
    assert!(
        sent.contains("branch other") && !sent.contains("branch main"),
        "{sent}"
    );
}

#[test]
fn a_folder_that_nobody_trusts_names_no_branch() {
    let sandbox = Sandbox::new().of_a_stranger();
    sandbox.write("ws/.git/HEAD", "ref: refs/heads/obey-me\n");
    let (_, sent) = asked(sandbox, &["hello"]);
    assert!(
        sent.contains("Working directory") && !sent.contains("obey-me"),
        "{sent}"
    );
}

#[test]
fn the_persons_own_instructions_hold_in_every_folder() {
    let sandbox = Sandbox::new().of_a_stranger();
    sandbox
        .write("home/.config/agentx/AGENTS.md", "Answer in Latin.\n")
        .write("ws/AGENTS.md", "Answer in Greek.\n");
    let (sandbox, sent) = asked(sandbox, &["hello"]);
    assert!(
        sent.contains("Answer in Latin.") && !sent.contains("Greek"),
        "{sent}"
    );
    let (_, sent) = asked(sandbox.env("AGENTX_TRUST_FOLDER", "1"), &["hello"]);
    let place = |words: &str| sent.find(words).unwrap();
    assert!(
        place("Answer in Latin.") < place("Answer in Greek."),
        "the folder's come later: {sent}"
    );
}

#[test]
fn instructions_of_a_subfolder_follow_the_first_result_there() {
    let sandbox = Sandbox::new().of_a_stranger();
    sandbox
        .config("scripted_answers: answers.yaml\n")
        .write(
            "home/.config/agentx/answers.yaml",
            "- {input: '*', nth: 1, call: {tool: read, input: {path: sub/deep/a.txt}}}\n\
             - {input: '*', result: '*', nth: 2, call: {tool: read, input: {path: sub/deep/a.txt}}}\n\
             - {input: '*', result: '*', say: done}\n",
        )
        .write("ws/sub/AGENTS.md", "Write tests first.\n")
        .write("ws/sub/deep/CLAUDE.md", "x".repeat(20_000))
        .write("ws/sub/deep/a.txt", "words\n");
    let told = |sandbox: &Sandbox| {
        let ran = sandbox.run(&[
            "run",
            "--output-format",
            "stream-json",
            "--view",
            "environment",
            "look",
        ]);
        assert_eq!(ran.code, Some(0), "{ran}");
        ran.stdout
    };
    assert!(
        !told(&sandbox).contains("Write tests first."),
        "nobody trusts this folder"
    );
    let sandbox = sandbox.env("AGENTX_TRUST_FOLDER", "1");
    let told = told(&sandbox);
    assert_eq!(told.matches("Write tests first.").count(), 1, "{told}");
    assert!(
        told.contains("\"instructions\":[\"/"),
        "a person can see which files: {told}"
    );
    assert_eq!(
        told.matches("The file is longer; read it for the rest.").count(),
        1,
        "{told}"
    );
    assert!(!told.contains(&"x".repeat(17_000)), "{told}");
}
