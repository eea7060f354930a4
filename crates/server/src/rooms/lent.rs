//! An approval mode that asks nobody, as `--yes` wants it: it holds for as long as the program that wanted it drives, and is put back when
//! another one does, or when it has been gone for as long as who drives is waited for.

use std::sync::PoisonError;

use agentx_types::{ApprovalMode, ConfigChange, Seat, WheelChanged};

use super::Room;

/// Which program wants it.
#[derive(Debug)]
pub(super) struct ProgramWish {
    seat: Seat,
    /// What is put back.
    usual: ApprovalMode,
    /// Since when the program has not been here.
    gone_since: u64,
}

impl Room {
    /// The mode was set by a program; `usual` is that of the server's settings, which is put back.
    pub(crate) fn mode_is_set(&self, mode: ApprovalMode, usual: ApprovalMode, seat: &Seat) {
        let is_lent = mode == ApprovalMode::Auto && usual != ApprovalMode::Auto;
        let gone_since = self.now_ms();
        let seat = seat.clone();
        *self.lent.lock().unwrap_or_else(PoisonError::into_inner) = is_lent.then_some(ProgramWish {
            seat,
            usual,
            gone_since,
        });
    }

    /// Whether a mode is to be put back, since the program that wanted it has been gone for too long.
    pub(super) fn is_owed(&self) -> bool {
        let now = self.now_ms();
        let mut lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(lent) = lent.as_mut() else { return false };
        if self.people.role_of(&lent.seat).is_some() {
            lent.gone_since = now;
        }
        now.saturating_sub(lent.gone_since) >= self.patience.gone_ms
    }

    /// Puts the mode back where another program drives by this change, or none. Whoever calls this has the gate.
    pub(crate) async fn put_back_after(&self, changed: &WheelChanged) {
        let is_anothers = {
            let lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner);
            lent.as_ref()
                .is_some_and(|lent| changed.seat.as_ref() != Some(&lent.seat))
        };
        if is_anothers {
            self.put_back().await;
        }
    }

    /// Puts the mode back. Whoever calls this has the gate.
    pub(super) async fn put_back(&self) {
        let Some(session) = self.session() else { return };
        let lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(lent) = lent else { return };
        tracing::info!(session = %self.id(), "calls are asked about again");
        if let Err(error) = session.change(ConfigChange::Approval(lent.usual)).await {
            // The room is opened anew, and by that the mode is put back.
            self.note_failure(&error);
        }
    }
}
