//! Permits for slow work: reading history, checking a session. Only a few tasks run at once, and one per
//! person if the operator does not say otherwise, so that neither many readers nor one person with many
//! connections keep everybody else waiting.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use agentx_runtime::RuntimeError;
use agentx_types::OwnerId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problems::remote;

/// The number of sessions that are checked, searched or folded again at once. The log has two threads that
/// read.
pub(crate) const CHECKS: usize = 1;

/// The number of complete answers about a session that are built at once: each is held in memory until it is
/// sent.
pub(crate) const ANSWERS: usize = 4;

/// The number of large request bodies that are read at once, one per person: each is held in memory.
const BODIES: usize = 8;

/// The number of large deliveries of webhooks that are read at once, one per address: nobody knows who sends
/// them until they are read.
const DELIVERIES: usize = 32;

/// Returns how many tasks read history at once: half of the processors, so that other work has the other
/// half.
pub(crate) fn readers_at_once() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores / 2).clamp(1, 8)
}

/// Maximum number of remembered people; beyond it, people who wait for nothing are forgotten.
const REMEMBERED: usize = 1024;

/// A semaphore that is fair to people. Each person has their own queue, and the first of each queue waits in
/// a common queue, so people take turns however many connections they have.
pub struct FairSemaphore {
    all: Arc<Semaphore>,
    /// The permits of one person at once.
    of_person: usize,
    people: Mutex<HashMap<OwnerId, Weak<Semaphore>>>,
}

/// The queue of one person.
#[derive(Clone)]
pub struct FairQueue {
    person: Arc<Semaphore>,
    all: Arc<Semaphore>,
}

/// The permit of one person; the next one is granted when this is dropped.
#[derive(Debug, Default)]
pub struct FairPermit {
    person: Option<OwnedSemaphorePermit>,
    _all: Option<OwnedSemaphorePermit>,
}

/// The permits for reading large bodies of requests.
pub(crate) struct BodyPermits {
    /// Those of people who have signed in.
    pub(crate) people: FairSemaphore,
    /// Those of deliveries of webhooks, by the address that sends them.
    pub(crate) deliveries: FairSemaphore,
}

impl Default for BodyPermits {
    fn default() -> Self {
        Self {
            people: FairSemaphore::new(BODIES),
            deliveries: FairSemaphore::new(DELIVERIES),
        }
    }
}

impl FairSemaphore {
    /// Creates a semaphore with `at_once` permits, of which a person has one at a time.
    pub fn new(at_once: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new(at_once.max(1))),
            of_person: 1,
            people: Mutex::default(),
        }
    }

    /// Lets a person have `of_person` permits at a time: at least one, and no more than there are.
    #[must_use]
    pub fn with_turns(self, of_person: u64) -> Self {
        let all = self.all.available_permits();
        let of_person = usize::try_from(of_person).unwrap_or(all).clamp(1, all);
        Self { of_person, ..self }
    }

    /// Returns the queue of a person.
    pub fn queue(&self, person: &OwnerId) -> FairQueue {
        let mut people = self.people.lock().unwrap_or_else(PoisonError::into_inner);
        if people.len() >= REMEMBERED {
            people.retain(|_, line| line.strong_count() > 0);
        }
        let line = people.get(person).and_then(Weak::upgrade).unwrap_or_else(|| {
            let line = Arc::new(Semaphore::new(self.of_person));
            people.insert(person.clone(), Arc::downgrade(&line));
            line
        });
        FairQueue {
            person: line,
            all: self.all.clone(),
        }
    }

    /// Waits for a person's turn.
    pub async fn take(&self, person: &OwnerId) -> FairPermit {
        self.queue(person).take().await
    }
}

impl FairQueue {
    /// Waits for a permit: first for this person's turn, then for a common permit.
    pub async fn take(&self) -> FairPermit {
        // Neither is ever closed.
        let person = self.person.clone().acquire_owned().await.ok();
        let _all = self.all.clone().acquire_owned().await.ok();
        FairPermit { person, _all }
    }
}

impl FairPermit {
    /// Releases the common permit: others may continue now, and the same person when this is dropped.
    pub fn of_the_person(self) -> Self {
        Self { _all: None, ..self }
    }

    /// Runs blocking work on a separate thread. The permit is held until the work has ended, even if its
    /// caller stops waiting.
    ///
    /// # Errors
    /// Returns an error if the program ends, or the work panics.
    pub async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, RuntimeError> {
        if self.person.is_none() {
            return Ok(work());
        }
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(self);
            done
        });
        done.await.map_err(|error| {
            tracing::error!(%error, "history task failed");
            remote("internal", "internal server error; see the server's log")
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn one_person_with_many_readers_takes_one_turn_at_a_time() {
        let turns = FairSemaphore::new(2);
        let (ann, bob) = (OwnerId::new("own_ann"), OwnerId::new("own_bob"));
        let first = turns.take(&ann).await;
        let mut waiting: Vec<_> = (0..60).map(|_| Box::pin(turns.take(&ann))).collect();
        let taken = waiting.iter_mut().filter_map(|turn| turn.now_or_never()).count();
        assert_eq!(taken, 0, "one of her readers at a time");
        let bobs = turns.take(&bob).now_or_never();
        assert!(bobs.is_some(), "he does not wait for all of hers");
        drop(first);
    }

    #[tokio::test]
    async fn a_person_has_as_many_turns_as_the_operator_says_and_no_more_than_there_are() {
        for (of_person, at_once, taken) in [(0, 4, 1), (1, 4, 1), (2, 4, 2), (8, 4, 4), (u64::MAX, 4, 4)] {
            let turns = FairSemaphore::new(at_once).with_turns(of_person);
            let ann = OwnerId::new("own_ann");
            let permits: Vec<_> = (0..60).filter_map(|_| turns.take(&ann).now_or_never()).collect();
            assert_eq!(permits.len(), taken, "{of_person} of {at_once}");
        }
    }

    #[tokio::test]
    async fn people_take_turns_however_many_readers_one_has() {
        let turns = FairSemaphore::new(1);
        let (ann, bob) = (OwnerId::new("own_ann"), OwnerId::new("own_bob"));
        let first = turns.take(&ann).await;
        let mut hers: Vec<_> = (0..60).map(|_| Box::pin(turns.take(&ann))).collect();
        for turn in &mut hers {
            assert!(futures_util::poll!(turn.as_mut()).is_pending());
        }
        let mut his = Box::pin(turns.take(&bob));
        assert!(futures_util::poll!(his.as_mut()).is_pending());
        drop(first);
        // A's next request queues behind B's.
        for turn in &mut hers {
            assert!(futures_util::poll!(turn.as_mut()).is_pending());
        }
        assert!(futures_util::poll!(his.as_mut()).is_ready());
    }

    #[tokio::test]
    async fn work_goes_on_elsewhere_and_keeps_its_turn_until_it_is_done() {
        let turns = FairSemaphore::new(1);
        let ann = OwnerId::new("own_ann");
        let here = std::thread::current().id();
        let turn = turns.take(&ann).await;
        let there = turn.run(|| std::thread::current().id()).await.ok();
        assert!(there.is_some_and(|there| there != here));
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let turn = turns.take(&ann).await;
        let mut work = Box::pin(turn.run(move || wait.recv().is_ok()));
        assert!(futures_util::poll!(work.as_mut()).is_pending());
        drop(work);
        assert!(turns.take(&ann).now_or_never().is_none(), "it is still under way");
        assert!(go.send(()).is_ok());
        drop(turns.take(&ann).await);
    }
}
