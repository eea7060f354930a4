//! Recognizes repeated requests: what a session recorded already is neither done again nor refused.
//!
//! A front end whose connection was lost before the answer sends its request once more. An input is known by
//! its idempotency key, and so is any other request that came with one (`request_recorded`). A decision about
//! a call and a change of a queued input are also known by what they say, because the first one is in the log.
//! The driver asks here once such a request makes no sense any more.

use std::collections::{BTreeMap, VecDeque};

use agentx_types::{Approval, Envelope, EnvironmentEvent, InputRevised, OwnerId, RequestRecorded};

use crate::SessionFold;

/// The maximum number of remembered decisions of one person; also of changes, and of requests with keys. A
/// client repeats a request within half a minute.
const REMEMBERED: usize = 256;

/// The recorded requests of people that may come again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Repeats {
    /// `seq` of the first input with each idempotency key. A second input with the same key is in the fold
    /// only if a log contains one.
    keys: BTreeMap<String, u64>,
    /// The latest requests with keys, other than inputs, each with the `seq` of its record.
    requests: VecDeque<(u64, RequestRecorded)>,
    /// The latest decisions, with their `seq`.
    decisions: VecDeque<(u64, Approval)>,
    /// The latest changes of queued inputs, with their `seq`.
    revisions: VecDeque<(u64, InputRevised)>,
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

impl SessionFold {
    /// The input that came with this key, if one did.
    pub fn input_with_key(&self, key: &str) -> Option<u64> {
        self.repeats.keys.get(key).copied()
    }

    /// The record of the request with this key, if it was carried out. Inputs have their own keys.
    pub fn request_with_key(&self, key: &str) -> Option<&RequestRecorded> {
        let requests = self.repeats.requests.iter().rev();
        let mut same = requests.filter(|(_, done)| done.idempotency_key == key);
        same.next().map(|(_, done)| done)
    }

    /// The recorded decision that is this one, so that it can be sent twice: about the same call, by the same
    /// person, in the same words, and the latest about the call. How far it may reach is not compared,
    /// because a server says that again each time.
    pub fn same_decision(&self, wanted: &Approval) -> Option<u64> {
        let of_call = |(_, known): &&(u64, Approval)| known.tool_call_id == wanted.tool_call_id;
        let (seq, known) = self.repeats.decisions.iter().rev().find(of_call)?;
        let known = Approval {
            limited: wanted.limited,
            ..known.clone()
        };
        (known == *wanted).then_some(*seq)
    }

    /// The recorded change of a queued input that is this one, and the latest of that input.
    pub fn same_revision(&self, wanted: &InputRevised) -> Option<u64> {
        let of_input = |(_, known): &&(u64, InputRevised)| known.message_id == wanted.message_id;
        let (seq, known) = self.repeats.revisions.iter().rev().find(of_input)?;
        (known == wanted).then_some(*seq)
    }
}

/// The person with whose id a key begins; `None` for the session's owner.
fn person_of(key: &str) -> Option<&str> {
    let (person, _) = key.split_once('/')?;
    person.starts_with("own_").then_some(person)
}

/// Adds a fact, and forgets the oldest one of the same person beyond [`REMEMBERED`]: nobody makes the requests of
/// another forgotten.
fn remember<T: Clone>(known: &mut VecDeque<(u64, T)>, seq: u64, event: &T, person: fn(&T) -> Option<&str>) {
    let is_of_person = |(_, other): &(u64, T)| person(other) == person(event);
    if known.iter().filter(|known| is_of_person(known)).count() == REMEMBERED {
        let oldest = known.iter().position(is_of_person);
        oldest.map(|oldest| known.remove(oldest));
    }
    known.push_back((seq, event.clone()));
}

#[cfg(test)]
mod tests {
    use agentx_types::{EventDraft, SessionId, Source, Timestamp};

    use super::*;

    #[test]
    fn requests_of_one_person_push_out_none_of_another() {
        let mut fold = SessionFold::new(SessionId::new("ses_1"));
        let keys = (0..=REMEMBERED).map(|at| format!("own_guest/k{at}"));
        for (seq, key) in (1..).zip(std::iter::once("k".to_owned()).chain(keys)) {
            let done = RequestRecorded {
                idempotency_key: key,
                seq,
                request: None,
            };
            let draft = EventDraft::new(Source::System, None, done);
            fold.advance(&fold.mint(draft, Timestamp(0)));
        }
        assert!(fold.request_with_key("k").is_some());
        assert!(fold.request_with_key("own_guest/k0").is_none());
        assert!(fold.request_with_key("own_guest/k1").is_some());
    }
}
