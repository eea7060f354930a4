//! The time from the attachment of a reactor until its tool can be called, until a waiting open session knows
//! about it, and until the next called model has used it.
//!
//! `cargo bench -p agentx-runtime --bench attach` prints medians and the slowest of a hundred, and fails if a
//! median of an attachment is above [`BAR`]. The log is in memory and the model answers immediately, so only
//! this program's own time is measured.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints figures, and falls over where it cannot go on"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use agentx_bus::{BusDelivery, BusSubscription, Filter, Queue, Reactors, Restart};
use agentx_runtime::{
    ActionDispatcher, BoxFuture, DriverParts, MemoryLog, OpenRequest, Session, SessionIds, SystemBus,
    SystemClock, SystemEvent, Tool, ToolContext, ToolEnvironment, ToolOutcome, UserInput, open_session,
};
use agentx_testing::{ModelScript, ScriptedModel, fixture};
use agentx_types::{Access, ActionKind, AgentConfig, EnvironmentEvent, RuntimeEvent, ToolSpec};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// The number of times that a reactor is attached.
const ROUNDS: usize = 1_000;
/// The most time from an attachment until calls find the tool, and until a waiting session knows about it.
const BAR: Duration = Duration::from_millis(1);
/// Long enough for everything of a reactor to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Reports when it is called.
struct Weather(mpsc::UnboundedSender<Instant>);

impl Tool for Weather {
    fn spec(&self) -> ToolSpec {
        fixture::tool("weather", "city", Access::Read)
    }

    fn call(&self, _: Value, _: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        self.0.send(Instant::now()).unwrap();
        Box::pin(std::future::ready(ToolOutcome::success("sunny")))
    }
}

async fn hears(heard: &mut BusSubscription<SystemEvent>, is_it: impl Fn(&SystemEvent) -> bool) {
    loop {
        match heard.recv().await.unwrap() {
            BusDelivery::Event(event) if is_it(&event) => return,
            BusDelivery::Event(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

fn is_told(event: &SystemEvent) -> bool {
    matches!(event, SystemEvent::Environment(fact) if matches!(fact.event, EnvironmentEvent::ConfigChanged(_)))
}

fn is_finished(event: &SystemEvent) -> bool {
    matches!(event, SystemEvent::Runtime(said) if matches!(said.event, RuntimeEvent::RunFinished(_)))
}

async fn open(parts: &DriverParts) -> Arc<dyn Session> {
    let ids = SessionIds {
        session_id: fixture::session_id(),
        agent_state_id: fixture::agent_state_id(),
        owner: "own_1".into(),
    };
    let config = AgentConfig {
        all_tools: true,
        ..fixture::config()
    };
    let request = OpenRequest::New(Box::new(config));
    open_session(parts.clone(), ids, request).await.unwrap()
}

/// Prints the median and the slowest of a hundred, and returns the median.
fn print(what: &str, mut times: Vec<Duration>) -> Duration {
    times.sort();
    let (middle, slow) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!("{what:<44} {middle:>10.1?}  p99 {slow:>10.1?}");
    middle
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let calls = (0..ROUNDS).flat_map(|round| {
        let call = ModelScript::call(&format!("call_{round}"), "weather", json!({"city": "Rome"}));
        [call, ModelScript::text("sunny")]
    });
    let actions = ActionDispatcher::new().with(ActionKind::CallModel, Arc::new(ScriptedModel::new(calls)));
    let parts = DriverParts::new(Arc::new(MemoryLog::new()), actions, Arc::new(SystemClock));
    let bus = SystemBus::of(&parts);
    let mut heard = bus.subscribe("bench", Filter::all(), Queue::wait(4_096)).unwrap();
    let session = open(&parts).await;
    let mut reactors = Reactors::new(bus.clone(), |_report| {});
    let (called, mut calls) = mpsc::unbounded_channel();
    let (mut served, mut told, mut ran) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let weather: Arc<dyn Tool> = Arc::new(Weather(called.clone()));
        let environment = ToolEnvironment::new("weather", [weather]);
        let began = Instant::now();
        let id = reactors.start(environment, Restart::Never).await.unwrap();
        served.push(began.elapsed());
        assert!(
            bus.responders()
                .iter()
                .any(|responder| responder.name == "weather")
        );
        hears(&mut heard, is_told).await;
        told.push(began.elapsed());
        let asked = Instant::now();
        session
            .send(UserInput::text("how is the weather?"))
            .await
            .unwrap();
        ran.push(calls.recv().await.unwrap() - asked);
        hears(&mut heard, is_finished).await;
        reactors.stop(id, PATIENCE).await;
        hears(&mut heard, is_told).await;
    }
    let served = print("attach, until a call finds it", served);
    let told = print("attach, until an open session is told", told);
    print("an input, until the tool runs", ran);
    session.close().await;
    assert!(
        served <= BAR,
        "a call finds an attached tool after more than {BAR:?}"
    );
    assert!(told <= BAR, "an open session is told after more than {BAR:?}");
}
