//! The examples as a person runs them, with no key: they print what docs/AGENTS.md says, and a flow that is
//! killed continues where it was.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;

use crate::common::Sandbox;
use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// The number of times that a story is killed.
const KILLS: u64 = 10;

fn folder(example: &str) -> String {
    format!("{ROOT}/examples/{example}")
}

/// The lines of the page's block that runs this example, without those that are left out there.
fn of_page(example: &str) -> Vec<String> {
    let page = std::fs::read_to_string(format!("{ROOT}/docs/AGENTS.md")).unwrap();
    let begin = format!("--cwd examples/{example}");
    let block = page
        .split("```")
        .find(|block| block.starts_with("text\n$ ") && block.contains(&begin))
        .unwrap();
    let is_output =
        |line: &&str| !line.is_empty() && !line.starts_with("$ ") && *line != "…" && *line != "text";
    block
        .lines()
        .filter(is_output)
        .map(|line| without_time(line).to_owned())
        .collect()
}

/// Removes the time of a call, which differs between runs.
fn without_time(line: &str) -> &str {
    line.split_once("✓ ").map_or(line, |(before, _)| before)
}

fn check(example: &str, runs: &[&[&str]]) {
    check_in(&Sandbox::new(), &folder(example), example, runs);
}

/// The same, in a world that there is, with the example's files in this folder.
fn check_in(sandbox: &Sandbox, cwd: &str, example: &str, runs: &[&[&str]]) {
    let mut printed = String::new();
    for args in runs {
        let ran = sandbox.run(&[*args, &["--cwd", cwd]].concat());
        assert_eq!(ran.code, Some(0), "{ran}");
        printed.push_str(&ran.stderr);
        printed.push_str(&ran.stdout);
    }
    let printed: Vec<&str> = printed.lines().map(without_time).collect();
    for line in of_page(example) {
        assert!(
            printed.contains(&line.as_str()),
            "{line:?} is not in {printed:#?}"
        );
    }
}

#[test]
fn a_router_sends_inputs_to_its_agents() {
    check(
        "router",
        &[
            &[
                "run",
                "--agent",
                "router",
                "--yes",
                "play Clair de lune by Debussy",
            ],
            &[
                "run",
                "--agent",
                "router",
                "--streams",
                "I would like Clair de lune by Debussy, and then a story about dragons",
            ],
        ],
    );
    // If the router's own model was asked, what it said is words to nobody, but it is not nothing.
    let asked = [
        "run",
        "--cwd",
        &folder("router"),
        "--agent",
        "router",
        "--yes",
        "How are you?",
    ];
    let ran = Sandbox::new().run(&asked);
    assert!(ran.stdout.contains("I am well"), "{ran}");
    assert!(!ran.stderr.contains("nothing"), "{ran}");
}

#[test]
fn a_router_is_shown_with_what_goes_where() {
    let ran = Sandbox::new().run(&["agents", "show", "router", "--cwd", &folder("router")]);
    assert!(
        ran.stdout.ends_with(
            "agents: music, teller, chat\nplay_music → music\ntell_story → teller\nanything else → chat\n"
        ),
        "{ran}"
    );
}

#[test]
fn a_story_is_written_by_its_agents() {
    check(
        "story",
        &[&[
            "run",
            "--agent",
            "story",
            "--yes",
            "Tell me a story about a lighthouse",
        ]],
    );
}

/// The files of the example, whose service is at another port: that of the example may be somebody's.
fn weather_at(port: u16, sandbox: &Sandbox) -> String {
    for file in [
        "config.yaml",
        "script.yaml",
        "agents/assistant.yaml",
        "tools/get_weather.yaml",
    ] {
        let text = std::fs::read_to_string(format!("{}/.agentx/{file}", folder("weather"))).unwrap();
        let text = text.replace("127.0.0.1:8091", &format!("127.0.0.1:{port}"));
        sandbox.write(&format!("ws/.agentx/{file}"), text);
    }
    sandbox.path("ws").to_str().unwrap().to_owned()
}

#[test]
fn the_weather_is_looked_up_by_a_script() {
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let sandbox = Sandbox::new();
    let cwd = weather_at(service.local_addr().unwrap().port(), &sandbox);
    std::thread::spawn(move || {
        for socket in service.incoming() {
            let mut socket = socket.unwrap();
            let mut head = [0; 4096];
            let _ = socket.read(&mut head).unwrap();
            let body = r#"{"city": "?", "temp": 21, "sky": "clear"}"#;
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            socket.write_all(answer.as_bytes()).unwrap();
        }
    });
    check_in(
        &sandbox,
        &cwd,
        "weather",
        &[
            &[
                "run",
                "--agent",
                "assistant",
                "--yes",
                "What is the weather in 北京?",
            ],
            &["tools", "run", "get_weather", r#"{"city":"北京"}"#],
        ],
    );
}

#[test]
fn the_files_of_the_examples_have_no_mistake() {
    for example in ["router", "story", "weather"] {
        let ran = Sandbox::new().run(&["agents", "check", "--cwd", &folder(example)]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran}");
    }
}

/// Returns the events of the story's script, and the number of model requests.
fn story(sandbox: &Sandbox, session: &str) -> (String, usize) {
    let ran = sandbox.run(&["sessions", "show", session, "--json"]);
    let (mut text, mut asked) = (String::new(), 0);
    for line in ran.stdout.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        if event["event"] == "chunk" && event["payload"]["medium"] == "story" {
            text.push_str(event["payload"]["text"].as_str().unwrap());
        }
        asked += usize::from(event["event"] == "message_start");
    }
    (text, asked)
}

/// Begins a story and kills the program after so many events. The session.
fn begin(sandbox: &Sandbox, events: usize) -> String {
    begin_in(sandbox, &folder("story"), events)
}

/// The same, with the example's files in this folder.
fn begin_in(sandbox: &Sandbox, cwd: &str, events: usize) -> String {
    let args = [
        "run",
        "--cwd",
        cwd,
        "--agent",
        "story",
        "--yes",
        "--output-format",
        "stream-json",
        "A story",
    ];
    let mut child = sandbox.command(&args).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    for _ in lines.by_ref().take(events) {}
    child.kill().unwrap();
    child.wait().unwrap();
    first["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn why_a_changed_script_does_not_go_on_is_told_at_once() {
    let sandbox = Sandbox::new();
    let script = "tools/story_generator.luau";
    for file in ["config.yaml", "script.yaml", "agents/story.yaml", script] {
        let text = std::fs::read_to_string(format!("{}/.agentx/{file}", folder("story"))).unwrap();
        sandbox.write(&format!("ws/.agentx/{file}"), text);
    }
    let session = begin_in(&sandbox, sandbox.path("ws").to_str().unwrap(), 80);
    let text = std::fs::read_to_string(sandbox.path(&format!("ws/.agentx/{script}"))).unwrap();
    sandbox.write(&format!("ws/.agentx/{script}"), text + "-- changed\n");
    let ran = sandbox.run(&["run", "--session", &session, "--yes"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "The story came to no end.\n"),
        "{ran}"
    );
    assert!(
        ran.stderr
            .contains("✗ failed: The script was changed after this call began"),
        "{ran}"
    );
}

#[test]
fn who_said_what_is_told_of_a_story_that_is_over() {
    let sandbox = Sandbox::new();
    let session = begin(&sandbox, usize::MAX);
    let shown = sandbox.run(&["show", &session]);
    for line in [
        "› A story\n",
        "director │ › Chapter 1: who speaks now?\n",
        "Ada │   Sleep now. He is ashore.\n",
        "\n  That was “The Lamp”",
    ] {
        assert!(shown.stdout.contains(line), "{line:?}: {shown}");
    }
    let words = ["sessions", "search", "--json", "ashore"];
    let found: Value = serde_json::from_slice(&sandbox.command(&words).output().unwrap().stdout).unwrap();
    let seq = found[0]["seq"].to_string();
    let around = sandbox.run(&["show", &session, "--at", &seq]);
    assert!(
        around.stdout.contains("▸") && around.stdout.contains(" Ada │   Sleep now. He is ashore.\n"),
        "{around}"
    );
    let written = sandbox.run(&["sessions", "export", &session, "--format", "md"]);
    for heading in ["\n## Person · ", "\n## To director · ", "\n## Agent Ada · "] {
        assert!(written.stdout.contains(heading), "{heading:?}: {written}");
    }
}

#[test]
fn a_flow_that_is_killed_goes_on_where_it_was() {
    let sandbox = Sandbox::new();
    let thanks = |session: &str, there: bool| {
        let cwd = folder("story");
        let cwd: &[&str] = if there { &["--cwd", &cwd] } else { &[] };
        let args = [&["run", "--session", session, "--yes", "thank you"], cwd].concat();
        let ran = sandbox.run(&args);
        assert_eq!(ran.code, Some(0), "{ran}");
    };
    let whole = begin(&sandbox, usize::MAX);
    thanks(&whole, true);
    let (undisturbed, asked) = story(&sandbox, &whole);
    assert!(
        undisturbed.contains("# 3. Morning") && undisturbed.ends_with("He is ashore.\n"),
        "{undisturbed}"
    );
    let mut random = 0x9e37_79b9_u64;
    for n in 0..KILLS {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let events = usize::try_from(random >> 33).unwrap() % 350;
        let session = begin(&sandbox, events);
        // From another directory too: the session knows its own.
        thanks(&session, n % 2 == 0);
        let (text, asked_again) = story(&sandbox, &session);
        assert_eq!(text, undisturbed, "killed after {events} events");
        assert!(
            asked_again <= asked + 1,
            "killed after {events} events: {asked_again} requests instead of {asked}"
        );
        let replayed = sandbox.run(&["replay", &session]);
        assert_eq!(replayed.code, Some(0), "{replayed}");
    }
}
