//! The words for approval modes.

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
