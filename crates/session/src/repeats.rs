//! Recognizes repeated requests: a request that a session has already recorded is neither repeated nor
//! refused.
//!
//! A front end whose connection was lost before the answer sends its request once more. An input is known by
//! its idempotency key, and so is any other request that came with one (`request_recorded`). A decision about
//! a call and a change of a queued input are also known by their contents, because the first one is in the
//! log. The driver asks (`repeated_requests.rs`) when such a request no longer makes sense.

use std::collections::{BTreeMap, VecDeque};

use agentx_types::{Approval, Envelope, EnvironmentEvent, InputRevised, OwnerId, RequestRecorded};

/// The maximum number of remembered decisions of one person; also of changes, and of requests with keys. A
/// client repeats a request within half a minute.
pub(crate) const REMEMBERED: usize = 256;

/// The recorded requests of people that may come again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Repeats {
    /// `seq` of the first input with each idempotency key. A second input with the same key is in the fold
    /// only if a log contains one.
    pub(crate) keys: BTreeMap<String, u64>,
    /// The latest requests with keys, other than inputs, each with the `seq` of its record.
    pub(crate) requests: VecDeque<(u64, RequestRecorded)>,
    /// The latest decisions, with their `seq`.
    pub(crate) decisions: VecDeque<(u64, Approval)>,
    /// The latest changes of queued inputs, with their `seq`.
    pub(crate) revisions: VecDeque<(u64, InputRevised)>,
}

impl Repeats {
    /// Notes a fact.
    pub(crate) fn note(&mut self, fact: &Envelope<EnvironmentEvent>) {
        match &fact.event {
            EnvironmentEvent::UserMessage(message) => {
                if let Some(key) = &message.idempotency_key {
                    self.keys.entry(key.clone()).or_insert(fact.seq);
                }
            }
            EnvironmentEvent::RequestRecorded(done) => {
                remember(&mut self.requests, fact.seq, done, |done| {
                    person_of(&done.idempotency_key)
                });
            }
            EnvironmentEvent::Approval(approval) => {
                remember(&mut self.decisions, fact.seq, approval, |approval| {
                    approval.by.as_ref().map(OwnerId::as_str)
                });
            }
            EnvironmentEvent::InputRevised(revised) => {
                remember(&mut self.revisions, fact.seq, revised, |revised| {
                    revised.by.as_ref().map(OwnerId::as_str)
                });
            }
            _ => {}
        }
    }
}

/// The person with whose id a key begins; `None` for the session's owner.
fn person_of(key: &str) -> Option<&str> {
    let (person, _) = key.split_once('/')?;
    person.starts_with("own_").then_some(person)
}

/// Adds a fact, and forgets the oldest one of the same person beyond [`REMEMBERED`]: nobody makes the
/// requests of another forgotten.
fn remember<T: Clone>(known: &mut VecDeque<(u64, T)>, seq: u64, event: &T, person: fn(&T) -> Option<&str>) {
    let is_of_person = |(_, other): &(u64, T)| person(other) == person(event);
    if known.iter().filter(|known| is_of_person(known)).count() == REMEMBERED {
        let oldest = known.iter().position(is_of_person);
        oldest.map(|oldest| known.remove(oldest));
    }
    known.push_back((seq, event.clone()));
}
