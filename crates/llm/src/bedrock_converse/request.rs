//! Builds the body of a `ConverseStream` request from a conversation. The model is not in it: the path names
//! it.
//!
//! <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>

use agentx_types::{ModelRequest, RequestPart, ToolSpec};

use super::family::ConverseFamily;
use super::messages::turns;
use super::{LONGEST_NAME, cache, reasoning};
use crate::answer_schema;
use crate::json::{BorrowedJson, object};
use crate::media::BlobSource;
use crate::request_words::tool_name;
use crate::root_schema;
use crate::wire_options::WireOptions;

/// Returns the body of the request.
pub fn build(request: &ModelRequest, options: &WireOptions, blobs: &dyn BlobSource) -> Vec<u8> {
    let mut turns = turns(request, blobs);
    let settings = reasoning::settings(request, options, &mut turns);
    let system = request.system.iter().map(AsRef::as_ref);
    let mut system: Vec<BorrowedJson<'_>> = system
        .filter(|text: &&str| !text.trim().is_empty())
        .map(|text| object! {"text": text})
        .collect();
    let mut tools: Vec<BorrowedJson<'_>> = request.tools.iter().map(tool_spec).collect();
    let marks = options.anthropic.cache && !request.plain && !request.is_without(RequestPart::CacheControl);
    if marks && !request.is_asked_once() {
        let (family, ttl) = (ConverseFamily::of(&request.model.id), options.anthropic.cache_ttl);
        cache::mark_prefix(family, &mut system, &mut tools, ttl);
        cache::mark_conversation(family, &mut turns, ttl);
    }

    let messages: Vec<BorrowedJson<'_>> = turns
        .into_iter()
        .map(|turn| object! {"role": turn.role, "content": turn.blocks})
        .collect();
    let mut body = object! {"messages": messages};
    if !system.is_empty() {
        body.set("system", system);
    }
    if !settings.shared.is_empty() {
        body.set("inferenceConfig", settings.shared);
    }
    if !tools.is_empty() {
        body.set("toolConfig", object! {"tools": tools});
    }
    if let Some(answer) = &request.answer_schema {
        body.set("outputConfig", answer_schema::of_converse(answer));
    }
    if !settings.of_family.is_empty() {
        body.set("additionalModelRequestFields", settings.of_family);
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
