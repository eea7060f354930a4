//! The words for the answer to a question about a call, in the record above the line.

use agentx::types::{ApprovalDecision, ApprovalRequested, Rule};

use super::approval::rule;
use super::approval_reply::ApprovalReply;
use super::asked;

/// The answer in words, for the record above.
pub(crate) fn answered(request: &ApprovalRequested, answer: &ApprovalReply, kept: &[Rule]) -> String {
    if let Some(asked) = &request.question {
        return asked::answered(asked, answer);
    }
    let words = match answer.decision {
        ApprovalDecision::Once => "allowed once",
        ApprovalDecision::Session => {
            return format!("allowed for this session: {}", rules_in_words(request, kept));
        }
        ApprovalDecision::Always => "always allowed",
        ApprovalDecision::Deny => "refused",
    };
    words.to_owned()
}

/// The rules that hold for the rest of a session, without where they hold.
fn rules_in_words(request: &ApprovalRequested, kept: &[Rule]) -> String {
    let words: Vec<String> = kept
        .iter()
        .map(|kept| {
            let mut request = request.clone();
            request.suggested = kept.clone();
            rule(&request)
        })
        .collect();
    words.join(", ")
}
