//! The contents of the model's window, distinguished by kind.
//!
//! It shows a person how their window is used (`agentx context`). It is computed from the next request, and
//! changes nothing. Tokens are estimated, so the shares need not add up to `in_use`, which uses the
//! provider's counts if there are any.

use std::collections::{BTreeMap, BTreeSet};

use agentx_types::{AgentConfig, ContentPart, MessageId, Role, WindowFill, WindowKind, WindowShare};

use super::{Conversation, RequestPrefix};
use crate::token_estimate::{estimate_part, estimate_text, estimate_tool};

/// Pieces, tokens and bytes of each kind, in the order of the kinds, so that equal windows give equal bytes.
#[derive(Default)]
struct Scales(BTreeMap<WindowKind, (u64, u64, u64)>);

impl Scales {
    /// Adds one piece of this kind.
    fn add(&mut self, kind: WindowKind, tokens: u64, bytes: usize) {
        let (count, sum, size) = self.0.entry(kind).or_default();
        *count += 1;
        *sum += tokens;
        *size += u64::try_from(bytes).unwrap_or(u64::MAX);
    }

    /// Adds a part of a message: text by its author, anything else by its kind.
    fn add_part(&mut self, part: &ContentPart, role: Role, is_summary: bool) {
        let kind = match part {
            ContentPart::Text(_) => match role {
                _ if is_summary => WindowKind::Summaries,
                Role::Assistant => WindowKind::Answers,
                Role::Tool => WindowKind::ToolResults,
                Role::User | Role::System => WindowKind::Inputs,
            },
            ContentPart::Thinking(_) => WindowKind::Reasoning,
            ContentPart::ToolCall(_) => WindowKind::ToolCalls,
            ContentPart::ToolResult(_) => WindowKind::ToolResults,
            ContentPart::Image(_) | ContentPart::Audio(_) | ContentPart::File(_) => WindowKind::Media,
            ContentPart::Opaque(_) => WindowKind::Opaque,
        };
        self.add(kind, estimate_part(part), bytes_of(part));
    }
}

/// Bytes of a part as UTF-8, of arguments and opaque data as JSON.
fn bytes_of(part: &ContentPart) -> usize {
    match part {
        ContentPart::Text(part) => part.text.len(),
        ContentPart::Thinking(part) => part.text.len(),
        ContentPart::ToolCall(part) => part.name.len() + part.input.to_string().len(),
        ContentPart::ToolResult(part) => part.content.iter().map(bytes_of).sum(),
        // Media are separate blobs.
        ContentPart::Image(_) | ContentPart::Audio(_) | ContentPart::File(_) => 0,
        ContentPart::Opaque(part) => part.provider.data.to_string().len(),
    }
}

impl Conversation {
    /// The contents of the window after the event `seq`, as it was at the last call or as `prepare_window`
    /// left it.
    ///
    /// `left_out` counts messages before the window that are not sent; `answer` is the number of tokens that
    /// are kept free for the answer.
    pub(crate) fn window_fill(&mut self, config: &AgentConfig, seq: u64) -> WindowFill {
        let mut scales = Scales::default();
        let RequestPrefix { system, tools, .. } = self.prefix(config).clone();
        for (index, text) in system.iter().enumerate() {
            let kind = match index {
                0 => WindowKind::SystemPrompt,
                _ => WindowKind::Instructions,
            };
            scales.add(kind, estimate_text(text), text.len());
        }
        for tool in tools.iter() {
            let bytes = tool.name.len() + tool.description.len() + tool.input_schema.to_string().len();
            scales.add(WindowKind::Tools, estimate_tool(tool), bytes);
        }
        let summaries = self.entries.iter().filter(|entry| entry.summary);
        let summaries: BTreeSet<MessageId> =
            summaries.map(|entry| entry.message.message_id.clone()).collect();
        for message in self.window() {
            let is_summary = summaries.contains(&message.message_id);
            for part in &message.content {
                scales.add_part(part, message.role, is_summary);
            }
        }
        let shares = scales
            .0
            .into_iter()
            .map(|(kind, (count, tokens, bytes))| WindowShare {
                kind,
                count,
                tokens,
                bytes,
            });
        WindowFill {
            seq,
            window: config.model.context_window,
            answer: config.model.context_window.saturating_sub(self.room(config)),
            in_use: self.in_use(config),
            left_out: u64::try_from(self.window_start.saturating_sub(self.stays.len())).unwrap_or(u64::MAX),
            shares: shares.collect(),
        }
    }
}
