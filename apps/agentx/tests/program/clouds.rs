//! Anthropic's models at clouds through the program: tools, thinking that is sent back, and credentials that
//! neither commands nor errors show.

use agentx_testing::StrictServer;
use agentx_testing::vendors::{
    AnswerPart, Anthropic, BedrockServer, GoogleTokenServer, ModelAnswer, VertexServer,
};
use serde_json::{Value, json};

use crate::common::{Ran, Sandbox};

/// Made up.
const SECRET: &str = "made-up-secret/of+aws=";
const MODEL: &str = "bedrock/eu.anthropic.claude-opus-5-5";

/// Thinks and looks for variables; then answers.
fn works(request: &Value) -> ModelAnswer {
    let messages = request["messages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let last = messages.last().map(Value::to_string).unwrap_or_default();
    if last.contains("tool_result") {
        return ModelAnswer::text("It printed a line.");
    }
    ModelAnswer::default()
        .then(AnswerPart::Thinking("One line will do.".into()))
        .then(AnswerPart::Call {
            id: format!("toolu_{}", messages.len()),
            name: "bash".into(),
            input: json!({ "command": "echo \"key:$AWS_SECRET_ACCESS_KEY$AWS_ACCESS_KEY_ID$AWS_SESSION_TOKEN:\"" }),
        })
}

fn answered(ran: &Ran, words: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), words), "{ran}");
}

async fn bedrock() -> StrictServer {
    let vendor = BedrockServer::new("eu-west-1", Anthropic::new());
    StrictServer::bedrock(vendor.with_access_key("AKIAMADEUP", SECRET, None), works).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_at_bedrock_runs_tools_and_sends_its_thinking_back() {
    let server = bedrock().await;
    let sandbox = Sandbox::new()
        .env("AWS_ACCESS_KEY_ID", "AKIAMADEUP")
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .env("AWS_REGION", "eu-west-1")
        .env("BEDROCK_BASE_URL", &server.url());
    let runs = move || -> [Ran; 2] {
        [
            sandbox.run(&["run", "--yes", "--model", MODEL, "print a line"]),
            sandbox.run(&["run", "--yes", "--continue", "and again"]),
        ]
    };
    for ran in tokio::task::spawn_blocking(runs).await.unwrap() {
        answered(&ran, "It printed a line.\n");
    }
    server.refused_nothing();
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    for request in &requests {
        assert_eq!(
            request.path,
            "/model/eu.anthropic.claude-opus-5-5/invoke-with-response-stream"
        );
        let body = String::from_utf8_lossy(&request.body);
        assert!(!body.contains("AKIAMADEUP") && !body.contains(SECRET), "{body}");
    }
    let last = requests.last().unwrap().json().to_string();
    assert!(last.contains("key::"), "the command got no key: {last}");
    assert_eq!(last.matches("\"signature\"").count(), 2, "{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_or_missing_key_of_aws_is_said_without_its_secret() {
    let server = bedrock().await;
    let url = server.url();
    let runs = move || -> [Ran; 3] {
        let ask = |sandbox: Sandbox| sandbox.run(&["run", "--model", MODEL, "hello"]);
        let at = || Sandbox::new().env("BEDROCK_BASE_URL", &url);
        let half = || at().env("AWS_ACCESS_KEY_ID", "AKIAMADEUP");
        let wrong = half()
            .env("AWS_SECRET_ACCESS_KEY", "made-up-other-secret")
            .env("AWS_REGION", "eu-west-1");
        [ask(at()), ask(half()), ask(wrong)]
    };
    let [none, half, wrong] = tokio::task::spawn_blocking(runs).await.unwrap();
    for (ran, why) in [
        (&none, "AWS_BEARER_TOKEN_BEDROCK is not set"),
        (&none, "or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        (
            &half,
            "AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not",
        ),
        (&wrong, "signature we calculated does not match"),
    ] {
        assert!(ran.code == Some(4) && ran.stderr.contains(why), "{ran}");
        assert!(!ran.stderr.contains("made-up-other-secret"), "{ran}");
    }
    assert_eq!(server.requests().len(), 1, "only the last one is sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_at_vertex_has_tokens_by_the_file_of_gcloud() {
    let tokens = GoogleTokenServer::new().with_person("made-up-client", "made-up-secret", "made-up-refresh");
    let vendor = VertexServer::new(Anthropic::new()).with_tokens_like("made-up-token-");
    let server = StrictServer::vertex(vendor, tokens, works).await;
    let file = json!({
        "type": "authorized_user", "client_id": "made-up-client", "client_secret": "made-up-secret",
        "refresh_token": "made-up-refresh", "token_uri": format!("{}/token", server.url()),
    });
    let base = format!(
        "{}/v1/projects/p/locations/global/publishers/anthropic",
        server.url()
    );
    let runs = move || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials.json");
        std::fs::write(&path, file.to_string()).unwrap();
        let sandbox = Sandbox::new()
            .env("GOOGLE_APPLICATION_CREDENTIALS", &path.display().to_string())
            .env("VERTEX_ANTHROPIC_BASE_URL", &base);
        let model = "vertex-anthropic/claude-opus-5-5";
        sandbox.run(&["run", "--yes", "--model", model, "print a line"])
    };
    let ran = tokio::task::spawn_blocking(runs).await.unwrap();
    answered(&ran, "It printed a line.\n");
    server.refused_nothing();
    let paths: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.path.rsplit('/').next().unwrap().to_owned())
        .collect();
    let ask = "claude-opus-5-5:streamRawPredict";
    assert_eq!(paths, ["token", ask, ask]);
}
