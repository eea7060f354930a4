//! Looking at a session that another process drives.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use std::io::{BufRead as _, BufReader, Read as _};

use crate::common::Sandbox;
use crate::pty::Pty;

#[test]
fn who_watches_sees_what_happens_and_when_it_is_over() {
    let sandbox = Sandbox::new();
    let mut chat = Pty::start(&sandbox, &[], 80, 40);
    chat.wait_for_last("›");
    chat.keys("hello\r");
    chat.wait_for("AgentX's built-in demo");
    chat.wait_for_last("›");
    let before = sandbox.run(&["sessions", "list", "--json"]).stdout;
    let mut watch = sandbox.command(&["watch"]).spawn().unwrap();
    let mut said = BufReader::new(watch.stderr.take().unwrap()).lines();
    let first = said.next().unwrap().unwrap();
    assert!(first.contains("drives it"), "{first}");
    assert_eq!(
        sandbox.run(&["sessions", "list", "--json"]).stdout,
        before,
        "nothing is written"
    );
    chat.keys("thanks\r");
    chat.wait_for("You are welcome.");
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
    let mut shown = String::new();
    watch.stdout.take().unwrap().read_to_string(&mut shown).unwrap();
    let said: Vec<String> = said.map(Result::unwrap).collect();
    let [.., left, last] = &said[..] else {
        panic!("{said:?}");
    };
    assert!(
        left.contains("has left the session") && last.contains("continue with: agentx resume ses_"),
        "{said:?}"
    );
    assert_eq!(watch.wait().unwrap().code(), Some(0));
    let order = [
        "› hello",
        "AgentX's built-in demo",
        "› thanks",
        "You are welcome.",
    ];
    let places: Vec<usize> = order.iter().map(|text| shown.find(text).unwrap()).collect();
    assert!(places.is_sorted(), "{shown}");
    assert_eq!(shown.matches("You are welcome.").count(), 1, "{shown}");
}

#[test]
fn a_watch_on_a_screen_is_left_by_a_key() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["run", "--quiet", "hello"]).code, Some(0));
    let id = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&id.stdout).unwrap();
    let id = list[0]["session_id"].as_str().unwrap();
    let mut watch = Pty::start(&sandbox, &["watch", id], 60, 20);
    watch.wait_for("nobody drives it now");
    watch.wait_for(&format!("watching {id} · nobody drives it"));
    assert_eq!(sandbox.run(&["run", "--quiet", "--last", "thanks"]).code, Some(0));
    watch.wait_for("You are welcome.");
    watch.keys("q");
    assert_eq!(watch.end(), Some(0));
    let shown = watch.lines().join("\n");
    assert!(
        !shown.contains("watching ses_"),
        "the last row is taken away:\n{shown}"
    );
}

#[test]
fn a_watch_that_nobody_reads_any_more_ends_while_nothing_happens() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["run", "--quiet", "hello"]).code, Some(0));
    let listed = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let mut watch = sandbox
        .command(&["watch", list[0]["session_id"].as_str().unwrap()])
        .spawn()
        .unwrap();
    let mut out = BufReader::new(watch.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    assert!(first.contains("hello"), "{first}");
    drop(out);
    let mut said = String::new();
    watch.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(!said.contains("error"), "{said}");
    assert_eq!(watch.wait().unwrap().code(), Some(0));
}

#[test]
fn there_may_be_nothing_to_watch() {
    let sandbox = Sandbox::new();
    let none = sandbox.run(&["watch"]);
    assert_eq!(none.code, Some(8), "{none}");
    assert!(
        none.stderr.contains("no session is active in another program"),
        "{none}"
    );
    assert_eq!(sandbox.run(&["watch", "nope"]).code, Some(8));
}

#[test]
fn who_watches_sees_the_change_in_the_file_that_is_asked_about() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/notes.txt", "one\nhello\nthree\n");
    let mut chat = Pty::start(&sandbox, &[], 100, 40);
    chat.wait_for_last("›");
    chat.keys("hello\r");
    chat.wait_for("built-in demo");
    chat.wait_for_last("›");
    // One looks on from before the question, the other comes while it is open.
    let mut early = Pty::start(&sandbox, &["watch"], 100, 40);
    early.wait_for("drives it;");
    chat.keys("replace hello with bye in notes.txt\r");
    chat.wait_for("+bye");
    let mut late = Pty::start(&sandbox, &["watch"], 100, 40);
    for watch in [&mut early, &mut late] {
        watch.wait_for("always would save");
        for line in ["    1  one", "    2 -hello", "    2 +bye", "    3  three"] {
            let shown = watch.lines();
            assert!(shown.iter().any(|row| row == line), "{line:?} is in {shown:#?}");
        }
    }
    chat.keys("n\r");
    for watch in [&mut early, &mut late] {
        watch.wait_for("refused");
    }
    chat.wait_for_last("›");
    chat.keys("\u{4}");
    assert_eq!(chat.end(), Some(0));
}
