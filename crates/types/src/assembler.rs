//! Assembles a model's answer from the chunks of its stream, by the rules that [`EnvironmentEvent`] states.
//! It is here, beside the rules, because the agents and the codecs both need it and must not differ.

use crate::{
    ContentPart, EnvironmentEvent, InvalidInput, Message, MessageId, OpaquePart, ProviderData, ProviderPart,
    Role, TextPart, ThinkingPart, ToolCall, ToolCallId, ToolCallPart, Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A call that the model requested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestedCall {
    /// The model's name for it.
    pub tool_call_id: ToolCallId,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub input: Value,
    /// Set if the arguments are not JSON.
    pub invalid: Option<Box<InvalidInput>>,
}

/// The result of a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AssembledAnswer {
    /// The message; `None` if the answer is empty.
    pub message: Option<Message>,
    /// The calls in it, in order.
    pub calls: Vec<RequestedCall>,
    /// Tokens of the call.
    pub usage: Usage,
}

/// Key of the marker by which a decoder reclassifies all preceding text as thinking.
pub const WAS_THINKING: &str = "was_thinking";

/// Assembles one answer at a time.
///
/// ```
/// use agentx_types::{Assembler, MessageId, StreamStart, TextChunk};
///
/// let mut assembler = Assembler::default(); assembler.feed(&StreamStart { message_id:
/// MessageId::new("msg_1"), model: "m".into(), attempt: 1 }.into()); for text in ["Hel", "lo"] {
///     assembler.feed(&TextChunk { text: text.into() }.into());
/// }
/// assert_eq!(assembler.finish().message.unwrap().text(), "Hello");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Assembler {
    message_id: Option<MessageId>,
    parts: Vec<ContentPart>,
    /// Whether the last part can still be extended.
    open: bool,
    calls: Vec<RequestedCall>,
    usage: Usage,
    /// The called model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<String>,
    /// The API whose thinking is marked with the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thinks: Option<String>,
}

impl Assembler {
    /// Sets the model that is called from now on. Its provider's data is marked with it, because other models
    /// may refuse that data.
    pub fn set_model(&mut self, model: &str) {
        if self.asked.as_deref() != Some(model) {
            self.asked = Some(model.to_owned());
        }
    }

    /// Marks thinking with the model and this API from now on, also if the provider attached nothing to it:
    /// sent back to another model, it may be refused. `None` marks it no more.
    pub fn set_thinking_mark(&mut self, api: Option<&str>) {
        if self.thinks.as_deref() != api {
            self.thinks = api.map(str::to_owned);
        }
    }

    /// Applies the next event of the stream; events that are not part of a stream are ignored.
    pub fn feed(&mut self, event: &EnvironmentEvent) {
        if !self.is_open() && !matches!(event, EnvironmentEvent::StreamStart(_)) {
            return;
        }
        match event {
            EnvironmentEvent::StreamStart(start) => {
                self.take();
                self.message_id = Some(start.message_id.clone());
            }
            EnvironmentEvent::TextChunk(chunk) => self.text(&chunk.text),
            EnvironmentEvent::ThinkingChunk(chunk) => self.thinking(&chunk.text),
            EnvironmentEvent::PartEnd(_) | EnvironmentEvent::ToolCallStart(_) => self.open = false,
            EnvironmentEvent::ToolCall(call) => self.tool_call(call),
            EnvironmentEvent::ProviderPart(part) => self.provider_part(part),
            EnvironmentEvent::UsageReport(report) => self.usage = report.usage,
            _ => {}
        }
    }

    /// Returns whether a stream is open.
    pub fn is_open(&self) -> bool {
        self.message_id.is_some()
    }

    /// Returns the usage that the provider has counted so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Removes signatures of `api` that follow whitespace-only text. [`Assembler::finish`] drops such text,
    /// and a signature may cover everything before it.
    pub fn unsign_behind_blanks(&mut self, api: &str) {
        let is_blank_text = |part: &ContentPart| matches!(part, ContentPart::Text(_)) && is_blank(part);
        let parts = self.parts.iter_mut().skip_while(|part| !is_blank_text(part));
        for part in parts {
            if let ContentPart::Thinking(ThinkingPart { provider, .. }) = part {
                provider.take_if(|provider| provider.api == api);
            }
        }
    }

    /// Returns the complete answer; the assembler is empty afterwards. Text that is only white space is left
    /// out.
    pub fn finish(&mut self) -> AssembledAnswer {
        self.parts.retain(|part| !is_blank(part));
        self.finish_verbatim()
    }

    /// Returns the complete answer, including text that is only white space.
    pub fn finish_verbatim(&mut self) -> AssembledAnswer {
        self.mark_thinking();
        let Self {
            message_id,
            parts,
            calls,
            usage,
            ..
        } = self.take();
        let message = message_id
            .filter(|_| !parts.is_empty())
            .map(|message_id| Message {
                message_id,
                role: Role::Assistant,
                content: parts,
                by: None,
            });
        AssembledAnswer {
            message,
            calls,
            usage,
        }
    }

    /// Returns everything that arrived, and starts again with an empty answer of the same model.
    fn take(&mut self) -> Self {
        let (asked, thinks) = (self.asked.take(), self.thinks.take());
        std::mem::replace(
            self,
            Self {
                asked,
                thinks,
                ..Self::default()
            },
        )
    }

    /// Returns the result of a stream that broke off. Its calls are left out, because the model may not have
    /// meant them yet, and so are parts that only the provider understands, because it refuses halves of what
    /// belongs together.
    pub fn finish_partial(&mut self) -> AssembledAnswer {
        self.parts
            .retain(|part| !matches!(part, ContentPart::ToolCall(_) | ContentPart::Opaque(_)));
        self.calls.clear();
        self.finish()
    }

    fn text(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(ContentPart::Text(part)) if self.open => part.text.push_str(text),
            _ => self.push(ContentPart::text(text), true),
        }
    }

    fn thinking(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(ContentPart::Thinking(part)) if self.open => part.text.push_str(text),
            _ => self.push(
                ContentPart::Thinking(ThinkingPart {
                    text: text.to_owned(),
                    provider: None,
                }),
                true,
            ),
        }
    }

    fn tool_call(&mut self, call: &ToolCall) {
        let ToolCall {
            tool_call_id,
            name,
            input,
            invalid,
        } = call.clone();
        self.push(
            ContentPart::ToolCall(ToolCallPart {
                tool_call_id: tool_call_id.clone(),
                name: name.clone(),
                input: input.clone(),
                provider: None,
            }),
            false,
        );
        self.calls.push(RequestedCall {
            tool_call_id,
            name,
            input,
            invalid,
        });
    }

    /// Attaches provider data to the part before it. Data of another API than that part's becomes a separate
    /// part.
    fn provider_part(&mut self, part: &ProviderPart) {
        let provider = ProviderData {
            api: part.api.clone(),
            model: self.asked.clone(),
            data: part.data.clone(),
        };
        if part.attach && part.data.get(WAS_THINKING) == Some(&Value::Bool(true)) {
            return self.words_were_thinking();
        }
        let before = self.parts.last_mut().filter(|_| part.attach);
        match before.and_then(provider_slot) {
            Some(PartSlot::Filled(present)) if present.api == part.api => present.merge(provider.data),
            Some(PartSlot::Empty(slot)) => *slot = Some(provider),
            _ => self.push(ContentPart::Opaque(OpaquePart { provider }), false),
        }
    }

    fn words_were_thinking(&mut self) {
        for part in &mut self.parts {
            if let ContentPart::Text(TextPart { text, provider: None }) = part {
                let text = text.trim_end().to_owned();
                *part = ContentPart::Thinking(ThinkingPart { text, provider: None });
            }
        }
        self.open = false;
    }

    fn mark_thinking(&mut self) {
        let Some(api) = &self.thinks else { return };
        for part in &mut self.parts {
            if let ContentPart::Thinking(ThinkingPart { provider, .. }) = part {
                provider.get_or_insert_with(|| ProviderData {
                    api: api.clone(),
                    model: self.asked.clone(),
                    data: Value::Object(Map::new()),
                });
            }
        }
    }

    fn push(&mut self, part: ContentPart, open: bool) {
        self.parts.push(part);
        self.open = open;
    }
}

/// The place where a part keeps the data that its provider attached.
enum PartSlot<'a> {
    Empty(&'a mut Option<ProviderData>),
    Filled(&'a mut ProviderData),
}

fn provider_slot(part: &mut ContentPart) -> Option<PartSlot<'_>> {
    let slot = match part {
        ContentPart::Text(part) => &mut part.provider,
        ContentPart::Thinking(part) => &mut part.provider,
        ContentPart::ToolCall(part) => &mut part.provider,
        ContentPart::Opaque(part) => return Some(PartSlot::Filled(&mut part.provider)),
        ContentPart::Image(_) | ContentPart::Audio(_) | ContentPart::File(_) | ContentPart::ToolResult(_) => {
            return None;
        }
    };
    Some(match slot {
        Some(_) => PartSlot::Filled(slot.as_mut()?),
        None => PartSlot::Empty(slot),
    })
}

fn is_blank(part: &ContentPart) -> bool {
    match part {
        ContentPart::Text(TextPart { text, provider: None }) => text.trim().is_empty(),
        ContentPart::Thinking(ThinkingPart { text, provider: None }) => text.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{StreamStart, TextChunk, ThinkingChunk};

    #[test]
    fn thinking_is_marked_with_its_model_where_that_is_wanted() {
        let mut assembler = Assembler::default();
        assembler.set_model("m");
        let marks = |assembler: &mut Assembler| {
            let start = StreamStart {
                message_id: "msg_1".into(),
                model: "named".into(),
                attempt: 1,
            };
            assembler.feed(&start.into());
            for text in ["", "h", "m"] {
                assembler.feed(&ThinkingChunk { text: text.into() }.into());
            }
            assembler.feed(&TextChunk { text: "Hi".into() }.into());
            let message = assembler.finish().message?;
            match &message.content[..] {
                [
                    ContentPart::Thinking(part),
                    ContentPart::Text(TextPart { provider: None, .. }),
                ] => part.provider.clone(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(marks(&mut assembler), None);
        assembler.set_thinking_mark(Some("openai-chat"));
        let own = ProviderData {
            api: "openai-chat".into(),
            model: Some("m".into()),
            data: Value::Object(Map::new()),
        };
        assert_eq!(marks(&mut assembler), Some(own.clone()));
        assert_eq!(marks(&mut assembler), Some(own), "also the next answer");
        assembler.set_thinking_mark(None);
        assert_eq!(marks(&mut assembler), None);
    }
}
