//! The calls of MCP clients that run or are suspended: how many each person has, what ends them, and what they log for whom.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_mcp::ClientLogLevel;
use agentx_types::OwnerId;
use tokio_util::sync::CancellationToken;

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
    /// The requests that run.
    count: usize,
    /// The tools that run, also those whose call is suspended without a request.
    tools: usize,
    /// Ends those that run now.
    stop: CancellationToken,
}

impl ClientCalls {
    /// Returns the people whose calls run or are suspended.
    pub(crate) fn people(&self) -> Vec<OwnerId> {
        self.lock().keys().cloned().collect()
    }

    /// Begins a tool of a person, whose call may be suspended and so outlive its request. Returns what ends it;
    /// [`Self::end_tool`] counts it no more.
    pub(crate) fn begin_tool(&self, person: &OwnerId) -> CancellationToken {
        let mut running = self.lock();
        let calls = running.entry(person.clone()).or_default();
        calls.tools += 1;
        calls.stop.clone()
    }

    /// Ends a tool that [`Self::begin_tool`] counted.
    pub(crate) fn end_tool(&self, person: &OwnerId) {
        self.end_one(person, |calls| calls.tools -= 1);
    }

    /// Ends the calls of a person that run or are suspended now, but none that begins later.
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

    /// Counts one more request of a person, if fewer than `most` run. Returns whether it counts; then [`Self::end`] ends it.
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
            if calls.count == 0 && calls.tools == 0 {
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
        let stop = calls.begin_tool(&ann);
        calls.end(&ann);
        assert!(!calls.is_idle(), "its commands go on");
        assert_eq!(calls.people(), std::slice::from_ref(&ann));
        calls.stop(&ann);
        assert!(stop.is_cancelled());
        assert!(!calls.begin_tool(&ann).is_cancelled(), "one that begins later");
        calls.end_tool(&ann);
        calls.end_tool(&ann);
        assert!(calls.is_idle() && calls.people().is_empty());
        assert!(!calls.begin(&ann, 0) && calls.is_idle());
    }
}
