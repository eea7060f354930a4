//! The body of a streaming answer: the pieces that have arrived, and the time limit of the next one.

use std::time::Duration;

use agentx_llm::{StreamDecoder, StreamError};
use agentx_types::{Api, EnvironmentEvent};
use tokio::time::Instant;

use super::content_coding::IncomingBody;
use super::stream_pace::StreamPace;

/// The time to wait for the usage and the end of an answer after its stop reason. Some servers keep the
/// connection open.
const END_TIME: Duration = Duration::from_secs(5);

/// Returns the content type of an answer that streams.
pub(super) fn stream_type(api: Api) -> &'static str {
    match api {
        Api::Bedrock | Api::BedrockConverse => "application/vnd.amazon.eventstream",
        _ => "text/event-stream",
    }
}

/// The body of an answer that streams.
pub(super) struct StreamingBody {
    pub(super) incoming: IncomingBody,
    /// A piece that was read before, if any.
    pub(super) first: Option<Vec<u8>>,
    /// The deadline for its next piece.
    pub(super) until: Instant,
    /// The time of the last piece with content, other than a keep-alive.
    pub(super) heard: Instant,
    pub(super) bytes: usize,
    pub(super) flow: StreamPace,
    /// Whether its content type is not that of an event stream.
    pub(super) hopeless: bool,
    pub(super) decoder: StreamDecoder,
}

impl StreamingBody {
    /// Returns a body of which nothing was decoded. `first` was read before, and the next piece has to come
    /// by `until`.
    pub(super) fn new(
        incoming: IncomingBody,
        decoder: StreamDecoder,
        first: Option<Vec<u8>>,
        until: Instant,
        hopeless: bool,
    ) -> Self {
        Self {
            incoming,
            first,
            until,
            heard: Instant::now(),
            bytes: 0,
            flow: StreamPace::default(),
            hopeless,
            decoder,
        }
    }

    /// Decodes a piece that came at `now` and sets the deadline for the next one: `idle` later, or, after the
    /// reason to stop, a few seconds after that reason, however much follows it.
    pub(super) fn decode(
        &mut self,
        piece: &[u8],
        events: &mut Vec<EnvironmentEvent>,
        now: Instant,
        idle: Duration,
    ) -> Result<(), StreamError> {
        self.bytes += piece.len();
        let had_stop_reason = self.decoder.has_stop_reason();
        let decoded = self.decoder.push(piece, events);
        if !had_stop_reason {
            let is_last = self.decoder.has_stop_reason();
            self.until = now + if is_last { idle.min(END_TIME) } else { idle };
        }
        decoded
    }
}
