//! Tools with an argument for addresses: rules and questions are about the hosts that each call names.

use agentx_agent::approval::{Verdict, decide, explain_decision, suggested};
use agentx_types::*;
use serde_json::{Value, json};

use crate::rules::config;

/// A made-up tool that fetches the addresses in its argument `urls`.
fn fetching() -> ToolSpec {
    ToolSpec::new("fetch", "", json!({"type": "object"}), Access::Network).with_address_argument("urls")
}

fn with_rules(rules: &[&str]) -> AgentConfig {
    let mut config = config(ApprovalMode::Ask, rules);
    config.rules_version = RULES_VERSION;
    config
}

fn word(rules: &[&str], input: &Value) -> &'static str {
    match decide(&with_rules(rules), &fetching(), input) {
        Verdict::Allow { .. } => "allow",
        Verdict::Ask(_) => "ask",
        Verdict::Deny { .. } => "deny",
    }
}

#[test]
fn a_call_is_asked_about_with_the_hosts_that_it_names() {
    let input =
        json!({"urls": ["https://docs.example/a", "http://DOCS.example./b", "https://b.example:8443"]});
    let explained = explain_decision(&with_rules(&[]), &fetching(), &input);
    assert_eq!(explained.reason, "it sends to docs.example, b.example");
    let explained = explain_decision(&with_rules(&["ask fetch"]), &fetching(), &input);
    assert!(
        explained
            .reason
            .ends_with("; it sends to docs.example, b.example"),
        "{}",
        explained.reason
    );
}

#[test]
fn a_rule_allows_only_calls_whose_hosts_it_names_all() {
    let rules = ["allow fetch: to docs.example", "deny *: to *.evil.example"];
    for (urls, wanted) in [
        (
            json!(["https://docs.example/a", "http://docs.example:8080/b"]),
            "allow",
        ),
        (json!("https://docs.example/a"), "allow"),
        (json!(["https://docs.example/a", "https://other.example/"]), "ask"),
        (json!(["https://docs.example@other.example/"]), "ask"),
        (json!(["https://docs.example\\@other.example/"]), "deny"),
        (
            json!(["https://docs.example/", "https://a.evil.example/"]),
            "deny",
        ),
        (json!([]), "ask"),
        // An address that cannot be read may be of any host.
        (json!([7]), "deny"),
        (json!(["https://%64ocs.example/"]), "deny"),
    ] {
        assert_eq!(word(&rules, &json!({"urls": urls})), wanted, "{urls}");
    }
    assert_eq!(word(&["allow fetch: to *"], &json!({"urls": ["%"]})), "allow");
}

#[test]
fn always_keeps_the_host_of_a_call_with_one() {
    let kept = |urls: Value| suggested(&with_rules(&[]), &fetching(), &json!({"urls": urls})).argument;
    assert_eq!(
        kept(json!(["https://docs.example/a", "https://docs.example/b"])).as_deref(),
        Some("to docs.example")
    );
    let both = kept(json!(["https://a.example", "https://b.example"]));
    assert!(
        both.is_some_and(|both| both.starts_with('{')),
        "the arguments word for word"
    );
}
