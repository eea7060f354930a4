//! A server that names every call `call_0`, twice in one answer and again in the next: from the log on, each
//! call has its own id, and every part uses that id.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agentx_llm::{Catalog, WireOptions};
use agentx_node_runtime::model::{Endpoint, ModelEffector, ModelParts};
use agentx_runtime::{
    ActionDispatcher, ApprovalInput, BoxFuture, Delivery, DriverParts, Effector, EventSink, OpenRequest,
    Session, SessionIds, UserInput, View, open_session,
};
use agentx_testing::{FaultyLog, ServerReply, SimulatedClock, TestServer, fixture, wire};
use agentx_types::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Answers every call with its own id.
struct Echo;

impl Effector for Echo {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        _: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let ActionBody::CallTool(call) = &action.body else {
                return;
            };
            let said = ToolResult {
                tool_call_id: call.tool_call_id.clone(),
                result: vec![ContentPart::text(call.tool_call_id.as_str())],
                is_error: false,
                status: ToolStatus::Success,
                details: None,
            };
            events.emit(said).await;
        })
    }
}

/// Two calls of one id, without the end of the stream.
fn two_calls() -> String {
    let call = |index: u64, path: &str| {
        let function = json!({"name": "write", "arguments": json!({"path": path}).to_string()});
        chunk(
            json!({"tool_calls": [{"index": index, "id": "call_0", "function": function}]}),
            Value::Null,
        )
    };
    call(0, "a") + &call(1, "b")
}

fn chunk(delta: Value, reason: Value) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
    format!(
        "data: {}\n\n",
        json!({"id": "chatcmpl-1", "model": "m", "choices": [choice]})
    )
}

fn parts(url: &str, log: &FaultyLog) -> DriverParts {
    let provider = Catalog::builtin().provider("ollama").unwrap().clone();
    let endpoint = Endpoint::new(&provider, Some(url), None);
    let mut model = ModelParts::new(
        BTreeMap::from([("test".to_owned(), endpoint)]),
        Arc::new(|_| WireOptions::default()),
        Arc::new(log.clone()),
    );
    model.retry.base = Duration::from_millis(1);
    let actions = ActionDispatcher::new()
        .with(ActionKind::CallModel, Arc::new(ModelEffector::new(model)))
        .with(ActionKind::CallTool, Arc::new(Echo));
    DriverParts {
        tools: fixture::tools().into(),
        program: "test".into(),
        ..DriverParts::new(
            Arc::new(log.clone()),
            actions,
            Arc::new(SimulatedClock::default()),
        )
    }
}

async fn open(parts: DriverParts) -> Arc<dyn Session> {
    let ids = SessionIds {
        session_id: SessionId::new("ses_1"),
        agent_state_id: fixture::agent_state_id(),
        owner: OwnerId::new("own_1"),
    };
    let config = AgentConfig {
        approval: ApprovalMode::Ask,
        model: fixture::model(Api::OpenaiChat),
        ..fixture::config()
    };
    open_session(parts, ids, OpenRequest::New(Box::new(config)))
        .await
        .unwrap()
}

/// Allows every call, one by one; the steps of each call by its id.
async fn play(session: &Arc<dyn Session>) -> BTreeMap<ToolCallId, Vec<&'static str>> {
    let mut events = session.subscribe(0, View::Runtime).await.unwrap();
    session.send(UserInput::text("go")).await.unwrap();
    let mut steps: BTreeMap<ToolCallId, Vec<&'static str>> = BTreeMap::new();
    while let Some(delivery) = events.next().await {
        let Delivery::Runtime(frame) = delivery else {
            continue;
        };
        let (id, step) = match &frame.event {
            RuntimeEvent::ToolPlanned(tool) => (tool.tool_call_id.clone(), "planned"),
            RuntimeEvent::ApprovalRequested(asked) => {
                let allowed = ApprovalInput::new(asked.tool_call_id.clone(), ApprovalDecision::Once);
                session.approve(allowed).await.unwrap();
                (asked.tool_call_id.clone(), "asked")
            }
            RuntimeEvent::ToolExecuting(tool) => (tool.tool_call_id.clone(), "executing"),
            RuntimeEvent::ToolCompleted(tool) => (tool.tool_call_id.clone(), "completed"),
            RuntimeEvent::ToolResultMessageAdded(added) => match &added.message.content[..] {
                [ContentPart::ToolResult(result)] => {
                    assert_eq!(
                        result.content,
                        [ContentPart::text(result.tool_call_id.as_str())],
                        "its own"
                    );
                    (result.tool_call_id.clone(), "result")
                }
                other => panic!("{other:?}"),
            },
            RuntimeEvent::RunFinished(finished) => {
                assert_eq!(finished.status, RunStatus::Completed, "{:?}", finished.reason);
                return steps;
            }
            _ => continue,
        };
        steps.entry(id).or_default().push(step);
    }
    panic!("the session ended first: {steps:?}");
}

#[tokio::test]
async fn every_call_has_a_name_of_its_own() {
    let end = chunk(json!({}), json!("tool_calls")) + "data: [DONE]\n\n";
    let server = TestServer::start([
        ServerReply::stream().then(two_calls()).then_reset(),
        ServerReply::stream().then(two_calls() + &end),
        ServerReply::stream().then(two_calls() + &end),
        ServerReply::stream().then(wire::chat_text(&["done"])),
    ])
    .await;
    let log = FaultyLog::new();
    let session = open(parts(&server.url(), &log)).await;
    let steps = tokio::time::timeout(Duration::from_secs(20), play(&session))
        .await
        .expect("it comes to its end");
    let (whole, cut): (Vec<_>, Vec<_>) = steps.values().partition(|steps| steps.len() > 1);
    assert_eq!(cut, [&["planned"], &["planned"]], "of the stream that broke off");
    let life = ["planned", "asked", "executing", "completed", "result"];
    assert_eq!(whole, [&life, &life, &life, &life]);

    let mut said: BTreeMap<ToolCallId, usize> = BTreeMap::new();
    for fact in log.facts(session.id()) {
        if let EnvironmentEvent::ToolCallStart(call) = &fact.event {
            *said.entry(call.tool_call_id.clone()).or_default() += 1;
        }
    }
    assert_eq!(
        said.keys().collect::<Vec<_>>(),
        steps.keys().collect::<Vec<_>>(),
        "the log has them"
    );
    assert!(said.values().all(|times| *times == 1), "{said:?}");
    let asked = server.requests();
    let last: Value = serde_json::from_slice(&asked.last().unwrap().body).unwrap();
    let answered: Vec<&str> = last["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["tool_call_id"].as_str())
        .collect();
    let finished = steps.iter().filter(|(_, steps)| steps.len() > 1);
    let mut expected: Vec<&str> = finished.map(|(id, _)| id.as_str()).collect();
    expected.sort_by_key(|id| answered.iter().position(|answered| answered == id));
    assert_eq!(
        answered, expected,
        "the model reads each result under its own name"
    );
}
