//! Streams of models: the reader of server-sent events and the decoders of the vendors' answers on top of it.
//! However the bytes are cut the result is the same, and it is bounded by what came.

use agentx_llm::sse::{SseDecoder, SseError, SseLimits};
use agentx_llm::{StreamContext, StreamDecoder, StreamError, decode_body, decode_error};
use agentx_types::{Api, EnvironmentEvent, Timestamp};

/// So low that a few bytes break them.
const LIMITS: SseLimits = SseLimits {
    max_line: 64,
    max_event: 96,
};
/// The events of an answer have at most this many bytes for each byte of the stream, and `BESIDES` bytes
/// more.
const GROWTH: usize = 64;
const BESIDES: usize = 4096;

/// The first byte says how the rest is cut, the second one which API it is of.
pub fn check(data: &[u8]) {
    let Some(([seed, api], bytes)) = data.split_first_chunk() else {
        return;
    };
    let cuts = cuts(bytes, *seed);
    let each = || bytes.chunks(1);
    for limits in [LIMITS, SseLimits::default()] {
        let whole = events([bytes], limits);
        assert_eq!(events(cuts.iter().copied(), limits), whole, "cut");
        assert_eq!(events(each(), limits), whole, "a byte at a time");
    }
    let apis = [
        Api::Anthropic,
        Api::OpenaiChat,
        Api::OpenaiResponses,
        Api::Gemini,
        Api::GeminiInteractions,
        Api::Bedrock,
        Api::BedrockConverse,
    ];
    let api = apis[usize::from(api % 7)];
    let whole = answer([bytes], api);
    assert_eq!(answer(cuts.iter().copied(), api), whole, "cut");
    assert_eq!(answer(each(), api), whole, "a byte at a time");
    assert_bounded(bytes, &whole.0);
    let mut out = Vec::new();
    let _ = decode_body(api, context(), bytes, &mut out);
    assert_bounded(bytes, &out);
    let error = decode_error(400 + u16::from(*seed), &[], bytes, Timestamp(0));
    assert!(error.message.len() <= GROWTH * bytes.len() + BESIDES);
}

/// Pieces of 0 to 15 bytes, as an arithmetic sequence gives them.
fn cuts(bytes: &[u8], seed: u8) -> Vec<&[u8]> {
    let (mut rest, mut state) = (bytes, u32::from(seed));
    let mut cuts = Vec::new();
    while !rest.is_empty() {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        let (cut, after) = rest.split_at(rest.len().min((state >> 16) as usize % 16));
        cuts.push(cut);
        rest = after;
    }
    cuts
}

/// Name, data and last id of each event, how long the server wants a client to wait, and what ended it.
type Read = (Vec<(String, String, String)>, Option<u64>, Option<SseError>);

fn events<'b>(pieces: impl IntoIterator<Item = &'b [u8]>, limits: SseLimits) -> Read {
    let mut decoder = SseDecoder::new(limits);
    let mut seen = Vec::new();
    let mut broken = None;
    for piece in pieces {
        let pushed = decoder.push(piece, |event| {
            seen.push((event.event.to_owned(), event.data.to_owned(), event.id.to_owned()));
            Ok::<_, SseError>(())
        });
        if let Err(error) = pushed {
            broken = Some(error);
            break;
        }
    }
    if broken.is_none() {
        let finished = decoder.finish(|event| {
            seen.push((event.event.to_owned(), event.data.to_owned(), event.id.to_owned()));
            Ok::<_, SseError>(())
        });
        broken = finished.err();
    }
    (seen, decoder.retry_ms(), broken)
}

fn context() -> StreamContext {
    StreamContext::new("msg_fallback", 1)
}

fn answer<'b>(
    pieces: impl IntoIterator<Item = &'b [u8]>,
    api: Api,
) -> (Vec<EnvironmentEvent>, Option<StreamError>) {
    let mut decoder = StreamDecoder::new(api, context());
    let mut out = Vec::new();
    for piece in pieces {
        if let Err(error) = decoder.push(piece, &mut out) {
            return (out, Some(error));
        }
    }
    let finished = decoder.finish(&mut out);
    (out, finished.err())
}

fn assert_bounded(bytes: &[u8], said: &[EnvironmentEvent]) {
    let said = serde_json::to_vec(said).unwrap_or_default().len();
    assert!(
        said <= GROWTH * bytes.len() + BESIDES,
        "{said} bytes of {}",
        bytes.len()
    );
}
