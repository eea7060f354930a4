//! Summaries in place of messages.
//!
//! The replaced messages stay here, so each summary can be removed again, the latest first, which restores
//! the conversation byte for byte (invariant 17).
//!
//! *Unit*: a message, or an answer with calls and all of their results. Summaries replace only whole units,
//! and never one with an open call. A summary may replace summaries; they are removed in the opposite order,
//! like a stack.
//!
//! ```text
//! before:  goal  a  b  c  pin  d │ tail          part(): all but goal, pin and the tail
//! after:   goal  pin  summary    │ tail          condense(): what stays stands before the summary
//! again:   goal  a  b  c  pin  d │ tail          restore()
//! ```
//!
//! `part_due` and `useful_part` decide when to condense, `part` (in `selection.rs`) selects the messages,
//! `condense` and `restore` change the conversation. `masking.rs` replaces results of tools instead. The
//! machine that calls them is in `react/condense.rs`.

use std::sync::Arc;

use agentx_types::{
    AgentConfig, CondensedRange, ContentPart, ContextCondensed, ContextRange, ContextRestored, Message,
    MessageId, Role, since,
};
use serde::{Deserialize, Serialize};

use super::{Conversation, Entry, estimate_message};

/// A summary, and everything needed to remove it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Condensed {
    /// The event that recorded it: `context_condensed`.
    seq: u64,
    /// The id of the summary message.
    pub(super) id: MessageId,
    /// The events to condense, with figures.
    range: ContextRange,
    /// The text of the summary itself, without the text around it.
    summary: Arc<str>,
    /// The index of the first entry that it replaced.
    start: usize,
    /// The number of messages that stay, before the summary.
    kept: usize,
    /// All entries between the first and the last, as they were.
    pub(super) entries: Vec<Entry>,
    /// The start of the window before and after.
    window: (usize, usize),
    /// The messages that were sent before although the window had moved past them.
    stays: Vec<(Arc<Message>, u64)>,
    /// Whether its entries are results that a text masks: each is restored where it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) masks: bool,
}

/// A part of the conversation that a summary could replace; becomes the action `condense`.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The range from the first to the last event, with its messages and tokens.
    pub(crate) range: ContextRange,
    /// Messages in the range that stay word for word.
    pub(crate) kept: Vec<MessageId>,
    /// The messages that the summary is made of.
    pub(crate) said: Vec<(u64, Arc<Message>)>,
}

/// The units that a summary replaces: whole units between the entries `start` and `end` (exclusive). Pinned
/// units are also between them.
pub(super) struct Cover {
    /// First entry and the one after the last, of each unit.
    pub(super) units: Vec<(usize, usize)>,
    start: usize,
    end: usize,
}

impl Condensed {
    /// Masked results; `seq` is the event that recorded it, and `text` replaces each of them.
    pub(super) fn of_masked(seq: u64, range: ContextRange, text: &str, entries: Vec<Entry>) -> Self {
        Self {
            seq,
            id: MessageId::with_suffix(format_args!("condensed_{seq}")),
            range,
            summary: text.into(),
            start: 0,
            kept: 0,
            entries,
            window: (0, 0),
            stays: Vec::new(),
            masks: true,
        }
    }

    /// The messages that it replaces, as they were: without summaries and masked results.
    pub(super) fn originals(&self) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .filter(|entry| !entry.summary && !entry.masked)
    }
}

impl Conversation {
    /// Returns the part to condense before the next request, if any.
    ///
    /// `None` while the window is filled less than `at_percent` (0 turns condensing off), and if the last
    /// summary freed little and less than a tenth of the window has come since.
    pub(crate) fn part_due(&mut self, config: &AgentConfig, input: &MessageId) -> Option<Part> {
        let condensing = config.condensing.as_deref()?;
        let window = config.model.context_window;
        let older = condensing
            .summary_after
            .and_then(|most| self.older_half(most, Some(input)));
        if (condensing.at_percent == 0 && older.is_none())
            || (self.rests && self.grown.saturating_mul(10) < window.max(1))
        {
            return None;
        }
        if condensing.at_percent > 0 && self.is_full(config, u64::from(condensing.at_percent)) {
            return self.useful_part(config, Some(input));
        }
        let older = older.filter(|_| !condensing.no_summary)?;
        let size = self.size(config);
        (older.range.tokens.saturating_mul(10) >= size).then_some(older)
    }

    /// Returns whether this percentage of the window is in use, or the next request would not fit.
    pub(super) fn is_full(&mut self, config: &AgentConfig, percent: u64) -> bool {
        let share = config.model.context_window.saturating_mul(percent) / 100;
        let room = self.room(config);
        self.in_use(config) >= share.min(room) || !self.fits(config)
    }

    /// Returns whether the next request fits into the model's window without condensing.
    pub(crate) fn fits(&mut self, config: &AgentConfig) -> bool {
        let size = self.size(config);
        self.corrected(size) <= self.room(config)
    }

    /// The part that can be condensed, if a tenth of the request or more may become free by that.
    ///
    /// `None` if the settings want no summaries.
    pub(crate) fn useful_part(&mut self, config: &AgentConfig, input: Option<&MessageId>) -> Option<Part> {
        let condensing = config.condensing.as_deref()?;
        if condensing.no_summary {
            return None;
        }
        let tail = condensing.tail;
        let size = self.size(config);
        let part = self.part(config, tail, input)?;
        (part.range.tokens.saturating_mul(10) >= size).then_some(part)
    }

    /// The units of a range of events that a summary can replace: whole exchanges, without pinned messages.
    /// `None` if there is none.
    pub(super) fn cover(&self, from_seq: u64, to_seq: u64, kept: &[MessageId]) -> Option<Cover> {
        let covered = |unit: &(usize, usize)| {
            let first = &self.entries[unit.0];
            first.seq >= from_seq
                && self.entries[unit.1 - 1].seq <= to_seq
                && self.is_whole(*unit)
                && !(is_input(first) && kept.contains(&first.message.message_id))
        };
        let units: Vec<(usize, usize)> = self.units(0).into_iter().filter(covered).collect();
        let (start, end) = (units.first()?.0, units.last()?.1);
        Some(Cover { units, start, end })
    }

    /// The number of messages of a cover, including those behind its summaries.
    pub(super) fn messages_in(&self, cover: &Cover) -> u64 {
        let entries = cover.units.iter().flat_map(|unit| &self.entries[unit.0..unit.1]);
        let count = |entry: &Entry| {
            let is_it = |condensed: &&Condensed| entry.summary && condensed.id == entry.message.message_id;
            let stands_for = self.condensed.iter().rev().find(is_it);
            stands_for.map_or(1, |condensed| condensed.range.messages)
        };
        entries.map(count).sum()
    }

    /// Replaces the messages of a range of events by a summary; only whole exchanges, and none that is open.
    /// Pinned messages come before it.
    ///
    /// Returns the replaced range; `None` if it is empty. `decisions` are written below the summary. A window
    /// that began inside the range moves to the start of the conversation.
    pub(crate) fn condense(
        &mut self,
        seq: u64,
        fact: &ContextCondensed,
        decisions: &[String],
    ) -> Option<ContextRange> {
        let (from_seq, to_seq) = (fact.from_seq, fact.to_seq);
        let cover = self.cover(from_seq, to_seq, &fact.kept)?;
        let messages = self.messages_in(&cover);
        let id = MessageId::with_suffix(format_args!("condensed_{seq}"));
        let message = Message {
            message_id: id.clone(),
            role: Role::User,
            content: vec![ContentPart::text(text_of(fact, messages, decisions))],
            by: None,
        };
        let summary_tokens = estimate_message(&message);
        let range = ContextRange {
            from_seq,
            to_seq,
            messages,
            tokens: cover.units.iter().map(|unit| self.tokens(unit.0, unit.1)).sum(),
            summary_tokens,
        };
        let Cover { units, start, end } = cover;
        self.keep_counts(self.tokens(self.window_start.min(start), start));
        let is_covered = |index: usize| units.iter().any(|unit| (unit.0..unit.1).contains(&index));
        let stays = (start..end).filter(|index| !is_covered(*index));
        let mut entries: Vec<Entry> = stays.map(|index| self.entries[index].clone()).collect();
        let kept = entries.len();
        entries.push(Entry {
            seq: self.entries[start].seq,
            message: Arc::new(message),
            tokens: summary_tokens,
            summary: true,
            masked: false,
        });
        let originals: Vec<Entry> = self.entries.splice(start..end, entries).collect();
        let before = self.window_start;
        if before > end {
            self.window_start = before - (end - start) + kept + 1;
        } else if before > start {
            self.window_start = 0;
        }
        self.condensed.push(Condensed {
            seq,
            id,
            range,
            summary: fact.summary.as_str().into(),
            start,
            kept,
            entries: originals,
            window: (before, self.window_start),
            stays: self.stays.clone(),
            masks: false,
        });
        if self.window_start == 0 {
            self.stays.clear();
        }
        self.undone = false;
        self.changed();
        Some(range)
    }

    /// Removes a summary, and those on top of it, and restores the replaced messages. The window returns to
    /// its earlier position. Returns the restored range; `None` if there is no such summary.
    pub(crate) fn restore(&mut self, fact: &ContextRestored, config: &AgentConfig) -> Option<ContextRange> {
        let shows_all = config.rules_version >= since::UNDONE_SUMMARIES_SHOW_ALL;
        let is_it = |of: &Condensed| of.range.from_seq == fact.from_seq && of.range.to_seq == fact.to_seq;
        let at = self.condensed.iter().rposition(is_it)?;
        let mut restored = None;
        while self.condensed.len() > at {
            let condensed = self.condensed.pop()?;
            restored = Some(condensed.range);
            if condensed.masks {
                self.unmask(condensed.entries);
                continue;
            }
            let here = condensed.kept + 1;
            let back = condensed.entries.len();
            self.entries
                .splice(condensed.start..condensed.start + here, condensed.entries);
            if shows_all || self.window_start == condensed.window.1 {
                self.window_start = condensed.window.0;
                self.stays = condensed.stays;
            } else if self.window_start > condensed.start {
                self.window_start = (self.window_start + back).saturating_sub(here);
            }
        }
        self.changed();
        self.drop_kept_counts();
        self.pause_condensing();
        self.undone = true;
        restored
    }

    /// Drops everything that is counted or cached by the places of entries.
    pub(super) fn changed(&mut self) {
        self.counted = None;
        self.window_tokens.clear();
        self.call_ids.clear();
        self.landmarks.clear();
        self.prefix.clear();
    }

    /// Suspends condensing until the conversation has grown noticeably.
    pub(crate) fn pause_condensing(&mut self) {
        self.rests = true;
        self.grown = 0;
    }

    /// Checks how much a summary has freed: another one is useless if that was less than a tenth, or if the
    /// window is still full.
    pub(crate) fn judge_saving(&mut self, range: &ContextRange, config: &AgentConfig) {
        let freed = range.tokens.saturating_sub(range.summary_tokens);
        let before = self.size(config).saturating_add(freed);
        let percent = config
            .condensing
            .as_ref()
            .map_or(100, |condensing| condensing.at_percent);
        self.rests = false;
        if freed.saturating_mul(10) < before || self.is_full(config, u64::from(percent)) {
            self.pause_condensing();
        }
    }

    /// Records that a person wants an input to stay (`keep`), or no longer. Ids that are not here may come
    /// later.
    pub(crate) fn keep_input(&mut self, message_id: &MessageId, keep: bool) {
        if keep {
            self.kept_inputs.insert(message_id.clone());
        } else {
            self.kept_inputs.remove(message_id);
        }
    }

    /// Returns whether there are summaries.
    pub(crate) fn is_condensed(&self) -> bool {
        !self.condensed.is_empty()
    }

    /// The summaries with their ranges and words, the latest last.
    pub(crate) fn condensed(&self) -> Vec<CondensedRange> {
        let shown = |condensed: &Condensed| CondensedRange {
            seq: condensed.seq,
            range: condensed.range,
            summary: condensed.summary.to_string(),
        };
        self.condensed.iter().map(shown).collect()
    }

    /// All messages that summaries replace, with their events and in their order: `recall` searches them.
    pub(crate) fn originals(&self) -> Vec<(u64, &Message)> {
        let all = self.condensed.iter().flat_map(Condensed::originals);
        let mut all: Vec<(u64, &Message)> = all.map(|entry| (entry.seq, &*entry.message)).collect();
        all.sort_by_key(|(seq, _)| *seq);
        all
    }

    /// All messages as they were said, with their events and in their order, whatever summaries replace.
    pub(crate) fn unabridged(&self) -> Vec<(u64, &Message)> {
        let here = self
            .entries
            .iter()
            .filter(|entry| !entry.summary && !entry.masked);
        let mut all = self.originals();
        all.extend(here.map(|entry| (entry.seq, &*entry.message)));
        all.sort_by_key(|(seq, _)| *seq);
        all
    }
}

/// Returns whether it is an input or a note; a summary also has the role of a user, but is neither.
pub(super) fn is_input(entry: &Entry) -> bool {
    entry.message.role == Role::User && !entry.summary
}

/// The message that the model reads instead of the range.
fn text_of(fact: &ContextCondensed, messages: u64, decisions: &[String]) -> String {
    let mut text = format!(
        "[Events {} to {} of this session are condensed: this summary stands for {messages} messages. `recall` finds what was said there, word for word.]\n\n{}",
        fact.from_seq,
        fact.to_seq,
        fact.summary.trim()
    );
    if !decisions.is_empty() {
        text.push_str("\n\nWhat the person decided about calls of tools in that part, word for word:");
        for decision in decisions {
            text.push_str("\n- ");
            text.push_str(decision);
        }
    }
    text
}
