//! Finds the part of a conversation that a provider refuses for its form. The provider refuses such a request
//! again however often it is sent, and with it every later one of the session. So the request is not repeated
//! but repaired.

use agentx_types::RequestPart;

use crate::openai_models::needs_responses_for_tools;

use super::{
    ErrorCode, Extracted, extra_keys, max_tokens, refused_media, refused_schema, refused_setting, template,
};

/// Words that name a part, in lower case; the first that fits counts.
///
/// - thinking: "The block is bound to a different conversation", "Invalid `signature` in `thinking` block",
///   "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified", "The
///   final block in an assistant message cannot be `thinking`", "Expected `thinking` or `redacted_thinking`,
///   but found `text`" (platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting,
///   github.com/anthropics/claude-code/issues/63357).
/// - extras: "Function tools with reasoning_effort are not supported for … in /v1/chat/completions"
///   (github.com/BerriAI/litellm/pull/34569).
/// - media: "Could not process image", "image exceeds 5 MB maximum", "image dimensions exceed", "The image
///   data you provided does not represent a valid image" (github.com/anthropics/claude-code/issues/3073,
///   github.com/vybestack/llxprt-code/pull/3075).
/// - calls: "`tool_use` ids were found without `tool_result` blocks", "An assistant message with 'tool_calls'
///   must be followed by tool messages", "messages.1.content.0.tool_use.name: String should match pattern".
/// - OpenAI's Responses: "Encrypted content is not supported with this model"
///   (github.com/pydantic/pydantic-ai/issues/3326); "The encrypted content gAAA…c90= could not be verified"
///   (github.com/openai/codex/issues/8119), "Item 'rs_…' of type 'reasoning' was provided without its
///   required following item" (github.com/continuedev/continue/issues/8933); "Invalid 'input[5].call_id':
///   string too long" (github.com/decolua/9router/issues/393).
const NAMES: &[(RequestPart, &[&str])] = &[
    (RequestPart::Extras, &[EFFORT_BESIDE_TOOLS]),
    (
        RequestPart::Extras,
        &["thinking.adaptive", "encrypted content is not supported"],
    ),
    (RequestPart::CacheControl, &["cache_control"]),
    (
        RequestPart::Thinking,
        &[
            "`thinking`",
            "redacted_thinking",
            "signature",
            "encrypted content",
            "of type 'reasoning'",
            "required 'reasoning' item",
        ],
    ),
    (
        RequestPart::Media,
        &[
            "image",
            "picture",
            "media_type",
            "base64",
            "document",
            "pdf",
            "audio",
        ],
    ),
    (
        RequestPart::ToolCalls,
        &[
            "tool_use",
            "tool_result",
            "tool_call",
            "tool call",
            "call_id",
            "function call",
            "role 'tool'",
            "role: tool",
        ],
    ),
];

/// Words of Anthropic about thinking that no longer fits the messages before it. The message names the
/// setting that would drop it, too.
const BOUND: &str = "different conversation";

/// The message after which another value of the field helps; the field must stay.
const EFFORT_BESIDE_TOOLS: &str = "function tools with reasoning_effort";

/// Returns whether a message, in lower case, refers to the Responses API for the tools of a model that takes
/// them only there: no other form of the request helps. gpt-5.4 is refused in the same words, and takes the
/// request without an effort (<https://github.com/livekit/agents/issues/5084>).
fn wants_responses(message: &str) -> bool {
    let id = || {
        let (_, rest) = message.split_once("are not supported for ")?;
        Some(rest.split_once(" in /v1/chat/completions")?.0)
    };
    message.contains(EFFORT_BESIDE_TOOLS)
        && !message.contains("set reasoning_effort")
        && id().is_some_and(needs_responses_for_tools)
}

/// Beginnings and names in messages that are about a setting of the request and not about a message of the
/// conversation.
const SETTINGS: &[&str] = &[
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "temperature",
    "top_p",
    "top_k",
    "reasoning_effort",
    "stream_options",
    "tool_choice",
    "tools.",
    "tools[",
    "'tools",
    "model:",
];

/// Messages that refer to the definition of a tool: "Invalid schema for function 'now': In context=(), object
/// schema missing properties" (<https://github.com/spring-projects/spring-ai/issues/4776>), "Invalid
/// 'tools[3].function.name': string does not match pattern", "Invalid 'tools': array too long. Expected an
/// array with maximum length 128", and Anthropic's "tools.14.custom.input_schema.properties: Property keys
/// should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
/// (<https://github.com/beautyfree/appstore-connect-mcp/issues/2>).
const TOOLS: &[&str] = &[
    "invalid schema for function",
    "invalid function parameters",
    "function_declarations[",
    "invalid 'tools",
];

/// Returns whether it is about the schema of a tool, in unusual words. Made up: "Invalid request: tool todo
/// has unsupported JSON schema keyword: anyOf". The agent looks for the name of a tool in such a message.
fn is_about_a_schema(message: &str) -> bool {
    let mut words = message.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    message.contains("schema") && words.any(|word| matches!(word, "tool" | "function"))
}

/// The refused part of a request without an answer schema, if [`RequestPart::AnswerSchema`] was recognized.
pub(super) fn without_answer_schema(message: &str) -> Option<RequestPart> {
    names_a_tool(&message.to_ascii_lowercase()).then_some(RequestPart::Tools)
}

/// Returns whether it names a tool by its place: `tools.14.`, `tools[3]`.
fn names_a_tool(message: &str) -> bool {
    let by_place = |start: &str| {
        message
            .match_indices(start)
            .any(|(at, _)| message[at + start.len()..].starts_with(|c: char| c.is_ascii_digit()))
    };
    TOOLS.iter().any(|words| message.contains(words))
        || by_place("tools.")
        || by_place("tools[")
        || is_about_a_schema(message)
}

/// A kind of content that another server of Anthropic's API, or an older version of it, does not know:
/// "messages.1.content.0: Input tag 'server_tool_use' found using 'type' does not match any of the expected
/// tags: 'document', 'image', …". For `thinking`: "thinking: Input tag 'adaptive' found using 'type' does not
/// match …" (<https://github.com/earendil-works/pi/issues/3784>).
fn unknown_tag(message: &str) -> Option<RequestPart> {
    let (place, rest) = message.split_once("input tag '")?;
    let (tag, rest) = rest.split_once('\'')?;
    if !rest.contains("expected tags") {
        return None;
    }
    Some(match tag {
        "adaptive" if !place.contains("messages.") => RequestPart::AdaptiveThinking,
        "enabled" if !place.contains("messages.") => RequestPart::ThinkingBudget,
        _ if !place.contains("messages.") => RequestPart::Extras,
        "thinking" | "redacted_thinking" => RequestPart::Thinking,
        "image" | "document" => RequestPart::Media,
        "tool_use" | "tool_result" => RequestPart::ToolCalls,
        _ => RequestPart::Blocks,
    })
}

/// The message of Gemini about calls that it did not make itself
/// (<https://ai.google.dev/gemini-api/docs/thought-signatures>).
const UNSIGNED: &str = "missing a thought_signature";

/// Returns whether it refuses a message whose text is empty: "messages: text content blocks must be
/// non-empty", as gateways to Anthropic's models report about the empty text beside tool calls
/// (<https://github.com/requestyai/ai-sdk-requesty/pull/1>, <https://github.com/vercel/ai/pull/13538>), and
/// Bedrock's "The content field in the Message object at messages.[position] is empty"
/// (<https://github.com/Portkey-AI/gateway/issues/995>).
fn is_about_an_empty_text(message: &str) -> bool {
    const EMPTY: &[&str] = &[
        "must be non-empty",
        "must not be empty",
        "cannot be empty",
        "can't be empty",
        "is empty",
        "at least 1 character",
    ];
    message.contains("content") && EMPTY.iter().any(|words| message.contains(words))
}

/// The part that words of one provider are about, or the place or the kind of what it refuses.
fn told_by_words(message: &str) -> Option<RequestPart> {
    Some(match message {
        _ if message.contains("parametersjsonschema") && message.contains("unknown name") => {
            RequestPart::ToolJsonSchema
        }
        _ if names_a_tool(message) && !message.contains("cache_control") => RequestPart::Tools,
        _ if message.contains(BOUND) => RequestPart::Thinking,
        _ if message.contains(UNSIGNED) => RequestPart::ThoughtSignature,
        _ if is_about_an_empty_text(message) => RequestPart::EmptyText,
        _ => {
            let missing = || extra_keys::wants_reasoning(message).then_some(RequestPart::MissingReasoning);
            return unknown_tag(message)
                .or_else(missing)
                .or_else(|| extra_keys::named(message));
        }
    })
}

pub(super) fn refused(code: ErrorCode, status: Option<u16>, said: &Extracted) -> Option<RequestPart> {
    let about_its_form = match code {
        ErrorCode::BadRequest => matches!(status, None | Some(400 | 413 | 422)),
        ErrorCode::TooLarge => true,
        _ => false,
    };
    let message = said.message.to_ascii_lowercase();
    if code == ErrorCode::BadRequest
        && template::is_template_refusal(&message)
        && !template::takes_no_tools(&message)
    {
        return Some(RequestPart::Roles);
    }
    if code == ErrorCode::BadRequest
        && (refused_media::is_media_refusal(said, &message) || refused_media::is_their_number(&message))
    {
        return Some(RequestPart::Media);
    }
    if !about_its_form || template::takes_no_tools(&message) || wants_responses(&message) {
        return None;
    }
    if max_tokens::is_max_tokens_refusal(&message) {
        return Some(RequestPart::LongestAnswer);
    }
    if refused_setting::is_strict_of_a_tool(&message, said.param.as_deref()) {
        return Some(RequestPart::ToolStrict);
    }
    if refused_schema::is_schema_refusal(said, &message) {
        return Some(RequestPart::AnswerSchema);
    }
    if let Some(part) = told_by_words(&message) {
        return Some(part);
    }
    if !message.contains(EFFORT_BESIDE_TOOLS)
        && let Some(setting) = refused_setting::named(&message, said.param.as_deref())
    {
        return Some(setting);
    }
    let names = |words: &[&str]| words.iter().any(|word| message.contains(word));
    let part = NAMES
        .iter()
        .find(|(_, words)| names(words))
        .map(|(part, _)| *part);
    match part {
        Some(part) => Some(part),
        None if code == ErrorCode::TooLarge => Some(RequestPart::Media),
        None if names(SETTINGS) => None,
        None => Some(RequestPart::Unknown),
    }
}
