//! OpenAI Responses: `POST /responses`, as at OpenAI.
//!
//! # Requests
//!
//! The session's log is the only truth, so requests say `store: false`: the server keeps nothing, and the
//! reasoning of a model comes encrypted and is sent back
//! (<https://developers.openai.com/api/docs/guides/reasoning>).
//!
//! | in the conversation | in the body |
//! | --- | --- |
//! | system prompts | `instructions`, joined by blank lines |
//! | text of a person | a `message` item with a text |
//! | text with media | a `message` item with `input_text`, `input_image`, `input_file` |
//! | text of the model | a `message` item with `output_text`, and its `phase` if it had one |
//! | reasoning of the model | a `reasoning` item with `encrypted_content`, to the same model only |
//! | call of a tool | a `function_call` or `custom_tool_call` item |
//! | result of a tool | a `function_call_output` or `custom_tool_call_output` item: a text, or a list with media |
//!
//! Ids of items are left out: they name items that the server stores, and it stores none. Requests are
//! stable: the same conversation gives the same bytes. The options `thinking`, `effort`, `temperature` and
//! `prompt_cache_key` of a server's [`ChatOptions`](crate::openai_chat::ChatOptions) also apply here.
//!
//! ```
//! use agentx_llm::NoBlobs;
//! use agentx_llm::openai_chat::ChatOptions;
//! use agentx_llm::openai_responses::build;
//! use agentx_types::ModelRequest;
//!
//! # fn example(request: &ModelRequest) {
//! let body = build(request, &ChatOptions::default(), &NoBlobs);
//! let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
//! assert_eq!(body["store"], false);
//! # }
//! ```
//!
//! # Streams
//!
//! A stream is a sequence of server-sent events, each with its `type` in the data:
//!
//! ```text
//! data: {"type":"response.created","response":{"id":"resp_1","model":"m"}}
//! data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1"}}
//! data: {"type":"response.output_text.delta","output_index":0,"delta":"Hi"}
//! data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[…]}}
//! data: {"type":"response.completed","response":{"id":"resp_1","output":[…],"usage":{…}}}
//! ```
//!
//! | event | becomes |
//! | --- | --- |
//! | the first with a `response` | `stream_start` |
//! | `output_text.delta`, `refusal.delta` | `text_chunk` |
//! | `reasoning_summary_text.delta`, `reasoning_text.delta` | `thinking_chunk` |
//! | `function_call_arguments.delta`, `custom_tool_call_input.delta` | `tool_call_chunk` |
//! | `output_item.done` of a call | `tool_call` |
//! | `output_item.done` of reasoning | a `provider_part` with the item, attached to the thinking |
//! | `output_item.done` of any other item except a message | a `provider_part` with the item |
//! | `completed`, `incomplete` | `usage`, `stream_end` |
//! | `failed`, `error` | an error |
//!
//! Unknown events and fields are ignored.

mod body;
mod input;
mod items;
mod known_items;
mod request;
mod stream;
mod wire;

pub use body::decode_body;
pub use request::build;
pub(crate) use stream::ResponseState;

/// The name under which data of this API is kept in [`ProviderData`](agentx_types::ProviderData).
pub const API: &str = "openai-responses";
