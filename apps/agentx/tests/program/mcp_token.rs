//! A token with which another program uses `/mcp` of a server as its owner. The other program is this one, as
//! a client.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::Sandbox;
use crate::serving::Serving;

#[test]
fn another_program_uses_mcp_with_a_token_until_it_is_taken_back() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let made = sandbox
        .command(&[
            "--json",
            "mcp",
            "token",
            &server.url,
            "--name",
            "editor",
            "--lifetime",
            "1h",
        ])
        .output()
        .unwrap();
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    let (token, id) = (made["token"].as_str().unwrap(), made["id"].as_str().unwrap());
    assert_eq!(made["url"], format!("{}/mcp", server.url));
    let other = Sandbox::new().env("HOME_TOKEN", &format!("Bearer {token}"));
    other.config(&format!(
        "mcp: {{home: {{url: \"{}/mcp\", headers: {{Authorization: \"${{HOME_TOKEN}}\"}}}}}}\n",
        server.url
    ));
    let tried = other.run(&["mcp", "try", "home"]);
    assert_eq!(tried.code, Some(0), "{tried}");
    assert!(tried.stdout.contains("glob"), "{tried}");
    let server = server.killed_and_started_again(&sandbox);
    let again = other.run(&["mcp", "try", "home"]);
    assert_eq!(again.code, Some(0), "a token outlives the server: {again}");
    let listed = sandbox.run(&["mcp", "token", &server.url, "--list"]);
    assert!(
        listed.stdout.contains("editor") && !listed.stdout.contains(token),
        "{listed}"
    );
    let gone = sandbox.run(&["mcp", "token", &server.url, "--revoke", id]);
    assert_eq!(gone.code, Some(0), "{gone}");
    let refused = other.run(&["mcp", "try", "home"]);
    assert_ne!(refused.code, Some(0), "{refused}");
    let twice = sandbox.run(&["mcp", "token", &server.url, "--revoke", id]);
    assert_ne!(twice.code, Some(0), "{twice}");
}

#[test]
fn a_token_is_printed_once_with_the_lines_for_other_programs() {
    let sandbox = Sandbox::new();
    let server = Serving::start(&sandbox);
    let made = sandbox.command(&["mcp", "token", &server.url]).output().unwrap();
    let (out, err) = (
        String::from_utf8(made.stdout).unwrap(),
        String::from_utf8(made.stderr).unwrap(),
    );
    assert!(
        out.starts_with("agentx_mcp_") && out.lines().count() == 1,
        "{out}"
    );
    assert!(
        err.contains("AGENTX_MCP_TOKEN") && err.contains(".mcp.json") && err.contains("config.toml"),
        "{err}"
    );
    assert!(!err.contains(out.trim()), "the lines name a variable: {err}");
}

/// Makes a token; returns its text and its id.
fn token_of(sandbox: &Sandbox, url: &str) -> (String, String) {
    let made = sandbox
        .command(&["--json", "mcp", "token", url])
        .output()
        .unwrap();
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    let text = |key: &str| made[key].as_str().unwrap().to_owned();
    (text("token"), text("id"))
}

/// Sends a request of a client that knows tasks to `/mcp`; returns its result.
fn asked(url: &str, token: &str, (method, name): (&str, &str), mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {
            "elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}},
        },
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nAuthorization: Bearer {token}\r\n\
         Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\nMcp-Name: {name}\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (begin, end) = (answer.find('{'), answer.rfind('}'));
    let (Some(begin), Some(end)) = (begin, end) else {
        panic!("{answer}")
    };
    let answer: Value = serde_json::from_str(&answer[begin..=end]).unwrap();
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

/// Requests a task until it has this status.
fn until(url: &str, token: &str, task: &str, status: &str) {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let seen = asked(url, token, ("tasks/get", task), json!({"taskId": task}));
        if seen["status"] == status {
            return;
        }
        assert!(Instant::now() < end, "{status} never came: {seen}");
    }
}

#[test]
fn a_task_ends_with_its_token_after_its_server_was_killed() {
    let sandbox = Sandbox::new();
    let helper = "name: helper\ntype: react\nprompt: You help.\ntools: [{ $ref: 'tool:bash' }]\n";
    sandbox.write("home/.config/agentx/agents/helper.yaml", helper);
    let script = "- { system: \"You help.*\", call: { tool: bash, input: { command: touch made-up } } }\n";
    sandbox.demo(script, "approval: ask\n");
    let mut server = Serving::start(&sandbox);
    for is_taken_back in [true, false] {
        let (token, id) = token_of(&sandbox, &server.url);
        let call = json!({"name": "agent__helper", "arguments": {"prompt": "help"}});
        let begun = asked(&server.url, &token, ("tools/call", "agent__helper"), call);
        let task = begun["taskId"].as_str().unwrap().to_owned();
        until(&server.url, &token, &task, "input_required");
        let other = if is_taken_back {
            server = server.killed_and_started_again(&sandbox);
            // It still counts: the task waits.
            until(&server.url, &token, &task, "input_required");
            let gone = sandbox.run(&["mcp", "token", &server.url, "--revoke", &id]);
            assert_eq!(gone.code, Some(0), "{gone}");
            token_of(&sandbox, &server.url).0
        } else {
            // It is gone when the server starts.
            server.kill();
            std::fs::remove_file(sandbox.path("home/.local/share/agentx/mcp_tokens.json")).unwrap();
            server = Serving::start(&sandbox);
            token_of(&sandbox, &server.url).0
        };
        until(&server.url, &other, &task, "cancelled");
        assert!(!sandbox.path("ws/made-up").exists());
    }
}
