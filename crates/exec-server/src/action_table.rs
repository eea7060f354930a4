//! The actions that a server knows by their ids, so that it performs each at most once: an action that is
//! requested again is answered with its result, and one whose result is forgotten is not performed again.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::action_result::ActionResult;

/// Ids without results that are known, so that their actions are not performed again.
const MOST_IDS: usize = 100_000;

/// The limits of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableLimits {
    /// Actions that run at once.
    pub(crate) running: usize,
    /// Results that are kept.
    pub(crate) results: usize,
    /// Bytes of these.
    pub(crate) bytes: usize,
}

/// The actions of a server.
#[derive(Debug)]
pub(crate) struct ActionTable {
    limits: TableLimits,
    state: Mutex<TableState>,
}

#[derive(Debug, Default)]
struct TableState {
    known: HashMap<String, Arc<KnownAction>>,
    running: usize,
    /// The ids with results, the oldest first.
    done: VecDeque<String>,
    bytes: usize,
    forgotten: HashSet<String>,
    /// The forgotten ids, the oldest first.
    forgotten_in_order: VecDeque<String>,
}

/// An action that runs, or its result.
#[derive(Debug)]
pub(crate) struct KnownAction {
    pub(crate) cancel: CancellationToken,
    result: watch::Sender<Option<Arc<ActionResult>>>,
}

/// The answer to a request for an action.
#[derive(Debug)]
pub(crate) enum Requested {
    /// It has to be performed.
    New(Arc<KnownAction>),
    /// It runs, or has a result.
    Known(Arc<KnownAction>),
    /// It was performed, and its result is forgotten.
    Forgotten,
    /// Too many actions run.
    Full,
}

impl KnownAction {
    /// Waits for the result.
    pub(crate) async fn result(&self) -> Option<Arc<ActionResult>> {
        let mut result = self.result.subscribe();
        let found = result.wait_for(Option::is_some).await.ok()?;
        found.clone()
    }
}

impl ActionTable {
    pub(crate) fn new(limits: TableLimits) -> Self {
        Self {
            limits,
            state: Mutex::default(),
        }
    }

    /// Looks an action up, and notes that it runs if it is new.
    pub(crate) fn request(&self, id: &str) -> Requested {
        let mut state = self.lock();
        if let Some(known) = state.known.get(id) {
            return Requested::Known(Arc::clone(known));
        }
        if state.forgotten.contains(id) {
            return Requested::Forgotten;
        }
        if state.running >= self.limits.running {
            return Requested::Full;
        }
        let action = Arc::new(KnownAction {
            cancel: CancellationToken::new(),
            result: watch::Sender::new(None),
        });
        state.known.insert(id.to_owned(), Arc::clone(&action));
        state.running += 1;
        Requested::New(action)
    }

    /// Returns the action of this id, if it runs or its result is kept.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<KnownAction>> {
        self.lock().known.get(id).cloned()
    }

    /// Keeps the result of an action that runs, and forgets older ones if there are too many.
    pub(crate) fn finish(&self, id: &str, result: ActionResult) {
        let mut state = self.lock();
        let Some(action) = state.known.get(id).cloned() else {
            return;
        };
        state.running = state.running.saturating_sub(1);
        state.bytes += result.size();
        state.done.push_back(id.to_owned());
        action.result.send_replace(Some(Arc::new(result)));
        while state.done.len() > self.limits.results
            || (state.bytes > self.limits.bytes && state.done.len() > 1)
        {
            state.forget_oldest();
        }
    }

    /// Cancels all actions that run.
    pub(crate) fn cancel_all(&self) {
        for action in self.lock().known.values() {
            action.cancel.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, TableState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TableState {
    fn forget_oldest(&mut self) {
        let Some(id) = self.done.pop_front() else { return };
        if let Some(action) = self.known.remove(&id) {
            let size = action.result.borrow().as_ref().map_or(0, |result| result.size());
            self.bytes = self.bytes.saturating_sub(size);
        }
        self.forgotten.insert(id.clone());
        self.forgotten_in_order.push_back(id);
        if self.forgotten_in_order.len() > MOST_IDS
            && let Some(oldest) = self.forgotten_in_order.pop_front()
        {
            self.forgotten.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use agentx_runtime::ToolOutcome;

    use super::*;

    fn table() -> ActionTable {
        ActionTable::new(TableLimits {
            running: 2,
            results: 2,
            bytes: 1_000,
        })
    }

    fn result(words: &str) -> ActionResult {
        ActionResult::new(ToolOutcome::success(words), &[])
    }

    fn is_new(table: &ActionTable, id: &str) -> bool {
        matches!(table.request(id), Requested::New(_))
    }

    #[tokio::test]
    async fn an_action_is_new_once_and_answered_from_its_result() {
        let table = table();
        assert!(is_new(&table, "a"));
        let Requested::Known(again) = table.request("a") else {
            panic!("it runs");
        };
        table.finish("a", result("done"));
        assert_eq!(again.result().await.unwrap().content, result("done").content);
        assert!(matches!(table.request("a"), Requested::Known(_)));
    }

    #[test]
    fn a_forgotten_action_is_not_performed_again() {
        let table = table();
        for id in ["a", "b", "c"] {
            assert!(is_new(&table, id));
            table.finish(id, result(id));
        }
        assert!(matches!(table.request("a"), Requested::Forgotten));
        assert!(matches!(table.request("b"), Requested::Known(_)));
        assert!(is_new(&table, "d"));
        table.finish("d", result(&"x".repeat(2_000)));
        assert!(
            matches!(table.request("c"), Requested::Forgotten),
            "the newest alone fits"
        );
        assert!(table.find("d").is_some() && table.find("c").is_none());
    }

    #[test]
    fn more_than_may_run_are_refused_until_one_is_done() {
        let table = table();
        assert!(is_new(&table, "a") && is_new(&table, "b"));
        assert!(matches!(table.request("c"), Requested::Full));
        table.finish("a", result(""));
        assert!(is_new(&table, "c"));
        table.cancel_all();
        assert!(table.find("b").is_some_and(|action| action.cancel.is_cancelled()));
    }
}
