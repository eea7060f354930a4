//! The speed of decoding recorded streams into EnvironmentEvents, as a ratio to sse-stream and
//! `serde_json::Value` on the same bytes in the same run. It prints figures and asserts nothing.
//!
//! `cargo bench -p agentx-llm --bench decode`. The recordings are taken from the same folder as in the tests;
//! without them the made-up streams are measured.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a benchmark reads clocks and files and prints"
)]

use std::convert::Infallible;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use agentx_llm::{StreamContext, StreamDecoder};
use agentx_types::Api;
use futures_core::Stream;
use serde_json::Value;

/// The size of a piece of input: about what one read of a socket gives.
const PIECE: usize = 4_096;
const ROUNDS: usize = 41;

fn main() {
    let streams = recorded().unwrap_or_else(made_up);
    let bytes: usize = streams.iter().map(|(_, bytes)| bytes.len()).sum();
    println!(
        "{} streams, {:.2} MB, in pieces of {PIECE} bytes",
        streams.len(),
        bytes as f64 / 1e6
    );
    let (mut ours, mut theirs) = (Duration::ZERO, Duration::ZERO);
    let (mut events, mut values) = (0, 0);
    for (api, bytes) in &streams {
        // Alternately, so that both have the same conditions; the fastest round counts, because slower ones
        // only measure other programs.
        let (mut our_best, mut their_best) = (Duration::MAX, Duration::MAX);
        let (mut our_count, mut their_count) = (0, 0);
        for _ in 0..ROUNDS {
            our_best = our_best.min(timed(|| our_count = decode(*api, bytes)));
            their_best = their_best.min(timed(|| their_count = reference(bytes)));
        }
        ours += our_best;
        theirs += their_best;
        events += our_count;
        values += their_count;
    }
    let rate = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    println!(
        "agentx-llm                      {:8.1} MB/s  {events} events",
        rate(ours)
    );
    println!(
        "sse-stream + serde_json::Value  {:8.1} MB/s  {values} values",
        rate(theirs)
    );
    println!(
        "ratio                           {:8.2}",
        theirs.as_secs_f64() / ours.as_secs_f64()
    );
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn decode(api: Api, bytes: &[u8]) -> usize {
    let mut decoder = StreamDecoder::new(api, StreamContext::new("msg", 1));
    let mut events = Vec::new();
    let mut count = 0;
    for piece in bytes.chunks(PIECE) {
        // Some recorded streams end in an error: that is part of the work.
        let _ = decoder.push(piece, &mut events);
        count += black_box(&events).len();
        events.clear();
    }
    let _ = decoder.finish(&mut events);
    count + events.len()
}

fn reference(bytes: &[u8]) -> usize {
    let mut stream = pin!(sse_stream::SseByteStream::new(Pieces(bytes)));
    let mut context = Context::from_waker(Waker::noop());
    let mut count = 0;
    while let Poll::Ready(Some(Ok(event))) = stream.as_mut().poll_next(&mut context) {
        if let Some(Ok(value)) = event.data.as_deref().map(serde_json::from_str::<Value>) {
            black_box(&value);
            count += 1;
        }
    }
    count
}

/// Bytes as a stream of pieces that are always ready.
struct Pieces<'b>(&'b [u8]);

impl<'b> Stream for Pieces<'b> {
    type Item = Result<&'b [u8], Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.0.is_empty() {
            return Poll::Ready(None);
        }
        let (piece, rest) = self.0.split_at(PIECE.min(self.0.len()));
        self.0 = rest;
        Poll::Ready(Some(Ok(piece)))
    }
}

fn recorded() -> Option<Vec<(Api, Vec<u8>)>> {
    let root = std::env::var_os("AGENTX_TEST_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let mut streams = Vec::new();
    for provider in std::fs::read_dir(root.join("recordings")).ok()? {
        for (folder, api) in [
            ("messages", Api::Anthropic),
            ("chat_completions", Api::OpenaiChat),
            ("responses", Api::OpenaiResponses),
            ("streamGenerateContent", Api::Gemini),
        ] {
            let Ok(files) = std::fs::read_dir(provider.as_ref().ok()?.path().join(folder)) else {
                continue;
            };
            let files = files.filter_map(|file| Some(file.ok()?.path()));
            let files = files.filter(|file| file.extension().is_some_and(|extension| extension == "sse"));
            streams.extend(files.filter_map(|file| Some((api, std::fs::read(file).ok()?))));
        }
    }
    (!streams.is_empty()).then_some(streams)
}

fn made_up() -> Vec<(Api, Vec<u8>)> {
    println!("no recordings: made-up streams instead");
    let fixtures: [(Api, &[u8]); 4] = [
        (
            Api::Anthropic,
            include_bytes!("../tests/fixtures/anthropic_full.sse"),
        ),
        (Api::OpenaiChat, include_bytes!("../tests/fixtures/chat_full.sse")),
        (
            Api::OpenaiResponses,
            include_bytes!("../tests/fixtures/responses_full.sse"),
        ),
        (Api::Gemini, include_bytes!("../tests/fixtures/gemini_full.sse")),
    ];
    fixtures
        .iter()
        .cycle()
        .take(200)
        .map(|(api, bytes)| (*api, bytes.to_vec()))
        .collect()
}
