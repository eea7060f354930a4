//! The origin of text in a conversation, for rules about calls that follow it.

use serde::{Deserialize, Serialize};

/// The origin of text that neither a person of the session nor the model wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TextOrigin {
    /// Results of tools that leave the machine ([`Access::Network`](crate::Access::Network)): pages,
    /// searches, MCP servers, databases.
    Web,
    /// An origin from a newer version. Rules that deny or ask always apply, and rules that allow never do.
    Unknown,
}
