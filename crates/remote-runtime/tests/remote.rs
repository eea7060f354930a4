//! A remote runtime against a server that misbehaves: a reader gets exactly the log, each input arrives once,
//! and a failure is reported plainly.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use agentx_bus::{Bus, BusDelivery, BusSubscription, Filter, Queue, Reactors, Restart, TopicPattern};
use agentx_remote_runtime::{
    ConnectOptions, ConnectionState, Credentials, RemoteRuntime, WebSocketEnvironment,
};
use agentx_runtime::{
    Delivery, Fact, LogError, OpenRequest, RestoreRequest, Runtime as _, RuntimeError, Session, SessionFold,
    Subscription, SystemEvent, TransportChange, TransportEvent, UserInput, View,
};
use agentx_testing::{LogBuilder, fixture, refusing_address};
use agentx_types::{Envelope, RuntimeEvent, SessionId, TextChunk};
use tokio::time::timeout;

use crate::fake::{Fake, Faults, Relay, options, session};

/// Nothing here takes longer.
const BOUND: Duration = Duration::from_secs(60);

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(BOUND, what).await.unwrap()
}

fn log(runs: usize) -> Vec<Fact> {
    let log = LogBuilder::opened(fixture::config());
    let run = |log: LogBuilder, number: usize| {
        log.user(&format!("question {number}"))
            .answer("an answer of some words")
    };
    (0..runs).fold(log, run).build()
}

fn meaning(facts: &[Fact]) -> Vec<Envelope<RuntimeEvent>> {
    let mut fold = SessionFold::new(session());
    facts.iter().flat_map(|fact| fold.apply(fact).events).collect()
}

/// Reads up to and including the fact at `seq`, and all other events that existed when it began.
async fn facts_until(events: &mut Subscription, seq: u64) -> Vec<Fact> {
    let mut facts: Vec<Fact> = Vec::new();
    while facts.last().is_none_or(|fact| fact.seq < seq) {
        match soon(events.next()).await.unwrap() {
            Delivery::Environment(fact) => facts.push(fact),
            Delivery::CaughtUp(_) => {}
            other => panic!("{other:?}"),
        }
    }
    facts
}

async fn meaning_until(events: &mut Subscription, count: usize) -> Vec<Envelope<RuntimeEvent>> {
    let mut all = Vec::new();
    while all.len() < count {
        match soon(events.next()).await.unwrap() {
            Delivery::Runtime(event) => all.push(Envelope::clone(&event)),
            Delivery::CaughtUp(_) => {}
            other => panic!("{other:?}"),
        }
    }
    all
}

/// All of a subscription that ends.
async fn all(mut events: Subscription) -> Vec<Delivery> {
    let mut all = Vec::new();
    while let Some(delivery) = soon(events.next()).await {
        all.push(delivery);
    }
    all
}

async fn opened(runtime: &RemoteRuntime) -> Arc<dyn Session> {
    soon(runtime.open(OpenRequest::Resume(session(), vec![])))
        .await
        .unwrap()
}

fn input(text: &str) -> UserInput {
    UserInput::text(text)
}

#[tokio::test]
async fn both_views_are_what_they_are_at_home() {
    let fake = Fake::start().await;
    let facts = log(20);
    fake.append(&facts);
    let runtime = fake.connect().await;
    let last = facts.len() as u64;
    for after in [0, 1, 17, last - 1, last, last + 5] {
        let events = runtime
            .watch(&session(), after, View::Environment, false)
            .await
            .unwrap();
        let got = all(events).await;
        let (end, got) = got.split_last().unwrap();
        assert!(
            matches!(end, Delivery::CaughtUp(head) if *head == last),
            "{end:?}"
        );
        let seqs = got.iter().map(|delivery| match delivery {
            Delivery::Environment(fact) => fact.clone(),
            other => panic!("{other:?}"),
        });
        assert!(
            seqs.eq(facts.iter().skip(usize::try_from(after).unwrap()).cloned()),
            "after {after}"
        );

        let events = runtime
            .watch(&session(), after, View::Runtime, false)
            .await
            .unwrap();
        let got = all(events).await;
        let meant = meaning(&facts).into_iter().filter(|event| event.seq > after);
        let got = got.iter().filter_map(|delivery| match delivery {
            Delivery::Runtime(event) => Some(Envelope::clone(event)),
            _ => None,
        });
        assert!(got.eq(meant), "after {after}");
    }
}

#[tokio::test]
async fn an_environment_publishes_the_facts_of_a_server_on_the_bus_of_a_program() {
    let fake = Fake::start().await;
    let facts = log(3);
    fake.append(&facts);
    let bus = Bus::<SystemEvent>::new();
    let mut heard = bus.subscribe("monitor", Filter::all(), Queue::lag(1024)).unwrap();
    let (environment, connection) = WebSocketEnvironment::new(fake.options()).unwrap();
    let mut reactors = Reactors::new(bus, |_report| {});
    reactors.start(environment, Restart::Never).await.unwrap();
    let published = soon(connection.publish(&session(), 2)).await.unwrap();
    let added = fake.add(&session(), TextChunk { text: "more".into() });
    let mut seqs = Vec::new();
    while seqs.last() != Some(&added) {
        match soon(heard.recv()).await {
            Ok(BusDelivery::Event(event)) => match &*event {
                SystemEvent::Environment(fact) => seqs.push(fact.seq),
                SystemEvent::Transport(_) => {}
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seqs, (3..=added).collect::<Vec<_>>());
    drop(published);
    let none = SessionId::new("ses_none");
    assert!(soon(connection.publish(&none, 0)).await.is_err());
    reactors.shutdown(BOUND).await;
}

/// Returns the next report about the connection, without signs of life, which come at any time.
async fn report(heard: &mut BusSubscription<SystemEvent>) -> TransportEvent {
    loop {
        match soon(heard.recv()).await {
            Ok(BusDelivery::Event(event)) => match &*event {
                SystemEvent::Transport(event) if event.change == TransportChange::Heartbeat => {}
                SystemEvent::Transport(event) => return TransportEvent::clone(event),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn an_environment_reports_its_connection_on_the_bus_of_a_program() {
    let fake = Fake::start().await;
    let relay = Relay::to(&fake.address()).await;
    fake.state().faults.origin = Some(format!("http://{}", relay.address()));
    fake.append(&log(1));
    let bus = Bus::<SystemEvent>::new();
    let transport = Filter::all().topic(TopicPattern::exact("transport"));
    let mut heard = bus.subscribe("monitor", transport, Queue::lag(1024)).unwrap();
    let (environment, connection) = WebSocketEnvironment::new(options(&relay.address())).unwrap();
    let mut reactors = Reactors::new(bus, |_report| {});
    reactors.start(environment, Restart::Never).await.unwrap();
    let _published = soon(connection.publish(&session(), 0)).await.unwrap();
    let established = report(&mut heard).await;
    assert_eq!(
        established,
        TransportEvent {
            endpoint: format!("http://{}", relay.address()),
            change: TransportChange::Established
        }
    );
    relay.cut_now();
    let lost = report(&mut heard).await;
    assert!(
        matches!(&lost.change, TransportChange::Lost { reason: Some(why) } if !why.is_empty()),
        "{lost:?}"
    );
    let again = report(&mut heard).await;
    assert!(
        matches!(again.change, TransportChange::Reconnecting { .. }),
        "{again:?}"
    );
    assert_eq!(report(&mut heard).await.change, TransportChange::Established);
    reactors.shutdown(BOUND).await;
    let reason = Some("the connection was closed here".to_owned());
    assert_eq!(report(&mut heard).await.change, TransportChange::Lost { reason });
}

#[tokio::test]
async fn what_is_added_comes_and_a_later_reader_needs_nothing_again() {
    let fake = Fake::start().await;
    fake.append(&log(2));
    let runtime = fake.connect().await;
    let session = opened(&runtime).await;
    let mut first = session.subscribe(0, View::Runtime).await.unwrap();
    meaning_until(&mut first, meaning(&log(2)).len()).await;
    fake.append(&log(3)[log(2).len()..]);
    let more = meaning(&log(3)).split_off(meaning(&log(2)).len());
    assert_eq!(meaning_until(&mut first, more.len()).await, more);
    let before = fake.state().subscriptions;
    for _ in 0..5 {
        let mut later = session
            .subscribe(log(2).len() as u64, View::Runtime)
            .await
            .unwrap();
        assert_eq!(meaning_until(&mut later, more.len()).await, more);
    }
    assert_eq!(fake.state().subscriptions, before);
    session.close().await;
    assert!(soon(first.next()).await.is_none());
    assert!(matches!(
        session.send(input("late")).await,
        Err(RuntimeError::Gone { .. })
    ));
}

#[tokio::test]
async fn a_restore_whose_answer_was_lost_is_asked_again_with_its_key() {
    let fake = Fake::start().await;
    let relay = Relay::to(&fake.address()).await;
    fake.append(&log(2));
    let runtime = Arc::new(soon(fake.connect_by(&relay)).await.unwrap());
    let wish = RestoreRequest {
        to_seq: 3,
        files: Vec::new(),
    };
    let mut changes = fake.shared.changes.subscribe();
    let asked = tokio::spawn({
        let runtime = runtime.clone();
        async move { runtime.restore(&session(), None, wish).await }
    });
    while fake.state().restores.is_empty() {
        soon(changes.changed()).await.unwrap();
    }
    relay.cut_now();
    let report = soon(asked).await.unwrap().unwrap();
    assert_eq!((report.seq, report.restored.len()), (Some(9), 1));
    let keys = fake.state().restores.clone();
    assert!(
        keys.len() == 2 && keys[0] == keys[1] && !keys[0].is_empty(),
        "{keys:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cuts_doubles_holes_and_garbage_change_nothing() {
    let fake = Fake::start().await;
    let relay = Relay::to(&fake.address()).await;
    fake.append(&log(3));
    let runtime = Arc::new(soon(fake.connect_by(&relay)).await.unwrap());
    let origin = fake.state().faults.origin.clone();
    fake.faults(Faults {
        origin,
        doubles: Some(7),
        holes: Some(31),
        garbage: Some(97),
        ..Faults::default()
    });
    let opening = opened(&runtime).await;
    let mut facts = opening.subscribe(0, View::Environment).await.unwrap();
    let mut meant = opening.subscribe(0, View::Runtime).await.unwrap();
    relay.cut_within(6_000);
    let whole = log(1_000);
    let writer = tokio::spawn({
        let (fake, rest) = (fake.clone(), whole[log(3).len()..].to_vec());
        async move {
            for piece in rest.chunks(11) {
                fake.append(piece);
                tokio::task::yield_now().await;
            }
        }
    });
    let expected = meaning(&whole);
    let reader = tokio::spawn(async move { meaning_until(&mut meant, expected.len()).await == expected });
    let got = facts_until(&mut facts, whole.len() as u64).await;
    assert!(got == whole, "the log came otherwise");
    assert!(soon(reader).await.unwrap());
    soon(writer).await.unwrap();
    assert!(relay.cuts() > 50, "only {} cuts", relay.cuts());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_through_cuts_is_said_once() {
    const SENDERS: usize = 8;
    const MESSAGES: usize = 25;
    let fake = Fake::start().await;
    let relay = Relay::to(&fake.address()).await;
    fake.append(&log(1));
    let runtime = soon(fake.connect_by(&relay)).await.unwrap();
    let session = opened(&runtime).await;
    // Enough for the longest event twice: the last one that came always comes again.
    relay.cut_within(6_000);
    let mut events = soon(session.subscribe(0, View::Environment)).await.unwrap();
    let senders = (0..SENDERS).map(|_| {
        let session = session.clone();
        tokio::spawn(async move {
            let mut seqs = Vec::new();
            for _ in 0..MESSAGES {
                // After three failed connections, the input is reported as lost; the person sends it again.
                let key = format!("{:?}_{}", tokio::task::id(), seqs.len());
                let input = input("hello").key(Some(key));
                seqs.push(loop {
                    match session.send(input.clone()).await {
                        Ok(seq) => break seq,
                        Err(RuntimeError::Unreachable { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                });
            }
            seqs
        })
    });
    let mut seqs = Vec::new();
    for sender in senders.collect::<Vec<_>>() {
        seqs.extend(soon(sender).await.unwrap());
    }
    relay.cut_within(0);
    let last = fake.facts(&self::session()).len() as u64;
    let got = facts_until(&mut events, last).await;
    assert_eq!(got, fake.facts(&self::session()));
    seqs.sort_unstable();
    seqs.dedup();
    assert_eq!(seqs.len(), SENDERS * MESSAGES, "each has its own place");
    assert_eq!(
        fake.state().messages,
        (SENDERS * MESSAGES) as u64,
        "each was taken in once"
    );
    assert!(relay.cuts() > 5, "only {} cuts", relay.cuts());
}

#[tokio::test]
async fn the_state_of_the_connection_is_seen_and_shows_no_secret() {
    let fake = Fake::start().await;
    let relay = Relay::to(&fake.address()).await;
    fake.append(&log(1));
    let runtime = soon(fake.connect_by(&relay)).await.unwrap();
    let mut state = runtime.connection();
    assert_eq!(*state.borrow(), ConnectionState::Idle);
    relay.cut_within(1);
    let mut events = runtime.watch(&session(), 0, View::Environment, true);
    tokio::select! {
        _ = &mut events => panic!("nothing can come"),
        waiting = state.wait_for(|state| matches!(state, ConnectionState::Waiting { .. })) => { waiting.unwrap(); }
    }
    relay.cut_within(0);
    soon(events).await.unwrap();
    soon(state.wait_for(|state| *state == ConnectionState::Connected))
        .await
        .unwrap();
    assert_eq!(
        runtime.endpoint().to_string(),
        format!("http://{}", relay.address())
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_is_said_to_be_unreachable() {
    let address = refusing_address().await.to_string();
    let error = soon(RemoteRuntime::connect(options(&address)))
        .await
        .err()
        .unwrap();
    assert!(
        matches!(&error, RuntimeError::Unreachable { endpoint, .. } if endpoint.ends_with(&address)),
        "{error}"
    );
}

#[tokio::test]
async fn nothing_is_signed_for_another_server() {
    let fake = Fake::start().await;
    fake.append(&log(1));
    let runtime = fake.connect().await;
    fake.faults(Faults {
        origin: Some("http://elsewhere.example:5200".into()),
        ..Faults::default()
    });
    let denied = soon(RemoteRuntime::connect(fake.options())).await.err().unwrap();
    assert!(
        matches!(&denied, RuntimeError::Denied(why) if why.contains("elsewhere")),
        "{denied}"
    );
    let refused = soon(runtime.watch(&session(), 0, View::Runtime, true))
        .await
        .err()
        .unwrap();
    assert!(refused.to_string().contains("elsewhere"), "{refused}");
    assert!(matches!(
        &*runtime.connection().borrow(),
        ConnectionState::GaveUp { .. }
    ));
}

#[tokio::test]
async fn another_version_is_named_and_not_tried_again() {
    let fake = Fake::start().await;
    fake.append(&log(1));
    fake.faults(Faults {
        protocol: Some(9),
        ..Faults::default()
    });
    let runtime = fake.connect().await;
    let error = soon(runtime.watch(&session(), 0, View::Runtime, true))
        .await
        .err()
        .unwrap();
    assert!(error.to_string().contains("version 9"), "{error}");
    fake.faults(Faults::default());
    runtime.dial_now().await;
    soon(runtime.watch(&session(), 0, View::Runtime, true))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_token_that_the_server_forgot_is_made_anew_once() {
    let fake = Fake::start().await;
    fake.append(&log(1));
    let runtime = fake.connect().await;
    fake.state().tokens.clear();
    let before = fake.state().challenges;
    runtime.info(&session()).await.unwrap();
    assert_eq!(fake.state().challenges, before + 1);
    let error = runtime.info(&SessionId::new("ses_none")).await.unwrap_err();
    assert!(
        matches!(error, RuntimeError::Log(LogError::NotFound(_))),
        "{error}"
    );
}

/// A door to a server that is shut to the first connections, as while the server starts again.
async fn shut_for_a_while(to: String, mut shut: u32) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            if shut > 0 {
                shut -= 1;
                continue;
            }
            let mut far = tokio::net::TcpStream::connect(&to).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut near, &mut far).await });
        }
    });
    address
}

#[tokio::test]
async fn a_server_that_breaks_off_at_first_is_reached_by_who_waits_for_it() {
    let fake = Fake::start().await;
    for (patience, is_reached) in [(0, false), (30, true)] {
        let door = shut_for_a_while(fake.address(), 12).await;
        fake.state().faults.origin = Some(format!("http://{door}"));
        let options = ConnectOptions {
            reach_within: Duration::from_secs(patience),
            ..options(&door)
        };
        let reached = soon(RemoteRuntime::connect(options)).await;
        match &reached {
            Err(RuntimeError::Unreachable { what, .. }) => assert!(!what.contains("://"), "{what}"),
            Err(error) => panic!("{error}"),
            Ok(_) => {}
        }
        assert_eq!(reached.is_ok(), is_reached, "{patience} s");
    }
}

#[tokio::test]
async fn a_visitor_who_is_not_let_in_is_told_what_the_library_takes() {
    let fake = Fake::start().await;
    let options = ConnectOptions {
        who: Credentials::Visitor,
        ..fake.options()
    };
    let error = soon(RemoteRuntime::connect(options)).await.err().unwrap();
    let said = error.to_string();
    assert!(
        said.contains("does not allow visitors")
            && said.contains("Credentials::Key")
            && !said.contains("no such token"),
        "{said}"
    );
}

#[tokio::test]
async fn a_session_that_is_not_there_is_told_apart_from_one_that_cannot_be_read() {
    let fake = Fake::start().await;
    fake.append(&log(1));
    let runtime = fake.connect().await;
    let nobody = SessionId::new("ses_none");
    let error = soon(runtime.watch(&nobody, 0, View::Runtime, true))
        .await
        .err()
        .unwrap();
    assert!(
        matches!(error, RuntimeError::Log(LogError::NotFound(_))),
        "{error}"
    );
    fake.faults(Faults {
        strange: true,
        ..Faults::default()
    });
    let mut events = soon(runtime.watch(&session(), 0, View::Environment, true))
        .await
        .unwrap();
    let Some(Delivery::CutOff(why)) = soon(events.next()).await else {
        panic!("it was read")
    };
    assert!(why.contains("event 1"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_reads_nothing_stops_nobody() {
    const WORDS: usize = 30_000;
    let fake = Fake::start().await;
    let other = SessionId::new("ses_other");
    fake.add_words(&session(), WORDS);
    fake.add_words(&other, WORDS);
    let runtime = fake.connect().await;
    let mut stopped = soon(runtime.watch(&session(), 0, View::Environment, true))
        .await
        .unwrap();
    let mut reading = soon(runtime.watch(&other, 0, View::Environment, true))
        .await
        .unwrap();
    assert_eq!(facts_until(&mut reading, WORDS as u64).await.len(), WORDS);
    fake.add_words(&other, 1);
    assert_eq!(facts_until(&mut reading, WORDS as u64 + 1).await.len(), 1);
    assert_eq!(
        facts_until(&mut stopped, WORDS as u64).await.len(),
        WORDS,
        "it comes back where it stopped"
    );
}

#[tokio::test]
async fn who_is_there_and_who_drives_is_known() {
    let fake = Fake::start().await;
    fake.append(&log(1));
    let runtime = fake.connect().await;
    let mut presence = soon(runtime.presence(&session())).await.unwrap();
    while presence.now().wheel.is_none() {
        assert!(soon(presence.changed()).await);
    }
    let people = presence.now();
    assert_eq!(people.present, fake.presence(&session()).people);
    assert_eq!(people.wheel, Some(fake.wheel(&session())));
}

#[tokio::test]
async fn what_is_too_large_for_a_frame_goes_by_http() {
    let fake = Fake::start().await;
    fake.append(&log(1));
    let runtime = fake.connect().await;
    let session = opened(&runtime).await;
    let long = "word ".repeat(300_000);
    let seq = soon(session.send(input(&long))).await.unwrap();
    assert_eq!(seq, log(1).len() as u64 + 1);
    assert_eq!(
        *runtime.connection().borrow(),
        ConnectionState::Idle,
        "no socket was needed"
    );
}

#[tokio::test]
async fn after_good_bye_nothing_is_said() {
    let fake = Fake::start().await;
    fake.append(&log(1));
    let runtime = fake.connect().await;
    let session = opened(&runtime).await;
    let mut events = session.subscribe(0, View::Environment).await.unwrap();
    facts_until(&mut events, log(1).len() as u64).await;
    soon(runtime.close()).await;
    assert!(matches!(
        soon(session.send(input("late"))).await,
        Err(RuntimeError::Unreachable { .. })
    ));
    assert!(matches!(
        soon(session.subscribe(0, View::Environment)).await,
        Err(RuntimeError::Unreachable { .. })
    ));
    all(events).await;
}
