//! What a responder says of itself when it is attached, and how it stands.

use super::key_pattern::KeyPattern;
use super::scheduler::ResponderId;

/// How many requests a responder works on at once, by default.
const CAPACITY: usize = 64;
/// The number of may that wait for it.
const WAITING: usize = 1024;

/// What a responder serves, and how much of it at once.
///
/// ```
/// use agentx_bus::{KeyPattern, Serve};
///
/// let serve = Serve::new("weather").on("tools.requests", KeyPattern::new("weather")).capacity(8);
/// ```
#[derive(Clone, Debug)]
pub struct Serve {
    pub(super) name: String,
    pub(super) served: Vec<(Box<str>, KeyPattern)>,
    pub(super) capacity: usize,
    pub(super) waiting: usize,
}

impl Serve {
    /// A responder of this name, which serves errors and lists, that serves nothing yet.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            served: Vec::new(),
            capacity: CAPACITY,
            waiting: WAITING,
        }
    }

    /// Serves these keys of a topic too.
    #[must_use]
    pub fn on(mut self, topic: &str, keys: KeyPattern) -> Self {
        self.served.push((topic.into(), keys));
        self
    }

    /// Sets how many requests it works on at once; at least 1, by default 64.
    #[must_use]
    pub fn capacity(mut self, capacity: usize) -> Self {
        self.capacity = capacity.max(1);
        self
    }

    /// Sets how many requests may wait for it; by default 1,024. Further ones are refused.
    #[must_use]
    pub fn waiting(mut self, waiting: usize) -> Self {
        self.waiting = waiting;
        self
    }
}

/// What a responder that is detached may do with what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grace {
    /// It settles what it has been given.
    Finish,
    /// What it has been given is lost.
    Now,
}

/// A responder in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponderInfo {
    /// The id of the responder.
    pub id: ResponderId,
    /// The name.
    pub name: String,
    /// What it serves: topics and keys.
    pub serves: Vec<(String, String)>,
    /// How many requests it works on at most.
    pub capacity: usize,
    /// How many it has.
    pub claimed: usize,
    /// How many wait for it.
    pub waiting: usize,
    /// How many it has settled since it was attached.
    pub settled: u64,
    /// How many it has dropped, as by a panic: nobody knows how they ended.
    pub lost: u64,
}
