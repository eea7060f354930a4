//! 100 agents that emit at the same time, each with its own reader: through one multiplexer, compared with
//! the same over the bus alone.
//!
//! `cargo bench -p agentx-runtime --bench streams` prints events per second and the ratios; it asserts
//! nothing. The sides take turns in short rounds, so that a busy machine slows them alike; each ratio is the
//! median over the turns. A whole round runs on one thread, so work is measured and not scheduling.
//!
//! - *bus*: each reader has its own subscription, filtered by its agent.
//! - *streams*: the multiplexer reads one subscription of the bus, as a follower has it; each reader has the
//!   stream of its agent. Nothing is lost, because on the bus of this benchmark a full queue is published and
//!   then read completely.
//! - *one reader*: the bus with one reader of all events, which does not distinguish agents. The other two
//!   begin with this work.

#![expect(clippy::expect_used, reason = "a benchmark that cannot go on may fall over")]

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use agentx_bus::{Bus, BusDelivery, Filter, Queue};
use agentx_runtime::streams::{Select, SlowReaderPolicy, StreamSource, Streams};
use agentx_runtime::{BoxFuture, Delivery, RuntimeError, Subscription, SystemEvent};
use agentx_types::{
    AgentStarted, AgentStateId, Envelope, EventDraft, RuntimeEvent, SessionId, Source, TextDelta, Timestamp,
};
use tokio::sync::{Notify, mpsc};

const AGENTS: usize = 100;
const AT_ONCE: usize = 1024;
const EVENTS: usize = 32 * AT_ONCE;
const ROUNDS: usize = 21;

type Event = Arc<Envelope<RuntimeEvent>>;

fn agent(number: usize) -> AgentStateId {
    AgentStateId::with_suffix(number)
}

fn event(seq: usize, agent_number: usize, event: impl Into<RuntimeEvent>) -> Event {
    let draft = EventDraft::new(Source::Agent, Some(agent(agent_number)), event);
    let mut envelope = draft.into_envelope(SessionId::new("ses_1"), seq as u64, Timestamp(1));
    envelope.index = Some(0);
    Arc::new(envelope)
}

/// All agents arrive, then they emit in turn.
fn events() -> (Vec<Event>, Vec<Event>) {
    let started = |number: usize| AgentStarted {
        name: format!("agent {number}"),
        parent: None,
        routes: false,
    };
    let arrivals = (0..AGENTS).map(|number| event(number + 1, number, started(number)));
    let words = (0..EVENTS).map(|number| {
        let text = "a piece of an answer ".into();
        event(AGENTS + 1 + number, number * 7 % AGENTS, TextDelta { text })
    });
    (arrivals.collect(), words.collect())
}

/// Counts the events that readers have read, and notifies the publisher when all are read.
#[derive(Default)]
struct Tally {
    read: AtomicU64,
    wanted: AtomicU64,
    all: Notify,
}

impl Tally {
    fn add(&self, count: u64) {
        let read = self.read.fetch_add(count, Ordering::SeqCst) + count;
        if read == self.wanted.load(Ordering::SeqCst) {
            self.all.notify_one();
        }
    }
}

/// Publishes everything, one full queue at a time; returns the elapsed time.
async fn publish(bus: &Bus<SystemEvent>, words: &[Event], tally: &Tally) -> Duration {
    let start = Instant::now();
    for chunk in words.chunks(AT_ONCE) {
        tally.wanted.fetch_add(chunk.len() as u64, Ordering::SeqCst);
        for event in chunk {
            let event = SystemEvent::Runtime(event.clone());
            bus.publish(event).await.expect("the bus is open");
        }
        tally.all.notified().await;
    }
    start.elapsed()
}

async fn by_bus(words: &[Event], readers: usize) -> Duration {
    let bus = Bus::<SystemEvent>::new();
    let tally = Arc::new(Tally::default());
    for number in 0..readers {
        let all = Filter::all().session("ses_1");
        let filter = if readers == 1 {
            all
        } else {
            all.agent_state(agent(number).as_str())
        };
        let mut reader = bus
            .subscribe("reader", filter, Queue::cut_off(AT_ONCE))
            .expect("the bus is open");
        let tally = tally.clone();
        tokio::spawn(async move {
            let mut batch = Vec::new();
            while reader.recv_many(&mut batch, 256).await.is_ok() {
                let events = batch.drain(..).filter_map(BusDelivery::into_event);
                tally.add(events.inspect(|event| drop(black_box(event.clone()))).count() as u64);
            }
        });
    }
    publish(&bus, words, &tally).await
}

/// A session whose follower reads from the bus.
struct Session {
    bus: Bus<SystemEvent>,
    arrivals: Vec<Event>,
}

impl StreamSource for Session {
    fn subscribe(&self, _: u64) -> BoxFuture<'_, Result<Subscription, RuntimeError>> {
        let filter = Filter::all().session("ses_1");
        let mut events = self
            .bus
            .subscribe("follower", filter, Queue::cut_off(8192))
            .expect("the bus is open");
        let (out, deliveries) = mpsc::channel(1024);
        let arrivals = self.arrivals.clone();
        tokio::spawn(async move {
            for event in arrivals {
                out.send(Delivery::Runtime(event)).await.ok()?;
            }
            out.send(Delivery::CaughtUp(AGENTS as u64)).await.ok()?;
            let mut batch = Vec::new();
            while events.recv_many(&mut batch, 256).await.is_ok() {
                for event in batch.drain(..).filter_map(BusDelivery::into_event) {
                    if let SystemEvent::Runtime(event) = event.as_ref() {
                        out.send(Delivery::Runtime(event.clone())).await.ok()?;
                    }
                }
            }
            Some(())
        });
        Box::pin(std::future::ready(Ok(Subscription { deliveries })))
    }
}

async fn by_streams(arrivals: &[Event], words: &[Event]) -> Duration {
    let bus = Bus::<SystemEvent>::new();
    let source = Session {
        bus: bus.clone(),
        arrivals: arrivals.to_vec(),
    };
    let streams = Streams::of(Arc::new(source), 0).await.expect("it can be read");
    let tally = Arc::new(Tally::default());
    for number in 0..AGENTS {
        let mut stream = streams.open(Select::agent(agent(number)), SlowReaderPolicy::Lossless(AT_ONCE));
        let tally = tally.clone();
        tokio::spawn(async move {
            let mut batch = Vec::new();
            loop {
                let count = stream.next_many(&mut batch, 256).await;
                if count == 0 {
                    return;
                }
                batch.drain(..).for_each(|event| drop(black_box(event)));
                tally.add(count as u64);
            }
        });
    }
    publish(&bus, words, &tally).await
}

fn on_one_thread<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(future)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn main() {
    let (arrivals, words) = events();
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let bus = on_one_thread(by_bus(&words, AGENTS)).as_secs_f64();
        let streams = on_one_thread(by_streams(&arrivals, &words)).as_secs_f64();
        let one = on_one_thread(by_bus(&words, 1)).as_secs_f64();
        rounds.push((bus, streams, one));
    }
    let per_second = |took: f64| EVENTS as f64 / took / 1e6;
    let of = |side: fn(&(f64, f64, f64)) -> f64| median(rounds.iter().map(side).collect());
    println!("{AGENTS} agents, {EVENTS} events a round, {ROUNDS} rounds");
    println!(
        "bus, a reader an agent      {:6.2} M events/s",
        per_second(of(|round| round.0))
    );
    println!(
        "streams, a reader an agent  {:6.2} M events/s",
        per_second(of(|round| round.1))
    );
    println!(
        "bus, one reader of all      {:6.2} M events/s",
        per_second(of(|round| round.2))
    );
    println!(
        "streams / bus               {:6.2}",
        of(|round| round.0 / round.1)
    );
    println!(
        "streams / one reader        {:6.2}",
        of(|round| round.2 / round.1)
    );
}
