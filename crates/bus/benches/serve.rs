//! A request over the dispatcher, compared with a direct call of the same work, also in its own task,
//! alternately in one run. Everything runs on one thread, as in the program, so work is measured and not the
//! wake-up of threads.
//!
//! `cargo bench -p agentx-bus --bench serve` prints medians, and fails if a request takes more than [`BAR`]
//! longer than the direct call.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints figures"
)]

use std::time::{Duration, Instant};

use agentx_bus::{Addressed, Dispatcher, KeyPattern, Serve};

/// The number of requests in a round, one after the other.
const REQUESTS: u32 = 20_000;
/// The number of rounds; the median counts.
const ROUNDS: usize = 9;
/// The most time that a request over the bus may take in addition to a direct call.
const BAR: Duration = Duration::from_micros(5);

struct Call(String);

impl Addressed for Call {
    fn topic(&self) -> &str {
        "tools.requests"
    }

    fn key(&self) -> &str {
        &self.0
    }

    fn session(&self) -> &str {
        "ses_1"
    }
}

fn call(number: u32) -> Call {
    Call(format!("tool_{number}"))
}

async fn direct() -> Duration {
    let began = Instant::now();
    for number in 0..REQUESTS {
        let call = call(number);
        tokio::spawn(async move { std::hint::black_box(call.0.len()) })
            .await
            .unwrap();
    }
    began.elapsed() / REQUESTS
}

async fn over_the_bus(responders: usize) -> Duration {
    let dispatcher: Dispatcher<Call> = Dispatcher::new();
    for number in 0..responders {
        let serve = Serve::new("one").on("tools.requests", KeyPattern::new(&format!("other_{number}")));
        dispatcher.serve_with(serve, drop);
    }
    let all = Serve::new("all").on("tools.requests", KeyPattern::any());
    dispatcher.serve_with(all, |claim| {
        tokio::spawn(async move {
            std::hint::black_box(claim.0.len());
            claim.settle();
        });
    });
    let began = Instant::now();
    for number in 0..REQUESTS {
        dispatcher.request(call(number)).unwrap().ended().await;
    }
    began.elapsed() / REQUESTS
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let (mut alone, mut few, mut many) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(direct().await);
        few.push(over_the_bus(0).await);
        many.push(over_the_bus(100).await);
    }
    let (alone, few, many) = (median(alone), median(few), median(many));
    println!("a direct call, as a task     {alone:?}");
    let more = few.saturating_sub(alone);
    println!("over the bus                 {few:?}, {more:?} more");
    println!(
        "over the bus, 101 responders {many:?}, {:?} more",
        many.saturating_sub(alone)
    );
    assert!(
        more <= BAR,
        "a request over the bus takes more than {BAR:?} longer"
    );
}
