//! Calls of members that wait for a decision: the operator and the approvers are told of them on each of their connections, and in the
//! server's log. A notice only tells; whether an answer counts is looked at when it comes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_bus::{Filter, Queue};
use agentx_runtime::SystemEvent;
use agentx_types::wire::ApprovalWaiting;
use agentx_types::{OwnerId, RuntimeEvent, SessionId, ToolCallId};

use crate::auth::Identity;
use crate::outbox::{Ear, encode};
use crate::rooms::Room;
use crate::state::ServerState;

/// How many questions may wait to be announced; beyond that the oldest are not.
const QUEUED: usize = 256;
/// How many sessions with waiting calls somebody is told of when they connect.
const TOLD: usize = 32;

/// The connections of everybody who may decide about calls of members.
#[derive(Default)]
pub(crate) struct Deciders {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    connections: BTreeMap<u64, Connection>,
    numbers: u64,
}

#[derive(Clone)]
struct Connection {
    identity: Identity,
    ear: Arc<dyn Ear>,
}

impl Deciders {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self) -> Vec<Connection> {
        self.lock().connections.values().cloned().collect()
    }
}

impl Connection {
    /// Whether this one may decide about calls in sessions of `owner`, as of now.
    fn decides_for(&self, state: &ServerState, owner: &OwnerId) -> bool {
        let is_named = self.identity.approver && self.identity.person != *owner;
        (self.identity.operator || is_named) && state.auth().still_knows(&self.identity)
    }
}

/// That a connection is told of calls that wait, until this is dropped.
pub(crate) struct Listening {
    state: Arc<ServerState>,
    number: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.state.deciders().lock().connections.remove(&self.number);
    }
}

/// From here on a connection is told which calls wait, first those that wait already. `None` for somebody who decides about none.
pub(crate) fn listen(state: &Arc<ServerState>, identity: &Identity, ear: Arc<dyn Ear>) -> Option<Listening> {
    if !(identity.operator || identity.approver) {
        return None;
    }
    let connection = Connection {
        identity: identity.clone(),
        ear,
    };
    let number = {
        let mut inner = state.deciders().lock();
        inner.numbers += 1;
        let number = inner.numbers;
        inner.connections.insert(number, connection.clone());
        number
    };
    tokio::spawn(tell_all(state.clone(), connection));
    Some(Listening {
        state: state.clone(),
        number,
    })
}

/// Tells somebody who has just connected of the calls that wait.
async fn tell_all(state: Arc<ServerState>, connection: Connection) {
    let waiting = match state.runtime().waiting().await {
        Ok(waiting) => waiting,
        Err(error) => return tracing::warn!(%error, "which calls wait cannot be found"),
    };
    let mut told = 0;
    for info in waiting {
        let Some(room) = state.rooms().there(&info.session_id).await else {
            continue;
        };
        if told == TOLD || !connection.decides_for(&state, room.owner()) {
            continue;
        }
        let waiting = waiting_in(&state, &room, None).await;
        told += usize::from(!waiting.is_empty());
        for call in waiting {
            connection.ear.hear(encode(&call.into()));
        }
    }
}

/// Announces each call of a member that begins to wait, for as long as the server runs.
pub(crate) async fn announce(state: Arc<ServerState>) {
    let filter = Filter::all().event_type("approval_requested");
    let Ok(mut questions) = state
        .runtime()
        .bus()
        .subscribe("members", filter, Queue::lag(QUEUED))
    else {
        return;
    };
    while let Ok(delivery) = questions.recv().await {
        let Some(question) = delivery.into_event() else {
            continue;
        };
        let SystemEvent::Runtime(event) = &*question else {
            continue;
        };
        if let RuntimeEvent::ApprovalRequested(asked) = &event.event {
            say_who_waits(&state, &event.session_id, Some(&asked.tool_call_id)).await;
        }
    }
}

/// Says which calls of a session that is open wait for somebody who decides: all, or this one.
pub(crate) async fn say_who_waits(state: &ServerState, session: &SessionId, call: Option<&ToolCallId>) {
    let Some(room) = state.rooms().there(session).await else {
        return;
    };
    for waiting in waiting_in(state, &room, call).await {
        let (who, tool, url) = (room.owner(), &waiting.name, state.auth().origin());
        tracing::info!(%who, tool, "a member's call waits for you: agentx --connect {url} resume {session}");
        let text = encode(&waiting.into());
        let deciders = state.deciders().all();
        for decider in deciders.iter().filter(|one| one.decides_for(state, room.owner())) {
            decider.ear.hear(text.clone());
        }
    }
}

/// The calls in a session of a member that the settings of the server ask about: all that wait, or this one.
async fn waiting_in(state: &ServerState, room: &Room, call: Option<&ToolCallId>) -> Vec<ApprovalWaiting> {
    if room.owner() == state.operator() {
        return Vec::new();
    }
    let Some(open) = room.session() else {
        return Vec::new();
    };
    let now = open.state().await.map(|now| now.pending_approvals);
    let waiting = now.unwrap_or_default().into_iter();
    let is_meant = |id: &ToolCallId| call.is_none_or(|call| call == id);
    let asked = waiting.filter(|asked| asked.by_server && is_meant(&asked.tool_call_id));
    let owner_name = state.auth().known().name_of(room.owner());
    asked
        .map(|asked| ApprovalWaiting {
            session_id: room.id().clone(),
            owner: room.owner().clone(),
            owner_name: owner_name.clone(),
            tool_call_id: asked.tool_call_id,
            name: asked.name,
        })
        .collect()
}
