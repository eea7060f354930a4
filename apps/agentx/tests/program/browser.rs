//! The browser through the program: a question about each host, and an end with the program, also when it is
//! killed. Where no Chromium is installed, the tests say so and end well.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a helper that fails fails its test"
)]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Instant;

use crate::common::{Sandbox, check};
use crate::ends::{PATIENCE, ends, wait_until_it_runs};
use crate::serving::Running;

fn has_chromium() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|directory| directory.join("chromium").is_file());
    if !is_there {
        eprintln!("chromium is not installed: not run: the browser of the program");
    }
    is_there
}

/// A server that answers each request with the same page. Returns its port.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut head = [0; 4096];
            // A connection that was opened ahead sends nothing and is closed.
            if !matches!(connection.read(&mut head), Ok(1..)) {
                continue;
            }
            let body = "<!doctype html><title>Shop</title><h1>Words of a page</h1>";
            let length = body.len();
            let reply = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            let _ = connection.write_all(reply.as_bytes());
        }
    });
    port
}

/// A sandbox with a demo that opens the page and then runs a command once: the page is among the results of
/// every later answer too, so the answer is counted.
fn sandbox(port: u16, command: &str, config: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.demo(
        &format!(
            "- input: \"*open*\"\n  call: {{tool: browser_navigate, input: {{url: \"http://localhost:{port}/\"}}}}\n\
             - result: \"*Words of a page*\"\n  nth: 2\n  call: {{tool: bash, input: {{command: \"{command}\"}}}}\n\
             - result: \"*\"\n  say: done\n"
        ),
        &format!(
            "tools: {{browser: true}}\nbrowser: {{local_hosts: [localhost], sandbox: false}}\n{config}"
        ),
    );
    sandbox
}

/// The processes of the browser that this sandbox has, by their command lines.
fn browsers(sandbox: &Sandbox) -> usize {
    let profile = format!("--user-data-dir={}", sandbox.path("home").display());
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines
        .filter(|line| String::from_utf8_lossy(line).contains(&profile))
        .count()
}

fn wait_for_no_browser(sandbox: &Sandbox) {
    let until = Instant::now() + PATIENCE;
    while browsers(sandbox) > 0 {
        assert!(Instant::now() < until, "the browser outlives the program");
        std::thread::yield_now();
    }
}

#[test]
fn a_page_is_opened_by_a_persons_word_about_its_host_and_the_browser_ends_with_the_run() {
    if !has_chromium() {
        return;
    }
    let port = server();
    let refused = sandbox(port, "true", "").run(&["run", "open"]);
    check(&refused, 7, &["it sends to localhost"]);
    let rules = "rules: [{effect: allow, tool: \"browser_*\", argument: \"to localhost\"}, {effect: allow, tool: bash}]\n";
    let sandbox = sandbox(port, "true", rules);
    let allowed = sandbox.run(&["run", "open"]);
    check(&allowed, 0, &["done"]);
    let shown = sandbox.run(&["sessions", "export", &sandbox.latest_id([])]);
    check(
        &shown,
        0,
        &["Title: Shop", "Words of a page", "[e1]", "other people's words"],
    );
    wait_for_no_browser(&sandbox);
    let replayed = sandbox.run(&["replay", &sandbox.latest_id([])]);
    check(&replayed, 0, &[]);
}

#[test]
fn a_killed_program_takes_its_browser_with_it() {
    if !has_chromium() {
        return;
    }
    let seconds = (5_000_000 + u64::from(std::process::id())).to_string();
    let sandbox = sandbox(server(), &format!("sleep {seconds}"), "approval: auto\n");
    let run = ["run", "--yes", "--output-format", "stream-json", "open"];
    let running = Running::start(sandbox.command(&run));
    wait_until_it_runs(&seconds);
    assert!(browsers(&sandbox) > 0);
    running.kill();
    wait_for_no_browser(&sandbox);
    let next = sandbox.run(&["run", "--last", "hello"]);
    assert!(ends(&seconds), "{next}");
}

#[test]
fn the_doctor_says_whether_there_is_a_browser() {
    let sandbox = Sandbox::new();
    sandbox.config("model: demo\n");
    let without = sandbox.run(&["doctor", "--offline"]);
    assert!(!without.stdout.contains("browser"), "{without}");
    sandbox.config("model: demo\ntools: {browser: true}\nbrowser: {program: /made/up/chromium}\n");
    let missing = sandbox.run(&["doctor", "--offline"]);
    assert!(
        missing
            .stdout
            .contains("/made/up/chromium is not there (`browser.program`)"),
        "{missing}"
    );
}
