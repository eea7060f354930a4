//! The pieces of a stream are emitted one by one if they come slowly, and together if they come fast; none is
//! lost, each stays separate, and their order stays. The clock stops unless the test advances it.

use std::sync::mpsc;
use std::time::Duration;

use agentx_testing::{Gate, ServerReply, TestServer, fixture, start, wire};
use agentx_types::EnvironmentEvent as E;

use crate::Caller;

/// Longer than the pauses between pieces of a fast stream.
const SLOW: Duration = Duration::from_millis(6);
/// The number of pieces in quick succession after which a stream counts as fast.
const FLOWS: usize = 16;

/// A clock that does not advance on its own, as it would in a paused and idle runtime that waits for a
/// socket.
struct StandingStill(
    #[expect(dead_code, reason = "what is at work waits until it is dropped")] mpsc::Sender<()>,
);

impl StandingStill {
    fn new() -> Self {
        let (sender, receiver) = mpsc::channel();
        tokio::task::spawn_blocking(move || receiver.recv());
        Self(sender)
    }
}

fn word(n: usize) -> String {
    format!("word{n} ")
}

/// The emitted words, one for each event.
fn words(said: &agentx_testing::EffectorOutput) -> Vec<String> {
    let text = |event: &E| match event {
        E::TextChunk(chunk) => Some(chunk.text.clone()),
        _ => None,
    };
    said.events.iter().filter_map(text).collect()
}

/// A stream that begins, emits these words, each in its own piece, and ends.
fn said_fast(count: usize) -> ServerReply {
    let begun = ServerReply::stream().then(wire::anthropic_start());
    let words = (0..count).fold(begun, |reply, n| reply.then(wire::anthropic_delta(&word(n))));
    words.then(wire::anthropic_end())
}

#[tokio::test(start_paused = true)]
async fn pieces_that_flow_are_said_together_and_told_apart() {
    let _still = StandingStill::new();
    let server = TestServer::start([said_fast(100)]).await;
    let said = Caller::at(&server.url()).call().await;
    let expected: Vec<String> = (0..100).map(word).collect();
    assert_eq!(words(&said), expected);
    // The start, which is two events, and the pieces before the stream is known to be fast.
    let (alone, together) = said.batches.split_at(FLOWS - 1);
    assert_eq!(alone, [&[2][..], &[1; FLOWS - 2]].concat());
    // The rest as one piece, with the usage and the end of the stream.
    assert_eq!(together, [100 - (FLOWS - 2) + 2]);
}

#[tokio::test(start_paused = true)]
async fn pieces_that_come_slowly_are_said_at_once() {
    let _still = StandingStill::new();
    let gates: Vec<Gate> = (0..40).map(|_| Gate::closed()).collect();
    let begun = ServerReply::stream().then(wire::anthropic_start());
    let slow = gates.iter().enumerate().fold(begun, |reply, (n, gate)| {
        reply.then_stall(gate).then(wire::anthropic_delta(&word(n)))
    });
    let server = TestServer::start([slow.then(wire::anthropic_end())]).await;
    let caller = Caller::at(&server.url());
    let mut call = start(&caller.effector, fixture::call(caller.request()));
    assert_eq!(call.next().await, Some(2));
    for (n, gate) in gates.iter().enumerate().take(39) {
        tokio::time::advance(SLOW).await;
        gate.open();
        // The clock has stopped: the piece is emitted without a wait.
        assert_eq!(call.next().await, Some(1), "{}", word(n));
    }
    tokio::time::advance(SLOW).await;
    gates[39].open();
    let said = call.finish().await;
    let expected: Vec<String> = (0..40).map(word).collect();
    assert_eq!(words(&said), expected);
}

#[tokio::test(start_paused = true)]
async fn what_is_held_back_is_said_where_nothing_follows() {
    let _still = StandingStill::new();
    let gate = Gate::closed();
    let begun = ServerReply::stream().then(wire::anthropic_start());
    let flowing = (0..FLOWS - 1).fold(begun, |reply, n| reply.then(wire::anthropic_delta(&word(n))));
    let reply = flowing.then_stall(&gate).then(wire::anthropic_end());
    let server = TestServer::start([reply]).await;
    let caller = Caller::at(&server.url());
    let mut call = start(&caller.effector, fixture::call(caller.request()));
    for n in 0..FLOWS - 1 {
        assert_eq!(call.next().await, Some(if n == 0 { 2 } else { 1 }));
    }
    // The last one would be emitted with the next ones, which do not come.
    gate.reached().await;
    tokio::time::advance(SLOW).await;
    assert_eq!(call.next().await, Some(1));
    assert_eq!(words(call.output()).last(), Some(&word(FLOWS - 2)));
    gate.open();
    let said = call.finish().await;
    assert_eq!(words(&said).len(), FLOWS - 1);
}
