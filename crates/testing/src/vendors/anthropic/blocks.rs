//! The blocks of a request in the order in which they are read.

use serde_json::{Map, Value, json};

/// Returns the content of a message, result or system prompt as blocks: a text becomes one text block.
pub(super) fn of(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

/// Returns a block without its breakpoint and with its fields sorted, for hashing and counting.
pub(super) fn bare(block: &Value) -> Value {
    let mut block = block.clone();
    if let Some(fields) = block.as_object_mut() {
        fields.remove("cache_control");
        let content = fields
            .get("content")
            .filter(|content| content.is_string())
            .map(of);
        if let Some(content) = content {
            fields.insert("content".to_owned(), Value::Array(content));
        }
    }
    block.sort_all_objects();
    block
}

/// Returns the blocks before the messages, and then each block of each message with its role.
pub(super) fn in_order(body: &Value) -> Vec<(Value, bool)> {
    let marked = |block: &Value| !block["cache_control"].is_null();
    let with_role = |role: &Value, block: &Value| {
        let mut whole = Map::new();
        whole.insert("role".to_owned(), role.clone());
        whole.insert("block".to_owned(), bare(block));
        Value::Object(whole)
    };
    let tools = body["tools"].as_array().into_iter().flatten();
    let mut blocks: Vec<(Value, bool)> = tools.map(|tool| (bare(tool), marked(tool))).collect();
    blocks.extend(
        of(&body["system"])
            .iter()
            .map(|block| (bare(block), marked(block))),
    );
    for message in body["messages"].as_array().into_iter().flatten() {
        let said = of(&message["content"]);
        blocks.extend(
            said.iter()
                .map(|block| (with_role(&message["role"], block), marked(block))),
        );
    }
    blocks
}

/// Returns the marks of the cache in the order in which the vendor reads them: tools, system, messages.
pub(super) fn marks(body: &Value) -> Vec<Value> {
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let messages = body["messages"].as_array().into_iter().flatten();
    let said = messages.flat_map(|message| of(&message["content"]));
    let all = tools.into_iter().chain(of(&body["system"])).chain(said);
    all.map(|block| block["cache_control"].clone())
        .filter(|mark| !mark.is_null())
        .collect()
}

/// Returns whether a block is thinking, readable or not.
pub(super) fn is_thinking(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}
