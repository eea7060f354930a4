//! Answers that are listed beforehand: a model for tests.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use agentx_types::ModelRequest;
use serde_json::Value;

use crate::provider::{AnswerSink, Provider, ProviderError};

/// An answer of a scripted model: see [`AgentBuilder::scripted`](crate::AgentBuilder::scripted). A text is an
/// answer, too.
///
/// ```
/// use agentx::Reply;
///
/// let both = Reply::text("I look.").and_call("weather", serde_json::json!({"city": "Rome"}));
/// # drop(both);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    text: String,
    calls: Vec<(String, Value)>,
    error: Option<String>,
}

impl Reply {
    /// Creates a reply of this text.
    pub fn text(words: impl Into<String>) -> Self {
        Self {
            text: words.into(),
            calls: Vec::new(),
            error: None,
        }
    }

    /// An answer that calls a tool.
    pub fn call(tool: impl Into<String>, arguments: Value) -> Self {
        Self::text("").and_call(tool, arguments)
    }

    /// And it wants this tool, at the same time.
    #[must_use]
    pub fn and_call(mut self, tool: impl Into<String>, arguments: Value) -> Self {
        self.calls.push((tool.into(), arguments));
        self
    }

    /// There is no answer: the call fails with this.
    pub fn error(why: impl Into<String>) -> Self {
        Self {
            error: Some(why.into()),
            ..Self::text("")
        }
    }
}

impl From<&str> for Reply {
    fn from(words: &str) -> Self {
        Self::text(words)
    }
}

impl From<String> for Reply {
    fn from(words: String) -> Self {
        Self::text(words)
    }
}

/// Answers from a list, in order.
pub(crate) struct ScriptedReplies {
    name: String,
    replies: Mutex<VecDeque<Reply>>,
    listed: usize,
}

impl ScriptedReplies {
    pub(crate) fn new(name: String, replies: VecDeque<Reply>) -> Self {
        let listed = replies.len();
        Self {
            name,
            replies: Mutex::new(replies),
            listed,
        }
    }
}

impl Provider for ScriptedReplies {
    fn name(&self) -> &str {
        &self.name
    }

    async fn answer(&self, _: &ModelRequest, says: &mut AnswerSink) -> Result<(), ProviderError> {
        let next = self
            .replies
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front();
        let reply = next.ok_or_else(|| {
            format!(
                "the model was called more often than there are answers ({}): add one to `.scripted([..])`",
                self.listed
            )
        })?;
        if let Some(why) = reply.error {
            return Err(why.into());
        }
        if !reply.text.is_empty() {
            says.text(reply.text).await;
        }
        for (tool, arguments) in reply.calls {
            says.call(tool, arguments).await;
        }
        Ok(())
    }
}
