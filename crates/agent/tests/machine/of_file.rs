//! Tools that a folder's file describes: a rule for another tool of the same name does not allow them, and
//! kept decisions end with the file.

use agentx_agent::approval::{Verdict, decide, decide_nested, explain_decision, suggested};
use agentx_types::*;
use serde_json::json;

use crate::rules::{config, rule};

/// A made-up tool of a folder whose file has this hash.
fn weather(file: &str, replaces: bool) -> ToolSpec {
    let mut spec = config(ApprovalMode::Ask, &[]).tools[0].clone();
    spec.name = "weather".into();
    spec.path_argument = None;
    spec.access = Access::Network;
    spec.reach = Some(Box::new(ToolReach {
        hosts: vec!["api.example".into()],
        file: Some(file.into()),
        replaces,
        ..ToolReach::default()
    }));
    spec
}

fn with_rules(rules: &[&str]) -> AgentConfig {
    let mut config = config(ApprovalMode::Ask, rules);
    config.rules_version = RULES_VERSION;
    config
}

fn word(rules: &[&str], tool: &ToolSpec) -> &'static str {
    match decide(&with_rules(rules), tool, &json!({})) {
        Verdict::Allow { .. } => "allow",
        Verdict::Ask(_) => "ask",
        Verdict::Deny { .. } => "deny",
    }
}

#[test]
fn a_rule_for_the_tool_that_is_replaced_does_not_allow_the_one_in_its_place() {
    let (own, other) = (weather("aaaa", false), weather("aaaa", true));
    for rule in ["allow weather", "allow *", "allow weather: to api.example"] {
        assert_eq!(word(&[rule], &own), "allow", "{rule}");
        assert_eq!(word(&[rule], &other), "ask", "{rule}");
    }
    assert_eq!(word(&["allow weather@aaaa"], &other), "allow");
    assert_eq!(word(&["allow weather@aaaa", "deny weather"], &other), "deny");
    assert_eq!(word(&["allow weather@aaaa", "ask *"], &other), "ask");
    let why = explain_decision(&with_rules(&["allow weather"]), &other, &json!({})).reason;
    assert!(why.contains("replaces a tool of the same name"), "{why}");
    // A person who allowed a script that names the tool meant the other one.
    let inner = |tool: &ToolSpec| decide_nested(&with_rules(&[]), tool, &json!({}), true);
    assert!(matches!(inner(&own), Verdict::Allow { .. }));
    assert!(matches!(inner(&other), Verdict::Ask(_)));
}

#[test]
fn a_kept_rule_for_a_folders_tool_ends_when_its_file_changes() {
    let (before, after) = (weather("aaaa", false), weather("bbbb", false));
    let kept = suggested(&with_rules(&[]), &before, &json!({}));
    assert_eq!(
        (kept.tool.as_str(), kept.tool_name()),
        ("weather@aaaa", "weather")
    );
    let mut config = with_rules(&[]);
    config.rules.push(kept);
    assert!(matches!(
        decide(&config, &before, &json!({})),
        Verdict::Allow { .. }
    ));
    assert!(matches!(decide(&config, &after, &json!({})), Verdict::Ask(_)));
    config.rules.push(rule("deny weather@aaaa"));
    assert!(matches!(
        decide(&config, &before, &json!({})),
        Verdict::Deny { .. }
    ));
    assert!(matches!(decide(&config, &after, &json!({})), Verdict::Ask(_)));
}

#[test]
fn a_question_about_a_tool_names_every_grant_of_its_file() {
    let names = |name: &str| vec![name.to_owned()];
    let mut tool = weather("aaaa", false);
    let granted = ToolReach {
        variables: names("TOKEN"),
        tools: names("read"),
        models: names("*"),
        key_spaces: names("notes"),
        agents: vec!["helper".into(), "*".into()],
        ..ToolReach::clone(tool.reach.as_deref().unwrap())
    };
    tool.reach = Some(Box::new(granted));
    let why = |rules: &[&str]| explain_decision(&with_rules(rules), &tool, &json!({})).reason;
    let all = "it sends to api.example, gets the variables TOKEN, calls read, asks models: any, keeps values \
               in the key spaces notes, creates agents: helper, any";
    assert_eq!(why(&[]), all);
    assert_eq!(
        why(&["ask weather"]),
        format!("the rule \"ask weather\" asks; {all}")
    );
    let mut before = with_rules(&[]);
    before.rules_version = RULES_VERSION - 1;
    assert_eq!(
        explain_decision(&before, &tool, &json!({})).reason,
        "it sends to api.example, gets the variables TOKEN, calls read"
    );
    // Each kind of grant alone is named, too.
    tool.reach = Some(Box::new(ToolReach {
        key_spaces: names("notes"),
        ..ToolReach::default()
    }));
    let why = explain_decision(&with_rules(&[]), &tool, &json!({})).reason;
    assert_eq!(why, "it keeps values in the key spaces notes");
}

#[test]
fn a_rule_about_a_host_does_not_allow_a_tool_that_also_creates_agents() {
    let mut tool = weather("aaaa", false);
    let to_host = "allow weather: to api.example";
    assert_eq!(word(&[to_host], &tool), "allow");
    let kept = suggested(&with_rules(&[]), &tool, &json!({}));
    assert_eq!(kept.argument.as_deref(), Some("to api.example"));
    tool.reach.as_mut().unwrap().agents = vec!["helper".into()];
    assert_eq!(word(&[to_host], &tool), "ask");
    let kept = suggested(&with_rules(&[]), &tool, &json!({}));
    assert_eq!(kept.argument.as_deref(), Some("{}"));
}
