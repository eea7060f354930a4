//! Builds the body of a `ConverseStream` request from a conversation. The model is not in it: the path names
//! it.
//!
//! <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>

use agentx_types::{ModelRequest, RequestPart, ToolSpec};

use super::LONGEST_NAME;
use super::messages::messages;
use crate::json::{BorrowedJson, object};
use crate::media::BlobSource;
use crate::request_words::{longest_answer, tool_name};
use crate::root_schema;

/// Returns the body of the request.
pub fn build(request: &ModelRequest, blobs: &dyn BlobSource) -> Vec<u8> {
    let mut body = object! {"messages": messages(request, blobs)};
    let system = request.system.iter().map(AsRef::as_ref);
    let system: Vec<BorrowedJson<'_>> = system
        .filter(|text: &&str| !text.trim().is_empty())
        .map(|text| object! {"text": text})
        .collect();
    if !system.is_empty() {
        body.set("system", system);
    }
    let mut config = object! {};
    if request.params.max_output_tokens.is_some() && !request.is_without(RequestPart::MaxTokens) {
        config.set("maxTokens", longest_answer(request));
    }
    let temperature = request.params.temperature;
    if let Some(temperature) = temperature.filter(|_| !request.is_without(RequestPart::Temperature)) {
        config.set("temperature", temperature.clamp(0.0, 1.0));
    }
    if !config.is_empty() {
        body.set("inferenceConfig", config);
    }
    if !request.tools.is_empty() {
        let tools: Vec<BorrowedJson<'_>> = request.tools.iter().map(tool_spec).collect();
        body.set("toolConfig", object! {"tools": tools});
    }
    body.to_bytes()
}

/// A tool as the API describes it. A description may be absent, and not empty.
fn tool_spec(tool: &ToolSpec) -> BorrowedJson<'_> {
    let mut spec = object! {"name": tool_name(&tool.name, LONGEST_NAME)};
    let description = root_schema::description(tool);
    if !description.trim().is_empty() {
        spec.set("description", description);
    }
    let mut schema = root_schema::input_schema(tool);
    schema.set_missing("type", "object");
    spec.set("inputSchema", object! {"json": schema});
    object! {"toolSpec": spec}
}
