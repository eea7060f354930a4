//! Bedrock's Converse through the program: signed requests, frames of events, a call of a tool, reasoning,
//! and a second call that the cache had. Nobody has recorded a stream of Converse with all of it: the server
//! is as strict as AWS's reference and as the refusals that people have reported.

use agentx_testing::StrictServer;
use agentx_testing::vendors::{AnswerPart, Anthropic, BedrockServer, ConverseServer, ModelAnswer};
use serde_json::{Value, json};

use crate::common::{Ran, Sandbox};

/// Made up.
const SECRET: &str = "made-up-secret/of+aws=";

/// Thinks and runs a command; then answers.
fn works(request: &Value) -> ModelAnswer {
    let messages = request["messages"].as_array().map(Vec::as_slice);
    let messages = messages.unwrap_or_default();
    let last = messages.last().map(Value::to_string).unwrap_or_default();
    if last.contains("toolResult") {
        return ModelAnswer::text("It printed a line.");
    }
    ModelAnswer::default()
        .then(AnswerPart::Thinking("One line will do.".into()))
        .then(AnswerPart::Call {
            id: format!("tooluse_{}", messages.len()),
            name: "bash".into(),
            input: json!({ "command": "echo \"key:$AWS_SECRET_ACCESS_KEY:\"" }),
        })
}

/// Runs twice in one session with a model, and returns the requests and what `cache why` says of the last
/// one.
async fn two_runs(model: &'static str) -> (Vec<Value>, Value) {
    let bedrock = BedrockServer::new("eu-west-1", Anthropic::new());
    let bedrock = bedrock.with_access_key("AKIAMADEUP", SECRET, None);
    let server = StrictServer::converse(bedrock, ConverseServer::new(), works).await;
    let sandbox = Sandbox::new()
        .env("AWS_ACCESS_KEY_ID", "AKIAMADEUP")
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .env("AWS_REGION", "eu-west-1")
        .env("BEDROCK_CONVERSE_BASE_URL", &server.url());
    sandbox.config("params: {thinking_tokens: 4000}\n");
    let runs = move || -> [Ran; 3] {
        [
            sandbox.run(&["run", "--yes", "--model", model, "print a line"]),
            sandbox.run(&["run", "--yes", "--continue", "and again"]),
            sandbox.run(&["--json", "cache", "why"]),
        ]
    };
    let [first, second, why] = tokio::task::spawn_blocking(runs).await.unwrap();
    for ran in [&first, &second] {
        let expected = (Some(0), "It printed a line.\n");
        assert_eq!((ran.code, ran.stdout.as_str()), expected, "{ran}");
    }
    server.refused_nothing();
    let path = format!("/{model}/converse-stream").replace("bedrock-converse", "model");
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    for request in &requests {
        assert_eq!(request.path.replace("%3A", ":"), path);
        let body = String::from_utf8_lossy(&request.body);
        assert!(!body.contains("AKIAMADEUP") && !body.contains(SECRET), "{body}");
    }
    let bodies = requests.iter().map(|request| request.json()).collect();
    (bodies, serde_json::from_str(&why.stdout).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_at_converse_runs_tools_reasons_and_reads_its_cache() {
    let (bodies, why) = two_runs("bedrock-converse/us.amazon.nova-2-lite-v1:0").await;
    let effort = json!({ "reasoningConfig": { "type": "enabled", "maxReasoningEffort": "low" } });
    for body in &bodies {
        assert_eq!(body["additionalModelRequestFields"], effort);
        let points = body.to_string().matches("cachePoint").count();
        assert!((2..=4).contains(&points), "{points}: {body}");
    }
    let last = bodies[3].to_string();
    assert!(last.contains("key::"), "the command got no key: {last}");
    // The instructions and the tools are most of what was read.
    let usage = &why["usage"];
    assert!(usage["cache_read_tokens"].as_u64() > Some(1_000), "{why}");
    assert_eq!(why["difference"], Value::Null, "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claude_at_converse_gets_its_reasoning_back_and_caches_behind_results() {
    let (bodies, why) = two_runs("bedrock-converse/us.anthropic.claude-opus-5-5").await;
    let last = &bodies[3];
    assert_eq!(
        last["additionalModelRequestFields"]["thinking"]["type"],
        "adaptive"
    );
    assert_eq!(last.to_string().matches("\"signature\"").count(), 2, "{last}");
    let results = &last["messages"].as_array().unwrap().last().unwrap()["content"];
    assert!(results[1]["cachePoint"].is_object(), "{results}");
    assert!(why["usage"]["cache_read_tokens"].as_u64() > Some(1_000), "{why}");
}
