//! Strict vendors: well-formed requests are accepted, each rule refuses requests that break it, and the table
//! in the docs matches the rules.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "vendors/anthropic.rs"]
mod anthropic;
#[path = "vendors/chat.rs"]
mod chat;
#[path = "vendors/clouds.rs"]
mod clouds;
#[path = "vendors/converse.rs"]
mod converse;
#[path = "vendors/gemini.rs"]
mod gemini;
#[path = "vendors/interactions.rs"]
mod interactions;
#[path = "vendors/responses.rs"]
mod responses;
#[path = "vendors/thinking.rs"]
mod thinking;

use std::collections::BTreeSet;

use agentx_llm::{Catalog, NoBlobs, build, header};
use agentx_testing::fixture;
use agentx_testing::vendors::{
    Anthropic, ChatServer, ConverseServer, Dialect, GeminiServer, InteractionsServer, ResponsesServer,
    VendorRefusal, VendorRule, table,
};
use agentx_types::{Api, ModelRequest};
use serde_json::{Value, json};

/// A request with one change, and the rule that it breaks.
type Case = (&'static str, fn(&mut Value));

/// Plays each case, and fails unless each rule of `rules` is broken by one of them and no case breaks another
/// rule.
fn each_rule_is_broken_once(
    cases: &[Case],
    rules: &[VendorRule],
    except: &[&str],
    check: impl Fn(&str, &Value) -> Option<VendorRefusal>,
    good: impl Fn(&str) -> Value,
) {
    for (rule, change) in cases {
        let mut request = good(rule);
        let fine = check(rule, &request);
        assert_eq!(fine, None, "before it is changed for {rule}");
        change(&mut request);
        let refusal = check(rule, &request).unwrap_or_else(|| panic!("{rule} was accepted"));
        assert_eq!(refusal.rule.name, *rule, "{}", refusal.message);
        assert!(
            refusal.status >= 400 && refusal.body.to_string().contains("message"),
            "{refusal:?}"
        );
    }
    let broken: BTreeSet<&str> = cases
        .iter()
        .map(|(rule, _)| *rule)
        .chain(except.iter().copied())
        .collect();
    let all: BTreeSet<&str> = rules.iter().map(|rule| rule.name).collect();
    assert_eq!(broken, all);
}

/// Sends a request to the vendor of its protocol.
fn send(catalog: &Catalog, request: &ModelRequest) -> Result<(), VendorRefusal> {
    let wire = catalog.wire_options(&request.model);
    let body = build(request, &wire, &NoBlobs);
    match request.model.api {
        Api::Anthropic => {
            let beta = header(request, &wire).map(|(_, value)| value).unwrap_or_default();
            Anthropic::new().check(&body, beta).map(drop)
        }
        Api::OpenaiChat => ChatServer::new(Dialect::OpenAi).check(&body).map(drop),
        Api::OpenaiResponses => ResponsesServer::new().check(&body).map(drop),
        Api::Gemini => {
            let path = format!("/v1beta/models/{}:streamGenerateContent", request.model.id);
            GeminiServer::new().check(&path, &body).map(drop)
        }
        Api::GeminiInteractions => InteractionsServer::new().check(&body).map(drop),
        Api::BedrockConverse => ConverseServer::new().check(&request.model.id, &body).map(drop),
        api => panic!("no vendor of {api:?}"),
    }
}

/// A model made such a call, and the agent answered that there is no such tool.
#[test]
fn a_call_without_a_name_is_sent_back_as_each_vendor_takes_it() {
    let catalog = Catalog::builtin();
    for (provider, id, api) in [
        ("anthropic", "claude-sonnet-5-5", Api::Anthropic),
        ("openai", "gpt-4.1", Api::OpenaiChat),
        ("openai", "gpt-5.6-terra", Api::OpenaiResponses),
        ("google", "gemini-3.8-flash", Api::Gemini),
        ("google", "gemini-3.8-flash", Api::GeminiInteractions),
        (
            "bedrock-converse",
            "us.amazon.nova-pro-v1:0",
            Api::BedrockConverse,
        ),
    ] {
        let messages = vec![
            fixture::user("hello"),
            fixture::tool_call("call_1", "", json!({})),
            fixture::tool_result("call_1", "", "There is no tool \"\"."),
        ];
        let mut request = fixture::request(api, messages);
        request.model = catalog.resolve_at(provider, id).unwrap();
        request.model.api = api;
        if let Err(refusal) = send(&catalog, &request) {
            panic!("{api:?}: {}", refusal.message);
        }
    }
}

#[test]
fn the_table_of_the_docs_is_the_rules() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/strict-vendors.md");
    let docs = std::fs::read_to_string(path).unwrap();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let head = docs.split("| rule |").next().unwrap();
        std::fs::write(path, format!("{head}{}", table())).unwrap();
        return;
    }
    assert!(
        docs.ends_with(&table()),
        "run this test once with UPDATE_GOLDEN=1"
    );
}
