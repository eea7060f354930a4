//! Reads a person's answer to an approval question from a line.

use agentx::types::ApprovalDecision;

/// A person's answer to an approval question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalReply {
    /// The decision.
    pub decision: ApprovalDecision,
    /// A word to the model.
    pub note: Option<String>,
    /// The pattern of the kept rule, if the person replaced the shown one.
    pub pattern: Option<String>,
}
