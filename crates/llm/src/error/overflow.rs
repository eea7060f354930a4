//! Recognises that a conversation does not fit into the model, and finds the sizes that the refusal names.
//!
//! There is no code that all vendors share, so the text decides. Sources of the words: OpenAI, Azure and
//! OpenRouter (`context_length_exceeded`, "maximum context length is N tokens"), Anthropic ("prompt is too
//! long: N tokens > M maximum"), Bedrock ("Input is too long for requested model"), Nova on Bedrock ("exceeds
//! maximum length"), Gemini ("input token count (N) exceeds the maximum number of tokens allowed (M)"), xAI
//! ("maximum prompt length is M but the request contains N tokens"), Groq ("reduce the length of the
//! messages"), Mistral ("too large for model with M maximum context length"), Moonshot ("exceeded model token
//! limit: M"), Volcano ("Input length N exceeds the maximum length M"), llama.cpp
//! (`exceed_context_size_error` with `n_ctx` and `n_prompt_tokens`, tools/server/server-context.cpp; as a 500
//! "Input prompt is too big compared to KV size. Please try increasing KV size.",
//! <https://github.com/ikawrakow/ik_llama.cpp/issues/1619>, and "input is too large to process. increase the
//! physical batch size", newer ones "input (N tokens) is too large to process. increase the physical batch
//! size (current batch size: M)", <https://github.com/ggml-org/llama.cpp/issues/12295>), Ollama ("prompt too
//! long; exceeded max context length by N tokens", server/routes.go), LM Studio ("greater than the context
//! length", "Cannot truncate prompt with n_keep (N) >= n_ctx (M)",
//! <https://github.com/anomalyco/opencode/issues/11141>), vLLM ("maximum context length", "maximum model
//! length of M"; of the answer that is asked for "'max_tokens' … is too large: 64000. This model's maximum
//! context length is 64001 tokens and your request has 24235 input tokens",
//! <https://github.com/claude-code-best/claude-code/issues/272>), DashScope ("Range of input length should be
//! [1, M]", <https://github.com/QwenLM/qwen-code/issues/98>), text-generation-inference ("`inputs` tokens +
//! `max_new_tokens` must be <= M", <https://github.com/huggingface/text-generation-inference/issues/2749>),
//! Poolside on OpenRouter ("exceeds the maximum allowed input length of M tokens"), TensorRT-LLM
//! (`max_num_tokens`), TabbyAPI (`max_seq_len`), GitHub Models (413 `tokens_limit_reached`, "Request body too
//! large for gpt-4o model. Max size: 8000 tokens.", <https://github.com/eslint/tsc-meetings/pull/593>),
//! SambaNova ("the maximum supported sequence length is just M",
//! <https://github.com/cline/cline/issues/294>), SiliconFlow ("number of input tokens (N) has exceeded
//! max_prompt_tokens (M) limit", <https://github.com/leookun/cursor-byok/issues/129>), Vertex ("the input
//! token count is N but model only supports up to M",
//! <https://github.com/NousResearch/hermes-agent/pull/99701>), Atlas ("Prompt too long: N tokens exceeds
//! max_seq_len M", <https://github.com/0xBakeer/inference-atlas/pull/186>), Together and OpenAI-compatible
//! servers ("The input (N tokens) is longer than the model's context length (M tokens)", as
//! <https://github.com/earendil-works/pi> has collected them). The words of watsonx ("the number of input
//! tokens N cannot exceed the total tokens limit M"), of Z.AI ("tokens in request more than max tokens
//! allowed") and of Chinese gateways ("超过最大长度", "上下文长度") are taken from the sources of programs that know
//! them.
//!
//! Some servers subtract the input from the window and find the rest too small for any answer: vLLM
//! "max_tokens must be at least 1, got -7584" (<https://github.com/vllm-project/vllm/pull/36789>). Nobody
//! asks for a negative number of tokens, so the window is full.
//!
//! Two limits look like rate limits, but waiting does not help: Anthropic's for the tokens in a minute, if
//! one request is larger ("This request would exceed your organization's rate limit of 30,000 input tokens
//! per minute", <https://github.com/moltis-org/moltis/issues/117>, while the headers say that all of it
//! remains), and that of a subscription without long contexts (429 "Extra usage is required for long context
//! requests.", from 200,000 tokens on, <https://github.com/NousResearch/hermes-agent/pull/4747>).
//!
//! A conversation may also have too many messages: Azure takes 2,048 ("$.messages is too long. Maximum length
//! is 2048"), OpenAI says "Invalid 'messages': array too long. Expected an array with maximum length 2048"
//! (its words for another list: <https://github.com/openai/openai-dotnet/issues/317>). A shorter conversation
//! fits, so this counts as a full window too.

use agentx_types::Overflow;
use serde_json::{Map, Value};

use super::extracted::Extracted;

/// Types and codes.
const CODES: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size_error",
    "model_context_window_exceeded",
    "tokens_limit_reached",
    "string_above_max_context",
];
/// Pieces of a message, in lower case.
const PHRASES: &[&str] = &[
    "context length",
    "context window",
    "context size",
    "context limit",
    "exceeds the context",
    "exceed_context_size",
    "model token limit",
    "maximum model length",
    "maximum prompt length",
    "maximum sequence length",
    "prompt too long",
    "prompt is too long",
    "prompt exceeds",
    "input too long",
    "input is too long",
    "message is too long",
    "messages are too long",
    "messages too long",
    "conversation is too long",
    "request is too long",
    "exceeds maximum length",
    "exceeds the maximum length",
    "exceeds the maximum allowed input length",
    "range of input length should be",
    "`inputs` tokens + `max_new_tokens` must be",
    "`inputs` must have less than",
    "max_num_tokens",
    "max_seq_len",
    "exceeds max length",
    "exceeds the maximum number of tokens",
    "cannot truncate prompt with n_keep",
    "prompt is too big compared to kv size",
    "increase the physical batch size",
    "reduce the length of the messages",
    "reduce the length of the input",
    "too many tokens",
    "too many input tokens",
    "token limit exceeded",
    "tokens exceed",
    "token count of",
    "input token count",
    "supported sequence length",
    "total tokens limit",
    "max_prompt_tokens",
    "max_model_len",
    "number of input tokens",
    "tokens in request more than max tokens allowed",
    "request input tokens exceed",
    "超过最大长度",
    "上下文长度",
];
/// Refusals because of the number of messages, regardless of their size.
const TOO_MANY: &[&str] = &[
    "messages is too long",
    "messages' is too long",
    "invalid 'messages': array too long",
    "too many messages",
    "number of messages exceeds",
    "maximum number of messages",
];
/// The message about a request with more tokens than an account may send in a minute, which never succeeds,
/// even after waiting. OpenAI (429) and Groq (413) both say "Request too large for model …: Limit M,
/// Requested N".
const TOO_LARGE_FOR_A_MINUTE: &str = "request too large for";
/// The message of Anthropic if a subscription has no long contexts.
const NO_LONG_CONTEXT: &str = "extra usage is required for long context";
/// The tokens that such a subscription may send.
const WITHOUT_LONG_CONTEXT: u64 = 200_000;
/// Words with which a provider asks the caller to wait: Bedrock's "Too many tokens, please wait before trying
/// again".
const LATER: &[&str] = &[
    "please wait",
    "try again later",
    "rate limit",
    "per minute",
    "per day",
    "throttl",
];
/// Names of other things that have a length: names, ids, pictures.
const OTHER_LENGTHS: &[&str] = &[
    "string too long",
    "image",
    "function.name",
    "tool name",
    "call_id",
];

/// Returns whether the conversation does not fit into the model.
pub(super) fn is_overflow(status: Option<u16>, said: &Extracted, message: &str) -> bool {
    if CODES
        .iter()
        .any(|code| said.words.iter().any(|word| word == code))
        || message.contains(TOO_LARGE_FOR_A_MINUTE)
        || message.contains(NO_LONG_CONTEXT)
        || said.never_passes
    {
        return true;
    }
    let has = |pieces: &[&str]| pieces.iter().any(|piece| message.contains(piece));
    let says_so = has(PHRASES)
        || has(TOO_MANY)
        || leaves_no_room(message)
        || said.words.iter().any(|word| word == "too_many_tokens");
    says_so && status != Some(429) && !has(LATER) && !has(OTHER_LENGTHS)
}

/// Returns whether a server counts less than no room for the answer.
fn leaves_no_room(message: &str) -> bool {
    const NAMES: &[&str] = &["max_tokens", "max_completion_tokens", "max_new_tokens"];
    NAMES.iter().any(|name| message.contains(name)) && message.contains("must be at least 1, got -")
}

/// Records a limit for the tokens in a minute that this one request exceeds: the whole limit remains, but the
/// request was refused.
pub(super) fn note_headers<'h>(header: impl Fn(&str) -> Option<&'h str>, into: &mut Extracted) {
    let number = |name| header(name)?.parse::<u64>().ok();
    let limit = number("anthropic-ratelimit-input-tokens-limit").filter(|limit| *limit > 0);
    let message = into.message.to_ascii_lowercase();
    if limit.is_some()
        && limit == number("anthropic-ratelimit-input-tokens-remaining")
        && message.contains("input tokens per minute")
    {
        into.never_passes = true;
        into.window = into.window.or(limit);
    }
}

/// The words before the size of the request, the most telling first.
const BEFORE_ASKED: &[&str] = &[
    "prompt is too long: ",
    "prompt too long: ",
    "prompt has ",
    "provided prompt is ",
    "the input (",
    "input (",
    "input length (",
    "number of input tokens (",
    "number of input tokens ",
    "resulted in ",
    "request (",
    "token count (",
    "token count of ",
    "token count is ",
    "request contains ",
    "request has ",
    "exceed context limit: ",
    "prompt contains ",
    "prompt contains at least ",
    "input length ",
    "n_keep (",
    "requested ",
];

/// Returns the sizes that a refusal names.
pub(super) fn read(said: &Extracted) -> Overflow {
    let message = said.message.to_ascii_lowercase();
    if TOO_MANY.iter().any(|phrase| message.contains(phrase)) {
        // It does not count tokens.
        return Overflow::default();
    }
    if message.contains(NO_LONG_CONTEXT) {
        return Overflow {
            window: Some(WITHOUT_LONG_CONTEXT),
            asked: said.asked,
        };
    }
    let first = |phrases: &[&str]| phrases.iter().find_map(|phrase| number_after(&message, phrase));
    let window = first(&[
        "context length is only ",
        "context length is ",
        "context length of ",
        "context length (",
        "context length: ",
        "context window of ",
        "context window is ",
        "context size (",
        "context size is ",
        "sequence length is just ",
        "sequence length is ",
        "total tokens limit ",
        "max_prompt_tokens (",
        "max_seq_len ",
        "max_model_len ",
        "max size: ",
        "supports up to ",
        "model length of ",
        "prompt length is ",
        "model token limit: ",
        "for model with ",
        "maximum length ",
        "tokens allowed (",
        "tokens > ",
        // Anthropic's: "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000".
        " > ",
        "exceeds the limit of ",
        "range of input length should be [1, ",
        "maximum allowed input length of ",
        "`max_new_tokens` must be <= ",
        "`inputs` must have less than ",
        "n_ctx (",
        "current batch size: ",
        "limit of ",
        "limit ",
        "cannot exceed ",
    ]);
    let asked = first(BEFORE_ASKED);
    Overflow {
        window: said.window.or(window),
        asked: said.asked.or_else(|| parts_of_the_prompt(&message)).or(asked),
    }
}

/// The size of the prompt, if the requested answer is counted with it: "However, you requested 4726 tokens
/// (3726 in the messages, 1000 in the completion)" (<https://github.com/vllm-project/vllm/pull/965>), at
/// OpenAI with "150 in the functions" between them.
fn parts_of_the_prompt(message: &str) -> Option<u64> {
    let before = |phrase: &str| {
        let (text, _) = message.split_once(phrase)?;
        let digits = text.rsplit(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<u64>().ok()
    };
    let messages = before(" in the messages")?;
    Some(messages.saturating_add(before(" in the functions").unwrap_or_default()))
}

/// Returns the number directly after `phrase`. Small numbers are not sizes.
pub(super) fn number_after(message: &str, phrase: &str) -> Option<u64> {
    const LEAST: u64 = 256;
    let mut rest = message;
    while let Some(at) = rest.find(phrase) {
        rest = &rest[at + phrase.len()..];
        let digits: String = rest
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == ',')
            .filter(char::is_ascii_digit)
            .collect();
        if let Some(number) = digits.parse().ok().filter(|number| *number >= LEAST) {
            return Some(number);
        }
    }
    None
}

/// Reads sizes in fields next to the message.
pub(super) fn note_fields(object: &Map<String, Value>, into: &mut Extracted) {
    let number = |key: &str| {
        object
            .get(key)
            .and_then(Value::as_u64)
            .filter(|number| *number > 0)
    };
    into.window = into.window.or(number("n_ctx"));
    into.asked = into.asked.or(number("n_prompt_tokens"));
}
