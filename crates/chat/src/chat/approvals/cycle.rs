//! Shift-Tab: changes who decides about calls that no rule covers, or starts plan mode, one step per press.
//! It records the same changes as `/approve-mode` and `/plan`. No press leads to `auto`, so that no command
//! runs unasked on the way from one mode to another. The way to plan mode leaves an `accept-edits` that the
//! person only passed, so that an accepted plan is carried out as they worked before.

use agentx::runtime::RuntimeError;
use agentx::types::{ApprovalMode, ConfigChange};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use crate::chat::commands::approval_mode::new_mode_sentence;
use crate::chat::{Chat, ChatInterface, plan_mode};
use crate::error::ChatError;
use crate::render::approval_mode_word::{mode_sentence, mode_word};

/// The notice in a read-only folder, in which no mode changes or runs anything.
const READ_ONLY: &str = "this folder is read-only: changes and commands are refused in every mode";

/// Returns whether a key asks for the next mode.
pub(in crate::chat) fn is_wanted(key: &KeyEvent) -> bool {
    key.code == KeyCode::BackTab && key.kind != KeyEventKind::Release
}

/// Returns whether a key ends a row of presses of Shift-Tab: any other key that is pressed.
pub(in crate::chat) fn ends_presses(key: &KeyEvent) -> bool {
    let is_alone = matches!(key.code, KeyCode::BackTab | KeyCode::Modifier(_));
    key.kind != KeyEventKind::Release && !is_alone
}

/// The modes that Shift-Tab cycles through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CycledMode {
    Mode(ApprovalMode),
    Plan,
}

/// The choices in their order. `auto` is not one of them: `/approve-mode auto` alone sets it.
const ORDER: [CycledMode; 4] = [
    CycledMode::Mode(ApprovalMode::Ask),
    CycledMode::Mode(ApprovalMode::AcceptEdits),
    CycledMode::Plan,
    CycledMode::Mode(ApprovalMode::Deny),
];

/// The choices after this one, in the order in which they are tried. After `auto` come all of them.
fn choices_after(now: CycledMode) -> impl Iterator<Item = CycledMode> {
    let next = ORDER
        .iter()
        .position(|choice| *choice == now)
        .map_or(0, |place| place + 1);
    let others = ORDER.into_iter().cycle().skip(next).take(ORDER.len());
    others.filter(move |choice| *choice != now)
}

/// The choice in a word; a mode as `/approve-mode` takes it.
fn word(choice: CycledMode) -> &'static str {
    match choice {
        CycledMode::Mode(mode) => mode_word(mode),
        CycledMode::Plan => "plan",
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
            CycledMode::Plan
        } else {
            CycledMode::Mode(self.status.activity.approval())
        };
        let mode = self.status.activity.approval();
        self.approvals.mode_before_presses.get_or_insert(mode);
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
    async fn choose(&mut self, choice: CycledMode) -> Result<String, ChatError> {
        let CycledMode::Mode(mode) = choice else {
            let worked_in = self.approvals.mode_before_presses;
            if self.status.activity.approval() == ApprovalMode::AcceptEdits
                && worked_in != Some(ApprovalMode::AcceptEdits)
            {
                self.set_approval_mode(ApprovalMode::Ask).await?;
            }
            self.begin_planning().await?;
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
    fn keys_other_than_shift_tab_end_a_row_of_presses() {
        use crossterm::event::{KeyModifiers, ModifierKeyCode};
        let key = |code, kind| KeyEvent::new_with_kind(code, KeyModifiers::NONE, kind);
        assert!(ends_presses(&key(KeyCode::Char('x'), KeyEventKind::Press)));
        for (code, kind) in [
            (KeyCode::BackTab, KeyEventKind::Press),
            (KeyCode::BackTab, KeyEventKind::Release),
            (KeyCode::Char('x'), KeyEventKind::Release),
            (KeyCode::Modifier(ModifierKeyCode::LeftShift), KeyEventKind::Press),
        ] {
            assert!(!ends_presses(&key(code, kind)), "{code:?} {kind:?}");
        }
    }

    #[test]
    fn each_mode_comes_in_turn() {
        let auto = CycledMode::Mode(ApprovalMode::Auto);
        for (now, next) in ORDER.into_iter().chain([auto]).zip([
            &["accept-edits", "plan", "deny"][..],
            &["plan", "deny", "ask"],
            &["deny", "ask", "accept-edits"],
            &["ask", "accept-edits", "plan"],
            &["ask", "accept-edits", "plan", "deny"],
        ]) {
            let after: Vec<&str> = choices_after(now).map(word).collect();
            assert_eq!(after, next, "after {}", word(now));
        }
    }
}
