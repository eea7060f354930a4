//! `agentx exec-server`: it needs a key, performs an action of OpenHands, and leaves nothing running.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use serde_json::json;

use crate::common::{Sandbox, check};
use crate::ends::{ends, runs, wait_until_it_runs};
use crate::serving::Running;

const KEY: &str = "made-up-key-of-a-test";

/// A server at this port.
fn started(sandbox: &Sandbox, port: u16) -> Running {
    let listen = format!("127.0.0.1:{port}");
    let mut command = sandbox.command(&["exec-server", "--listen", &listen, "--key-env", "MADE_UP_EXEC"]);
    command.env("MADE_UP_EXEC", KEY);
    let mut running = Running::start(command);
    running.says("exec server at");
    running
}

/// Runs a command line, as OpenHands' client does. Returns the whole answer.
fn run(port: u16, command: &str) -> String {
    let body = json!({"action": {"id": 1, "action": "run", "args": {"command": command}, "timeout": 20}})
        .to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!(
        "POST /execute_action HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Session-API-Key: {KEY}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_killed_exec_server_leaves_nothing_that_the_next_one_does_not_end() {
    let sandbox = Sandbox::new();
    // The port is free again when the server takes it.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let seconds = format!("{}", 6_000_000 + u64::from(std::process::id()));
    let server = started(&sandbox, port);
    let line = format!("(trap '' HUP; exec env -i sleep {seconds}) & echo \"<$MADE_UP_EXEC>\"");
    let answer = run(port, &line);
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("<>"),
        "{answer}"
    );
    wait_until_it_runs(&seconds);
    server.kill();
    assert!(runs(&seconds), "it ignores the end of its terminal");
    let again = started(&sandbox, port);
    assert!(ends(&seconds), "the next server ends it");
    again.kill();
}

#[test]
fn an_exec_server_needs_a_key_that_cannot_be_guessed() {
    let sandbox = Sandbox::new();
    check(
        &sandbox.run(&["exec-server"]),
        2,
        &["set AGENTX_EXEC_KEY to a key", "openssl rand"],
    );
    let mut short = sandbox.command(&["exec-server", "--key-env", "MADE_UP_EXEC"]);
    let ended = short.env("MADE_UP_EXEC", "short").output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("at least 16"));
}

/// Commands there have no sandbox, so they would reach every host.
#[test]
fn single_hosts_are_refused_where_no_sandbox_would_hold_them() {
    let sandbox = Sandbox::new();
    for network in ["hosts", "ask"] {
        let expected = format!("`sandbox.network: {network}` would not hold them");
        sandbox.config(&format!(
            "sandbox: {{mode: auto, network: {network}}}\n\
             exec_server: {{url: \"http://127.0.0.1:9\", key: \"${{MADE_UP_EXEC}}\"}}\n"
        ));
        // No machine has this address, so that no server stays.
        let server = [
            "exec-server",
            "--listen",
            "192.0.2.1:9",
            "--key-env",
            "MADE_UP_EXEC",
        ];
        for words in [&server[..], &["run", "--model", "demo", "hello"]] {
            let mut command = sandbox.command(words);
            let ended = command.env("MADE_UP_EXEC", KEY).output().unwrap();
            let said = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.code(), Some(2), "{words:?}: {said}");
            assert!(said.replace('\n', " ").contains(&expected), "{words:?}: {said}");
        }
    }
}
