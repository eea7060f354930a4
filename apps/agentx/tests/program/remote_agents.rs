//! Agents that a server's files describe, used from elsewhere: what is printed is what the same command
//! prints on the server's machine, and a story continues where it was when its server is killed.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Output};

use crate::common::Sandbox;
use crate::serving::Serving;
use serde_json::{Value, json};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// After how many events of a story its server is killed.
const KILLS: [usize; 4] = [3, 70, 190, 320];

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// A sandbox whose workspace is an example.
fn sandbox_of(example: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let from = format!("{ROOT}/examples/{example}/.agentx");
    copy(Path::new(&from), &sandbox.path("ws/.agentx"));
    sandbox
}

/// A command that is done on the server, typed in a directory that has no files of agents.
fn there(sandbox: &Sandbox, server: &Serving, words: &[&str]) -> Command {
    let mut all = vec!["--connect", server.url.as_str()];
    all.extend(words);
    let mut command = sandbox.command(&all);
    command.current_dir(sandbox.path("home"));
    command
}

fn printed(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Each of these prints the same on the server's machine and from elsewhere.
fn same_from_elsewhere(example: &str, commands: &[&[&str]]) {
    let sandbox = sandbox_of(example);
    let server = Serving::start(&sandbox);
    for words in commands {
        let here = printed(&sandbox.command(words).output().unwrap());
        let elsewhere = printed(&there(&sandbox, &server, words).output().unwrap());
        assert!(!here.is_empty(), "{words:?}");
        assert_eq!(elsewhere, here, "{words:?}");
    }
    server.stop();
}

#[test]
fn a_router_of_a_server_is_used_as_on_its_machine() {
    same_from_elsewhere(
        "router",
        &[
            &["agents"],
            &["agents", "list", "--json"],
            &["agents", "show", "router"],
            &["agents", "show", "music", "--json"],
            &["tools", "list"],
            &[
                "run",
                "--agent",
                "router",
                "--yes",
                "--quiet",
                "play Clair de lune by Debussy",
            ],
        ],
    );
}

#[test]
fn a_story_of_a_server_is_told_as_on_its_machine() {
    same_from_elsewhere(
        "story",
        &[
            &["tools", "show", "story_generator"],
            &["agents", "show", "story"],
            &[
                "run",
                "--agent",
                "story",
                "--yes",
                "--quiet",
                "Tell me a story about a lighthouse",
            ],
        ],
    );
}

#[test]
fn an_agent_of_a_server_is_talked_to() {
    let sandbox = sandbox_of("router");
    let server = Serving::start(&sandbox);
    let words = ["--connect", &server.url, "chat", "--agent", "router"];
    let ran = sandbox.run_with_input(&words, "play Clair de lune by Debussy\n/status\n");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stdout.contains("♪ I play it for you."), "{ran}");
    server.stop();
}

#[test]
fn what_a_server_has_not_is_said_with_what_it_has() {
    let sandbox = sandbox_of("router");
    let server = Serving::start(&sandbox);
    for (words, told) in [
        (
            &["run", "--agent", "ruoter", "hello"][..],
            "there is no agent \"ruoter\"; did you mean router?",
        ),
        (&["agents", "show", "nobody"], "there is no agent \"nobody\""),
        (
            &["agents", "check"],
            "`agentx agents check` works on this machine only",
        ),
        (
            &["agents", "new", "helper"],
            "`agentx agents new` works on this machine only",
        ),
        (
            &["tools", "run", "read", "{}"],
            "`agentx tools run` works on this machine only",
        ),
    ] {
        let output = there(&sandbox, &server, words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(told), "{words:?}: {said}");
    }
    server.stop();
}

#[test]
fn limits_of_a_servers_agent_are_what_flags_name_and_none_is_none() {
    let sandbox = sandbox_of("router");
    let server = Serving::start(&sandbox);
    for (flags, limits) in [
        (&[][..], json!({"max_iterations": 50})),
        (&["--max-iterations", "none"], json!({})),
        (
            &["--timeout", "5m"],
            json!({"max_iterations": 50, "max_wall_ms": 300_000}),
        ),
    ] {
        let words = [
            "run",
            "--agent",
            "chat",
            "--output-format",
            "stream-json",
            "hello",
        ];
        let words: Vec<&str> = words.iter().chain(flags).copied().collect();
        let ran = printed(&there(&sandbox, &server, &words).output().unwrap());
        let first: Value = serde_json::from_str(ran.lines().next().unwrap()).unwrap();
        let session = first["session_id"].as_str().unwrap();
        let export = ["sessions", "export", session, "--format", "json"];
        let kept: Value =
            serde_json::from_str(&printed(&sandbox.command(&export).output().unwrap())).unwrap();
        assert_eq!(
            kept["events"][0]["payload"]["config"]["limits"], limits,
            "{flags:?}"
        );
    }
    server.stop();
}

/// Returns the events of the story's script.
fn story(sandbox: &Sandbox, server: &Serving, session: &str) -> String {
    let shown = there(sandbox, server, &["sessions", "show", session, "--json"]).output();
    let mut text = String::new();
    for line in printed(&shown.unwrap()).lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        if event["event"] == "chunk" && event["payload"]["medium"] == "story" {
            text.push_str(event["payload"]["text"].as_str().unwrap());
        }
    }
    text
}

/// Has a story told, and kills the server after so many events; the session, and the server that is there in
/// the end.
fn told(sandbox: &Sandbox, server: Serving, events: Option<usize>) -> (String, Serving) {
    let words = [
        "run",
        "--agent",
        "story",
        "--yes",
        "--output-format",
        "stream-json",
        "A story",
    ];
    let mut child = there(sandbox, &server, &words).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let server = match events {
        Some(events) => {
            for _ in lines.by_ref().take(events) {}
            server.killed_and_started_again(sandbox)
        }
        None => server,
    };
    let last = lines.map(Result::unwrap).last().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "after {events:?}: {said}");
    let result: Value = serde_json::from_str(&last).unwrap();
    assert_eq!(result["status"], "completed", "after {events:?}: {last}");
    (first["session_id"].as_str().unwrap().to_owned(), server)
}

#[test]
fn a_story_goes_on_when_its_server_is_killed() {
    let sandbox = sandbox_of("story");
    let (whole, mut server) = told(&sandbox, Serving::start(&sandbox), None);
    let undisturbed = story(&sandbox, &server, &whole);
    assert!(undisturbed.ends_with("He is ashore.\n"), "{undisturbed}");
    for events in KILLS {
        let session;
        (session, server) = told(&sandbox, server, Some(events));
        let again = story(&sandbox, &server, &session);
        assert_eq!(again, undisturbed, "killed after {events} events");
        let replayed = there(&sandbox, &server, &["replay", &session]).output();
        printed(&replayed.unwrap());
    }
    server.stop();
}
