//! Requests of a front end to a session: to open it, to send inputs, and to read its events.

use agentx_session::Delivery;
use agentx_types::{
    AgentConfig, ApprovalDecision, ConfigChange, ContentPart, InputMode, MessageId, OwnerId, Rule, SessionId,
    ToolCallId,
};
use serde::{Deserialize, Serialize};

/// Options for opening a session.
#[derive(Clone, Debug)]
pub enum OpenRequest {
    /// A new one, with this agent.
    New(Box<AgentConfig>),
    /// One that exists, with these changes of its agent.
    Resume(SessionId, Vec<ConfigChange>),
}

/// A stream of deliveries.
pub struct Subscription {
    /// The channel that they come by; it ends when the session is closed.
    pub deliveries: tokio::sync::mpsc::Receiver<Delivery>,
}

impl Subscription {
    /// The next delivery; `None` at the end.
    pub async fn next(&mut self) -> Option<Delivery> {
        self.deliveries.recv().await
    }
}

/// Something that a person says.
///
/// ```
/// use agentx_runtime::UserInput;
/// use agentx_types::InputMode;
///
/// let word = UserInput::text("In French, please.").mode(InputMode::Steer);
/// assert_eq!(word.content.len(), 1);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UserInput {
    /// The content.
    pub content: Vec<ContentPart>,
    /// The time at which it is looked at.
    pub mode: InputMode,
    /// A second input with the same key is the same input.
    pub idempotency_key: Option<String>,
    /// The person who says it, if that is not the owner of the session. A server fills it in; a client's word
    /// does not count.
    pub by: Option<OwnerId>,
}

impl UserInput {
    /// These parts, for when the agent has time.
    pub fn new(content: Vec<ContentPart>) -> Self {
        Self {
            content,
            mode: InputMode::default(),
            idempotency_key: None,
            by: None,
        }
    }

    /// An input of words alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ContentPart::text(text)])
    }

    /// This input, looked at at another time.
    #[must_use]
    pub fn mode(self, mode: InputMode) -> Self {
        Self { mode, ..self }
    }

    /// This input with a key, if there is one: a second input with the same key is the same input.
    #[must_use]
    pub fn key(self, idempotency_key: Option<String>) -> Self {
        Self {
            idempotency_key,
            ..self
        }
    }

    /// This input as somebody else than the owner of the session says it, where `by` names one.
    #[must_use]
    pub fn by(self, by: Option<OwnerId>) -> Self {
        Self { by, ..self }
    }
}

/// A person's request about the part of the conversation that the model reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContextRequest {
    /// A summary instead of all but the latest exchanges.
    Condense {
        /// What the summary must contain, in the person's words.
        #[serde(default)]
        instructions: Option<String>,
    },
    /// The latest summary out again: what it stands for is as it was.
    Restore {},
    /// An input stays as it is whatever is condensed, or no longer.
    Pin {
        /// The input.
        message_id: MessageId,
        /// Whether it stays.
        pinned: bool,
    },
}

/// A person's decision about a tool call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApprovalInput {
    /// The id of the call.
    pub tool_call_id: ToolCallId,
    /// The decision.
    pub decision: ApprovalDecision,
    /// A word to the model.
    pub note: Option<String>,
    /// For `session` and `always`: the rule to keep; by default the one that was suggested.
    pub rule: Option<Rule>,
    /// The person who decided, if several people may.
    pub by: Option<OwnerId>,
    /// Whether they may not speak for the operator of the server: then it allows nothing that the server's settings ask about, and
    /// keeps no rule.
    pub limited: bool,
}

impl ApprovalInput {
    /// A decision about a call by the owner of the session.
    pub fn new(tool_call_id: ToolCallId, decision: ApprovalDecision) -> Self {
        Self {
            tool_call_id,
            decision,
            note: None,
            rule: None,
            by: None,
            limited: false,
        }
    }

    /// This decision with a word to the model, if there is one.
    #[must_use]
    pub fn note(self, note: Option<String>) -> Self {
        Self { note, ..self }
    }

    /// This decision, which keeps `rule` instead of the suggested one, if there is one.
    #[must_use]
    pub fn rule(self, rule: Option<Rule>) -> Self {
        Self { rule, ..self }
    }

    /// This decision as another person made it, where `by` names one.
    #[must_use]
    pub fn by(self, by: Option<OwnerId>) -> Self {
        Self { by, ..self }
    }

    /// This decision by somebody who may not speak for the operator of the server, where `limited` is set.
    #[must_use]
    pub fn limited(self, limited: bool) -> Self {
        Self { limited, ..self }
    }
}
