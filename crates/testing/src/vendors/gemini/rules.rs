//! The rules by which Gemini refuses requests, with their sources.

use crate::vendors::VendorRule;

macro_rules! rules {
    ($($id:ident: $name:literal, $says:literal, $source:literal, $date:literal;)*) => {
        $(pub(super) const $id: &VendorRule = &VendorRule { name: $name, says: $says, source: $source, date: $date };)*
        /// The rules of Gemini.
        pub const RULES: &[VendorRule] = &[$(*$id),*];
    };
}

rules! {
    JSON: "gemini-json", "The body is a JSON object with a list `contents` that is not empty.",
        "https://github.com/googleapis/python-genai/blob/66807187f2123c6676175ac991f4e34eb09200d1/google/genai/types.py", "2026-08-21";
    PATH: "gemini-path", "The address names a model and the method `streamGenerateContent` (404).",
        "https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/start/get-started-with-gemini-4", "2026-11-28";
    FIELD: "gemini-unknown-field", "No field is sent that the server does not know (`Unknown name … Cannot find field`).",
        "https://github.com/looplj/axonhub/issues/874", "2026-02-20";
    JSON_WITH_TOOLS: "gemini-json-with-tools", "Up to Gemini 2.5, `responseMimeType: application/json` is not sent beside functions.",
        "https://github.com/symfony/ai/issues/803 https://github.com/google/adk-python/issues/5735", "2026-05-18";
    VERTEX_ID: "gemini-vertex-id", "At Vertex AI, calls and results have no `id`.",
        "https://github.com/vercel/ai/issues/15664 https://github.com/charmbracelet/fantasy/issues/265", "2026-06-02";
    ROLE: "gemini-role", "The roles are `user` and `model`.",
        "https://github.com/songquanpeng/one-api/issues/1385", "2024-04-28";
    EMPTY: "gemini-empty-parts", "Each content has at least one part.",
        "https://github.com/egoist/chatwise-releases/issues/250 https://github.com/vercel/ai/issues/3775", "2025-02-18";
    PART: "gemini-part", "Each part is one thing: a text, media, a call, a result, or code.",
        "https://github.com/googleapis/python-genai/blob/66807187f2123c6676175ac991f4e34eb09200d1/google/genai/types.py", "2026-08-21";
    TURN: "gemini-call-turn", "A turn with calls comes immediately after a turn of the user or of results.",
        "https://github.com/google-gemini/gemini-cli/issues/26956 https://github.com/diegosouzapw/OmniRoute/pull/13573", "2026-09-13";
    RESULTS: "gemini-results", "A turn with calls is followed by one with as many results, and results follow nothing else.",
        "https://github.com/google-gemini/gemini-cli/issues/5443 https://github.com/google-gemini/gemini-cli/issues/26956", "2026-05-12";
    RESULT: "gemini-result", "A result names the function and the id of its call, and its `response` is an object.",
        "https://github.com/googleapis/python-genai/blob/66807187f2123c6676175ac991f4e34eb09200d1/google/genai/types.py", "2026-08-21";
    LAST: "gemini-last-role", "The last turn is the user's.", "reported", "2024";
    UNSIGNED: "gemini-unsigned", "Gemini 3 and later: since the last words of the user, the first call of each turn has a `thoughtSignature`.",
        "https://ai.google.dev/gemini-api/docs/thought-signatures", "2026-11-28";
    SIGNATURE: "gemini-signature", "A signature is what this server made for the same model, or the word that stands for none.",
        "https://github.com/google-gemini/gemini-cli/issues/13467 https://github.com/lbjlaq/Antigravity-Manager/issues/970", "2026-01-22";
    NAME: "gemini-name", "The name of a function begins with a letter or `_`, has letters, digits and `_.:-`, and at most 128 of them; names are unique.",
        "https://github.com/googleapis/python-genai/blob/66807187f2123c6676175ac991f4e34eb09200d1/google/genai/types.py", "2026-08-21";
    SCHEMA: "gemini-schema", "`parametersJsonSchema` is of the type `object`, and stands without `parameters`, which takes no keyword but OpenAPI's.",
        "https://github.com/pizza-bot-app/pizza-bot/issues/62", "2026-09-07";
    REF: "gemini-ref", "In a schema, only `description` and `default` stand beside `$ref`.",
        "https://github.com/anomalyco/opencode/issues/12295 https://github.com/su-kaka/gcli2api/pull/374", "2026-05-09";
    LEVEL: "gemini-thinking-level", "`thinkingLevel` is taken from Gemini 3 on; `minimal` neither by Pro models nor from 3.7 on.",
        "https://github.com/RooCodeInc/Roo-Code/issues/10700 https://github.com/can1357/oh-my-pi/issues/10543 https://github.com/vellum-ai/vellum-assistant/pull/32687", "2026-09-02";
    BUDGET: "gemini-thinking-budget", "`thinkingBudget` is in the range of its model, not 0 for Pro models, and not taken by Gemini 4.",
        "https://github.com/RooCodeInc/Roo-Code/issues/4399 https://github.com/earendil-works/pi/issues/3460 https://github.com/BerriAI/litellm/discussions/46238", "2026-10-14";
    MEDIA: "gemini-media", "Media have a type that Gemini reads; a picture is whole, and of the type that it names.",
        "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/models/gemini/3-flash", "2026-11-28";
    WINDOW: "gemini-window", "The input fits into the window (`The input token count (N) exceeds the maximum number of tokens allowed (M)`).",
        "reported", "2026";
}
