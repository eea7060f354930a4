//! Command lines that are too large to be checked against the rules.

use agentx_types::{AgentConfig, ApprovalMode, RULES_VERSION};

use crate::rules::{config, judged};
use crate::secrets::guarded;

fn now(mode: ApprovalMode, rules: &[&str]) -> AgentConfig {
    AgentConfig {
        rules_version: RULES_VERSION,
        ..config(mode, rules)
    }
}

fn many(count: usize) -> String {
    (0..count).map(|n| format!("echo {n}; ")).collect()
}

const TOO_MUCH: &str = "the command line is too long or has too many commands";

#[test]
fn a_line_with_very_many_commands_is_held_against_no_rule_about_a_part_of_it() {
    use ApprovalMode::{Ask, Auto, Deny};
    let long = format!("echo {}", "x".repeat(70_000));
    for line in [many(2_000), long] {
        for (mode, rules, verdict) in [
            (Ask, &["allow bash", "deny bash: rm *"][..], "ask"),
            (Ask, &["allow bash", "ask bash: rm *"], "ask"),
            (Ask, &["allow bash: echo *"], "ask"),
            (Deny, &["allow bash: echo *"], "deny"),
            (Deny, &["allow bash", "deny bash: rm *"], "deny"),
            (Auto, &["deny bash: rm *"], "deny"),
            (Auto, &["ask bash: rm *"], "ask"),
        ] {
            let (judged, reason) = judged(&now(mode, rules), &line);
            assert_eq!(judged, verdict, "{mode:?} {rules:?}");
            assert!(reason.contains(TOO_MUCH), "{rules:?}: {reason}");
        }
        for (mode, rules, verdict) in [
            (Ask, &["allow bash"][..], "allow"),
            (Auto, &[], "allow"),
            (Auto, &["deny look"], "allow"),
            (Ask, &["allow bash", "deny bash: rm *", "deny bash"], "deny"),
        ] {
            let (judged, reason) = judged(&now(mode, rules), &line);
            assert_eq!(judged, verdict, "{mode:?} {rules:?}");
            assert!(!reason.contains(TOO_MUCH), "{rules:?}: {reason}");
        }
    }
}

#[test]
fn a_line_with_a_few_commands_is_held_against_every_rule() {
    let config = now(ApprovalMode::Ask, &["allow bash: echo *", "deny bash: rm *"]);
    assert_eq!(judged(&config, &many(200)).0, "allow");
    assert_eq!(judged(&config, &format!("{} rm x", many(200))).0, "deny");
    let older = AgentConfig {
        rules_version: 8,
        ..config
    };
    assert_eq!(
        judged(&older, &many(2_000)).0,
        "allow",
        "older logs are judged as they were"
    );
}

#[test]
fn very_many_rules_leave_room_for_fewer_commands() {
    let rules: Vec<String> = (0..33_000).map(|n| format!("deny bash: rm {n}")).collect();
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let config = now(ApprovalMode::Ask, &rules);
    assert!(judged(&config, &many(2_000)).1.contains(TOO_MUCH));
    assert!(judged(&config, &many(100)).1.contains(TOO_MUCH));
    assert!(!judged(&config, "echo 1").1.contains(TOO_MUCH));
    assert_eq!(judged(&config, "echo 1; rm 7").0, "deny");
}

#[test]
fn a_line_that_no_rule_is_held_against_opens_nothing_of_the_program_and_no_secret() {
    let with = |end: &str| format!("{} {end}", many(2_000));
    for mode in [ApprovalMode::Ask, ApprovalMode::Auto] {
        let config = guarded(mode, &["allow bash"]);
        let own = "cat ~/.local/share/agentx/identity";
        assert_eq!(judged(&config, &with(own)).0, "deny");
        assert_eq!(judged(&config, &with("cat .env")).0, "ask");
    }
    let auto = now(ApprovalMode::Auto, &[]);
    assert_eq!(judged(&auto, &with("agentx config set approval auto")).0, "deny");
}
