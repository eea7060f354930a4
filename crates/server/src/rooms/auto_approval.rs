//! A temporary approval mode without questions, as `--yes` sets it, or without those about edits. It lasts
//! while the program that set it drives. It is reset when another program drives, or when the program has
//! been gone for as long as the server waits for drivers.

use std::sync::PoisonError;

use agentx_types::{ApprovalMode, ConfigChange, Seat, WheelChanged};

use super::Room;

/// The temporary mode of a program.
#[derive(Debug)]
pub(super) struct TemporaryApproval {
    seat: Seat,
    /// The mode to restore.
    usual: ApprovalMode,
    /// The time since which the program has been gone.
    gone_since: u64,
}

impl Room {
    /// Notes that a program set the mode; `usual` is the mode of the server's settings, which is restored
    /// later.
    pub(crate) fn mode_is_set(&self, mode: ApprovalMode, usual: ApprovalMode, seat: &Seat) {
        let asks_less = matches!(mode, ApprovalMode::Auto | ApprovalMode::AcceptEdits);
        let is_temporary = asks_less && mode.strictness() < usual.strictness();
        let gone_since = self.now_ms();
        let seat = seat.clone();
        *self.auto_approval.lock().unwrap_or_else(PoisonError::into_inner) =
            is_temporary.then_some(TemporaryApproval {
                seat,
                usual,
                gone_since,
            });
    }

    /// Returns whether the mode has to be restored, because the program that set it has been gone for too
    /// long.
    pub(super) fn needs_restore(&self) -> bool {
        let now = self.now_ms();
        let mut auto_approval = self.auto_approval.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(auto_approval) = auto_approval.as_mut() else {
            return false;
        };
        if self.people.role_of(&auto_approval.seat).is_some() {
            auto_approval.gone_since = now;
        }
        now.saturating_sub(auto_approval.gone_since) >= self.patience.gone_ms
    }

    /// Restores the mode if another program drives by this change, or none. The caller holds the gate.
    pub(crate) async fn restore_mode_after(&self, changed: &WheelChanged) {
        let is_anothers = {
            let auto_approval = self.auto_approval.lock().unwrap_or_else(PoisonError::into_inner);
            auto_approval
                .as_ref()
                .is_some_and(|auto_approval| changed.seat.as_ref() != Some(&auto_approval.seat))
        };
        if is_anothers {
            self.restore_mode().await;
        }
    }

    /// Restores the mode. The caller holds the gate.
    pub(super) async fn restore_mode(&self) {
        let Some(session) = self.session() else { return };
        let auto_approval = self
            .auto_approval
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(auto_approval) = auto_approval else {
            return;
        };
        tracing::info!(session = %self.id(), "approval mode restored");
        if let Err(error) = session.change(ConfigChange::Approval(auto_approval.usual)).await {
            // The room is opened again, and that restores the mode.
            self.note_failure(&error);
        }
    }
}
