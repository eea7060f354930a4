//! However the bytes of a stream arrive, the events are the same; wherever they end, the received part is
//! kept, the end is a clear error, and no tool call is invented.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests read files and print"
)]

use crate::common;

use std::collections::BTreeMap;

use crate::common::{context, decode, random_pieces};
use agentx_llm::{StreamDecoder, StreamError};
use agentx_types::{Api, EnvironmentEvent};

const FIXTURES: [(Api, &str); 5] = [
    (Api::Anthropic, include_str!("fixtures/anthropic_full.sse")),
    (Api::OpenaiChat, include_str!("fixtures/chat_full.sse")),
    (Api::OpenaiResponses, include_str!("fixtures/responses_full.sse")),
    (Api::Gemini, include_str!("fixtures/gemini_full.sse")),
    (
        Api::GeminiInteractions,
        include_str!("fixtures/interactions_full.sse"),
    ),
];

/// All streams, with their names.
fn streams(cases: &str) -> Vec<(String, String, Api, Vec<u8>)> {
    let mut streams: Vec<_> = FIXTURES
        .iter()
        .map(|(api, text)| {
            (
                "made up".to_owned(),
                api.as_str().to_owned(),
                *api,
                text.as_bytes().to_vec(),
            )
        })
        .collect();
    if let Some(recordings) = common::recordings(cases) {
        for recording in common::all(&recordings) {
            if let Some(bytes) = recording.bytes("response.sse")
                && recording.status() < 400
            {
                streams.push((recording.provider.clone(), recording.name(), recording.api, bytes));
            }
        }
        assert!(streams.len() > 60, "the recordings are there: {}", streams.len());
    }
    streams
}

#[test]
fn a_byte_at_a_time_and_in_random_pieces_it_is_the_same() {
    let streams = streams("73 streams in pieces");
    println!("delivered in pieces: {} streams", streams.len());
    for (_, name, api, bytes) in streams {
        let whole = decode(api, [bytes.as_slice()]);
        assert!(!whole.0.is_empty(), "{name}");
        assert_eq!(decode(api, bytes.chunks(1)), whole, "{name}: a byte at a time");
        for seed in 1..=5 {
            assert_eq!(
                decode(api, random_pieces(&bytes, seed)),
                whole,
                "{name}: in pieces, seed {seed}"
            );
        }
    }
}

#[test]
fn other_line_ends_make_no_difference() {
    for (api, text) in FIXTURES {
        let whole = decode(api, [text.as_bytes()]);
        for end in ["\r\n", "\r"] {
            let text = format!("\u{feff}{}", text.replace('\n', end));
            assert_eq!(decode(api, [text.as_bytes()]), whole, "{end:?}");
            assert_eq!(
                decode(api, text.as_bytes().chunks(1)),
                whole,
                "{end:?}, a byte at a time"
            );
        }
    }
}

#[test]
fn cut_at_any_byte_it_ends_cleanly() {
    // One stream of each provider: the one with most kinds of events, of those that are not huge.
    let mut chosen: BTreeMap<String, (usize, String, Api, Vec<u8>)> = BTreeMap::new();
    for (provider, name, api, bytes) in streams("14 recorded streams cut at every byte") {
        let provider = format!("{provider} {}", api.as_str());
        let kinds = kinds(&decode(api, [bytes.as_slice()]).0);
        let best = chosen.get(&provider).map_or(0, |(kinds, ..)| *kinds);
        if kinds > best && bytes.len() < 120_000 {
            chosen.insert(provider, (kinds, name, api, bytes));
        }
    }
    let mut cuts = 0;
    for (_, name, api, bytes) in chosen.values() {
        cuts += cut_everywhere(name, *api, bytes);
    }
    println!("cut at every byte: {} streams, {cuts} cuts", chosen.len());
}

fn kinds(events: &[EnvironmentEvent]) -> usize {
    use agentx_types::Vocabulary as _;
    let tags: std::collections::BTreeSet<&str> = events.iter().map(|event| event.tag()).collect();
    tags.len()
}

/// Feeds one byte after another, and after each of them finishes a copy of the decoder.
fn cut_everywhere(name: &str, api: Api, bytes: &[u8]) -> usize {
    let (whole, _) = decode(api, [bytes]);
    let mut decoder = StreamDecoder::new(api, context());
    let mut said = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        let mut cut = decoder.clone();
        let mut events = said.clone();
        let result = cut.finish(&mut events);
        check_cut(&format!("{name} cut at {at}"), &events, &result, &whole);
        if decoder.push(&[*byte], &mut said).is_err() {
            return at;
        }
    }
    bytes.len()
}

fn check_cut(
    name: &str,
    events: &[EnvironmentEvent],
    result: &Result<(), StreamError>,
    whole: &[EnvironmentEvent],
) {
    use EnvironmentEvent as E;
    let ended = matches!(events.last(), Some(E::StreamEnd(_)));
    assert_eq!(result.is_ok(), ended, "{name}: {result:?}");
    // A broken stream also reports its usage so far, so usage is not compared.
    let kept: Vec<_> = events
        .iter()
        .filter(|event| !matches!(event, E::UsageReport(_)))
        .collect();
    let expected: Vec<_> = whole
        .iter()
        .filter(|event| !matches!(event, E::UsageReport(_)))
        .collect();
    match result {
        Ok(()) => assert_eq!(kept.len(), expected.len(), "{name}: an end before all was said"),
        Err(StreamError::Truncated | StreamError::NotAStream { .. } | StreamError::Provider(_)) => {}
        Err(error) => panic!("{name}: {error}"),
    }
    assert_eq!(kept, expected[..kept.len()], "{name}: what came is kept");
}
