//! Azure OpenAI through the program, with both forms of its addresses: the key is in `api-key`, the id of the
//! model is the name of the deployment, and the API version is a parameter of the address.

use agentx_testing::StrictServer;
use agentx_testing::vendors::{AnswerPart, ChatServer, Dialect, ModelAnswer, ResponsesServer};
use serde_json::{Value, json};

use crate::common::{Ran, Sandbox};

/// Made up.
const KEY: &str = "made-up-azure-key";

/// Runs a command; then answers.
fn works(request: &Value) -> ModelAnswer {
    let lists = [&request["input"], &request["messages"]];
    let list = lists.into_iter().find_map(Value::as_array);
    let items = list.map(Vec::as_slice).unwrap_or_default();
    let is_result = |item: &Value| item["type"] == "function_call_output" || item["role"] == "tool";
    if items.last().is_some_and(is_result) {
        return ModelAnswer::text("It printed a line.");
    }
    ModelAnswer::default().then(AnswerPart::Call {
        id: format!("call_{}", items.len()),
        name: "bash".into(),
        input: json!({ "command": "echo seen" }),
    })
}

/// Runs twice in one session of a deployment at this address, and checks each request.
async fn works_at(server: StrictServer, base: &str, api: &str, path: &str) {
    let sandbox = Sandbox::new().env("AZURE_OPENAI_API_KEY", KEY);
    let address = format!("{}{base}", server.url());
    sandbox.config(&format!(
        "model: work-gpt\n\
         providers:\n  azure:\n    base_url: '{address}'\n    api: {api}\n    auth: api-key\n    \
         api_key: ${{AZURE_OPENAI_API_KEY}}\n\
         models:\n  work-gpt: {{provider: azure, id: my-deployment, context_window: 400000}}\n"
    ));
    let runs = move || -> [Ran; 2] {
        [
            sandbox.run(&["run", "--yes", "print a line"]),
            sandbox.run(&["run", "--yes", "--continue", "and another"]),
        ]
    };
    for ran in tokio::task::spawn_blocking(runs).await.unwrap() {
        let said = (ran.code, ran.stdout.as_str());
        assert_eq!(said, (Some(0), "It printed a line.\n"), "{ran}");
        assert!(!ran.to_string().contains(KEY), "{ran}");
    }
    server.refused_nothing();
    let requests = server.requests();
    assert_eq!(requests.len(), 4, "two for each run");
    for request in &requests {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", path));
        assert_eq!(request.header("api-key"), Some(KEY));
        assert_eq!(request.header("authorization"), None);
        assert_eq!(request.json()["model"], "my-deployment");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_v1_api_has_the_deployment_in_the_body() {
    let server = StrictServer::responses(ResponsesServer::new(), works).await;
    works_at(
        server,
        "/openai/v1?api-version=preview",
        "openai-responses",
        "/openai/v1/responses?api-version=preview",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dated_api_has_the_deployment_in_the_path() {
    let server = StrictServer::chat(ChatServer::new(Dialect::OpenAi), works).await;
    works_at(
        server,
        "/openai/deployments?api-version=2024-10-21",
        "openai-chat",
        "/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21",
    )
    .await;
}
