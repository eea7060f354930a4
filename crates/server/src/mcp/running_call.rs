//! A call of an MCP client while it runs: it counts for its person, and the last one ends the work that calls left running.

use std::sync::Arc;

use agentx_node_runtime::ToolServer;
use agentx_types::OwnerId;

use crate::auth::caller::Caller;
use crate::state::ServerState;

/// Maximum number of the operator's calls that run at once, and the limit of a member if
/// `quotas.running_tool_calls` is not set.
const RUNNING: usize = 64;

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
        if !state.client_calls.begin(&caller.person, most) {
            return Err(most);
        }
        Ok(Self {
            state: state.clone(),
            person: caller.person.clone(),
        })
    }

    /// Ends a call. Commands that calls left running end with the last call of all.
    pub(crate) async fn end(self) {
        let (state, person) = (self.state.clone(), self.person.clone());
        drop(self);
        if state.client_calls.is_idle() {
            ToolServer::new(state.runtime_of(&person)).end().await;
        }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.state.client_calls.end(&self.person);
    }
}
