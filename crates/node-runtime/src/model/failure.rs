//! The failure of an attempt, from transports, limits and providers alike.
//!
//! # Codes
//!
//! | `code` | failure | tried again |
//! | --- | --- | --- |
//! | `bad_setup`, `missing_key`, `bad_key`, `bad_address`, `other_server` | nothing was sent | no |
//! | `connection_failed` | no connection: refused, no route, no name | waited for |
//! | `proxy_login` | the proxy between wants a login (HTTP 407) | no |
//! | `tls` | the certificate or the handshake | no |
//! | `connection_lost` | the connection ended before an answer began | a few times |
//! | `stream_broken` | it ended in the middle of an answer | a few times |
//! | `timeout` | a limit of ours ran out while the server may be at work | no, unless no connection stood |
//! | `redirected` | HTTP 3xx: a key must not follow | no |
//! | `bad_response` | too long, wrongly compressed, or no answer at all | decided by the decoder |
//! | others | an error of the provider, by [`ErrorCode`] | decided by that code |
//!
//! "Waited for" and "a few times" are the two ways of [`RetryPolicy`](super::RetryPolicy): trying an
//! unreachable server again costs nothing, but an answer that broke off may have to be paid twice.

use std::error::Error;
use std::io;
use std::time::Duration;

use agentx_llm::{ErrorCode, ModelError};
use agentx_types::{Overflow, RequestPart};

use super::call_limits::CallLimits;
use super::shown_time::shown_time;

/// The limit that ran out if only comments and pings came, as the setting and its factor.
const WORDLESS: &str = "six times `model_calls.idle_timeout`";
/// The variables that name a proxy.
const PROXY_SETTINGS: &str = "HTTPS_PROXY, HTTP_PROXY or ALL_PROXY";
/// The status of a proxy that wants a login.
const PROXY_LOGIN_STATUS: u16 = 407;
/// The library's words for the same, if the proxy was asked for a tunnel.
const LOGIN_WANTED: &str = "proxy authorization required";

/// The failure of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AttemptFailure {
    /// The code for programs; it is stable.
    pub(super) code: &'static str,
    /// The message for people: the failing server, its address, and what to do. It contains no secrets.
    pub(super) message: String,
    /// The HTTP status, if there was one.
    pub(super) status: Option<u16>,
    /// Whether the same request is likely to succeed later.
    pub(super) retryable: bool,
    /// Whether the server is overloaded, failing or not there: it is waited for. Anything else is tried a few
    /// times.
    pub(super) unavailable: bool,
    /// Whether the provider itself reported it.
    pub(super) was_said: bool,
    /// Whether nothing listens at the server's address.
    pub(super) nobody_listens: bool,
    /// The delay that the provider requests.
    pub(super) retry_after: Option<Duration>,
    /// The sizes that the server reports, if the conversation does not fit into the model.
    pub(super) overflow: Option<Box<Overflow>>,
    /// The part of the request whose form the provider refuses.
    pub(super) refused: Option<RequestPart>,
    /// The longest answer that the provider accepts, in tokens, if it refuses the requested one and names its
    /// limit.
    pub(super) longest_answer: Option<u64>,
    /// The maximum number of pictures and other media that the provider accepts in one request, if it refuses
    /// their number.
    pub(super) most_media: Option<u16>,
    /// The place in the body of the request that the refusal names.
    pub(super) place: Option<Box<str>>,
}

/// The end of an attempt. Only after `Failed` another attempt may follow.
pub(super) enum CallEnd {
    /// The answer is complete; its end was emitted.
    Answered,
    /// The call failed.
    Failed(AttemptFailure),
    /// The call was cancelled.
    Interrupted,
    /// The session is gone.
    NobodyListens,
}

impl AttemptFailure {
    /// The configuration allows no request.
    pub(super) fn setup(message: String) -> Self {
        Self {
            code: "bad_setup",
            message,
            status: None,
            retryable: false,
            unavailable: false,
            was_said: false,
            nobody_listens: false,
            retry_after: None,
            overflow: None,
            refused: None,
            longest_answer: None,
            most_media: None,
            place: None,
        }
    }

    /// One of the program's time limits ran out. The server may still be working, and its work is paid for,
    /// so a person decides about another attempt.
    pub(super) fn timeout(message: String) -> Self {
        Self {
            code: "timeout",
            ..Self::setup(message)
        }
    }

    /// A limit on time ran out: `total`, that of the complete answer, or else that on silence, before or
    /// after it `started`.
    pub(super) fn timed_out(total: bool, started: bool, limits: &CallLimits, place: &str) -> Self {
        let (what, setting) = match (total, started) {
            (true, _) => {
                let time = limits.total.unwrap_or_default();
                (
                    format!(
                        "the answer of {place} was not complete after {}",
                        shown_time(time)
                    ),
                    "model_calls.timeout",
                )
            }
            (false, false) => {
                let time = limits.first_byte;
                (
                    format!("{place} did not answer within {}", shown_time(time)),
                    "model_calls.first_byte_timeout",
                )
            }
            (false, true) => {
                let time = limits.idle;
                let what = format!(
                    "{place} was silent for {} in the middle of its answer",
                    shown_time(time)
                );
                (what, "model_calls.idle_timeout")
            }
        };
        Self::timeout(format!(
            "{what} (`{setting}`); it may still be working, so the call is not retried automatically"
        ))
    }

    /// The server only kept the connection alive, without content for this time.
    pub(super) fn wordless(time: Duration, place: &str) -> Self {
        Self::timeout(format!(
            "{place} kept the connection open for {} without sending any text ({WORDLESS}); it may still be working, so the call is not retried automatically",
            shown_time(time)
        ))
    }

    /// Returns whether a limit of time ended it, and not the server.
    pub(super) fn is_timeout(&self) -> bool {
        self.code == "timeout" && !self.was_said
    }

    /// Returns whether the answer broke off after the server had taken the request.
    pub(super) fn is_broken_off(&self) -> bool {
        self.code == "stream_broken" && !self.was_said
    }

    /// The answer is larger than it may be.
    pub(super) fn too_much(limit: usize) -> Self {
        let message = format!("the answer is longer than {limit} bytes");
        Self {
            code: "bad_response",
            ..Self::setup(message)
        }
    }

    /// The body of the answer cannot be read.
    pub(super) fn unreadable(message: String) -> Self {
        Self {
            code: "bad_response",
            ..Self::setup(message)
        }
    }

    /// The server points somewhere else. A key must not follow.
    pub(super) fn redirected(status: u16, place: &str, to: Option<&str>) -> Self {
        let to = to.unwrap_or("somewhere else");
        let message = format!("{place} redirects to {to}; set the base URL to where the API is");
        Self {
            code: "redirected",
            status: Some(status),
            ..Self::setup(message)
        }
    }

    /// Returns the failure that the provider reports. Its message may be short, so the provider's name
    /// precedes it.
    pub(super) fn from_provider(error: ModelError, who: &str) -> Self {
        if error.status == Some(PROXY_LOGIN_STATUS) {
            return Self {
                status: error.status,
                ..Self::proxy_login(who)
            };
        }
        let code = error.code.as_str();
        let message = match (error.message.trim(), error.advice()) {
            ("", _) => format!("{who} refused without a reason ({code})"),
            (words, Some(advice)) => format!("{who} says: {words} ({advice})"),
            (words, None) => format!("{who} says: {words}"),
        };
        Self {
            was_said: true,
            ..Self::of(error, message)
        }
    }

    /// Returns the failure of a malformed answer.
    pub(super) fn misunderstood(error: ModelError, who: &str) -> Self {
        let message = format!("{who}: {}", error.message);
        Self::of(error, message)
    }

    fn of(error: ModelError, message: String) -> Self {
        Self {
            code: error.code.as_str(),
            status: error.status,
            retryable: error.retryable,
            unavailable: matches!(
                error.code,
                ErrorCode::RateLimited | ErrorCode::Overloaded | ErrorCode::ServerError
            ),
            retry_after: error.retry_after_ms.map(Duration::from_millis),
            overflow: error.overflow.map(Box::new),
            refused: error.refused,
            longest_answer: error.longest_answer,
            most_media: error.most_media,
            place: error.place,
            ..Self::setup(message)
        }
    }

    /// A proxy refuses to pass the request on without a login. The provider has not seen it.
    fn proxy_login(place: &str) -> Self {
        let message = format!("the proxy of {PROXY_SETTINGS} in front of {place} wants a login (HTTP 407)");
        Self {
            code: "proxy_login",
            ..Self::setup(message)
        }
    }

    /// The transport failed, before or in the middle of an answer.
    pub(super) fn transport(error: &reqwest::Error, place: &str, streaming: bool) -> Self {
        if error.is_connect() && causes(error).any(|cause| cause.to_string().contains(LOGIN_WANTED)) {
            return Self::proxy_login(place);
        }
        let what = describe(error);
        let (code, retryable, message) = if error.is_builder() {
            (
                "bad_setup",
                false,
                format!("cannot build the request to {place}: {what}"),
            )
        } else if let Some(tls) = tls_error(error) {
            (
                "tls",
                false,
                format!("no secure connection to {place}: {}", describe_tls(tls)),
            )
        } else if error.is_connect() {
            let code = if error.is_timeout() {
                "timeout"
            } else {
                "connection_failed"
            };
            (code, true, format!("could not connect to {place}: {what}"))
        } else if streaming {
            ("stream_broken", true, format!("the answer broke off: {what}"))
        } else {
            (
                "connection_lost",
                true,
                format!("the connection to {place} was lost: {what}"),
            )
        };
        Self {
            code,
            retryable,
            unavailable: retryable && error.is_connect(),
            nobody_listens: error.is_connect() && kind(error) == Some(io::ErrorKind::ConnectionRefused),
            ..Self::setup(message)
        }
    }
}

/// The innermost reason, as text; never an address, which may contain a password.
pub(super) fn describe(error: &reqwest::Error) -> String {
    match kind(error) {
        Some(io::ErrorKind::ConnectionRefused) => "connection refused".to_owned(),
        Some(io::ErrorKind::ConnectionReset) => "connection reset".to_owned(),
        _ if error.is_timeout() => "it took too long".to_owned(),
        _ => causes(error).last().map_or_else(
            || "no reason was given".to_owned(),
            |cause| in_words(&cause.to_string()),
        ),
    }
}

/// Returns the operating system's error.
fn kind(error: &reqwest::Error) -> Option<io::ErrorKind> {
    causes(error)
        .find_map(|error| error.downcast_ref::<io::Error>())
        .map(io::Error::kind)
}

/// Rewrites the library's messages about a name without an address, and about a proxy so that they name the
/// place of the setting.
fn in_words(cause: &str) -> String {
    const WHERE: &str = PROXY_SETTINGS;
    match cause.split_once(": ").unwrap_or((cause, "")) {
        ("tunnel error", "unsuccessful") => format!("the proxy of {WHERE} does not let it through"),
        ("failed to lookup address information", what) => format!("its name cannot be resolved ({what})"),
        ("tunnel error", what) => format!("the proxy of {WHERE} gave an unexpected answer ({what})"),
        _ => match cause.strip_prefix("unsupported scheme ") {
            Some(scheme) => {
                format!("{WHERE} begins with {scheme}://, but only http:// and https:// are supported")
            }
            None => cause.to_owned(),
        },
    }
}

/// Returns the TLS error, however deeply it is wrapped. A failed handshake would fail again.
fn tls_error(error: &reqwest::Error) -> Option<&rustls::Error> {
    causes(error).find_map(|error| {
        let mut inner = error;
        while let Some(wrapped) = inner.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            inner = wrapped;
        }
        inner.downcast_ref()
    })
}

fn describe_tls(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidMessage(_) => {
            "it does not speak TLS (is the address http, not https?)".to_owned()
        }
        rustls::Error::InvalidCertificate(_) => {
            format!("{error} (SSL_CERT_FILE names a file of certificates to trust)")
        }
        other => other.to_string(),
    }
}

fn causes(error: &dyn Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |&error| error.source())
}
