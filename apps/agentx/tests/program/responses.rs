//! OpenAI's Responses through the program: tools, reasoning that is sent back in a later run, and an
//! organization that is refused summaries.

use agentx_testing::StrictServer;
use agentx_testing::vendors::{AnswerPart, ChatServer, Dialect, ModelAnswer, ResponsesServer};
use serde_json::{Value, json};

use crate::common::{Ran, Sandbox};

/// Thinks and runs a command; then answers.
fn works(request: &Value) -> ModelAnswer {
    let items = request["input"].as_array().map(Vec::as_slice).unwrap_or_default();
    if items
        .last()
        .is_some_and(|item| item["type"] == "function_call_output")
    {
        return ModelAnswer::text("It printed a line.");
    }
    let call = AnswerPart::Call {
        id: format!("call_{}", items.len()),
        name: "bash".into(),
        input: json!({ "command": "echo seen" }),
    };
    ModelAnswer::default()
        .then(AnswerPart::Thinking("A line will do.".into()))
        .then(call)
}

fn kinds(request: &Value) -> Vec<&str> {
    let items = request["input"].as_array().unwrap();
    items.iter().filter_map(|item| item["type"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_at_responses_runs_tools_and_sends_its_reasoning_back() {
    let server = StrictServer::responses(ResponsesServer::new().unverified(), works).await;
    let sandbox = Sandbox::new().env("OPENAI_API_KEY", "sk-made-up");
    sandbox.config(&format!(
        "model: openai/gpt-6-sol\nproviders:\n  openai:\n    api: openai-responses\n    base_url: {}/v1\n",
        server.url()
    ));
    let runs = move || -> [Ran; 2] {
        [
            sandbox.run(&["run", "--yes", "print a line"]),
            sandbox.run(&["run", "--yes", "--continue", "and another"]),
        ]
    };
    for ran in tokio::task::spawn_blocking(runs).await.unwrap() {
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "It printed a line.\n"),
            "{ran}"
        );
    }
    let refused: Vec<&str> = server.refused().iter().map(|refusal| refusal.rule.name).collect();
    assert_eq!(refused, ["responses-unverified"], "once, in the first run");
    let requests = server.requests();
    assert!(requests.iter().all(|request| request.path == "/v1/responses"));
    let last = requests.last().unwrap().json();
    assert_eq!(last["store"], false);
    assert_eq!(
        kinds(&last),
        [
            "message",
            "reasoning",
            "function_call",
            "function_call_output",
            "message",
            "message",
            "reasoning",
            "function_call",
            "function_call_output",
        ],
        "{last}"
    );
}

/// The proxy is made up: nobody chose an API for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_takes_tools_only_at_responses_is_asked_there_behind_a_proxy_too() {
    let server = StrictServer::responses(ResponsesServer::new(), works).await;
    let sandbox = Sandbox::new().env("OPENAI_API_KEY", "sk-made-up");
    sandbox.config(&format!(
        "model: openai/gpt-6.2-sol\nproviders:\n  openai:\n    base_url: {}/v1\n",
        server.url()
    ));
    let run = move || sandbox.run(&["run", "--yes", "print a line"]);
    let ran = tokio::task::spawn_blocking(run).await.unwrap();
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "It printed a line.\n"),
        "{ran}"
    );
    assert!(server.refused().is_empty());
    let requests = server.requests();
    assert!(requests.iter().all(|request| request.path == "/v1/responses"));
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_chat_completions_refuses_are_sent_once_and_the_hint_names_the_setting() {
    let server = StrictServer::chat(ChatServer::new(Dialect::OpenAi), |_| {
        ModelAnswer::text("never said")
    })
    .await;
    let sandbox = Sandbox::new().env("OPENAI_API_KEY", "sk-made-up");
    sandbox.config(&format!(
        "model: openai/gpt-6.2-sol\nproviders:\n  openai:\n    api: openai-chat\n    base_url: {}/v1\n",
        server.url()
    ));
    let run = move || sandbox.run(&["run", "--yes", "print a line"]);
    let ran = tokio::task::spawn_blocking(run).await.unwrap();
    assert_ne!(ran.code, Some(0), "{ran}");
    let told = crate::common::squeezed(&ran.stderr).replace('\n', " ");
    assert!(told.contains("`providers.openai.api: openai-responses`"), "{ran}");
    let refused: Vec<&str> = server.refused().iter().map(|refusal| refusal.rule.name).collect();
    assert_eq!(refused, ["chat-tools-with-effort"], "once");
}
