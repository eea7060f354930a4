//! Requests of a front end to a session: to open it, to send inputs, and to read its events.

use std::sync::Arc;

use agentx_session::Delivery;
use agentx_types::{
    AgentConfig, AnswerSchema, ApprovalDecision, ConfigChange, ContentPart, InputMode, MessageId, OwnerId,
    Rule, SessionId, ToolCallId,
};
use serde::{Deserialize, Serialize};

/// Options for opening a session.
#[derive(Clone, Debug)]
pub enum OpenRequest {
    /// A new session, with this agent.
    New(Box<AgentConfig>),
    /// An existing session, with these changes of its agent.
    Resume(SessionId, Vec<ConfigChange>),
}

/// A stream of the events of one session, as [`Delivery`] values.
pub struct Subscription {
    /// The channel; it ends when the session is closed.
    pub deliveries: tokio::sync::mpsc::Receiver<Delivery>,
}

impl Subscription {
    /// Returns the next delivery; `None` at the end.
    pub async fn next(&mut self) -> Option<Delivery> {
        self.deliveries.recv().await
    }
}

/// An input of a person.
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
    /// The content of the message.
    pub content: Vec<ContentPart>,
    /// The time at which the agent handles it.
    pub mode: InputMode,
    /// Identifies the input: one that is sent again with the same key is not recorded twice.
    pub idempotency_key: Option<String>,
    /// The person, if not the owner of the session. A server sets it; a client's value does not count.
    pub by: Option<OwnerId>,
    /// The schema of the answer, if the input opens a run; one that joins a run changes nothing there.
    pub answer_schema: Option<Arc<AnswerSchema>>,
}

impl UserInput {
    /// Creates an input with these parts, for when the agent has time.
    pub fn new(content: Vec<ContentPart>) -> Self {
        Self {
            content,
            mode: InputMode::default(),
            idempotency_key: None,
            by: None,
            answer_schema: None,
        }
    }

    /// Creates an input with only text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ContentPart::text(text)])
    }

    /// Sets the time at which the agent handles the input.
    #[must_use]
    pub fn mode(self, mode: InputMode) -> Self {
        Self { mode, ..self }
    }

    /// Sets the idempotency key, if there is one: an input that is sent again with the same key is not
    /// recorded twice.
    #[must_use]
    pub fn key(self, idempotency_key: Option<String>) -> Self {
        Self {
            idempotency_key,
            ..self
        }
    }

    /// Sets the person, if `by` names one other than the owner of the session.
    #[must_use]
    pub fn by(self, by: Option<OwnerId>) -> Self {
        Self { by, ..self }
    }

    /// Sets the schema that the answer has to fit, if there is one.
    #[must_use]
    pub fn answer_schema(self, answer_schema: Option<Arc<AnswerSchema>>) -> Self {
        Self {
            answer_schema,
            ..self
        }
    }
}

/// A person's request about the part of the conversation that the model reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContextRequest {
    /// Replace all but the latest exchanges with a summary.
    Condense {
        /// The required content of the summary, in the person's words.
        #[serde(default)]
        instructions: Option<String>,
    },
    /// Remove the latest summary and restore the messages behind it.
    Restore {},
    /// Pin an input, so that condensing keeps it, or unpin it.
    Pin {
        /// The input.
        message_id: MessageId,
        /// Whether it is pinned.
        pinned: bool,
    },
}

/// A person's decision about a tool call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApprovalInput {
    /// The id of the call.
    pub tool_call_id: ToolCallId,
    /// Whether the call is allowed, and for how long.
    pub decision: ApprovalDecision,
    /// A note to the model.
    pub note: Option<String>,
    /// For `session` and `always`: the rule to keep; by default the one that was suggested. For `deny`: the
    /// rule of a server's settings that closes the question, if no person refuses the call.
    pub rule: Option<Rule>,
    /// The person who decided, if several people may.
    pub by: Option<OwnerId>,
    /// Whether the person may not decide for the operator of the server. Then the decision allows nothing
    /// that the server's settings ask about, and keeps no rule.
    pub limited: bool,
}

impl ApprovalInput {
    /// Creates a decision of the session's owner about a call.
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

    /// Sets the note to the model, if there is one.
    #[must_use]
    pub fn note(self, note: Option<String>) -> Self {
        Self { note, ..self }
    }

    /// Sets the rule to keep in place of the suggested one, if there is one.
    #[must_use]
    pub fn rule(self, rule: Option<Rule>) -> Self {
        Self { rule, ..self }
    }

    /// Sets the person who decided, if `by` names one other than the owner.
    #[must_use]
    pub fn by(self, by: Option<OwnerId>) -> Self {
        Self { by, ..self }
    }

    /// Marks the decision as one of a person who may not decide for the operator of the server, if `limited`
    /// is set.
    #[must_use]
    pub fn limited(self, limited: bool) -> Self {
        Self { limited, ..self }
    }
}
