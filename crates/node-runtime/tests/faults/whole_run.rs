//! A whole run through the runtime whose model is down for a minute, reasons silently for five and streams
//! for forty: it completes, and the log counts each of its calls once. The clock is tokio's, paused and
//! advanced by hand; the server is real.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentx_node_runtime::scripted::ScriptedEnvironment;
use agentx_node_runtime::{NodeParts, NodeRuntime};
use agentx_runtime::{
    BoxFuture, Delivery, OpenRequest, Runtime as _, SessionLog as _, Subscription, Tool, ToolContext,
    ToolOutcome, UserInput, View,
};
use agentx_testing::{FaultyLog, Gate, ServerReply, SimulatedClock, TestServer, fixture, wire};
use agentx_tools::Toolbox;
use agentx_types::{
    Access, Api, ApprovalMode, EnvironmentEvent as E, OwnerId, RunStatus, StopReason, ToolSpec,
};
use serde_json::{Value, json};

use crate::hours::{caller, hold_the_clock, overloaded};

/// Reports the time in a made-up place.
struct Look;

impl Tool for Look {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("look".to_owned(), "", json!({"type": "object"}), Access::Read)
    }

    fn call(&self, _input: Value, _context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async { ToolOutcome::success("late") })
    }
}

/// The end of an answer that asks for [`Look`]: as in [`wire::anthropic_end`], it has 7 tokens.
fn end_with_a_call() -> String {
    let call = json!({ "type": "tool_use", "id": "toolu_1", "name": "look", "input": {} });
    let delta = json!({ "stop_reason": "tool_use", "stop_sequence": null });
    let events = [
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": call }),
        json!({ "type": "content_block_stop", "index": 1 }),
        json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 7 } }),
        json!({ "type": "message_stop" }),
    ];
    events.iter().map(wire::anthropic_event).collect()
}

fn runtime(url: &str, log: Arc<FaultyLog>) -> NodeRuntime {
    let mut tools = Toolbox::default();
    tools.register(Arc::new(Look)).unwrap();
    NodeRuntime::new(NodeParts {
        log,
        owner: OwnerId::new("own_local"),
        models: Vec::new(),
        wire_options: Arc::new(|_| Default::default()),
        network: Arc::new(caller(url).effector),
        scripted: ScriptedEnvironment::instant(),
        tools,
        clock: Arc::new(SimulatedClock::default()),
        guard: None,
        redactor: None,
        context: Default::default(),
        analyzers: Default::default(),
        learner: None,
        program: "test".into(),
        data_dir: PathBuf::new(),
    })
}

/// Advances the clock by each wait between attempts, until the last answer has ended; returns these waits.
async fn until_it_ends(facts: &mut Subscription) -> Duration {
    let mut waited = Duration::ZERO;
    loop {
        let Delivery::Environment(fact) = facts.next().await.expect("the session goes on") else {
            continue;
        };
        match &fact.event {
            E::AttemptFailed(failed) => {
                let wait = Duration::from_millis(failed.retry_in_ms.expect("another attempt"));
                tokio::time::advance(wait + Duration::from_millis(1)).await;
                waited += wait;
            }
            E::StreamEnd(end) if end.stop_reason == StopReason::EndTurn => return waited,
            _ => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_outlasts_a_minute_of_failures_five_silent_minutes_and_forty_minutes_of_answer() {
    const FAILURES: usize = 9;
    let _held = hold_the_clock();
    let silent = Gate::closed();
    let minutes: Vec<Gate> = (0..40).map(|_| Gate::closed()).collect();
    let long = minutes.iter().fold(
        ServerReply::stream()
            .wait_at(&silent)
            .then(wire::anthropic_start()),
        |reply, minute| reply.then(wire::anthropic_delta("x")).then_stall(minute),
    );
    let long = long.then(end_with_a_call());
    let short = ServerReply::stream().then(wire::anthropic_text(&["It is late."]));
    let failures = (0..FAILURES).map(|_| overloaded());
    let server = TestServer::start(failures.chain([long, overloaded(), short])).await;
    let log = Arc::new(FaultyLog::new());
    let runtime = runtime(&server.url(), log.clone());
    let mut config = fixture::config();
    config.model = fixture::model(Api::Anthropic);
    config.approval = ApprovalMode::Auto;
    config.tools = Arc::from([Look.spec()]);
    let session = runtime.open(OpenRequest::New(Box::new(config))).await.unwrap();
    let mut events = session.subscribe(0, View::Environment).await.unwrap();
    session.send(UserInput::text("What time is it?")).await.unwrap();
    let time = async {
        silent.reached().await;
        tokio::time::advance(Duration::from_secs(5 * 60)).await;
        silent.open();
        for minute in minutes {
            minute.reached().await;
            tokio::time::advance(Duration::from_secs(60)).await;
            minute.open();
        }
    };
    let (waited, ()) = tokio::join!(until_it_ends(&mut events), time);
    assert!(waited >= Duration::from_secs(60), "{waited:?}");
    let state = session.state().await.unwrap();
    assert_eq!(state.run.map(|run| run.status), Some(RunStatus::Completed));
    let facts = log.read(session.id(), 0, usize::MAX).await.unwrap();
    let count = |wanted: fn(&E) -> bool| facts.iter().filter(|fact| wanted(&fact.event)).count();
    assert_eq!(
        count(|event| matches!(event, E::StreamStart(_))),
        2,
        "each call is answered once"
    );
    assert_eq!(count(|event| matches!(event, E::ToolResult(_))), 1);
    let paid = (state.usage.input_tokens, state.usage.output_tokens);
    assert_eq!(paid, (2 * 12, 2 * 7), "each call is paid once");
    assert_eq!(server.requests().len(), FAILURES + 3);
}
