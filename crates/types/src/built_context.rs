//! Context that a service builds for the first model call of a run, such as the memories of a person.
//!
//! An agent whose configuration names sources asks for it by an action on the topic `context.build.request`,
//! with the name of the source as its key. The service answers with one fact, and only then the model is
//! called. So the log has the context before the request that it shapes, and a replay, a fork or a mirror
//! needs no service.

use serde::{Deserialize, Serialize};

use crate::OwnerId;
use crate::vocabulary::payloads;

/// A source of context of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextSource {
    /// The name of the source, by which a service serves it: `memory`.
    pub name: String,
    /// The maximum size of what it gives for one run, in tokens, which the service estimates.
    pub max_tokens: u32,
}

/// Build the context of one source for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// An item of a built context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextItem {
    /// The id of the item in its source. A changed item has another id.
    pub id: String,
    /// Its origin: `session:seq`, if it comes from a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

payloads! {
    /// A service has built context for a run, or could not. The `cause` is the action that asked for it.
    ContextBuilt {
        /// The name of the source.
        source: String,
        /// The text as the model reads it; empty if there is nothing to say.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// The items in the text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        items: Vec<ContextItem>,
        /// The reason why nothing could be built, for people. The run continues without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    }
}
