//! The conversation, and which part of it fits into the model's window. Whole tool exchanges are never split: an answer
//! with calls goes together with all of their results.

use std::sync::Arc;

use agentx_types::{AgentConfig, ContentPart, Message, MessageId, ModelRequest, Role};
use serde::{Deserialize, Serialize};

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
}

/// The window is brought down to this many percent of the budget when it is over.
const KEEP_PERCENT: u64 = 70;
/// A picture or document is counted as so many tokens.
const MEDIA_TOKENS: u64 = 1_500;
/// What stands where older messages were.
const LEFT_OUT: &str = "[Earlier parts of this conversation are left out because they no longer fit.]";

impl Conversation {
    /// Adds a message that the event `seq` completed.
    pub(crate) fn push(&mut self, seq: u64, message: Arc<Message>) {
        let tokens = estimate_message(&message);
        self.entries.push(Entry { seq, message, tokens });
    }

    /// All messages.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.entries.iter().map(|entry| &entry.message)
    }

    /// Puts a summary where the messages of a range of events were; whole exchanges only.
    pub(crate) fn condense(&mut self, from_seq: u64, to_seq: u64, summary: &str) {
        let units = self.units(0);
        let inside = |unit: &(usize, usize)| {
            self.entries[unit.0].seq >= from_seq && self.entries[unit.1 - 1].seq <= to_seq
        };
        let covered: Vec<(usize, usize)> = units.into_iter().filter(inside).collect();
        let (Some(first), Some(last)) = (covered.first(), covered.last()) else {
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
        self.window_start = if self.window_start >= end {
            self.window_start - (end - start) + 1
        } else {
            self.window_start.min(start)
        };
    }

    /// The whole request for the next model call. Moves the window on where it has become too small.
    pub(crate) fn request(&mut self, config: &AgentConfig) -> ModelRequest {
        let system = system_parts(config);
        let fixed: u64 = system.iter().map(|part| estimate_text(part)).sum::<u64>()
            + config
                .tools
                .iter()
                .map(|tool| estimate_text(&tool.description) + estimate_text(&tool.input_schema.to_string()))
                .sum::<u64>();
        let answer = config
            .params
            .max_output_tokens
            .unwrap_or(config.model.max_output_tokens)
            .min(config.model.context_window / 2);
        let budget = config
            .model
            .context_window
            .saturating_sub(answer)
            .saturating_sub(fixed);
        self.fit(budget);
        let mut messages = Vec::with_capacity(self.entries.len() - self.window_start + 1);
        if self.window_start > 0 {
            messages.push(Arc::new(Message {
                message_id: MessageId::new("msg_left_out"),
                role: Role::User,
                content: vec![ContentPart::text(LEFT_OUT)],
            }));
        }
        messages.extend(
            self.entries[self.window_start..]
                .iter()
                .map(|entry| entry.message.clone()),
        );
        ModelRequest {
            model: config.model.clone(),
            params: config.params.clone(),
            system,
            messages,
            tools: config.tools.clone(),
        }
    }

    fn fit(&mut self, budget: u64) {
        let total: u64 = self.entries[self.window_start..]
            .iter()
            .map(|entry| entry.tokens)
            .sum();
        if total <= budget {
            return;
        }
        let goal = budget.saturating_mul(KEEP_PERCENT) / 100;
        let units = self.units(self.window_start);
        let mut kept = total;
        // The last two units stay whatever they weigh: the question, and what is being worked on.
        for (start, end) in units.iter().take(units.len().saturating_sub(2)) {
            if kept <= goal {
                break;
            }
            kept -= self.entries[*start..*end]
                .iter()
                .map(|entry| entry.tokens)
                .sum::<u64>();
            self.window_start = *end;
        }
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
