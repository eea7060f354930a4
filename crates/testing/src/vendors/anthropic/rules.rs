//! The rules by which Anthropic Messages refuses requests, with their sources.

use crate::vendors::VendorRule;

macro_rules! rules {
    ($($id:ident: $name:literal, $says:literal, $source:literal, $date:literal;)*) => {
        $(pub(super) const $id: &VendorRule = &VendorRule { name: $name, says: $says, source: $source, date: $date };)*
        /// The rules of Anthropic Messages.
        pub const RULES: &[VendorRule] = &[$(*$id),*];
    };
}

rules! {
    JSON: "anthropic-json", "The body is a JSON object with `model`, `max_tokens` and `messages`.",
        "https://platform.claude.com/docs/en/api/messages", "2026-11-22";
    SIZE: "anthropic-32-mb", "A request has at most 32 MB (413 `request_too_large`).",
        "https://platform.claude.com/docs/en/api/overview", "2026-11-22";
    MODEL: "anthropic-model", "The model exists (404); Opus 4, Sonnet 4 and Opus 4.1 were retired in June and August 2026.",
        "https://github.com/Metaculus/forecasting-tools/issues/321", "2026-08-05";
    FIELD: "anthropic-unknown-field", "No field is sent that the API does not know (`Extra inputs are not permitted`).",
        "https://platform.claude.com/docs/en/api/messages", "2026-11-22";
    MAX_TOKENS: "anthropic-max-tokens", "`max_tokens` is at least 1 and not more than the model can write.",
        "https://platform.claude.com/docs/en/api/messages", "2026-11-22";
    WINDOW: "anthropic-window", "The request fits the model's window (`prompt is too long: 214456 tokens > 200000 maximum`).",
        "https://platform.claude.com/docs/en/build-with-claude/context-windows", "2026-11-22";
    SAMPLING: "anthropic-temperature", "With thinking, and always after Opus 4.6, `temperature` is 1 or absent, `top_k` absent, `top_p` at least 0.95.",
        "https://github.com/dotCipher/opencode-claude-bridge/pull/1 https://github.com/sashiko-dev/sashiko/pull/115", "2026-04-22";
    BUDGET: "anthropic-budget", "`budget_tokens` is at least 1,024 and less than `max_tokens`.",
        "https://platform.claude.com/docs/en/build-with-claude/extended-thinking", "2026-11-22";
    THINKING_TYPE: "anthropic-thinking-type", "`enabled` with a budget only up to 4.6, `adaptive` only from 4.6 on; thinking of Opus 5.5, Sonnet 5.5 and Fable cannot be `disabled`.",
        "https://dev.to/persimmoq/claude-opus-55-sonnet-55-5-settings-that-return-400-when-you-only-change-the-model-name-5g36", "2026-10-06";
    EFFORT: "anthropic-effort", "`output_config.effort` is low, medium, high, xhigh or max, and models before 4.5 do not take it.",
        "https://platform.claude.com/docs/en/build-with-claude/effort", "2026-11-22";
    OUTPUT_SCHEMA: "anthropic-output-schema", "In the schema of `output_config.format` each object has `additionalProperties: false`, and there are no bounds of numbers and lists.",
        "https://github.com/veryfront/veryfront-code/issues/3918 https://github.com/agentjido/req_llm/issues/302 https://github.com/BerriAI/litellm/pull/21045", "2026-08-21";
    OUTPUT_GRAMMAR: "anthropic-output-grammar", "In the schema of `output_config.format` no `$ref` leads back to itself, and at most 24 properties are optional.",
        "https://github.com/ENTERPILOT/GoModel/pull/963 https://github.com/anthropics/claude-code/issues/55539 https://github.com/anthropics/anthropic-sdk-python/issues/1185", "2026-09-12";
    BETA: "anthropic-beta-header", "`thinking.block_binding` needs the beta header `thinking-binding-controls-2026-08-01`.",
        "https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation", "2026-11-22";
    TOOL_NAME: "anthropic-tool-name", "Names of tools match `^[a-zA-Z0-9_-]{1,128}$` and are unique.",
        "https://github.com/anthropics/claude-code/issues/96152", "2026-09-22";
    TOOL_SCHEMA: "anthropic-tool-schema", "`input_schema` has the type `object`, and no `oneOf`, `anyOf` or `allOf` at its top.",
        "https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools", "2026-11-22";
    TOOLS_MISSING: "anthropic-tools-missing", "A conversation with calls or results of tools is sent with `tools`.",
        "reported", "2024-06";
    MESSAGES: "anthropic-first-message", "There is a message, the first is the user's, and the roles are `user` and `assistant`.",
        "https://platform.claude.com/docs/en/api/messages", "2026-11-22";
    EMPTY: "anthropic-empty-text", "No text block is empty or only whitespace, in `system`, messages and results; no message is empty but the last of the assistant.",
        "https://github.com/anthropics/claude-code/issues/59812 https://github.com/experientiallabs/experiential/pull/799", "2026-09-05";
    PREFILL: "anthropic-prefill", "From 4.6 on the last message is the user's, unless a tool of the server is still to go on.",
        "https://github.com/ericc-ch/copilot-api/pull/261", "2026-06-08";
    WHITESPACE: "anthropic-trailing-whitespace", "The text of a last message of the assistant does not end in whitespace.",
        "https://platform.claude.com/docs/en/build-with-claude/prompt-engineering/prefill-claudes-response", "2026-11-22";
    PAIRING: "anthropic-pairing", "Each `tool_use` has its `tool_result` in the next message, before anything else in it; each result has its call in the message before.",
        "https://github.com/anthropics/claude-code/issues/5989 https://github.com/anthropics/claude-code/issues/18947", "2026-01-18";
    UNIQUE: "anthropic-unique-ids", "Ids of `tool_use` are unique in a request, and each has one result.",
        "reported", "2025";
    CALL: "anthropic-tool-use", "In a `tool_use`, the name matches the names of tools, the id `^[a-zA-Z0-9_-]+$`, and the input is an object.",
        "https://github.com/aaif-goose/goose/pull/10890 https://github.com/anthropics/claude-code/issues/2673", "2026-08-02";
    RESULT: "anthropic-error-result", "A `tool_result` with `is_error` has text in it and nothing else.",
        "https://github.com/vellum-ai/vellum-assistant/pull/18387 https://github.com/caozhiyuan/copilot-api/pull/196", "2026-04-18";
    CACHE: "anthropic-cache-control", "At most 4 blocks have `cache_control`; no empty text and no thinking has it.",
        "https://github.com/tghamm/Anthropic.SDK/issues/50 https://github.com/stakpak/agent/pull/511", "2026-02-09";
    CACHE_TTL: "anthropic-cache-ttl", "A marked block is kept for `5m` or `1h`; none of an hour comes after one of 5 minutes.",
        "https://github.com/anthropics/claude-code/issues/39599 https://github.com/agno-agi/agno/pull/8406", "2026-06-15";
    FINAL_THINKING: "anthropic-final-thinking", "The final block of a message of the assistant is not thinking.",
        "https://github.com/tailcallhq/forgecode/issues/3071 https://github.com/NousResearch/hermes-agent/pull/13010", "2026-04-20";
    THINKING_OFF: "anthropic-thinking-off", "While thinking is disabled, a last message of the assistant has no thinking in it.",
        "https://github.com/tailcallhq/forgecode/issues/1853", "2025-11-07";
    EXPECTED_THINKING: "anthropic-expected-thinking", "With a budget, the turn whose tools are being answered began with thinking (up to 4.6); it may go on without.",
        "https://github.com/n8n-io/n8n/issues/22550 https://docs.claude.com/en/docs/build-with-claude/extended-thinking", "2026-11-22";
    MODIFIED: "anthropic-thinking-modified", "Thinking in the latest message of the assistant is as it was handed out.",
        "https://github.com/anthropics/claude-code/issues/63295", "2026-05-28";
    SIGNATURE: "anthropic-signature", "The signature of thinking is one that the API handed out.",
        "https://platform.claude.com/docs/en/build-with-claude/extended-thinking", "2026-11-22";
    PREFIX: "anthropic-prefix", "Before a thinking block, `system`, `tools` and messages are what they were when it was made, and no thinking between others is left out (Opus, Sonnet and Haiku 5.5, Fable 5.1 and 5.2): 400, or the block is dropped in silence with `drop_block`. `cache_control` does not count.",
        "https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks.md https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-thinking-block-binding.md", "2026-11-22";
}
