//! What a session recorded already, so that the same request, sent again, is not done again and not refused.
//!
//! A front end whose connection was lost before the answer sends its request once more. An input is known by
//! its idempotency key, and so is any other request that came with one (`request_recorded`). A decision about
//! a call and a change of a queued input are also known by what they say, because the first one is in the log.
//! The driver asks here once such a request makes no sense any more.

use std::collections::{BTreeMap, VecDeque};

use agentx_types::{Approval, Envelope, EnvironmentEvent, InputRevised, RequestRecorded};

use crate::SessionFold;

/// How many decisions, changes and requests with keys are remembered, each. A client repeats a request within half a minute.
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
    /// Takes note of a fact.
    pub(crate) fn note(&mut self, fact: &Envelope<EnvironmentEvent>) {
        match &fact.event {
            EnvironmentEvent::UserMessage(message) => {
                if let Some(key) = &message.idempotency_key {
                    self.keys.entry(key.clone()).or_insert(fact.seq);
                }
            }
            EnvironmentEvent::RequestRecorded(done) => remember(&mut self.requests, fact.seq, done),
            EnvironmentEvent::Approval(approval) => remember(&mut self.decisions, fact.seq, approval),
            EnvironmentEvent::InputRevised(revised) => remember(&mut self.revisions, fact.seq, revised),
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
    /// because a server says that anew each time.
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

/// Adds a fact, and forgets the oldest one beyond [`REMEMBERED`].
fn remember<T: Clone>(known: &mut VecDeque<(u64, T)>, seq: u64, event: &T) {
    if known.len() == REMEMBERED {
        known.pop_front();
    }
    known.push_back((seq, event.clone()));
}
