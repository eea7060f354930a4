//! One question to a server over HTTP: what is asked, and whether it may be asked again.

use agentx_runtime::RuntimeError;
use reqwest::Method;
use serde_json::Value;

use crate::http::new_key;

/// One question.
pub(crate) struct Query<'a> {
    pub(crate) method: Method,
    pub(crate) segments: &'a [&'a str],
    pub(crate) query: Vec<(&'static str, String)>,
    pub(crate) body: Option<Value>,
    /// By which the server knows that it is the same, sent again.
    pub(crate) key: Option<String>,
    /// What the server is to sign, so that it proves its key.
    pub(crate) nonce: Option<String>,
    /// Whether it may be sent again if nobody knows if it was heard.
    pub(crate) repeatable: bool,
}

impl<'a> Query<'a> {
    pub(crate) fn new(method: Method, segments: &'a [&'a str]) -> Self {
        Self {
            repeatable: method == Method::GET,
            method,
            segments,
            query: Vec::new(),
            body: None,
            key: None,
            nonce: None,
        }
    }

    pub(crate) fn get(segments: &'a [&'a str]) -> Self {
        Self::new(Method::GET, segments)
    }

    pub(crate) fn post(segments: &'a [&'a str], body: Value) -> Self {
        Self {
            body: Some(body),
            ..Self::new(Method::POST, segments)
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: Option<String>) -> Self {
        self.query.extend(value.map(|value| (name, value)));
        self
    }

    pub(crate) fn with_nonce(mut self, nonce: String) -> Self {
        self.nonce = Some(nonce);
        self
    }

    /// It is the same, sent once or twice, by this key.
    pub(crate) fn once(mut self) -> Result<Self, RuntimeError> {
        self.key = Some(new_key()?);
        self.repeatable = true;
        Ok(self)
    }

    /// It is the same, sent once or twice.
    pub(crate) fn may_be_repeated(mut self) -> Self {
        self.repeatable = true;
        self
    }
}
