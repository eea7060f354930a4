//! The request for a context, with the agent that asks. It knows the configuration of agents, which names the
//! sources in `built_context`, so it has a module of its own.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{AgentConfig, ContextSource, NanoUsd, OwnerId, Usage};

/// Build the context of one source for a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BuildContext {
    /// The source.
    pub source: ContextSource,
    /// The text of the input that the run answers.
    pub text: String,
    /// The person who wrote it, if not the session's owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<OwnerId>,
    /// The directory that the agent works in, absolute.
    pub workspace: String,
    /// The ids of items that the conversation has already: they are not given again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
    /// The agent that asks. It is known from the log, so it is not written again.
    #[serde(skip)]
    pub agent: AskingAgent,
}

/// The agent that asks for a context, as it is when it asks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AskingAgent {
    /// The configuration; `None` outside of a session.
    pub config: Option<Arc<AgentConfig>>,
    /// The tokens of all its model calls so far, and of the agents below it.
    pub usage: Usage,
    /// The money of these calls.
    pub cost: NanoUsd,
}
