//! Every kind of error, as a person reads it: what, why, what to do, and the exit code.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::Sandbox;

#[test]
fn command_lines_that_make_no_sense() {
    let sandbox = Sandbox::new();
    let lines: [&[&str]; 25] = [
        &["rnu"],
        &["run"],
        &["run", "--nope", "x"],
        &["run", "--approve", "maybe", "x"],
        &["run", "--fork", "x"],
        &["run", "--session", "a", "--last", "x"],
        &["run", "--session", "", "x"],
        &["run", "--max-iterations", "-1", "x"],
        &["run", "--max-cost", "-0.5", "x"],
        &["sessions", "list", "--limit", "0"],
        &["sessions", "list", "--limit", "-1"],
        &["sessions", "search", ""],
        &["fork", "ses_1", "--at", "x"],
        &["run", "--max-iterations", "many", "--timeout", "10", "x"],
        &["--model", "x", "sessions", "list"],
        &["help", "exit-code"],
        &["sessions", "show"],
        &["debug", "decode", "--api", "openai", "-"],
        &["--cwd", "nowhere", "run", "x"],
        &["--connect", "http://h:1", "config", "show"],
        &["--connect", "ftp://h", "sessions", "list"],
        &["--connect", "http://me:secret@h", "sessions", "list"],
        &["mirror", "http://h:1/?x", "ses_1"],
        &["mirror", "--from", "now", "http://h:1", "ses_1"],
        &["sessions", "share", "ses_1", "anyone"],
    ];
    let all: Vec<String> = lines.iter().map(|args| sandbox.run(args).to_string()).collect();
    insta::assert_snapshot!("usage", all.join("\n\n"));
}

#[test]
fn a_result_object_ends_failures_too() {
    let sandbox = Sandbox::new();
    for args in [
        &["run", "--output-format", "json", "--nope"][..],
        &["run", "--output-format=stream-json"],
        &["run", "--output-format", "json", "--model", "opus", "hello"],
        &["run", "--output-format", "json", "--session", "ses_nope", "hello"],
    ] {
        let ran = sandbox.run(args);
        let result = ran.result();
        assert_eq!(result["type"], "result", "{ran}");
        assert_eq!(result["status"], "failed", "{ran}");
        assert_eq!(result["exit_code"].as_i64(), ran.code.map(i64::from), "{ran}");
        assert!(result["error"]["message"].is_string(), "{ran}");
    }
}

/// A program that asked for JSON gets an object with the error, whichever step failed.
#[test]
fn a_command_that_prints_json_prints_its_failure_too() {
    let sandbox = Sandbox::new();
    let fails = |args: &[&str], kind: &str, code: i32| {
        let ran = sandbox.run(args);
        let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
        assert_eq!(told["error"]["kind"], kind, "{args:?}: {ran}");
        assert!(told["error"]["message"].is_string(), "{args:?}: {ran}");
        assert!(ran.stderr.contains("error: "), "{args:?}: {ran}");
        assert_eq!(ran.code, Some(code), "{args:?}: {ran}");
    };
    fails(&["sessions", "list", "--json", "--nope"], "usage", 2);
    fails(&["cache", "--json"], "usage", 2);
    fails(&["--json", "cache"], "usage", 2);
    fails(&["show", "ses_nope", "--json"], "session_not_found", 8);
    fails(
        &["sessions", "export", "ses_nope", "--format", "json"],
        "session_not_found",
        8,
    );
    fails(
        &["watch", "ses_nope", "--output-format", "stream-json"],
        "session_not_found",
        8,
    );
    fails(&["tools", "show", "nope", "--json"], "usage", 2);
    fails(
        &["mcp", "add", "--json", "x", "/nowhere/program"],
        "mcp_server",
        1,
    );
    fails(&["run", "--json", "--image", "nope.png", "hello"], "usage", 2);
    sandbox.config("model: [\n");
    for line in [
        &["config", "check"][..],
        &["config", "show"],
        &["sessions", "list"],
        &["usage"],
        &["models"],
        &["tools"],
        &["agents", "check"],
        &["mcp", "list"],
        &["approvals"],
    ] {
        fails(&[line, &["--json"]].concat(), "config", 3);
    }
}

#[cfg(unix)]
#[test]
fn words_that_are_no_text_are_a_mistake_and_no_panic() {
    use std::os::unix::ffi::OsStrExt as _;
    let sandbox = Sandbox::new();
    let not_text = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    for before in [&["run", "--output-format", "json"][..], &["run"], &["--model"]] {
        let output = sandbox.command(before).arg(not_text).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("UTF-8"), "{said}");
        assert_eq!(
            output.stdout.is_empty(),
            before.len() < 3,
            "a result where one was wanted"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_current_directory_that_is_gone_is_said_to_be() {
    let sandbox = Sandbox::new();
    let script = format!(
        "mkdir gone && cd gone && rmdir ../gone && exec {} run thanks",
        env!("CARGO_BIN_EXE_agentx")
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(sandbox.path("ws"))
        .env("HOME", sandbox.path("home"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("error: the current directory: ") && said.contains("--cwd"),
        "{said}"
    );
}

#[test]
fn what_is_logged_to_nobody_is_no_panic() {
    let sandbox = Sandbox::new().env("AGENTX_LOG", "trace");
    let mut child = sandbox.command(&["run", "thanks"]).spawn().unwrap();
    drop(child.stderr.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "You are welcome.\n");
}

#[test]
fn a_line_for_each_event_has_nothing_of_what_was_said() {
    let sandbox = Sandbox::new().env("AGENTX_LOG", "debug");
    let file = sandbox.path("lines");
    let sandbox = sandbox.env("AGENTX_LOG_FILE", &file.to_string_lossy());
    let ran = sandbox.run(&["run", "--yes", "run echo sesame-$((4000+711))"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(
        ran.stdout.contains("sesame-4711"),
        "the tool and the answer said it: {ran}"
    );
    let lines = std::fs::read_to_string(file).unwrap();
    for event in ["user_message", "text_chunk", "tool_result", "run_finished"] {
        assert!(lines.contains(&format!("event=\"{event}\"")), "{event}: {lines}");
    }
    assert!(!lines.contains("sesame"), "{lines}");
}

#[test]
fn a_beginning_that_many_sessions_have_says_so() {
    let sandbox = Sandbox::new();
    for _ in 0..11 {
        sandbox.run(&["run", "thanks"]);
    }
    let ran = sandbox.run(&["sessions", "show", "ses_"]);
    assert_eq!(ran.code, Some(8), "{ran}");
    assert!(
        ran.stderr.starts_with("error: \"ses_\" fits many sessions"),
        "{ran}"
    );
}

#[test]
fn models_and_keys() {
    let sandbox = Sandbox::new();
    let mut all = Vec::new();
    for args in [
        &["run", "--model", "clade-opus-5-5", "x"][..],
        &["run", "--model", "nothing-like-it", "x"],
        &["run", "--model", "opus", "x"],
        &["run", "--model", "deepseek/any", "x"],
    ] {
        all.push(sandbox.run(args).to_string());
    }
    sandbox.config("model: clade-opus-5-5\n");
    all.push(sandbox.run(&["run", "x"]).to_string());
    insta::assert_snapshot!("models", all.join("\n\n"));
}

#[test]
fn configuration() {
    let sandbox = Sandbox::new();
    let mut all = Vec::new();
    sandbox.config("modle: x\nlimits:\n  timeout: 5\n");
    all.push(sandbox.run(&["run", "x"]).to_string());
    all.push(sandbox.run(&["config", "check"]).to_string());
    sandbox.config("model: sonet\n");
    all.push(sandbox.run(&["config", "check"]).to_string());
    sandbox.config("model: [unclosed\n");
    all.push(sandbox.run(&["config", "check"]).to_string());
    let sandbox = Sandbox::new().env("AGENTX_CONFIG", "missing.yaml");
    all.push(sandbox.run(&["config", "check"]).to_string());
    let sandbox = Sandbox::new();
    all.push(sandbox.run(&["config", "trust"]).to_string());
    insta::assert_snapshot!("config", all.join("\n\n"));
}

#[test]
fn sessions_that_are_not_there() {
    let sandbox = Sandbox::new();
    let mut all = Vec::new();
    for args in [
        &["sessions", "list"][..],
        &["sessions", "show", "ses_nope"],
        &["resume"],
        &["resume", "nope"],
        &["run", "--last", "x"],
        &["replay", "nope"],
        &["fork", "nope"],
        &["context", "nope"],
    ] {
        all.push(sandbox.run(args).to_string());
    }
    insta::assert_snapshot!("sessions", all.join("\n\n"));
}

#[test]
fn a_database_that_cannot_be_used() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "data/sessions.db",
        "this is not a database, and long enough to be sure of that: ".repeat(100),
    );
    let data = sandbox.path("data");
    let data = data.to_str().unwrap();
    let broken = sandbox.run(&["--data", data, "sessions", "list"]);
    assert_eq!(broken.code, Some(9), "{broken}");
    sandbox.write("file", "a file where a directory should be");
    let file = sandbox.path("file");
    let blocked = sandbox.run(&["--data", file.to_str().unwrap(), "run", "hello"]);
    assert_eq!(blocked.code, Some(9), "{blocked}");
    insta::assert_snapshot!("storage", format!("{broken}\n\n{blocked}"));
}

#[test]
fn an_output_that_nobody_reads_is_no_panic() {
    let sandbox = Sandbox::new();
    let mut child = sandbox.command(&["help", "settings"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
