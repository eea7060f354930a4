//! Calls that a judge refused, and the decisions of people about assessed calls. A person may overrule a
//! refusal later, from any front end: then the same call runs when the model makes it again, and judges are
//! told of the decision.

use agentx_types::{DecidedCall, RequestedCall, ToolCallId, shortened};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::policy::verdict_words;
use crate::permissions::approval::Question;

/// Maximum number of remembered refusals; the latest stay.
const MOST_REFUSED: usize = 64;
/// Maximum number of decisions that a judge is told of; the latest stay.
const MOST_DECIDED: usize = 8;
/// Maximum number of characters of a call in such a decision.
const CALL_CHARS: usize = 400;

/// A call that a judge refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RefusedCall {
    /// The call.
    pub call: RequestedCall,
    /// The question to a person who may overrule the refusal: the verdicts, and whether the settings of a
    /// server ask about the call, so that it takes more than a role to allow it.
    pub question: Question,
    /// The number of times that the same call may run, because a person overruled the refusal: `None` until
    /// somebody decides, 0 after a person agreed or the call has run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<u32>,
}

/// The refused calls of an agent, and the decisions of people about assessed calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RefusedCalls {
    calls: Vec<RefusedCall>,
    decided: Vec<DecidedCall>,
}

impl RefusedCalls {
    /// Returns whether there is nothing to serialize.
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.decided.is_empty()
    }

    /// The refusals that nobody has decided about, the oldest first.
    pub(crate) fn open(&self) -> impl Iterator<Item = &RefusedCall> {
        self.calls.iter().filter(|refused| refused.allowed.is_none())
    }

    /// The decisions that judges are told of, the oldest first.
    pub(crate) fn decided(&self) -> &[DecidedCall] {
        &self.decided
    }

    /// Remembers a refusal.
    pub(crate) fn add(&mut self, refused: RefusedCall) {
        self.calls.push(refused);
        self.calls.drain(..self.calls.len().saturating_sub(MOST_REFUSED));
    }

    /// The refusal of this call, if nobody has decided about it.
    pub(crate) fn undecided(&self, id: &ToolCallId) -> Option<&RefusedCall> {
        self.open().find(|refused| refused.call.tool_call_id == *id)
    }

    /// Records a person's decision about a refusal: the same call may run this many times.
    pub(crate) fn settle(&mut self, id: &ToolCallId, times: u32) {
        let Some(refused) = self
            .calls
            .iter_mut()
            .find(|refused| refused.call.tool_call_id == *id && refused.allowed.is_none())
        else {
            return;
        };
        refused.allowed = Some(times);
        let (call, verdict) = (refused.call.clone(), verdict_words(&refused.question.risk));
        self.note(&call, &verdict, times > 0);
    }

    /// Notes a person's decision about an assessed call, for judges.
    pub(crate) fn note(&mut self, call: &RequestedCall, verdict: &str, allowed: bool) {
        self.decided.push(DecidedCall {
            call: shortened(&format!("{} {}", call.name, call.input), CALL_CHARS),
            verdict: shortened(verdict, CALL_CHARS),
            allowed,
        });
        self.decided
            .drain(..self.decided.len().saturating_sub(MOST_DECIDED));
    }

    /// Returns whether a person allowed exactly this call after a refusal, and uses that up.
    pub(crate) fn take_allowed(&mut self, name: &str, input: &Value) -> bool {
        let is_it = |refused: &&mut RefusedCall| {
            let left = refused.allowed.unwrap_or_default();
            left > 0 && refused.call.name == name && refused.call.input == *input
        };
        let Some(refused) = self.calls.iter_mut().find(is_it) else {
            return false;
        };
        refused.allowed = refused.allowed.map(|left| left.saturating_sub(1));
        true
    }
}
