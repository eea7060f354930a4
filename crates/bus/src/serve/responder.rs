//! The description of a responder when it is attached, and its status.

use super::key_pattern::KeyPattern;
use super::scheduler::ResponderId;

/// Default number of requests that a responder works on at once.
const CAPACITY: usize = 64;
/// Default number of requests that may wait for a responder.
const WAITING: usize = 1024;

/// The topics that a responder serves, and its capacity.
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
    /// Creates the description of a responder that serves nothing yet. Errors and lists show `name`.
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

/// The treatment of the requests of a responder that is detached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grace {
    /// The responder finishes its open requests.
    Finish,
    /// The requests are lost.
    Now,
}

/// A responder in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponderInfo {
    /// The id of the responder.
    pub id: ResponderId,
    /// The name.
    pub name: String,
    /// The topics and keys that it serves.
    pub serves: Vec<(String, String)>,
    /// Maximum number of requests that it works on.
    pub capacity: usize,
    /// The number of requests that it works on.
    pub claimed: usize,
    /// The number of requests that wait for it.
    pub waiting: usize,
    /// The number of requests that it has settled since it was attached.
    pub settled: u64,
    /// The number of requests that it has dropped, for example by a panic: their outcome is unknown.
    pub lost: u64,
}
