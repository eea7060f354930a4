//! The events that a reader received, in the order of their arrival.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::BOUND;

/// The events that one reader received.
#[derive(Debug)]
pub struct Seen {
    what: String,
    lines: Mutex<Vec<String>>,
    state: watch::Sender<State>,
}

#[derive(Clone, Debug, Default)]
struct State {
    last: u64,
    count: usize,
    fault: Option<String>,
}

impl Seen {
    /// Nothing yet; `what` names the reader in error messages.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            lines: Mutex::default(),
            state: watch::Sender::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reader is shown this line, which is event `seq` or follows from it.
    pub fn take(&self, seq: u64, line: impl Into<String>) {
        self.lock().push(line.into());
        self.state.send_modify(|state| {
            state.last = seq;
            state.count += 1;
        });
    }

    /// Reports an event that must not happen: all waiters fail.
    pub fn fault(&self, why: impl Into<String>) {
        let why = format!("{}: {}", self.what, why.into());
        self.state.send_modify(|state| state.fault = Some(why));
    }

    /// The `seq` of the last event; 0 if there was none.
    pub fn last(&self) -> u64 {
        self.state.borrow().last
    }

    /// Returns the number of lines.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// All lines.
    pub fn lines(&self) -> Vec<String> {
        self.lock().clone()
    }

    /// Waits until it was shown so many lines.
    ///
    /// # Panics
    /// If it never is, or something went wrong.
    pub async fn comes_to(&self, count: usize) {
        assert!(
            self.comes_within(count, BOUND).await,
            "{} has {} lines, the last of event {}, and never comes to {count}",
            self.what,
            self.count(),
            self.last()
        );
    }

    /// Waits until it was shown so many lines, or for so long; says whether it was.
    ///
    /// # Panics
    /// Panics if something went wrong.
    pub async fn comes_within(&self, count: usize, bound: Duration) -> bool {
        let mut state = self.state.subscribe();
        let there = state.wait_for(|state| state.fault.is_some() || state.count >= count);
        let Ok(Ok(state)) = timeout(bound, there).await else {
            return false;
        };
        assert!(
            state.fault.is_none(),
            "{}",
            state.fault.clone().unwrap_or_default()
        );
        true
    }

    /// Waits until it was shown a line with this text.
    ///
    /// # Panics
    /// If it never is, or something went wrong.
    pub async fn has(&self, text: &str) {
        let mut state = self.state.subscribe();
        let mut looked = 0;
        let there = state.wait_for(|state| {
            let lines = self.lock();
            let found = lines[looked..].iter().any(|line| line.contains(text));
            looked = lines.len();
            state.fault.is_some() || found
        });
        match timeout(2 * BOUND, there).await {
            Ok(Ok(state)) => assert!(
                state.fault.is_none(),
                "{}",
                state.fault.clone().unwrap_or_default()
            ),
            _ => panic!("{} never was shown {text}", self.what),
        }
    }

    /// Fails the test unless it was shown exactly this.
    ///
    /// # Panics
    /// Panics if it was shown something else.
    #[track_caller]
    pub fn is(&self, log: &[String]) {
        let lines = self.lock();
        let differs = lines.iter().zip(log).position(|(shown, logged)| shown != logged);
        let what = &self.what;
        if let Some(at) = differs {
            panic!("{what}: line {at} is\n{}\nand not\n{}", lines[at], log[at]);
        }
        assert_eq!(lines.len(), log.len(), "{what}: how many lines");
    }

    /// Fails the test unless it was shown this, whatever came after.
    ///
    /// # Panics
    /// If it was shown something else, or less.
    #[track_caller]
    pub fn is_shown_first(&self, log: &[String]) {
        let lines = self.lock();
        let differs = lines.iter().zip(log).position(|(shown, logged)| shown != logged);
        let what = &self.what;
        if let Some(at) = differs {
            panic!("{what}: line {at} is\n{}\nand not\n{}", lines[at], log[at]);
        }
        assert!(
            lines.len() >= log.len(),
            "{what}: {} lines of {}",
            lines.len(),
            log.len()
        );
    }

    /// Fails the test unless all that it was shown is the beginning of this.
    ///
    /// # Panics
    /// Panics if something is missing, or is another thing.
    #[track_caller]
    pub fn is_kept_in(&self, log: &[String]) {
        let count = self.count();
        let there = log.len();
        assert!(
            count <= there,
            "{}: {count} lines were shown, {there} are there",
            self.what
        );
        self.is(&log[..count]);
    }
}
