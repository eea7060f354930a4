//! What is sent although the window has moved past it: what a model is asked to do must not slide out of what it reads, nor what
//! was asked first, what a person wants to stay, and summaries of what went before.

use std::cmp::Reverse;
use std::sync::Arc;

use agentx_types::{AgentConfig, Message, MessageId, Role};

use super::condense::is_input;
use super::{Conversation, Entry};

/// All of that may take so many percent of the budget; what is to be done now stays whatever it weighs.
const STAY_PERCENT: u64 = 20;

/// Why something stays, the weightiest reason first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    ToDo,
    Goal,
    Pinned,
    Summary,
}

impl Conversation {
    /// What stays of what the window has moved past, in order, with its tokens.
    pub(super) fn staying(
        &self,
        config: &AgentConfig,
        budget: u64,
        input: &MessageId,
    ) -> Vec<(Arc<Message>, u64)> {
        let left_out = &self.entries[..self.window_start];
        // Sessions of before are read as they were: the input of the run alone, which was not weighed.
        if config.condensing.is_none() {
            let to_do = left_out.iter().rev().find(|entry| is_to_do(entry, input));
            return to_do
                .map(|entry| (entry.message.clone(), 0))
                .into_iter()
                .collect();
        }
        let goal = left_out.iter().position(is_input);
        let reason = |at: usize, entry: &Entry| match () {
            () if is_to_do(entry, input) => Some(Reason::ToDo),
            () if goal == Some(at) => Some(Reason::Goal),
            () if self.kept_inputs.contains(&entry.message.message_id) => Some(Reason::Pinned),
            () if entry.summary => Some(Reason::Summary),
            () => None,
        };
        let entries = left_out.iter().enumerate();
        let mut found: Vec<(Reason, Reverse<usize>)> = entries
            .filter_map(|(at, entry)| Some((reason(at, entry)?, Reverse(at))))
            .collect();
        found.sort_unstable();
        let mut room = budget.saturating_mul(STAY_PERCENT) / 100;
        found.retain(|(reason, Reverse(at))| {
            let tokens = self.corrected(left_out[*at].tokens);
            let fits = *reason == Reason::ToDo || tokens <= room;
            room = room.saturating_sub(if fits { tokens } else { 0 });
            fits
        });
        let mut places: Vec<usize> = found.into_iter().map(|(_, Reverse(at))| at).collect();
        places.sort_unstable();
        let entries = places.into_iter().map(|at| &left_out[at]);
        entries
            .map(|entry| (entry.message.clone(), entry.tokens))
            .collect()
    }
}

fn is_to_do(entry: &Entry, input: &MessageId) -> bool {
    entry.message.message_id == *input && entry.message.role == Role::User
}
