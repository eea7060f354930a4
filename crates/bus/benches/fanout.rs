//! The speed of events to 8 subscribers, compared with `tokio::sync::broadcast` in the same run.
//!
//! `cargo bench -p agentx-bus` prints events per second, the part of them that arrived, and the ratio to
//! `broadcast`; it asserts nothing. The sides take turns in short rounds, so that a busy machine slows them
//! alike; each figure is the median of its rounds, each ratio the median over the turns.
//!
//! - *one thread*: a full queue of events is sent, then each reader takes them. Without a scheduler: the code
//!   alone.
//! - *lossless*: two threads. When a queue full of events is sent, the publisher waits until all have been
//!   read: the only way to lose nothing with `broadcast`, so all sides do it.
//! - *flood*: two threads. The publisher continues independent of the readers; their lost events are counted.
//! - *waiting*: the bus alone, two threads, with the policy by which the publisher waits.

#![expect(clippy::expect_used, reason = "a benchmark that cannot go on may fall over")]

use std::future::Future;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use agentx_bus::{Bus, BusDelivery, BusSubscription, Filter, Queue, Routed};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::{Barrier, Notify};

const SUBSCRIBERS: u64 = 8;
const CAPACITY: u64 = 1024;
const EVENTS: u64 = 64 * CAPACITY;
const ROUNDS: usize = 31;

struct Event([u8; 200]);

impl Routed for Event {
    fn event_type(&self) -> &str {
        "text_delta"
    }
    fn topic(&self) -> &str {
        "ui.events"
    }
    fn session(&self) -> Option<&str> {
        Some("ses_1")
    }
    fn agent_state(&self) -> Option<&str> {
        None
    }
    fn run(&self) -> Option<&str> {
        None
    }
}

fn event() -> Arc<Event> {
    Arc::new(Event([7; 200]))
}

/// A way to get events to readers.
trait Side: Sized + Send + 'static {
    type Reader: Reader;
    fn reader(&self) -> Self::Reader;
    fn send(&self, event: Arc<Event>) -> impl Future<Output = ()> + Send;
}

trait Reader: Send + 'static {
    /// Counts events until the sender is gone.
    fn read_all(self, tally: Tally) -> impl Future<Output = ()> + Send;
    /// Reads the events that are there already.
    fn read_some(&mut self);
}

/// The deliveries to one reader. It tells the publisher once per full queue only, so that counting costs
/// nothing.
struct Tally {
    own: u64,
    total: Arc<AtomicU64>,
    full_queues: Arc<(AtomicU64, Notify)>,
}

impl Tally {
    fn event(&mut self, event: &Event) {
        black_box(event.0[0]);
        self.own += 1;
        if self.own.is_multiple_of(CAPACITY) {
            self.full_queues.0.fetch_add(1, Ordering::SeqCst);
            self.full_queues.1.notify_one();
        }
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.total.fetch_add(self.own, Ordering::SeqCst);
    }
}

impl Side for broadcast::Sender<Arc<Event>> {
    type Reader = broadcast::Receiver<Arc<Event>>;

    fn reader(&self) -> Self::Reader {
        self.subscribe()
    }

    async fn send(&self, event: Arc<Event>) {
        // `Bus::publish` yields now and then; the sides have to be comparable.
        tokio::task::coop::consume_budget().await;
        broadcast::Sender::send(self, event)
            .ok()
            .expect("there are readers");
    }
}

impl Reader for broadcast::Receiver<Arc<Event>> {
    async fn read_all(mut self, mut tally: Tally) {
        loop {
            match self.recv().await {
                Ok(event) => tally.event(&event),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn read_some(&mut self) {
        while let Ok(event) = self.try_recv() {
            black_box(event.0[0]);
        }
    }
}

/// The bus; its readers take one event at a time or many.
struct OurBus {
    bus: Bus<Event>,
    queue: Queue,
    many: bool,
}

struct OurReader {
    events: BusSubscription<Event>,
    many: bool,
}

impl Side for OurBus {
    type Reader = OurReader;

    fn reader(&self) -> OurReader {
        let events = self
            .bus
            .subscribe("reader", Filter::all(), self.queue)
            .expect("the bus is open");
        OurReader {
            events,
            many: self.many,
        }
    }

    async fn send(&self, event: Arc<Event>) {
        self.bus.publish(event).await.expect("the bus is open");
    }
}

impl Reader for OurReader {
    async fn read_all(mut self, mut tally: Tally) {
        let mut batch = Vec::new();
        while self.many && self.events.recv_many(&mut batch, 256).await.is_ok() {
            batch
                .drain(..)
                .filter_map(BusDelivery::into_event)
                .for_each(|event| tally.event(&event));
        }
        while let Ok(delivery) = self.events.recv().await {
            delivery.into_event().inspect(|event| tally.event(event));
        }
    }

    fn read_some(&mut self) {
        while let Ok(Some(delivery)) = self.events.try_recv() {
            black_box(delivery.into_event().map(|event| event.0[0]));
        }
    }
}

fn bus(queue: Queue, many: bool) -> OurBus {
    OurBus {
        bus: Bus::new(),
        queue,
        many,
    }
}

/// The time of a round's publications, and the number of deliveries.
#[derive(Clone, Copy)]
struct Round {
    took: Duration,
    deliveries: u64,
}

async fn on_one_thread(side: impl Side) -> Round {
    let mut readers: Vec<_> = (0..SUBSCRIBERS).map(|_| side.reader()).collect();
    let start = Instant::now();
    for _ in 0..EVENTS / CAPACITY {
        for _ in 0..CAPACITY {
            side.send(event()).await;
        }
        readers.iter_mut().for_each(Reader::read_some);
    }
    Round {
        took: start.elapsed(),
        deliveries: EVENTS * SUBSCRIBERS,
    }
}

async fn on_two_threads(side: impl Side, lossless: bool) -> Round {
    let total = Arc::new(AtomicU64::new(0));
    let full_queues = Arc::new((AtomicU64::new(0), Notify::new()));
    let all_ready = Arc::new(Barrier::new(SUBSCRIBERS as usize + 1));
    let start_reader = |_| {
        let tally = Tally {
            own: 0,
            total: Arc::clone(&total),
            full_queues: Arc::clone(&full_queues),
        };
        let (reader, all_ready) = (side.reader(), Arc::clone(&all_ready));
        tokio::spawn(async move {
            all_ready.wait().await;
            reader.read_all(tally).await;
        })
    };
    let readers: Vec<_> = (0..SUBSCRIBERS).map(start_reader).collect();
    all_ready.wait().await;
    let start = Instant::now();
    for sent in 1..=EVENTS {
        side.send(event()).await;
        let due = SUBSCRIBERS * (sent / CAPACITY);
        while lossless && sent.is_multiple_of(CAPACITY) && full_queues.0.load(Ordering::SeqCst) < due {
            full_queues.1.notified().await;
        }
    }
    let took = start.elapsed();
    drop(side);
    for reader in readers {
        reader.await.expect("a reader does not panic");
    }
    Round {
        took,
        deliveries: total.load(Ordering::SeqCst),
    }
}

#[derive(Clone, Copy)]
enum Way {
    OneThread,
    Lossless,
    Flood,
}

async fn round(side: impl Side, way: Way) -> Round {
    match way {
        Way::OneThread => on_one_thread(side).await,
        Way::Lossless => on_two_threads(side, true).await,
        Way::Flood => on_two_threads(side, false).await,
    }
}

async fn compare(title: &str, way: Way) {
    let lag = Queue::lag(CAPACITY as usize);
    let mut rounds: [Vec<Round>; 3] = Default::default();
    for _ in 0..ROUNDS {
        rounds[0].push(round(broadcast::channel(CAPACITY as usize).0, way).await);
        rounds[1].push(round(bus(lag, false), way).await);
        rounds[2].push(round(bus(lag, true), way).await);
    }
    println!("{title}");
    for (name, own) in ["tokio broadcast", "bus, recv", "bus, recv_many"]
        .iter()
        .zip(&rounds)
    {
        show(name, own, &rounds[0]);
    }
}

fn show(name: &str, rounds: &[Round], peer: &[Round]) {
    let ratios = rounds
        .iter()
        .zip(peer)
        .map(|(own, peer)| peer.took.as_secs_f64() / own.took.as_secs_f64());
    let arrived = median(rounds.iter().map(|round| round.deliveries as f64)) / (EVENTS * SUBSCRIBERS) as f64;
    println!(
        "  {name:<16} {:>6.2} M events/s, {:.2} of broadcast, {:>5.1} % arrived",
        EVENTS as f64 / median(rounds.iter().map(|round| round.took.as_secs_f64())) / 1e6,
        median(ratios),
        100.0 * arrived,
    );
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

async fn measure() {
    compare("one thread", Way::OneThread).await;
    compare("lossless", Way::Lossless).await;
    compare("flood", Way::Flood).await;
    println!("waiting");
    for many in [false, true] {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push(round(bus(Queue::wait(CAPACITY as usize), many), Way::Flood).await);
        }
        show(
            if many { "bus, recv_many" } else { "bus, recv" },
            &rounds,
            &rounds,
        );
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    println!(
        "{SUBSCRIBERS} subscribers, events of {} bytes, queues of {CAPACITY}",
        size_of::<Event>()
    );
    tokio::spawn(measure()).await.expect("measuring does not panic");
}
