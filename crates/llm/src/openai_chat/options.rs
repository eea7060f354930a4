//! Options for the differences between servers of Chat Completions.

use serde::{Deserialize, Serialize};

/// Options of a server of this API. The default suits most compatible servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChatOptions {
    /// The field for the maximum length of the answer.
    pub max_tokens_field: MaxTokensField,
    /// Whether usage must be asked for with `stream_options`.
    pub stream_options: bool,
    /// The reasoning that is sent back.
    pub reasoning_echo: ReasoningEcho,
    /// The way to request reasoning.
    pub thinking: ThinkingParam,
    /// The reasoning effort to ask for in any case, as a person set it for this model.
    pub effort: Option<Effort>,
    /// The reasoning effort that is allowed with tools.
    pub effort_with_tools: EffortWithTools,
    /// Whether the model takes a temperature.
    pub temperature: bool,
    /// Whether a person and the assistant speak in turns: neighbouring messages of a person are one, the
    /// assistant speaks between a tool's message and a person's, and it does not speak last. Chat templates
    /// of local models often refuse anything else, so it is the default; vendors that take any order are sent
    /// what was said.
    pub strict_turns: bool,
    /// Whether a model of Anthropic's is sent cache breakpoints: gateways hand them on.
    pub cache_control: bool,
    /// Whether the calls of a conversation are sent a key of their own, by which OpenAI finds the machine
    /// that has its beginning in the cache. Other servers refuse fields that they do not know.
    pub prompt_cache_key: bool,
    /// Whether ids of tool calls must be nine letters or digits (Mistral).
    pub short_call_ids: bool,
}

impl Default for ChatOptions {
    fn default() -> Self {
        Self {
            max_tokens_field: MaxTokensField::MaxTokens,
            stream_options: true,
            reasoning_echo: ReasoningEcho::None,
            thinking: ThinkingParam::None,
            effort: None,
            effort_with_tools: EffortWithTools::AsWished,
            temperature: true,
            strict_turns: true,
            cache_control: true,
            prompt_cache_key: false,
            short_call_ids: false,
        }
    }
}

/// The field for the maximum length of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// `max_tokens`: nearly every server except OpenAI's own, whose reasoning models refuse it.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`: OpenAI; many compatible servers ignore it.
    MaxCompletionTokens,
}

/// The reasoning that is sent back: all of the called model's own, or none, so that the beginning of a
/// growing conversation stays the same and can be read from the server's cache. `reasoning_details` with
/// signatures always are sent back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningEcho {
    /// None.
    #[default]
    None,
    /// As `reasoning_content` (DeepSeek, Moonshot and Z.AI want it with tool calls).
    ReasoningContent,
    /// As `reasoning` (OpenRouter, Groq, Ollama).
    Reasoning,
}

/// The way to request reasoning. Without a number of tokens, nothing is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingParam {
    /// It cannot be, or the server decides.
    #[default]
    None,
    /// `reasoning_effort`: low, medium, high.
    ReasoningEffort,
    /// `reasoning: { max_tokens }` (OpenRouter).
    ReasoningObject,
    /// `thinking: { type: "enabled" }` (DeepSeek, Z.AI).
    ThinkingType,
}

/// A value of `reasoning_effort`. Which of them a model takes is for its vendor to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// No reasoning.
    None,
    /// As little as possible.
    Minimal,
    /// A little.
    Low,
    /// As much as is usual.
    Medium,
    /// Much.
    High,
    /// More than that.
    Xhigh,
}

impl Effort {
    /// All of them, least first.
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::Xhigh,
    ];

    /// As it is written in requests and configurations.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
        }
    }
}

/// The reasoning effort that is allowed with tools. OpenAI's models from gpt-5.4 on refuse function tools
/// with reasoning at this API: "Function tools with reasoning_effort are not supported for gpt-5.6 in
/// /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffortWithTools {
    /// Any.
    #[default]
    AsWished,
    /// The field must be left out: gpt-5.4, which does not reason unless it is asked to. It has refused
    /// `none` too (<https://github.com/livekit/agents/issues/5084>, March 2026).
    Omitted,
    /// It must be `none`, in so many words: gpt-5.5 and gpt-5.6, which reason unless they are told not to
    /// (<https://github.com/BerriAI/litellm/pull/34569>, July 2026).
    None,
}
