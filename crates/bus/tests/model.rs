//! Random histories of a bus against a model of it: what each reader sees, when publishers wait, and that a
//! sleeping task is woken when it has something to read.
//!
//! The model is exact for capacities under 8, where a reader takes one event at a time; for larger ones the
//! second test holds the bus to its bounds.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::support::{Event, Flag, event, on_topic, poll, read_all};
use agentx_bus::{
    Bus, BusDelivery, BusSubscription, Filter, OverflowPolicy, PublishError, Queue, SubscriptionEnd,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

#[derive(Clone, Debug)]
enum Step {
    Subscribe {
        even_only: bool,
        capacity: usize,
        overflow: OverflowPolicy,
    },
    Publish,
    /// Publishes, and waits if necessary.
    PublishWaiting,
    PollPublisher(Index),
    GiveUpPublisher(Index),
    Receive(Index),
    Stop(Index),
    Drop(Index),
    Close,
}

fn steps() -> impl Strategy<Value = Step> {
    let overflow = prop_oneof![
        Just(OverflowPolicy::Wait),
        Just(OverflowPolicy::Lag),
        Just(OverflowPolicy::CutOff)
    ];
    prop_oneof![
        6 => (any::<bool>(), 1..8_usize, overflow).prop_map(|(even_only, capacity, overflow)| {
            Step::Subscribe { even_only, capacity, overflow }
        }),
        20 => Just(Step::Publish),
        8 => Just(Step::PublishWaiting),
        8 => any::<Index>().prop_map(Step::PollPublisher),
        2 => any::<Index>().prop_map(Step::GiveUpPublisher),
        30 => any::<Index>().prop_map(Step::Receive),
        2 => any::<Index>().prop_map(Step::Stop),
        2 => any::<Index>().prop_map(Step::Drop),
        1 => Just(Step::Close),
    ]
}

/// A subscription and its expected state.
struct Reader {
    real: BusSubscription<Event>,
    even_only: bool,
    queue: Queue,
    waiting: VecDeque<u32>,
    lagged: u64,
    ended: Option<SubscriptionEnd>,
    asleep: Option<Arc<Flag>>,
}

impl Reader {
    fn wants(&self, number: u32) -> bool {
        self.ended.is_none() && (!self.even_only || number.is_multiple_of(2))
    }

    fn is_full(&self) -> bool {
        self.waiting.len() == self.queue.capacity()
    }

    fn stops_publishers(&self, number: u32) -> bool {
        self.wants(number) && self.queue.overflow() == OverflowPolicy::Wait && self.is_full()
    }

    /// True if it gets the event.
    fn enter(&mut self, number: u32) -> bool {
        if !self.wants(number) {
            return false;
        }
        if self.is_full() && self.queue.overflow() == OverflowPolicy::CutOff {
            self.ended = Some(SubscriptionEnd::CutOff {
                capacity: self.queue.capacity(),
            });
            return false;
        }
        if self.is_full() {
            self.waiting.pop_front();
            self.lagged += 1;
        }
        self.waiting.push_back(number);
        true
    }

    fn expected(&mut self) -> Poll<Result<BusDelivery<Event>, SubscriptionEnd>> {
        if self.lagged > 0 {
            return Poll::Ready(Ok(BusDelivery::Lagged(std::mem::take(&mut self.lagged))));
        }
        match (self.waiting.pop_front(), self.ended) {
            (Some(number), _) => Poll::Ready(Ok(BusDelivery::Event(Arc::new(numbered(number))))),
            (None, Some(ended)) => Poll::Ready(Err(ended)),
            (None, None) => Poll::Pending,
        }
    }

    fn has_something(&self) -> bool {
        self.lagged > 0 || !self.waiting.is_empty() || self.ended.is_some()
    }
}

fn numbered(number: u32) -> Event {
    if number.is_multiple_of(2) {
        on_topic(number, "even")
    } else {
        event(number)
    }
}

struct Publisher {
    number: u32,
    future: Pin<Box<dyn Future<Output = Result<usize, PublishError>>>>,
    asleep: Arc<Flag>,
}

struct World {
    bus: Bus<Event>,
    closed: bool,
    numbers: u32,
    readers: Vec<Reader>,
    publishers: Vec<Publisher>,
}

impl World {
    fn new() -> Self {
        Self {
            bus: Bus::new(),
            closed: false,
            numbers: 0,
            readers: Vec::new(),
            publishers: Vec::new(),
        }
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Subscribe {
                even_only,
                capacity,
                overflow,
            } => {
                self.subscribe(even_only, Queue::new(capacity, overflow));
            }
            Step::Publish => self.publish(),
            Step::PublishWaiting => self.publish_waiting(),
            Step::PollPublisher(index) => self.poll_publisher(index),
            Step::GiveUpPublisher(index) => drop(pick(&mut self.publishers, index)),
            Step::Receive(index) => self.receive(index),
            Step::Stop(index) => self.stop(index),
            Step::Drop(index) => drop(pick(&mut self.readers, index)),
            Step::Close => self.close(),
        }
        self.check_wakes();
    }

    fn subscribe(&mut self, even_only: bool, queue: Queue) {
        let even = Filter::all().topic("even".parse().unwrap());
        let filter = if even_only { even } else { Filter::all() };
        let real = self.bus.subscribe("reader", filter, queue);
        assert_eq!(real.is_err(), self.closed);
        let waiting = VecDeque::new();
        let reader = |real| Reader {
            real,
            even_only,
            queue,
            waiting,
            lagged: 0,
            ended: None,
            asleep: None,
        };
        self.readers.extend(real.ok().map(reader));
    }

    fn next_number(&mut self) -> u32 {
        self.numbers += 1;
        self.numbers
    }

    fn must_wait(&self, number: u32) -> bool {
        !self.closed && self.readers.iter().any(|reader| reader.stops_publishers(number))
    }

    /// Returns the result of a publication that need not wait.
    fn enter(&mut self, number: u32) -> Result<usize, PublishError> {
        if self.closed {
            return Err(PublishError::Closed);
        }
        Ok(self
            .readers
            .iter_mut()
            .map(|reader| usize::from(reader.enter(number)))
            .sum())
    }

    fn publish(&mut self) {
        let number = self.next_number();
        let real = self.bus.try_publish(numbered(number));
        if self.must_wait(number) {
            assert_eq!(
                real,
                Err(PublishError::Full {
                    subscription: "reader".into()
                })
            );
        } else {
            assert_eq!(real, self.enter(number));
        }
    }

    fn publish_waiting(&mut self) {
        let (bus, number) = (self.bus.clone(), self.next_number());
        let future = Box::pin(async move { bus.publish(numbered(number)).await });
        self.poll(Publisher {
            number,
            future,
            asleep: Arc::default(),
        });
    }

    fn poll_publisher(&mut self, index: Index) {
        if let Some(publisher) = pick(&mut self.publishers, index) {
            self.poll(publisher);
        }
    }

    fn poll(&mut self, mut publisher: Publisher) {
        let (real, asleep) = poll(publisher.future.as_mut());
        if self.must_wait(publisher.number) {
            assert_eq!(real, Poll::Pending);
            self.publishers.push(Publisher { asleep, ..publisher });
        } else {
            assert_eq!(real, Poll::Ready(self.enter(publisher.number)));
        }
    }

    fn receive(&mut self, index: Index) {
        if self.readers.is_empty() {
            return;
        }
        let reader = index.get_mut(&mut self.readers);
        let flag = Arc::new(Flag::default());
        let waker = Waker::from(Arc::clone(&flag));
        let real = reader.real.poll_recv(&mut Context::from_waker(&waker));
        reader.asleep = real.is_pending().then_some(flag);
        assert_eq!(real, reader.expected());
    }

    fn stop(&mut self, index: Index) {
        if !self.readers.is_empty() {
            let reader = index.get_mut(&mut self.readers);
            reader.real.stop_handle().stop();
            reader.ended.get_or_insert(SubscriptionEnd::Stopped);
        }
    }

    fn close(&mut self) {
        self.bus.close();
        self.closed = true;
        for reader in &mut self.readers {
            reader.ended.get_or_insert(SubscriptionEnd::BusClosed);
        }
    }

    fn check_wakes(&self) {
        for reader in self.readers.iter().filter(|reader| reader.has_something()) {
            assert!(
                reader.asleep.as_ref().is_none_or(|flag| flag.was_woken()),
                "a reader sleeps on"
            );
        }
        for publisher in self
            .publishers
            .iter()
            .filter(|publisher| !self.must_wait(publisher.number))
        {
            assert!(publisher.asleep.was_woken(), "a publisher sleeps on");
        }
    }
}

fn pick<T>(from: &mut Vec<T>, index: Index) -> Option<T> {
    (!from.is_empty()).then(|| from.swap_remove(index.index(from.len())))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn the_bus_does_what_its_model_does(steps in vec(steps(), 1..150)) {
        let mut world = World::new();
        for step in steps {
            world.run(step);
        }
    }

    /// Bursts and reads of any size: a reader sees every event or a count of those that it lost, in order; it
    /// loses none while no more wait than its capacity, and no more than a quarter more is held for it.
    #[test]
    fn a_large_queue_keeps_its_bounds(
        capacity in 1..400_usize,
        cut_off in any::<bool>(),
        turns in vec((0..300_u32, 0..300_usize), 1..20),
    ) {
        let bus = Bus::new();
        let queue = if cut_off { Queue::cut_off(capacity) } else { Queue::lag(capacity) };
        let mut reader = bus.subscribe("reader", Filter::all(), queue).unwrap();
        let mut other = bus.subscribe("other", Filter::all(), Queue::lag(10_000)).unwrap();
        let (mut published, mut seen, mut most_behind) = (0_u64, 0_u64, 0);
        for (burst, reads) in turns {
            for _ in 0..burst {
                published += 1;
                bus.try_publish(event(published as u32)).unwrap();
            }
            most_behind = most_behind.max(published - seen);
            for _ in 0..reads {
                match reader.try_recv() {
                    Ok(Some(BusDelivery::Event(event))) => {
                        seen += 1;
                        prop_assert_eq!(u64::from(event.number), seen);
                    }
                    Ok(Some(BusDelivery::Lagged(count))) => {
                        prop_assert!(!cut_off && most_behind > capacity as u64);
                        seen += count;
                    }
                    Ok(None) => {
                        prop_assert_eq!(seen, published);
                        break;
                    }
                    Err(ended) => {
                        prop_assert_eq!(ended, SubscriptionEnd::CutOff { capacity });
                        prop_assert!(most_behind > capacity as u64);
                        break;
                    }
                }
            }
        }
        let held = std::iter::from_fn(|| reader.try_recv().ok().flatten()).filter_map(BusDelivery::into_event);
        prop_assert!(held.count() <= capacity + capacity / 4);
        let all: Vec<String> = (1..=published).map(|number| number.to_string()).collect();
        prop_assert_eq!(read_all(&mut other), all.join(" "), "another reader loses nothing");
    }
}
