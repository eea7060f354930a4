//! Calls that a running tool makes: their rules, the wait for a person's decision, and its time limit.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentx_types::{AgentConfig, NestedDecision, ToolCallId};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

/// The nested calls of one action that wait for a decision. Clones share the same state. The driver sends
/// decisions, and the tool's sink waits for them; waiters are dropped when the action is over.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decisions(Arc<Mutex<BTreeMap<ToolCallId, oneshot::Sender<NestedDecision>>>>);

impl Decisions {
    /// Waits for the decision about this call. A later wait for the same call replaces an earlier one.
    pub(crate) fn wait(&self, id: &ToolCallId) -> oneshot::Receiver<NestedDecision> {
        let (tell, told) = oneshot::channel();
        lock(&self.0).insert(id.clone(), tell);
        told
    }

    /// Sends the decision to the waiter, if there is one.
    pub(crate) fn tell(&self, id: &ToolCallId, decision: NestedDecision) {
        if let Some(tell) = lock(&self.0).remove(id) {
            // A receiver that is gone is being stopped.
            let _ = tell.send(decision);
        }
    }
}

/// The current configuration of the agent whose action runs: rules that are added meanwhile apply to the next
/// steps of the action. Clones share the same state. Empty until the driver sets it.
#[derive(Clone, Debug, Default)]
pub(crate) struct CurrentConfig(Arc<Mutex<Option<Arc<AgentConfig>>>>);

impl CurrentConfig {
    /// Returns the current configuration.
    pub(crate) fn set(&self, config: &Arc<AgentConfig>) {
        *lock(&self.0) = Some(Arc::clone(config));
    }

    /// The current configuration, if it was set.
    pub(crate) fn get(&self) -> Option<Arc<AgentConfig>> {
        lock(&self.0).clone()
    }
}

/// The time for which a call of the model, with all calls that it makes itself, has waited for people. Clones
/// share the same state. Limits of time do not count it: a person may take an hour.
#[derive(Clone, Debug, Default)]
pub struct Pauses(Arc<DecisionsShared>);

#[derive(Debug, Default)]
struct DecisionsShared {
    times: Mutex<WaitTimes>,
    over: Notify,
    /// A person gets one question at a time.
    turn: tokio::sync::Mutex<()>,
}

/// The time of waits, of which several may overlap.
#[derive(Debug, Default)]
struct WaitTimes {
    /// The number of waits that are open.
    open: usize,
    /// The start of the first wait.
    since: Option<Instant>,
    /// The time of the waits before that.
    before: Duration,
}

/// While it lives the call waits for a person.
#[derive(Debug)]
pub struct DecisionPause(Arc<DecisionsShared>);

impl Pauses {
    /// Waits until no other question of the call is open. So a script with many calls at once does not fill a
    /// screen.
    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.0.turn.lock().await
    }

    /// The call begins to wait for a person.
    #[must_use]
    pub fn begin(&self) -> DecisionPause {
        let mut times = lock(&self.0.times);
        times.open += 1;
        times.since.get_or_insert_with(Instant::now);
        DecisionPause(self.0.clone())
    }

    /// Returns the time waited until now. Overlapping waits count once.
    pub fn waited(&self) -> Duration {
        let times = lock(&self.0.times);
        times.before + times.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Completes when the call waits for nobody.
    pub async fn finished(&self) {
        loop {
            let over = self.0.over.notified();
            if lock(&self.0.times).open == 0 {
                return;
            }
            over.await;
        }
    }
}

impl Drop for DecisionPause {
    fn drop(&mut self) {
        let mut times = lock(&self.0.times);
        times.open -= 1;
        if times.open == 0
            && let Some(since) = times.since.take()
        {
            times.before += since.elapsed();
            self.0.over.notify_waiters();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_that_overlap_count_once() {
        let pauses = Pauses::default();
        pauses.finished().await;
        let (first, second) = (pauses.begin(), pauses.begin());
        tokio::time::advance(Duration::from_secs(5)).await;
        drop(first);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(pauses.waited(), Duration::from_secs(10));
        let waits = pauses.clone();
        let waits = tokio::spawn(async move { waits.finished().await });
        tokio::task::yield_now().await;
        assert!(!waits.is_finished());
        drop(second);
        waits.await.ok();
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(pauses.waited(), Duration::from_secs(10));
    }
}
