//! Shift-Tab: changes who decides about calls that no rule covers, one mode per press. What is recorded is
//! what `/approve-mode` records.

use agentx::runtime::RuntimeError;
use agentx::types::ApprovalMode;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use super::{Chat, ChatInterface};
use crate::error::ChatError;

/// The notice in a folder in which nothing is changed or run, whatever the mode.
const READ_ONLY: &str = "this folder is read-only: changes and commands are refused in every mode";

/// Returns whether a key asks for the next mode.
pub(super) fn is_wanted(key: &KeyEvent) -> bool {
    key.code == KeyCode::BackTab && key.kind != KeyEventKind::Release
}

/// The modes after this one, in the order in which they are tried. `auto` is the last, so that the first
/// press makes nothing freer.
fn after(mode: ApprovalMode) -> [ApprovalMode; 2] {
    match mode {
        ApprovalMode::Ask => [ApprovalMode::Deny, ApprovalMode::Auto],
        ApprovalMode::Deny => [ApprovalMode::Auto, ApprovalMode::Ask],
        ApprovalMode::Auto => [ApprovalMode::Ask, ApprovalMode::Deny],
    }
}

/// The mode as `/approve-mode` takes it.
fn word(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Ask => "ask",
        ApprovalMode::Auto => "auto",
        ApprovalMode::Deny => "deny",
    }
}

impl Chat<'_> {
    /// Takes the next mode. One that the operator of a server does not allow is ignored.
    pub(super) async fn cycle_approval(&mut self) {
        if self.is_read_only() {
            return self.hint(READ_ONLY);
        }
        for mode in after(self.status.activity.approval()) {
            match self.approve_mode(Some(mode)).await {
                Ok(said) => return self.hint(&format!("{}: {said} (Shift-Tab changes it)", word(mode))),
                Err(ChatError::Runtime(RuntimeError::Denied(_))) => {}
                Err(error) => return self.complain(&error),
            }
        }
        self.hint("nobody here may change the approval mode of this session");
    }

    /// Shows a line below the input until the next key.
    pub(super) fn hint(&mut self, text: &str) {
        if let ChatInterface::Editor { screen, .. } = &mut self.display.face {
            screen.set_hint(text.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mode_comes_in_turn() {
        let mut mode = ApprovalMode::Ask;
        let mut turn = Vec::new();
        for _ in 0..3 {
            mode = after(mode)[0];
            turn.push(mode);
        }
        assert_eq!(turn, [ApprovalMode::Deny, ApprovalMode::Auto, ApprovalMode::Ask]);
    }
}
