//! `agentx config`: where values come from, and trust in a workspace.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

mod common;

use common::{Sandbox, squeezed};

#[test]
fn every_value_says_where_it_comes_from() {
    let sandbox = Sandbox::new()
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
    insta::assert_snapshot!("config_path", squeezed(sandbox.run(&["config", "path"])));
}

#[test]
fn trust_is_given_taken_back_and_lost_by_a_change() {
    let sandbox = Sandbox::new();
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
    insta::assert_snapshot!("trust", all.join("\n\n"));
}
