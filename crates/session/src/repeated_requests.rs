//! Asks a session whether it has already recorded a request: by the key of the request, or by its contents.

use agentx_types::{Approval, InputRevised, RequestRecorded};

use crate::SessionFold;

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
    /// person, in the same words, and the latest about the call. The reach of the decision is not compared,
    /// because a server sets it anew each time.
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

#[cfg(test)]
mod tests {
    use agentx_types::{EventDraft, SessionId, Source, Timestamp};

    use super::*;
    use crate::repeats::REMEMBERED;

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
