//! Decides which run of a lane has the next turn: of the persons whose runs are ready, the one whose runs
//! have computed least; of their runs, the one that has been ready for longest.
//!
//! Turns have different lengths, because a script cannot yield inside a metamethod. So computing time is
//! compared, not the number of turns: a script that overran its turn waits until others had as much time, as
//! far as they need it. A person with many runs gets as much as a person with one. A run that mostly waits is
//! next when its outcome comes, however many others compute, because it has used less.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::Hash;
use std::time::Duration;

use crate::run::run_channel::RunStart;
use crate::run::run_timer::SLICE;

/// The owner of the turns that a run takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TurnTaker {
    /// A person, by the number that the caller gave.
    Person(u64),
    /// The owner of a script that runs for no named person.
    Owner(u64),
}

impl TurnTaker {
    /// The owner of this run's turns.
    pub(crate) fn of(start: &RunStart) -> Self {
        let owner = Self::Owner(start.script.owner);
        start.limits.person.map_or(owner, Self::Person)
    }
}

/// The runs that can continue, in the order of their turns.
#[derive(Default)]
pub(crate) struct TurnQueue {
    /// The persons with ready runs.
    takers: LeastUsedQueue<TurnTaker>,
    /// The ready runs of each person, in turn: they share VMs, in which one that had many turns in a row
    /// would be charged with the garbage of others.
    runs: HashMap<TurnTaker, VecDeque<u64>>,
}

impl TurnQueue {
    /// Returns whether no run is ready.
    pub(crate) fn is_empty(&self) -> bool {
        self.takers.ready.is_empty()
    }

    /// Adds a run that can continue.
    pub(crate) fn push(&mut self, taker: TurnTaker, run: u64) {
        let runs = self.runs.entry(taker).or_default();
        if !runs.contains(&run) {
            runs.push_back(run);
        }
        self.takers.push(taker);
    }

    /// Takes the run that has the next turn. [`TurnQueue::took`] has to be called after that turn.
    pub(crate) fn pop(&mut self) -> Option<(TurnTaker, u64)> {
        let taker = self.takers.pop()?;
        let run = self.runs.get_mut(&taker)?.pop_front()?;
        Some((taker, run))
    }

    /// Charges a turn of a run to its person.
    pub(crate) fn took(&mut self, taker: TurnTaker, time: Duration) {
        self.takers.charge(taker, time);
        if self.runs.get(&taker).is_some_and(|runs| !runs.is_empty()) {
            self.takers.push(taker);
        }
    }

    /// Charges the first turn of a run that began without being in the queue to its person.
    pub(crate) fn began(&mut self, taker: TurnTaker, time: Duration) {
        self.takers.charge(taker, time);
    }

    /// A run is over.
    pub(crate) fn ended(&mut self, taker: TurnTaker, run: u64) {
        let Some(runs) = self.runs.get_mut(&taker) else {
            return;
        };
        runs.retain(|ready| *ready != run);
        if runs.is_empty() {
            self.takers.withdraw(taker);
            self.runs.remove(&taker);
        }
    }
}

/// Keys that are ready for a turn, the one that has used least time first; of equal ones, the one that has
/// been ready for longest.
struct LeastUsedQueue<K> {
    /// The used time of each ready key, its place among those with the same time, and the key.
    ready: BTreeSet<(Duration, u64, K)>,
    /// The accounts of the ready keys, and of those that were ready lately.
    accounts: HashMap<K, Account>,
    /// About the time that the ready key with the least has used, with which a new key begins. It grows while
    /// others have their turns, so that a stream of new keys does not starve anybody.
    level: Duration,
    /// The last place that was given.
    last: u64,
    /// The number of accounts at which those of keys that are not ready are closed.
    many: usize,
}

/// The time that a key has used, and its place while it is ready.
#[derive(Clone, Copy)]
struct Account {
    used: Duration,
    place: Option<u64>,
}

/// The time that a new key counts as having used more than those that are known, so that many new ones delay
/// none of these.
const AHEAD: Duration = SLICE.saturating_mul(2);
/// The number of accounts below which none is closed.
const FEW: usize = 256;

impl<K> Default for LeastUsedQueue<K> {
    fn default() -> Self {
        Self {
            ready: BTreeSet::new(),
            accounts: HashMap::new(),
            level: Duration::ZERO,
            last: 0,
            many: FEW,
        }
    }
}

impl<K: Copy + Ord + Hash> LeastUsedQueue<K> {
    /// Adds a key. One that waited keeps at most a slice of the time that it did not use, so that it is next
    /// and saves up no turns. A new one comes after it.
    fn push(&mut self, key: K) {
        let used = match self.accounts.get(&key) {
            Some(Account { place: Some(_), .. }) => return,
            Some(account) => account.used.max(self.level.saturating_sub(SLICE)),
            None => self.level.saturating_add(AHEAD),
        };
        self.last += 1;
        let place = Some(self.last);
        self.accounts.insert(key, Account { used, place });
        self.ready.insert((used, self.last, key));
    }

    /// Takes the key that has used least.
    fn pop(&mut self) -> Option<K> {
        let (used, _, key) = self.ready.pop_first()?;
        self.level = self.level.max(used);
        self.accounts.insert(key, Account { used, place: None });
        Some(key)
    }

    /// Adds to the time that a key has used.
    fn charge(&mut self, key: K, time: Duration) {
        let Account { used, place } = self.account(key);
        let more = used.saturating_add(time);
        if let Some(place) = place {
            self.ready.remove(&(used, place, key));
            self.ready.insert((more, place, key));
        }
        self.accounts.insert(key, Account { used: more, place });
        if let Some((least, _, _)) = self.ready.first() {
            let all = u32::try_from(self.ready.len() + 1).unwrap_or(u32::MAX);
            let grown = self.level.saturating_add(time / all);
            self.level = self.level.max(grown.min(*least));
        }
        self.close_accounts();
    }

    /// The key is no longer ready; its account stays.
    fn withdraw(&mut self, key: K) {
        let Account { used, place } = self.account(key);
        if let Some(place) = place {
            self.ready.remove(&(used, place, key));
            self.accounts.insert(key, Account { used, place: None });
        }
    }

    /// The account of a key; that of a new one begins at the level.
    fn account(&self, key: K) -> Account {
        let known = self.accounts.get(&key).copied();
        known.unwrap_or(Account {
            used: self.level,
            place: None,
        })
    }

    /// If there are many accounts, closes those of keys that are not ready.
    fn close_accounts(&mut self) {
        if self.accounts.len() >= self.many {
            self.accounts.retain(|_, account| account.place.is_some());
            self.many = FEW.max(2 * self.accounts.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: TurnTaker = TurnTaker::Person(1);
    const BOB: TurnTaker = TurnTaker::Person(2);

    const fn ms(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    /// Gives turns of this length to the next runs, all of which stay ready. Returns the runs in their order.
    fn turns(queue: &mut TurnQueue, count: usize, time: impl Fn(u64) -> Duration) -> Vec<u64> {
        let turn = |_| {
            let (taker, run) = queue.pop()?;
            queue.took(taker, time(run));
            queue.push(taker, run);
            Some(run)
        };
        (0..count).map_while(turn).collect()
    }

    #[test]
    fn a_person_with_sixteen_runs_has_as_many_turns_as_one_with_a_single_run() {
        let mut queue = TurnQueue::default();
        (1..=16).for_each(|run| queue.push(ANN, run));
        queue.push(BOB, 99);
        let all = turns(&mut queue, 64, |_| ms(4));
        assert_eq!(all.iter().filter(|run| **run == 99).count(), 32);
        for run in 1..=16 {
            assert_eq!(all.iter().filter(|one| **one == run).count(), 2, "{run}: {all:?}");
        }
    }

    #[test]
    fn a_run_that_overran_its_turn_waits_until_others_had_as_much_time() {
        let mut queue = TurnQueue::default();
        (1..=2).for_each(|run| queue.push(TurnTaker::Owner(run), run));
        let all = turns(&mut queue, 10, |run| if run == 1 { ms(32) } else { ms(4) });
        assert_eq!(
            all,
            [1, 2, 2, 2, 2, 2, 2, 2, 2, 1],
            "both had used 32 ms before the last"
        );
    }

    #[test]
    fn who_comes_back_from_waiting_is_next_however_many_compute() {
        let mut queue = TurnQueue::default();
        queue.push(BOB, 99);
        assert_eq!(queue.pop(), Some((BOB, 99)));
        queue.took(BOB, ms(1));
        (1..=8).for_each(|run| queue.push(TurnTaker::Owner(run), run));
        // From now on each of them has used more.
        turns(&mut queue, 8, |_| ms(32));
        for _ in 0..20 {
            assert_ne!(turns(&mut queue, 1, |_| ms(32)), [99]);
            queue.push(BOB, 99);
            assert_eq!(queue.pop(), Some((BOB, 99)));
            queue.took(BOB, Duration::from_micros(10));
        }
    }

    #[test]
    fn nobody_saves_up_turns_by_waiting_or_with_new_runs() {
        let mut queue = TurnQueue::default();
        queue.push(ANN, 1);
        queue.push(BOB, 99);
        queue.ended(BOB, 99);
        turns(&mut queue, 1_000, |_| ms(4));
        // Each of his runs is a new one, and he is known by what they have used.
        let mut last = Vec::new();
        for run in 100..200 {
            queue.push(BOB, run);
            let (taker, _) = queue.pop().unwrap_or((BOB, 0));
            queue.took(taker, ms(4));
            last.push(taker);
            queue.ended(BOB, run);
            if taker == ANN {
                queue.push(ANN, 1);
            }
        }
        let hers = last.iter().filter(|taker| **taker == ANN).count();
        assert!((48..=52).contains(&hers), "{hers} of 100");
    }

    #[test]
    fn accounts_of_those_who_are_gone_are_closed() {
        let mut queue = TurnQueue::default();
        queue.push(ANN, 1);
        for run in 2..10_000 {
            queue.push(TurnTaker::Owner(run), run);
            while let Some((taker, next)) = queue.pop() {
                queue.took(taker, ms(4));
                if next == run {
                    break;
                }
                queue.push(taker, next);
            }
            queue.ended(TurnTaker::Owner(run), run);
        }
        assert!(
            queue.takers.accounts.len() <= FEW,
            "{}",
            queue.takers.accounts.len()
        );
        assert!(queue.runs.len() <= 1, "{}", queue.runs.len());
        queue.ended(ANN, 1);
        assert!(queue.is_empty() && queue.runs.is_empty());
    }
}
