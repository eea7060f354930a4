//! A session whose agent waits for a time: the wait outlives the session's writers and ends once. The clock
//! is simulated, so the tests take no time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::{Delivery, OpenRequest, Session, UserInput, View, WaitKind};
use agentx_testing::{MemoryWorld, ModelScript, SimulatedClock, fixture, run_ended};
use agentx_types::{AgentConfig, RunStatus, RuntimeEvent};
use serde_json::json;

/// The number of writers that are lost during one wait.
const LOSSES: u32 = 300;
/// The length of the wait.
const WAIT: Duration = Duration::from_secs(7_200);

struct World {
    inner: MemoryWorld,
    clock: SimulatedClock,
}

impl World {
    fn new() -> Self {
        let call = json!({ "seconds": WAIT.as_secs(), "reason": "the build" });
        Self::of([
            ModelScript::call("call_1", "wait", call),
            ModelScript::text("done"),
        ])
    }

    fn of<const N: usize>(scripts: [ModelScript; N]) -> Self {
        let mut inner = MemoryWorld::new(scripts);
        let clock = SimulatedClock::default();
        inner.parts.clock = Arc::new(clock.clone());
        Self { inner, clock }
    }

    /// A session whose agent has begun to wait.
    async fn waiting(&self) -> Arc<dyn Session> {
        let config = AgentConfig {
            wait: true,
            ..fixture::config()
        };
        let session = self.inner.open_new(config).await;
        let mut events = session.subscribe(0, View::Runtime).await.unwrap();
        session.send(UserInput::text("go")).await.unwrap();
        loop {
            if let Delivery::Runtime(event) = events.next().await.unwrap()
                && matches!(&event.event, RuntimeEvent::ToolExecuting(call) if call.name == "wait")
            {
                return session;
            }
        }
    }

    async fn resumed(&self, session: &Arc<dyn Session>) -> Arc<dyn Session> {
        let request = OpenRequest::Resume(session.id().clone(), vec![]);
        self.inner.open(request).await.unwrap()
    }

    fn count(&self, tag: &str) -> usize {
        self.inner.tags().iter().filter(|found| *found == tag).count()
    }
}

#[tokio::test]
async fn a_wait_ends_once_although_its_writer_is_lost_three_hundred_times() {
    let world = World::new();
    let mut session = world.waiting().await;
    for _ in 0..LOSSES {
        session.suspend().await;
        world.clock.advance(WAIT / LOSSES / 2);
        session = world.resumed(&session).await;
    }
    let state = session.state().await.unwrap();
    assert!(state.only_waits);
    assert_eq!(state.waits.len(), 1, "{:?}", state.waits);
    assert_eq!(state.waits[0].kind, WaitKind::Call);
    assert_eq!(world.count("timer_fired"), 0);
    session.suspend().await;
    world.clock.advance(WAIT);
    let session = world.resumed(&session).await;
    assert_eq!(run_ended(&*session, 0).await, RunStatus::Completed);
    assert_eq!((world.count("timer_fired"), world.count("tool_result")), (1, 1));
}

#[tokio::test]
async fn a_reminder_is_told_once_although_its_writer_is_lost_three_hundred_times() {
    let call = json!({ "text": "call Bob", "seconds": WAIT.as_secs() });
    let world = World::of([
        ModelScript::call("call_1", "remind_me", call),
        ModelScript::text("I will."),
        ModelScript::text("Call Bob!"),
    ]);
    let config = AgentConfig {
        reminders: Some(Box::default()),
        ..fixture::config()
    };
    let mut session = world.inner.open_new(config).await;
    session.send(UserInput::text("remind me")).await.unwrap();
    assert_eq!(run_ended(&*session, 0).await, RunStatus::Completed);
    for _ in 0..LOSSES {
        session.suspend().await;
        world.clock.advance(WAIT / LOSSES / 2);
        session = world.resumed(&session).await;
    }
    let state = session.state().await.unwrap();
    assert_eq!(state.waits.len(), 1, "{:?}", state.waits);
    assert_eq!(state.waits[0].kind, WaitKind::Reminder);
    assert_eq!(world.count("stream_end"), 2, "the model is not asked before");
    session.suspend().await;
    world.clock.advance(WAIT);
    let last = state.last_seq;
    let session = world.resumed(&session).await;
    assert_eq!(run_ended(&*session, last).await, RunStatus::Completed);
    assert_eq!((world.count("stream_end"), world.count("user_message")), (3, 1));
    assert!(session.state().await.unwrap().waits.is_empty());
}

#[tokio::test]
async fn a_session_that_only_waits_is_not_stopped_when_it_is_closed() {
    let world = World::new();
    let session = world.waiting().await;
    session.close().await;
    assert_eq!(world.count("interrupted"), 0);
    let session = world.resumed(&session).await;
    let state = session.state().await.unwrap();
    assert_eq!(state.waits.len(), 1, "{:?}", state.waits);
    session.halt(None).await.unwrap();
    assert_eq!(run_ended(&*session, 0).await, RunStatus::Interrupted);
    assert_eq!((world.count("timer_fired"), world.count("tool_result")), (0, 1));
}
