//! From the events of one stream back to the message that it was: for `debug decode`, for tests, for anyone who wants the
//! whole answer.
//!
//! The rules are those of a model's stream (`EnvironmentEvent`): a chunk belongs to the part that is open; a part ends
//! when a chunk of another kind, a `provider_part` with `attach: false`, a tool call or a `part_end` arrives. A `provider_part` with
//! `attach: true` belongs to the part before it. Arguments that were streamed and never became a `tool_call` are left out.

use agentx_types::{
    ContentPart, EnvironmentEvent, Message, MessageId, OpaquePart, ProviderData, Role, StopReason, TextPart,
    ThinkingPart, ToolCallPart, Usage,
};

/// The whole of one answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Accumulated {
    /// What was said.
    pub message: Message,
    /// The model as the provider named it.
    pub model: String,
    /// Why it ended; `broken` where the stream did not say.
    pub stop_reason: StopReason,
    /// The provider's own word, where it says more.
    pub raw: Option<String>,
    /// Tokens.
    pub usage: Usage,
}

/// Assembles one answer from its events, in order. Events that are not of a model's stream are ignored.
///
/// ```
/// use agentx_llm::Accumulator;
/// use agentx_types::{StopReason, StreamEnd, StreamStart, TextChunk};
///
/// let mut answer = Accumulator::default();
/// answer.push(&StreamStart { message_id: "msg_1".into(), model: "m".into(), attempt: 1 }.into());
/// answer.push(&TextChunk { text: "Hel".into() }.into());
/// answer.push(&TextChunk { text: "lo".into() }.into());
/// answer.push(&StreamEnd { stop_reason: StopReason::EndTurn, raw: None }.into());
/// assert_eq!(answer.finish().message.text(), "Hello");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Accumulator {
    message_id: Option<MessageId>,
    model: String,
    parts: Vec<ContentPart>,
    /// Whether the last part takes more chunks.
    open: bool,
    end: Option<(StopReason, Option<String>)>,
    usage: Usage,
}

impl Accumulator {
    /// Takes the next event.
    pub fn push(&mut self, event: &EnvironmentEvent) {
        use EnvironmentEvent as E;
        match event {
            E::StreamStart(start) => {
                self.message_id = Some(start.message_id.clone());
                self.model.clone_from(&start.model);
            }
            E::TextChunk(chunk) => self.text(&chunk.text),
            E::ThinkingChunk(chunk) => self.thinking(&chunk.text),
            E::PartEnd(_) => self.open = false,
            E::ToolCall(call) => self.close_with(ContentPart::ToolCall(ToolCallPart {
                tool_call_id: call.tool_call_id.clone(),
                name: call.name.clone(),
                input: call.input.clone(),
                provider: None,
            })),
            E::ProviderPart(part) => {
                let provider = ProviderData {
                    api: part.api.clone(),
                    data: part.data.clone(),
                };
                match self.parts.last_mut() {
                    Some(last) if part.attach => attach(last, provider),
                    _ => self.close_with(ContentPart::Opaque(OpaquePart { provider })),
                }
            }
            E::UsageReport(report) => self.usage = report.usage,
            E::StreamEnd(end) => self.end = Some((end.stop_reason, end.raw.clone())),
            _ => {}
        }
    }

    /// The answer as far as it came.
    pub fn finish(self) -> Accumulated {
        let (stop_reason, raw) = self.end.unwrap_or((StopReason::Broken, None));
        let message_id = self.message_id.unwrap_or_else(|| MessageId::new(""));
        let message = Message {
            message_id,
            role: Role::Assistant,
            content: self.parts,
        };
        Accumulated {
            message,
            model: self.model,
            stop_reason,
            raw,
            usage: self.usage,
        }
    }

    fn text(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(ContentPart::Text(part)) if self.open => part.text.push_str(text),
            _ => self.open_with(ContentPart::Text(TextPart {
                text: text.to_owned(),
                provider: None,
            })),
        }
    }

    fn thinking(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(ContentPart::Thinking(part)) if self.open => part.text.push_str(text),
            _ => self.open_with(ContentPart::Thinking(ThinkingPart {
                text: text.to_owned(),
                provider: None,
            })),
        }
    }

    fn open_with(&mut self, part: ContentPart) {
        self.parts.push(part);
        self.open = true;
    }

    fn close_with(&mut self, part: ContentPart) {
        self.parts.push(part);
        self.open = false;
    }
}

/// Adds provider data to a part; what belongs to another API than the data already there replaces it.
fn attach(part: &mut ContentPart, later: ProviderData) {
    let slot = match part {
        ContentPart::Text(part) => &mut part.provider,
        ContentPart::Thinking(part) => &mut part.provider,
        ContentPart::ToolCall(part) => &mut part.provider,
        ContentPart::Opaque(part) => return part.provider.merge(later.data),
        ContentPart::Image(_) | ContentPart::Audio(_) | ContentPart::File(_) | ContentPart::ToolResult(_) => {
            return;
        }
    };
    match slot {
        Some(present) if present.api == later.api => present.merge(later.data),
        slot => *slot = Some(later),
    }
}
