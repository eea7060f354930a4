//! Flows that wait for agents and tools take no slot of the concurrent calls: however many wait, the awaited
//! calls get one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::sync::Arc;

use crate::support::{Place, definition, luau};
use agentx_runtime::{BoxFuture, Effector, EventSink};
use agentx_testing::FaultyLog;
use agentx_types::{
    Action, ActionBody, MessageId, Role, StopReason, StreamEnd, StreamStart, TextChunk, ToolCall, ToolCallId,
    ToolStatus,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// A flow with an agent that calls a tool, which it calls itself too.
const FLOW: &str = r#"
    function invoke(ctx, args)
        local child = ctx.create_agent("child", {prompt = "You work.", tools = {"leaf"}})
        child:input("work")
        local said = child:collect()
        local own = ctx.async(function() return ctx.invoke("leaf", {text = "x"}) end)
        return said .. " " .. own:await()
    end
"#;

/// For the input `go` it calls the flow three times at once; a working agent calls the leaf.
struct Model;

impl Effector for Model {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let ActionBody::CallModel(call) = &action.body else {
                panic!("a call of a model")
            };
            let last = call.request.messages.last().unwrap();
            let start = StreamStart {
                message_id: MessageId::with_suffix(&action.action_id),
                model: "m".into(),
                attempt: 1,
            };
            events.emit(start).await;
            let calls: &[(&str, &str)] = match (last.role, last.text().as_str()) {
                (Role::User, "go") => &[("a", "flow"), ("b", "flow"), ("c", "flow")],
                (Role::User, "work") => &[("leaf", "leaf")],
                _ => &[],
            };
            for (id, name) in calls {
                let id = match *name {
                    "flow" => ToolCallId::with_suffix(id),
                    _ => ToolCallId::with_suffix(format_args!("{}_{id}", action.agent_state_id)),
                };
                let call = ToolCall {
                    tool_call_id: id,
                    name: (*name).to_owned(),
                    input: json!({"text": "x"}),
                    invalid: None,
                };
                events.emit(call).await;
            }
            let stop_reason = if calls.is_empty() {
                events.emit(TextChunk { text: "done".into() }).await;
                StopReason::EndTurn
            } else {
                StopReason::ToolUse
            };
            events
                .emit(StreamEnd {
                    stop_reason,
                    raw: None,
                })
                .await;
        })
    }
}

#[tokio::test]
async fn more_flows_than_places_do_not_wait_for_each_other_for_ever() {
    let place = Place::with_model(FaultyLog::new(), Arc::new(Model), |parts| parts);
    let leaf = json!({"name": "leaf", "type": "text_processor", "prompt": "Leaf.", "model": "m"});
    place.tool(definition(leaf));
    place.tool(luau("flow", FLOW, json!({"agents": ["*"], "tools": ["leaf"]})));
    let session = place.open().await;
    // The test fails if this takes longer than its time limit.
    place.ask(&session, "go").await;
    for id in ["call_a", "call_b", "call_c"] {
        assert_eq!(place.result(id), (ToolStatus::Success, "done done".to_owned()));
    }
}
