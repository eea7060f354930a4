//! Reactors that are attached to a runtime while a session is open: the session is notified of their tools by
//! facts, between two runs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use agentx_bus::{
    BusDelivery, Filter, KeyPattern, Queue, Reactor, ReactorFailure, ReactorTask, Reactors, Restart, Serve,
};
use agentx_runtime::{
    BoxFuture, CapturedEffect, Delivery, ModelEnvironment, OpenRequest, Redactor, RunCounts, SecretSet,
    Session, SessionIds, SystemBus, SystemEvent, Tool, ToolContext, ToolEnvironment, ToolOutcome, UserInput,
    View, open_session, run_counter,
};
use agentx_secrets::Origin;
use agentx_testing::{FaultyLog, Gate, MemoryWorld, ModelScript, ScriptedModel, fixture, run_ended};
use agentx_types::{
    Access, AgentConfig, ConfigChange, ContentPart, EnvironmentEvent, RunStatus, SessionId, Source,
    StopReason, ToolSpec, ToolStatus, Vocabulary as _,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(20);

/// Reports the weather, once its gate is open.
#[derive(Clone)]
struct Weather(Gate);

impl Weather {
    fn at_once() -> Arc<dyn Tool> {
        let gate = Gate::closed();
        gate.open();
        Arc::new(Self(gate))
    }
}

impl Tool for Weather {
    fn spec(&self) -> ToolSpec {
        fixture::tool("weather", "city", Access::Read)
    }

    fn call(&self, _: Value, _: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let gate = self.0.clone();
        Box::pin(async move {
            gate.pass().await;
            ToolOutcome::success("sunny")
        })
    }
}

/// A runtime with one open session that has all tools.
pub(crate) struct World {
    pub(crate) memory: MemoryWorld,
    reactors: Reactors<SystemBus>,
    pub(crate) session: Arc<dyn Session>,
}

impl World {
    pub(crate) async fn new(answers: impl IntoIterator<Item = ModelScript>) -> Self {
        let memory = MemoryWorld::new(answers);
        let reactors = Reactors::new(SystemBus::of(&memory.parts), |_report| {});
        let config = AgentConfig {
            all_tools: true,
            ..fixture::config()
        };
        let session = memory.open_new(config).await;
        Self {
            memory,
            reactors,
            session,
        }
    }

    async fn say(&self, text: &str) -> u64 {
        let input = UserInput::text(text);
        self.session.send(input).await.unwrap()
    }

    /// Waits for the end of the run after this event.
    pub(crate) async fn finished(&self, after: u64) -> RunStatus {
        let ended = run_ended(&*self.session, after);
        tokio::time::timeout(PATIENCE, ended).await.unwrap()
    }

    /// Waits for the fact that the session has other tools, which comes after this event. Returns its `seq`
    /// and whether it has the weather.
    async fn told(&self, after: u64) -> (u64, bool) {
        let mut facts = self.session.subscribe(after, View::Environment).await.unwrap();
        let told = async {
            while let Some(delivery) = facts.next().await {
                if let Delivery::Environment(fact) = delivery
                    && let EnvironmentEvent::ConfigChanged(changed) = &fact.event
                    && let ConfigChange::Tools(tools) = &changed.change
                {
                    assert_eq!(fact.source, Source::System);
                    return (fact.seq, tools.iter().any(|tool| tool.name == "weather"));
                }
            }
            panic!("the session ended first");
        };
        tokio::time::timeout(PATIENCE, told).await.unwrap()
    }

    fn results(&self) -> Vec<(ToolStatus, String)> {
        let facts = self.memory.log.facts(self.session.id());
        let results = facts.iter().filter_map(|fact| match &fact.event {
            EnvironmentEvent::ToolResult(result) => Some((
                result.status,
                result.result.iter().filter_map(ContentPart::as_text).collect(),
            )),
            _ => None,
        });
        results.collect()
    }

    /// Returns the names of the tools in each request to the model.
    fn offered(&self) -> Vec<Vec<String>> {
        let requests = self.memory.model.requests();
        let names = |tools: &[ToolSpec]| tools.iter().map(|tool| tool.name.clone()).collect();
        requests.iter().map(|request| names(&request.tools)).collect()
    }
}

fn weather_call(id: &str) -> ModelScript {
    ModelScript::call(id, "weather", json!({"city": "Paris"}))
}

#[tokio::test]
async fn a_tool_that_is_attached_is_told_offered_and_called_and_goes_away_again() {
    let answers = [
        weather_call("call_1"),
        ModelScript::text("sunny"),
        weather_call("call_2"),
        ModelScript::text("gone"),
    ];
    let mut world = World::new(answers).await;
    let weather = ToolEnvironment::new("weather", [Weather::at_once()]);
    let id = world.reactors.start(weather, Restart::Never).await.unwrap();
    let asked = world.say("how is the weather?").await;
    let (told, has_it) = world.told(0).await;
    assert!(
        has_it && told < asked,
        "what is attached before something is said is there for it"
    );
    assert_eq!(world.finished(asked).await, RunStatus::Completed);
    assert_eq!(world.offered()[0].last().unwrap(), "weather");

    assert!(world.reactors.stop(id, PATIENCE).await);
    assert!(!world.told(told).await.1);
    let asked = world.say("and now?").await;
    assert_eq!(world.finished(asked).await, RunStatus::Completed);
    assert!(!world.offered()[2].contains(&"weather".to_owned()));
    let results = world.results();
    assert_eq!(results[0], (ToolStatus::Success, "sunny".to_owned()));
    assert_eq!(results[1].0, ToolStatus::Invalid, "{results:?}");
}

#[tokio::test]
async fn the_tools_change_between_two_runs_and_not_in_the_middle_of_one() {
    let gate = Gate::closed();
    let answers = [
        ModelScript::text("slow").then_stall(&gate),
        ModelScript::text("next"),
    ];
    let mut world = World::new(answers).await;
    let first = world.say("take your time").await;
    gate.reached().await;
    let weather = ToolEnvironment::new("weather", [Weather::at_once()]);
    world.reactors.start(weather, Restart::Never).await.unwrap();
    gate.open();
    assert_eq!(world.finished(first).await, RunStatus::Completed);
    let (told, has_it) = world.told(first).await;
    let end = |fact: &EnvironmentEvent| matches!(fact, EnvironmentEvent::StreamEnd(_));
    let facts = world.memory.log.facts(world.session.id());
    let ended = facts.iter().find(|fact| end(&fact.event)).unwrap().seq;
    assert!(
        has_it && told > ended,
        "{told} comes after the answer's end, {ended}"
    );
    let next = world.say("again").await;
    assert_eq!(world.finished(next).await, RunStatus::Completed);
    let offered = world.offered();
    assert_eq!(
        (offered[0].len() + 1, offered[1].last().unwrap().as_str()),
        (offered[1].len(), "weather")
    );
}

#[tokio::test]
async fn a_reactor_that_is_detached_ends_what_it_has_and_leaves_unknown_what_takes_too_long() {
    for (patience, expected) in [
        (PATIENCE, ToolStatus::Success),
        (Duration::ZERO, ToolStatus::Unknown),
    ] {
        let mut world = World::new([weather_call("call_1"), ModelScript::text("done")]).await;
        let gate = Gate::closed();
        let tool: Arc<dyn Tool> = Arc::new(Weather(gate.clone()));
        let id = world
            .reactors
            .start(ToolEnvironment::new("weather", [tool]), Restart::Never)
            .await
            .unwrap();
        world.told(0).await;
        let asked = world.say("how is the weather?").await;
        gate.reached().await;
        let waits = patience > Duration::ZERO;
        let open = async {
            if waits {
                gate.open();
            }
        };
        tokio::join!(world.reactors.stop(id, patience), open);
        assert_eq!(world.finished(asked).await, RunStatus::Completed);
        assert_eq!(world.results()[0].0, expected);
    }
}

/// Stops at once when it is cancelled, and reports that.
struct Obedient(Gate);

impl Tool for Obedient {
    fn spec(&self) -> ToolSpec {
        fixture::tool("weather", "city", Access::Read)
    }

    fn call(&self, _: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let gate = self.0.clone();
        Box::pin(async move {
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => ToolOutcome::failed(ToolStatus::Interrupted, "Stopped."),
                () = gate.pass() => ToolOutcome::success("sunny"),
            }
        })
    }
}

#[tokio::test]
async fn a_call_is_unknown_and_not_interrupted_where_its_reactor_is_detached_past_its_deadline() {
    // The tool's task got one of the two at random: in every second round it was stopped.
    for _ in 0..20 {
        let mut world = World::new([weather_call("call_1"), ModelScript::text("done")]).await;
        let gate = Gate::closed();
        let tool: Arc<dyn Tool> = Arc::new(Obedient(gate.clone()));
        let environment = ToolEnvironment::new("weather", [tool]);
        let id = world.reactors.start(environment, Restart::Never).await.unwrap();
        world.told(0).await;
        let asked = world.say("how is the weather?").await;
        gate.reached().await;
        world.reactors.stop(id, Duration::ZERO).await;
        assert_eq!(world.finished(asked).await, RunStatus::Completed);
        let (status, words) = &world.results()[0];
        assert_eq!(*status, ToolStatus::Unknown, "{words}");
    }
}

#[tokio::test]
async fn a_model_can_be_replaced_while_a_session_is_open() {
    let mut world = World::new([ModelScript::text("the first one")]).await;
    let own = ScriptedModel::new([ModelScript::text("mine")]);
    let environment = ModelEnvironment::new("mine", "test", Arc::new(own.clone()));
    world.reactors.start(environment, Restart::Never).await.unwrap();
    let asked = world.say("who are you?").await;
    assert_eq!(world.finished(asked).await, RunStatus::Completed);
    assert_eq!(
        (own.requests().len(), world.memory.model.requests().len()),
        (1, 0)
    );
}

/// A request of a script or an MCP server makes no fact, so its secrets are replaced only here.
#[tokio::test]
async fn an_attached_model_gets_requests_of_reactors_without_secrets() {
    let mut secrets = SecretSet::default();
    assert!(secrets.add("KEY", Origin::Setting, "made-up-value"));
    let mut memory = MemoryWorld::new([]);
    memory.parts.redactor = Some(Redactor::new(&secrets));
    let bus = SystemBus::of(&memory.parts);
    let own = ScriptedModel::new([ModelScript::text("mine")]);
    let _serving = bus.serve_models("test", Arc::new(own.clone()));
    let models = bus.models();
    let action = fixture::call_model("the key is made-up-value");
    let mut asked = CapturedEffect::of(&*models, action, None, CancellationToken::new());
    let mut answered = Vec::new();
    while let Some(event) = asked.next().await {
        answered.push(event.tag().to_owned());
    }
    assert_eq!(answered.last().map(String::as_str), Some("stream_end"));
    let words = own.requests()[0].messages[0].text();
    assert!(
        words.starts_with("the key is ") && !words.contains("made-up-value"),
        "{words}"
    );
}

#[tokio::test]
async fn a_model_call_of_a_reactor_that_is_cancelled_while_it_waits_is_interrupted() {
    let memory = MemoryWorld::new([]);
    let bus = SystemBus::of(&memory.parts);
    let gate = Gate::closed();
    let own = ScriptedModel::new([ModelScript::new().then_stall(&gate)]);
    let serve = Serve::new("own").on("llm.requests", KeyPattern::prefix("test/"));
    let _serving = bus.serve(serve.capacity(1), Arc::new(own.clone()));
    let models = bus.models();
    let first = fixture::call_model("first");
    let mut first = CapturedEffect::of(&*models, first, None, CancellationToken::new());
    assert!(first.next().await.is_some(), "it begins to answer");
    let cancel = CancellationToken::new();
    let second = fixture::call_model("second");
    let mut second = CapturedEffect::of(&*models, second, None, cancel.clone());
    cancel.cancel();
    let Some(EnvironmentEvent::StreamEnd(end)) = second.next().await else {
        panic!("the call has to end");
    };
    assert_eq!(end.stop_reason, StopReason::Interrupted);
    assert_eq!(own.requests().len(), 1, "nobody asked the model a second time");
}

/// Listens to committed facts, and reports whether the log had each of them.
struct Watcher {
    log: FaultyLog,
    heard: tokio::sync::mpsc::UnboundedSender<bool>,
}

impl Reactor<SystemBus> for Watcher {
    fn name(&self) -> &str {
        "watcher"
    }

    async fn start(&mut self, bus: SystemBus) -> Result<ReactorTask, ReactorFailure> {
        let mut events = bus.subscribe("watcher", Filter::all(), Queue::lag(64))?;
        let (log, heard) = (self.log.clone(), self.heard.clone());
        Ok(ReactorTask::new(async move {
            while let Ok(delivery) = events.recv().await {
                if let BusDelivery::Event(event) = delivery
                    && let SystemEvent::Environment(fact) = event.as_ref()
                {
                    let is_there = log
                        .facts(&fact.session_id)
                        .iter()
                        .any(|known| known.seq == fact.seq);
                    // If nobody listens, the test has ended.
                    let _ = heard.send(is_there);
                }
            }
            Ok(())
        }))
    }
}

#[tokio::test]
async fn a_reactor_hears_what_is_committed() {
    let mut world = World::new([ModelScript::text("hello")]).await;
    let (heard, mut said) = tokio::sync::mpsc::unbounded_channel();
    let watcher = Watcher {
        log: world.memory.log.clone(),
        heard,
    };
    world.reactors.start(watcher, Restart::Never).await.unwrap();
    let asked = world.say("hello").await;
    assert_eq!(world.finished(asked).await, RunStatus::Completed);
    assert_eq!(said.recv().await, Some(true));
    let tools: Vec<Arc<dyn Tool>> = Vec::new();
    let failed = world
        .reactors
        .start(ToolEnvironment::new("empty", tools), Restart::Never);
    let failed = failed.await.unwrap_err();
    assert_eq!(
        failed.to_string(),
        "cannot start `empty`: it failed: it has no tools"
    );
}

#[tokio::test]
async fn what_runs_come_to_is_counted() {
    let answers = [weather_call("call_1"), ModelScript::text("no such tool")];
    let mut world = World::new(answers).await;
    let counts = Arc::new(RunCounts::default());
    let counter = world
        .reactors
        .start(run_counter(counts.clone()), Restart::Never)
        .await
        .unwrap();
    let asked = world.say("how is the weather?").await;
    assert_eq!(world.finished(asked).await, RunStatus::Completed);
    // It counts the events that it got before its end.
    world.reactors.stop(counter, PATIENCE).await;
    let figures = counts.figures().map(|(name, _, value)| (name, value));
    let expected = [
        ("runs_completed_total", 1),
        ("runs_unfinished_total", 0),
        ("model_calls_total", 2),
        ("input_tokens_total", 20),
        ("output_tokens_total", 10),
        ("tool_calls_total", 0),
        ("tool_calls_failed_total", 1),
    ];
    assert_eq!(figures, expected);
}

#[tokio::test]
async fn a_session_that_is_opened_later_has_the_tools_that_were_attached_before() {
    let mut world = World::new([]).await;
    let weather = ToolEnvironment::new("weather", [Weather::at_once()]);
    world.reactors.start(weather, Restart::Never).await.unwrap();
    let ids = SessionIds {
        session_id: SessionId::new("ses_later"),
        agent_state_id: fixture::agent_state_id(),
        owner: "own_test".into(),
    };
    for all_tools in [true, false] {
        let ids = SessionIds {
            session_id: SessionId::new(format!("ses_{all_tools}")),
            ..ids.clone()
        };
        let config = AgentConfig {
            all_tools,
            ..fixture::config()
        };
        let opened = open_session(
            world.memory.parts.clone(),
            ids,
            OpenRequest::New(Box::new(config)),
        );
        let state = opened.await.unwrap().state().await.unwrap();
        let has_it = state.config.tools.iter().any(|tool| tool.name == "weather");
        assert_eq!(has_it, all_tools);
    }
}

/// Reopening records no change of the tools: their order is part of what a provider caches.
#[tokio::test]
async fn tools_for_delegating_stay_behind_attached_ones_when_a_session_is_opened_again() {
    let mut world = World::new([]).await;
    let weather = ToolEnvironment::new("weather", [Weather::at_once()]);
    world.reactors.start(weather, Restart::Never).await.unwrap();
    let delegating = fixture::tool("delegate", "agent", Access::Internal);
    let before = fixture::config();
    let config = AgentConfig {
        all_tools: true,
        tools: before.tools.iter().cloned().chain([delegating]).collect(),
        ..before
    };
    let ids = SessionIds {
        session_id: SessionId::new("ses_again"),
        agent_state_id: fixture::agent_state_id(),
        owner: "own_test".into(),
    };
    let new = OpenRequest::New(Box::new(config));
    let opened = open_session(world.memory.parts.clone(), ids.clone(), new);
    let session = opened.await.unwrap();
    let names = |tools: &[ToolSpec]| -> Vec<String> { tools.iter().map(|tool| tool.name.clone()).collect() };
    let first = names(&session.state().await.unwrap().config.tools);
    assert_eq!(first[first.len() - 2..], ["weather", "delegate"]);
    session.suspend().await;
    let again = OpenRequest::Resume(ids.session_id.clone(), Vec::new());
    let session = open_session(world.memory.parts.clone(), ids.clone(), again)
        .await
        .unwrap();
    assert_eq!(names(&session.state().await.unwrap().config.tools), first);
    let facts = world.memory.log.facts(&ids.session_id);
    let is_change = |event: &EnvironmentEvent| match event {
        EnvironmentEvent::ConfigChanged(changed) => matches!(changed.change, ConfigChange::Tools(_)),
        _ => false,
    };
    assert!(!facts.iter().any(|fact| is_change(&fact.event)), "{facts:?}");
}
