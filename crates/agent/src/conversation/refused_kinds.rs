//! Reasoning, and blocks that only their own provider reads, that a server refuses in every answer.
//!
//! After the first refusal, requests leave out the parts that the conversation has so far, because a single
//! one may be at fault. If the server also refuses those of the very next answer, it accepts none: later ones
//! are left out from the start, until another model is chosen. Otherwise each message would cost a refused
//! request. Repeated HTTP 500s do not count: two outages would leave out the reasoning of the rest of the
//! session.

use agentx_types::{AgentConfig, ContentPart, since};

use super::refusable_parts::{has_attached, is_block, is_reasoning, is_signed_thinking};
use super::repair::{is_gemini, reasons};
use super::repairs::{ALL, Repairs};
use super::{Conversation, Entry};

impl Conversation {
    /// Leaves out the reasoning of the conversation, in each form that the API knows.
    pub(super) fn leave_out_thinking(&mut self, config: &AgentConfig) {
        let latest = self.latest();
        let refused = self.repairs.reasoning_refused;
        self.repairs.thinking = self.left_out_until(refused, is_signed_thinking, config);
        if reasons(config) {
            self.repairs.reasoning = self.left_out_until(refused, is_reasoning, config);
        }
        if is_gemini(config) {
            self.repairs.signatures = latest;
        }
        if config.rules_version >= since::REFUSED_KINDS_STAY_OUT {
            self.repairs.reasoning_refused = latest;
        }
    }

    /// Leaves out the reasoning of the conversation after a refusal that shows nothing about later reasoning:
    /// servers also answer with a 500 each time while they fail.
    pub(super) fn leave_out_thinking_for_now(&mut self, config: &AgentConfig) {
        let latest = self.latest();
        let repairs = &mut self.repairs;
        repairs.thinking = latest.max(repairs.thinking);
        if reasons(config) {
            repairs.reasoning = latest.max(repairs.reasoning);
        }
        if is_gemini(config) {
            repairs.signatures = latest.max(repairs.signatures);
        }
    }

    /// Leaves out the blocks and the attached data of the conversation, after such a refusal.
    pub(super) fn leave_out_blocks_for_now(&mut self) {
        let latest = self.latest();
        self.repairs.blocks = latest.max(self.repairs.blocks);
        self.repairs.attached = latest.max(self.repairs.attached);
    }

    /// Leaves out the blocks and the attached data of the conversation.
    pub(super) fn leave_out_blocks(&mut self, config: &AgentConfig) {
        let latest = self.latest();
        let refused = self.repairs.blocks_refused;
        self.repairs.blocks = self.left_out_until(refused, is_block, config);
        if config.rules_version >= since::REASONING_IS_LEFT_OUT {
            self.repairs.attached = self.left_out_until(refused, has_attached, config);
        }
        if config.rules_version >= since::REFUSED_KINDS_STAY_OUT {
            self.repairs.blocks_refused = latest;
        }
    }

    /// Sends parts of later answers again if they are to stay out since the last answer of the model, and the
    /// request without them is refused, too: something else is refused.
    pub(super) fn send_later_ones_again(&mut self) {
        let latest = self.latest();
        let Some(before) = &self.before_repairs else {
            return;
        };
        let before = [before.thinking, before.reasoning, before.blocks, before.attached];
        for (until, before) in self.repairs.kinds().into_iter().zip(before) {
            if *until == ALL && before != ALL {
                *until = latest;
            }
        }
    }

    /// The event up to which a refused kind of part is left out: the latest, or [`ALL`] if that kind was
    /// refused before (`refused` is the latest event then) and just one answer had it since.
    fn left_out_until(&self, refused: u64, kind: fn(&ContentPart) -> bool, config: &AgentConfig) -> u64 {
        let has_it = |entry: &&Entry| entry.seq > refused && entry.message.content.iter().any(kind);
        let is_next = config.rules_version >= since::REFUSED_KINDS_STAY_OUT
            && refused > 0
            && self.entries.iter().filter(has_it).count() == 1;
        if is_next { ALL } else { self.latest() }
    }
}

impl Repairs {
    /// The events up to which reasoning and blocks are left out.
    fn kinds(&mut self) -> [&mut u64; 4] {
        [
            &mut self.thinking,
            &mut self.reasoning,
            &mut self.blocks,
            &mut self.attached,
        ]
    }

    /// Forgets the refused kinds, because another model may accept what the former one refused. Parts of the
    /// conversation up to `latest` stay left out.
    pub(super) fn forget_refused_kinds(&mut self, latest: u64) {
        for until in self.kinds() {
            if *until == ALL {
                *until = latest;
            }
        }
        self.reasoning_refused = 0;
        self.blocks_refused = 0;
    }
}
