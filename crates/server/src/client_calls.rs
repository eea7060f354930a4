//! The calls of MCP clients that run or are suspended: how many each person has, what ends them, what they
//! log for whom, and which blobs their results named.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_mcp::ClientLogLevel;
use agentx_node_runtime::ClientBlobs;
use agentx_types::{OwnerId, SessionId};
use tokio_util::sync::CancellationToken;

use crate::auth::mcp_tokens::McpTokenLogin;

/// Maximum number of people whose log level is kept; those beyond hear no log messages by `logging/setLevel`.
const LEVELS: usize = 10_000;
/// Maximum number of people whose blobs are known; those beyond cannot read what their results name.
const READERS: usize = 1024;

/// The calls that run, by person, the log levels that people have set for all their clients, and the blobs
/// that results for them named.
#[derive(Default)]
pub(crate) struct ClientCalls {
    running: Mutex<HashMap<OwnerId, PersonCalls>>,
    levels: Mutex<HashMap<OwnerId, Arc<ClientLogLevel>>>,
    blobs: Mutex<HashMap<OwnerId, ClientBlobs>>,
    /// The sessions of tasks that are stopped with the token that began them.
    guarded: Mutex<HashSet<SessionId>>,
}

/// The calls of one person.
#[derive(Default)]
struct PersonCalls {
    /// The requests that run.
    count: usize,
    /// The tools that run by their numbers, also those whose call is suspended without a request.
    tools: BTreeMap<u64, ClientToolRun>,
    /// The number of the last tool.
    last: u64,
    /// Ends those that run now.
    stop: CancellationToken,
}

/// A tool that runs for a client.
struct ClientToolRun {
    /// The credential with which its caller opened `/mcp`.
    login: McpTokenLogin,
    stop: CancellationToken,
    /// Whether it is a task, which outlives the connection.
    is_task: bool,
}

impl PersonCalls {
    fn add(&mut self, login: McpTokenLogin, is_task: bool) -> (u64, CancellationToken) {
        self.last += 1;
        let stop = self.stop.child_token();
        let tool = ClientToolRun {
            login,
            stop: stop.clone(),
            is_task,
        };
        self.tools.insert(self.last, tool);
        (self.last, stop)
    }

    fn tasks(&self) -> usize {
        self.tools.values().filter(|tool| tool.is_task).count()
    }
}

impl ClientCalls {
    /// Returns the people whose calls run or are suspended.
    pub(crate) fn people(&self) -> Vec<OwnerId> {
        self.lock().keys().cloned().collect()
    }

    /// Begins a tool of a person, whose call may be suspended and so outlive its request. Returns its number,
    /// and what ends it; [`Self::end_tool`] counts it no more.
    pub(crate) fn begin_tool(&self, person: &OwnerId, login: McpTokenLogin) -> (u64, CancellationToken) {
        let mut running = self.lock();
        running.entry(person.clone()).or_default().add(login, false)
    }

    /// Begins a task of a person, if fewer than `most` run. It is a tool until [`Self::end_tool`].
    pub(crate) fn begin_task(
        &self,
        person: &OwnerId,
        login: McpTokenLogin,
        most: usize,
    ) -> Option<(u64, CancellationToken)> {
        let mut running = self.lock();
        let tasks = running.get(person).map_or(0, PersonCalls::tasks);
        (tasks < most).then(|| running.entry(person.clone()).or_default().add(login, true))
    }

    /// Lets a tool run on that [`Self::stop`] was to end. Returns what ends it from now on; `None` if it has
    /// ended.
    pub(crate) fn renew_tool(&self, person: &OwnerId, number: u64) -> Option<CancellationToken> {
        let mut running = self.lock();
        let calls = running.get_mut(person)?;
        let stop = calls.stop.child_token();
        calls.tools.get_mut(&number)?.stop = stop.clone();
        Some(stop)
    }

    /// Counts a task of a person that is under way, however many run. It is a tool until [`Self::end_tool`].
    pub(crate) fn resume_task(&self, person: &OwnerId, login: McpTokenLogin) -> (u64, CancellationToken) {
        let mut running = self.lock();
        running.entry(person.clone()).or_default().add(login, true)
    }

    /// Takes over the guard of the session of a task. Returns whether nobody guarded it; then
    /// [`Self::leave_task`] releases it.
    pub(crate) fn guard_task(&self, session: &SessionId) -> bool {
        let mut guarded = self.guarded.lock().unwrap_or_else(PoisonError::into_inner);
        guarded.insert(session.clone())
    }

    /// Ends the guard of the session of a task.
    pub(crate) fn leave_task(&self, session: &SessionId) {
        let mut guarded = self.guarded.lock().unwrap_or_else(PoisonError::into_inner);
        guarded.remove(session);
    }

    /// Ends a tool that [`Self::begin_tool`] counted.
    pub(crate) fn end_tool(&self, person: &OwnerId, number: u64) {
        self.end_one(person, |calls| {
            let _ = calls.tools.remove(&number);
        });
    }

    /// Ends the tools whose caller `may_go_on` does not hold for. It is called without a lock.
    pub(crate) fn stop_all_but(&self, may_go_on: impl Fn(&McpTokenLogin) -> bool) {
        let running = self.lock();
        let tools = running.values().flat_map(|calls| calls.tools.values());
        let tools: Vec<_> = tools
            .map(|tool| (tool.login.clone(), tool.stop.clone()))
            .collect();
        drop(running);
        for (login, stop) in tools {
            if !stop.is_cancelled() && !may_go_on(&login) {
                stop.cancel();
            }
        }
    }

    /// Ends the calls of a person that run or are suspended now, but none that begins later.
    pub(crate) fn stop(&self, person: &OwnerId) {
        if let Some(calls) = self.lock().get_mut(person) {
            std::mem::take(&mut calls.stop).cancel();
        }
    }

    /// Returns the log level of a person's clients. `/mcp` has no sessions of the protocol, so it is one for
    /// all of them.
    pub(crate) fn log_level(&self, person: &OwnerId) -> Option<Arc<ClientLogLevel>> {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(level) = levels.get(person) {
            return Some(level.clone());
        }
        (levels.len() < LEVELS).then(|| levels.entry(person.clone()).or_default().clone())
    }

    /// Returns the blobs that results for a person named within an hour.
    pub(crate) fn blobs(&self, person: &OwnerId) -> ClientBlobs {
        let mut blobs = self.blobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = blobs.get(person) {
            return own.clone();
        }
        if blobs.len() >= READERS {
            blobs.retain(|_, own| !own.is_empty());
        }
        let own = ClientBlobs::default();
        if blobs.len() < READERS {
            blobs.insert(person.clone(), own.clone());
        }
        own
    }

    /// Counts one more request of a person, if fewer than `most` run. Returns whether it counts; then
    /// [`Self::end`] ends it.
    pub(crate) fn begin(&self, person: &OwnerId, most: usize) -> bool {
        let mut running = self.lock();
        let count = running.get(person).map_or(0, |calls| calls.count);
        let has_room = count < most;
        if has_room {
            running.entry(person.clone()).or_default().count += 1;
        }
        has_room
    }

    /// Ends a request that [`Self::begin`] counted.
    pub(crate) fn end(&self, person: &OwnerId) {
        self.end_one(person, |calls| calls.count -= 1);
    }

    fn end_one(&self, person: &OwnerId, end: impl FnOnce(&mut PersonCalls)) {
        let mut running = self.lock();
        if let Some(calls) = running.get_mut(person) {
            end(calls);
            if calls.count == 0 && calls.tools.is_empty() {
                running.remove(person);
            }
        }
    }

    /// Returns whether no call runs or is suspended.
    pub(crate) fn is_idle(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<OwnerId, PersonCalls>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_suspended_is_reached_although_no_request_of_its_person_runs() {
        let calls = ClientCalls::default();
        let ann = OwnerId::new("own_ann");
        assert!(calls.begin(&ann, 1) && !calls.begin(&ann, 1));
        let begin_tool = |token: &str| calls.begin_tool(&ann, McpTokenLogin::of_token(token));
        let (first, stop) = begin_tool("tok_1");
        calls.end(&ann);
        assert!(!calls.is_idle(), "its commands go on");
        assert_eq!(calls.people(), std::slice::from_ref(&ann));
        calls.stop(&ann);
        assert!(stop.is_cancelled());
        let (second, later) = begin_tool("tok_1");
        assert!(!later.is_cancelled(), "one that begins later");
        let (third, other) = begin_tool("tok_2");
        calls.stop_all_but(|login| login.token() == Some("tok_2"));
        assert!(later.is_cancelled() && !other.is_cancelled());
        for number in [first, second, third] {
            calls.end_tool(&ann, number);
        }
        assert!(calls.is_idle() && calls.people().is_empty());
        assert!(!calls.begin(&ann, 0) && calls.is_idle());
    }

    #[test]
    fn tasks_of_a_person_are_counted_apart_from_their_calls() {
        let calls = ClientCalls::default();
        let (ann, bob) = (OwnerId::new("own_ann"), OwnerId::new("own_bob"));
        let login = || McpTokenLogin::of_token("tok_1");
        let (call, _) = calls.begin_tool(&ann, login());
        let (task, _) = calls.begin_task(&ann, login(), 1).unwrap();
        assert!(calls.begin_task(&ann, login(), 1).is_none(), "one runs");
        let (other, _) = calls.begin_task(&bob, login(), 1).unwrap();
        calls.end_tool(&ann, task);
        let (again, _) = calls.begin_task(&ann, login(), 1).unwrap();
        for (person, number) in [(&ann, call), (&ann, again), (&bob, other)] {
            calls.end_tool(person, number);
        }
        assert!(calls.is_idle());
    }

    #[test]
    fn a_task_that_runs_on_still_counts_and_can_be_stopped_again() {
        let calls = ClientCalls::default();
        let ann = OwnerId::new("own_ann");
        let login = || McpTokenLogin::of_token("tok_1");
        let (task, stop) = calls.begin_task(&ann, login(), 1).unwrap();
        calls.stop(&ann);
        let renewed = calls.renew_tool(&ann, task).unwrap();
        assert!(stop.is_cancelled() && !renewed.is_cancelled());
        assert!(
            calls.begin_task(&ann, login(), 1).is_none(),
            "it never stopped to count"
        );
        calls.stop_all_but(|_| false);
        assert!(renewed.is_cancelled());
        calls.end_tool(&ann, task);
        assert!(calls.renew_tool(&ann, task).is_none() && calls.is_idle());
    }
}
