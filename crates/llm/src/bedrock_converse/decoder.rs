//! Decodes a streamed answer of Converse: each frame is an event with a name, and an exception ends the
//! answer.

use agentx_types::EnvironmentEvent;

use super::state::ConverseState;
use crate::bedrock::{EventStreamFrame, FrameDecoder, FrameKind, exception_error, frame_error};
use crate::stream_context::StreamContext;
use crate::stream_error::StreamError;

/// A streamed answer that is decoded as its bytes come.
#[derive(Clone, Debug)]
pub struct ConverseDecoder {
    frames: FrameDecoder,
    answer: ConverseState,
}

impl ConverseDecoder {
    /// Returns a decoder for one answer.
    pub fn new(context: StreamContext) -> Self {
        Self {
            frames: FrameDecoder::default(),
            answer: ConverseState::new(context),
        }
    }

    /// Decodes the next bytes and adds the events to `out`. Bytes after the end of the answer, and after an
    /// error, are ignored.
    ///
    /// # Errors
    /// Returns [`StreamError::Provider`] for an exception in the stream or a call that the model could not
    /// write, and [`StreamError::Malformed`] if the bytes are not frames of events.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        if self.is_done() {
            return Ok(());
        }
        let mut frames = Vec::new();
        let read = self.frames.push(bytes, &mut frames);
        let mut result = Ok(());
        for frame in &frames {
            result = self.frame(frame, out);
            if result.is_err() || self.is_done() {
                break;
            }
        }
        if result.is_ok() && !self.is_done() {
            result = read.map_err(frame_error);
        }
        if result.is_err() {
            self.answer.give_up();
        }
        result
    }

    /// Ends the answer: the server has closed the connection. An answer that has its stop reason is complete,
    /// even without the counts that should follow.
    ///
    /// # Errors
    /// Returns [`StreamError::Truncated`] if the answer is not complete.
    pub fn finish(&mut self, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        if self.is_done() {
            return Ok(());
        }
        let result = self.answer.close(out);
        if self.is_done() {
            return result;
        }
        self.answer.give_up();
        result.and(Err(StreamError::Truncated))
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
        if frame.kind != FrameKind::Event {
            return Err(StreamError::Provider(exception_error(frame)));
        }
        let payload = String::from_utf8_lossy(&frame.payload);
        self.answer.event(&frame.name, &payload, out)
    }
}
