//! Gemini through the program: tools, signatures that are sent back in a later run, and a session that moves
//! between protocols.

use agentx_testing::StrictServer;
use agentx_testing::vendors::{
    AnswerPart, Anthropic, ChatServer, Dialect, GeminiServer, InteractionsServer, ModelAnswer,
    ResponsesServer,
};
use serde_json::{Value, json};

use crate::common::{Ran, Sandbox};

/// Thinks and runs two commands; then answers.
fn works(request: &Value) -> ModelAnswer {
    let lists = [&request["contents"], &request["input"]];
    let list = lists.into_iter().find_map(Value::as_array);
    let contents = list.map(Vec::as_slice).unwrap_or_default();
    let last = contents.last().map(Value::to_string).unwrap_or_default();
    if last.contains("functionResponse") || last.contains("function_result") {
        return ModelAnswer::text("It printed two lines.");
    }
    let call = |word: &str| AnswerPart::Call {
        id: format!("call_{word}_{}", contents.len()),
        name: "bash".into(),
        input: json!({ "command": format!("echo {word}") }),
    };
    ModelAnswer::default()
        .then(AnswerPart::Thinking("Two lines will do.".into()))
        .then(call("one"))
        .then(call("two"))
}

/// Summarises the parts of a request: the role and the kind of each part.
fn kinds(request: &Value) -> Vec<String> {
    let contents = request["contents"].as_array().unwrap();
    let turn = |content: &Value| {
        let parts = content["parts"].as_array().unwrap().iter().map(|part| {
            let fields: Vec<&str> = part.as_object().unwrap().keys().map(String::as_str).collect();
            fields.join("+")
        });
        format!(
            "{}: {}",
            content["role"].as_str().unwrap(),
            parts.collect::<Vec<_>>().join(", ")
        )
    };
    contents.iter().map(turn).collect()
}

fn answered(ran: &Ran, words: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), words), "{ran}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_at_gemini_runs_tools_and_sends_its_signatures_back() {
    let server = StrictServer::gemini(GeminiServer::new(), works).await;
    let sandbox = Sandbox::new()
        .env("GEMINI_API_KEY", "made-up-key-1")
        .env("GEMINI_BASE_URL", &server.url());
    let runs = move || -> [Ran; 2] {
        let model = "google/gemini-3.8-flash";
        [
            sandbox.run(&["run", "--yes", "--model", model, "print two lines"]),
            sandbox.run(&["run", "--yes", "--continue", "and again"]),
        ]
    };
    for ran in tokio::task::spawn_blocking(runs).await.unwrap() {
        answered(&ran, "It printed two lines.\n");
    }
    server.refused_nothing();
    let requests = server.requests();
    for request in &requests {
        let path = "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse";
        assert_eq!(request.path, path);
        assert_eq!(request.header("x-goog-api-key"), Some("made-up-key-1"));
        assert_eq!(request.header("authorization"), None);
    }
    let signed = "model: functionCall+thoughtSignature, functionCall";
    let results = "user: functionResponse, functionResponse";
    let last = requests.last().unwrap().json();
    assert_eq!(
        kinds(&last),
        [
            "user: text",
            signed,
            results,
            "model: text, text+thoughtSignature",
            "user: text",
            signed,
            results
        ],
        "{last}"
    );
    let signature = |at: usize| last["contents"][at]["parts"][0]["thoughtSignature"].clone();
    assert_ne!(signature(1), signature(5), "each its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_moves_between_protocols_and_no_vendor_refuses_it() {
    let says = |words: &'static str| move |_: &Value| ModelAnswer::text(words);
    let gemini = StrictServer::gemini(GeminiServer::new(), works).await;
    let claude = StrictServer::anthropic(Anthropic::new(), says("Claude.")).await;
    let responses = StrictServer::responses(ResponsesServer::new(), says("Sol.")).await;
    let chat = StrictServer::chat(ChatServer::new(Dialect::Groq), says("Groq.")).await;
    let sandbox = Sandbox::new()
        .env("GOOGLE_API_KEY", "made-up-key-2")
        .env("ANTHROPIC_API_KEY", "made-up-key-3")
        .env("OPENAI_API_KEY", "made-up-key-4")
        .env("GROQ_API_KEY", "made-up-key-5");
    sandbox.config(&format!(
        "providers:\n  google: {{base_url: '{}'}}\n  anthropic: {{base_url: '{}'}}\n  openai: {{api: openai-responses, base_url: '{}/v1'}}\n  groq: {{base_url: '{}/v1'}}\n",
        gemini.url(),
        claude.url(),
        responses.url(),
        chat.url()
    ));
    let runs = move || -> Vec<Ran> {
        let models = [
            "google/gemini-3.8-flash",
            "anthropic/claude-opus-5-5",
            "google/gemini-4-argon",
            "openai/gpt-6-sol",
            "groq/made-up-instruct",
            "google/gemini-3.8-flash",
        ];
        let run = |(at, model): (usize, &&str)| {
            let text = format!("input {at}");
            match at {
                0 => sandbox.run(&["run", "--yes", "--model", model, &text]),
                _ => sandbox.run(&["run", "--yes", "--continue", "--model", model, &text]),
            }
        };
        models.iter().enumerate().map(run).collect()
    };
    let ran = tokio::task::spawn_blocking(runs).await.unwrap();
    let two = "It printed two lines.\n";
    for (ran, words) in ran.iter().zip([two, "Claude.\n", two, "Sol.\n", "Groq.\n", two]) {
        answered(ran, words);
    }
    for server in [&gemini, &claude, &responses, &chat] {
        server.refused_nothing();
    }
    let last = gemini.requests().last().unwrap().json();
    let signatures = last
        .to_string()
        .matches("skip_thought_signature_validator")
        .count();
    assert_eq!(
        signatures, 1,
        "the calls of the other Gemini are signed by nobody: {last}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_at_interactions_runs_tools_and_stores_nothing() {
    let server = StrictServer::interactions(InteractionsServer::new(), works).await;
    let sandbox = Sandbox::new().env("GEMINI_API_KEY", "made-up-key-1");
    sandbox.config(&format!(
        "model: google/gemini-3.8-flash\nproviders:\n  google: {{api: gemini-interactions, base_url: '{}'}}\n",
        server.url()
    ));
    let runs = move || -> [Ran; 2] {
        [
            sandbox.run(&["run", "--yes", "print two lines"]),
            sandbox.run(&["run", "--yes", "--continue", "and again"]),
        ]
    };
    for ran in tokio::task::spawn_blocking(runs).await.unwrap() {
        answered(&ran, "It printed two lines.\n");
    }
    server.refused_nothing();
    let requests = server.requests();
    for request in &requests {
        assert_eq!(request.path, "/v1beta/interactions?alt=sse");
        assert_eq!(request.header("x-goog-api-key"), Some("made-up-key-1"));
        assert_eq!(request.json()["store"], false);
    }
    let last = requests.last().unwrap().json();
    let steps = last["input"].as_array().unwrap().iter();
    let kinds: Vec<&str> = steps.map(|step| step["type"].as_str().unwrap()).collect();
    let one = [
        "user_input",
        "thought",
        "function_call",
        "function_call",
        "function_result",
        "function_result",
    ];
    assert_eq!(kinds, [&one[..], &["model_output"], &one].concat(), "{last}");
}
