//! The parts of a model request that a provider may refuse, and that the next request is sent without.

use serde::{Deserialize, Serialize};

/// A part of a request that a provider may refuse for its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RequestPart {
    /// Earlier thinking of the model: it no longer fits the parts before it, or is damaged.
    Thinking,
    /// Settings that not every server knows.
    Extras,
    /// Pictures, sounds and other files.
    Media,
    /// Calls of tools and their results.
    ToolCalls,
    /// The description of an offered tool: its name or its parameters.
    Tools,
    /// The order of roles, or a role that the chat template of a model does not know.
    Roles,
    /// The maximum length of the answer.
    LongestAnswer,
    /// Parts of answers that only their provider reads, and that are sent back unchanged: calls of its own
    /// tools, and their results.
    Blocks,
    /// `temperature`.
    Temperature,
    /// `stream_options`, which asks for the counts of tokens.
    StreamOptions,
    /// The amount of reasoning: `reasoning_effort` and similar settings.
    ReasoningEffort,
    /// `reasoning.summary`, which asks for a summary of the reasoning.
    ReasoningSummary,
    /// `prompt_cache_key`.
    CacheKey,
    /// `max_tokens` as the name of the answer's maximum length: the same number is sent as
    /// `max_completion_tokens`.
    MaxTokens,
    /// `max_completion_tokens` as the name of the answer's maximum length: the same number is sent as
    /// `max_tokens`.
    MaxCompletionTokens,
    /// The empty text beside tool calls: `content` is sent as `null`.
    EmptyText,
    /// Calls of a tool without the signature that Gemini requires: they are sent with one that it does not
    /// check.
    ThoughtSignature,
    /// The guarantee that the answer fits its schema (`strict`): the schema is sent without it.
    StrictSchema,
    /// The schema of the answer in the API's own mode: it is sent as a written instruction.
    AnswerSchema,
    /// `reasoning_content` in earlier answers: they are sent without it.
    ReasoningContent,
    /// The reasoning of earlier answers, which was not sent back: it is sent as `reasoning_content`.
    MissingReasoning,
    /// `reasoning`, which asks for reasoning at OpenAI's Responses.
    Reasoning,
    /// `include`, which asks for encrypted reasoning that can be sent back.
    Include,
    /// `store`, which asks the provider to keep nothing.
    Store,
    /// `strict` in the description of each tool.
    ToolStrict,
    /// `cache_control`, or `cachePoint` at Converse, which marks the ends of the parts that the provider may
    /// cache.
    CacheControl,
    /// Anthropic's `thinking.block_binding`, and the beta header that it needs.
    ThinkingBinding,
    /// Anthropic's `thinking.display`, which asks for the text of the reasoning.
    ThinkingDisplay,
    /// Anthropic's `thinking` of the type `adaptive`: reasoning is requested with a budget instead.
    AdaptiveThinking,
    /// Anthropic's `thinking` of the type `enabled`, with a budget: reasoning is requested as `adaptive`
    /// instead.
    ThinkingBudget,
    /// Gemini's `parametersJsonSchema` in the description of each tool: its parameters are sent as
    /// `parameters`.
    ToolJsonSchema,
    /// A part of a message that the refusal names by its place: words replace it.
    NamedPart,
    /// The messages that followed the last accepted request: words replace them.
    LatestMessages,
    /// The provider does not say which.
    Unknown,
}

impl RequestPart {
    /// Returns whether it is a single setting that a request can be sent without.
    pub fn is_setting(self) -> bool {
        match self {
            Self::Temperature
            | Self::StreamOptions
            | Self::ReasoningEffort
            | Self::ReasoningSummary
            | Self::CacheKey
            | Self::MaxTokens
            | Self::MaxCompletionTokens
            | Self::EmptyText
            | Self::ThoughtSignature
            | Self::StrictSchema
            | Self::AnswerSchema
            | Self::ReasoningContent
            | Self::MissingReasoning
            | Self::Reasoning
            | Self::Include
            | Self::Store
            | Self::ToolStrict
            | Self::CacheControl
            | Self::ThinkingBinding
            | Self::ThinkingDisplay
            | Self::AdaptiveThinking
            | Self::ThinkingBudget
            | Self::ToolJsonSchema => true,
            Self::Thinking
            | Self::Extras
            | Self::Media
            | Self::ToolCalls
            | Self::Tools
            | Self::Roles
            | Self::LongestAnswer
            | Self::Blocks
            | Self::NamedPart
            | Self::LatestMessages
            | Self::Unknown => false,
        }
    }
}
