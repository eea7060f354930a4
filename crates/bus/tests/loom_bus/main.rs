//! Every interleaving of small scenes: send, lag, drop, close, and sleeping on either side.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p agentx-bus --release --target-dir target/loom --test loom_bus`
#![cfg(loom)]

use agentx_bus::{Bus, BusDelivery, BusSubscription, Filter, PublishError, Queue, SubscriptionEnd};
use loom::future::block_on;
use loom::thread;

#[path = "../support/mod.rs"]
mod support;

use support::{Event, event};

/// Reads to the end, checks that numbers and gaps are consecutive from 1, and returns the last number.
fn read_to_end(reader: &mut BusSubscription<Event>, expected: SubscriptionEnd) -> u64 {
    let mut seen = 0;
    loop {
        match block_on(reader.recv()) {
            Ok(BusDelivery::Event(event)) => {
                seen += 1;
                assert_eq!(u64::from(event.number), seen);
            }
            Ok(BusDelivery::Lagged(count)) => seen += count,
            Err(ended) => {
                assert_eq!(ended, expected);
                return seen;
            }
        }
    }
}

#[test]
fn a_reader_that_sleeps_is_woken_by_events_and_the_close() {
    loom::model(|| {
        let bus = Bus::new();
        let mut reader = bus.subscribe("reader", Filter::all(), Queue::lag(4)).unwrap();
        let publisher = thread::spawn(move || {
            assert_eq!(bus.try_publish(event(1)), Ok(1));
            assert_eq!(bus.try_publish(event(2)), Ok(1));
            // The last handle closes the bus.
        });
        assert_eq!(read_to_end(&mut reader, SubscriptionEnd::BusClosed), 2);
        publisher.join().unwrap();
    });
}

#[test]
fn a_lagging_reader_accounts_for_every_event() {
    loom::model(|| {
        let bus = Bus::new();
        let mut reader = bus.subscribe("reader", Filter::all(), Queue::lag(1)).unwrap();
        let publisher = thread::spawn(move || {
            for number in 1..=2 {
                assert_eq!(bus.try_publish(event(number)), Ok(1));
            }
            bus.close();
        });
        assert_eq!(read_to_end(&mut reader, SubscriptionEnd::BusClosed), 2);
        publisher.join().unwrap();
    });
}

#[test]
fn a_publisher_that_waits_is_woken_by_room() {
    loom::model(|| {
        let bus = Bus::new();
        let mut reader = bus.subscribe("reader", Filter::all(), Queue::wait(1)).unwrap();
        let publisher = thread::spawn(move || {
            for number in 1..=2 {
                assert_eq!(block_on(bus.publish(event(number))), Ok(1));
            }
        });
        assert_eq!(read_to_end(&mut reader, SubscriptionEnd::BusClosed), 2);
        publisher.join().unwrap();
    });
}

#[test]
fn a_publisher_that_waits_is_woken_when_the_reader_is_dropped() {
    loom::model(|| {
        let bus = Bus::new();
        let reader = bus.subscribe("reader", Filter::all(), Queue::wait(1)).unwrap();
        let publisher = thread::spawn(move || {
            assert!(block_on(bus.publish(event(1))).is_ok());
            assert!(block_on(bus.publish(event(2))).is_ok());
            assert_eq!(bus.subscriptions(), 0);
        });
        drop(reader);
        publisher.join().unwrap();
    });
}

#[test]
fn a_publisher_that_waits_is_woken_by_the_close() {
    loom::model(|| {
        let bus = Bus::new();
        let mut reader = bus.subscribe("reader", Filter::all(), Queue::wait(1)).unwrap();
        let other = bus.clone();
        let publisher = thread::spawn(move || {
            let first = block_on(other.publish(event(1)));
            let second = block_on(other.publish(event(2)));
            assert_eq!(
                second,
                Err(PublishError::Closed),
                "nobody makes room before the close"
            );
            u64::from(first.is_ok())
        });
        bus.close();
        let entered = publisher.join().unwrap();
        assert_eq!(read_to_end(&mut reader, SubscriptionEnd::BusClosed), entered);
    });
}

#[test]
fn two_publishers_have_one_order_for_two_readers() {
    loom::model(|| {
        let bus = Bus::new();
        let mut first = bus.subscribe("first", Filter::all(), Queue::lag(4)).unwrap();
        let mut second = bus
            .subscribe("second", Filter::all().event_type("note"), Queue::lag(4))
            .unwrap();
        let other = bus.clone();
        let publisher = thread::spawn(move || other.try_publish(event(1)).unwrap());
        bus.try_publish(event(2)).unwrap();
        publisher.join().unwrap();
        drop(bus);
        let order = |reader: &mut BusSubscription<Event>| {
            let next = || reader.try_recv().ok().flatten().and_then(BusDelivery::into_event);
            std::iter::from_fn(next)
                .map(|event| event.number)
                .collect::<Vec<_>>()
        };
        let seen = order(&mut first);
        assert_eq!(seen.len(), 2);
        assert_eq!(seen, order(&mut second));
    });
}

#[test]
fn being_cut_off_or_stopped_harms_no_other_and_loses_nothing_before_it() {
    loom::model(|| {
        let bus = Bus::new();
        let mut slow = bus.subscribe("slow", Filter::all(), Queue::cut_off(1)).unwrap();
        let mut stopped = bus.subscribe("stopped", Filter::all(), Queue::lag(4)).unwrap();
        let stop = stopped.stop_handle();
        let publisher = thread::spawn(move || {
            bus.try_publish(event(1)).unwrap();
            bus.try_publish(event(2)).unwrap();
            bus
        });
        stop.stop();
        let until_stop = read_to_end(&mut stopped, SubscriptionEnd::Stopped);
        assert!(until_stop <= 2);
        drop(publisher.join().unwrap());
        assert_eq!(read_to_end(&mut slow, SubscriptionEnd::CutOff { capacity: 1 }), 1);
    });
}
