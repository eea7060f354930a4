//! The running calls of MCP clients: how many each person may have, what ends them, which work they leave running, and what
//! they log for whom.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_mcp::ClientLogLevel;
use agentx_node_runtime::ToolServer;
use agentx_types::OwnerId;
use tokio_util::sync::CancellationToken;

use crate::auth::caller::Caller;
use crate::state::ServerState;

/// Maximum number of the operator's calls that run at once, and the limit of a member if
/// `quotas.running_tool_calls` is not set.
const RUNNING: usize = 64;

/// Maximum number of people whose log level is kept; those beyond hear no log messages by `logging/setLevel`.
const LEVELS: usize = 10_000;

/// The calls that run, by person, and the log levels that people have set for all their clients.
#[derive(Default)]
pub(crate) struct ClientCalls {
    running: Mutex<HashMap<OwnerId, PersonCalls>>,
    levels: Mutex<HashMap<OwnerId, Arc<ClientLogLevel>>>,
}

/// The calls of one person.
#[derive(Default)]
struct PersonCalls {
    count: usize,
    /// Ends those that run now.
    stop: CancellationToken,
}

impl ClientCalls {
    /// Returns the people whose calls run.
    pub(crate) fn people(&self) -> Vec<OwnerId> {
        self.lock().keys().cloned().collect()
    }

    /// Returns what ends the calls of a person that run now.
    pub(crate) fn stop_of(&self, person: &OwnerId) -> CancellationToken {
        let running = self.lock();
        let calls = running.get(person);
        calls.map(|calls| calls.stop.clone()).unwrap_or_default()
    }

    /// Ends the calls of a person that run now, but none that begins later.
    pub(crate) fn stop(&self, person: &OwnerId) {
        if let Some(calls) = self.lock().get_mut(person) {
            std::mem::take(&mut calls.stop).cancel();
        }
    }

    /// Returns the log level of a person's clients. `/mcp` has no sessions of the protocol, so it is one for all of them.
    pub(crate) fn log_level(&self, person: &OwnerId) -> Option<Arc<ClientLogLevel>> {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(level) = levels.get(person) {
            return Some(level.clone());
        }
        (levels.len() < LEVELS).then(|| levels.entry(person.clone()).or_default().clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<OwnerId, PersonCalls>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that runs, until this is dropped.
pub(crate) struct RunningCall {
    state: Arc<ServerState>,
    person: OwnerId,
}

impl RunningCall {
    /// Begins a call.
    ///
    /// # Errors
    /// Returns the limit if the caller has as many calls as they may have.
    pub(crate) fn begin(state: &Arc<ServerState>, caller: &Caller) -> Result<Self, usize> {
        let quota = state.settings().quotas.calls.filter(|_| !caller.operator);
        let quota = quota.and_then(|quota| usize::try_from(quota).ok());
        let most = quota.map_or(RUNNING, |quota| quota.clamp(1, RUNNING));
        let mut running = state.client_calls.lock();
        let count = &mut running.entry(caller.person.clone()).or_default().count;
        if *count >= most {
            return Err(most);
        }
        *count += 1;
        Ok(Self {
            state: state.clone(),
            person: caller.person.clone(),
        })
    }

    /// Ends a call. Commands that calls left running end with the last call of all.
    pub(crate) async fn end(self) {
        let (state, person) = (self.state.clone(), self.person.clone());
        drop(self);
        let is_last = state.client_calls.lock().is_empty();
        if is_last {
            ToolServer::new(state.runtime_of(&person)).end().await;
        }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        let mut running = self.state.client_calls.lock();
        if let Some(calls) = running.get_mut(&self.person) {
            calls.count -= 1;
            if calls.count == 0 {
                running.remove(&self.person);
            }
        }
    }
}
