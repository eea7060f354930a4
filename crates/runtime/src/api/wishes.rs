//! What a front end wants of a session: how it is opened, what is said in it, and what is heard of it.

use std::sync::Arc;

use agentx_types::{
    AgentConfig, ApprovalDecision, ConfigChange, ContentPart, Envelope, EnvironmentEvent, InputMode,
    MessageId, OwnerId, Rule, RuntimeEvent, SessionId, ToolCallId,
};
use serde::{Deserialize, Serialize};

/// How to open a session.
#[derive(Clone, Debug)]
pub enum OpenRequest {
    /// A new one, with this agent.
    New(Box<AgentConfig>),
    /// One that exists, with these changes of its agent.
    Resume(SessionId, Vec<ConfigChange>),
}

/// Which events a subscriber gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// The facts.
    Environment,
    /// What they mean.
    #[default]
    Runtime,
}

/// What a subscriber gets.
#[derive(Clone, Debug)]
pub enum Delivery {
    /// A fact.
    Environment(Arc<Envelope<EnvironmentEvent>>),
    /// What it means.
    Runtime(Arc<Envelope<RuntimeEvent>>),
    /// All that was there when the subscription began has been delivered, up to this `seq`.
    CaughtUp(u64),
    /// The subscriber was too slow, or the session cannot go on; it can subscribe again from the last `seq` that it has.
    CutOff(String),
}

/// A stream of deliveries.
pub struct Subscription {
    /// Where they come from; ends when the session is closed.
    pub deliveries: tokio::sync::mpsc::Receiver<Delivery>,
}

impl Subscription {
    /// The next delivery; `None` at the end.
    pub async fn next(&mut self) -> Option<Delivery> {
        self.deliveries.recv().await
    }
}

/// Something that a person says.
#[derive(Clone, Debug, Default)]
pub struct UserInput {
    /// What.
    pub content: Vec<ContentPart>,
    /// When it is looked at.
    pub mode: InputMode,
    /// A second input with the same key is the same input.
    pub idempotency_key: Option<String>,
    /// Who says it, where it is not the owner of the session. A server fills it in; a client's word does not count.
    pub by: Option<OwnerId>,
}

/// What a person wants of the part of the conversation that the model reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContextWish {
    /// A summary in the place of all but the latest exchanges.
    Condense {
        /// What the summary must not leave out, in their words.
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
pub struct ApprovalInput {
    /// Which call.
    pub tool_call_id: ToolCallId,
    /// What was decided.
    pub decision: ApprovalDecision,
    /// A word to the model.
    pub note: Option<String>,
    /// For `session` and `always`: the rule to keep; by default the one that was suggested.
    pub rule: Option<Rule>,
    /// Who decided, where several people may.
    pub by: Option<OwnerId>,
    /// Whether they may not speak for the operator of the server: then it allows nothing that the server's settings ask about, and
    /// keeps no rule.
    pub limited: bool,
}
