//! Gemini's Interactions API: `POST /v1beta/interactions`, without anything stored at Google.
//!
//! # Requests
//!
//! The session's log is the only truth, so requests say `store: false` and send all steps of the conversation
//! (<https://ai.google.dev/gemini-api/docs/interactions>). The forms are those of
//! `google/genai/_gaos/types/interactions` in
//! <https://github.com/googleapis/python-genai/tree/66807187f2123c6676175ac991f4e34eb09200d1>.
//!
//! | in the conversation | in the body |
//! | --- | --- |
//! | system prompts | `system_instruction`, joined by blank lines |
//! | text and media of a person | a step `user_input` |
//! | text of the model | a step `model_output` |
//! | reasoning of the model | a step `thought` with its `signature`, to the same model only |
//! | call of a tool | a step `function_call` |
//! | result of a tool | a step `function_result`: a text, or a list with pictures |
//!
//! A temperature is not sent: the API has no such field. The option `thinking` of
//! [`GeminiOptions`](crate::gemini::GeminiOptions) also applies here: a request to a model with a budget has
//! no level, because this API has no budget.
//!
//! # Streams
//!
//! ```text
//! data: {"event_type":"interaction.created","interaction":{"id":"v1_1","model":"m","status":"in_progress"}}
//! data: {"event_type":"step.start","index":0,"step":{"type":"model_output"}}
//! data: {"event_type":"step.delta","index":0,"delta":{"type":"text","text":"Hi"}}
//! data: {"event_type":"step.stop","index":0}
//! data: {"event_type":"interaction.completed","interaction":{"id":"v1_1","status":"completed","usage":{…}}}
//! ```
//!
//! | event | becomes |
//! | --- | --- |
//! | `interaction.created` | `stream_start` |
//! | `step.delta` of `model_output` | `text_chunk` |
//! | `step.delta` of `thought` | `thinking_chunk` |
//! | `step.start` of `function_call` | `tool_call_start` |
//! | `step.delta` of `function_call` | `tool_call_chunk` |
//! | `step.stop` | `tool_call`; the signature of a thought or a call is a `provider_part`, attached to it |
//! | `step.stop` of any other step | a `provider_part` with the step |
//! | `interaction.completed` | `usage`, `stream_end` |
//! | `error`, or the status `failed` | an error |
//!
//! Unknown events and fields are ignored.

mod body;
mod input;
mod request;
mod steps;
mod stream;
mod wire;

pub use body::decode_body;
pub use request::build;
pub(crate) use stream::InteractionState;

/// The name under which data of this API is kept in [`ProviderData`](agentx_types::ProviderData).
pub const API: &str = "gemini-interactions";

/// The field of a step that holds its signature.
const SIGNATURE: &str = "signature";
