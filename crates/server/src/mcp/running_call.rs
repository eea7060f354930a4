//! The requests and tools of MCP clients while they run: they count for their person, and the last one ends
//! the work that calls left running. A tool whose call is suspended runs without a request. A tool ends when
//! what opened `/mcp` to its caller does not count any more.

use std::sync::Arc;

use agentx_mcp::TASKS_AT_ONCE;
use agentx_node_runtime::ToolServer;
use agentx_types::OwnerId;
use tokio_util::sync::CancellationToken;

use crate::auth::caller::Caller;
use crate::auth::mcp_tokens::McpTokenLogin;
use crate::state::ServerState;

/// Maximum number of the operator's calls that run or are suspended at once, and the limit of a member if
/// `quotas.running_tool_calls` is not set.
const RUNNING: usize = 64;

/// A request that runs, until this is dropped.
pub(crate) struct RunningCall {
    state: Arc<ServerState>,
    person: OwnerId,
}

impl RunningCall {
    /// Begins a request. The caller's suspended calls count, too, except for one that this request `resumes`.
    ///
    /// # Errors
    /// Returns the limit if the caller has as many calls as they may have.
    pub(crate) fn begin(state: &Arc<ServerState>, caller: &Caller, resumes: bool) -> Result<Self, usize> {
        let quota = state.settings().quotas.calls.filter(|_| !caller.operator);
        let quota = quota.and_then(|quota| usize::try_from(quota).ok());
        let most = quota.map_or(RUNNING, |quota| quota.clamp(1, RUNNING));
        let suspended = state.suspended_calls.count(caller.person.as_str());
        let others = suspended.saturating_sub(usize::from(resumes));
        let room = most.saturating_sub(others);
        if !state.client_calls.begin(&caller.person, room) {
            return Err(most);
        }
        Ok(Self {
            state: state.clone(),
            person: caller.person.clone(),
        })
    }

    /// Ends a request. Commands that calls left running end with the last call of all.
    pub(crate) async fn end(self) {
        let (state, person) = (self.state.clone(), self.person.clone());
        drop(self);
        end_commands(&state, &person).await;
    }
}

/// A tool that runs, also while its call is suspended, until this is dropped.
pub(crate) struct RunningToolCall {
    state: Arc<ServerState>,
    person: OwnerId,
    number: u64,
    stop: CancellationToken,
}

impl RunningToolCall {
    /// Begins a tool of a person to whom `login` opened `/mcp`.
    pub(crate) fn begin(state: &Arc<ServerState>, person: &OwnerId, login: &McpTokenLogin) -> Self {
        let (number, stop) = state.client_calls.begin_tool(person, login.clone());
        Self {
            state: state.clone(),
            person: person.clone(),
            number,
            stop,
        }
    }

    /// Begins a task of a person to whom `login` opened `/mcp`; `None` if as many of theirs run as may.
    pub(crate) fn begin_task(
        state: &Arc<ServerState>,
        person: &OwnerId,
        login: &McpTokenLogin,
    ) -> Option<Self> {
        let begun = state
            .client_calls
            .begin_task(person, login.clone(), TASKS_AT_ONCE);
        begun.map(|(number, stop)| Self {
            state: state.clone(),
            person: person.clone(),
            number,
            stop,
        })
    }

    /// Lets the tool run on although it was to stop. Returns whether it does.
    pub(crate) fn renew(&mut self) -> bool {
        let Some(stop) = self.state.client_calls.renew_tool(&self.person, self.number) else {
            return false;
        };
        self.stop = stop;
        true
    }

    /// Counts a task of a person again that is under way, although as many of theirs may run as may.
    pub(crate) fn resume_task(state: &Arc<ServerState>, person: &OwnerId, login: &McpTokenLogin) -> Self {
        let (number, stop) = state.client_calls.resume_task(person, login.clone());
        Self {
            state: state.clone(),
            person: person.clone(),
            number,
            stop,
        }
    }

    /// Fires when the tool has to stop: the money of its person is used up, or they are no longer let in.
    pub(crate) fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Ends a tool, as [`RunningCall::end`] does: its request may have ended long ago.
    pub(crate) async fn end(self) {
        let (state, person) = (self.state.clone(), self.person.clone());
        drop(self);
        end_commands(&state, &person).await;
    }
}

impl Drop for RunningToolCall {
    fn drop(&mut self) {
        self.state.client_calls.end_tool(&self.person, self.number);
    }
}

impl ServerState {
    /// Ends the tools, also those whose call is suspended, of clients whose token is gone, or whose person is
    /// no longer trusted.
    pub(crate) fn end_calls_without_login(&self) {
        let now = self.now_ms();
        self.client_calls
            .stop_all_but(|login| self.auth().closed_mcp(login, now).is_none());
    }
}

/// Ends the commands that calls left running, if no call is left.
async fn end_commands(state: &Arc<ServerState>, person: &OwnerId) {
    if state.client_calls.is_idle() {
        ToolServer::new(state.runtime_of(person)).end().await;
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.state.client_calls.end(&self.person);
    }
}
