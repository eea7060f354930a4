//! The rules by which OpenAI Chat Completions and compatible servers refuse requests, with their sources.

use crate::vendors::VendorRule;

macro_rules! rules {
    ($($id:ident: $name:literal, $says:literal, $source:literal, $date:literal;)*) => {
        $(pub(super) const $id: &VendorRule = &VendorRule { name: $name, says: $says, source: $source, date: $date };)*
        /// The rules of Chat Completions.
        pub const RULES: &[VendorRule] = &[$(*$id),*];
    };
}

rules! {
    JSON: "chat-json", "The body is a JSON object with `model` and at least one message.",
        "https://platform.openai.com/docs/api-reference/chat/create", "2026-11-22";
    FIELD: "chat-unknown-field", "No field is sent that the server does not know (OpenAI: `Unknown parameter`; Mistral: 422 `Extra inputs are not permitted`).",
        "https://platform.openai.com/docs/api-reference/chat/create https://docs.mistral.ai/api/", "2026-11-22";
    MAX_TOKENS: "chat-max-completion-tokens", "Reasoning models of OpenAI take `max_completion_tokens`, not `max_tokens`.",
        "https://github.com/decolua/9router/issues/560", "2026-04-11";
    TEMPERATURE: "chat-temperature", "Reasoning models of OpenAI take no `temperature` but 1 and no `top_p`.",
        "https://github.com/repowise-dev/repowise/issues/987", "2026-07-22";
    EFFORT: "chat-tools-with-effort", "With tools, gpt-5.5 to gpt-6 take nothing but `reasoning_effort: \"none\"`, and gpt-5.4 nothing but that or no effort; gpt-6-astra, gpt-6.1 and later take no tools here.",
        "https://github.com/BerriAI/litellm/pull/34569 https://github.com/openai/openai-openapi/issues/541 https://github.com/jeffdafoe/llm-memory-api/pull/178 https://github.com/jhd3197/Prompture/releases/tag/v1.15.1", "2026-07-24";
    NO_EFFORT: "chat-effort-of-others", "Models of OpenAI that do not reason take no `reasoning_effort`.",
        "https://platform.openai.com/docs/guides/reasoning", "2026-11-22";
    STREAM_OPTIONS: "chat-stream-options", "`stream_options` is only sent with `stream: true`.",
        "https://platform.openai.com/docs/api-reference/chat/create", "2026-11-22";
    TOOLS: "chat-tools", "`tools` is absent or has 1 to 128 of them; their names match `^[a-zA-Z0-9_-]{1,64}$`.",
        "https://github.com/raullenchai/Rapid-MLX/pull/748 https://github.com/packit/ai-workflows/pull/619", "2026-06-23";
    SCHEMA: "chat-tool-schema", "`parameters` has the type `object` and, at OpenAI, names its properties; an array says what its items are.",
        "https://platform.openai.com/docs/guides/function-calling https://github.com/spring-projects/spring-ai/issues/4776", "2026-11-22";
    STRICT: "chat-strict-schema", "With `strict`, each object has `additionalProperties: false` and requires all its properties.",
        "https://github.com/lastmile-ai/openai-agents-mcp/issues/2", "2025-03-14";
    ANSWER_SCHEMA: "chat-answer-schema", "The schema of an answer with `strict`: nothing stands beside `$ref`, each other schema has a type, each object requires all its properties and no others, and keywords such as `propertyNames` and `minLength` are not permitted.",
        "https://github.com/vectorize-io/hindsight/pull/3944 https://github.com/can1357/oh-my-pi/issues/209 https://github.com/vercel/ai/issues/6484 https://github.com/jina-ai/node-DeepResearch/issues/79", "2026-08-31";
    ROLE: "chat-roles", "Roles are system, developer, user, assistant and tool.",
        "https://platform.openai.com/docs/api-reference/chat/create", "2026-11-22";
    PAIRING: "chat-pairing", "A message with `tool_calls` is followed by one `tool` message for each of them, and a `tool` message answers one.",
        "https://github.com/BerriAI/litellm/issues/28995 https://github.com/FoundationAgents/OpenManus/issues/744", "2026-05-27";
    CONTENT: "chat-content", "`content` is a text or parts; `null` only beside `tool_calls`, which are not empty where they are there.",
        "https://platform.openai.com/docs/api-reference/chat/create", "2026-11-22";
    NULL: "chat-content-null", "llama-cpp-python answers 500 to an assistant's message without a text as `content`, calls or not: neither `null` nor absent works.",
        "https://github.com/abetlen/llama-cpp-python/issues/1805", "2024-10-21";
    CALL: "chat-tool-call", "In a call, the name matches the names of tools, the arguments are a JSON object in a text, and ids have at most 40 characters.",
        "https://github.com/anomalyco/opencode/issues/12653", "2026-03-15";
    UNIQUE: "chat-unique-ids", "Ids of calls are unique in their message.",
        "reported", "2025";
    PICTURE: "chat-picture", "A picture is a whole PNG, JPEG, GIF or WebP, as a data URL that says which, in a user's message.",
        "https://platform.openai.com/docs/guides/images-vision", "2026-11-22";
    WINDOW: "chat-window", "The request fits the model's window (`context_length_exceeded`; llama.cpp: `exceed_context_size_error` with `n_ctx`).",
        "https://github.com/ggml-org/llama.cpp/pull/15780", "2025-09-03";
    ANSWER: "chat-window-with-answer", "vLLM takes no request that does not fit together with the answer that it asks for, and counts no further than that (`your prompt contains at least 4193 input tokens`).",
        "https://github.com/vllm-project/vllm/issues/42474", "2026-05-13";
    ECHO: "chat-reasoning-content", "DeepSeek wants `reasoning_content` with each answer of the conversation, whoever gave it.",
        "https://api-docs.deepseek.com/guides/thinking_mode https://github.com/Astro-Han/pawwork/issues/250", "2026-04-27";
    REASONING: "chat-reasoning-of-others", "Groq takes `reasoning` in an answer only for models that reason, and `reasoning_content` for none.",
        "https://github.com/vercel/ai/issues/8056 https://github.com/janhq/jan/issues/8136", "2026-05-13";
    ALTERNATE: "chat-alternating-roles", "Perplexity and templates of Mistral want user and assistant in turns after system messages, and a user's or a tool's message last.",
        "https://github.com/perplexityai/api-discussion/issues/265 https://github.com/charmbracelet/crush/issues/279", "2025-04-01";
    DEVSTRAL: "chat-template-devstral", "The template of Devstral, Mistral Small and Ministral wants a person's message and an assistant's without calls in turns (llama.cpp: 500 `Jinja Exception`).",
        "https://github.com/mistralai/mistral-vibe/issues/255 https://github.com/ggml-org/llama.cpp/issues/19851", "2026-02-24";
    GEMMA: "chat-template-gemma", "The template of Gemma 3 wants a person and the assistant in turns, and knows no role of tools.",
        "https://github.com/google/adk-python/issues/1373 https://github.com/huggingface/text-generation-inference/issues/3198", "2025-06-13";
    AFTER_TOOL: "chat-user-after-tool", "Mistral refuses a user's message behind a `tool` message (`Unexpected role 'user' after role 'tool'`).",
        "https://github.com/avante-corp/avante.nvim/pull/2695 https://github.com/BerriAI/litellm/issues/17761", "2025-12-10";
    LAST: "chat-last-role", "Mistral refuses a conversation that ends with the assistant.",
        "https://github.com/0xPlaygrounds/rig/pull/1130", "2025-12-08";
    SYSTEM_FIRST: "chat-system-first", "Mistral, Perplexity and most templates of local models take system messages at the beginning only.",
        "https://github.com/edenai/edenai-apis/pull/144", "2024-02-26";
    SHORT_ID: "chat-nine-character-ids", "Mistral's ids of calls are nine letters or digits.",
        "https://github.com/nearai/ironclaw/issues/1241", "2026-03-16";
}
