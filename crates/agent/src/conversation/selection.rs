//! Selects the messages that a summary replaces: all but the latest exchanges, or all but the latest half of
//! the messages. Pinned messages stay: the first input, that of the run, and those that a person pinned.

use agentx_types::{AgentConfig, ContextRange, MessageId};

use super::condense::{Part, is_input};
use super::{Conversation, Entry};

impl Conversation {
    /// Returns everything except the latest exchanges and pinned messages: the first input, that of the
    /// current run, and those that a person pinned.
    ///
    /// `tail` is the number of latest units that stay, within [`longest_tail`](Self::longest_tail). `None` if
    /// no whole unit is left, or if only a summary would be summarised.
    pub(crate) fn part(
        &mut self,
        config: &AgentConfig,
        tail: u32,
        input: Option<&MessageId>,
    ) -> Option<Part> {
        let most = self.longest_tail(config);
        let units = self.units(0);
        let tail = self.tail(&units, tail, most);
        self.part_of(&units[..units.len() - tail], input)
    }

    /// Returns the older half of the messages if there are more than `most`, without pinned messages: at most
    /// half as many as `most` stay, at least two exchanges.
    pub(crate) fn older_half(&self, most: u32, input: Option<&MessageId>) -> Option<Part> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        if self.entries.len() <= most {
            return None;
        }
        let units = self.units(0);
        let mut messages = 0;
        let fits = |unit: &&(usize, usize)| {
            messages += unit.1 - unit.0;
            messages <= most / 2
        };
        let tail = units.iter().rev().take_while(fits).count();
        let tail = self.end_between_events(&units, tail.max(2).min(units.len()));
        self.part_of(&units[..units.len() - tail], input)
    }

    /// The part that a summary of these units replaces, which are the first ones of the conversation.
    fn part_of(&self, units: &[(usize, usize)], input: Option<&MessageId>) -> Option<Part> {
        let to_seq = self.end_of(units)?;
        let first_input = self.entries.iter().find(|entry| is_input(entry));
        let first_input = first_input.map(|entry| &entry.message.message_id);
        let stays = |entry: &&Entry| {
            let id = &entry.message.message_id;
            is_input(entry) && (Some(id) == first_input || Some(id) == input || self.kept_inputs.contains(id))
        };
        let in_range = |entry: &&Entry| entry.seq <= to_seq;
        let kept: Vec<MessageId> = self
            .entries
            .iter()
            .filter(in_range)
            .filter(stays)
            .map(|entry| entry.message.message_id.clone())
            .collect();
        let cover = self.cover(0, to_seq, &kept)?;
        // A summary of only a summary would contain nothing new.
        let is_said = |unit: &(usize, usize)| !self.entries[unit.0].summary;
        cover.units.iter().find(|unit| is_said(unit))?;
        let said = cover
            .units
            .iter()
            .flat_map(|unit| &self.entries[unit.0..unit.1])
            .map(|entry| (entry.seq, self.repairs.without_refused(&entry.message)))
            .collect();
        let range = ContextRange {
            from_seq: self.begin_of(&cover.units)?,
            to_seq,
            messages: self.messages_in(&cover),
            tokens: cover.units.iter().map(|unit| self.tokens(unit.0, unit.1)).sum(),
            summary_tokens: 0,
        };
        Some(Part { range, kept, said })
    }

    /// The number of latest units that stay: `wanted` of them if they fit into `most` tokens, at least two,
    /// and enough for the range before them to end between two events.
    fn tail(&self, units: &[(usize, usize)], wanted: u32, most: u64) -> usize {
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let mut tokens = 0u64;
        let mut tail = 0;
        for unit in units.iter().rev() {
            tokens = tokens.saturating_add(self.tokens(unit.0, unit.1));
            if tail >= 2 && (tail >= wanted || tokens > most) {
                break;
            }
            tail += 1;
        }
        self.end_between_events(units, tail)
    }

    /// The number of latest units that stay if it is at least `tail`, and the range before them ends between
    /// two events.
    fn end_between_events(&self, units: &[(usize, usize)], mut tail: usize) -> usize {
        while let Some(first) = units.get(units.len() - tail)
            && let Some(end) = self.end_of(&units[..units.len() - tail])
            && self.entries[first.0].seq <= end
        {
            tail += 1;
        }
        tail
    }

    /// The earliest event of these units.
    fn begin_of(&self, units: &[(usize, usize)]) -> Option<u64> {
        units.iter().map(|unit| self.entries[unit.0].seq).min()
    }

    /// The latest event of these units.
    fn end_of(&self, units: &[(usize, usize)]) -> Option<u64> {
        units.iter().map(|unit| self.entries[unit.1 - 1].seq).max()
    }
}
