//! Approval rules, modes and defaults as tables.

use agentx_agent::approval::{Verdict, covers, decide, describe, explain_decision};
use agentx_agent::fixtures;
use agentx_agent::unmatchable_rules::never_about;
use agentx_types::*;
use serde_json::{Value, json};

fn bash() -> ToolSpec {
    ToolSpec::new("bash", "runs a command", json!({"type": "object"}), Access::Run)
        .with_command_argument("command")
}

/// `allow bash: git *`, `deny look in /etc/**`.
pub(crate) fn rule(text: &str) -> Rule {
    let (effect, rest) = text.split_once(' ').unwrap();
    let (rest, path) = match rest.split_once(" in ") {
        Some((rest, path)) => (rest, Some(path.to_owned())),
        None => (rest, None),
    };
    let (tool, argument) = match rest.split_once(": ") {
        Some((tool, argument)) => (tool, Some(argument.to_owned())),
        None => (rest, None),
    };
    let effect = match effect {
        "allow" => RuleEffect::Allow,
        "ask" => RuleEffect::Ask,
        _ => RuleEffect::Deny,
    };
    Rule {
        workspace: None,
        effect,
        tool: tool.into(),
        argument,
        path,
        origin: None,
    }
}

pub(crate) fn config(mode: ApprovalMode, rules: &[&str]) -> AgentConfig {
    let mut config = fixtures::config();
    config.approval = mode;
    config.rules = rules.iter().map(|text| rule(text)).collect();
    config.tools = config.tools.iter().cloned().chain([bash()]).collect();
    config
}

/// Returns `allow`, `ask` or `deny` for a command line, and the reason.
pub(crate) fn judged(config: &AgentConfig, line: &str) -> (&'static str, String) {
    let bash = config.tools.iter().find(|tool| tool.name == "bash").unwrap();
    let judged = explain_decision(config, bash, &json!({ "command": line }));
    let word = match judged.verdict {
        Verdict::Allow { .. } => "allow",
        Verdict::Ask(_) => "ask",
        Verdict::Deny { .. } => "deny",
    };
    (word, judged.reason)
}

fn verdict(config: &AgentConfig, tool: &str, input: Value) -> &'static str {
    let tool = config.tools.iter().find(|spec| spec.name == tool).unwrap();
    match decide(config, tool, &input) {
        Verdict::Allow {
            outside_workspace: false,
        } => "allow",
        Verdict::Allow {
            outside_workspace: true,
        } => "allow outside",
        Verdict::Ask(_) => "ask",
        Verdict::Deny { .. } => "deny",
    }
}

#[test]
fn command_lines() {
    let cases: &[(&[&str], &str, &str)] = &[
        (&["allow bash: git *"], "git status", "allow"),
        (&["allow bash: git *"], "  git\tstatus ", "allow"),
        (&["allow bash: git *"], "git", "allow"),
        (&["allow bash: git *"], "gitk", "ask"),
        (&["allow bash: git *"], "git status; rm -rf /", "ask"),
        (&["allow bash: git *"], "git status && rm -rf /", "ask"),
        (&["allow bash: git *"], "git status | sh", "ask"),
        (&["allow bash: git *"], "git status & sh", "ask"),
        (&["allow bash: git *"], "git status\nrm -rf /", "ask"),
        (&["allow bash: git *"], "git status\rrm -rf /", "ask"),
        (&["allow bash: git *"], "git log $(rm -rf /)", "ask"),
        (&["allow bash: git *"], "git log \"`rm -rf /`\"", "ask"),
        (&["allow bash: git *"], "git log > /etc/passwd", "ask"),
        (&["allow bash: git *"], "git log 2>&1", "allow"),
        (&["allow bash: git *"], "git log # x", "ask"),
        (&["allow bash: git *"], "FOO=1 git log", "ask"),
        (&["allow bash: git *"], "\u{3000}git log", "ask"),
        (&["allow bash: git *"], "git log 'a; b'", "allow"),
        (&["allow bash: git *"], "git log \"a", "ask"),
        (&["allow bash: git *"], "", "ask"),
        (
            &["allow bash: git *", "allow bash: ls *"],
            "git status; ls",
            "allow",
        ),
        (&["allow bash: git status; ls"], "git status; ls", "allow"),
        (&["allow bash: rm -r build/\\*"], "rm -r build/*", "allow"),
        (&["allow bash: rm -r build/\\*"], "rm -r build/../src", "ask"),
        (&["allow bash: *"], "anything > at $(all)", "allow"),
        (&["allow bash"], "anything > at $(all)", "allow"),
        (&["allow *"], "anything", "allow"),
        (&["allow bash: *", "deny bash: rm *"], "ls; rm -rf /", "deny"),
        (
            &["allow bash: *", "deny bash: rm *"],
            "if true; then /bin/rm -rf /; fi",
            "deny",
        ),
        (&["allow bash: *", "deny bash: rm *"], "echo $(rm -rf /)", "deny"),
        (&["allow bash: *", "deny bash: rm *"], "sudo rm -rf /", "deny"),
        (&["allow bash: *", "deny bash: rm *"], "echo 'rm -rf /'", "allow"),
        (
            &["allow bash: *", "ask bash: git push *"],
            "git add . && git push",
            "ask",
        ),
        (&["ask bash: git push *", "allow bash: *"], "git pull", "allow"),
        (
            &["deny bash: git *", "ask bash: git *", "allow bash: git *"],
            "git log",
            "deny",
        ),
        (&["allow bash in **"], "git log", "ask"),
    ];
    for (rules, line, expected) in cases {
        let config = config(ApprovalMode::Ask, rules);
        assert_eq!(
            verdict(&config, "bash", json!({"command": line})),
            *expected,
            "{rules:?} {line:?}"
        );
    }
}

type Case = (&'static [&'static str], &'static str, Value, &'static str);

fn check_asked(cases: &[Case]) {
    for (rules, tool, input, expected) in cases {
        let config = config(ApprovalMode::Ask, rules);
        assert_eq!(
            verdict(&config, tool, input.clone()),
            *expected,
            "{rules:?} {tool} {input}"
        );
    }
}

#[test]
fn paths_without_rules() {
    let cases: &[Case] = &[
        (&[], "look", json!({"path": "a/b"}), "allow"),
        (&[], "look", json!({"path": "/ws/a"}), "allow"),
        (&[], "look", json!({"path": "/ws"}), "allow"),
        (&[], "look", json!({}), "allow"),
        (&[], "look", json!({"path": 7}), "allow"),
        (&[], "look", json!({"path": "a/../../etc/passwd"}), "ask"),
        (&[], "look", json!({"path": "a/../b"}), "allow"),
        (&[], "look", json!({"path": "/ws2/a"}), "ask"),
        (&[], "look", json!({"path": "/ws/../etc/passwd"}), "ask"),
        (&[], "look", json!({"path": "~/.ssh/id"}), "ask"),
        (&[], "change", json!({"path": "a"}), "ask"),
        (&[], "finish", json!({}), "allow"),
    ];
    check_asked(cases);
}

#[test]
fn paths_with_rules() {
    let cases: &[Case] = &[
        (
            &["allow look in /etc/*"],
            "look",
            json!({"path": "/etc/hosts"}),
            "allow outside",
        ),
        (
            &["allow look in /etc/*"],
            "look",
            json!({"path": "/etc/ssl/key"}),
            "ask",
        ),
        (
            &["allow look in /etc/*"],
            "look",
            json!({"path": "/etc/x/../../root"}),
            "ask",
        ),
        (
            &["allow change in src/**"],
            "change",
            json!({"path": "src/a/b"}),
            "allow",
        ),
        (
            &["allow change in src/**"],
            "change",
            json!({"path": "src/../b"}),
            "ask",
        ),
        (
            &["allow change in **"],
            "change",
            json!({"path": "/etc/hosts"}),
            "ask",
        ),
        (
            &["allow change"],
            "change",
            json!({"path": "/etc/hosts"}),
            "allow outside",
        ),
        (
            &["deny * in secret/**"],
            "look",
            json!({"path": "x/../secret/a"}),
            "deny",
        ),
        (
            &["deny * in **/.env", "allow *"],
            "look",
            json!({"path": "a/.env"}),
            "deny",
        ),
        (&["ask look in **"], "look", json!({}), "ask"),
        (
            &["deny look: *\"path\":\"b*"],
            "look",
            json!({"path": "b"}),
            "deny",
        ),
    ];
    check_asked(cases);
}

#[test]
fn modes() {
    use ApprovalMode::{Ask, Auto, Deny};
    let outside = json!({"path": "/etc/hosts"});
    let cases = [
        (Ask, "look", json!({}), "allow"),
        (Auto, "look", json!({}), "allow outside"),
        (Deny, "look", json!({}), "allow"),
        (Ask, "change", json!({}), "ask"),
        (Auto, "change", json!({}), "allow outside"),
        (Deny, "change", json!({}), "deny"),
        (Ask, "look", outside.clone(), "ask"),
        (Auto, "look", outside.clone(), "allow outside"),
        (Deny, "look", outside, "deny"),
    ];
    for (mode, tool, input, expected) in cases {
        assert_eq!(
            verdict(&config(mode, &[]), tool, input.clone()),
            expected,
            "{mode:?} {tool} {input}"
        );
    }
    let ask = ["ask look"];
    assert_eq!(verdict(&config(Ask, &ask), "look", json!({})), "ask");
    assert_eq!(verdict(&config(Auto, &ask), "look", json!({})), "allow outside");
    assert_eq!(verdict(&config(Deny, &ask), "look", json!({})), "deny");
    assert_eq!(verdict(&config(Auto, &["deny look"]), "look", json!({})), "deny");
}

/// A rule that matches some call of a tool is never reported as matching none.
#[test]
fn a_rule_that_matches_a_call_is_not_said_to_match_none() {
    let config = config(ApprovalMode::Ask, &[]);
    let inputs = [
        json!({"command": "cat src/a"}),
        json!({"path": "src/a"}),
        json!({}),
    ];
    let patterns = [
        None,
        Some("*"),
        Some("src/**"),
        Some("cat *"),
        Some("{*"),
        Some("*src*"),
        Some("*src/a"),
        Some("*src/a\"}"),
        Some("**/a*"),
    ];
    let (mut matched, mut never) = (0, 0);
    for tool in &*config.tools {
        for (path, argument) in patterns
            .iter()
            .flat_map(|path| patterns.map(|argument| (*path, argument)))
        {
            for effect in [RuleEffect::Allow, RuleEffect::Ask, RuleEffect::Deny] {
                let rule = Rule {
                    effect,
                    tool: tool.name.clone(),
                    argument: argument.map(str::to_owned),
                    path: path.map(str::to_owned),
                    workspace: None,
                    origin: None,
                };
                let is_about = |input| covers(&rule, &config.workspace, tool, input);
                let (some, why) = (inputs.iter().any(is_about), never_about(&rule, tool));
                assert!(!some || why.is_none(), "{} {rule:?}: {why:?}", tool.name);
                matched += usize::from(some);
                never += usize::from(why.is_some());
            }
        }
    }
    assert!(matched > 20 && never > 20, "{matched} {never}");
}

#[test]
fn what_is_suggested_covers_the_call_and_little_more() {
    let config = config(ApprovalMode::Ask, &[]);
    let cases = [
        ("bash", json!({"command": "uname -a"}), "\"allow bash: uname *\""),
        (
            "bash",
            json!({"command": "rm -r build/*"}),
            "\"allow bash: rm -r build/\\*\"",
        ),
        ("bash", json!({"command": "ls; pwd"}), "\"allow bash: ls; pwd\""),
        ("change", json!({"path": "a"}), "\"allow change in **\""),
        (
            "look",
            json!({"path": "/etc/a*b"}),
            "\"allow look in /etc/a\\*b\"",
        ),
    ];
    for (name, input, expected) in cases {
        let tool = config.tools.iter().find(|spec| spec.name == name).unwrap();
        let Verdict::Ask(question) = decide(&config, tool, &input) else {
            panic!("{name} {input} is not asked about");
        };
        assert_eq!(describe(&question.suggested), expected);
        let mut kept = config.clone();
        kept.rules.push(question.suggested);
        assert!(verdict(&kept, name, input).starts_with("allow"));
    }
}

/// A shell that stays runs command lines too. A `shell_input` of an older log does not name its text: its
/// calls are judged by their JSON.
#[test]
fn rules_about_bash_hold_for_lines_of_shell() {
    let rules = [
        "allow bash: git status*",
        "deny bash: rm *",
        "ask bash: make *",
        "allow shell: ls *",
    ];
    let mut config = config(ApprovalMode::Ask, &rules);
    let mut shell = bash();
    shell.name = "shell".into();
    let input = ToolSpec::new("shell_input", "types", json!({"type": "object"}), Access::Run);
    config.tools = config.tools.iter().cloned().chain([shell, input]).collect();
    config.rules_version = RULES_VERSION;
    let line = |line: &str| json!({ "command": line });
    for (command, expected) in [
        ("git status -s", "allow"),
        ("rm x", "deny"),
        ("git status; rm x", "deny"),
        ("make all", "ask"),
        ("touch x", "ask"),
        ("ls src", "allow"),
    ] {
        assert_eq!(verdict(&config, "shell", line(command)), expected, "{command}");
    }
    assert_eq!(
        verdict(&config, "bash", line("ls src")),
        "ask",
        "not the other way round"
    );
    assert_eq!(
        verdict(&config, "shell_input", json!({"text": "git status"})),
        "ask"
    );
    config.approval = ApprovalMode::Auto;
    assert_eq!(
        verdict(&config, "shell_input", json!({"text": "rm x"})),
        "allow outside"
    );
    config.rules_version = 8;
    assert_eq!(
        verdict(&config, "shell", line("rm x")),
        "allow outside",
        "in an older log"
    );
}
