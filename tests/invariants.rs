//! Invariants of every session, tested through the driver: nothing is visible before it is committed, there
//! is one order without gaps, slow readers harm nobody, owners are separate. docs/ARCHITECTURE.md names these
//! tests.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "invariants/held_log.rs"]
mod held_log;

use std::sync::Arc;

use agentx_bus::{Filter, Queue};
use agentx_node_runtime::scripted::ScriptedEnvironment;
use agentx_node_runtime::{NodeParts, NodeRuntime};
use agentx_runtime::{
    ActionDispatcher, Delivery, DriverParts, ModelInfo, OpenRequest, Runtime as _, Session, SessionIds,
    SessionLog, SessionQuery, Subscription, UserInput, View, open_session,
};
use agentx_sqlite_log::SqliteLog;
use agentx_testing::{FaultyLog, Gate, ModelScript, ScriptedModel, SimulatedClock, fixture};
use agentx_tools::{ToolOptions, Toolbox};
use agentx_types::{ActionKind, Api, OwnerId, RuntimeEvent, SessionId, Vocabulary as _};

use held_log::HeldLog;

/// A driver's world: a log, a scripted model, a bus.
struct World {
    model: ScriptedModel,
    parts: DriverParts,
}

impl World {
    fn new(log: Arc<dyn SessionLog>, answers: impl IntoIterator<Item = ModelScript>) -> Self {
        let model = ScriptedModel::new(answers);
        let actions = ActionDispatcher::new().with(ActionKind::CallModel, Arc::new(model.clone()));
        let parts = DriverParts {
            tools: fixture::tools().into(),
            program: "test".into(),
            ..DriverParts::new(log, actions, Arc::new(SimulatedClock::default()))
        };
        Self { model, parts }
    }

    async fn open(&self) -> Arc<dyn Session> {
        let ids = SessionIds {
            session_id: SessionId::new("ses_1"),
            agent_state_id: fixture::agent_state_id(),
            owner: OwnerId::new("own_1"),
        };
        open_session(
            self.parts.clone(),
            ids,
            OpenRequest::New(Box::new(fixture::config())),
        )
        .await
        .unwrap()
    }
}

fn input(text: &str) -> UserInput {
    UserInput::text(text)
}

/// Reads until this event came.
async fn until(events: &mut Subscription, wanted: impl Fn(&Delivery) -> bool) {
    loop {
        let delivery = events
            .next()
            .await
            .unwrap_or_else(|| panic!("the session ended first"));
        if wanted(&delivery) {
            return;
        }
    }
}

fn is_finished(delivery: &Delivery) -> bool {
    matches!(delivery, Delivery::Runtime(event) if matches!(event.event, RuntimeEvent::RunFinished(_)))
}

fn seq_of(delivery: &Delivery) -> Option<u64> {
    match delivery {
        Delivery::Environment(fact) => Some(fact.seq),
        Delivery::Runtime(event) => Some(event.seq),
        Delivery::CaughtUp(_) | Delivery::CutOff(_) => None,
    }
}

/// Lets everything run that can run without the outside.
async fn let_all_run() {
    for _ in 0..500 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn nothing_is_visible_before_its_commit() {
    let log = HeldLog::new(FaultyLog::new());
    let world = World::new(Arc::new(log.clone()), [ModelScript::text("hello")]);
    let session = world.open().await;
    let mut bus = world
        .parts
        .bus
        .subscribe("test", Filter::all(), Queue::wait(1024))
        .unwrap();
    let mut events = session.subscribe(0, View::Runtime).await.unwrap();
    until(&mut events, |delivery| matches!(delivery, Delivery::CaughtUp(_))).await;

    log.hold();
    let sender = session.clone();
    let sent = tokio::spawn(async move { sender.send(input("hi")).await.unwrap() });
    log.wait_for_append().await;
    let_all_run().await;
    assert!(!sent.is_finished(), "an input was acknowledged before its commit");
    assert!(
        events.deliveries.try_recv().is_err(),
        "a reader saw what is not committed"
    );
    assert!(
        bus.try_recv().unwrap().is_none(),
        "the bus had what is not committed"
    );
    assert!(
        world.model.requests().is_empty(),
        "an action was performed before its commit"
    );

    log.release();
    let seq = sent.await.unwrap();
    until(&mut events, is_finished).await;
    let facts = log.inner().facts(session.id());
    assert_eq!(
        facts[usize::try_from(seq).unwrap() - 1].event.tag(),
        "user_message"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn seq_is_dense_whatever_comes_at_once() {
    const SENDERS: usize = 24;
    let log = FaultyLog::new();
    let pieces = ["word "; 50];
    let answers = (0..SENDERS * 3).map(|_| ModelScript::text("").then_pieces(&pieces));
    let world = World::new(Arc::new(log.clone()), answers);
    let session = world.open().await;
    let senders = (0..SENDERS).map(|number| {
        let session = session.clone();
        tokio::spawn(async move {
            let seq = session.send(input("hi")).await.unwrap();
            if number % 4 == 0 {
                session.interrupt(None).await.unwrap();
            }
            session.rename(format!("title {number}")).await.unwrap();
            seq
        })
    });
    let mut seqs = Vec::new();
    for sender in senders.collect::<Vec<_>>() {
        seqs.push(sender.await.unwrap());
    }
    session.close().await;
    let facts = log.facts(session.id());
    assert!(
        facts.iter().map(|fact| fact.seq).eq(1..=facts.len() as u64),
        "a gap or a double"
    );
    seqs.sort_unstable();
    let inputs = facts
        .iter()
        .filter(|fact| fact.event.tag() == "user_message")
        .map(|fact| fact.seq);
    assert_eq!(
        inputs.collect::<Vec<_>>(),
        seqs,
        "each sender was told the place of its input"
    );
}

/// More events than all queues between a session and its reader hold.
const MANY: usize = 25_000;

#[tokio::test]
async fn a_slow_reader_harms_nobody_and_comes_back_by_seq() {
    let gate = Gate::closed();
    let pieces = vec!["word "; 500];
    let answer = (0..MANY / 500).fold(ModelScript::new().then_stall(&gate), |answer, _| {
        answer.then_pieces(&pieces)
    });
    let log = FaultyLog::new();
    let world = World::new(Arc::new(log.clone()), [answer]);
    let session = world.open().await;
    let mut slow = session.subscribe(0, View::Environment).await.unwrap();
    let mut quick = session.subscribe(0, View::Runtime).await.unwrap();
    session.send(input("hi")).await.unwrap();
    gate.open();
    // The slow one has not read a single event when the quick one has read all of them.
    until(&mut quick, is_finished).await;
    let head = log.facts(session.id()).len() as u64;
    assert!(head > MANY as u64);
    let mut seqs = Vec::new();
    while seqs.last() != Some(&head) {
        seqs.extend(slow.next().await.as_ref().and_then(seq_of));
    }
    assert!(seqs.into_iter().eq(1..=head), "a gap or a double");
}

fn runtime(log: &Arc<SqliteLog>, owner: &str) -> NodeRuntime {
    let spec = agentx_types::ModelSpec {
        provider: "scripted".into(),
        ..fixture::model(Api::Scripted)
    };
    NodeRuntime::new(NodeParts {
        log: log.clone(),
        owner: OwnerId::new(owner),
        models: vec![ModelInfo::new(spec)],
        wire_options: Arc::new(|_| Default::default()),
        network: Arc::new(ScriptedModel::new([])),
        scripted: ScriptedEnvironment::instant(),
        tools: Toolbox::builtin(ToolOptions::default()),
        clock: Arc::new(SimulatedClock::default()),
        guard: None,
        redactor: None,
        context: Default::default(),
        analyzers: Default::default(),
        learner: None,
        program: "test".into(),
        data_dir: std::path::PathBuf::from("/nowhere"),
    })
}

#[tokio::test]
async fn owners_do_not_see_each_other() {
    let log = SqliteLog::open_in_memory().unwrap();
    let (ours, theirs) = (runtime(&log, "own_1"), runtime(&log, "own_2"));
    let mut config = fixture::config();
    config.model = ours.models()[0].spec.clone();
    let session = ours.open(OpenRequest::New(Box::new(config))).await.unwrap();
    let mut events = session.subscribe(0, View::Runtime).await.unwrap();
    session.send(input("a secret word")).await.unwrap();
    until(&mut events, is_finished).await;
    session.close().await;
    let id = session.id();
    assert_eq!(ours.resolve(id.as_str()).await.unwrap(), *id);
    assert_eq!(ours.search("secret", 5).await.unwrap().len(), 1);

    let query = SessionQuery {
        owner: OwnerId::new("own_1"),
        workspace: None,
        limit: 10,
        before: None,
    };
    assert_eq!(theirs.sessions(query).await.unwrap(), []);
    assert_eq!(theirs.search("secret", 5).await.unwrap(), []);
    assert!(theirs.resolve(id.as_str()).await.is_err());
    assert!(theirs.watch(id, 0, View::Environment, false).await.is_err());
    assert!(
        theirs
            .open(OpenRequest::Resume(id.clone(), vec![]))
            .await
            .is_err()
    );
    assert!(theirs.fork(id, None).await.is_err());
    assert!(theirs.replay(id).await.is_err());
    assert!(theirs.context(id, None).await.is_err());
    assert!(theirs.verify(id).await.is_err());
    assert!(theirs.delete(id).await.is_err());
    assert!(ours.replay(id).await.unwrap().divergence.is_none());
}
