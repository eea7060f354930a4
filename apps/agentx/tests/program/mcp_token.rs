//! A token with which another program uses `/mcp` of a server as its owner. The other program is this one, as
//! a client.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use serde_json::Value;

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
