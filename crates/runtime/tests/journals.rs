//! A call that keeps a journal continues where it was cut off, in a program that has its tool; in any other
//! the session does not change.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use agentx_runtime::{
    BoxFuture, Delivery, Effector, EventSink, Journal, OpenRequest, RuntimeError, Session, UserInput, View,
};
use agentx_testing::{FaultyLog, MemoryWorld, ModelScript, fixture};
use agentx_types::{
    Action, ActionBody, ActionKind, AgentConfig, ContentPart, EffectOutcome, EnvironmentEvent, ToolResult,
    ToolSpec, ToolStatus, Vocabulary as _,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Takes one step and then never ends; if it runs again, it reports its earlier step.
struct Flow;

impl Effector for Flow {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let ActionBody::CallTool(call) = &action.body else {
                return;
            };
            let journal = Journal::of_call(events.clone(), call, None);
            if journal.recorded(1).is_none() {
                assert!(journal.begin(1, "http", json!({"url": "a"})).await);
                assert!(
                    journal
                        .end(
                            1,
                            "http",
                            None,
                            EffectOutcome::Done(json!("b")),
                            Default::default()
                        )
                        .await
                );
                return cancel.cancelled().await;
            }
            let recorded = serde_json::to_string(journal.recorded(1).unwrap()).unwrap();
            events
                .emit(ToolResult {
                    tool_call_id: call.tool_call_id.clone(),
                    result: vec![ContentPart::text(recorded)],
                    is_error: false,
                    status: ToolStatus::Success,
                    details: None,
                })
                .await;
        })
    }
}

fn flow() -> ToolSpec {
    let mut spec = fixture::tools()[0].clone();
    spec.name = "flow".into();
    spec.idempotent = true;
    spec
}

fn world(
    log: &FaultyLog,
    tools: Vec<ToolSpec>,
    answers: impl IntoIterator<Item = ModelScript>,
) -> MemoryWorld {
    let mut world = MemoryWorld::on(log.clone(), answers).with_effector(ActionKind::CallTool, Arc::new(Flow));
    world.parts.tools = tools.into();
    world
}

/// Waits for a fact with this tag.
async fn until(session: &Arc<dyn Session>, tag: &str) -> EnvironmentEvent {
    let mut facts = session.subscribe(0, View::Environment).await.unwrap();
    while let Some(delivery) = facts.next().await {
        if let Delivery::Environment(fact) = delivery
            && fact.event.tag() == tag
        {
            return fact.event.clone();
        }
    }
    panic!("the session ended first");
}

#[tokio::test]
async fn a_call_goes_on_where_it_was_cut_off_in_a_program_that_has_its_tool() {
    let log = FaultyLog::new();
    let config = AgentConfig {
        tools: vec![flow()].into(),
        ..fixture::config()
    };
    let first = world(
        &log,
        vec![flow()],
        [ModelScript::call("call_1", "flow", json!({}))],
    );
    let session = first.open_new(config).await;
    let input = UserInput::text("go");
    session.send(input).await.unwrap();
    until(&session, "effect_ended").await;

    let resume = || OpenRequest::Resume(fixture::session_id(), Vec::new());
    let log = log.crashed();
    let facts = log.facts(&fixture::session_id()).len();
    let Err(RuntimeError::Refused(why)) = world(&log, Vec::new(), []).open(resume()).await else {
        panic!("a program without the tool must not settle its call");
    };
    assert!(why.contains("flow") && why.contains("/workspace"), "{why}");
    assert_eq!(
        log.facts(&fixture::session_id()).len(),
        facts,
        "nothing is written"
    );

    let again = world(&log, vec![flow()], [ModelScript::text("done")]);
    let session = again.open(resume()).await.unwrap();
    let EnvironmentEvent::ToolResult(result) = until(&session, "tool_result").await else {
        panic!("a result");
    };
    let said: String = result.result.iter().filter_map(ContentPart::as_text).collect();
    assert_eq!(
        said,
        r#"{"kind":"http","input":{"url":"a"},"outcome":{"done":"b"}}"#
    );
    session.close().await;
}
