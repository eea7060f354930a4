//! Decodes a streamed answer of Anthropic's models at Bedrock: each `chunk` frame holds one event of the
//! Messages API as base64, and an exception ends the answer.

use agentx_types::{EnvironmentEvent, Timestamp};
use serde::Deserialize;

use super::frames::{EventStreamFrame, FrameDecoder, FrameError, FrameKind};
use crate::anthropic::MessageState;
use crate::base64;
use crate::error::decode_error;
use crate::event_stream::EventStream;
use crate::stream_context::StreamContext;
use crate::stream_error::StreamError;

/// The payload of a `chunk`.
#[derive(Deserialize)]
struct Chunk {
    bytes: String,
}

/// A streamed answer that is decoded as its bytes come.
#[derive(Clone, Debug)]
pub struct BedrockDecoder {
    frames: FrameDecoder,
    answer: EventStream<MessageState>,
}

impl BedrockDecoder {
    /// Returns a decoder for one answer.
    pub fn new(context: StreamContext) -> Self {
        Self {
            frames: FrameDecoder::default(),
            answer: EventStream::new(MessageState::new(context)),
        }
    }

    /// Decodes the next bytes and adds the events to `out`.
    ///
    /// # Errors
    /// Returns [`StreamError::Provider`] for an exception in the stream, and [`StreamError::Malformed`] if
    /// the bytes are not frames of events. Nothing may be pushed after an error.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        let mut frames = Vec::new();
        let read = self.frames.push(bytes, &mut frames);
        for frame in &frames {
            self.frame(frame, out)?;
        }
        match read {
            Err(error) if !self.answer.is_done() => Err(frame_error(error)),
            _ => Ok(()),
        }
    }

    /// Ends the answer: the server has closed the connection.
    ///
    /// # Errors
    /// Returns [`StreamError::Truncated`] if the answer is not complete.
    pub fn finish(&mut self, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        match self.answer.finish(out) {
            Err(StreamError::NotAStream { .. }) => Err(StreamError::Truncated),
            result => result,
        }
    }

    /// Returns whether the answer is complete: no event follows.
    pub fn is_done(&self) -> bool {
        self.answer.is_done()
    }

    /// Returns whether the answer has its stop reason: at most its usage follows.
    pub fn has_stop_reason(&self) -> bool {
        self.answer.has_stop_reason()
    }

    fn frame(
        &mut self,
        frame: &EventStreamFrame,
        out: &mut Vec<EnvironmentEvent>,
    ) -> Result<(), StreamError> {
        if self.answer.is_done() {
            return Ok(());
        }
        if frame.kind != FrameKind::Event {
            return Err(StreamError::Provider(exception_error(frame)));
        }
        if frame.name != "chunk" {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&frame.payload);
        let chunk: Chunk =
            serde_json::from_str(&text).map_err(|error| StreamError::malformed(error, &text))?;
        let event = base64::decode(&chunk.bytes)
            .ok_or_else(|| StreamError::malformed("a chunk that is not base64", &text))?;
        let event = String::from_utf8_lossy(&event).replace(['\r', '\n'], " ");
        self.answer.push(format!("data: {event}\n\n").as_bytes(), out)
    }
}

/// Returns the error of bytes that are not frames.
pub(crate) fn frame_error(error: FrameError) -> StreamError {
    StreamError::Malformed {
        detail: error.to_string(),
    }
}

/// Returns the error of an exception, as if its status had come instead of an answer
/// (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ResponseStream.html>).
pub(crate) fn exception_error(frame: &EventStreamFrame) -> crate::error::ModelError {
    let status = match frame.name.as_str() {
        "throttlingException" => 429,
        "validationException" => 400,
        "accessDeniedException" => 403,
        "resourceNotFoundException" => 404,
        "modelTimeoutException" => 408,
        "modelStreamErrorException" => 424,
        "serviceUnavailableException" => 503,
        _ => 500,
    };
    let words = if frame.message.is_empty() {
        &frame.payload
    } else {
        frame.message.as_bytes()
    };
    // No header came that names a time, so the present does not matter.
    let headers = [("x-amzn-errortype", frame.name.as_str())];
    decode_error(status, &headers, words, Timestamp(0))
}
