//! Requests and responders: each request is settled once, a responder never has more than its capacity, and
//! nobody waits while a place is free, in whatever order responders come, go, settle and drop.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agentx_bus::{
    Addressed, Claim, Dispatcher, Grace, KeyPattern, RequestEnd, RequestError, Requests, ResponderId, Serve,
    Ticket,
};
use proptest::prelude::*;

#[derive(Debug)]
struct Call {
    key: String,
    session: String,
}

impl Addressed for Call {
    fn topic(&self) -> &str {
        "tools.requests"
    }

    fn key(&self) -> &str {
        &self.key
    }

    fn session(&self) -> &str {
        &self.session
    }
}

fn call(key: &str, session: &str) -> Call {
    Call {
        key: key.to_owned(),
        session: session.to_owned(),
    }
}

fn serve(name: &str, keys: &str) -> Serve {
    Serve::new(name).on("tools.requests", KeyPattern::new(keys))
}

/// Returns the requests that are ready for a responder, without waiting.
async fn now(requests: &mut Requests<Call>) -> Option<Claim<Call>> {
    tokio::time::timeout(Duration::ZERO, requests.next())
        .await
        .ok()
        .flatten()
}

#[tokio::test]
async fn the_most_specific_responder_gets_it_then_the_latest() {
    let dispatcher = Dispatcher::new();
    let mut any = dispatcher.serve(serve("any", "*"));
    let mut github = dispatcher.serve(serve("github", "github/*"));
    let mut later = dispatcher.serve(serve("later", "github/*"));
    let (_one, _two) = (
        dispatcher.request(call("github/search", "ses_1")).unwrap(),
        dispatcher.request(call("bash", "ses_1")).unwrap(),
    );
    assert_eq!(now(&mut later).await.unwrap().key(), "github/search");
    assert_eq!(now(&mut any).await.unwrap().key(), "bash");
    assert!(now(&mut github).await.is_none());
    drop(later);
    let _three = dispatcher.request(call("github/search", "ses_1")).unwrap();
    assert!(now(&mut github).await.is_some());
}

#[tokio::test]
async fn nobody_serves_it_and_too_many_wait_are_errors_with_names() {
    let dispatcher = Dispatcher::new();
    let error = dispatcher.request(call("bash", "ses_1")).unwrap_err();
    assert_eq!(error.to_string(), "nobody serves tools.requests `bash`");
    let requests = dispatcher.serve(serve("shell", "bash").capacity(1).waiting(1));
    let held: Vec<_> = (0..2)
        .map(|_| dispatcher.request(call("bash", "ses_1")).unwrap())
        .collect();
    let error = dispatcher.request(call("bash", "ses_1")).unwrap_err();
    assert_eq!(
        error,
        RequestError::Busy {
            responder: "shell".into(),
            waiting: 1
        }
    );
    drop((held, requests));
}

#[tokio::test]
async fn a_dropped_claim_is_lost_and_a_settled_one_is_not() {
    let dispatcher = Dispatcher::new();
    let mut requests = dispatcher.serve(serve("shell", "*"));
    let ticket = dispatcher.request(call("bash", "ses_1")).unwrap();
    drop(now(&mut requests).await.unwrap());
    assert_eq!(ticket.ended().await, RequestEnd::Lost);
    let ticket = dispatcher.request(call("bash", "ses_1")).unwrap();
    now(&mut requests).await.unwrap().settle();
    assert_eq!(ticket.ended().await, RequestEnd::Settled);
}

#[tokio::test]
async fn a_responder_counts_what_it_settles_and_what_it_drops() {
    let dispatcher: Dispatcher<Call> = Dispatcher::new();
    let mut calls = dispatcher.serve(serve("weather", "weather"));
    for settles in [true, false, true] {
        let ticket = dispatcher.request(call("weather", "ses_1")).unwrap();
        let claim = calls.next().await.unwrap();
        assert_eq!(dispatcher.responders()[0].claimed, 1);
        if settles {
            claim.settle();
        } else {
            drop(claim);
        }
        ticket.ended().await;
    }
    let info = &dispatcher.responders()[0];
    assert_eq!((info.claimed, info.settled, info.lost), (0, 2, 1));
}

#[tokio::test]
async fn sessions_that_wait_take_turns() {
    let dispatcher = Dispatcher::new();
    let mut requests = dispatcher.serve(serve("shell", "*").capacity(1));
    let sessions = ["ses_1", "ses_1", "ses_1", "ses_1", "ses_2", "ses_3"];
    let tickets: Vec<_> = sessions
        .iter()
        .map(|session| dispatcher.request(call("bash", session)).unwrap())
        .collect();
    let mut order = Vec::new();
    while let Some(claim) = now(&mut requests).await {
        order.push(claim.session().to_owned());
        claim.settle();
    }
    assert_eq!(order, ["ses_1", "ses_1", "ses_2", "ses_3", "ses_1", "ses_1"]);
    for ticket in tickets {
        assert_eq!(ticket.ended().await, RequestEnd::Settled);
    }
}

#[tokio::test]
async fn cancelling_reaches_the_responder_or_takes_the_request_out() {
    let dispatcher = Dispatcher::new();
    let mut requests = dispatcher.serve(serve("shell", "*").capacity(1));
    let has = dispatcher.request(call("bash", "ses_1")).unwrap();
    let waits = dispatcher.request(call("bash", "ses_1")).unwrap();
    waits.cancel();
    assert_eq!(waits.ended().await, RequestEnd::Cancelled);
    let claim = now(&mut requests).await.unwrap();
    has.cancel();
    claim.cancelled().await;
    claim.settle();
    assert_eq!(has.ended().await, RequestEnd::Settled);
    assert!(now(&mut requests).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn what_waited_goes_to_the_next_responder_or_ends_unserved_in_time() {
    let dispatcher = Dispatcher::new();
    let mut first = dispatcher.serve(serve("first", "*").capacity(1));
    let has = dispatcher.request(call("bash", "ses_1")).unwrap();
    let waits = dispatcher.request(call("bash", "ses_1")).unwrap();
    let claim = now(&mut first).await.unwrap();
    dispatcher.detach(first.responder(), Grace::Now);
    assert_eq!(has.ended().await, RequestEnd::Lost);
    claim.settle();
    assert!(first.next().await.is_none());
    let mut second = dispatcher.serve(serve("second", "*").capacity(1));
    now(&mut second).await.unwrap().settle();
    assert_eq!(waits.ended().await, RequestEnd::Settled);

    let has = dispatcher.request(call("bash", "ses_1")).unwrap();
    let waits = dispatcher.request(call("bash", "ses_1")).unwrap();
    let claim = now(&mut second).await.unwrap();
    dispatcher.detach(second.responder(), Grace::Finish);
    // The clock stops until all tasks wait, and then advances to the limit.
    assert_eq!(waits.ended().await, RequestEnd::Unserved);
    claim.settle();
    assert_eq!(has.ended().await, RequestEnd::Settled);
}

#[derive(Clone, Debug)]
enum Op {
    Attach { keys: u8, capacity: usize },
    Detach { which: usize, now: bool },
    Drop { which: usize },
    Request { key: u8, session: u8 },
    Cancel { which: usize },
    Take { which: usize },
    Settle { which: usize, well: bool },
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        2 => (0..3_u8, 1..4_usize).prop_map(|(keys, capacity)| Op::Attach { keys, capacity }),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(which, now)| Op::Detach { which, now }),
        1 => any::<usize>().prop_map(|which| Op::Drop { which }),
        8 => (0..2_u8, 0..3_u8).prop_map(|(key, session)| Op::Request { key, session }),
        2 => any::<usize>().prop_map(|which| Op::Cancel { which }),
        6 => any::<usize>().prop_map(|which| Op::Take { which }),
        5 => (any::<usize>(), any::<bool>()).prop_map(|(which, well)| Op::Settle { which, well }),
    ]
}

/// A dispatcher under random use, and its invariants.
struct World {
    dispatcher: Dispatcher<Call>,
    requests: Vec<Requests<Call>>,
    claims: Vec<Claim<Call>>,
    tickets: BTreeMap<String, Ticket<Call>>,
    /// The number of times that each request was taken.
    taken: BTreeMap<String, usize>,
    made: usize,
}

impl World {
    fn new() -> Self {
        Self {
            dispatcher: Dispatcher::new(),
            requests: Vec::new(),
            claims: Vec::new(),
            tickets: BTreeMap::new(),
            taken: BTreeMap::new(),
            made: 0,
        }
    }

    fn responder(&self, which: usize) -> Option<ResponderId> {
        let one = self.requests.get(which % self.requests.len().max(1))?;
        Some(one.responder())
    }

    async fn apply(&mut self, op: Op) {
        match op {
            Op::Attach { keys, capacity } => {
                let keys = ["*", "a-*", "b-*"][usize::from(keys)];
                let serve = serve("some", keys).capacity(capacity);
                self.requests.push(self.dispatcher.serve(serve));
            }
            Op::Detach { which, now } => {
                let grace = if now { Grace::Now } else { Grace::Finish };
                if let Some(id) = self.responder(which) {
                    self.dispatcher.detach(id, grace);
                }
            }
            Op::Drop { which } if !self.requests.is_empty() => {
                self.requests.swap_remove(which % self.requests.len());
            }
            Op::Request { key, session } => {
                self.made += 1;
                let key = format!("{}-{}", ["a", "b"][usize::from(key)], self.made);
                let asked = self.dispatcher.request(call(&key, &format!("ses_{session}")));
                self.tickets.extend(asked.ok().map(|ticket| (key, ticket)));
            }
            Op::Cancel { which } if !self.tickets.is_empty() => {
                let ticket = self.tickets.values().nth(which % self.tickets.len()).unwrap();
                ticket.cancel();
            }
            Op::Take { which } if !self.requests.is_empty() => {
                let place = which % self.requests.len();
                if let Some(claim) = now(&mut self.requests[place]).await {
                    *self.taken.entry(claim.key().to_owned()).or_default() += 1;
                    self.claims.push(claim);
                }
            }
            Op::Settle { which, well } if !self.claims.is_empty() => {
                let claim = self.claims.swap_remove(which % self.claims.len());
                if well {
                    claim.settle();
                }
            }
            _ => {}
        }
    }

    fn check(&self) {
        for info in self.dispatcher.responders() {
            assert!(info.claimed <= info.capacity, "{info:?}");
            assert!(info.waiting == 0 || info.claimed == info.capacity, "{info:?}");
        }
        assert!(self.taken.values().all(|times| *times == 1), "{:?}", self.taken);
    }
}

proptest! {
    #[test]
    fn each_request_is_given_once_and_ends_once(ops in prop::collection::vec(op(), 1..120)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async move {
            let mut world = World::new();
            for op in ops {
                world.apply(op).await;
                world.check();
            }
            let World { dispatcher, requests, claims, tickets, taken, .. } = world;
            drop((claims, requests));
            // No responder is left: every waiting request ends in time, and every end is known.
            for (key, ticket) in tickets {
                let end = ticket.ended().await;
                if matches!(end, RequestEnd::Cancelled | RequestEnd::Unserved) {
                    assert!(!taken.contains_key(&key), "{key} was taken and ended as {end:?}");
                }
            }
            assert!(dispatcher.responders().is_empty());
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_threads_ask_and_answer_while_responders_come_and_go() {
    let dispatcher: Dispatcher<Call> = Dispatcher::new();
    // This responder always stays, so every request is served.
    let mut stays = dispatcher.serve(serve("stays", "*").capacity(4).waiting(100_000));
    let staying = tokio::spawn(async move {
        while let Some(claim) = stays.next().await {
            claim.settle();
        }
    });
    let coming = tokio::spawn({
        let dispatcher = dispatcher.clone();
        async move {
            for _ in 0..200 {
                let mut comes = dispatcher.serve(serve("comes", "tool-*").capacity(2));
                if let Ok(Some(claim)) = tokio::time::timeout(Duration::from_millis(1), comes.next()).await {
                    claim.settle();
                }
            }
        }
    });
    let asking = (0..20).map(|session| {
        let dispatcher = dispatcher.clone();
        tokio::spawn(async move {
            let mut ends = BTreeMap::<&str, usize>::new();
            for number in 0..100 {
                let request = Arc::new(call(&format!("tool-{number}"), &format!("ses_{session}")));
                let end = match dispatcher.request(request).unwrap().ended().await {
                    RequestEnd::Settled => "settled",
                    RequestEnd::Lost => "lost",
                    RequestEnd::Cancelled => "cancelled",
                    RequestEnd::Unserved => "unserved",
                };
                *ends.entry(end).or_default() += 1;
            }
            ends
        })
    });
    let mut ends = BTreeMap::<&str, usize>::new();
    for asked in asking.collect::<Vec<_>>() {
        for (end, count) in asked.await.unwrap() {
            *ends.entry(end).or_default() += count;
        }
    }
    coming.await.unwrap();
    // Requests on their way to a responder that left are lost; all others are settled.
    assert_eq!(ends.values().sum::<usize>(), 2_000, "{ends:?}");
    assert!(
        !ends.contains_key("cancelled") && !ends.contains_key("unserved"),
        "{ends:?}"
    );
    for info in dispatcher.responders() {
        dispatcher.detach(info.id, Grace::Finish);
    }
    staying.await.unwrap();
}
