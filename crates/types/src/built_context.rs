//! Context that a service builds for the first model call of a run, such as the memories of a person.
//!
//! An agent whose configuration names sources asks for it by an action on the topic `context.build.request`,
//! with the name of the source as its key. The service answers with one fact, and only then the model is
//! called. So the log has the context before the request that it shapes, and a replay, a fork or a mirror
//! needs no service.
//!
//! | field of the answer | what the agent does with it |
//! | --- | --- |
//! | `text` | a message after the input, for this run and all later requests |
//! | `instructions` | a part of the standing instructions, in place of the one that the source gave before |
//! | `wrapping` | text around the input, as the model reads it; people see the input unchanged |

use serde::{Deserialize, Serialize};

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

/// Text around an input, as the model reads it. A closing tag in `after` is made harmless where the input has
/// it, so that no pasted text can end the wrapping early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InputWrapping {
    /// The text before the input.
    pub before: String,
    /// The text after it.
    pub after: String,
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
        /// A part of the standing instructions from now on, in place of the one that this source gave before;
        /// empty to remove that, absent to leave it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<Box<str>>,
        /// Text around the input of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wrapping: Option<Box<InputWrapping>>,
        /// The reason why nothing could be built, for people. The run continues without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    }
}

impl ContextBuilt {
    /// An answer of the source `name` with nothing in it.
    pub fn nothing(name: impl Into<String>) -> Self {
        Self {
            source: name.into(),
            text: String::new(),
            items: Vec::new(),
            instructions: None,
            wrapping: None,
            problem: None,
        }
    }

    /// The answer of a source that could not build its context, with the reason for people.
    pub fn failed(name: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            problem: Some(problem.into()),
            ..Self::nothing(name)
        }
    }
}
