//! Memories in a whole run: a memory accepted in one session is in the log of another one before the model is
//! called, and another service can replace the store.
#![cfg(feature = "settings")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use agentx_bus::{KeyPattern, Reactor, ReactorFailure, ReactorTask, Restart, Serve};
use agentx_config::{ConfigPaths, LoadRequest, Settings, load};
use agentx_memory::{MEMORY_SOURCE, MemoryState, NewMemory};
use agentx_node_runtime::{NodeRuntime, open_memories, scripted_model};
use agentx_runtime::{BoxFuture, Effector, EventSink, OpenRequest, Runtime as _, SystemBus, UserInput, View};
use agentx_types::{
    Action, ActionKind, ContextBuilt, ContextItem, EnvironmentEvent as E, SessionId, Timestamp, topic,
};
use tokio_util::sync::CancellationToken;

/// The settings of a person who wrote this into their file.
fn settings(dir: &tempfile::TempDir, file: &str) -> Settings {
    let root = std::fs::canonicalize(dir.path()).unwrap().join("ws");
    std::fs::create_dir_all(&root).unwrap();
    std::fs::write(dir.path().join("config.yaml"), file).unwrap();
    let request = LoadRequest {
        places: ConfigPaths {
            cwd: root.clone(),
            user_file: dir.path().join("config.yaml"),
            user_file_named: true,
            workspace_file: root.join(".agentx/config.yaml"),
            workspace_root: root,
            data_dir: dir.path().join("data"),
        },
        lookup: &|_| None,
        flags: Vec::new(),
    };
    load(request).unwrap().settings
}

/// Sends an input in a new session of the offline demo; returns the facts of its run.
async fn run(runtime: &NodeRuntime, settings: &Settings, text: &str) -> (SessionId, Vec<E>) {
    let config = settings.agent(scripted_model().spec, runtime.tools().to_vec());
    let session = runtime.open(OpenRequest::New(Box::new(config))).await.unwrap();
    let mut events = session.subscribe(0, View::Runtime).await.unwrap();
    session.send(UserInput::text(text)).await.unwrap();
    while let Some(delivery) = events.next().await {
        if format!("{delivery:?}").contains("RunFinished") {
            break;
        }
    }
    let facts = runtime.facts(session.id(), 0, 1_000).await.unwrap();
    let id = session.id().clone();
    session.close().await;
    (id, facts.into_iter().map(|fact| fact.event.clone()).collect())
}

fn built(facts: &[E]) -> Option<&ContextBuilt> {
    facts.iter().find_map(|fact| match fact {
        E::ContextBuilt(built) => Some(built),
        _ => None,
    })
}

fn place(facts: &[E], wanted: impl Fn(&E) -> bool) -> usize {
    facts.iter().position(wanted).unwrap()
}

#[tokio::test]
async fn an_accepted_memory_is_in_the_log_before_the_model_is_called() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(&dir, "memory: {enabled: true}\n");
    let runtime = NodeRuntime::from_settings(&settings, "test").unwrap();
    let memories = open_memories(&settings).unwrap();
    let new = NewMemory::of_person("deploys go over staging");
    let id = memories.add(&new, Timestamp(1)).unwrap().0.id;

    let (_, facts) = run(&runtime, &settings, "How do I deploy?").await;
    let given = built(&facts).unwrap();
    assert!(given.text.contains("deploys go over staging"), "{given:?}");
    let is_call =
        |fact: &E| matches!(fact, E::ActionStarted(started) if started.kind == ActionKind::CallModel);
    assert!(place(&facts, |fact| matches!(fact, E::ContextBuilt(_))) < place(&facts, is_call));

    memories.delete(id).unwrap();
    let (_, facts) = run(&runtime, &settings, "How do I deploy?").await;
    assert_eq!(built(&facts).unwrap().items, [], "taken back");
}

#[tokio::test]
async fn a_model_proposes_after_so_many_messages_and_nothing_is_used_before_it_is_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(&dir, "memory: {enabled: true, learning: {threshold_turns: 2}}\n");
    let runtime = NodeRuntime::from_settings(&settings, "test").unwrap();
    let config = settings.agent(scripted_model().spec, runtime.tools().to_vec());
    let session = runtime.open(OpenRequest::New(Box::new(config))).await.unwrap();
    let mut events = session.subscribe(0, View::Runtime).await.unwrap();
    let (mut ended, mut proposed) = (0, false);
    for text in ["remember that deploys go over staging", "hello", "and again"] {
        session.send(UserInput::text(text)).await.unwrap();
    }
    while ended < 3 || !proposed {
        let event = format!("{:?}", events.next().await.unwrap());
        ended += usize::from(event.contains("RunFinished"));
        proposed |= event.contains("Proposed {");
    }
    let facts = runtime.facts(session.id(), 0, 1_000).await.unwrap();
    let asked = facts.iter().filter(|fact| {
        matches!(&fact.event, E::ActionStarted(started) if started.kind == ActionKind::ProposeMemories)
    });
    assert_eq!(asked.count(), 1);
    let said = facts.iter().find_map(|fact| match &fact.event {
        E::MemoriesProposed(said) => Some(said.clone()),
        _ => None,
    });
    let first = facts.iter().find(|fact| matches!(fact.event, E::UserMessage(_)));
    let origin = format!("{}:{}", session.id(), first.unwrap().seq);
    let item = &said.unwrap().items[0];
    assert_eq!(item.origin.as_deref(), Some(origin.as_str()));
    session.close().await;

    let memories = open_memories(&settings).unwrap();
    let memory = memories.get(item.id.parse().unwrap()).unwrap();
    assert_eq!(
        (memory.text.as_str(), memory.state),
        ("deploys go over staging", MemoryState::Proposed)
    );
    let (_, facts) = run(&runtime, &settings, "How do deploys go?").await;
    assert_eq!(built(&facts).unwrap().items, [], "not accepted yet");
}

#[tokio::test]
async fn without_the_setting_there_is_nothing_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(&dir, "");
    let runtime = NodeRuntime::from_settings(&settings, "test").unwrap();
    let (_, facts) = run(&runtime, &settings, "How do I deploy?").await;
    assert!(built(&facts).is_none());
    let is_of_memory = |name: &str| name == "remember" || name == "recall_memory";
    assert!(runtime.tools().iter().all(|tool| !is_of_memory(&tool.name)));
    assert!(!dir.path().join("data/memory.db").exists());
}

#[tokio::test]
async fn a_store_that_cannot_be_opened_costs_a_run_only_its_memories() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(&dir, "memory: {enabled: true}\n");
    std::fs::create_dir_all(dir.path().join("data")).unwrap();
    std::fs::write(
        dir.path().join("data/memory.db"),
        "no database at all, but some bytes",
    )
    .unwrap();
    let runtime = NodeRuntime::from_settings(&settings, "test").unwrap();
    let (_, facts) = run(&runtime, &settings, "How do I deploy?").await;
    let problem = built(&facts).unwrap().problem.clone().unwrap();
    assert!(problem.contains("memory.db"), "{problem}");
    assert!(
        facts.iter().any(|fact| matches!(fact, E::StreamEnd(_))),
        "the model answers"
    );
}

/// A service that gives the same to everybody.
struct OtherService(CancellationToken);

impl Effector for OtherService {
    fn perform(&self, _: Arc<Action>, events: EventSink, _: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let built = ContextBuilt {
                text: "from another service".into(),
                items: vec![ContextItem {
                    id: "other".into(),
                    origin: None,
                }],
                ..ContextBuilt::nothing(MEMORY_SOURCE)
            };
            events.emit(built).await;
        })
    }
}

impl Reactor<SystemBus> for OtherService {
    fn name(&self) -> &str {
        "other memories"
    }

    async fn start(&mut self, bus: SystemBus) -> Result<ReactorTask, ReactorFailure> {
        let topic = topic::of_action(ActionKind::BuildContext);
        let serve = Serve::new("other").on(topic, KeyPattern::exact(MEMORY_SOURCE));
        let serving = bus.serve(serve, Arc::new(Self(self.0.clone())));
        Ok(serving.run_until(self.0.clone()))
    }

    async fn stop(&mut self) {
        self.0.cancel();
    }
}

#[tokio::test]
async fn a_reactor_takes_the_place_of_the_service() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(&dir, "memory: {enabled: true}\n");
    let runtime = NodeRuntime::from_settings(&settings, "test").unwrap();
    let other = OtherService(CancellationToken::new());
    let id = runtime.attach(other, Restart::Never).await.unwrap();
    let (_, facts) = run(&runtime, &settings, "hello").await;
    assert_eq!(built(&facts).unwrap().text, "from another service");
    assert!(runtime.detach(id, std::time::Duration::from_secs(5)).await);
    let (_, facts) = run(&runtime, &settings, "hello").await;
    assert_eq!(built(&facts).unwrap().text, "", "the store again");
}
