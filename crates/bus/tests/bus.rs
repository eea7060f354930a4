//! The promises of the bus to its users, one by one.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use crate::support::{Event, event, on_topic, poll, read_all};
use agentx_bus::{
    Bus, BusDelivery, Closed, Filter, PublishError, Queue, Routed, SubscriptionEnd, TopicPattern,
};

fn publish(bus: &Bus<Event>, numbers: impl IntoIterator<Item = u32>) {
    for number in numbers {
        bus.try_publish(event(number)).unwrap();
    }
}

#[test]
fn a_subscriber_sees_what_comes_after_it_subscribed_and_nothing_before() {
    let bus = Bus::new();
    publish(&bus, [1]);
    let mut early = bus.subscribe("early", Filter::all(), Queue::lag(8)).unwrap();
    publish(&bus, [2]);
    let mut late = bus.subscribe("late", Filter::all(), Queue::lag(8)).unwrap();
    publish(&bus, [3]);
    assert_eq!(
        (read_all(&mut early), read_all(&mut late)),
        ("2 3".into(), "3".into())
    );
}

#[test]
fn a_weak_handle_publishes_while_the_bus_is_open_and_does_not_keep_it_open() {
    let bus = Bus::new();
    let weak = bus.downgrade();
    let mut reader = bus.subscribe("reader", Filter::all(), Queue::lag(8)).unwrap();
    publish(&weak.upgrade().unwrap(), [1]);
    drop(bus);
    assert!(weak.upgrade().is_none());
    assert!(
        read_all(&mut reader).starts_with("1 | "),
        "it is closed after the event"
    );
}

#[test]
fn publishing_says_how_many_it_reached() {
    let bus = Bus::new();
    assert_eq!(bus.try_publish(event(1)), Ok(0));
    let all = bus.subscribe("all", Filter::all(), Queue::lag(8)).unwrap();
    let same = bus.subscribe("same", Filter::all(), Queue::lag(8)).unwrap();
    let other = bus
        .subscribe("other", Filter::all().session("ses_1"), Queue::lag(8))
        .unwrap();
    assert_eq!(bus.try_publish(event(2)), Ok(2));
    drop((all, other));
    assert_eq!(bus.try_publish(event(3)), Ok(1));
    drop(same);
    assert_eq!((bus.try_publish(event(4)), bus.subscriptions()), (Ok(0), 0));
}

#[test]
fn an_event_that_two_parts_of_a_filter_want_comes_once() {
    let bus = Bus::new();
    let both = Filter::all()
        .topic(TopicPattern::under("notes"))
        .or(Filter::all().event_type("note"));
    let mut reader = bus.subscribe("both", both, Queue::lag(8)).unwrap();
    publish(&bus, 1..=2);
    assert_eq!(read_all(&mut reader), "1 2");
}

#[test]
fn a_lagging_reader_is_told_what_it_lost_where_it_lost_it() {
    let bus = Bus::new();
    let mut reader = bus.subscribe("slow", Filter::all(), Queue::lag(3)).unwrap();
    publish(&bus, 1..=3);
    assert_eq!(read_all(&mut reader), "1 2 3");
    publish(&bus, 4..=500);
    assert_eq!(read_all(&mut reader), "[494 lost] 498 499 500");
    publish(&bus, 501..=501);
    bus.close();
    assert_eq!(read_all(&mut reader), "501 | the bus is closed");
}

#[test]
fn a_cut_off_reader_reads_what_was_waiting_and_then_why() {
    let bus = Bus::new();
    let mut slow = bus.subscribe("slow", Filter::all(), Queue::cut_off(3)).unwrap();
    let mut same_filter = bus.subscribe("other", Filter::all(), Queue::lag(8)).unwrap();
    let mut other_filter = bus
        .subscribe("topic", Filter::all().event_type("note"), Queue::lag(8))
        .unwrap();
    publish(&bus, 1..=3);
    assert_eq!(bus.try_publish(event(4)), Ok(2), "the fourth cuts it off");
    assert_eq!(bus.subscriptions(), 2);
    assert_eq!(
        read_all(&mut slow),
        "1 2 3 | cut off: 3 events were waiting and one more came"
    );
    assert_eq!(
        slow.try_recv(),
        Err(SubscriptionEnd::CutOff { capacity: 3 }),
        "it stays ended"
    );
    assert_eq!(read_all(&mut same_filter), "1 2 3 4");
    assert_eq!(read_all(&mut other_filter), "1 2 3 4");
}

#[test]
fn a_publisher_waits_for_a_full_queue_and_nobody_gets_the_event_early() {
    let bus = Bus::new();
    let mut slow = bus.subscribe("slow", Filter::all(), Queue::wait(2)).unwrap();
    let mut quick = bus
        .subscribe("quick", Filter::all().event_type("note"), Queue::lag(8))
        .unwrap();
    publish(&bus, 1..=2);
    assert_eq!(
        bus.try_publish(event(9)),
        Err(PublishError::Full {
            subscription: "slow".into()
        })
    );

    let mut third = pin!(bus.publish(event(3)));
    let (Poll::Pending, woken) = poll(third.as_mut()) else {
        panic!("there is no room")
    };
    assert_eq!(read_all(&mut quick), "1 2");
    assert_eq!(
        slow.try_recv()
            .unwrap()
            .and_then(BusDelivery::into_event)
            .unwrap()
            .number,
        1
    );
    assert!(woken.was_woken(), "there is room now");
    assert_eq!(poll(third.as_mut()).0, Poll::Ready(Ok(2)));
    assert_eq!(
        (read_all(&mut slow), read_all(&mut quick)),
        ("2 3".into(), "3".into())
    );
}

#[test]
fn a_publisher_waits_only_for_those_who_want_the_event() {
    let bus = Bus::new();
    let notes = Filter::all().topic(TopicPattern::exact("notes"));
    let _full = bus.subscribe("notes", notes, Queue::wait(1)).unwrap();
    publish(&bus, [1]);
    assert_eq!(bus.try_publish(on_topic(2, "letters")), Ok(0));
    assert!(bus.try_publish(event(3)).is_err());
}

#[test]
fn a_publication_that_is_given_up_leaves_nothing() {
    let bus = Bus::new();
    let mut reader = bus.subscribe("slow", Filter::all(), Queue::wait(1)).unwrap();
    publish(&bus, [1]);
    {
        let mut given_up = pin!(bus.publish(event(2)));
        assert!(poll(given_up.as_mut()).0.is_pending());
    }
    assert_eq!(read_all(&mut reader), "1");
    publish(&bus, [3]);
    assert_eq!(read_all(&mut reader), "3");
}

#[test]
fn a_waiting_publisher_goes_on_when_the_reader_leaves_or_stops() {
    for leave in [true, false] {
        let bus = Bus::new();
        let reader = bus.subscribe("slow", Filter::all(), Queue::wait(1)).unwrap();
        publish(&bus, [1]);
        let mut second = pin!(bus.publish(event(2)));
        let (_, woken) = poll(second.as_mut());
        if leave {
            drop(reader)
        } else {
            reader.stop_handle().stop()
        }
        assert!(woken.was_woken());
        assert_eq!(poll(second.as_mut()).0, Poll::Ready(Ok(0)));
    }
}

#[test]
fn closing_ends_readers_after_their_queues_and_fails_publishers() {
    let bus = Bus::new();
    let mut reader = bus.subscribe("reader", Filter::all(), Queue::wait(1)).unwrap();
    publish(&bus, [1]);
    let mut waiting = pin!(bus.publish(event(2)));
    let (_, woken) = poll(waiting.as_mut());
    bus.close();
    assert!(woken.was_woken());
    assert_eq!(poll(waiting.as_mut()).0, Poll::Ready(Err(PublishError::Closed)));
    assert_eq!(bus.try_publish(event(3)), Err(PublishError::Closed));
    assert_eq!(
        bus.subscribe("late", Filter::all(), Queue::lag(1)).unwrap_err(),
        Closed
    );
    assert_eq!(read_all(&mut reader), "1 | the bus is closed");
}

#[test]
fn the_bus_closes_with_its_last_handle() {
    let bus = Bus::new();
    let mut reader = bus.subscribe("reader", Filter::all(), Queue::lag(4)).unwrap();
    let other = bus.clone();
    drop(bus);
    publish(&other, [1]);
    drop(other);
    assert_eq!(read_all(&mut reader), "1 | the bus is closed");
}

#[test]
fn a_stopped_subscription_drains() {
    let bus = Bus::new();
    let mut reader = bus.subscribe("reader", Filter::all(), Queue::lag(200)).unwrap();
    publish(&bus, 1..=100);
    reader.stop_handle().stop();
    publish(&bus, [101]);
    let numbers: Vec<String> = (1..=100).map(|number| number.to_string()).collect();
    assert_eq!(
        read_all(&mut reader),
        numbers.join(" ") + " | the subscription was stopped"
    );
}

#[test]
fn a_stop_handle_that_outlives_its_subscription_stops_no_other() {
    let bus = Bus::new();
    let first = bus.subscribe("first", Filter::all(), Queue::lag(4)).unwrap();
    let stale = first.stop_handle();
    let keep = bus.subscribe("keep", Filter::all(), Queue::lag(4)).unwrap();
    drop(first);
    let mut second = bus.subscribe("second", Filter::all(), Queue::lag(4)).unwrap();
    stale.stop();
    publish(&bus, [1]);
    assert_eq!(read_all(&mut second), "1");
    drop(keep);
}

#[tokio::test]
async fn a_batch_enters_in_order_and_waits_for_room_in_between() {
    let bus = Bus::<Event>::new();
    let mut reader = bus.subscribe("slow", Filter::all(), Queue::wait(2)).unwrap();
    let events: Vec<_> = (1..=300).map(|number| Arc::new(event(number))).collect();
    let read = async {
        let (mut batch, mut numbers) = (Vec::new(), Vec::new());
        while numbers.len() < 300 {
            let count = reader.recv_many(&mut batch, 7).await.unwrap();
            assert_eq!(count, batch.len());
            numbers.extend(
                batch
                    .drain(..)
                    .filter_map(BusDelivery::into_event)
                    .map(|event| event.number),
            );
        }
        numbers
    };
    let (published, numbers) = tokio::join!(bus.publish_all(events), read);
    assert_eq!(published, Ok(300));
    assert!(numbers.into_iter().eq(1..=300));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_readers_see_one_order_in_which_each_publisher_keeps_its_own() {
    let bus = Bus::<Event>::new();
    let filters = [Filter::all(), Filter::all(), Filter::all().event_type("note")];
    let read = |filter: &Filter| {
        let mut reader = bus.subscribe("reader", filter.clone(), Queue::wait(16)).unwrap();
        tokio::spawn(async move {
            let mut numbers = Vec::new();
            while let Ok(BusDelivery::Event(event)) = reader.recv().await {
                numbers.push(event.number);
            }
            numbers
        })
    };
    let readers: Vec<_> = filters.iter().map(read).collect();
    let publish = |publisher: u32| {
        let bus = bus.clone();
        tokio::spawn(async move {
            for number in 0..2000 {
                bus.publish(event(publisher * 10_000 + number)).await.unwrap();
            }
        })
    };
    let publishers: Vec<_> = (0..3).map(publish).collect();
    for publisher in publishers {
        publisher.await.unwrap();
    }
    bus.close();
    let mut orders = Vec::new();
    for reader in readers {
        orders.push(reader.await.unwrap());
    }
    assert!(orders.iter().all(|order| *order == orders[0]));
    for publisher in 0..3 {
        let own = orders[0]
            .iter()
            .filter(|number| **number / 10_000 == publisher)
            .copied();
        assert!(own.eq((0..2000).map(|number| publisher * 10_000 + number)));
    }
}

/// An event that uses the bus when it is dropped, as one that holds a handle of something may.
struct Loud(Bus<Loud>);

impl Routed for Loud {
    fn event_type(&self) -> &str {
        "loud"
    }
    fn topic(&self) -> &str {
        "loud"
    }
    fn session(&self) -> Option<&str> {
        None
    }
    fn agent_state(&self) -> Option<&str> {
        None
    }
    fn run(&self) -> Option<&str> {
        None
    }
}

impl Drop for Loud {
    fn drop(&mut self) {
        assert!(self.0.subscriptions() <= 2);
    }
}

#[test]
fn events_are_dropped_outside_the_lock() {
    let bus = Bus::new();
    bus.try_publish(Loud(bus.clone())).unwrap();
    let lagging = bus.subscribe("lagging", Filter::all(), Queue::lag(1)).unwrap();
    let cut_off = bus
        .subscribe("cut off", Filter::all().event_type("loud"), Queue::cut_off(1))
        .unwrap();
    for _ in 0..300 {
        bus.try_publish(Loud(bus.clone())).unwrap();
    }
    drop((lagging, cut_off));
    bus.close();
    assert!(bus.try_publish(Loud(bus.clone())).is_err());
}
