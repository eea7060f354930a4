//! Commands that change this program's own settings: each one needs a question, whatever the rules say.

use agentx_agent::approval::{Verdict, always_asked, decide_nested};
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
    "agentx --approval auto run x",
    "agentx run --approval=auto x",
    "agentx run --approve=auto x",
    "AGENTX_APPROVAL=auto agentx run x",
    "export AGENTX_APPROVAL=auto; agentx run x",
    "AGENTX_TRUST_FOLDER=yes agentx run x",
];

/// From version 6 of the rules on.
const RUNNING: &[&str] = &[
    "agentx",
    "agentx run 'explain x'",
    "agentx run -qy x",
    "agentx run -- x --help",
    "agentx -h run x",
    "AGENTX_CONFIG=./evil.yaml agentx run x",
    "AGENTX_CONFIG=./evil.yaml agentx config show",
    "env AGENTX_CONFIG=./evil.yaml agentx run x",
    "timeout 5 ./target/debug/agentx run x",
    "agentx identity export --secret",
    "agentx identity trust x",
    "agentx sessions search password",
    "agentx sessions list",
    "agentx --data x sessions export y",
    "agentx tools run bash command=ls",
    "agentx serve",
    "agentx chat",
    "agentx mirror x",
    "python3 -c 'import os; os.system(\"agentx run x\")'",
];

#[test]
fn from_version_6_on_only_what_shows_is_left_to_rules() {
    for line in RUNNING {
        let mut config = config(ApprovalMode::Auto, &["allow *"]);
        config.rules_version = 6;
        let input = json!({ "command": line });
        assert_eq!(word(&config, "bash", input.clone()), "deny", "{line}");
        config.approval = ApprovalMode::Ask;
        assert_eq!(word(&config, "bash", input.clone()), "ask", "{line}");
        config.rules_version = 5;
        let before = word(&config, "bash", input);
        assert_eq!(before, "allow", "older logs are judged as they were: {line}");
    }
}

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
            "agentx run --help",
            "agentx help sessions",
            "agentx identity show",
            "AGENTX_TEST_DATA=x cargo test",
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
fn it_says_why_also_where_a_script_wants_it() {
    let mut config = config(ApprovalMode::Ask, &["allow bash"]);
    config.rules_version = RULES_VERSION;
    let bash = config.tools.iter().find(|tool| tool.name == "bash").unwrap();
    let input = json!({"command": "agentx config set approval auto"});
    let why = always_asked(&config, bash, &input).unwrap();
    assert_eq!(
        why,
        "it changes the settings of AgentX, which no tool does without a person; no rule allows it"
    );
    let asked = decide_nested(&config, bash, &input, true);
    assert!(
        matches!(asked, Verdict::Ask(question) if question.reason.contains("changes the settings of AgentX"))
    );
    // As in older logs.
    let mut before = config.clone();
    before.rules_version = 4;
    assert_eq!(word(&before, "bash", input), "allow");
}

#[test]
fn a_command_that_removes_the_system_or_a_home_is_refused_whatever_rules_and_modes_say() {
    let all = &["allow bash"];
    for mode in [ApprovalMode::Auto, ApprovalMode::Ask, ApprovalMode::Deny] {
        for line in [
            "rm -rf / --no-preserve-root",
            "sudo rm -rf ~",
            "cd /etc && rm -rf *",
        ] {
            let mut config = config(mode, all);
            config.rules_version = RULES_VERSION;
            assert_eq!(word(&config, "bash", json!({"command": line})), "deny", "{line}");
            let tool = config.tools.iter().find(|spec| spec.name == "bash").unwrap();
            let inner = decide_nested(&config, tool, &json!({"command": line}), true);
            assert!(
                matches!(inner, Verdict::Deny { .. }),
                "{line} in a script: {inner:?}"
            );
        }
    }
    let mut before = config(ApprovalMode::Auto, all);
    before.rules_version = 8;
    assert_eq!(
        word(&before, "bash", json!({"command": "rm -rf /"})),
        "allow",
        "logs of before stay as they are"
    );
}
