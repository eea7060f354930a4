//! The size of a conversation in tokens: an estimate, which the counts of a provider correct.
//!
//! Tokens are estimated, not counted: every vendor has its own tokenizer, and counting with the wrong one is
//! not better than an estimate that the first answer corrects. These numbers decide when a window moves, so
//! changing them requires a new version of the rules.

use agentx_types::{AgentConfig, ContentPart, Message, ModelRequest, ToolSpec};

/// Estimated tokens of a picture or document.
const MEDIA_TOKENS: u64 = 1_500;

/// Tokens of a text, estimated: four ASCII characters or one other character each.
///
/// ```
/// use agentx_agent::estimate_text;
///
/// assert_eq!((estimate_text(""), estimate_text("hello world!"), estimate_text("你好")), (1, 4, 3));
/// ```
pub fn estimate_text(text: &str) -> u64 {
    if text.is_ascii() {
        return u64::try_from(text.len() / 4).unwrap_or(u64::MAX) + 1;
    }
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text
        .bytes()
        .filter(|byte| !byte.is_ascii() && (byte & 0xC0) != 0x80)
        .count();
    u64::try_from(ascii / 4 + others).unwrap_or(u64::MAX) + 1
}

/// Estimates the tokens of a whole request: instructions, tools and messages. The provider's additions are
/// unknown until it reports its count.
///
/// | part | estimated tokens |
/// | --- | --- |
/// | text, thinking | a quarter of its ASCII characters, each other character, and 1 |
/// | picture, sound, file | 1,500, whatever its size |
/// | call of a tool | its name, and its arguments as JSON |
/// | result of a tool | its parts |
/// | part that only the provider can read | its JSON |
/// | message | its parts, and 4 |
/// | tool on offer | its description and its schema as JSON |
pub fn estimate_request(request: &ModelRequest) -> u64 {
    let system = request.system.iter().map(|text| estimate_text(text));
    let tools = request.tools.iter().map(estimate_tool);
    let messages = request.messages.iter().map(|message| estimate_message(message));
    system.chain(tools).chain(messages).sum()
}

/// Tokens of a message: its parts, and four for its frame.
pub(crate) fn estimate_message(message: &Message) -> u64 {
    4 + message.content.iter().map(estimate_part).sum::<u64>()
}

/// Tokens of a part. Arguments and opaque data weigh as their JSON does.
pub(crate) fn estimate_part(part: &ContentPart) -> u64 {
    match part {
        ContentPart::Text(part) => estimate_text(&part.text),
        ContentPart::Thinking(part) => estimate_text(&part.text),
        ContentPart::Image(_) | ContentPart::Audio(_) | ContentPart::File(_) => MEDIA_TOKENS,
        ContentPart::ToolCall(part) => estimate_text(&part.name) + estimate_text(&part.input.to_string()),
        ContentPart::ToolResult(part) => part.content.iter().map(estimate_part).sum(),
        ContentPart::Opaque(part) => estimate_text(&part.provider.data.to_string()),
    }
}

/// Tokens of a tool that is on offer.
pub(crate) fn estimate_tool(tool: &ToolSpec) -> u64 {
    estimate_text(&tool.description) + estimate_text(&tool.input_schema.to_string())
}

/// The number of tokens of a request that fit beside an answer of maximum length, which gets at most half of
/// the window.
///
/// `Conversation::room` begins with it, and from version 8 of the rules on also considers instructions and
/// tools.
pub(crate) fn room(config: &AgentConfig) -> u64 {
    let window = config.model.context_window;
    let answer = config
        .params
        .max_output_tokens
        .unwrap_or(config.model.max_output_tokens)
        .min(window / 2);
    window.saturating_sub(answer)
}
