//! Options for the differences between servers of Chat Completions.

use serde::{Deserialize, Serialize};

/// Options of a server of this API. The defaults suit most compatible servers; the catalog has the options of
/// known providers and models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChatOptions {
    /// The field for the maximum length of the answer. The default is `max_tokens`.
    pub max_tokens_field: MaxTokensField,
    /// Whether the request asks for usage with `stream_options`. The default is `true`.
    pub stream_options: bool,
    /// The form in which reasoning is sent back. The default is none.
    pub reasoning_echo: ReasoningEcho,
    /// The way to request reasoning. The default is none.
    pub thinking: ThinkingParam,
    /// The reasoning effort of every request, if a person set one for this model. The default is `None`.
    pub effort: Option<Effort>,
    /// The reasoning effort that is allowed in a request with tools. The default is any.
    pub effort_with_tools: EffortWithTools,
    /// Whether the model accepts a temperature. The default is `true`.
    pub temperature: bool,
    /// Whether the messages of a person and the assistant must alternate: neighbouring messages of a person
    /// become one, an assistant's message comes between a tool's message and a person's, and it is not the
    /// last. The default is `true`, because chat templates of local models often refuse anything else;
    /// vendors that take any order get the messages as they are.
    pub strict_turns: bool,
    /// Whether requests to a model of Anthropic have cache breakpoints, which gateways pass on. The default
    /// is `true`.
    pub cache_control: bool,
    /// Whether the requests of a conversation have a common key, by which OpenAI finds the machine with the
    /// beginning of the conversation in its cache. The default is `false`, because other servers refuse
    /// unknown fields.
    pub prompt_cache_key: bool,
    /// Whether ids of tool calls must be nine letters or digits (Mistral). The default is `false`.
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

/// The field of a request that has the maximum length of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// `max_tokens`, which nearly every server accepts except OpenAI's own: its reasoning models refuse it.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI accepts and many compatible servers ignore.
    MaxCompletionTokens,
}

/// The form in which the reasoning of earlier answers is sent back. Either all of the called model's own
/// reasoning is sent or none, so that the beginning of a growing conversation does not change and can be read
/// from the server's cache. `reasoning_details` with signatures are always sent back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningEcho {
    /// No reasoning is sent back.
    #[default]
    None,
    /// The field `reasoning_content` (DeepSeek, Moonshot and Z.AI require it with tool calls)
    ReasoningContent,
    /// The field `reasoning` (OpenRouter, Groq, Ollama)
    Reasoning,
}

/// The way to request reasoning. A request without a budget of reasoning tokens leaves it out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingParam {
    /// Reasoning cannot be requested, or the server decides.
    #[default]
    None,
    /// `reasoning_effort`, with the values `low`, `medium` and `high`.
    ReasoningEffort,
    /// `reasoning: { max_tokens }` (OpenRouter).
    ReasoningObject,
    /// `thinking: { type: "enabled" }` (DeepSeek, Z.AI).
    ThinkingType,
}

/// A value of `reasoning_effort`. The vendor of a model defines which of them are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// No reasoning.
    None,
    /// The least reasoning.
    Minimal,
    /// Little reasoning.
    Low,
    /// The usual amount of reasoning.
    Medium,
    /// Much reasoning.
    High,
    /// More reasoning than [`Effort::High`].
    Xhigh,
}

impl Effort {
    /// All efforts, from the lowest to the highest.
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::Xhigh,
    ];

    /// Returns the word for the effort in requests and configurations, such as `low`.
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

/// The reasoning effort that is allowed in a request with tools. OpenAI's models from gpt-5.4 on refuse
/// function tools with reasoning at this API: "Function tools with reasoning_effort are not supported for
/// gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to
/// 'none'."
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffortWithTools {
    /// Any effort.
    #[default]
    AsWished,
    /// The field must be left out. This is for gpt-5.4, which does not reason by default; it has refused
    /// `none` too (<https://github.com/livekit/agents/issues/5084>, March 2026).
    Omitted,
    /// The field must be `none`. This is for gpt-5.5 and gpt-5.6, which reason unless a request forbids it
    /// (<https://github.com/BerriAI/litellm/pull/34569>, July 2026).
    None,
}
