//! Checks every request that a model server of a test receives, as the vendor would. A refused request fails
//! the test at its end, so that a broken rule is noticed even in tests about something else.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::fixture;
use crate::vendors::{
    Anthropic, AnthropicAccepted, ChatAccepted, ChatServer, Dialect, GeminiAccepted, GeminiServer,
    InteractionsAccepted, InteractionsServer, ResponsesAccepted, ResponsesServer, VendorRefusal,
};

/// The model of Anthropic that made-up models of tests behave like: one that thinks only on request.
const ORDINARY: &str = "claude-opus-4-6";

/// The checks, shared between a server's threads. It chooses the vendor by the path of the request.
#[derive(Clone, Debug)]
pub struct RequestChecks {
    state: Arc<Mutex<CheckState>>,
}

#[derive(Debug)]
struct CheckState {
    anthropic: Anthropic,
    chat: ChatServer,
    responses: ResponsesServer,
    gemini: GeminiServer,
    interactions: InteractionsServer,
    refused: Vec<VendorRefusal>,
    dropped: Vec<String>,
}

/// A request that was not refused.
#[derive(Clone, Debug)]
pub enum CheckedRequest {
    /// A request for Anthropic Messages.
    Anthropic(Box<AnthropicAccepted>),
    /// A request for Chat Completions.
    Chat(Box<ChatAccepted>),
    /// A request for Responses.
    Responses(Box<ResponsesAccepted>),
    /// A request for Gemini.
    Gemini(Box<GeminiAccepted>),
    /// A request for Gemini's Interactions.
    Interactions(Box<InteractionsAccepted>),
    /// A request for no model, which was not checked.
    Other,
}

/// Fails the test on drop, if a request was refused or thinking in it would not have been read.
#[derive(Debug)]
pub struct FailsOnRefusal {
    checks: RequestChecks,
}

impl Default for RequestChecks {
    fn default() -> Self {
        Self::new()
    }
}

impl RequestChecks {
    /// Creates checks of Anthropic Messages with the rules for a new account, of OpenAI's Chat Completions
    /// and its Responses, and of Gemini. The only made-up model that they know is [`fixture::MODEL`].
    pub fn new() -> Self {
        let anthropic = Anthropic::new().knowing(fixture::MODEL, ORDINARY);
        Self::of(anthropic, ChatServer::new(Dialect::OpenAi))
    }

    /// Creates checks with these servers.
    pub fn of(anthropic: Anthropic, chat: ChatServer) -> Self {
        let state = CheckState {
            anthropic,
            chat,
            responses: ResponsesServer::new(),
            gemini: GeminiServer::new(),
            interactions: InteractionsServer::new(),
            refused: Vec::new(),
            dropped: Vec::new(),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Knows a made-up model of Anthropic, which behaves like an ordinary one.
    #[must_use]
    pub fn knowing(self, model: &str) -> Self {
        let anthropic = self.lock().anthropic.clone().knowing(model, ORDINARY);
        self.lock().anthropic = anthropic;
        self
    }

    /// Looks at a request: its path, its header `anthropic-beta` and its body.
    ///
    /// # Errors
    /// Returns the first rule that the request breaks. The error is also written to standard error, and
    /// counted unless the request was only too long.
    pub fn check(&self, path: &str, beta: &str, body: &[u8]) -> Result<CheckedRequest, VendorRefusal> {
        let path = path.split('?').next().unwrap_or_default();
        let mut state = self.lock();
        let checked = if path.ends_with("/messages") {
            let accepted = state.anthropic.check(body, beta);
            if let Ok(accepted) = &accepted {
                state.dropped.extend(accepted.changed_prefixes());
            }
            accepted.map(|accepted| CheckedRequest::Anthropic(Box::new(accepted)))
        } else if path.ends_with("/chat/completions") {
            let accepted = state.chat.check(body);
            accepted.map(|accepted| CheckedRequest::Chat(Box::new(accepted)))
        } else if path.ends_with("/responses") {
            let accepted = state.responses.check(body);
            accepted.map(|accepted| CheckedRequest::Responses(Box::new(accepted)))
        } else if path.ends_with(":streamGenerateContent") {
            let accepted = state.gemini.check(path, body);
            accepted.map(|accepted| CheckedRequest::Gemini(Box::new(accepted)))
        } else if path.ends_with("/interactions") {
            let accepted = state.interactions.check(body);
            accepted.map(|accepted| CheckedRequest::Interactions(Box::new(accepted)))
        } else {
            Ok(CheckedRequest::Other)
        };
        if let Err(refusal) = &checked
            && !refusal.is_full_window()
        {
            eprintln!(
                "A vendor would refuse this request ({}): {}",
                refusal.rule.name, refusal.message
            );
            state.refused.push(refusal.clone());
        }
        checked
    }

    /// Returns the refusals until now, without requests that were only too long.
    pub fn refused(&self) -> Vec<VendorRefusal> {
        self.lock().refused.clone()
    }

    /// Returns the thinking that the vendor silently dropped because the text before it had changed: that
    /// costs a new cache entry, and the model no longer knows it.
    pub fn dropped(&self) -> Vec<String> {
        self.lock().dropped.clone()
    }

    /// Returns a guard that fails the test in the end; the server's owner keeps it.
    pub fn fail_when_dropped(&self) -> FailsOnRefusal {
        FailsOnRefusal { checks: self.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, CheckState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for FailsOnRefusal {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let refused = self.checks.refused();
        let lines: Vec<String> = refused
            .iter()
            .map(|refusal| format!("{}: {}", refusal.rule.name, refusal.message))
            .collect();
        assert!(
            lines.is_empty(),
            "a vendor would have refused {} requests:\n{}",
            lines.len(),
            lines.join("\n")
        );
        let dropped = self.checks.dropped();
        assert!(
            dropped.is_empty(),
            "a vendor would have dropped thinking: {dropped:?}"
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asks(checks: &RequestChecks, path: &str, text: &str) -> Result<CheckedRequest, VendorRefusal> {
        let body = json!({
            "model": fixture::MODEL, "max_tokens": 1000,
            "messages": [{ "role": "user", "content": text }],
        });
        checks.check(path, "", body.to_string().as_bytes())
    }

    #[test]
    fn a_request_is_checked_as_the_vendor_of_its_path_does() {
        let checks = RequestChecks::new();
        assert!(matches!(
            asks(&checks, "/v1/messages", "hello"),
            Ok(CheckedRequest::Anthropic(_))
        ));
        assert!(matches!(
            asks(&checks, "/chat/completions?a=b", "hello"),
            Ok(CheckedRequest::Chat(_))
        ));
        assert!(matches!(
            asks(&checks, "/v1/models", ""),
            Ok(CheckedRequest::Other)
        ));
        let refused = asks(&checks, "/v1/messages", "").map_err(|refusal| refusal.rule.name);
        assert_eq!(refused.err(), Some("anthropic-empty-text"));
        assert_eq!(checks.refused().len(), 1);
    }

    #[test]
    fn a_refusal_fails_the_test_at_its_end_with_the_name_of_the_rule() {
        let checks = RequestChecks::new();
        drop(checks.fail_when_dropped());
        let held = checks.fail_when_dropped();
        let _ = asks(&checks, "/v1/messages", "");
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(held)));
        let message = failed.err().and_then(|any| any.downcast::<String>().ok());
        assert!(
            message.is_some_and(|message| message.contains("anthropic-empty-text")),
            "it names the rule"
        );
    }
}
