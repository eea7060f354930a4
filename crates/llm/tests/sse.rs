//! Server-sent events: the format's rules one by one, any split gives the same events as a plain reading of
//! the whole, and no bytes make a decoder panic.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use agentx_llm::sse::{SseDecoder, SseError, SseLimits};
use agentx_llm::{StreamContext, StreamDecoder, decode_body, decode_error};
use agentx_types::{Api, EnvironmentEvent, Timestamp};
use proptest::prelude::*;

/// Name, data and last id of an event.
type Event = (String, String, String);

fn decode<'p>(pieces: impl IntoIterator<Item = &'p [u8]>, limits: SseLimits) -> Result<Vec<Event>, SseError> {
    let mut decoder = SseDecoder::new(limits);
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece, |event| {
            events.push((event.event.to_owned(), event.data.to_owned(), event.id.to_owned()));
            Ok::<_, SseError>(())
        })?;
    }
    decoder.finish(|event| {
        events.push((event.event.to_owned(), event.data.to_owned(), event.id.to_owned()));
        Ok::<_, SseError>(())
    })?;
    Ok(events)
}

/// A plain parser of the same format for the whole text.
fn plain(bytes: &[u8]) -> Vec<Event> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut lines: Vec<Vec<u8>> = vec![Vec::new()];
    let mut index = 0;
    while index < bytes.len() {
        match bytes[index] {
            b'\n' => lines.push(Vec::new()),
            b'\r' => {
                lines.push(Vec::new());
                index += usize::from(bytes.get(index + 1) == Some(&b'\n'));
            }
            byte => lines.last_mut().expect("there is one").push(byte),
        }
        index += 1;
    }
    // The end of the stream ends the last line and the last event.
    lines.push(Vec::new());
    let (mut events, mut name, mut id) = (Vec::new(), Vec::new(), Vec::new());
    let mut data: Option<Vec<u8>> = None;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for line in lines {
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (&line[..], &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            _ if line.is_empty() => {
                if let Some(data) = data.take() {
                    events.push((text(&name), text(&data), text(&id)));
                }
                name.clear();
            }
            b"event" => name = value.to_vec(),
            b"id" if !value.contains(&0) => id = value.to_vec(),
            b"data" => match &mut data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => data = Some(value.to_vec()),
            },
            _ => {}
        }
    }
    events
}

fn event(name: &str, data: &str) -> Event {
    (name.into(), data.into(), String::new())
}

#[test]
fn the_rules_one_by_one() {
    let cases: [(&str, Vec<Event>); 14] = [
        ("data: a\n\n", vec![event("", "a")]),
        ("data:a\n\n", vec![event("", "a")]),
        ("data:  a \n\n", vec![event("", " a ")]),
        ("data: a\ndata: b\ndata\n\n", vec![event("", "a\nb\n")]),
        (
            "event: x\ndata: a\n\ndata: b\n\n",
            vec![event("x", "a"), event("", "b")],
        ),
        ("event: x\n\ndata: b\n\n", vec![event("", "b")]),
        (": comment\n:\ndata: a\n: another\n\n", vec![event("", "a")]),
        ("data\n\n", vec![event("", "")]),
        ("\n\n\n", vec![]),
        ("nonsense\nretry: 5\nfoo: bar\ndata: a\n\n", vec![event("", "a")]),
        (
            "data: a\r\rdata: b\r\n\r\ndata: c\n\r\n",
            vec![event("", "a"), event("", "b"), event("", "c")],
        ),
        ("\u{feff}data: a\n\n", vec![event("", "a")]),
        ("\u{feff}\u{feff}data: a\n\n", vec![]),
        ("data: cut", vec![event("", "cut")]),
    ];
    for (text, expected) in cases {
        assert_eq!(
            decode([text.as_bytes()], SseLimits::default()),
            Ok(expected.clone()),
            "{text:?}"
        );
        assert_eq!(
            decode(text.as_bytes().chunks(1), SseLimits::default()),
            Ok(expected),
            "{text:?}, a byte at a time"
        );
    }
}

#[test]
fn ids_last_and_retry_is_kept() {
    let mut decoder = SseDecoder::default();
    let mut ids = Vec::new();
    let text = "id: 1\ndata: a\n\ndata: b\n\nid: 2\0\nid\nretry: 250\nretry: x\ndata: c\n\n";
    decoder
        .push(text.as_bytes(), |event| {
            ids.push(event.id.to_owned());
            Ok::<_, SseError>(())
        })
        .expect("no limit is broken");
    assert_eq!(ids, ["1", "1", ""]);
    assert_eq!(decoder.retry_ms(), Some(250));
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let events = decode([b"data: a\xFFb\n\n".as_slice()], SseLimits::default()).expect("no limit is broken");
    assert_eq!(events, [event("", "a\u{FFFD}b")]);
    let split = decode(
        [b"data: \xE4".as_slice(), b"\xBD\xA0\n\n".as_slice()],
        SseLimits::default(),
    );
    assert_eq!(split, Ok(vec![event("", "你")]));
}

#[test]
fn limits_hold_however_the_bytes_arrive() {
    let limits = SseLimits {
        max_line: 20,
        max_event: 30,
    };
    let line = format!("data: {}\n\n", "x".repeat(14));
    assert!(decode([line.as_bytes()], limits).is_ok());
    for (text, error) in [
        (
            format!("data: {}\n\n", "x".repeat(15)),
            SseError::LineTooLong { limit: 20 },
        ),
        ("x".repeat(21), SseError::LineTooLong { limit: 20 }),
        (
            "data: 0123456789\n".repeat(3),
            SseError::EventTooLong { limit: 30 },
        ),
    ] {
        for size in [1, 7, text.len()] {
            assert_eq!(
                decode(text.as_bytes().chunks(size), limits),
                Err(error.clone()),
                "{text:?} by {size}"
            );
        }
    }
    let many = "data: 0123456789\n\n".repeat(1_000);
    assert_eq!(
        decode([many.as_bytes()], limits).expect("each is short").len(),
        1_000
    );
}

/// Text that is full of the format's special characters.
fn streamlike() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        Just(b"data: ".to_vec()),
        Just(b"data:".to_vec()),
        Just(b"event: x".to_vec()),
        Just(b"id: 7".to_vec()),
        Just(b": c".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n\n".to_vec()),
        Just("你☀️".as_bytes().to_vec()),
        Just(b"\xEF\xBB\xBF".to_vec()),
        Just(b"\xFF".to_vec()),
        "[a-z:]{0,6}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

/// Garbage that gets past the first checks: pieces of real chunks, cut and mixed.
fn chunklike() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&'static str> = vec![
        "data: ",
        "\n\n",
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "null",
        "1e999",
        "-1",
        "\"",
        "\\u0000",
        "\\ud800",
        "[DONE]",
        "event: error\n",
        "\"type\":\"content_block_delta\"",
        "\"type\":\"content_block_start\"",
        "\"type\":\"message_start\"",
        "\"type\":\"message_stop\"",
        "\"content_block\":{\"type\":\"tool_use\"}",
        "\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\"}",
        "\"message\":{\"id\":\"m\"}",
        "\"choices\":[{\"delta\":{\"content\":\"a\"}}]",
        "\"finish_reason\":\"stop\"",
        "\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":4294967296}]}}]",
        "\"usage\":{\"prompt_tokens\":-1}",
        "\"error\":{}",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..30).prop_map(|pieces| pieces.concat().into_bytes())
}

fn pieces<'b>(bytes: &'b [u8], cuts: &[prop::sample::Index]) -> Vec<&'b [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

fn run(api: Api, pieces: &[&[u8]]) -> (Vec<EnvironmentEvent>, bool) {
    let mut decoder = StreamDecoder::new(api, StreamContext::new("msg", 1));
    let mut events = Vec::new();
    let pushed = pieces
        .iter()
        .all(|piece| decoder.push(piece, &mut events).is_ok());
    let finished = decoder.finish(&mut events);
    (events, pushed && finished.is_ok())
}

/// The number of random cases: `PROPTEST_CASES` if it is set.
fn cases(usual: u32) -> u32 {
    const OF_PROPTEST: u32 = 256;
    match ProptestConfig::default().cases {
        OF_PROPTEST => usual,
        asked => asked,
    }
}

proptest! {
    // `PROPTEST_CASES` asks for more or, in `tests/run.sh quick`, for less.
    #![proptest_config(ProptestConfig { cases: cases(2_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_is_the_plain_reading(bytes in streamlike(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let expected = plain(&bytes);
        prop_assert_eq!(decode(pieces(&bytes, &cuts), SseLimits::default()).unwrap(), expected.clone());
        prop_assert_eq!(decode(bytes.chunks(1), SseLimits::default()).unwrap(), expected);
    }

    #[test]
    fn nothing_panics(bytes in prop_oneof![chunklike(), streamlike(), prop::collection::vec(any::<u8>(), 0..200)],
                      cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4), status in any::<u16>()) {
        for api in [Api::Anthropic, Api::OpenaiChat] {
            let (events, good) = run(api, &pieces(&bytes, &cuts));
            prop_assert_eq!(&events, &run(api, &[&bytes]).0);
            let ends = events.iter().filter(|event| matches!(event, EnvironmentEvent::StreamEnd(_))).count();
            prop_assert_eq!(ends, usize::from(good));
            let _ = decode_body(api, StreamContext::new("msg", 1), &bytes, &mut Vec::new());
        }
        prop_assert!(!decode_error(status, &[("retry-after", "1")], &bytes, Timestamp(0)).message.is_empty());
    }
}
