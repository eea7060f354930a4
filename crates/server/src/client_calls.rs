//! Calls of MCP clients that run now: how many each person may have, and what they leave running.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use agentx_node_runtime::ToolServer;
use agentx_types::OwnerId;

use crate::state::{Caller, ServerState};

/// Maximum number of the operator's calls that run at once, and the limit of a member if
/// `quotas.running_tool_calls` is not set.
const RUNNING: usize = 64;

/// The calls that run, by person.
#[derive(Default)]
pub(crate) struct ClientCalls(Mutex<HashMap<OwnerId, usize>>);

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
        let mut running = state
            .client_calls
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let count = running.entry(caller.person.clone()).or_default();
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
        let is_last = {
            let running = state
                .client_calls
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            running.is_empty()
        };
        if is_last {
            ToolServer::new(state.runtime_of(&person)).end().await;
        }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        let mut running = self
            .state
            .client_calls
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = running.get_mut(&self.person) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.person);
            }
        }
    }
}
