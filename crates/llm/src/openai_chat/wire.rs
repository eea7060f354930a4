//! Chunks and bodies of Chat Completions as they are read: everything optional, unknown keys ignored, text
//! borrowed.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::amounts::{Dollars, LenientFlag, Ticks};
use crate::error;
use crate::lenient_json::{Content, LenientCount, Str};
use crate::stream_error::StreamError;

/// A chunk of the stream, or the body of an answer that came complete.
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
        let of_choices = self.choices.iter().flatten().map(|choice| choice.error);
        let of_groq = self.x_groq.as_ref().and_then(|extra| extra.error);
        let mut errors = [self.error, of_groq].into_iter().chain(of_choices).flatten();
        let error = errors.find(|error| error::is_reported(error))?;
        Some(StreamError::Provider(error::from_stream(error.get())))
    }
}

/// One of the answers; a request asks for one only.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice<'a> {
    pub(super) index: Option<LenientCount>,
    #[serde(borrow)]
    pub(super) delta: Option<ChoiceDelta<'a>>,
    /// The message of a body, or of a chunk without `delta`. Perplexity repeats the current message next to
    /// each `delta`: it is ignored there.
    #[serde(borrow)]
    pub(super) message: Option<ChoiceDelta<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Str<'a>>,
    /// Moonshot's own place for the usage (<https://github.com/badlogic/pi-mono/issues/2017>).
    pub(super) usage: Option<UsageWire>,
    /// The error of OpenRouter, if the provider behind it fails in the middle of an answer.
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// The delta, or the message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChoiceDelta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    /// The reasoning at DeepSeek, Moonshot, xAI, Z.AI, vLLM and llama.cpp.
    #[serde(borrow)]
    pub(super) reasoning_content: Option<Content<'a>>,
    /// The reasoning at Groq, OpenRouter, Ollama and Vercel.
    #[serde(borrow)]
    pub(super) reasoning: Option<Content<'a>>,
    /// The reasoning at OpenRouter and Vercel, with the data that the provider needs back.
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
    /// The data of Gemini that it needs back with the call: `{"google": {"thought_signature": …}}`.
    #[serde(borrow)]
    pub(super) extra_content: Option<&'a RawValue>,
}

/// The name and the arguments of a call.
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

/// The token counts of a call.
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
    /// The cached tokens at DeepSeek.
    pub(super) prompt_cache_hit_tokens: Option<LenientCount>,
    /// The cached tokens at Moonshot.
    pub(super) cached_tokens: Option<LenientCount>,
    /// The cached tokens at LiteLLM and Vercel.
    pub(super) cache_read_input_tokens: Option<LenientCount>,
    pub(super) cache_creation_input_tokens: Option<LenientCount>,
    /// The reasoning tokens at Perplexity.
    pub(super) reasoning_tokens: Option<LenientCount>,
    /// The charge for the call at OpenRouter and Perplexity.
    pub(super) cost: Option<Dollars>,
    pub(super) cost_details: Option<Dollars>,
    pub(super) is_byok: Option<LenientFlag>,
    /// The charge for the call at xAI.
    pub(super) cost_in_usd_ticks: Option<Ticks>,
}

/// The kinds of prompt tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PromptDetails {
    pub(super) cached_tokens: Option<LenientCount>,
    /// The tokens written into the cache at OpenRouter.
    pub(super) cache_write_tokens: Option<LenientCount>,
    /// The tokens written into the cache at LiteLLM.
    pub(super) cache_creation_tokens: Option<LenientCount>,
}

/// The kinds of answer tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CompletionDetails {
    pub(super) reasoning_tokens: Option<LenientCount>,
}
