//! The rules by which Bedrock's Converse refuses requests, with their sources.

use crate::vendors::VendorRule;

macro_rules! rules {
    ($($id:ident: $name:literal, $says:literal, $source:literal, $date:literal;)*) => {
        $(pub(super) const $id: &VendorRule = &VendorRule { name: $name, says: $says, source: $source, date: $date };)*
        /// The rules of Converse.
        pub const RULES: &[VendorRule] = &[$(*$id),*];
    };
}

rules! {
    JSON: "converse-json", "The body is a JSON object with a list `messages` that is not empty.",
        "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html", "2026-11-30";
    FIELD: "converse-unknown-field", "No field is sent that the API does not know; the model is in the path.",
        "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html", "2026-11-30";
    CONFIG: "converse-inference-config", "`maxTokens` is at least 1, and `temperature` is between 0 and 1.",
        "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InferenceConfiguration.html", "2026-11-30";
    TOOL: "converse-tool", "A `toolSpec` has a name that matches `[a-zA-Z0-9_-]{1,64}`, a description that is not empty if there is one, and a schema of the type `object`.",
        "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html https://github.com/NousResearch/hermes-agent/pull/90016", "2026-08-19";
    TOOL_CONFIG: "converse-tool-config", "A conversation with calls or results of tools is sent with `toolConfig`.",
        "https://github.com/vxcontrol/pentagi/pull/196", "2026-03-11";
    FIRST: "converse-first-message", "The first message is the user's.",
        "https://github.com/NousResearch/hermes-agent/pull/63983", "2026-07-13";
    LAST: "converse-last-message", "The last message is the user's.",
        "https://github.com/microsoft/semantic-kernel/issues/10281", "2025-03-03";
    ROLES: "converse-roles", "The roles `user` and `assistant` alternate (`A conversation must alternate between user and assistant roles.`).",
        "https://github.com/langchain-ai/langchain-aws/issues/130", "2024-08-01";
    EMPTY: "converse-empty-message", "No message is empty (`The content field in the Message object at messages.2 is empty.`).",
        "https://github.com/earendil-works/pi/pull/3443", "2026-04-20";
    BLANK: "converse-blank-text", "No text of a message or of `system` is empty or only whitespace.",
        "https://github.com/aws/bedrock-agentcore-sdk-python/pull/185 https://github.com/NousResearch/hermes-agent/pull/63983", "2026-07-13";
    BLOCK: "converse-block", "Each block has one kind that its role may have, with what the kind requires.",
        "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html", "2026-11-30";
    ID: "converse-tool-use-id", "A `toolUseId` matches `[a-zA-Z0-9_-]{1,64}`.",
        "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultBlock.html", "2026-11-30";
    MISSING: "converse-missing-result", "Each call has its result in the next message (`Expected toolResult blocks at messages.2.content for the following Ids`).",
        "https://github.com/camel-ai/camel/issues/3954", "2026-03-21";
    EXCESS: "converse-excess-result", "Each result has its call in the message before (`The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn.`).",
        "https://github.com/strands-agents/harness-sdk/issues/1435", "2026-01-09";
    MIXED_RESULTS: "converse-mixed-results", "A message with results has nothing else in it.",
        "https://github.com/strands-agents/harness-sdk/issues/1223 https://github.com/BerriAI/litellm/issues/6053", "2025-11-21";
    MIXED_CALLS: "converse-mixed-calls", "A message with calls has no text, except of models of Amazon and Anthropic.",
        "https://github.com/quarkiverse/quarkus-langchain4j/issues/1983", "2025-11-28";
    STATUS: "converse-status", "The status of a result is `success` or `error`, and only models of Amazon and Anthropic take it.",
        "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultBlock.html", "2026-11-30";
    ERROR_RESULT: "converse-error-result", "The content of a result with the status `error` is not empty.",
        "https://github.com/aws-samples/sample-multi-agent-orchestration-chat-on-agentcore/issues/15", "2026-06-01";
    REASONING: "converse-reasoning", "Reasoning that is sent back has the signature that this server made for the model (`User messages cannot contain reasoning content.`).",
        "https://github.com/aws-samples/bedrock-chat/pull/851", "2025-04-29";
    DOCUMENT: "converse-document", "The name of a document has letters, digits, single spaces, hyphens, brackets and parentheses alone, and a text stands beside it.",
        "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html", "2026-11-30";
    CACHE: "converse-cache-point", "A `cachePoint` has the type `default` and a block before it; there are at most 4. Claude takes it behind tools, `system` and any message, Nova behind `system` and in messages of texts alone, and no other model.",
        "https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html https://github.com/NousResearch/hermes-agent/issues/97281 https://github.com/zeroclaw-labs/zeroclaw/issues/8720", "2026-08-28";
    REASONING_FIELD: "converse-reasoning-field", "In `additionalModelRequestFields` a model has only the reasoning of its family: `thinking` and `output_config` (Claude), `reasoningConfig` (Nova 2; with the effort `high` neither `maxTokens` nor `temperature`), `reasoning_effort` (gpt-oss), `reasoning` (others of OpenAI).",
        "https://github.com/UKGovernmentBEIS/inspect_ai/issues/3767 https://github.com/UKGovernmentBEIS/inspect_ai/issues/5301 https://github.com/jeremychone/rust-genai/pull/315", "2026-09-16";
    OUTPUT: "converse-output-schema", "The schema in `outputConfig.textFormat` is JSON as a text; models of Amazon take none.",
        "https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html https://github.com/langchain4j/langchain4j/pull/4552", "2026-11-30";
    WINDOW: "converse-window", "The input fits into the window.", "reported", "2026";
}
