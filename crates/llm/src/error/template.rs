//! Recognises refusals by the chat template of a model: servers of local models render the conversation with
//! it, and it raises an exception for a role or an order that it does not support. Several servers report
//! that as their own failure (500), but the same conversation fails every time.
//!
//! Sources of the words: llama.cpp ("Jinja Exception: Conversation roles must alternate …", 500
//! `server_error`, <https://github.com/sipeed/picoclaw/issues/207>,
//! <https://github.com/mistralai/mistral-vibe/issues/255>), Ollama ("chat template prompt error",
//! <https://github.com/mistralai/mistral-vibe/issues/1006>), LM Studio ("Error rendering prompt with jinja
//! template", <https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1586>), vLLM ("Conversation roles
//! must alternate …", <https://github.com/vllm-project/vllm/issues/6862>; "System role not supported",
//! <https://github.com/huggingface/chat-ui/issues/1386>), text-generation-inference ("Template error: …",
//! <https://github.com/huggingface/text-generation-inference/issues/3198>), Mistral ("Unexpected role 'user'
//! after role 'tool'", <https://github.com/aliou/pi-neuralwatt/issues/12>).

/// Pieces of a message, in lower case.
const PHRASES: &[&str] = &[
    "roles must alternate",
    "templateerror",
    "unexpected role",
    "expected last role",
    "only user and assistant roles",
    "role not supported",
    "should alternate with assistant message",
    "no user query found",
];

/// Pieces of messages of a template that cannot be evaluated, in lower case: llama.cpp's "Value is not
/// callable: null at row 49, column 79" (<https://github.com/janhq/jan/issues/6123>), "Unknown method: keys
/// at row 57, column 46" (<https://github.com/QwenLM/qwen-code/issues/48>), "While executing FilterExpression
/// at line 120, column 73 in source: … Unknown (built-in) filter 'items' for type String"
/// (<https://github.com/ggml-org/llama.cpp/issues/19905>). All are its own failure (500).
const FAILED: &[&[&str]] = &[
    &[" at row ", ", column "],
    &["while executing ", " in source"],
    &["unknown (built-in) filter"],
    &["jinja"],
    &["raise_exception"],
    &["chat template"],
    &["template error"],
];

/// Messages of servers and models that accept no tools, in lower case: Ollama
/// ("registry.ollama.ai/library/gemma3:4b does not support tools",
/// <https://github.com/ollama/ollama/issues/11131>), vLLM ("\"auto\" tool choice requires
/// --enable-auto-tool-choice and --tool-call-parser to be set",
/// <https://docs.vllm.ai/en/latest/features/tool_calling/>), OpenRouter ("No endpoints found that support
/// tool use"), Groq ("`tools` is not supported with this model.",
/// <https://github.com/agno-agi/agno/issues/137>; "`tool calling` is not supported with this model"), OpenAI
/// ("Unsupported parameter: 'tools' is not supported with this model."), bitnet.cpp ("Unsupported param:
/// tools", <https://github.com/microsoft/BitNet/issues/530>). The same without quotes and of functions is
/// made up.
const NO_TOOLS: &[&str] = &[
    "does not support tools",
    "does not support tool",
    "does not support function calling",
    "--enable-auto-tool-choice",
    "support tool use",
    "doesn't support tools",
    "'tools' is not supported",
    "`tools` is not supported",
    "\"tools\" is not supported",
    "tools is not supported with this model",
    "tools are not supported",
    "`tool calling` is not supported",
    "'tool calling' is not supported",
    "tool calling is not supported",
    "tool use is not supported",
    "function calling is not supported",
    "unsupported param: tools",
];

/// Words that show that the sentence is about something besides the tools, which can be left out: "Function
/// tools are not supported with reasoning_effort".
const BESIDE_TOOLS: &[&str] = &["reasoning_effort", "cache_control"];

/// The message of llama.cpp without its templates: it refuses every request with tools until a person starts
/// it with another option.
const NO_TEMPLATES: &str = "requires --jinja";

/// Returns whether this message, in lower case, says that the server was started without support for tools.
pub(super) fn is_missing(message: &str) -> bool {
    message.contains(NO_TEMPLATES)
}

/// Returns whether this message, in lower case, says that the model or its server accepts no tools: no other
/// form of the request helps.
pub(super) fn takes_no_tools(message: &str) -> bool {
    let is_beside = || BESIDE_TOOLS.iter().any(|word| message.contains(word));
    is_missing(message) || (NO_TOOLS.iter().any(|phrase| message.contains(phrase)) && !is_beside())
}

/// Returns whether this message, in lower case, is about the roles of a conversation or the template that
/// renders it.
pub(super) fn is_template_refusal(message: &str) -> bool {
    PHRASES.iter().any(|phrase| message.contains(phrase)) || has_failed(message)
}

/// Returns whether this message, in lower case, names the template itself.
pub(super) fn has_failed(message: &str) -> bool {
    FAILED
        .iter()
        .any(|pieces| pieces.iter().all(|piece| message.contains(piece)))
}
