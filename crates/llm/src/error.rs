//! Refusals of a provider as data: whatever shape the body has, a stable code, words for people, and whether
//! and when it is worth asking again. The caller maps it to `attempt_failed` and decides about retries.

mod classify;
mod extra_keys;
mod extract;
mod http_date;
mod max_tokens;
mod overflow;
mod refused_parts;
mod refused_setting;
mod retry_after;
mod template;

use std::fmt;

use agentx_types::{Overflow, RequestPart, Timestamp};

use classify::classify;
pub(crate) use extract::Extracted;

/// The most characters of a provider's words that are kept.
const MESSAGE_CHARS: usize = 1_000;

/// What kind of refusal it is. Its text form is stable: logs and programs rely on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorCode {
    /// The key is missing or wrong.
    Unauthorized,
    /// The key is right but may not do this.
    Forbidden,
    /// No such model or address.
    NotFound,
    /// The request has too many bytes.
    TooLarge,
    /// Too many requests or tokens for now.
    RateLimited,
    /// The provider has no room for now.
    Overloaded,
    /// The provider failed.
    ServerError,
    /// The provider took too long.
    Timeout,
    /// The request came in the way of another one.
    Conflict,
    /// The request makes no sense to the provider.
    BadRequest,
    /// The conversation does not fit into the model.
    ContextWindow,
    /// There is no money left.
    Billing,
    /// The provider's filter refused the request.
    ContentFilter,
    /// The provider refused what its own model wrote, for example a tool call that is not valid.
    BadGeneration,
    /// The answer is not what the API promises.
    BadResponse,
    /// The answer broke off.
    StreamBroken,
}

impl ErrorCode {
    /// As it is written in logs and for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::TooLarge => "too_large",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server_error",
            Self::Timeout => "timeout",
            Self::Conflict => "conflict",
            Self::BadRequest => "bad_request",
            Self::ContextWindow => "context_window",
            Self::Billing => "billing",
            Self::ContentFilter => "content_filter",
            Self::BadGeneration => "bad_generation",
            Self::BadResponse => "bad_response",
            Self::StreamBroken => "stream_broken",
        }
    }

    /// Whether the same request may well succeed a little later.
    pub fn is_retryable(self) -> bool {
        match self {
            Self::RateLimited
            | Self::Overloaded
            | Self::ServerError
            | Self::Timeout
            | Self::Conflict
            | Self::BadGeneration
            | Self::BadResponse
            | Self::StreamBroken => true,
            Self::Unauthorized
            | Self::Forbidden
            | Self::NotFound
            | Self::TooLarge
            | Self::BadRequest
            | Self::ContextWindow
            | Self::Billing
            | Self::ContentFilter => false,
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A refusal of a provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ModelError {
    /// What kind it is.
    pub code: ErrorCode,
    /// The provider's own words, or ours if it has none; one line, at most 1,000 characters.
    pub message: String,
    /// Whether the same request may well succeed later.
    pub retryable: bool,
    /// How many milliseconds the provider wants the caller to wait, if it said so.
    pub retry_after_ms: Option<u64>,
    /// The HTTP status, or the status that an error inside a stream names.
    pub status: Option<u16>,
    /// Where the conversation does not fit into the model: what the provider says about sizes.
    pub overflow: Option<Overflow>,
    /// Which part of the request is refused for its form, where it is.
    pub refused: Option<RequestPart>,
    /// Where the longest answer that was asked for is refused: how many tokens it may have, if the provider
    /// says so.
    pub longest_answer: Option<u64>,
}

impl ModelError {
    /// An error in the words of a stream, without a status.
    pub(crate) fn of(code: ErrorCode, message: &str) -> Self {
        Self {
            code,
            message: shorten(message),
            retryable: code.is_retryable(),
            retry_after_ms: None,
            status: None,
            overflow: None,
            refused: None,
            longest_answer: None,
        }
    }

    /// Whether the model, or its server as it was started, takes no tools: it refuses every request that
    /// offers some.
    pub fn takes_no_tools(&self) -> bool {
        self.code == ErrorCode::BadRequest && template::takes_no_tools(&self.message.to_ascii_lowercase())
    }
}

/// Reads a refusal: any status that is not a success, any body (the provider's JSON, a gateway's HTML,
/// nothing at all).
///
/// `headers` are looked up without regard to case: `retry-after-ms`, `retry-after` (seconds or a date, which
/// `now` is held against) and `x-should-retry`. Where no header says how long to wait, the message may:
/// "Please try again in 1.5s".
///
/// ```
/// use agentx_llm::{ErrorCode, decode_error};
/// use agentx_types::{Overflow, Timestamp};
///
/// let body = br#"{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}"#;
/// let error = decode_error(429, &[("retry-after", "2")], body, Timestamp(0));
/// assert_eq!((error.code, error.retry_after_ms, error.retryable), (ErrorCode::RateLimited, Some(2_000), true));
/// assert_eq!(error.message, "Slow down");
/// ```
pub fn decode_error(status: u16, headers: &[(&str, &str)], body: &[u8], now: Timestamp) -> ModelError {
    let extracted = extract::from_body(body);
    let resets_at = extracted
        .resets_at_ms
        .or_else(|| header(headers, "x-ratelimit-reset").and_then(retry_after::time_or_delay_ms));
    let mut error = from_extracted(Some(status), extracted);
    let until_reset = resets_at
        .filter(|_| error.code == ErrorCode::RateLimited)
        .and_then(|at| Some(Timestamp(i64::try_from(at.checked_mul(1_000)?).ok()?).millis_since(now)));
    error.retry_after_ms = retry_after_ms(headers, now)
        .or(error.retry_after_ms)
        .or(until_reset);
    match header(headers, "x-should-retry") {
        Some("true") => error.retryable = error.code != ErrorCode::Billing,
        Some("false") => error.retryable = false,
        _ => {}
    }
    error
}

/// An error event inside a stream, or an error object in the body of a success. `error` is the object itself
/// or whatever is around it.
pub(crate) fn from_stream(error: &str) -> ModelError {
    let extracted = extract::from_body(error.as_bytes());
    from_extracted(extracted.status, extracted)
}

fn from_extracted(status: Option<u16>, extracted: Extracted) -> ModelError {
    let code = classify(status, &extracted);
    let said = shorten(&extracted.message);
    let of_a_day = extracted.of_a_day && code == ErrorCode::RateLimited;
    let message = match said.as_str() {
        "" => default_message(status, code),
        _ if of_a_day => format!("{said} ({})", retry_after::UNTIL_MIDNIGHT),
        _ => said,
    };
    ModelError {
        code,
        message,
        retryable: (code.is_retryable() && !of_a_day) || asks_again(code, &extracted.message),
        retry_after_ms: extracted
            .wait_ms
            .or_else(|| retry_after::in_words(&extracted.message))
            .filter(|_| code.is_retryable()),
        refused: refused_parts::refused(code, status, &extracted),
        longest_answer: max_tokens::allowed(code, &extracted.message),
        status,
        overflow: (code == ErrorCode::ContextWindow).then(|| overflow::read(&extracted)),
    }
}

/// Whether the provider itself says that the same request may pass: "Unable to process input image. Please
/// retry your request."
fn asks_again(code: ErrorCode, message: &str) -> bool {
    code == ErrorCode::BadRequest && message.to_ascii_lowercase().contains("please retry your request")
}

fn default_message(status: Option<u16>, code: ErrorCode) -> String {
    match status {
        Some(status) => format!("HTTP {status} without a message ({code})"),
        None => format!("an error without a message ({code})"),
    }
}

/// One line, without control characters, cut to a length that fits on a screen.
fn shorten(message: &str) -> String {
    let line = message
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty());
    let mut out = String::new();
    let mut chars = 0;
    for word in line {
        let space = usize::from(!out.is_empty());
        let room = MESSAGE_CHARS.saturating_sub(chars + space);
        if space == 1 {
            out.push(' ');
        }
        let count = word.chars().count();
        if count > room {
            out.extend(word.chars().take(room));
            out.push('…');
            return out;
        }
        out.push_str(word);
        chars += space + count;
    }
    out
}

fn header<'h>(headers: &[(&str, &'h str)], name: &str) -> Option<&'h str> {
    headers
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim())
}

fn retry_after_ms(headers: &[(&str, &str)], now: Timestamp) -> Option<u64> {
    if let Some(ms) = header(headers, "retry-after-ms").and_then(number) {
        return Some(ms as u64);
    }
    let value = header(headers, "retry-after")?;
    if let Some(seconds) = number(value) {
        return Some((seconds * 1_000.0) as u64);
    }
    http_date::parse(value).map(|at| at.millis_since(now))
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0)
}
