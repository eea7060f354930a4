//! Commands that change this program's own settings: asked about each time, whatever rules say.

use agentx_agent::approval::{always_asked, judge_in_script};
use agentx_types::{ApprovalMode, RULES_VERSION};
use serde_json::json;

use crate::rules::config;
use crate::secrets::word;

const CHANGING: &[&str] = &[
    "agentx config set approval auto",
    "agentx config set approval auto --workspace",
    "agentx config trust",
    "agentx config edit",
    "agentx approvals add allow bash",
    "agentx approvals remove 1",
    "./target/debug/agentx config trust",
    "/usr/local/bin/agentx config set approval auto",
    "agentx --quiet config set approval auto",
    "sudo -u me agentx config trust",
    "cd x && agentx config trust",
    "bash -c 'agentx config trust'",
    "echo $(agentx config trust)",
    "agentx config $x",
    "agentx $x",
    "agentx con{fig,} trust",
    "x=agentx; $x config trust",
    "echo trust | xargs agentx config",
    "gdb -ex 'shell agentx config trust'",
    "agentx run --yes 'x'",
    "agentx run -y 'x'",
    "agentx --approve auto run x",
    "agentx run --approve=auto x",
    "AGENTX_APPROVAL=auto agentx run x",
    "export AGENTX_APPROVAL=auto; agentx run x",
    "AGENTX_TRUST_FOLDER=yes agentx run x",
];

#[test]
fn no_rule_and_no_mode_lets_a_command_change_the_settings() {
    let rules = ["allow bash", "allow bash: agentx *", "allow *"];
    for (mode, expected) in [
        (ApprovalMode::Ask, "ask"),
        (ApprovalMode::Auto, "deny"),
        (ApprovalMode::Deny, "deny"),
    ] {
        let mut config = config(mode, &rules);
        config.rules_version = RULES_VERSION;
        for line in CHANGING {
            assert_eq!(
                word(&config, "bash", json!({ "command": line })),
                expected,
                "{line}"
            );
        }
        for line in [
            "agentx --version",
            "agentx config show",
            "agentx config path",
            "agentx approvals list",
            "agentx sessions list",
            "agentx run 'explain x'",
            "grep -rn 'agentx config set' docs",
            "git commit -m 'agentx config trust'",
            "cargo run -p x -- config show",
            "cp target/debug/agentx x",
            "ls ./agentx",
        ] {
            assert_eq!(
                word(&config, "bash", json!({ "command": line })),
                "allow",
                "{line}"
            );
        }
    }
}

#[test]
fn it_says_why_and_a_script_may_not() {
    let mut config = config(ApprovalMode::Ask, &["allow bash"]);
    config.rules_version = RULES_VERSION;
    let bash = config.tools.iter().find(|tool| tool.name == "bash").unwrap();
    let input = json!({"command": "agentx config set approval auto"});
    let why = always_asked(&config, bash, &input).unwrap();
    assert_eq!(
        why,
        "it changes the settings of AgentX, which no tool does without a person; no rule allows it"
    );
    let refused = judge_in_script(&config, bash, &input, true).unwrap_err();
    assert!(refused.contains("changes the settings of AgentX"), "{refused}");
    // As in logs from before.
    let mut before = config.clone();
    before.rules_version = 4;
    assert_eq!(word(&before, "bash", input), "allow");
}
