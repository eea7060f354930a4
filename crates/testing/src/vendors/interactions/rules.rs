//! The rules by which Gemini's Interactions API refuses requests, with their sources.

use crate::vendors::VendorRule;

macro_rules! rules {
    ($($id:ident: $name:literal, $says:literal, $source:literal, $date:literal;)*) => {
        $(pub(super) const $id: &VendorRule = &VendorRule { name: $name, says: $says, source: $source, date: $date };)*
        /// The rules of the Interactions API.
        pub const RULES: &[VendorRule] = &[$(*$id),*];
    };
}

rules! {
    JSON: "interactions-json", "The body is a JSON object with `model` and a list `input` that is not empty.",
        "https://github.com/googleapis/python-genai/blob/66807187f2123c6676175ac991f4e34eb09200d1/google/genai/_gaos/types/interactions/createmodelinteraction.py", "2026-08-21";
    FIELD: "interactions-unknown-field", "No field is sent that the types do not have; `generation_config` has no temperature.",
        "https://github.com/googleapis/python-genai/blob/66807187f2123c6676175ac991f4e34eb09200d1/google/genai/_gaos/types/interactions/generationconfig.py", "2026-08-21";
    TOOL: "interactions-tool", "A tool is a `function` with the name of one and a schema of the type `object`.",
        "https://github.com/googleapis/python-genai/blob/66807187f2123c6676175ac991f4e34eb09200d1/google/genai/_gaos/types/interactions/function.py", "2026-08-21";
    LEVEL: "interactions-thinking-level", "`thinking_level` is taken from Gemini 3 on.",
        "https://github.com/RooCodeInc/Roo-Code/issues/10700", "2026-01-13";
    STEP: "interactions-step", "Each step has a known type and what its type requires: content, a signature, an id, a name, arguments, a result.",
        "https://github.com/googleapis/python-genai/tree/66807187f2123c6676175ac991f4e34eb09200d1/google/genai/_gaos/types/interactions", "2026-08-21";
    SIGNATURE: "interactions-signature", "The signature of a thought or a call is what this server made for the same model.",
        "https://github.com/lbjlaq/Antigravity-Manager/issues/970", "2026-01-22";
    RESULTS: "interactions-results", "Each call has one result behind it, and each result a call before it.",
        "https://github.com/googleapis/python-genai/blob/66807187f2123c6676175ac991f4e34eb09200d1/google/genai/_gaos/types/interactions/functionresultstep.py", "2026-08-21";
    MEDIA: "interactions-media", "A picture is whole, and of the type that it names; a result holds texts and pictures alone.",
        "https://github.com/vercel/ai/blob/ed857f50f112e23930b0c2dd8d532cc8bebbc911/packages/google/src/interactions/convert-to-google-interactions-input.ts", "2026-08-22";
    WINDOW: "interactions-window", "The input fits into the window.", "reported", "2026";
}
