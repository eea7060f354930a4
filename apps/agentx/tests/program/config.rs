//! `agentx config`: where values come from, and trust in a workspace.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::{Sandbox, squeezed};

#[test]
fn every_value_says_where_it_comes_from() {
    let sandbox = Sandbox::new()
        .of_a_stranger()
        .env("AGENTX_MAX_COST", "0.5")
        .env("ANTHROPIC_API_KEY", "sk-secret");
    sandbox.config(
        "model: opus\nlimits:\n  timeout: 10m\nrules:\n  - {effect: deny, tool: bash, argument: 'rm *'}\n",
    );
    sandbox.write(
        "ws/.agentx/config.yaml",
        "params:\n  temperature: 0.2\napproval: auto\n",
    );
    let shown = sandbox.run(&["config", "show"]);
    assert!(!shown.to_string().contains("sk-secret"));
    insta::assert_snapshot!("config_show", squeezed(&shown));
    let listed = sandbox.run(&["config", "show", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    let data = rows
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["key"] == "data_dir");
    let data = data.unwrap()["value"].as_str().unwrap();
    assert!(
        data.ends_with("/.local/share/agentx"),
        "as without --json: {data}"
    );
    insta::assert_snapshot!("config_path", squeezed(sandbox.run(&["config", "path"])));
}

#[test]
fn a_variable_that_nothing_reads_and_a_proxy_that_is_none_are_said_once() {
    let sandbox = Sandbox::new()
        .env("AGENTX_MODLE", "opus")
        .env("AGENTX_TEST_ANYTHING", "x")
        .env("HTTPS_PROXY", "http://me:hunter22@");
    let ran = sandbox.run(&["run", "--quiet", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let named = "warning: AGENTX_MODLE: nothing reads this variable; did you mean `AGENTX_MODEL`?";
    assert_eq!(ran.stderr.matches(named).count(), 1, "{ran}");
    assert_eq!(
        ran.stderr
            .matches("warning: HTTPS_PROXY: is not an address")
            .count(),
        1,
        "{ran}"
    );
    assert!(
        !ran.stderr.contains("AGENTX_TEST") && !ran.stderr.contains("hunter22"),
        "{ran}"
    );
    let doctor = sandbox.run(&["doctor", "--json"]);
    assert!(
        doctor.stdout.contains("AGENTX_MODLE") || doctor.stdout.contains("HTTPS_PROXY"),
        "{doctor}"
    );
    assert!(!doctor.to_string().contains("hunter22"), "{doctor}");
}

#[test]
fn every_command_about_settings_warns_of_a_variable_that_nothing_reads() {
    let sandbox = Sandbox::new().env("AGENTX_MODLE", "opus");
    for words in [
        &["path"][..],
        &["show"],
        &["show", "--json"],
        &["check"],
        &["set", "log", "warn"],
        &["unset", "log"],
        &["trust", "--show"],
    ] {
        let ran = sandbox.run(&[&["config"], words].concat());
        assert_eq!(ran.stderr.matches("AGENTX_MODLE: nothing").count(), 1, "{ran}");
    }
}

#[test]
fn a_command_prints_only_notes_about_settings_that_it_reads() {
    const NOTES: [&str; 3] = [
        "`approval` is ignored",
        "`sandbox.network` is ignored",
        "AGENTX_MODLE",
    ];
    let sandbox = Sandbox::new().of_a_stranger().env("AGENTX_MODLE", "opus");
    sandbox.write(
        "ws/.agentx/config.yaml",
        "approval: auto\nsandbox: {network: on}\n",
    );
    for (words, said) in [
        (&["sessions", "list"][..], [0, 0, 0]),
        (&["usage"], [0, 0, 0]),
        (&["waits", "list"], [0, 0, 0]),
        (&["identity", "list"], [0, 0, 0]),
        (&["mcp", "list"], [0, 0, 0]),
        (&["sandbox", "show"], [0, 1, 0]),
        (&["config", "show"], [1, 1, 1]),
        (&["approvals", "list"], [1, 1, 1]),
        (&["run", "--quiet", "hello"], [1, 1, 1]),
    ] {
        let ran = sandbox.run(words);
        let told = NOTES.map(|note| ran.stderr.matches(note).count());
        assert_eq!(told, said, "{ran}");
    }
}

#[test]
fn trust_is_given_taken_back_and_lost_by_a_change() {
    let sandbox = Sandbox::new().of_a_stranger();
    sandbox.write("ws/.agentx/config.yaml", "approval: auto\n");
    let mut all = Vec::new();
    let made = || sandbox.path("ws/made").exists();
    all.push(sandbox.run(&["config", "check"]).to_string());
    assert_eq!(sandbox.run(&["run", "--quiet", "run touch made"]).code, Some(7));
    assert!(!made());
    all.push(sandbox.run(&["config", "trust"]).to_string());
    all.push(sandbox.run(&["config", "check"]).to_string());
    assert_eq!(sandbox.run(&["run", "--quiet", "run touch made"]).code, Some(0));
    assert!(made());
    sandbox.write("ws/.agentx/config.yaml", "approval: auto # changed\n");
    all.push(sandbox.run(&["config", "check"]).to_string());
    all.push(sandbox.run(&["config", "trust", "--revoke"]).to_string());
    all.push(sandbox.run(&["config", "trust", "--restricted"]).to_string());
    all.push(sandbox.run(&["config", "trust", "--revoke"]).to_string());
    all.push(sandbox.run(&["config", "trust", "--revoke"]).to_string());
    insta::assert_snapshot!("trust", all.join("\n\n"));
}

#[test]
fn a_check_says_all_mistakes_and_warnings_about_rules_at_once() {
    let sandbox = Sandbox::new();
    sandbox.config(
        "model: scripted
rules:
  - {effect: allow, tool: bsh}
  - {effect: deny, tool: Read}
  - {effect: ask, tool: wirte}
",
    );
    let ran = sandbox.run(&["config", "check"]);
    assert_eq!(ran.code, Some(3), "{ran}");
    for (near, kind) in [("bash", "warning"), ("read", "error"), ("write", "")] {
        let near = format!("did you mean `{near}`?");
        let line = ran.stderr.lines().find(|line| line.contains(&near));
        assert!(line.is_some_and(|line| line.starts_with(kind)), "{near}: {ran}");
    }
}

#[test]
fn a_key_that_is_not_sent_is_noted() {
    let sandbox = Sandbox::new().env("OWN_KEY", "made-up");
    let provider = |auth: &str| {
        format!(
            "providers:\n  own: {{base_url: 'http://127.0.0.1:1/v1', api_key: '${{OWN_KEY}}', auth: {auth}}}\n"
        )
    };
    let note = "note: `providers.own.api_key` is not sent, because `providers.own.auth` is `none`";
    for (auth, is_noted) in [("none", true), ("bearer", false)] {
        sandbox.config(&provider(auth));
        let ran = sandbox.run(&["config", "check"]);
        assert_eq!(ran.code, Some(0), "{ran}");
        assert_eq!(ran.stderr.contains(note), is_noted, "{auth}: {ran}");
    }
}
