//! The words and sentences for approval modes.

use agentx::types::ApprovalMode;

/// Returns the word for an approval mode, as `/approve-mode` takes it.
pub(crate) fn mode_word(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Ask => "ask",
        ApprovalMode::AcceptEdits => "accept-edits",
        ApprovalMode::Auto => "auto",
        ApprovalMode::Deny => "deny",
    }
}

/// Describes an approval mode in a sentence.
pub(crate) fn mode_sentence(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Ask => "you are asked about calls that no rule covers",
        ApprovalMode::AcceptEdits => "edits of files are made without asking",
        ApprovalMode::Auto => "calls run without asking, unless a rule asks or denies",
        ApprovalMode::Deny => "calls that no rule allows are refused",
    }
}
