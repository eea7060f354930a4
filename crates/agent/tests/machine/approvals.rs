//! Who decides about calls: rules, modes, people.

use agentx_agent::approval::{Verdict, decide, describe};
use agentx_agent::fixtures;
use agentx_types::*;
use serde_json::{Value, json};

use crate::harness::*;

fn bash() -> ToolSpec {
    ToolSpec {
        name: "bash".into(),
        description: "runs a command".into(),
        input_schema: json!({"type": "object"}),
        access: Access::Run,
        path_argument: None,
        command_argument: Some("command".into()),
        idempotent: false,
        quit: false,
    }
}

/// `allow bash: git *`, `deny look in /etc/**`.
fn rule(text: &str) -> Rule {
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
        effect,
        tool: tool.into(),
        argument,
        path,
    }
}

fn config(mode: ApprovalMode, rules: &[&str]) -> AgentConfig {
    let mut config = fixtures::config();
    config.approval = mode;
    config.rules = rules.iter().map(|text| rule(text)).collect();
    config.tools = config.tools.iter().cloned().chain([bash()]).collect();
    config
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

#[test]
fn paths() {
    let cases: &[(&[&str], &str, Value, &str)] = &[
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

fn asking() -> Session {
    let mut session = Session::new(config(ApprovalMode::Ask, &[]));
    session.say("go");
    session
}

fn command(id: &'static str, line: &str) -> (&'static str, &'static str, Value) {
    (id, "bash", json!({"command": line}))
}

#[test]
fn once_runs_it_and_keeps_nothing() {
    let mut session = asking();
    session.calls(&[command("c1", "uname -a"), command("c2", "uname -r")]);
    assert_eq!(session.status(), RunStatus::AwaitingApproval);
    session.decide("c1", ApprovalDecision::Once);
    assert_eq!(
        (session.running_ids(), session.status()),
        (vec!["c1".into()], RunStatus::AwaitingApproval)
    );
    session.decide("c1", ApprovalDecision::Once);
    session.decide("c9", ApprovalDecision::Once);
    assert_eq!(session.running().len(), 1);
    session.decide("c2", ApprovalDecision::Once);
    assert_eq!(
        (session.running().len(), session.status()),
        (2, RunStatus::AwaitingTool)
    );
    assert!(session.react().config().rules.is_empty());
    session.check_replay();
}

#[test]
fn a_kept_rule_releases_the_like_that_wait_and_no_other() {
    for decision in [ApprovalDecision::Session, ApprovalDecision::Always] {
        let mut session = asking();
        session.calls(&[
            command("c1", "rm x"),
            command("c2", "uname -a"),
            command("c3", "uname -r"),
            command("c4", "uname; rm y"),
        ]);
        session.decide("c2", decision);
        assert_eq!(session.running_ids(), ["c2", "c3"]);
        session.decide("c1", ApprovalDecision::Deny);
        session.decide("c4", ApprovalDecision::Deny);
        session.result("c2", "Linux");
        session.result("c3", "6");
        session.calls(&[command("c5", "uname -m"), command("c6", "pwd")]);
        assert_eq!(session.running_ids(), ["c5"], "for the rest of the session");
        session.check_replay();
    }
}

#[test]
fn the_rule_that_a_person_writes_is_the_one_that_is_kept() {
    let mut session = asking();
    session.calls(&[command("c1", "uname -a"), command("c2", "pwd")]);
    session.happens(Approval {
        tool_call_id: "c1".into(),
        decision: ApprovalDecision::Session,
        note: None,
        rule: Some(rule("deny bash: pwd")),
    });
    assert_eq!(session.running_ids(), ["c1"], "the call itself was approved");
    assert!(!session.react().ledger().is_settled() && !session.react().ledger().awaits_approval());
    session.result("c1", "Linux");
    assert!(session.sent()[3].starts_with("tool: c2 = Not allowed: the rule \"deny bash: pwd\""));
}

#[test]
fn a_refusal_is_told_with_its_note() {
    let mut session = asking();
    session.calls(&[command("c1", "rm x")]);
    session.happens(Approval {
        tool_call_id: "c1".into(),
        decision: ApprovalDecision::Deny,
        note: Some("use git".into()),
        rule: None,
    });
    assert_eq!(
        session.sent()[2],
        "tool: c1 = The person refused this call. They say: use git"
    );
    let denied = |s: &&StateOutput| {
        matches!(
            s,
            StateOutput::ToolEnded {
                status: ToolStatus::Denied,
                ..
            }
        )
    };
    assert_eq!(session.states().filter(denied).count(), 1);
    assert!(
        !session
            .states()
            .any(|s| matches!(s, StateOutput::ToolStarted { .. })),
        "nothing was run"
    );
}

#[test]
fn what_nobody_can_be_asked_about_is_refused() {
    let mut session = Session::new(config(ApprovalMode::Deny, &[]));
    session.say("go");
    session.calls(&[command("c1", "rm x")]);
    assert!(session.sent()[2].contains("nobody is there to be asked"));
}

#[test]
fn an_approved_call_outside_may_go_outside() {
    let mut session = asking();
    session.calls(&[
        ("c1", "look", json!({"path": "/etc/hosts"})),
        ("c2", "change", json!({"path": "a"})),
    ]);
    session.decide("c1", ApprovalDecision::Once);
    session.decide("c2", ApprovalDecision::Once);
    let outside = |action: &Action| match &action.body {
        ActionBody::CallTool(call) => call.outside_workspace,
        _ => false,
    };
    assert_eq!(
        session.running().iter().map(outside).collect::<Vec<_>>(),
        [true, false]
    );
}

#[test]
fn a_decision_about_a_call_of_an_earlier_round_with_the_same_name_decides_nothing() {
    let mut session = asking();
    session.calls(&[command("call_0", "rm x")]);
    session.decide("call_0", ApprovalDecision::Once);
    session.result("call_0", "gone");
    session.calls(&[command("call_0", "rm y")]);
    session.decide("call_0", ApprovalDecision::Once);
    assert!(session.running().is_empty());
    assert_eq!(session.status(), RunStatus::AwaitingApproval);
}
