//! The rules by which OpenAI's Responses refuses requests, with their sources.

use crate::vendors::VendorRule;

macro_rules! rules {
    ($($id:ident: $name:literal, $says:literal, $source:literal, $date:literal;)*) => {
        $(pub(super) const $id: &VendorRule = &VendorRule { name: $name, says: $says, source: $source, date: $date };)*
        /// The rules of Responses.
        pub const RULES: &[VendorRule] = &[$(*$id),*];
    };
}

rules! {
    JSON: "responses-json", "The body is a JSON object with `model` and a list `input` that is not empty.",
        "https://platform.openai.com/docs/api-reference/responses/create", "2026-11-27";
    FIELD: "responses-unknown-field", "No field is sent that the server does not know.",
        "https://github.com/openai/openai-python/issues/2194", "2025-03-13";
    ITEM: "responses-item", "Each item has a known type, and each message one of the roles `user`, `assistant`, `system` and `developer`.",
        "https://platform.openai.com/docs/api-reference/responses/create", "2026-11-27";
    CONTENT: "responses-content", "The text of the assistant is `output_text` or `refusal`; everybody else's is `input_text`, `input_image` or `input_file`.",
        "https://github.com/jeremychone/rust-genai/pull/119", "2026-01-17";
    WHOLE: "responses-output-message", "A text of the assistant has an `id` that begins with `msg_`, a `status`, and a list of `annotations` (vLLM and other servers that check the whole form).",
        "https://github.com/openai/codex/issues/12669 https://github.com/langchain-ai/langchain/pull/32557", "2026-02-24";
    CALL: "responses-call", "An id of a call has 1 to 64 characters, and its arguments are JSON.",
        "https://github.com/decolua/9router/issues/393", "2026-03-23";
    NAME: "responses-name", "The name of a tool matches `^[a-zA-Z0-9_-]{1,64}$`, in calls and definitions.",
        "https://github.com/hackers365/xiaozhi-esp32-server-golang/issues/268", "2026-05-24";
    OUTPUT: "responses-no-output", "Each call has an output behind it.",
        "https://github.com/router-for-me/CLIProxyAPI/issues/2368", "2026-03-27";
    NO_CALL: "responses-no-call", "Each output has a call before it.",
        "https://github.com/continuedev/continue/issues/10092", "2026-02-01";
    NOT_STORED: "responses-not-stored", "With `store: false`, no reasoning is named by an id without its encrypted content.",
        "https://github.com/can1357/oh-my-pi/issues/41", "2026-02-12";
    SUMMARY: "responses-summary", "Reasoning has a `summary`, which may be empty.",
        "https://github.com/newo-ether/Agora/issues/141", "2026-09-21";
    ALONE: "responses-reasoning-alone", "Another item of the assistant follows reasoning.",
        "https://github.com/continuedev/continue/issues/8933", "2026-02-10";
    ENCRYPTED: "responses-encrypted", "Encrypted reasoning is what this server made for the same model.",
        "https://github.com/openai/codex/issues/8119", "2025-12-16";
    NO_REASONING: "responses-no-reasoning", "Models that do not reason are asked for neither `reasoning` nor `reasoning.encrypted_content`.",
        "https://github.com/pydantic/pydantic-ai/issues/3326 https://github.com/OpenHands/software-agent-sdk/issues/3553", "2026-06-06";
    UNVERIFIED: "responses-unverified", "An organization that has not been verified asks for no summary of reasoning.",
        "https://github.com/OpenHands/software-agent-sdk/issues/987", "2025-10-31";
    EFFORT: "responses-effort", "GPT-6.1 and later are not asked for the effort `none` or `minimal`.",
        "https://developers.openai.com/api/docs/models/gpt-6.2-sol https://dev.to/hassann/how-to-use-gpt-61-sol-apl--45cg", "2026-11-27";
    TEMPERATURE: "responses-temperature", "Models that reason take no `temperature`.",
        "https://github.com/OpenHands/software-agent-sdk/issues/1837", "2026-01-27";
    SHORT: "responses-short-answer", "`max_output_tokens` is 16 or more.",
        "https://github.com/vectorize-io/hindsight/issues/58", "2025-12-19";
    SCHEMA: "responses-schema", "The parameters of a function are an object with `properties`; with `strict`, they say of all fields that they are required.",
        "https://github.com/spring-projects/spring-ai/issues/4776", "2026-11-22";
    ANSWER: "responses-answer-schema", "The schema of an answer with `strict`: nothing stands beside `$ref`, each other schema has a type, each object requires all its properties and no others, and keywords such as `propertyNames` and `minLength` are not permitted.",
        "https://github.com/vectorize-io/hindsight/pull/3944 https://github.com/can1357/oh-my-pi/issues/209 https://github.com/vercel/ai/issues/6484 https://github.com/jina-ai/node-DeepResearch/issues/79", "2026-08-31";
    PICTURE: "responses-picture", "A picture is an address, or base64 of the type that it names.",
        "https://github.com/vybestack/llxprt-code/pull/3075", "2026-11-22";
    WINDOW: "responses-window", "The input fits into the window.",
        "https://github.com/anomalyco/opencode/issues/6071", "2025-12-23";
}
