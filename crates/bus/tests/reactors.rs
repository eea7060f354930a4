//! Reactors in a set: registered when started, reported when they fail, restarted within bounds, stopped in
//! order and in time. Time is paused, so limits pass without waiting.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{Event, event};
use agentx_bus::{
    Bus, BusDelivery, Filter, Listener, Queue, Reactor, ReactorChange, ReactorError, ReactorFailure,
    ReactorList, ReactorReport, ReactorStatus, ReactorTask, Reactors, Restart, StopHandle,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const LIMIT: Duration = Duration::from_secs(5);
const TWICE: Restart = Restart::AtMost {
    times: 2,
    within: Duration::from_secs(60),
};

/// A bus, a set on it, and the set's reports, as text.
fn set() -> (Bus<Event>, Reactors<Bus<Event>>, UnboundedReceiver<String>) {
    let (sender, reports) = unbounded_channel();
    let bus = Bus::new();
    let reactors = Reactors::new(bus.clone(), move |report| {
        sender.send(report.to_string()).unwrap()
    });
    (bus, reactors, reports)
}

/// Sends each number that it gets into the channel; panics at 13.
fn echo(name: &'static str, heard: &UnboundedSender<(&'static str, u32)>) -> impl Reactor<Bus<Event>> {
    let heard = heard.clone();
    Listener::new(
        name,
        Filter::all(),
        Queue::wait(64),
        move |_bus: Bus<Event>, delivery| {
            let heard = heard.clone();
            async move {
                let number = delivery.into_event().unwrap().number;
                assert_ne!(number, 13, "an unlucky number");
                heard.send((name, number)).unwrap();
            }
        },
    )
}

/// A reactor made of two functions.
struct Made<S, P> {
    name: &'static str,
    start: S,
    stop: P,
}

impl<S, P> Reactor<Bus<Event>> for Made<S, P>
where
    S: FnMut(Bus<Event>) -> Result<ReactorTask, ReactorFailure> + Send + 'static,
    P: FnMut() + Send + 'static,
{
    fn name(&self) -> &str {
        self.name
    }

    async fn start(&mut self, bus: Bus<Event>) -> Result<ReactorTask, ReactorFailure> {
        (self.start)(bus)
    }

    async fn stop(&mut self) {
        (self.stop)();
    }
}

#[tokio::test(start_paused = true)]
async fn a_started_reactor_hears_the_next_publication() {
    let (bus, mut reactors, _reports) = set();
    let (sender, mut heard) = unbounded_channel();
    reactors
        .start(echo("echo", &sender), Restart::Never)
        .await
        .unwrap();
    assert_eq!(bus.try_publish(event(1)), Ok(1));
    assert_eq!(heard.recv().await, Some(("echo", 1)));
    assert_eq!(reactors.running(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_reported_and_harms_no_other() {
    let (bus, mut reactors, mut reports) = set();
    let (sender, mut heard) = unbounded_channel();
    reactors
        .start(echo("removed", &sender), Restart::Never)
        .await
        .unwrap();
    let lucky = Listener::new(
        "lucky",
        Filter::all(),
        Queue::wait(1),
        |_bus: Bus<Event>, _delivery| async {},
    );
    reactors.start(lucky, Restart::Never).await.unwrap();

    bus.publish(event(13)).await.unwrap();
    let report = reports.recv().await.unwrap();
    let expected = "reactor `removed` panicked: assertion `left != right` failed: an unlucky number";
    assert!(
        report.starts_with(expected) && report.ends_with("it is removed"),
        "{report}"
    );
    assert_eq!(bus.publish(event(1)).await, Ok(1), "the lucky one is still there");
    assert_eq!(bus.publish(event(2)).await, Ok(1), "and reads on");
    assert_eq!(reactors.running(), 1);
    assert!(heard.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn restarts_are_bounded_within_their_time() {
    let (bus, mut reactors, mut reports) = set();
    let (sender, mut heard) = unbounded_channel();
    reactors.start(echo("echo", &sender), TWICE).await.unwrap();
    for minute in 0..2 {
        for _ in 0..2 {
            bus.publish(event(13)).await.unwrap();
            assert!(reports.recv().await.unwrap().ends_with("it is started again"));
            assert_eq!(reports.recv().await.unwrap(), "reactor `echo` runs again");
            bus.publish(event(minute)).await.unwrap();
            assert_eq!(heard.recv().await, Some(("echo", minute)));
        }
        tokio::time::advance(Duration::from_secs(61 * u64::from(1 - minute))).await;
    }
    bus.publish(event(13)).await.unwrap();
    assert!(reports.recv().await.unwrap().ends_with("it is removed"));
    assert_eq!((bus.subscriptions(), reports.try_recv().ok()), (0, None));
}

#[tokio::test(start_paused = true)]
async fn the_list_has_what_works_and_what_failed_for_good() {
    let (bus, mut reactors, mut reports) = set();
    let (sender, mut heard) = unbounded_channel();
    let list = reactors.list();
    let told = |list: &ReactorList| -> Vec<(String, bool, u64, bool)> {
        let of = |status: ReactorStatus| {
            let failed = status.last_error.is_some_and(|error| error.contains("unlucky"));
            (status.name, status.works, status.restarts, failed)
        };
        list.now().into_iter().map(of).collect()
    };
    let stays = reactors.start(echo("stays", &sender), TWICE).await.unwrap();
    let goes = reactors
        .start(echo("goes", &sender), Restart::Never)
        .await
        .unwrap();
    let as_started = [
        ("stays".to_owned(), true, 0, false),
        ("goes".to_owned(), true, 0, false),
    ];
    assert_eq!(told(&list), as_started);

    bus.publish(event(13)).await.unwrap();
    let mut said = [(); 3].map(|()| String::new());
    for said in &mut said {
        *said = reports.recv().await.unwrap();
    }
    said.sort();
    assert!(
        said[0].contains("`goes`") && said[2].contains("`stays` runs again"),
        "{said:?}"
    );
    let failed = ("goes".to_owned(), false, 0, true);
    assert_eq!(told(&list), [("stays".to_owned(), true, 1, true), failed.clone()]);
    bus.publish(event(1)).await.unwrap();
    assert_eq!(heard.recv().await, Some(("stays", 1)));

    reactors.stop(stays, LIMIT).await;
    assert_eq!(told(&list), [failed]);
    assert!(!reactors.stop(goes, LIMIT).await);
    assert_eq!(told(&list), []);
    let dropped = reactors.start(echo("dropped", &sender), TWICE).await.unwrap();
    assert_eq!(list.now()[0].id, dropped);
    drop(reactors);
    assert_eq!(told(&list), []);
}

#[tokio::test(start_paused = true)]
async fn a_start_that_fails_or_panics_is_an_error_of_the_caller() {
    let (_bus, mut reactors, mut reports) = set();
    let fails = Made {
        name: "fails",
        start: |_| Err(ReactorFailure("no key".into())),
        stop: || (),
    };
    let error = reactors.start(fails, TWICE).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot start `fails`: it failed: no key");
    let panics = Made {
        name: "panics",
        start: |_| panic!("no {}", "way"),
        stop: || (),
    };
    let error = reactors.start(panics, TWICE).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot start `panics`: it panicked: no way");
    assert_eq!(reactors.running(), 0);
    assert!(reports.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_restart_that_fails_counts_and_ends_in_removal() {
    let (_bus, mut reactors, mut reports) = set();
    let mut starts = 0;
    let start = move |_| {
        starts += 1;
        if starts == 1 {
            Ok(ReactorTask::new(async { Err(ReactorFailure("lost".into())) }))
        } else {
            Err(ReactorFailure("gone".into()))
        }
    };
    reactors
        .start(
            Made {
                name: "flaky",
                start,
                stop: || (),
            },
            TWICE,
        )
        .await
        .unwrap();
    for expected in [
        "lost; it is started again",
        "gone; it is started again",
        "gone; it is removed",
    ] {
        assert_eq!(
            reports.recv().await.unwrap(),
            format!("reactor `flaky` failed: {expected}")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn work_that_ends_by_itself_is_finished() {
    let (_bus, mut reactors, mut reports) = set();
    let start = |_| Ok(ReactorTask::new(async { Ok(()) }));
    let id = reactors
        .start(
            Made {
                name: "short",
                start,
                stop: || (),
            },
            TWICE,
        )
        .await
        .unwrap();
    assert_eq!(reports.recv().await.unwrap(), "reactor `short` finished");
    tokio::task::yield_now().await;
    assert!(!reactors.stop(id, LIMIT).await, "it was gone already");
    assert!(!reactors.stop(id, LIMIT).await, "and is forgotten");
}

#[tokio::test(start_paused = true)]
async fn shutdown_drains_the_last_started_first() {
    let (bus, mut reactors, mut reports) = set();
    let (sender, mut heard) = unbounded_channel();
    for name in ["recorder", "receptor", "environment"] {
        reactors.start(echo(name, &sender), Restart::Never).await.unwrap();
    }
    bus.try_publish(event(1)).unwrap();
    bus.try_publish(event(2)).unwrap();
    reactors.shutdown(LIMIT).await;
    drop(sender);
    for name in ["environment", "receptor", "recorder"] {
        assert_eq!(reports.recv().await.unwrap(), format!("reactor `{name}` stopped"));
    }
    let mut all = Vec::new();
    while let Some(echo) = heard.recv().await {
        all.push(echo);
    }
    all.sort_unstable();
    let expected = ["environment", "receptor", "recorder"].map(|name| [(name, 1), (name, 2)]);
    assert_eq!(all, expected.concat(), "what was in the queues is handled");
    assert_eq!(bus.subscriptions(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_stop_in_time_is_dropped_and_the_next_has_its_own_time() {
    let (bus, mut reactors, mut reports) = set();
    let (sender, _heard) = unbounded_channel();
    reactors
        .start(echo("good", &sender), Restart::Never)
        .await
        .unwrap();
    let start = |bus: Bus<Event>| {
        let deaf = bus.subscribe("deaf", Filter::all().run("none"), Queue::wait(1))?;
        Ok(ReactorTask::new(async move {
            let _deaf = deaf;
            pending().await
        }))
    };
    reactors
        .start(
            Made {
                name: "deaf",
                start,
                stop: || (),
            },
            Restart::Never,
        )
        .await
        .unwrap();
    let before = tokio::time::Instant::now();
    reactors.shutdown(LIMIT).await;
    assert_eq!(before.elapsed(), LIMIT);
    assert_eq!(
        reports.recv().await.unwrap(),
        "reactor `deaf` did not stop in time and was dropped"
    );
    assert_eq!(reports.recv().await.unwrap(), "reactor `good` stopped");
    tokio::task::yield_now().await;
    assert_eq!(bus.subscriptions(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_stopping_is_reported() {
    let (_bus, mut reactors, mut reports) = set();
    let start = |_| Ok(ReactorTask::new(pending()));
    let panics = Made {
        name: "stubborn",
        start,
        stop: || panic!("never"),
    };
    let id = reactors.start(panics, TWICE).await.unwrap();
    assert!(reactors.stop(id, LIMIT).await);
    assert_eq!(
        reports.recv().await.unwrap(),
        "reactor `stubborn` panicked: never; it is removed"
    );
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_is_cut_off_subscribes_anew() {
    let (bus, mut reactors, mut reports) = set();
    let slow = Listener::new(
        "slow",
        Filter::all(),
        Queue::cut_off(1),
        |_bus: Bus<Event>, _delivery| async {},
    );
    reactors.start(slow, TWICE).await.unwrap();
    assert_eq!(
        (bus.try_publish(event(1)), bus.try_publish(event(2))),
        (Ok(1), Ok(0))
    );
    let report = reports.recv().await.unwrap();
    assert_eq!(
        report,
        "reactor `slow` failed: cut off: 1 events were waiting and one more came; it is started again"
    );
    assert_eq!(reports.recv().await.unwrap(), "reactor `slow` runs again");
    assert_eq!(bus.try_publish(event(3)), Ok(1));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_set_drops_the_work() {
    let (bus, mut reactors, _reports) = set();
    let (sender, mut heard) = unbounded_channel();
    reactors.start(echo("echo", &sender), TWICE).await.unwrap();
    drop((reactors, sender));
    assert_eq!(heard.recv().await, None, "the work and all that it held is gone");
    assert_eq!(bus.subscriptions(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_reporter_that_panics_harms_nobody() {
    let bus = Bus::new();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&reports);
    let mut reactors = Reactors::new(bus.clone(), move |report: ReactorReport| {
        sink.lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push(report.what);
        panic!("no paper");
    });
    let (sender, mut heard) = unbounded_channel();
    reactors.start(echo("echo", &sender), TWICE).await.unwrap();
    bus.publish(event(13)).await.unwrap();
    while bus.publish(event(1)).await.unwrap() == 0 || heard.try_recv().is_err() {
        tokio::task::yield_now().await;
    }
    let reports = reports.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    assert!(matches!(
        &reports[0],
        ReactorChange::Failed {
            cause: ReactorError::Panic(_),
            restarting: true
        }
    ));
    assert_eq!(reports[1], ReactorChange::Restarted);
}

#[tokio::test(start_paused = true)]
async fn a_reactor_stops_its_own_subscription() {
    /// Counts until it is stopped, then publishes the count: it may still publish while it drains.
    struct Counter(Option<StopHandle<Event>>);

    impl Reactor<Bus<Event>> for Counter {
        fn name(&self) -> &str {
            "counter"
        }

        async fn start(&mut self, bus: Bus<Event>) -> Result<ReactorTask, ReactorFailure> {
            let mut events = bus.subscribe("counter", Filter::all().event_type("note"), Queue::wait(8))?;
            self.0 = Some(events.stop_handle());
            Ok(ReactorTask::new(async move {
                let mut count = 0;
                while let Ok(BusDelivery::Event(_)) = events.recv().await {
                    count += 1;
                }
                bus.publish(event(count))
                    .await
                    .map_err(|error| ReactorFailure(error.to_string()))?;
                Ok(())
            }))
        }

        async fn stop(&mut self) {
            self.0.take().inspect(StopHandle::stop);
        }
    }

    let (bus, mut reactors, _reports) = set();
    reactors.start(Counter(None), Restart::Never).await.unwrap();
    for number in 100..105 {
        bus.publish(event(number)).await.unwrap();
    }
    let mut totals = bus.subscribe("totals", Filter::all(), Queue::lag(8)).unwrap();
    reactors.shutdown(LIMIT).await;
    assert_eq!(crate::support::read_all(&mut totals), "5");
}
