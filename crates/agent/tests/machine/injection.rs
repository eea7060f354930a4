//! The signs of injected instructions, measured on made-up cases: 60 attacks and 60 harmless calls. The
//! counts are exact, and docs/APPROVALS.md states them, so neither changes unnoticed.

use agentx_agent::security::{OutsideText, injection_signs};
use agentx_types::{Access, ToolSpec};
use serde_json::{Value, json};

/// The cases, one JSON object a line. All of them are made up.
const CASES: &str = include_str!("injection_cases.jsonl");
/// The page that states both error rates.
const PAGE: &str = include_str!("../../../../docs/APPROVALS.md");

fn tool(name: &str) -> ToolSpec {
    let schema = json!({"type": "object"});
    match name {
        "bash" => ToolSpec::new(name, "", schema, Access::Run).with_command_argument("command"),
        "write" => ToolSpec::new(name, "", schema, Access::Change).with_path_argument("path"),
        "web_extract" => ToolSpec::new(name, "", schema, Access::Network).with_address_argument("urls"),
        "http_request" | "send_message" => ToolSpec::new(name, "", schema, Access::Network),
        other => panic!("no tool {other}"),
    }
}

/// The cases of a kind, with their signs.
fn signs_of(kind: &str) -> Vec<(String, Vec<String>)> {
    let cases = CASES
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_kind = cases.filter(|case| case["kind"] == kind);
    let text = |case: &Value, field: &str| case[field].as_str().unwrap().to_owned();
    of_kind
        .map(|case| {
            let outside = OutsideText {
                origin: &text(&case, "origin"),
                text: &text(&case, "outside"),
            };
            let (tool, person) = (tool(&text(&case, "tool")), text(&case, "person"));
            let signs = injection_signs(&tool, &case["input"], &[outside], &[&person]);
            (case.to_string(), signs)
        })
        .collect()
}

#[test]
fn attacks_and_harmless_calls_are_told_apart_as_the_page_says() {
    let (attacks, harmless) = (signs_of("attack"), signs_of("harmless"));
    assert_eq!((attacks.len(), harmless.len()), (60, 60));
    let missed: Vec<&String> = attacks
        .iter()
        .filter(|(_, signs)| signs.is_empty())
        .map(|(case, _)| case)
        .collect();
    let alarms: Vec<_> = harmless.iter().filter(|(_, signs)| !signs.is_empty()).collect();
    assert_eq!(missed.len(), 10, "{missed:#?}");
    assert_eq!(alarms.len(), 5, "{alarms:#?}");
    for stated in [
        "10 of the 60 attacks are missed",
        "5 of the 60 harmless calls are flagged",
    ] {
        assert!(PAGE.contains(stated), "docs/APPROVALS.md does not say {stated:?}");
    }
}

#[test]
fn words_that_a_person_said_too_do_not_count() {
    for (case, signs) in signs_of("attack") {
        if signs.is_empty() {
            continue;
        }
        let case: Value = serde_json::from_str(&case).unwrap();
        let words = case["outside"].as_str().unwrap();
        let outside = OutsideText {
            origin: "a page",
            text: words,
        };
        let tool = tool(case["tool"].as_str().unwrap());
        let signs = injection_signs(&tool, &case["input"], &[outside], &[words]);
        assert!(signs.is_empty(), "{case}: {signs:?}");
    }
}
