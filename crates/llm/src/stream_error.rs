//! Reasons why a stream of any API failed.

use crate::error::{ErrorCode, ModelError};
use crate::sse::SseError;

/// The reason why a stream failed. The events before the failure stay valid; the caller ends the stream as
/// broken.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StreamError {
    /// The bytes ended before the answer was complete.
    #[error("the answer broke off: the stream ended before its last event")]
    Truncated,
    /// The bytes are not an event stream, but HTML or plain text, for example.
    #[error("the answer is not an event stream: {head}")]
    NotAStream {
        /// The first 300 bytes of the answer, as text.
        head: String,
    },
    /// The provider reports an error inside the stream or in the body of a success.
    #[error("{0}")]
    Provider(ModelError),
    /// An event or the body does not have the form that the API promises.
    #[error("the answer is not what the API promises: {detail}")]
    Malformed {
        /// The error of the reader, with the beginning of the data.
        detail: String,
    },
    /// The arguments of the tool calls exceed the limit.
    #[error("the arguments of the tool calls are longer than {limit} bytes")]
    ArgumentsTooLong {
        /// The limit for all arguments of one answer, in bytes.
        limit: usize,
    },
    /// A line or an event exceeds a limit of [`SseLimits`](crate::sse::SseLimits).
    #[error("{0}")]
    Sse(#[from] SseError),
}

impl StreamError {
    /// Returns the error for malformed data, with the beginning of the data.
    pub(crate) fn malformed(what: impl std::fmt::Display, data: &str) -> Self {
        const SHOWN: usize = 200;
        let (shown, more) = match data.char_indices().nth(SHOWN) {
            Some((end, _)) => (&data[..end], "…"),
            None => (data, ""),
        };
        Self::Malformed {
            detail: format!("{what} in {shown}{more}"),
        }
    }

    /// Converts the error to a [`ModelError`], for callers that treat every failure alike. Streams that broke
    /// off or are malformed are retryable; streams that exceed a limit are not.
    pub fn into_model_error(self) -> ModelError {
        let (code, retryable) = match &self {
            Self::Provider(error) => return error.clone(),
            Self::Truncated => (ErrorCode::StreamBroken, true),
            Self::NotAStream { .. } | Self::Malformed { .. } => (ErrorCode::BadResponse, true),
            Self::Sse(_) | Self::ArgumentsTooLong { .. } => (ErrorCode::BadResponse, false),
        };
        ModelError {
            code,
            message: self.to_string(),
            retryable,
            retry_after_ms: None,
            status: None,
            overflow: None,
            refused: None,
            longest_answer: None,
            most_media: None,
            place: None,
        }
    }
}
