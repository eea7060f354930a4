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

/// Reads the answer to the question of a tool: the words follow the `y`.
pub(super) fn reply_to_form(line: &str) -> Option<ApprovalReply> {
    let line = line.trim();
    let (word, rest) = line.split_once([' ', ',', ':', '—']).unwrap_or((line, ""));
    let decision = match word.to_lowercase().as_str() {
        "y" | "yes" => ApprovalDecision::Once,
        "n" | "no" => ApprovalDecision::Deny,
        _ => return None,
    };
    let rest = rest.trim();
    Some(ApprovalReply {
        decision,
        note: (!rest.is_empty()).then(|| rest.to_owned()),
        pattern: None,
    })
}
