//! A server of one's own, and a provider that cannot be asked: what is listed, and that nothing passes for an answer of a model.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use crate::common::Sandbox;
use crate::models::{answering, streaming};

fn with_list(ids: &[&str]) -> Sandbox {
    let data: Vec<_> = ids.iter().map(|id| serde_json::json!({ "id": id })).collect();
    let body = serde_json::json!({ "object": "list", "data": data }).to_string();
    let address = answering("200 OK", body);
    Sandbox::new()
        .env("OPENAI_BASE_URL", &format!("{address}/v1"))
        .env("OPENAI_API_KEY", "sk-made-up")
}

/// The rows of the list that are of this provider, without the blanks.
fn rows(sandbox: &Sandbox, provider: &str) -> Vec<String> {
    let listed = sandbox.run(&["models"]);
    assert_eq!(listed.code, Some(0), "{listed}");
    let rows = listed.stdout.lines().filter(|line| line.contains(provider));
    rows.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn the_list_has_what_the_server_has_and_marks_what_is_asked() {
    let one = with_list(&["my-model"]);
    let listed = rows(&one, " openai ");
    assert!(
        listed.len() == 1 && listed[0].starts_with("* my-model openai"),
        "{listed:?}"
    );
    assert!(
        listed[0].contains('?') && !listed[0].contains("$0"),
        "nobody knows its price: {listed:?}"
    );
    let two = with_list(&["my-model", "other"]);
    let listed = rows(&two, " openai ");
    assert!(
        listed.len() == 2 && listed.iter().all(|row| !row.starts_with('*')),
        "{listed:?}"
    );
    let named = with_list(&["my-model", "other"]).env("AGENTX_MODEL", "openai/not-listed");
    let listed = rows(&named, " openai ");
    assert!(
        listed.iter().any(|row| row.starts_with("* not-listed openai")),
        "{listed:?}"
    );
    let silent = Sandbox::new()
        .env(
            "OPENAI_BASE_URL",
            &format!("{}/v1", answering("404 Not Found", "{}")),
        )
        .env("OPENAI_API_KEY", "sk-made-up");
    let listed = silent.run(&["models"]);
    assert!(
        listed.code == Some(0) && listed.stderr.contains("does not say which models it has"),
        "{listed}"
    );
}

#[test]
fn a_provider_without_its_key_is_never_answered_for_by_the_demo() {
    let provider = "providers:\n  mine:\n    base_url: https://models.example/v1\n    api_key: ${NO_SUCH}\n";
    let sandbox = Sandbox::new();
    sandbox.config(provider);
    for line in [
        &["run", "hello"][..],
        &["run", "--output-format", "json", "hello"],
    ] {
        let ran = sandbox.run(line);
        assert_eq!(ran.code, Some(4), "{ran}");
        assert!(ran.stderr.contains("NO_SUCH is not set"), "{ran}");
        assert!(
            !ran.stdout.contains("demo") && !ran.stdout.contains("completed"),
            "{ran}"
        );
    }
    let chat = sandbox.run_with_input(&[], "hello\n");
    assert_eq!(chat.code, Some(4), "{chat}");
    let checked = sandbox.run(&["config", "check"]);
    assert!(checked.stderr.contains("NO_SUCH is not set"), "{checked}");
    let chosen = sandbox.run(&["run", "--model", "scripted", "hello"]);
    assert!(
        chosen.code == Some(0) && !chosen.stderr.contains("offline demo"),
        "who asks for it gets it: {chosen}"
    );
}

#[test]
fn the_demo_is_named_where_it_answers() {
    let sandbox = Sandbox::new();
    for line in [
        &["run", "hello"][..],
        &["run", "--quiet", "hello"],
        &["run", "--output-format", "json", "hello"],
    ] {
        let ran = sandbox.run(line);
        assert_eq!(ran.code, Some(0), "{ran}");
        assert_eq!(
            ran.stderr.matches("note: the offline demo answers").count(),
            1,
            "{ran}"
        );
    }
}

#[test]
fn what_nobody_knows_the_price_of_costs_a_question_mark() {
    let answer = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}\n\n\
                  data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1200,\"completion_tokens\":9}}\n\ndata: [DONE]\n\n";
    let sandbox = Sandbox::new().env("KEY_OF_MINE", "made-up");
    sandbox.config(&format!(
        "model: mine/some\nproviders:\n  mine:\n    base_url: {}/v1\n    api_key: ${{KEY_OF_MINE}}\n",
        streaming(&[answer])
    ));
    let ran = sandbox.run(&["run", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let listed = sandbox.run(&["sessions", "list"]);
    assert!(
        listed.stdout.contains(" $? ") && !listed.stdout.contains("$0"),
        "{listed}"
    );
    for line in [
        &["usage", "--by", "model"][..],
        &["usage", "--by", "day"],
        &["usage", "--by", "session"],
        &["usage", "--by", "cause"],
        &["sessions", "stats"],
    ] {
        let ran = sandbox.run(line);
        assert!(ran.stdout.contains("$?") && !ran.stdout.contains("$0"), "{ran}");
    }
    let stats = sandbox.run(&["sessions", "stats", "--json"]);
    assert_eq!(stats.code, Some(0), "{stats}");
    let json = sandbox.run(&["usage", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        rows["rows"][0]["unpriced_models"],
        serde_json::json!(["some"]),
        "{json}"
    );
}
