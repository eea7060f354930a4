//! A script may give up a model call: it waits no longer, fails, runs out of time, or is interrupted. The
//! vendor bills everything that it has read and written until then, and the session counts the same.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::sync::{Arc, Mutex};

use crate::support::{LIMIT, Place, definition, luau};
use agentx_agent_files::definition::ToolDefinition;
use agentx_runtime::{BoxFuture, Effector, EventSink, Tool, ToolContext, ToolOutcome};
use agentx_testing::{FaultyLog, Gate, ModelScript, ScriptedModel};
use agentx_types::{
    Access, Action, ActionBody, EnvironmentEvent, MessageId, RuntimeEvent, StopReason, StreamEnd,
    StreamStart, TextChunk, ToolSpec, ToolStatus, Usage, UsageReport,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const READ: u64 = 100;
const WRITTEN: u64 = 7;

/// The agent's model answers from a list. The model `writer` writes some words and then nothing more until it
/// is stopped, and counts what its vendor would bill.
#[derive(Clone)]
struct Metered {
    agent: ScriptedModel,
    counted: Arc<Mutex<Usage>>,
    /// Somebody waits here for each call of the writer.
    writes: Gate,
}

impl Metered {
    fn new(answers: impl IntoIterator<Item = ModelScript>) -> Self {
        let writes = Gate::closed();
        writes.open();
        Self {
            agent: ScriptedModel::new(answers),
            counted: Arc::default(),
            writes,
        }
    }

    async fn write(self, events: EventSink, cancel: CancellationToken) {
        *self.counted.lock().unwrap() += usage();
        let start = StreamStart {
            message_id: MessageId::new("msg_writer"),
            model: "writer".into(),
            attempt: 1,
        };
        let words = TextChunk {
            text: "It rains".into(),
        };
        events.emit_all(vec![start.into(), words.into()]).await;
        self.writes.pass().await;
        cancel.cancelled().await;
        let end = StreamEnd {
            stop_reason: StopReason::Interrupted,
            raw: None,
        };
        let report = UsageReport { usage: usage() };
        events.emit_all(vec![report.into(), end.into()]).await;
    }
}

fn usage() -> Usage {
    Usage {
        input_tokens: READ,
        output_tokens: WRITTEN,
        estimated_tokens: WRITTEN,
        ..Usage::default()
    }
}

impl Effector for Metered {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        match &action.body {
            ActionBody::CallModel(call) if call.request.model.id == "writer" => {
                Box::pin(self.clone().write(events, cancel))
            }
            _ => self.agent.perform(action, events, cancel),
        }
    }
}

/// Returns when the writer writes.
struct UntilItWrites(Gate);

impl Tool for UntilItWrites {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("until_it_writes", "", json!({"type": "object"}), Access::Read)
    }

    fn call(&self, _: Value, _: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let writes = self.0.clone();
        Box::pin(async move {
            writes.reached().await;
            ToolOutcome::success("it writes")
        })
    }
}

fn place(outer: ToolDefinition) -> (Place, Metered) {
    let model = Metered::new([
        ModelScript::call("call_1", "outer", json!({"text": "rain"})),
        ModelScript::text("Done."),
    ]);
    let place = Place::with_model(FaultyLog::new(), Arc::new(model.clone()), |mut parts| {
        parts.tools = vec![Arc::new(UntilItWrites(model.writes.clone()))];
        parts
    });
    place.tool(definition(json!({
        "name": "inner", "type": "generator", "prompt": "Write.", "model": "writer",
    })));
    place.tool(outer);
    (place, model)
}

fn script(text: &str) -> ToolDefinition {
    let may = json!({"models": ["writer"], "tools": ["until_it_writes", "inner"]});
    luau("outer", &format!("function invoke(ctx, args) {text} end"), may)
}

/// The bills of the steps of all calls together.
fn billed(place: &Place) -> Usage {
    let mut billed = Usage::default();
    for event in place.facts() {
        if let EnvironmentEvent::EffectEnded(ended) = event
            && let Some(bill) = ended.bill
        {
            assert_eq!(bill.model, "test/writer");
            billed += bill.usage;
        }
    }
    billed
}

/// Checks that the bill is what the writer counted for `calls` calls, and that the limits of the session
/// count it.
async fn check(outer: ToolDefinition, calls: u64, status: ToolStatus, interrupts: bool) {
    let (place, model) = place(outer);
    let session = place.open().await;
    let asked = place.say(&session, "go").await;
    if interrupts {
        tokio::time::timeout(LIMIT, model.writes.reached()).await.unwrap();
        session.interrupt(None).await.unwrap();
    }
    let heard = place.until_done(&session, asked - 1).await;
    let (ended, said) = place.result("call_1");
    assert_eq!(ended, status, "{said}");
    let counted = *model.counted.lock().unwrap();
    assert_eq!(counted.input_tokens, calls * READ);
    assert_eq!(billed(&place), counted);
    let turn = heard.iter().find_map(|event| match event {
        RuntimeEvent::TurnResponse(turn) => Some(turn.usage),
        _ => None,
    });
    let own = if interrupts { 1 } else { 2 } * 10;
    let turn = turn.expect("a turn");
    assert_eq!(turn.input_tokens, counted.input_tokens + own);
    assert_eq!(turn.estimated_tokens, calls * WRITTEN);
}

#[tokio::test]
async fn a_call_that_a_script_no_longer_waits_for_is_billed() {
    let scripts = [
        (
            "pcall(ctx.timeout, 0.001, function() return ctx.generate('writer', 'a poem') end)
             ctx.invoke('until_it_writes', {})
             return 'late'",
            1,
        ),
        (
            "ctx.generate_async('writer', 'a poem')
             ctx.invoke('until_it_writes', {})
             return 'enough'",
            1,
        ),
        (
            "local poem = ctx.generate_async('writer', 'a poem')
             local song = ctx.generate_json_async('writer', 'a song', {type = 'object'})
             return (ctx.await_any(poem, song, ctx.invoke_async('until_it_writes', {})))",
            2,
        ),
        (
            "local stream = rt:generate('writer', { messages = { { role = 'user', content = 'a poem' } } })
             ctx.invoke('until_it_writes', {})
             return 'not read'",
            1,
        ),
        (
            "local stream = rt:generate('writer', { messages = { { role = 'user', content = 'a poem' } } })
             stream:recv()
             stream:close()
             return 'read in part'",
            1,
        ),
        (
            "ctx.invoke_async('inner', {text = 'rain'})
             ctx.invoke('until_it_writes', {})
             return 'another tool asked'",
            1,
        ),
    ];
    for (text, calls) in scripts {
        check(script(text), calls, ToolStatus::Success, false).await;
    }
}

#[tokio::test]
async fn a_call_of_a_script_that_fails_is_billed() {
    let fails = script(
        "ctx.generate_async('writer', 'a poem')
         ctx.invoke('until_it_writes', {})
         error('enough')",
    );
    check(fails, 1, ToolStatus::Failed, false).await;
}

#[tokio::test]
async fn a_call_of_a_script_whose_time_is_over_is_billed() {
    for text in [
        "return ctx.generate('writer', 'a poem')",
        "return ctx.invoke('inner', {text = 'rain'})",
    ] {
        let mut slow = json!(script(text));
        slow["limits"] = json!({"wall_time": "1s"});
        check(definition(slow), 1, ToolStatus::TimedOut, false).await;
    }
}

#[tokio::test]
async fn a_call_of_a_script_that_is_interrupted_is_billed() {
    let generator = json!({"name": "outer", "type": "generator", "prompt": "Write.", "model": "writer"});
    let row = json!({
        "name": "outer", "type": "composite", "steps": [{"id": "one", "tool": {"$ref": "inner"}}],
    });
    for outer in [
        script("return ctx.generate('writer', 'a poem')"),
        script("return (pcall(ctx.generate, 'writer', 'a poem'))"),
        script("return ctx.generate_json('writer', 'a poem', {type = 'object'})"),
        script("return ctx.invoke('inner', {text = 'rain'})"),
        script(
            "local stream = rt:generate('writer', { messages = { { role = 'user', content = 'a poem' } } })
             while stream:recv() do end",
        ),
        definition(generator),
        definition(row),
    ] {
        check(outer, 1, ToolStatus::Interrupted, true).await;
    }
}
