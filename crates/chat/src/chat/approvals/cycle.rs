//! Shift-Tab: changes who decides about calls that no rule covers, or starts plan mode, one step per press.
//! It records the same changes as `/approve-mode` and `/plan`.

use agentx::runtime::RuntimeError;
use agentx::types::{ApprovalMode, ConfigChange};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use crate::chat::commands::approval_mode::{mode_sentence, new_mode_sentence};
use crate::chat::{Chat, ChatInterface, plan_mode};
use crate::error::ChatError;

/// The notice in a read-only folder, in which no mode changes or runs anything.
const READ_ONLY: &str = "this folder is read-only: changes and commands are refused in every mode";

/// Returns whether a key asks for the next mode.
pub(in crate::chat) fn is_wanted(key: &KeyEvent) -> bool {
    key.code == KeyCode::BackTab && key.kind != KeyEventKind::Release
}

/// The modes that Shift-Tab cycles through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Mode(ApprovalMode),
    Plan,
}

/// The choices in their order. `auto` is the last, so that the first press makes nothing freer.
const ORDER: [Choice; 4] = [
    Choice::Mode(ApprovalMode::Ask),
    Choice::Plan,
    Choice::Mode(ApprovalMode::Deny),
    Choice::Mode(ApprovalMode::Auto),
];

/// The choices after this one, in the order in which they are tried.
fn choices_after(now: Choice) -> impl Iterator<Item = Choice> {
    let place = ORDER.iter().position(|choice| *choice == now).unwrap_or(0);
    ORDER.into_iter().cycle().skip(place + 1).take(ORDER.len() - 1)
}

/// The choice in a word; a mode as `/approve-mode` takes it.
fn word(choice: Choice) -> &'static str {
    match choice {
        Choice::Mode(ApprovalMode::Ask) => "ask",
        Choice::Mode(ApprovalMode::Auto) => "auto",
        Choice::Mode(ApprovalMode::Deny) => "deny",
        Choice::Plan => "plan",
    }
}

impl Chat<'_> {
    /// Describes the approval mode of the session in a sentence, as it holds in this folder.
    pub(in crate::chat) fn mode_here(&self, mode: ApprovalMode) -> &'static str {
        match mode {
            _ if self.is_read_only() => READ_ONLY,
            ApprovalMode::Auto if self.approvals.auto_approve => {
                "calls run without asking; `--yes` also answers the questions of rules"
            }
            mode => mode_sentence(mode),
        }
    }

    /// Switches to the next mode. One that the operator of a server does not allow is ignored.
    pub(in crate::chat) async fn cycle_approval(&mut self) {
        if self.is_read_only() {
            return self.hint(READ_ONLY);
        }
        let now = if self.status.activity.is_planning() {
            Choice::Plan
        } else {
            Choice::Mode(self.status.activity.approval())
        };
        for choice in choices_after(now) {
            match self.choose(choice).await {
                Ok(said) => return self.hint(&format!("{}: {said} (Shift-Tab changes it)", word(choice))),
                Err(ChatError::Runtime(RuntimeError::Denied(_))) => {}
                Err(error) => return self.complain(&error),
            }
        }
        self.hint("nobody here may change the approval mode of this session");
    }

    /// Records a choice. A mode ends plan mode, but only after the mode itself was allowed.
    async fn choose(&mut self, choice: Choice) -> Result<String, ChatError> {
        let Choice::Mode(mode) = choice else {
            self.change(ConfigChange::PlanMode(true)).await?;
            return Ok(plan_mode::ON_BY_KEY.to_owned());
        };
        self.set_approval_mode(mode).await?;
        if self.status.activity.is_planning() {
            self.change(ConfigChange::PlanMode(false)).await?;
        }
        // Plan mode is off now, so the mode alone decides.
        Ok(new_mode_sentence(mode))
    }

    /// Shows a line below the input until the next key.
    pub(in crate::chat) fn hint(&mut self, text: &str) {
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
        for (now, next) in [
            ("ask", "plan"),
            ("plan", "deny"),
            ("deny", "auto"),
            ("auto", "ask"),
        ] {
            let choice = ORDER.into_iter().find(|choice| word(*choice) == now);
            let after: Vec<&str> = choice.into_iter().flat_map(choices_after).map(word).collect();
            assert_eq!(after[0], next);
            assert!(after.len() == 3 && !after.contains(&now));
        }
    }
}
