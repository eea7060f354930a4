//! Two hundred forms of secrets go through every way into a session, in random pieces, and none of them is
//! found afterwards in any byte of the data directory, any export, any event of a follower, or any request to
//! a model. The same search finds them if nothing is replaced.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod plants;

use std::path::Path;
use std::sync::Arc;

use agentx_llm::WireOptions;
use agentx_node_runtime::scripted::ScriptedEnvironment;
use agentx_node_runtime::{NodeParts, NodeRuntime};
use agentx_runtime::{
    BoxFuture, Delivery, OpenRequest, Redactor, Runtime as _, Session, SystemClock, Tool, ToolContext,
    ToolOutcome, UserInput, View,
};
use agentx_secrets::{Origin, SecretSet};
use agentx_sqlite_log::{LogOptions, SqliteLog};
use agentx_testing::{ModelScript, ScriptedModel, fixture};
use agentx_tools::{ToolOptions, Toolbox};
use agentx_types::{
    Access, Api, ApprovalMode, ContentPart, EnvironmentEvent, MediaPart, MediaSource, OutputChannel, OwnerId,
    ProviderPart, RuntimeEvent, TextChunk, ThinkingChunk, ToolCall, ToolCallChunk, ToolCallId, ToolCallStart,
    ToolSpec,
};
use base64::Engine as _;
use plants::{Random, planted_text, plants, values};
use serde_json::{Value, json};

/// A tool with the text in its output, its result, its details and a blob, as an MCP server may have it.
struct Leak;

impl Tool for Leak {
    fn spec(&self) -> ToolSpec {
        fixture::tool("leak", "text", Access::Internal)
    }

    fn call(&self, _: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async move {
            let text = planted_text();
            let mut random = Random(3);
            let (out, err) = (random.pieces(&text), random.pieces(&text));
            for number in 0..out.len().max(err.len()) {
                let pieces = [(OutputChannel::Stdout, &out), (OutputChannel::Stderr, &err)];
                for (channel, pieces) in pieces {
                    if let Some(piece) = pieces.get(number) {
                        context.output.write(channel, piece.clone()).await;
                    }
                }
            }
            let blob = context.blobs.put_blob(text.clone().into_bytes()).await.unwrap();
            let mut outcome = ToolOutcome::success(text.clone());
            outcome.details = Some(json!({"blob": blob, "diff": text, "nested": {text: [1]}}));
            outcome
        })
    }
}

/// An answer that thinks, says and passes on the text, in pieces, and signs its thought.
fn leaking_answer(tool: &str, input: &Value) -> ModelScript {
    let mut random = Random(5);
    let text = planted_text();
    let tool_call_id = ToolCallId::new(format!("call_{tool}"));
    let thinking = random
        .pieces(&text)
        .into_iter()
        .map(|text| ThinkingChunk { text });
    let said = random.pieces(&text).into_iter().map(|text| TextChunk { text });
    let arguments = random.pieces(&input.to_string()).into_iter();
    let arguments = arguments.map(|json| ToolCallChunk {
        tool_call_id: tool_call_id.clone(),
        json,
    });
    let signature = ProviderPart {
        api: "anthropic".into(),
        attach: true,
        data: json!({"signature": "signature-of-the-thought"}),
    };
    let start = ToolCallStart {
        tool_call_id: tool_call_id.clone(),
        name: tool.to_owned(),
    };
    let whole = ToolCall {
        tool_call_id: tool_call_id.clone(),
        name: tool.to_owned(),
        input: input.clone(),
        invalid: None,
    };
    ModelScript::new()
        .then(thinking)
        .then([signature])
        .then(said)
        .then([start])
        .then(arguments)
        .then([whole])
}

/// Everything that can be seen of the session afterwards.
struct Seen {
    /// The bytes of all files in the data directory.
    bytes: Vec<u8>,
    /// The export, the events of followers, and the requests to the model.
    texts: Vec<(&'static str, String)>,
}

/// A model whose answers, reasoning and calls hold what must not be kept.
fn scripted_model() -> ScriptedModel {
    ScriptedModel::new([
        leaking_answer("leak", &json!({"text": planted_text()})),
        ModelScript::call(
            "call_edit",
            "edit",
            json!({"path": "notes.txt", "old_string": "end7\n", "new_string": "changed\n"}),
        ),
        ModelScript::call("call_read", "read", json!({"path": "notes.txt"})),
        ModelScript::call(
            "call_bash",
            "bash",
            json!({"command": "cat notes.txt notes.txt notes.txt notes.txt"}),
        ),
        ModelScript::new().then(
            Random(9)
                .pieces(&planted_text())
                .into_iter()
                .map(|text| TextChunk { text }),
        ),
    ])
}

/// A message of a person with the same in its words and in a file.
fn planted_input() -> UserInput {
    let mut input = UserInput::text(planted_text());
    input.content.push(ContentPart::File(MediaPart {
        media_type: "text/plain".into(),
        source: MediaSource::Base64(base64::engine::general_purpose::STANDARD.encode(planted_text())),
        name: None,
    }));
    input.idempotency_key = Some("once".into());
    input
}

fn blob_text(base64: &str) -> String {
    let bytes = base64::engine::general_purpose::STANDARD.decode(base64).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

async fn run(redactor: Option<Redactor>) -> Seen {
    let home = tempfile::tempdir().unwrap();
    let (data, workspace) = (home.path().join("data"), home.path().join("workspace"));
    for folder in [&data, &workspace] {
        std::fs::create_dir(folder).unwrap();
    }
    std::fs::write(workspace.join("notes.txt"), planted_text()).unwrap();
    let log = SqliteLog::open(data.join("sessions.db"), LogOptions::default()).unwrap();
    let model = scripted_model();
    let mut tools = Toolbox::builtin(ToolOptions::default());
    tools.register(Arc::new(Leak)).unwrap();
    let mut config = fixture::config();
    config.tools = tools.specs();
    config.approval = ApprovalMode::Auto;
    config.workspace = workspace.to_string_lossy().into_owned();
    config.model = fixture::model(Api::Anthropic);
    config.system_prompt = format!("Be careful.\n{}", planted_text()).into();
    let runtime = NodeRuntime::new(NodeParts {
        log: log.clone(),
        owner: OwnerId::new("own_local"),
        models: Vec::new(),
        wire_options: Arc::new(|_| WireOptions::default()),
        network: Arc::new(model.clone()),
        scripted: ScriptedEnvironment::instant(),
        tools,
        clock: Arc::new(SystemClock),
        program: "test".into(),
        data_dir: data.clone(),
        guard: None,
        redactor,
        context: Default::default(),
        analyzers: Default::default(),
        learner: None,
    });
    let session = runtime.open(OpenRequest::New(Box::new(config))).await.unwrap();
    let input = planted_input();
    let seq = session.send(input.clone()).await.unwrap();
    assert_eq!(
        session.send(input).await.unwrap(),
        seq,
        "the same message again is the same message"
    );
    let mut texts = vec![("a screen", follow(&*session, View::Runtime).await)];
    session.rename(format!("title {}", values()[0].1)).await.unwrap();
    texts.push(("a mirror", follow(&*session, View::Environment).await));
    let id = session.id().clone();
    session.close().await;
    drop(session);
    runtime
        .rename(&id, format!("another title {}", values()[1].1))
        .await
        .unwrap();
    let export = agentx_history::portable::export(&runtime, &id).await.unwrap();
    texts.extend(export.blobs.iter().map(|blob| ("a blob", blob_text(&blob.data))));
    texts.push(("the export", agentx_history::portable::to_json(&export).unwrap()));
    let requests: Vec<String> = model
        .requests()
        .iter()
        .map(|request| json!(**request).to_string())
        .collect();
    assert_eq!(requests.len(), 5);
    texts.push(("requests to the model", requests.concat()));
    assert!(runtime.verify(&id).await.unwrap().problems.is_empty());
    Seen {
        bytes: bytes_below(&data),
        texts,
    }
}

/// The events up to the end of the run, as JSON.
async fn follow(session: &dyn Session, view: View) -> String {
    let mut events = session.subscribe(0, view).await.unwrap();
    let mut text = String::new();
    loop {
        match events.next().await.unwrap() {
            Delivery::Runtime(event) => {
                text.push_str(&serde_json::to_string(&*event).unwrap());
                if matches!(event.event, RuntimeEvent::RunFinished(_)) {
                    return text;
                }
            }
            Delivery::Environment(event) => {
                text.push_str(&serde_json::to_string(&*event).unwrap());
                if matches!(event.event, EnvironmentEvent::SessionTitled(_)) {
                    return text;
                }
            }
            _ => {}
        }
    }
}

fn bytes_below(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            bytes.append(&mut bytes_below(&path))
        } else {
            bytes.append(&mut std::fs::read(&path).unwrap())
        }
    }
    bytes
}

/// The plants that are found, with the places. A text is looked at as it is and as the JSON that quotes it.
fn found(seen: &Seen) -> Vec<String> {
    let mut found = Vec::new();
    for plant in plants() {
        let quoted = serde_json::to_string(&plant.core).unwrap();
        let quoted = quoted.trim_matches('"').to_owned();
        for core in [&plant.core, &quoted] {
            let finder = memchr::memmem::Finder::new(core.as_bytes());
            for (place, text) in &seen.texts {
                found.extend(finder.find(text.as_bytes()).map(|_| format!("{core} in {place}")));
            }
            found.extend(finder.find(&seen.bytes).map(|_| format!("{core} in a file")));
        }
    }
    found
}

#[tokio::test]
async fn no_planted_secret_is_found_anywhere() {
    let mut set = SecretSet::default();
    for (name, value) in values() {
        assert!(set.add(&name, Origin::Variable, &value));
    }
    let seen = run(Some(Redactor::new(&set))).await;
    let found = found(&seen);
    assert!(
        found.is_empty(),
        "{} are found: {:#?}",
        found.len(),
        &found[..found.len().min(20)]
    );
    for (place, text) in &seen.texts {
        assert!(text.contains("[secret MADE_UP_3]"), "{place}");
        for number in [0, 100, 199] {
            assert!(
                text.contains(&format!("word{number} ")),
                "word{number} is missing in {place}"
            );
        }
        assert!(
            !text.contains("signature-of-the-thought"),
            "{place} has the signature of another thought"
        );
    }
}

#[tokio::test]
async fn the_search_finds_what_is_not_replaced() {
    let seen = run(None).await;
    let found = found(&seen);
    for place in [
        "a screen",
        "a mirror",
        "a blob",
        "the export",
        "requests to the model",
    ] {
        let count = found.iter().filter(|found| found.ends_with(place)).count();
        assert!(count >= 200, "{count} in {place}");
    }
}
