//! The running calls of MCP clients: how many each person has, what ends them, and what they log for whom.

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

    /// Counts one more call of a person, if fewer than `most` run. Returns whether it counts; then [`Self::end`] ends it.
    pub(crate) fn begin(&self, person: &OwnerId, most: usize) -> bool {
        let mut running = self.lock();
        let count = &mut running.entry(person.clone()).or_default().count;
        let has_room = *count < most;
        *count += usize::from(has_room);
        has_room
    }

    /// Ends a call that [`Self::begin`] counted.
    pub(crate) fn end(&self, person: &OwnerId) {
        let mut running = self.lock();
        if let Some(calls) = running.get_mut(person) {
            calls.count -= 1;
            if calls.count == 0 {
                running.remove(person);
            }
        }
    }

    /// Returns whether no call runs.
    pub(crate) fn is_idle(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<OwnerId, PersonCalls>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
