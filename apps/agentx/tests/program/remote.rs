//! A server and those who use it, each a process of its own: the same commands with the same answers as on
//! the machine itself.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use std::time::{Duration, Instant};

use crate::common::{Ran, Sandbox};
use crate::serving::{Running, Serving};
use serde_json::Value;

/// Somebody whom the server's person knows already: the same data directory.
fn ask(sandbox: &Sandbox, server: &Serving, words: &[&str]) -> Ran {
    let mut all = vec!["--connect", server.url.as_str()];
    all.extend(words);
    sandbox.run(&all)
}

/// The latest session.
fn latest(sandbox: &Sandbox, server: &Serving) -> String {
    let connect = ["--connect", server.url.as_str()];
    let output = sandbox
        .command(&[&connect[..], &["--json", "sessions", "list", "--limit", "1"]].concat())
        .output()
        .unwrap();
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    list[0]["session_id"].as_str().unwrap().to_owned()
}

/// Standard output as it is.
fn printed(sandbox: &Sandbox, args: &[&str]) -> String {
    let output = sandbox.command(args).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_command_works_on_a_server() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/README.md", "# Hello\n");
    let server = Serving::start(&sandbox);
    let run = ask(
        &sandbox,
        &server,
        &["run", "--output-format", "json", "read README.md"],
    );
    assert_eq!(run.result()["status"], "completed", "{run}");
    let id = latest(&sandbox, &server);
    for (words, told) in [
        (&["sessions", "list"][..], "completed"),
        (&["sessions", "list", "--here"], "read README.md"),
        (&["sessions", "show", &id], "# Hello"),
        (&["sessions", "search", "Hello"], "# Hello"),
        (&["sessions", "verify", &id], "events are intact"),
        (&["replay", &id], "the same to the byte"),
        (&["context", &id], "README.md"),
        (&["models"], "scripted"),
        (&["tools"], "bash"),
        (&["reactors"], "tools.requests *"),
        (&["reactors"], "run counter"),
        (&["fork", &id], "ses_"),
        (&["run", "--last", "--quiet", "hello"], "demo"),
        (&["usage", "--by", "session"], "read README.md"),
        (&["usage", "--since", "1h"], "CALLS"),
        (&["usage", "--raise-day", "5"], "for 24 hours, 5 dollars more"),
        (&["show", &id, "--step", "1"], "session_opened"),
        (&["sessions", "delete", "--yes", &id], "deleted ses_"),
        (&["sessions", "gc"], "reclaimed"),
    ] {
        let ran = ask(&sandbox, &server, words);
        assert_eq!(ran.code, Some(0), "{ran}");
        assert!(ran.stdout.contains(told), "{told:?} in {ran}");
    }
    let err = server.stop();
    assert!(err.contains("agentx mirror") && err.contains("stopped"), "{err}");
}

#[test]
fn what_was_done_on_a_server_is_what_is_there_without_it() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let ran = ask(&sandbox, &server, &["run", "--yes", "--quiet", "run echo one"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let id = latest(&sandbox, &server);
    let from_afar = ["replay", "sessions verify"].map(|words| {
        let words: Vec<&str> = words.split(' ').chain([id.as_str()]).collect();
        ask(&sandbox, &server, &words).stdout
    });
    server.stop();
    let here = ["replay", "sessions verify"].map(|words| {
        let words: Vec<&str> = words.split(' ').chain([id.as_str()]).collect();
        sandbox.run(&words).stdout
    });
    assert_eq!(from_afar, here);
}

#[test]
fn flags_change_the_agent_of_a_server() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let connect = ["--connect", server.url.as_str()];
    let words = [
        "run",
        "--output-format",
        "stream-json",
        "--max-iterations",
        "7",
        "--system",
        "Be short.",
        "hello",
    ];
    let stream = printed(&sandbox, &[&connect[..], &words].concat());
    let words = ["--json", "context"];
    let id = latest(&sandbox, &server);
    let request = printed(&sandbox, &[&connect[..], &words, &[id.as_str()]].concat());
    assert!(request.contains("Be short."), "{request}");
    assert!(stream.lines().count() > 3, "{stream}");
    let ran = ask(&sandbox, &server, &["run", "--model", "scriptet", "hello"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.stderr.contains("did you mean scripted"), "{ran}");
    let ran = ask(&sandbox, &server, &["run", "run echo no"]);
    assert_eq!(ran.code, Some(7), "nobody can be asked: {ran}");
}

#[test]
fn what_goes_wrong_is_said() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let other = Sandbox::new();
    let mut all = vec![
        ask(&sandbox, &server, &["sessions", "show", "ses_nope"]),
        ask(&sandbox, &server, &["run", "--session", "ses_nope", "hello"]),
        sandbox.run(&["serve", "--listen", &server.address()]),
        sandbox.run(&["serve", "--listen", "0.0.0.0:0"]),
        sandbox.run(&["serve", "--tls-cert", "nowhere.pem", "--tls-key", "nowhere.key"]),
        sandbox.run(&["serve", "--max-frame", "0"]),
        sandbox.run(&["--connect", &server.url, "serve"]),
        sandbox.run(&["--connect", &server.url, "mirror", &server.url, "ses_1"]),
        sandbox.run(&["mirror", &server.url, "ses_nope"]),
        ask(&other, &server, &["sessions", "list"]),
        other.run(&[
            "run",
            "--connect",
            &server.url,
            "--output-format",
            "json",
            "hello",
        ]),
    ];
    let address = server.address();
    server.stop();
    // Nobody listens there any more.
    all.push(sandbox.run(&["--connect", &address, "sessions", "list"]));
    let port = address.rsplit(':').next().unwrap();
    let next = (port.parse::<u32>().unwrap() + 1).to_string();
    let plain = |text: String| keys_out(&text.replace(&next, "[port + 1]").replace(port, "[port]"));
    let all: Vec<String> = all.iter().map(|ran| plain(ran.to_string())).collect();
    insta::assert_snapshot!("mistakes", all.join("\n\n"));
}

#[test]
fn a_second_server_of_a_data_directory_is_refused_and_the_first_one_named() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let second = sandbox.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(second.code, Some(2), "{second}");
    assert!(second.stderr.contains("another server serves"), "{second}");
    assert!(second.stderr.contains(&server.address()), "{second}");
    // One that is killed leaves no lock behind.
    let again = server.killed_and_started_again(&sandbox);
    assert_eq!(ask(&sandbox, &again, &["sessions", "list"]).code, Some(0));
}

/// The system accepts the connections of a program that never takes them.
#[test]
fn a_run_with_a_time_limit_waits_no_longer_for_a_server_that_says_nothing() {
    let sandbox = Sandbox::new();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let began = Instant::now();
    let ran = sandbox.run(&["--connect", &address, "run", "--timeout", "5s", "hello"]);
    assert_eq!(ran.code, Some(10), "{ran}");
    assert!(ran.stderr.contains("cannot reach http://"), "{ran}");
    assert!(ran.stderr.contains(&address), "{ran}");
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
}

/// The text without keys and what is made of them.
fn keys_out(text: &str) -> String {
    let is_key =
        |word: &str| word.starts_with("ed25519:") || word.trim_start_matches('(').starts_with("own_");
    let line = |line: &str| {
        let words = line
            .split(' ')
            .map(|word| if is_key(word) { "[key]" } else { word });
        words.collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_mirror_shows_what_the_session_has() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    ask(&sandbox, &server, &["run", "--yes", "--quiet", "run echo one"]);
    let id = latest(&sandbox, &server);
    let mirror = |more: &[&str]| {
        let mut args = vec!["mirror", server.url.as_str(), id.as_str()];
        args.extend(more);
        let mut running = Running::start(sandbox.command(&args));
        running.says("up to event");
        let (status, out, _) = running.interrupt();
        assert!(status.success(), "{status}");
        out
    };
    let shown = printed(
        &sandbox,
        &["--json", "--connect", &server.url, "sessions", "show", &id],
    );
    assert_eq!(mirror(&["--output-format", "stream-json"]), shown);
    let frames: Vec<&str> = shown.lines().collect();
    let later: Vec<&str> = frames
        .iter()
        .copied()
        .filter(|frame| {
            serde_json::from_str::<Value>(frame).unwrap()["seq"]
                .as_u64()
                .unwrap()
                > 9
        })
        .collect();
    let from = mirror(&["--output-format", "stream-json", "--from", "9"]);
    assert_eq!(from.lines().collect::<Vec<_>>(), later);
    assert_eq!(mirror(&["--from", "live"]), "");
    insta::assert_snapshot!("mirror", sandbox.normalized(&mirror(&[])));
}

#[test]
fn a_server_that_was_set_up_anew_is_refused_until_its_key_is_forgotten() {
    let sandbox = Sandbox::new();
    let other = Sandbox::new();
    let server = Serving::start(&sandbox);
    other.run(&["identity", "new"]);
    let shown = printed(&other, &["--json", "identity", "show"]);
    let key = serde_json::from_str::<Value>(&shown).unwrap();
    let key = key["public_key"].as_str().unwrap();
    sandbox.run(&["identity", "trust", key, "--name", "ada", "--as", "member"]);
    let list = |server: &Serving| ask(&other, server, &["sessions", "list"]);
    let first = list(&server);
    assert_eq!(first.code, Some(0), "{first}");
    assert!(first.to_string().contains("first connection to"), "{first}");
    assert!(!list(&server).to_string().contains("first connection to"));
    let address = server.address();
    server.stop();
    std::fs::remove_file(sandbox.path("home/.local/share/agentx/server_key")).unwrap();
    let anew = Serving::at(&sandbox, &address, &[]);
    let refused = list(&anew);
    assert_eq!(refused.code, Some(10), "{refused}");
    assert!(refused.to_string().contains("HAS CHANGED"), "{refused}");
    let forgotten = other.run(&["identity", "forget", &anew.url]);
    assert!(
        forgotten.to_string().contains("the next key seen there"),
        "{forgotten}"
    );
    let again = other.run(&["identity", "forget", &anew.url]);
    assert_eq!(again.code, Some(2), "{again}");
    let believed = list(&anew);
    assert!(believed.to_string().contains("first connection to"), "{believed}");
    anew.stop();
}

#[test]
fn a_mirror_that_keeps_has_the_session_where_the_server_is_not() {
    let sandbox = Sandbox::new();
    let other = Sandbox::new();
    let server = Serving::start(&sandbox);
    ask(&sandbox, &server, &["run", "--yes", "--quiet", "run echo kept"]);
    let id = latest(&sandbox, &server);
    other.run(&["identity", "new"]);
    let shown = printed(&other, &["--json", "identity", "show"]);
    let key = serde_json::from_str::<Value>(&shown).unwrap()["public_key"]
        .as_str()
        .unwrap()
        .to_owned();
    let trusted = sandbox.run(&["identity", "trust", &key, "--name", "ada", "--as", "member"]);
    assert_eq!(trusted.code, Some(0), "{trusted}");
    let refused = other.run(&["mirror", &server.url, &id]);
    assert_eq!(refused.code, Some(8), "it does not exist for others: {refused}");
    let shared = ask(
        &sandbox,
        &server,
        &["sessions", "share", &id, "ada", "--as", "watch"],
    );
    assert_eq!(shared.code, Some(0), "{shared}");
    let mut mirror = Running::start(other.command(&["mirror", "--keep", &server.url, &id]));
    mirror.says("up to event");
    let (status, _, err) = mirror.interrupt();
    assert!(status.success() && err.contains("kept up to event"), "{err}");
    let denied = ask(&other, &server, &["run", "--session", &id, "hello"]);
    assert_eq!(denied.code, Some(10), "who may watch may not drive: {denied}");
    let shown = |who: &Sandbox, connect: &[&str]| {
        let words = ["--json", "sessions", "show", &id];
        printed(who, &[connect, &words[..]].concat())
    };
    let there = shown(&sandbox, &["--connect", &server.url]);
    let replayed = ask(&sandbox, &server, &["replay", &id]).stdout;
    server.stop();
    assert_eq!(shown(&other, &[]), there);
    assert_eq!(other.run(&["replay", &id]).stdout, replayed);
    let verified = other.run(&["sessions", "verify", &id]);
    assert_eq!(verified.code, Some(0), "{verified}");
    let original = sandbox.run(&["sessions", "verify", &id]);
    assert_eq!(
        verified.stdout, original.stdout,
        "the very bytes, and so the same head"
    );
    let found = other.run(&["sessions", "search", "kept"]);
    assert!(found.stdout.contains("echo kept"), "{found}");
}

#[test]
fn a_mirror_goes_on_when_the_server_was_killed_and_is_there_again() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    ask(&sandbox, &server, &["run", "--quiet", "hello"]);
    let id = latest(&sandbox, &server);
    let args = [
        "mirror",
        server.url.as_str(),
        id.as_str(),
        "--output-format",
        "stream-json",
    ];
    let mut mirror = Running::start(sandbox.command(&args));
    mirror.says("up to event");
    let connect = [
        "--connect",
        server.url.as_str(),
        "run",
        "--session",
        &id,
        "--quiet",
    ];
    let counting = Running::start(sandbox.command(&[&connect[..], &["count to 200"]].concat()));
    mirror.prints("\"41 ");
    let server = server.killed_and_started_again(&sandbox);
    mirror.says("reconnecting");
    mirror.says("connected again");
    mirror.prints("run_finished");
    let (status, _, err) = counting.end();
    assert!(status.success(), "who waited for the answer got it: {err}");
    let last = ask(&sandbox, &server, &["run", "--session", &id, "--quiet", "thanks"]);
    assert_eq!(last.code, Some(0), "{last}");
    mirror.prints("You are welcome.");
    let (status, out, _) = mirror.interrupt();
    assert!(status.success());
    let shown = printed(
        &sandbox,
        &["--json", "--connect", &server.url, "sessions", "show", &id],
    );
    // What was said after the last words may not have come any more when it was asked to end.
    let whole = out.lines().count();
    assert!(shown.lines().count() - whole < 30, "{whole}");
    assert_eq!(
        out.lines().collect::<Vec<_>>(),
        shown.lines().take(whole).collect::<Vec<_>>()
    );
}

#[test]
fn a_server_that_is_told_twice_ends_at_once() {
    use nix::sys::signal::Signal;
    let sandbox = Sandbox::new();
    let mut server = Running::start(sandbox.command(&["serve", "--listen", "127.0.0.1:0"]));
    server.says("Ctrl-C stops it");
    server.signal(Signal::SIGTERM);
    let (status, _, err) = server.end();
    assert!(status.success(), "{status}: {err}");
    assert!(err.contains("stopping") && err.contains("stopped"), "{err}");
}

#[test]
fn a_session_is_taken_in_by_a_server_from_who_runs_it() {
    let elsewhere = Sandbox::new();
    elsewhere.run(&["run", "--quiet", "hello"]);
    let listed = printed(&elsewhere, &["sessions", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let id = listed[0]["session_id"].as_str().unwrap();
    let document = printed(&elsewhere, &["sessions", "export", id, "--format", "json"]);
    let sandbox = Sandbox::new();
    sandbox.write("ws/session.json", &document);
    let server = Serving::start(&sandbox);
    let taken = ask(&sandbox, &server, &["sessions", "import", "session.json"]);
    assert_eq!(taken.code, Some(0), "{taken}");
    assert!(
        taken.stderr.contains("continue with: agentx --connect"),
        "{taken}"
    );
    let shown = ask(&sandbox, &server, &["show", id]);
    assert!(shown.stdout.contains("› hello"), "{shown}");
    let again = ask(&sandbox, &server, &["sessions", "import", "session.json"]);
    assert_eq!(again.code, Some(8), "{again}");
    // Somebody who may use the server, and does not run it.
    let key = printed(&elsewhere, &["identity", "new"]);
    let key = key
        .split_whitespace()
        .find(|word| word.starts_with("ed25519:"))
        .unwrap();
    assert_eq!(
        sandbox.run(&["identity", "trust", key, "--as", "member"]).code,
        Some(0)
    );
    elsewhere.write("ws/session.json", &document);
    for words in [
        &["sessions", "gc"][..],
        &["sessions", "import", "session.json"],
        &["usage", "--raise-day", "5"],
    ] {
        let refused = ask(&elsewhere, &server, words);
        assert_eq!(refused.code, Some(10), "{refused}");
        assert!(
            refused.stderr.contains("this is only for the server's operator"),
            "{refused}"
        );
        assert!(refused.stderr.contains("--as operator"), "{refused}");
    }
    let spent = ask(&elsewhere, &server, &["usage"]);
    assert_eq!(
        (spent.code, spent.stderr.as_str()),
        (Some(0), "nothing was spent\n"),
        "{spent}"
    );
}

/// A session that a server has open names the address at which it can be joined.
#[test]
fn a_session_that_a_server_has_open_names_its_address() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let ran = sandbox.run(&["--connect", &server.url, "run", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let id = latest(&sandbox, &server);
    // The server lets go of it a minute after everybody has left.
    let busy = sandbox.command(&["resume", &id]).output().unwrap();
    let said = String::from_utf8(busy.stderr).unwrap();
    assert_eq!(busy.status.code(), Some(8), "{said}");
    assert!(said.contains(&format!("the server at {}", server.url)), "{said}");
    let joins = format!("`agentx --connect {} resume {id}`", server.url);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&said).contains(&joins), "{said}");
    server.kill();
    let again = sandbox.run_with_input(&["resume", &id], "");
    assert_ne!(again.code, Some(8), "{again}");
}
