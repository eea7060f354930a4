//! The messages that requests keep although the window has moved past them.
//!
//! The current task must not slide out of the window, nor the first input, messages that a person pinned, and
//! summaries of earlier parts. `prepare_window` computes the list whenever the window has moved; the messages
//! are sent before the window, in their order. Agents without condensing keep only the input of the run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentx_types::{AgentConfig, Message, MessageId, Role};

use super::condense::is_input;
use super::{Conversation, Entry};

/// The maximum share of these messages in the budget, in percent; the current task stays at any size.
const STAY_PERCENT: u64 = 20;

/// The reasons why a message stays, the most important first. If there is not enough room, messages with a
/// later reason go first, and among equal ones the older.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StayReason {
    /// The input of the run in progress.
    ToDo,
    /// The first input of the conversation.
    Goal,
    /// A person pinned it.
    Pinned,
    /// A summary.
    Summary,
}

/// The indices of messages that may have a reason to stay: an index into a long conversation that follows
/// only from the messages.
#[derive(Clone, Debug, Default)]
pub(super) struct Landmarks {
    /// Every message, by its id.
    by_id: BTreeSet<(MessageId, usize)>,
    /// The first input, if there is one.
    goal: Option<usize>,
    /// All summaries, in order.
    summaries: Vec<usize>,
}

impl Landmarks {
    /// The landmarks of a whole conversation.
    fn of(entries: &[Entry]) -> Self {
        let mut landmarks = Self::default();
        let entries = entries.iter().enumerate();
        entries.for_each(|(at, entry)| landmarks.note(at, entry));
        landmarks
    }

    /// Records that a message was added to the conversation at the index `at`.
    pub(super) fn note(&mut self, at: usize, entry: &Entry) {
        self.by_id.insert((entry.message.message_id.clone(), at));
        if entry.summary {
            self.summaries.push(at);
        } else if self.goal.is_none() && is_input(entry) {
            self.goal = Some(at);
        }
    }

    /// The messages with this id.
    fn with_id(&self, id: &MessageId) -> impl DoubleEndedIterator<Item = usize> {
        let range = (id.clone(), 0)..=(id.clone(), usize::MAX);
        self.by_id.range(range).map(|(_, at)| *at)
    }
}

impl Conversation {
    /// The messages that stay although the window has moved past them, in order, with their estimated tokens.
    ///
    /// `budget` is the number of tokens for all messages, `input` the input of the run in progress. A message
    /// with several reasons has the most important one.
    pub(super) fn staying(
        &mut self,
        config: &AgentConfig,
        budget: u64,
        input: Option<&MessageId>,
    ) -> Vec<(Arc<Message>, u64)> {
        let entries = &self.entries;
        let landmarks = &*self.landmarks.get_or(|| Landmarks::of(entries));
        let left_out = &self.entries[..self.window_start];
        let is_left_out = |at: &usize| *at < left_out.len();
        let to_do = input
            .into_iter()
            .flat_map(|id| landmarks.with_id(id))
            .filter(|at| {
                left_out
                    .get(*at)
                    .is_some_and(|entry| entry.message.role == Role::User)
            });
        // In older sessions only the input of the run stays, regardless of its size.
        if config.condensing.is_none() {
            let to_do = to_do.max().map(|at| (left_out[at].message.clone(), 0));
            return to_do.into_iter().collect();
        }
        // If there are several reasons for one, the weightiest counts.
        let mut reasons: BTreeMap<usize, StayReason> = BTreeMap::new();
        let mut note = |at: usize, reason| {
            reasons.entry(at).or_insert(reason);
        };
        to_do.for_each(|at| note(at, StayReason::ToDo));
        let goal = landmarks.goal.filter(|_| config.history_messages.is_none());
        goal.iter().for_each(|at| note(*at, StayReason::Goal));
        let pinned = self.kept_inputs.iter().flat_map(|id| landmarks.with_id(id));
        pinned.for_each(|at| note(at, StayReason::Pinned));
        landmarks
            .summaries
            .iter()
            .for_each(|at| note(*at, StayReason::Summary));
        let mut found: Vec<(StayReason, Reverse<usize>)> = reasons
            .into_iter()
            .filter(|(at, _)| is_left_out(at))
            .map(|(at, reason)| (reason, Reverse(at)))
            .collect();
        found.sort_unstable();
        let mut room = budget.saturating_mul(STAY_PERCENT) / 100;
        found.retain(|(reason, Reverse(at))| {
            let tokens = self.corrected(left_out[*at].tokens);
            let fits = *reason == StayReason::ToDo || tokens <= room;
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
