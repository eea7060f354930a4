//! The changes that opening a session made by itself, because this program decides otherwise than the one
//! before.

use agentx::runtime::{Delivery, View};
use agentx::types::{ApprovalMode, ConfigChange, EnvironmentEvent, SessionId, Source};

use super::Place;

/// Maximum number of facts to read for what opening a session changed.
const FIRST_FACTS: usize = 16;

/// The changes of the configuration that opening a session made by itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpeningChanges {
    /// The changes, in order.
    pub changes: Vec<ConfigChange>,
    /// The approval mode before, if it is one of the changes and the log has it.
    pub mode_before: Option<ApprovalMode>,
}

/// Returns the changes that opening a local session made by itself, in the first facts after `last_seq`; none
/// on a server.
pub async fn changed_by_opening(place: &Place, session: &SessionId, last_seq: u64) -> OpeningChanges {
    let mut found = OpeningChanges::default();
    if place.remote().is_some() {
        return found;
    }
    let facts = place
        .runtime()
        .watch(session, last_seq, View::Environment, false)
        .await;
    let Ok(mut facts) = facts else {
        return found;
    };
    for _ in 0..FIRST_FACTS {
        let Some(Delivery::Environment(fact)) = facts.next().await else {
            break;
        };
        if let (Source::System, EnvironmentEvent::ConfigChanged(changed)) = (fact.source, &fact.event) {
            found.changes.push(changed.change.clone());
        }
    }
    let changes_mode = |change: &ConfigChange| matches!(change, ConfigChange::Approval(_));
    if found.changes.iter().any(changes_mode) {
        found.mode_before = mode_at(place, session, last_seq).await;
    }
    found
}

/// Returns the approval mode of a session at this event; `None` if its log cannot be read.
async fn mode_at(place: &Place, session: &SessionId, seq: u64) -> Option<ApprovalMode> {
    let facts = place.runtime().watch(session, 0, View::Environment, false).await;
    let (mut facts, mut mode) = (facts.ok()?, None);
    while let Some(Delivery::Environment(fact)) = facts.next().await {
        if fact.seq > seq {
            break;
        }
        match &fact.event {
            EnvironmentEvent::SessionOpened(opened) => mode = Some(opened.config.approval),
            EnvironmentEvent::ConfigChanged(changed) => {
                if let ConfigChange::Approval(now) = &changed.change {
                    mode = Some(*now);
                }
            }
            _ => {}
        }
    }
    mode
}
