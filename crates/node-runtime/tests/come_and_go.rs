//! Reactors are attached and detached 1,000 times while 50 sessions run. Each call has one result, none is
//! performed twice, and each result is correct.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentx_bus::{BusDelivery, Filter, Listener, Queue, Reactor, ReactorFailure, ReactorTask, Restart};
use agentx_llm::WireOptions;
use agentx_node_runtime::scripted::ScriptedEnvironment;
use agentx_node_runtime::{NodeParts, NodeRuntime};
use agentx_runtime::{
    BoxFuture, CallSlots, Delivery, Effector, EventSink, ModelEnvironment, OpenRequest, Runtime, Session,
    SystemBus, Tool, ToolContext, ToolEnvironment, ToolOutcome, UserInput, View,
};
use agentx_testing::{FaultyLog, SimulatedClock, fixture};
use agentx_tools::Toolbox;
use agentx_types::*;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(60);
const SESSIONS: usize = 50;
/// The number of calls of `read` in each session.
const CALLS: usize = 20;
const CHANGES: usize = 1_000;
/// The number of reactors at once.
const ATTACHED: usize = 6;

/// The record of all work, apart from the logs. Clones share the same state.
#[derive(Clone)]
struct Ledger {
    /// The starts and ends of each call of `read`.
    calls: Arc<Mutex<BTreeMap<(SessionId, ToolCallId), Performed>>>,
    /// The number of requests to each model, and the number of ended calls that the watchers saw.
    asked: Arc<Mutex<BTreeMap<&'static str, usize>>>,
    /// The number of calls of `read` that have begun.
    begun: watch::Sender<usize>,
    /// Whether all reactors have come and gone.
    changed: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Performed {
    began: Vec<&'static str>,
    ended: Vec<&'static str>,
}

impl Ledger {
    fn new() -> Self {
        Self {
            calls: Arc::default(),
            asked: Arc::default(),
            begun: watch::Sender::new(0),
            changed: watch::Sender::new(false),
        }
    }

    fn note(&self, context: &ToolContext, note: impl FnOnce(&mut Performed)) {
        let key = (context.session_id.clone(), context.tool_call_id.clone());
        note(self.calls.lock().unwrap().entry(key).or_default());
    }

    fn count(&self, who: &'static str) {
        *self.asked.lock().unwrap().entry(who).or_default() += 1;
    }

    fn counted(&self, who: &str) -> usize {
        self.asked.lock().unwrap().get(who).copied().unwrap_or_default()
    }
}

/// Answers with the name of the reactor that performed it.
struct Read(&'static str, Ledger);

impl Tool for Read {
    fn spec(&self) -> ToolSpec {
        fixture::tool("read", "path", Access::Read)
    }

    fn call(&self, _: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let (who, ledger) = (self.0, self.1.clone());
        Box::pin(async move {
            ledger.note(&context, |performed| performed.began.push(who));
            ledger.begun.send_modify(|begun| *begun += 1);
            for _ in 0..8 {
                tokio::task::yield_now().await;
            }
            ledger.note(&context, |performed| performed.ended.push(who));
            ToolOutcome::success(who)
        })
    }
}

/// Keeps a run from its end until all reactors have come and gone.
struct Wait(Ledger);

impl Tool for Wait {
    fn spec(&self) -> ToolSpec {
        fixture::tool("wait", "path", Access::Read)
    }

    fn call(&self, _: Value, _: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let mut changed = self.0.changed.subscribe();
        Box::pin(async move {
            changed.wait_for(|changed| *changed).await.unwrap();
            ToolOutcome::success("waited")
        })
    }
}

/// Asks for `read` 20 times, for `wait` once, and ends then. Its answer depends only on the request.
struct Model(&'static str, Ledger);

impl Effector for Model {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        _: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        self.1.count(self.0);
        Box::pin(async move {
            let ActionBody::CallModel(call) = &action.body else {
                return;
            };
            let results = call
                .request
                .messages
                .iter()
                .filter(|message| message.role == Role::Tool);
            let (text, name) = match results.count() {
                results if results < CALLS => ("", Some("read")),
                CALLS => ("", Some("wait")),
                _ => ("done", None),
            };
            let start = StreamStart {
                message_id: MessageId::with_suffix(&action.action_id),
                model: fixture::MODEL.into(),
                attempt: 1,
            };
            events.emit(start).await;
            events.emit(TextChunk { text: text.into() }).await;
            if let Some(name) = name {
                let call = ToolCall {
                    tool_call_id: ToolCallId::with_suffix(&action.action_id),
                    name: name.into(),
                    input: json!({"path": action.action_id.as_str()}),
                    invalid: None,
                };
                events.emit(call).await;
            }
            let stop_reason = name.map_or(StopReason::EndTurn, |_| StopReason::ToolUse);
            events
                .emit(StreamEnd {
                    stop_reason,
                    raw: None,
                })
                .await;
        })
    }
}

/// Records its name when it is stopped.
struct Noting(&'static str, Arc<Mutex<Vec<&'static str>>>, CancellationToken);

impl Reactor<SystemBus> for Noting {
    fn name(&self) -> &str {
        self.0
    }

    async fn start(&mut self, _: SystemBus) -> Result<ReactorTask, ReactorFailure> {
        let stop = self.2.clone();
        Ok(ReactorTask::new(async move {
            stop.cancelled().await;
            Ok(())
        }))
    }

    async fn stop(&mut self) {
        self.1.lock().unwrap().push(self.0);
        self.2.cancel();
    }
}

#[tokio::test]
async fn all_reactors_are_stopped_the_last_one_first() {
    let runtime = runtime(&FaultyLog::new(), &Ledger::new());
    let stopped = Arc::<Mutex<Vec<_>>>::default();
    for name in ["first", "second", "third"] {
        let reactor = Noting(name, stopped.clone(), CancellationToken::new());
        runtime.attach(reactor, Restart::Never).await.unwrap();
    }
    let built_in = runtime.reactors().len() - 3;
    runtime.detach_all(PATIENCE).await;
    assert_eq!(*stopped.lock().unwrap(), ["third", "second", "first"]);
    assert_eq!(runtime.reactors().len(), built_in);
}

fn runtime(log: &FaultyLog, ledger: &Ledger) -> NodeRuntime {
    let mut tools = Toolbox::default();
    tools
        .register(Arc::new(Read("built in", ledger.clone())))
        .unwrap();
    tools.register(Arc::new(Wait(ledger.clone()))).unwrap();
    let parts = NodeParts {
        log: Arc::new(log.clone()),
        owner: OwnerId::new("own_test"),
        models: Vec::new(),
        wire_options: Arc::new(|_| WireOptions::default()),
        network: Arc::new(Model("the model", ledger.clone())),
        scripted: ScriptedEnvironment::instant(),
        tools,
        clock: Arc::new(SimulatedClock::default()),
        program: "test".into(),
        data_dir: "/".into(),
        guard: None,
        redactor: None,
        context: Default::default(),
        analyzers: Default::default(),
        learner: None,
    };
    NodeRuntime::new(parts).with_slots(CallSlots::new(2 * SESSIONS))
}

async fn begin(runtime: &NodeRuntime) -> Arc<dyn Session> {
    let mut config = AgentConfig {
        tools: runtime.tools().into(),
        ..fixture::config()
    };
    config.limits.max_iterations = Some(1_000);
    let session = runtime.open(OpenRequest::New(Box::new(config))).await.unwrap();
    session.send(UserInput::text("go")).await.unwrap();
    session
}

/// Attaches a tool, a model or a watcher.
async fn attach(runtime: &NodeRuntime, ledger: &Ledger, kind: u64) -> agentx_bus::ReactorId {
    let ledger = ledger.clone();
    let attached = match kind {
        0 => {
            let tool: Arc<dyn Tool> = Arc::new(Read("attached", ledger));
            let tools = ToolEnvironment::new("tools", [tool]);
            runtime.attach(tools, Restart::Never).await
        }
        1 => {
            let model = Arc::new(Model("an attached model", ledger));
            let models = ModelEnvironment::new("models", "test", model);
            runtime.attach(models, Restart::Never).await
        }
        _ => {
            let filter = Filter::all().event_type("tool_completed");
            let watcher = Listener::new("watcher", filter, Queue::lag(64), move |_: SystemBus, heard| {
                let ledger = ledger.clone();
                async move {
                    if let BusDelivery::Event(_) = heard {
                        ledger.count("a watcher");
                    }
                }
            });
            runtime.attach(watcher, Restart::Never).await
        }
    };
    attached.unwrap()
}

/// Reactors come and go, in step with the calls: the last one comes when nearly all calls have begun, and no
/// run ends before.
async fn come_and_go(runtime: &NodeRuntime, ledger: &Ledger) {
    let (mut begun, mut random) = (ledger.begun.subscribe(), 34_u64);
    let mut attached = VecDeque::new();
    for change in 0..CHANGES {
        // A linear congruential generator: the same changes each time.
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let (kind, grace) = ((random >> 33) % 3, (random >> 40) % 2);
        begun.wait_for(|begun| 10 * *begun >= 9 * change).await.unwrap();
        attached.push_back((attach(runtime, ledger, kind).await, kind, grace));
        if attached.len() == ATTACHED {
            let (id, kind, grace) = attached.pop_front().unwrap();
            // A model that is lost in the middle of an answer would end the run.
            let within = match (kind, grace) {
                (0, 0) => Duration::ZERO,
                _ => PATIENCE,
            };
            assert!(runtime.detach(id, within).await);
        }
    }
    ledger.changed.send_replace(true);
}

async fn finished(session: &dyn Session) -> RunStatus {
    let mut events = session.subscribe(0, View::Runtime).await.unwrap();
    while let Some(delivery) = events.next().await {
        if let Delivery::Runtime(event) = delivery
            && let RuntimeEvent::RunFinished(finished) = &event.event
        {
            return finished.status;
        }
    }
    panic!("the session ended first");
}

/// Returns the calls of `read` in a session with their results. Each has one.
fn results(log: &FaultyLog, session: &SessionId) -> BTreeMap<ToolCallId, (ToolStatus, String)> {
    let mut results = BTreeMap::new();
    for fact in log.facts(session) {
        if let EnvironmentEvent::ToolResult(result) = &fact.event {
            let words = result
                .result
                .iter()
                .filter_map(ContentPart::as_text)
                .collect::<String>();
            let before = results.insert(result.tool_call_id.clone(), (result.status, words));
            assert_eq!(before, None, "{} has two results", result.tool_call_id);
        }
    }
    results.retain(|_, (_, words)| words != "waited");
    results
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_call_has_one_result_and_is_performed_once_whoever_comes_and_goes() {
    let (log, ledger) = (FaultyLog::new(), Ledger::new());
    let runtime = runtime(&log, &ledger);
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(begin(&runtime).await);
    }
    tokio::time::timeout(PATIENCE, come_and_go(&runtime, &ledger))
        .await
        .unwrap();
    let mut seen = BTreeMap::<String, usize>::new();
    for session in &sessions {
        let finished = tokio::time::timeout(PATIENCE, finished(session.as_ref()));
        assert_eq!(finished.await.unwrap(), RunStatus::Completed);
        let results = results(&log, session.id());
        assert_eq!(results.len(), CALLS, "{results:?}");
        for (call, (status, words)) in results {
            let calls = ledger.calls.lock().unwrap();
            let performed = calls.get(&(session.id().clone(), call));
            let began = performed.map_or(&[][..], |performed| &performed.began);
            let ended = performed.map_or(&[][..], |performed| &performed.ended);
            let is_true = match status {
                ToolStatus::Success => began == [words.as_str()] && ended == began,
                // Only attached reactors are detached.
                ToolStatus::Unknown => began.len() <= 1 && !began.contains(&"built in"),
                _ => false,
            };
            assert!(is_true, "{status:?}, {words}: {performed:?}");
            let outcome = if status == ToolStatus::Success {
                words
            } else {
                "unknown".into()
            };
            *seen.entry(outcome).or_default() += 1;
        }
    }
    let model = ledger.counted("an attached model");
    let heard = ledger.counted("a watcher");
    let floors = [
        (seen.get("attached"), 100),
        (seen.get("built in"), 10),
        (seen.get("unknown"), 5),
        (Some(&model), 100),
        (Some(&heard), 100),
    ];
    eprintln!("{seen:?}, {model} answers of attached models, {heard} results heard");
    for (seen, floor) in floors {
        assert!(seen.is_some_and(|seen| *seen >= floor), "{floors:?}");
    }
}
