//! Asks a person about calls that run outside of any session, such as those of an MCP client: such a person
//! has no session whose approvals they could answer.

use std::fmt::Debug;

use agentx_types::ToolSpec;
use serde_json::Value;

use crate::future::BoxFuture;

/// A call outside of any session that the rules ask about.
#[derive(Clone, Debug)]
pub struct CallInQuestion {
    /// The tool.
    pub tool: Box<ToolSpec>,
    /// The arguments, without secrets.
    pub input: Value,
    /// The rule or default that asks.
    pub reason: String,
    /// The tool that wants the call; `None` if the caller itself does.
    pub by: Option<String>,
}

/// Decides about such calls in the name of the caller. It allows one call, once, and keeps no rule.
pub trait CallApprover: Debug + Send + Sync {
    /// Returns whether the call may run. `false` also if nobody answers, or nobody can be asked.
    fn approve(&self, call: CallInQuestion) -> BoxFuture<'_, bool>;
}
