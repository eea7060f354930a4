//! The limits of one attempt of a model call.

use std::time::Duration;

/// Limits of one attempt, in time and size. While bytes come only silence ends an attempt: an answer of
/// 128,000 tokens streams for 20 to 35 minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// The maximum time to connect. Default 10 s.
    pub connect: Duration,
    /// From the request to the first byte of the answer's body. Default 10 min: some models reason in
    /// silence, and a local server may load the model first.
    pub first_byte: Duration,
    /// Between two pieces of the body. Default 10 min; keep-alive detects a dead connection earlier.
    pub idle: Duration,
    /// The whole attempt; `None`, the default, for as long as bytes come.
    pub total: Option<Duration>,
    /// Bytes of one body. Default 64 MiB. (A line or event of a stream is bounded by its decoder.)
    pub max_body_bytes: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(10 * 60),
            idle: Duration::from_secs(10 * 60),
            total: None,
            max_body_bytes: 64 << 20,
        }
    }
}
