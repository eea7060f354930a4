//! A server whose log went back: its machine lost power, or an old copy was put in its place. No follower of
//! a session gets events of both histories; each follower gets an error, and one that starts again sees the
//! present log.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use agentx_remote_runtime::RemoteRuntime;
use agentx_runtime::{
    Delivery, EventCursor, Fact, FollowError, Follower, OpenRequest, Runtime as _, RuntimeError,
    Subscription, SubscriptionSource, View,
};
use agentx_testing::{LogBuilder, fixture};
use tokio::time::timeout;

use crate::fake::{Fake, Relay, session};

/// Nothing here takes longer.
const BOUND: Duration = Duration::from_secs(60);
/// The last `seq` that is the same as before, and the end of the log after it went back; `None`: as long as
/// before, or longer.
const WAYS: [(u64, Option<u64>); 4] = [(5, Some(5)), (5, None), (8, Some(9)), (0, None)];

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(BOUND, what).await.unwrap()
}

fn log() -> Vec<Fact> {
    let log = LogBuilder::opened(fixture::config());
    (0..6)
        .fold(log, |log, _| log.user("a question").answer("an answer"))
        .build()
}

/// A server behind a relay, with a session.
struct Stage {
    fake: Fake,
    relay: Relay,
    runtime: Arc<RemoteRuntime>,
    last: u64,
}

impl Stage {
    async fn new() -> Self {
        let fake = Fake::start().await;
        let relay = Relay::to(&fake.address()).await;
        let facts = log();
        fake.append(&facts);
        let runtime = Arc::new(soon(fake.connect_by(&relay)).await.unwrap());
        Self {
            fake,
            relay,
            runtime,
            last: facts.len() as u64,
        }
    }

    /// The server dies, and comes back with another history. No connection of before sees it change.
    async fn goes_back(&self, (kept, last): (u64, Option<u64>)) {
        self.relay.cut_within(1);
        self.relay.cut_now();
        soon(self.relay.all_cut()).await;
        self.fake
            .goes_back(&session(), kept, last.unwrap_or(self.last + 7));
        self.relay.cut_within(0);
    }

    /// A follower as in front ends, which has all events.
    async fn follower(&self, is_open: bool, view: View) -> Follower<SubscriptionSource> {
        let events = if is_open {
            let request = OpenRequest::Resume(session(), vec![]);
            SubscriptionSource::to_session(self.runtime.open(request).await.unwrap(), view)
        } else {
            SubscriptionSource::to_watched(self.runtime.clone(), session(), view)
        };
        let mut follower = events.follow(view, EventCursor::after(0));
        while !matches!(soon(follower.next()).await.unwrap(), Some(Delivery::CaughtUp(_))) {}
        follower
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_is_told_and_is_given_nothing_of_the_new_history() {
    for way in WAYS {
        for (is_open, view) in [
            (true, View::Runtime),
            (true, View::Environment),
            (false, View::Runtime),
            (false, View::Environment),
        ] {
            let stage = Stage::new().await;
            let mut follower = stage.follower(is_open, view).await;
            stage.goes_back(way).await;
            let told = soon(follower.next()).await;
            let Err(FollowError::Runtime(RuntimeError::WentBack { session: id, seq })) = told else {
                panic!("{way:?} {is_open} {view:?}: {told:?}");
            };
            assert!(id == session() && seq > way.0, "{seq}");
            // A follower that starts again sees the present log.
            let events = stage
                .runtime
                .watch(&session(), 0, View::Environment, false)
                .await
                .unwrap();
            assert_eq!(facts_of(events).await, stage.fake.facts(&session()));
        }
    }
}

async fn facts_of(mut events: Subscription) -> Vec<Fact> {
    let mut facts = Vec::new();
    while let Some(delivery) = soon(events.next()).await {
        match delivery {
            Delivery::Environment(fact) => facts.push(fact),
            Delivery::CaughtUp(_) => {}
            other => panic!("{other:?}"),
        }
    }
    facts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_ends_with_the_reason() {
    for way in WAYS {
        let stage = Stage::new().await;
        for view in [View::Environment, View::Runtime] {
            let mut events = stage.runtime.watch(&session(), 0, view, true).await.unwrap();
            while !matches!(soon(events.next()).await.unwrap(), Delivery::CaughtUp(_)) {}
            stage.goes_back(way).await;
            let told = soon(events.next()).await;
            let Some(Delivery::CutOff(why)) = &told else {
                panic!("{way:?} {view:?}: {told:?}");
            };
            assert!(why.contains("went back"), "{why}");
            assert!(soon(events.next()).await.is_none());
            // As it was before.
            stage.fake.state().logs.insert(session(), log());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_events_that_are_still_to_come_goes_on_waiting() {
    let stage = Stage::new().await;
    let after = stage.last + 3;
    let mut events = stage
        .runtime
        .watch(&session(), after, View::Environment, true)
        .await
        .unwrap();
    assert!(matches!(soon(events.next()).await, Some(Delivery::CaughtUp(_))));
    stage.relay.cut_now();
    stage.fake.add_words(&session(), 5);
    for seq in [after + 1, after + 2] {
        let Some(Delivery::Environment(fact)) = soon(events.next()).await else {
            panic!("it ended");
        };
        assert_eq!(fact.seq, seq);
    }
}
