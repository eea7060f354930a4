//! An HTTP request to a server, and whether the client may repeat it.
//!
//! This depends on the request: reading may be repeated, and a change may if it has a key by which the server
//! recognizes it: a fork, a new session and a restore have one.
//!
//! ```text
//! GET    /v1/sessions/ses_1/state                  repeatable
//! POST   /v1/sessions          idempotency-key: …  repeatable
//! POST   /v1/sessions/ses_1/restore  idempotency-key: …  repeatable
//! DELETE /v1/sessions/ses_1                        asked once
//! ```
//!
//! Parameters that are `None` are left out, which means the server's default.

use std::time::Duration;

use agentx_runtime::RuntimeError;
use reqwest::Method;
use serde_json::Value;

/// An HTTP request without the server and the credentials.
pub(crate) struct Query<'a> {
    pub(crate) method: Method,
    /// The path below `/v1`, each part escaped where it is needed.
    pub(crate) segments: &'a [&'a str],
    pub(crate) query: Vec<(&'static str, String)>,
    /// Sent as JSON.
    pub(crate) body: Option<Value>,
    /// The key by which the server recognizes a repeated request.
    pub(crate) key: Option<String>,
    /// The nonce that the server has to sign to prove its key.
    pub(crate) nonce: Option<String>,
    /// Whether it may be sent again if it is unknown whether the server got it.
    pub(crate) repeatable: bool,
    /// The maximum time for its answer, if that is less than for others.
    pub(crate) within: Option<Duration>,
}

impl<'a> Query<'a> {
    /// A question without body or key; reading is repeatable, everything else is not.
    pub(crate) fn new(method: Method, segments: &'a [&'a str]) -> Self {
        Self {
            repeatable: method == Method::GET,
            method,
            segments,
            query: Vec::new(),
            body: None,
            key: None,
            nonce: None,
            within: None,
        }
    }

    /// Reads something.
    pub(crate) fn get(segments: &'a [&'a str]) -> Self {
        Self::new(Method::GET, segments)
    }

    /// A request that changes something, or that does not fit into an address.
    pub(crate) fn post(segments: &'a [&'a str], body: Value) -> Self {
        Self {
            body: Some(body),
            ..Self::new(Method::POST, segments)
        }
    }

    /// Adds a parameter, if there is a value for it.
    pub(crate) fn with(mut self, name: &'static str, value: Option<String>) -> Self {
        self.query.extend(value.map(|value| (name, value)));
        self
    }

    /// Limits the time for its answer.
    pub(crate) fn answered_within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// Has the server prove its key by a signature over `nonce`.
    pub(crate) fn with_nonce(mut self, nonce: String) -> Self {
        self.nonce = Some(nonce);
        self
    }

    /// Idempotent by this key.
    pub(crate) fn once(mut self) -> Result<Self, RuntimeError> {
        self.key = Some(new_key()?);
        self.repeatable = true;
        Ok(self)
    }

    /// Marks the question as repeatable without a key.
    pub(crate) fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }
}

/// A key by which something that is sent twice is done once.
pub(crate) fn new_key() -> Result<String, RuntimeError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| RuntimeError::Refused(format!("no random numbers available: {error}")))?;
    Ok(format!("key_{:032x}", u128::from_le_bytes(bytes)))
}
