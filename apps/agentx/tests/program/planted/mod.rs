//! Attempts of a stranger's folder. Nobody has said anything about the folder, and every question is answered
//! with yes: all the same nothing of it is sent anywhere, no planted variable or file is shown to the model,
//! and nothing of it is run.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

mod attempts;
mod forms;

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::Sandbox;
use crate::thief::thief;
use attempts::{Attempt, Plant, attempts};

/// In the environment; made up.
const VARIABLE: &str = "made-up-7f3a9c-variable";
/// The key that the program runs on; made up.
const KEY: &str = "made-up-c20e77-key";
/// In a file beside the folder; made up.
const PRIVATE: &str = "made-up-51d0be-private-file";

/// A home with settings of the person, and the folder as the attempt wants it.
fn planted(attempt: &Attempt, address: &str) -> Sandbox {
    let sandbox = Sandbox::new()
        .of_a_stranger()
        .env("PLANTED", VARIABLE)
        .env("MODEL_KEY", KEY)
        // What is tried here has to hold where no sandbox works, too.
        .env("AGENTX_SANDBOX", "none");
    let model = if attempt.asks_model { "mine" } else { "scripted" };
    sandbox.config(&format!(
        "model: {model}\nscripted_answers: answers.yaml\nmodel_calls: {{retries: 0, max_retry_time: 1s}}\n\
         providers:\n  here: {{api: openai-chat, base_url: 'http://127.0.0.1:9/v1', api_key: '${{MODEL_KEY}}'}}\n\
         models:\n  mine: {{provider: here, context_window: 100000, max_output_tokens: 1000}}\n"
    ));
    let calls = attempt.calls;
    sandbox.write(
        "home/.config/agentx/answers.yaml",
        format!("- {{input: '*', result: '*', say: done}}\n- {{input: '*', calls: [{calls}]}}\n"),
    );
    sandbox
        .write("home/private.txt", PRIVATE)
        .write("other/private.txt", PRIVATE);
    let place = |text: &str| {
        text.replace("{thief}", address)
            .replace("{ran}", &sandbox.path("ran").to_string_lossy())
            .replace("{home}", &sandbox.path("home").to_string_lossy())
            .replace("{ws}", &sandbox.path("ws").to_string_lossy())
    };
    for plant in &attempt.plants {
        match plant {
            Plant::File(path, text) => {
                sandbox.write(&format!("ws/{path}"), place(text));
            }
            Plant::Program(path, text) => {
                use std::os::unix::fs::PermissionsExt as _;
                sandbox.write(&format!("ws/{path}"), place(text));
                let mode = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(sandbox.path(&format!("ws/{path}")), mode).unwrap();
            }
            Plant::Link(path, target) => {
                let path = sandbox.path(&format!("ws/{path}"));
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(place(target), path).unwrap();
            }
            Plant::Run(line) => {
                let mut shell = std::process::Command::new("sh");
                let ran = shell
                    .arg("-c")
                    .arg(place(line))
                    .current_dir(sandbox.path("ws"))
                    .output();
                let ran = ran.unwrap();
                assert!(
                    ran.status.success(),
                    "{}: {}",
                    attempt.name,
                    String::from_utf8_lossy(&ran.stderr)
                );
            }
        }
    }
    sandbox
}

/// Returns the outcome of an attempt in a folder that is trusted or not; `None` if it failed.
fn outcome(attempt: &Attempt, is_trusted: bool) -> Option<String> {
    let (address, heard) = thief();
    let sandbox = planted(attempt, &address);
    let sandbox = if is_trusted {
        sandbox.env("AGENTX_TRUST_FOLDER", "1")
    } else {
        sandbox
    };
    let approve: &[&str] = if attempt.is_denied {
        // Without a terminal nobody can be asked.
        &[]
    } else {
        &["--yes"]
    };
    let all_facts = &["--output-format", "stream-json", "--view", "environment"];
    let run = [&["run", "go"], approve, all_facts].concat();
    let mut lines: Vec<&[&str]> = vec![&run, &["agents", "check"]];
    lines.extend(attempt.besides);
    for line in lines {
        let mut command = sandbox.command(line);
        let ran = command.output().unwrap();
        let said = [ran.stdout, ran.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        for planted in [VARIABLE, KEY, PRIVATE] {
            // What somebody looked for may stand in the question; what was found may not.
            if said.contains(planted) {
                return Some(format!("{line:?} shows {planted}: {said}"));
            }
        }
        let drives_terminal = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
        if said.contains(drives_terminal) {
            return Some(format!("{line:?} shows control characters: {said:?}"));
        }
        if line[0] == "run" && !attempt.asks_model && !said.contains("\"type\":\"result\"") {
            return Some(format!("it keeps a run from ending: {said}"));
        }
    }
    if sandbox.path("ran").exists() {
        return Some("something of the folder was run".to_owned());
    }
    heard
        .try_recv()
        .ok()
        .map(|request| format!("it was sent: {request}"))
}

/// Every attempt with what it came to, several at once.
fn try_all(all: &[Attempt], is_trusted: bool) -> Vec<(&Attempt, Option<String>)> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut tried = Vec::new();
        while let Some(attempt) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            tried.push((attempt, outcome(attempt, is_trusted)));
        }
        tried
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    })
}

/// The number of attempts.
const ATTEMPTS: usize = 119;

#[test]
fn nothing_of_a_strange_folder_is_sent_read_or_run() {
    let all = attempts();
    assert_eq!(all.len(), ATTEMPTS, "the documents name this number");
    let tried = try_all(&all, false);
    let came_to: Vec<String> = tried
        .into_iter()
        .filter_map(|(attempt, what)| Some(format!("{}: {}", attempt.name, what?)))
        .collect();
    assert!(
        came_to.is_empty(),
        "{} of {} came to something:\n{}",
        came_to.len(),
        all.len(),
        came_to.join("\n\n")
    );
}

/// The witnesses themselves: in a folder that a person trusts, each attempt is seen to come to something, so
/// that it is the missing trust that keeps it from that. Those that come to nothing there either are said to.
#[test]
fn what_is_watched_for_would_be_seen() {
    let all = attempts();
    let harmful = all.iter().filter(|attempt| !attempt.is_harmless).count();
    let wrong: Vec<String> = try_all(&all, true)
        .into_iter()
        .filter(|(attempt, what)| attempt.is_harmless == what.is_some())
        .map(|(attempt, what)| format!("{}: {what:?}", attempt.name))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {} ({harmful} can do harm) wrong:\n{}",
        wrong.len(),
        all.len(),
        wrong.join("\n")
    );
    assert!(harmful >= 60, "{harmful} attempts that would come to something");
}
