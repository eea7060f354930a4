//! The failure of an HTTP request, and its message.
//!
//! ```text
//! Lost{unsent: true}    no connection stood: any question may be asked again
//! Lost{unsent: false}   the answer is missing: only what is repeatable is asked again
//! Away                  the server is restarting: what is repeatable is asked again
//! Unauthorized          the token is too old: a new one is made, once
//! Later{after}          the server did nothing, and says when to come back
//! Answered              a refusal, which is the answer
//! ```

use std::time::Duration;

use agentx_runtime::RuntimeError;

/// The failure of a request.
pub(crate) enum HttpFailure {
    /// The connection let it down.
    Lost {
        /// The problem, without the address, because a path may name a session.
        error: reqwest::Error,
        /// Whether the server cannot have seen the question.
        unsent: bool,
    },
    /// The server is away for now, as it or a proxy in front of it says.
    Away(RuntimeError),
    /// The server does not accept the client's token.
    Unauthorized(RuntimeError),
    /// There were too many questions, or the server is full. It did nothing.
    Later { error: RuntimeError, after: Duration },
    /// The server refused the request.
    Answered(RuntimeError),
}

impl HttpFailure {
    /// A connection that failed during a question. Only one that was never established is certain to have
    /// sent nothing.
    pub(crate) fn lost(error: reqwest::Error) -> Self {
        let unsent = error.is_connect();
        Self::Lost {
            // Errors may be shown to anybody, so they contain no address.
            error: error.without_url(),
            unsent,
        }
    }
}

/// The reason why there was no answer, as a short text: the innermost error, without the layers that passed
/// it on and without an address.
pub(crate) fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it did not answer in time".into();
    }
    let mut first: &dyn std::error::Error = error;
    while let Some(cause) = first.source() {
        first = cause;
    }
    let words = first.to_string();
    if tls_was_cut(&words) {
        return "the connection broke".into();
    }
    // The number of an error says nothing that its words do not.
    let words = words.split(" (os error").next().unwrap_or_default();
    words
        .trim_start_matches("failed to lookup address information: ")
        .to_owned()
}

/// Returns whether these are the words of rustls for a connection that ended without a good-bye. They name a
/// page for programmers, which tells a person nothing.
pub(crate) fn tls_was_cut(words: &str) -> bool {
    words.contains("without sending TLS close_notify")
}
