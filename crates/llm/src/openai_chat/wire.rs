//! Chunks and bodies of Chat Completions as they are read: everything optional, unknown keys ignored, text
//! borrowed.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::cost::{Dollars, LenientFlag};
use crate::error;
use crate::lenient_json::{Content, LenientCount, Str};
use crate::stream::StreamError;

/// A chunk of the stream, or the body of an answer that came whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CompletionChunk<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) model: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    pub(super) usage: Option<UsageWire>,
    /// Groq's own place for the usage.
    #[serde(borrow)]
    pub(super) x_groq: Option<XGroq<'a>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

impl<'a> CompletionChunk<'a> {
    /// Reads a chunk.
    pub(super) fn parse(data: &'a str) -> Result<Self, StreamError> {
        serde_json::from_str(data).map_err(|error| StreamError::malformed(error, data))
    }

    /// The error that the chunk reports, if it does.
    pub(super) fn error(&self) -> Option<StreamError> {
        let of_choice = || self.choices.iter().flatten().find_map(|choice| choice.error);
        let error = self
            .error
            .or_else(|| self.x_groq.as_ref()?.error)
            .or_else(of_choice)?;
        Some(StreamError::Provider(error::from_stream(error.get())))
    }
}

/// One of the answers; only the first is asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice<'a> {
    pub(super) index: Option<LenientCount>,
    #[serde(borrow)]
    pub(super) delta: Option<ChoiceDelta<'a>>,
    /// In a body, or instead of `delta`. Perplexity repeats the message so far beside each `delta`:
    /// there it is not looked at.
    #[serde(borrow)]
    pub(super) message: Option<ChoiceDelta<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Str<'a>>,
    /// OpenRouter's, where the provider behind it fails in the middle of an answer.
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// The delta, or the message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChoiceDelta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    /// DeepSeek, Moonshot, xAI, Z.AI, vLLM, llama.cpp.
    #[serde(borrow)]
    pub(super) reasoning_content: Option<Content<'a>>,
    /// Groq, OpenRouter, Ollama, Vercel.
    #[serde(borrow)]
    pub(super) reasoning: Option<Content<'a>>,
    /// OpenRouter, Vercel: with what the provider wants back.
    #[serde(borrow)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) refusal: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<ToolDelta<'a>>>,
    /// The predecessor of `tool_calls`, from older compatible servers.
    #[serde(borrow)]
    pub(super) function_call: Option<Function<'a>>,
}

/// A piece of a tool call, or a whole one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolDelta<'a> {
    pub(super) index: Option<LenientCount>,
    #[serde(borrow)]
    pub(super) id: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) function: Option<Function<'a>>,
    /// Gemini: `{"google": {"thought_signature": …}}`, which it wants back with the call.
    #[serde(borrow)]
    pub(super) extra_content: Option<&'a RawValue>,
}

/// Its name and arguments.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Function<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Str<'a>>,
    /// A string; some servers send the object itself.
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// Groq's extras.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct XGroq<'a> {
    pub(super) usage: Option<UsageWire>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// Token counts.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct UsageWire {
    pub(super) prompt_tokens: Option<LenientCount>,
    pub(super) completion_tokens: Option<LenientCount>,
    pub(super) total_tokens: Option<LenientCount>,
    pub(super) prompt_tokens_details: Option<PromptDetails>,
    pub(super) completion_tokens_details: Option<CompletionDetails>,
    /// The names of OpenAI's Responses and of Anthropic's Messages: gateways to those hand them on.
    pub(super) input_tokens: Option<LenientCount>,
    pub(super) output_tokens: Option<LenientCount>,
    pub(super) input_tokens_details: Option<PromptDetails>,
    pub(super) output_tokens_details: Option<CompletionDetails>,
    /// DeepSeek.
    pub(super) prompt_cache_hit_tokens: Option<LenientCount>,
    /// Moonshot.
    pub(super) cached_tokens: Option<LenientCount>,
    /// LiteLLM, Vercel.
    pub(super) cache_read_input_tokens: Option<LenientCount>,
    pub(super) cache_creation_input_tokens: Option<LenientCount>,
    /// Perplexity.
    pub(super) reasoning_tokens: Option<LenientCount>,
    /// OpenRouter, Perplexity: what is charged for the call.
    pub(super) cost: Option<Dollars>,
    pub(super) cost_details: Option<Dollars>,
    pub(super) is_byok: Option<LenientFlag>,
}

/// The kinds of prompt tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PromptDetails {
    pub(super) cached_tokens: Option<LenientCount>,
    /// OpenRouter.
    pub(super) cache_write_tokens: Option<LenientCount>,
    /// LiteLLM.
    pub(super) cache_creation_tokens: Option<LenientCount>,
}

/// The kinds of answer tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CompletionDetails {
    pub(super) reasoning_tokens: Option<LenientCount>,
}
