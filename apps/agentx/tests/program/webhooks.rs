//! A delivery of a webhook runs its prompt once, although its server is killed and several processes look for
//! what waits.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;

use serde_json::Value;

use crate::common::Sandbox;
use crate::serving::Serving;

const BODY: &str = "{\"action\":\"opened\"}";
/// HMAC-SHA256 of the body with the secret `made-up`.
const SIGNATURE: &str = "sha256=0027e07eaf6f838c18b681d7b135f3e8424fdfdd256cd4b91a0fa9e3f767cf88";
/// The number of processes that race.
const RACERS: usize = 4;

/// Sends the delivery; returns the answer.
fn deliver(url: &str) -> Value {
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!(
        "POST /v1/hooks/ci HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         X-Hub-Signature-256: {SIGNATURE}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{BODY}",
        BODY.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    let begin = answer.find('{').unwrap();
    let end = answer.rfind('}').unwrap();
    serde_json::from_str(&answer[begin..=end]).unwrap()
}

/// Runs what waits in several processes at once.
fn race(sandbox: &Sandbox) {
    let racers: Vec<Child> = (0..RACERS)
        .map(|_| sandbox.command(&["waits", "run"]).spawn().unwrap())
        .collect();
    for racer in racers {
        let end = racer.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&end.stderr).into_owned();
        assert!(end.status.success(), "{told}");
    }
}

/// The sessions, and the number of messages of people in them.
fn sessions(sandbox: &Sandbox) -> (Vec<String>, usize) {
    let listed = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let mut said = 0;
    let all = listed.as_array().unwrap().iter();
    let titles = all.map(|session| {
        let id = session["session_id"].as_str().unwrap();
        let shown = sandbox
            .command(&["sessions", "export", "--format", "json", id])
            .output()
            .unwrap();
        let document: Value = serde_json::from_slice(&shown.stdout).unwrap();
        let events = document["events"].as_array().unwrap().iter();
        said += events.filter(|event| event["event"] == "user_message").count();
        assert_eq!(session["status"], "completed", "{session}");
        session["title"].as_str().unwrap().to_owned()
    });
    (titles.collect(), said)
}

#[test]
fn a_delivery_is_run_once_although_its_server_is_killed() {
    let sandbox = Sandbox::new().env("CI_WEBHOOK", "made-up");
    sandbox.demo(
        "- {input: '*', say: It is looked at.}\n",
        "webhooks:\n  ci: {secret: '${CI_WEBHOOK}', prompt: Look at it.}\n",
    );
    let server = Serving::start(&sandbox);
    let first = deliver(&server.url);
    assert_eq!(first["new"], true, "{first}");
    let server = server.killed_and_started_again(&sandbox);
    assert_eq!(deliver(&server.url)["new"], false);
    server.kill();
    race(&sandbox);
    let key: String = first["delivery"].as_str().unwrap().chars().take(12).collect();
    assert_eq!(sessions(&sandbox), (vec![format!("ci {key}")], 1));
    let server = Serving::start(&sandbox);
    assert_eq!(deliver(&server.url)["new"], false, "it is known after its run");
    server.stop();
    assert_eq!(sessions(&sandbox).1, 1);
}
