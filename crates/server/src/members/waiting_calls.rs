//! Notices about calls of members that wait for a decision. The operator and the approvers get them on each
//! of their connections, and in the server's log. A notice only informs; whether an answer is valid is
//! checked when it comes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agentx_bus::{Filter, Queue};
use agentx_runtime::SystemEvent;
use agentx_types::SessionId;
use agentx_types::wire::ApprovalWaiting;
use tokio::time::{Instant, sleep_until};

use crate::approver_connections::WaitingConnection;
use crate::auth::Identity;
use crate::outbox::{RoomListener, encode};
use crate::rooms::Room;
use crate::state::ServerState;

/// The number of questions that may wait to be announced; beyond that the oldest are not.
const QUEUED: usize = 256;
/// A session whose calls wait is announced at most once in this time.
const PAUSE: Duration = Duration::from_secs(5);
/// The number of waiting sessions that a new connection is notified of.
const TOLD: usize = 32;

/// The subscription of a connection to waiting calls, until this is dropped.
pub(crate) struct CallWatcher {
    state: Arc<ServerState>,
    number: u64,
}

impl Drop for CallWatcher {
    fn drop(&mut self) {
        self.state.approver_connections().remove(self.number);
    }
}

/// Notifies a connection of waiting calls from now on, beginning with those that already wait. `None` for a
/// person who may not decide about any.
pub(crate) fn listen(
    state: &Arc<ServerState>,
    identity: &Identity,
    ear: Arc<dyn RoomListener>,
) -> Option<CallWatcher> {
    if !(identity.operator || identity.approver) {
        return None;
    }
    let connection = WaitingConnection {
        identity: identity.clone(),
        ear,
    };
    let number = state.approver_connections().add(connection.clone());
    tokio::spawn(tell_all(state.clone(), connection));
    Some(CallWatcher {
        state: state.clone(),
        number,
    })
}

/// Notifies a new connection of the calls that wait.
async fn tell_all(state: Arc<ServerState>, connection: WaitingConnection) {
    let waiting = match state.runtime().waiting().await {
        Ok(waiting) => waiting,
        Err(error) => return tracing::warn!(%error, "cannot find waiting calls"),
    };
    let mut told = 0;
    for info in waiting {
        let Some(room) = state.rooms().find(&info.session_id).await else {
            continue;
        };
        if told == TOLD || !connection.decides_for(state.auth(), room.owner()) {
            continue;
        }
        if let Some(call) = waiting_in(&state, &room).await {
            told += 1;
            connection.ear.hear(encode(&call.into()));
        }
    }
}

/// The sessions that were announced recently: each at most once in a [`PAUSE`], however often it asks.
#[derive(Default)]
struct Announced {
    /// The time of each session's last announcement.
    told: BTreeMap<SessionId, Instant>,
    /// The times at which to check the sessions again that have asked since.
    due: BTreeMap<SessionId, Instant>,
}

impl Announced {
    /// Returns whether to announce a session now in which a call waits. If not, it is checked later.
    fn asks(&mut self, session: &SessionId, now: Instant) -> bool {
        self.told.retain(|_, told| now < *told + PAUSE);
        match self.told.get(session) {
            Some(told) => {
                self.due.insert(session.clone(), *told + PAUSE);
                false
            }
            None => {
                self.told.insert(session.clone(), now);
                true
            }
        }
    }

    /// Returns when the next session has to be checked.
    fn next(&self) -> Option<Instant> {
        self.due.values().min().copied()
    }

    /// Returns the sessions to announce now, if a call still waits in them.
    fn take_due(&mut self, now: Instant) -> Vec<SessionId> {
        let due = self.due.extract_if(.., |_, due| *due <= now);
        let due: Vec<SessionId> = due.map(|(session, _)| session).collect();
        self.told.extend(due.iter().map(|session| (session.clone(), now)));
        due
    }
}

/// Announces calls of members that wait, for as long as the server runs: a session at most once in a
/// [`PAUSE`].
pub(crate) async fn announce(state: Arc<ServerState>) {
    let filter = Filter::all().event_type("approval_requested");
    let Ok(mut questions) = state
        .runtime()
        .bus()
        .subscribe("members", filter, Queue::lag(QUEUED))
    else {
        return;
    };
    let mut announced = Announced::default();
    loop {
        let next = announced.next();
        let delivery = tokio::select! {
            delivery = questions.recv() => delivery,
            () = async { sleep_until(next.unwrap_or_else(Instant::now)).await }, if next.is_some() => {
                for session in announced.take_due(Instant::now()) {
                    announce_waiting_calls(&state, &session).await;
                }
                continue;
            }
        };
        let Ok(delivery) = delivery else { return };
        let Some(question) = delivery.into_event() else {
            continue;
        };
        let SystemEvent::Runtime(event) = &*question else {
            continue;
        };
        if announced.asks(&event.session_id, Instant::now()) {
            announce_waiting_calls(&state, &event.session_id).await;
        }
    }
}

/// Announces that calls of an open session wait for a decision. The first one is named; approvers who open
/// the session see all.
pub(crate) async fn announce_waiting_calls(state: &ServerState, session: &SessionId) {
    let Some(room) = state.rooms().find(session).await else {
        return;
    };
    if let Some(waiting) = waiting_in(state, &room).await {
        let (who, tool, url) = (room.owner(), &waiting.name, state.auth().origin());
        tracing::info!(%who, tool, "a member's call waits for you: agentx --connect {url} resume {session}");
        let text = encode(&waiting.into());
        let approver_connections = state.approver_connections().all();
        for decider in approver_connections
            .iter()
            .filter(|one| one.decides_for(state.auth(), room.owner()))
        {
            decider.ear.hear(text.clone());
        }
    }
}

/// Returns the first call in a session of a member that the settings of the server ask about.
async fn waiting_in(state: &ServerState, room: &Room) -> Option<ApprovalWaiting> {
    if room.owner() == state.operator() {
        return None;
    }
    let waiting = room.session()?.state().await.ok()?.pending_approvals;
    let asked = waiting.into_iter().find(|asked| asked.by_server)?;
    Some(ApprovalWaiting {
        session_id: room.id().clone(),
        owner: room.owner().clone(),
        owner_name: state.auth().known().name_of(room.owner()),
        tool_call_id: asked.tool_call_id,
        name: asked.name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_asks_in_a_loop_is_announced_once_in_a_pause() {
        let (mut announced, begin) = (Announced::default(), Instant::now());
        let (one, other) = (SessionId::new("ses_1"), SessionId::new("ses_2"));
        assert!(announced.asks(&one, begin));
        for ms in 1..100 {
            assert!(!announced.asks(&one, begin + Duration::from_millis(ms)));
        }
        assert!(announced.asks(&other, begin));
        assert_eq!(announced.next(), Some(begin + PAUSE));
        assert!(announced.take_due(begin).is_empty());
        let later = begin + PAUSE;
        assert_eq!(announced.take_due(later), std::slice::from_ref(&one));
        assert_eq!(announced.next(), None);
        assert!(!announced.asks(&one, later), "it was announced now");
        assert!(announced.asks(&other, later));
    }
}
