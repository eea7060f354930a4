//! Refusals of a provider as data, from a body of any shape: a stable code, a message for people, and whether
//! and when to try the same request again. The caller maps a refusal to `attempt_failed` and decides about
//! retries.

mod classify;
mod extra_keys;
mod extract;
mod extracted;
mod http_date;
mod lasting;
mod max_tokens;
mod named_place;
mod overflow;
mod overload;
mod refused_media;
mod refused_parts;
mod refused_schema;
mod refused_setting;
mod retry_after;
mod template;

use std::fmt;

use agentx_types::{Api, ModelRequest, Overflow, RequestPart, Timestamp};

use classify::classify;

use crate::answer_schema::{self, SentForm};
use crate::wire_options::WireOptions;
pub(crate) use extract::{is_reported, says_something};
pub(crate) use extracted::Extracted;
pub(crate) use named_place::{PlaceStep, steps as place_steps};

/// Maximum number of characters that are kept of a provider's message.
const MESSAGE_CHARS: usize = 1_000;

/// Maximum time that a provider can ask to wait, a year: nobody waits any longer.
const MAX_WAIT_MS: u64 = 365 * 24 * 3_600 * 1_000;

/// The kind of a refusal. Its text form ([`ErrorCode::as_str`]) is stable: logs and programs rely on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorCode {
    /// The key is missing or wrong.
    Unauthorized,
    /// The key is valid but does not permit this request.
    Forbidden,
    /// The model or the address does not exist.
    NotFound,
    /// The request has too many bytes.
    TooLarge,
    /// The caller has made too many requests, or used too many tokens, for now.
    RateLimited,
    /// The provider has too many requests of all its callers for now.
    Overloaded,
    /// The provider failed.
    ServerError,
    /// The provider took too long.
    Timeout,
    /// The request conflicts with another one (HTTP 409).
    Conflict,
    /// The provider cannot process the request in this form.
    BadRequest,
    /// The conversation does not fit into the model.
    ContextWindow,
    /// The account has no money left, or has reached a limit of spending.
    Billing,
    /// The provider's filter refused the request.
    ContentFilter,
    /// The provider refused the output of its own model, for example a tool call that is not valid.
    BadGeneration,
    /// The answer does not have the form that the API promises.
    BadResponse,
    /// The answer ended before it was complete.
    StreamBroken,
}

impl ErrorCode {
    /// Returns the code in snake case, as in `rate_limited`: the form in logs, events and JSON output.
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

    /// Returns whether the same request may succeed a little later.
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
    /// The kind of the refusal.
    pub code: ErrorCode,
    /// The provider's message, or one of this crate if it sent none; one line, at most 1,000 characters.
    pub message: String,
    /// Whether the same request may succeed later. It can differ from [`ErrorCode::is_retryable`]: a provider
    /// may say explicitly whether to try again.
    pub retryable: bool,
    /// The number of milliseconds to wait before another attempt, as the provider requested; `None` if it
    /// named none.
    pub retry_after_ms: Option<u64>,
    /// The HTTP status, or the status that an error inside a stream names; `None` if there is none.
    pub status: Option<u16>,
    /// The sizes that the provider names, if the conversation does not fit into the model
    /// ([`ErrorCode::ContextWindow`]).
    pub overflow: Option<Overflow>,
    /// The part of the request that the provider refuses because of its form, if it does.
    pub refused: Option<RequestPart>,
    /// The maximum length of an answer in tokens that the provider names when it refuses a longer one.
    pub longest_answer: Option<u64>,
    /// The maximum number of pictures and other media that the provider accepts in one request, when it
    /// refuses their number.
    pub most_media: Option<u16>,
    /// The place in the body of the request that the refusal names, as in `messages.2.content.0`:
    /// [`named_part`](crate::named_part) finds the part of the conversation there.
    pub place: Option<Box<str>>,
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
            most_media: None,
            place: None,
        }
    }

    /// If the answer's schema was refused, names the refused form of it in this request: the guarantee goes
    /// first. In a request without a schema, another part was refused.
    #[must_use]
    pub fn refine_schema_refusal(self, request: &ModelRequest, options: &WireOptions) -> Self {
        if self.refused != Some(RequestPart::AnswerSchema) {
            return self;
        }
        let refused = match answer_schema::sent_form(request, options) {
            SentForm::Strict => Some(RequestPart::StrictSchema),
            SentForm::Plain => Some(RequestPart::AnswerSchema),
            SentForm::None => refused_parts::without_answer_schema(&self.message),
        };
        Self { refused, ..self }
    }

    /// Names the path in the message if the server does not have the Responses API: it may have Chat
    /// Completions, which a person can choose. A server that names the model may have it.
    #[must_use]
    pub fn refine_missing_path(mut self, api: Api) -> Self {
        let is_missing = api == Api::OpenaiResponses && matches!(self.status, Some(404 | 405));
        if is_missing && !self.message.to_ascii_lowercase().contains("model") {
            self.message.push_str(" (it was asked at /responses)");
        }
        self
    }

    /// Adds to the message of a refused login that the request had no API key, so that the hint does not ask
    /// the person to check one.
    #[must_use]
    pub fn refine_missing_key(mut self, has_key: bool) -> Self {
        if !has_key && matches!(self.code, ErrorCode::Unauthorized | ErrorCode::Forbidden) {
            self.message.push_str(" (no API key was sent)");
        }
        self
    }

    /// Returns whether the model, or its server as it was started, refuses every request that offers tools.
    pub fn takes_no_tools(&self) -> bool {
        self.code == ErrorCode::BadRequest && template::takes_no_tools(&self.message.to_ascii_lowercase())
    }
}

/// Decodes a refusal. The status may be any except a success, and the body may be the JSON of the provider,
/// the HTML of a gateway, or empty.
///
/// Four `headers` count, in any case of letters: `retry-after-ms`, `retry-after` (seconds, or a date that is
/// compared with `now`), `x-should-retry` and `x-amzn-errortype`, the name of an exception of AWS. If no
/// header has the time to wait, the message may: "Please try again in 1.5s".
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
    let mut extracted = extract::from_body(body);
    overflow::note_headers(|name| header(headers, name), &mut extracted);
    if let Some(name) = header(headers, "x-amzn-errortype") {
        // `ThrottlingException:http://internal.amazon.com/coral/…`
        let name = name.split(':').next().unwrap_or(name);
        extracted.words.push(name.to_ascii_lowercase());
    }
    let resets_at = extracted
        .resets_at_ms
        .or_else(|| header(headers, "x-ratelimit-reset").and_then(retry_after::time_or_delay_ms));
    let mut error = from_extracted(Some(status), extracted);
    let until_reset = resets_at
        .filter(|_| error.code == ErrorCode::RateLimited)
        .and_then(|at| Some(Timestamp(i64::try_from(at.checked_mul(1_000)?).ok()?).millis_since(now)));
    error.retry_after_ms = retry_after_ms(headers, now)
        .or(error.retry_after_ms)
        .or(until_reset)
        .map(|ms| ms.min(MAX_WAIT_MS));
    match header(headers, "x-should-retry") {
        Some("true") => error.retryable = error.code != ErrorCode::Billing,
        Some("false") => error.retryable = false,
        _ => {}
    }
    error
}

/// Decodes an error event inside a stream, or an error object in the body of a success. `error` is the object
/// itself or the JSON around it.
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
    let for_hours = of_a_day || (code == ErrorCode::RateLimited && retry_after::is_used_up(&extracted));
    let refused = refused_parts::refused(code, status, &extracted);
    let place = refused.and_then(|_| {
        let param = || extracted.param.as_deref().and_then(named_place::named);
        named_place::named(&extracted.message).or_else(param)
    });
    ModelError {
        place: place.map(String::into_boxed_str),
        code,
        message,
        retryable: (code.is_retryable() && !for_hours)
            || asks_again(code, &extracted.message)
            || is_wordless(status, &extracted.message),
        retry_after_ms: extracted
            .wait_ms
            .or_else(|| retry_after::in_words(&extracted.message))
            .filter(|_| code.is_retryable())
            .map(|ms| ms.min(MAX_WAIT_MS)),
        most_media: refused_media::most(&extracted.message).filter(|_| refused == Some(RequestPart::Media)),
        refused,
        longest_answer: max_tokens::allowed(code, &extracted.message),
        status,
        overflow: (code == ErrorCode::ContextWindow).then(|| overflow::read(&extracted)),
    }
}

/// Returns whether the provider itself says that the same request may succeed: "Unable to process input
/// image. Please retry your request."
fn asks_again(code: ErrorCode, message: &str) -> bool {
    code == ErrorCode::BadRequest && message.to_ascii_lowercase().contains("please retry your request")
}

/// Returns whether a request was refused without a word, as gateways do for a moment: it is valid, or nobody
/// knows why it is not.
fn is_wordless(status: Option<u16>, message: &str) -> bool {
    status == Some(400) && message.trim().is_empty()
}

fn default_message(status: Option<u16>, code: ErrorCode) -> String {
    match status {
        Some(status) => format!("HTTP {status} without a message ({code})"),
        None => format!("an error without a message ({code})"),
    }
}

/// Returns a message as one line without control characters, cut to [`MESSAGE_CHARS`].
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
        // Nobody asks to wait for thirty years: it is a point in time, in seconds since 1970.
        let is_time = (1e9..1e10).contains(&seconds);
        return Some(if is_time {
            Timestamp((seconds * 1_000_000.0) as i64).millis_since(now)
        } else {
            (seconds * 1_000.0) as u64
        });
    }
    http_date::parse(value).map(|at| at.millis_since(now))
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0)
}
