//! The conversation, and which part of it fits into the model's window. Whole tool exchanges are never split: an answer
//! with calls goes together with all of their results.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentx_types::{AgentConfig, ContentPart, Message, MessageId, ModelRequest, Role, ToolCallId, Usage};
use serde::{Deserialize, Serialize};

use crate::cache::Cache;

/// One message with the event that completed it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    seq: u64,
    message: Arc<Message>,
    tokens: u64,
}

/// All messages so far, and where the window begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Conversation {
    entries: Vec<Entry>,
    /// Messages before this index are no longer sent. It only moves forward, and in large steps, so that what is sent keeps
    /// its beginning and the provider can cache it.
    window_start: usize,
    /// The input of the run in which the window last moved, where it moved past it: what a model is asked to do must not
    /// slide out of what it reads.
    pinned: Option<Arc<Message>>,
    /// Tokens of the last request, estimated.
    asked_tokens: u64,
    /// By how many percent the provider counts more than the estimate.
    extra_percent: u64,
    /// Tokens of the messages in the window, estimated.
    #[serde(skip)]
    window_tokens: Cache<u64>,
    #[serde(skip)]
    call_ids: Cache<BTreeSet<ToolCallId>>,
    #[serde(skip)]
    fixed: Cache<Fixed>,
}

/// What every request begins with until the configuration changes.
#[derive(Clone, Debug)]
struct Fixed {
    system: Vec<Arc<str>>,
    /// With the tools on offer.
    tokens: u64,
}

/// The window is brought down to this many percent of the budget when it is over.
const KEEP_PERCENT: u64 = 70;
/// A picture or document is counted as so many tokens.
const MEDIA_TOKENS: u64 = 1_500;
/// Requests smaller than this say too little about how the provider counts.
const TELLING_TOKENS: u64 = 2_000;
/// Estimates are not corrected by more than this.
const MAX_EXTRA_PERCENT: u64 = 300;
/// What stands where older messages were.
const LEFT_OUT: &str = "[Earlier parts of this conversation are left out because they no longer fit.]";

impl Conversation {
    /// Adds a message that the event `seq` completed.
    pub(crate) fn push(&mut self, seq: u64, message: Arc<Message>) {
        let tokens = estimate_message(&message);
        self.window_tokens.update(|sum| *sum += tokens);
        self.call_ids.update(|ids| ids.extend(calls_in(&message)));
        self.entries.push(Entry { seq, message, tokens });
    }

    /// All messages.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.entries.iter().map(|entry| &entry.message)
    }

    /// Whether a call of this name is in the conversation.
    pub(crate) fn has_call(&mut self, id: &ToolCallId) -> bool {
        let calls = || {
            self.entries
                .iter()
                .flat_map(|entry| calls_in(&entry.message))
                .collect()
        };
        self.call_ids.get_or(calls).contains(id)
    }

    /// The instructions or the tools have changed.
    pub(crate) fn forget_fixed(&mut self) {
        self.fixed.clear();
    }

    /// Puts a summary where the messages that a range of events completed were; whole exchanges only, and none that is open.
    pub(crate) fn condense(&mut self, from_seq: u64, to_seq: u64, summary: &str) {
        let covered = |unit: &(usize, usize)| {
            self.entries[unit.0].seq >= from_seq
                && self.entries[unit.1 - 1].seq <= to_seq
                && self.is_whole(*unit)
        };
        let units: Vec<(usize, usize)> = self.units(0).into_iter().filter(covered).collect();
        let (Some(first), Some(last)) = (units.first(), units.last()) else {
            return;
        };
        let (start, end) = (first.0, last.1);
        let message = Message {
            message_id: MessageId::with_suffix(format_args!("condensed_{from_seq}_{to_seq}")),
            role: Role::User,
            content: vec![ContentPart::text(summary)],
        };
        let entry = Entry {
            seq: self.entries[start].seq,
            tokens: estimate_message(&message),
            message: Arc::new(message),
        };
        self.entries.splice(start..end, [entry]);
        self.window_tokens.clear();
        self.call_ids.clear();
        self.window_start = if self.window_start > end {
            self.window_start - (end - start) + 1
        } else {
            self.window_start.min(start)
        };
        if self.window_start == 0 {
            self.pinned = None;
        }
    }

    /// Learns from what the provider counted in the last request.
    pub(crate) fn calibrate(&mut self, usage: &Usage) {
        let counted = usage.context_tokens().saturating_sub(usage.output_tokens);
        if counted > 0 && self.asked_tokens >= TELLING_TOKENS {
            let percent = counted.saturating_mul(100) / self.asked_tokens;
            self.extra_percent = percent.saturating_sub(100).min(MAX_EXTRA_PERCENT);
        }
    }

    /// Learns that the last request was too long.
    pub(crate) fn overflowed(&mut self) {
        self.extra_percent = (self.extra_percent + 50).min(MAX_EXTRA_PERCENT);
    }

    /// The whole request for the next model call of the run that answers `input`. Moves the window on where it has become
    /// too small.
    /// Without `with_messages` only the window moves, and the request has no messages.
    pub(crate) fn request(
        &mut self,
        config: &AgentConfig,
        input: &MessageId,
        with_messages: bool,
    ) -> ModelRequest {
        let Fixed {
            system,
            tokens: fixed,
        } = self.fixed.get_or(|| Fixed::of(config)).clone();
        self.fit(budget(config, fixed), input);
        self.asked_tokens = fixed.saturating_add(self.tokens_in_window());
        let messages = if with_messages { self.window() } else { Vec::new() };
        ModelRequest {
            model: config.model.clone(),
            params: config.params.clone(),
            system,
            messages,
            tools: config.tools.clone(),
        }
    }

    /// The messages that are sent.
    fn window(&self) -> Vec<Arc<Message>> {
        let mut messages = Vec::with_capacity(self.entries.len() - self.window_start + 2);
        if self.window_start > 0 {
            messages.push(Arc::new(Message {
                message_id: MessageId::new("msg_left_out"),
                role: Role::User,
                content: vec![ContentPart::text(LEFT_OUT)],
            }));
            messages.extend(self.pinned.clone());
        }
        messages.extend(
            self.entries[self.window_start..]
                .iter()
                .map(|entry| entry.message.clone()),
        );
        messages
    }

    /// Moves the window on until what is sent is well below `budget`, once it is above.
    fn fit(&mut self, budget: u64, input: &MessageId) {
        let percent = 100 + self.extra_percent;
        let corrected = |tokens: u64| tokens.saturating_mul(percent) / 100;
        let mut kept = self.tokens_in_window();
        if corrected(kept) <= budget {
            return;
        }
        let goal = budget.saturating_mul(KEEP_PERCENT) / 100;
        let units = self.units(self.window_start);
        let mut window_start = self.window_start;
        // The last two units stay whatever they weigh: what was done last, and what follows from it.
        for (start, end) in units.iter().take(units.len().saturating_sub(2)) {
            if corrected(kept) <= goal {
                break;
            }
            kept -= self.tokens(*start, *end);
            window_start = *end;
        }
        self.window_start = window_start;
        self.window_tokens.clear();
        let left_out = self.entries[..window_start].iter().rev();
        self.pinned = left_out
            .map(|entry| &entry.message)
            .find(|message| message.message_id == *input && message.role == Role::User)
            .cloned();
    }

    fn tokens_in_window(&mut self) -> u64 {
        let window = &self.entries[self.window_start..];
        *self
            .window_tokens
            .get_or(|| window.iter().map(|entry| entry.tokens).sum())
    }

    fn tokens(&self, start: usize, end: usize) -> u64 {
        self.entries[start..end].iter().map(|entry| entry.tokens).sum()
    }

    /// Whether every call in a unit has its result.
    fn is_whole(&self, unit: (usize, usize)) -> bool {
        let is_call = |part: &&ContentPart| matches!(part, ContentPart::ToolCall(_));
        let calls = self.entries[unit.0]
            .message
            .content
            .iter()
            .filter(is_call)
            .count();
        calls == unit.1 - unit.0 - 1
    }

    /// The ranges that must not be split, from `start` on: a message, or an answer with calls and all that follows until
    /// their results are in.
    fn units(&self, start: usize) -> Vec<(usize, usize)> {
        let mut units: Vec<(usize, usize)> = Vec::new();
        for index in start..self.entries.len() {
            match units.last_mut() {
                Some(unit) if self.entries[index].message.role == Role::Tool => unit.1 = index + 1,
                _ => units.push((index, index + 1)),
            }
        }
        units
    }
}

impl Fixed {
    fn of(config: &AgentConfig) -> Self {
        let system = system_parts(config);
        let tools = config.tools.iter();
        let tokens = system.iter().map(|part| estimate_text(part)).sum::<u64>()
            + tools
                .map(|tool| estimate_text(&tool.description) + estimate_text(&tool.input_schema.to_string()))
                .sum::<u64>();
        Self { system, tokens }
    }
}

fn calls_in(message: &Message) -> impl Iterator<Item = ToolCallId> {
    message.content.iter().filter_map(|part| match part {
        ContentPart::ToolCall(call) => Some(call.tool_call_id.clone()),
        _ => None,
    })
}

/// How many tokens of conversation fit beside what is fixed and the answer.
fn budget(config: &AgentConfig, fixed: u64) -> u64 {
    let window = config.model.context_window;
    let answer = config
        .params
        .max_output_tokens
        .unwrap_or(config.model.max_output_tokens)
        .min(window / 2);
    window.saturating_sub(answer).saturating_sub(fixed)
}

/// Standing instructions: the same in every call of a session.
fn system_parts(config: &AgentConfig) -> Vec<Arc<str>> {
    let mut parts = vec![config.system_prompt.clone()];
    parts.extend(config.instructions.iter().map(|file| {
        Arc::from(
            format!(
                "Instructions of the workspace, from {}:\n\n{}",
                file.path, file.text
            )
            .as_str(),
        )
    }));
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Tokens of a text, estimated: four ASCII characters or one other character each.
pub fn estimate_text(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text
        .bytes()
        .filter(|byte| !byte.is_ascii() && (byte & 0xC0) != 0x80)
        .count();
    u64::try_from(ascii / 4 + others).unwrap_or(u64::MAX) + 1
}

fn estimate_message(message: &Message) -> u64 {
    4 + message.content.iter().map(estimate_part).sum::<u64>()
}

fn estimate_part(part: &ContentPart) -> u64 {
    match part {
        ContentPart::Text(part) => estimate_text(&part.text),
        ContentPart::Thinking(part) => estimate_text(&part.text),
        ContentPart::Image(_) | ContentPart::Audio(_) | ContentPart::File(_) => MEDIA_TOKENS,
        ContentPart::ToolCall(part) => estimate_text(&part.name) + estimate_text(&part.input.to_string()),
        ContentPart::ToolResult(part) => part.content.iter().map(estimate_part).sum(),
        ContentPart::Opaque(part) => estimate_text(&part.provider.data.to_string()),
    }
}
