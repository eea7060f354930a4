//! The parts that are left out because a server answered a request with an HTTP 500 in each attempt.
//!
//! Such a server either refuses the request or fails for a while. Its answers do not show which, and a
//! plainer request succeeds in the end in both cases. So these parts are left out until the run ends, and no
//! longer: an outage must not cost the pictures and the tool calls of the whole conversation.
//!
//! ```text
//! 500 each time ──▶ note_repeated ──▶ plainer requests ─┬─ the run ends ──────────────────▶ send_in_full_again
//!                                                       ├─ another process goes on ───────▶ send_in_full_again
//!                                                       └─ another model is asked ────────▶ send_in_full_again
//! ```
//!
//! Parts that a provider refuses with a 4xx, or with words that name the part, stay left out.

use agentx_types::AgentConfig;
use serde::{Deserialize, Serialize};

use super::Conversation;
use super::refusable_parts::is_signed_thinking;
use super::repairs::Repairs;

/// The state from before the first repair of the run that followed a repeated HTTP 500.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BeforeRepeated {
    /// The latest event of the conversation then.
    latest: u64,
    /// The parts that requests left out then.
    pub(super) repairs: Repairs,
}

impl Conversation {
    /// Records that the refused request was already sent several times, so that the next one is changed at
    /// once, and remembers the form that comes back later.
    pub(crate) fn note_repeated(&mut self) {
        let latest = self.latest();
        self.before_repairs.get_or_insert_with(|| self.repairs.clone());
        self.before_repeated.get_or_insert_with(|| {
            Box::new(BeforeRepeated {
                latest,
                repairs: self.repairs.clone(),
            })
        });
    }

    /// Sends again what was left out because of repeated HTTP 500s.
    ///
    /// Thinking of answers to the plainer requests does not fit behind what is sent again, so it goes as it
    /// does whenever the beginning of a request changes.
    pub(crate) fn send_in_full_again(&mut self, config: &AgentConfig) {
        let Some(before) = self.before_repeated.take() else {
            return;
        };
        let plainer = self.repairs.clone();
        self.repairs.leave_out_no_more_than(&before.repairs);
        if let Some(repairs) = &mut self.before_repairs {
            repairs.leave_out_no_more_than(&before.repairs);
        }
        if self.before_repairs.as_ref() == Some(&self.repairs) {
            self.before_repairs = None;
        }
        if self.repairs == plainer {
            return;
        }
        self.counted = None;
        if self.has(before.latest, is_signed_thinking) {
            self.beginning_changed(config);
        }
    }
}

impl Repairs {
    /// Sends again what is left out here and not in `other`, of the parts that are left out in turn after a
    /// refusal that names nothing.
    fn leave_out_no_more_than(&mut self, other: &Self) {
        for (until, other) in [
            (&mut self.thinking, other.thinking),
            (&mut self.tool_calls, other.tool_calls),
            (&mut self.blocks, other.blocks),
            (&mut self.attached, other.attached),
            (&mut self.reasoning, other.reasoning),
            (&mut self.signatures, other.signatures),
        ] {
            *until = other.min(*until);
        }
        self.plain &= other.plain;
        self.roles &= other.roles;
        if (self.media, self.media_of.len()) > (other.media, other.media_of.len()) {
            self.media = other.media;
            self.media_of.clone_from(&other.media_of);
        }
    }
}
