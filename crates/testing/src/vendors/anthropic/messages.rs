//! The messages of a request: their roles, their content, and the pairing of calls and results.

use std::collections::BTreeSet;

use serde_json::Value;

use super::form::{ThinkingForm, is_name, known_fields};
use super::model::VendorModel;
use super::{blocks, refuse, rules};
use crate::vendors::bytes::base64;
use crate::vendors::picture::{self, VendorPicture};
use crate::vendors::{VendorRefusal, VendorRule};

/// The longest base64 text of a picture.
const MAX_PICTURE: usize = 10 * 1024 * 1024;

/// The blocks of a message with its role.
struct VendorTurn {
    is_user: bool,
    blocks: Vec<Value>,
}

pub(super) fn check(body: &Value, model: &VendorModel, thinking: &ThinkingForm) -> Result<(), VendorRefusal> {
    for (at, block) in blocks::of(&body["system"]).iter().enumerate() {
        text(block, &format!("system.{at}"))?;
    }
    let turns = turns(body)?;
    for (at, turn) in turns.iter().enumerate() {
        let is_last = at + 1 == turns.len();
        let may_be_empty = is_last && !turn.is_user;
        if turn.blocks.is_empty() && !may_be_empty {
            let message = format!(
                "messages.{at}: all messages must have non-empty content except for the optional final assistant message"
            );
            return Err(refuse(rules::EMPTY, message));
        }
        for (index, block) in turn.blocks.iter().enumerate() {
            checked_block(block, &format!("messages.{at}.content.{index}"))?;
        }
    }
    let turns = merged(turns);
    pairs(&turns, body)?;
    last(&turns, model, thinking)?;
    pictures(body, model)
}

fn turns(body: &Value) -> Result<Vec<VendorTurn>, VendorRefusal> {
    let messages = body["messages"]
        .as_array()
        .filter(|messages| !messages.is_empty());
    let messages =
        messages.ok_or_else(|| refuse(rules::MESSAGES, "messages: at least one message is required"))?;
    let turn = |(at, message): (usize, &Value)| {
        let fields = message.as_object().into_iter().flat_map(|fields| fields.keys());
        known_fields(
            fields,
            &["role", "content"],
            &format!("messages.{at}."),
            rules::FIELD,
        )?;
        let is_user = match message["role"].as_str() {
            Some("user") => true,
            Some("assistant") => false,
            other => {
                let message = format!("messages: Unexpected role \"{}\".", other.unwrap_or_default());
                return Err(refuse(rules::MESSAGES, message));
            }
        };
        let blocks = blocks::of(&message["content"]);
        if !is_user && blocks.last().is_some_and(blocks::is_thinking) {
            let message =
                format!("messages.{at}: The final block in an assistant message cannot be `thinking`.");
            return Err(refuse(rules::FINAL_THINKING, message));
        }
        Ok(VendorTurn { is_user, blocks })
    };
    let turns: Vec<VendorTurn> = messages.iter().enumerate().map(turn).collect::<Result<_, _>>()?;
    if !turns[0].is_user {
        return Err(refuse(
            rules::MESSAGES,
            "messages: first message must use the \"user\" role",
        ));
    }
    Ok(turns)
}

/// Neighbours of one role are one turn.
fn merged(turns: Vec<VendorTurn>) -> Vec<VendorTurn> {
    let mut all: Vec<VendorTurn> = Vec::with_capacity(turns.len());
    for turn in turns {
        match all.last_mut() {
            Some(last) if last.is_user == turn.is_user => last.blocks.extend(turn.blocks),
            _ => all.push(turn),
        }
    }
    all
}

/// Returns the allowed fields of a block of each kind.
fn fields_of(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "text" => &["type", "text", "cache_control", "citations"],
        "thinking" => &["type", "thinking", "signature"],
        "redacted_thinking" => &["type", "data"],
        "tool_use" => &[
            "type",
            "id",
            "name",
            "input",
            "cache_control",
            "caller",
            "toolset_name",
        ],
        "tool_result" => &["type", "tool_use_id", "content", "is_error", "cache_control"],
        "image" => &["type", "source", "cache_control"],
        "document" => &["type", "source", "title", "context", "citations", "cache_control"],
        _ => return None,
    })
}

fn checked_block(block: &Value, place: &str) -> Result<(), VendorRefusal> {
    let kind = block["type"].as_str().unwrap_or_default();
    let fields = block.as_object().into_iter().flat_map(|fields| fields.keys());
    if let Some(known) = fields_of(kind) {
        known_fields(fields, known, &format!("{place}.{kind}."), rules::FIELD)?;
    }
    match kind {
        "text" => text(block, place),
        "image" => image(block, place),
        "tool_use" => call(block, place),
        "tool_result" => result(block, place),
        "" => Err(refuse(rules::FIELD, format!("{place}.type: Field required"))),
        _ => Ok(()),
    }
}

fn text(block: &Value, place: &str) -> Result<(), VendorRefusal> {
    let text = block["text"].as_str().unwrap_or_default();
    let message = match text {
        "" if !block["cache_control"].is_null() => {
            let message = format!("{place}.text: cache_control cannot be set for empty text blocks");
            return Err(refuse(rules::CACHE, message));
        }
        "" => "text content blocks must be non-empty",
        text if text.trim().is_empty() => "text content blocks must contain non-whitespace text",
        _ => return Ok(()),
    };
    Err(refuse(rules::EMPTY, format!("{place}: {message}")))
}

fn call(block: &Value, place: &str) -> Result<(), VendorRefusal> {
    let (id, name) = (
        block["id"].as_str().unwrap_or_default(),
        block["name"].as_str().unwrap_or_default(),
    );
    let message = if !is_name(name, 128) {
        format!("{place}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
    } else if !is_name(id, usize::MAX) {
        format!("{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    } else if !block["input"].is_object() {
        format!("{place}.tool_use.input: Input should be a valid dictionary")
    } else {
        return Ok(());
    };
    Err(refuse(rules::CALL, message))
}

fn result(block: &Value, place: &str) -> Result<(), VendorRefusal> {
    let content = blocks::of(&block["content"]);
    for (at, part) in content.iter().enumerate() {
        checked_block(part, &format!("{place}.tool_result.content.{at}"))?;
    }
    if block["is_error"] != true {
        return Ok(());
    }
    let message = if content.is_empty() {
        format!("{place}.tool_result: content cannot be empty if `is_error` is true")
    } else if content.iter().any(|part| part["type"] != "text") {
        format!("{place}.tool_result: all content must be type \"text\" if `is_error` is true")
    } else {
        return Ok(());
    };
    Err(refuse(rules::RESULT, message))
}

fn ids<'a>(turn: &'a VendorTurn, kind: &str, field: &str) -> Vec<&'a str> {
    let of_kind = turn.blocks.iter().filter(|block| block["type"] == *kind);
    of_kind.filter_map(|block| block[field].as_str()).collect()
}

fn pairs(turns: &[VendorTurn], body: &Value) -> Result<(), VendorRefusal> {
    let nothing = VendorTurn {
        is_user: false,
        blocks: Vec::new(),
    };
    let mut all = BTreeSet::new();
    for (at, turn) in turns.iter().enumerate() {
        let calls = ids(turn, "tool_use", "id");
        if calls.iter().any(|id| !all.insert((*id).to_owned())) {
            return Err(refuse(rules::UNIQUE, "messages: `tool_use` ids must be unique"));
        }
        let next = turns.get(at + 1).unwrap_or(&nothing);
        let first: Vec<&Value> = next
            .blocks
            .iter()
            .take_while(|block| block["type"] == "tool_result")
            .collect();
        let open: Vec<&str> = calls
            .into_iter()
            .filter(|id| !first.iter().any(|block| block["tool_use_id"] == *id))
            .collect();
        if !open.is_empty() {
            let ids = open.join(", ");
            let message = format!(
                "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
            );
            return Err(refuse(rules::PAIRING, message));
        }
        let before = at.checked_sub(1).map_or(&nothing, |at| &turns[at]);
        results(turn, before, at)?;
    }
    if !all.is_empty() && body["tools"].as_array().is_none_or(Vec::is_empty) {
        let message = "Requests which include `tool_use` or `tool_result` blocks must define tools";
        return Err(refuse(rules::TOOLS_MISSING, message));
    }
    Ok(())
}

fn results(turn: &VendorTurn, before: &VendorTurn, at: usize) -> Result<(), VendorRefusal> {
    let calls = ids(before, "tool_use", "id");
    let mut seen = BTreeSet::new();
    for id in ids(turn, "tool_result", "tool_use_id") {
        if !turn.is_user || !calls.contains(&id) {
            let message = format!(
                "messages.{at}.content: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            );
            return Err(refuse(rules::PAIRING, message));
        }
        if !seen.insert(id) {
            let message = format!(
                "messages.{at}.content: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
            );
            return Err(refuse(rules::UNIQUE, message));
        }
    }
    Ok(())
}

/// Checks the end of the conversation.
fn last(turns: &[VendorTurn], model: &VendorModel, thinking: &ThinkingForm) -> Result<(), VendorRefusal> {
    let Some(last) = turns.last() else { return Ok(()) };
    if last.is_user {
        return expected_thinking(turns, thinking);
    }
    let goes_on = last.blocks.iter().any(|block| block["type"] == "server_tool_use");
    if !model.takes_prefill() && !goes_on {
        let message = "This model does not support assistant message prefill. The conversation must end with a user message.";
        return Err(refuse(rules::PREFILL, message));
    }
    if !thinking.thinks && last.blocks.iter().any(blocks::is_thinking) {
        let message = "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.";
        return Err(refuse(rules::THINKING_OFF, message));
    }
    let ends = last
        .blocks
        .last()
        .and_then(|block| block["text"].as_str())
        .unwrap_or_default();
    if ends.ends_with(char::is_whitespace) {
        return Err(refuse(
            rules::WHITESPACE,
            "messages: final assistant content cannot end with trailing whitespace",
        ));
    }
    Ok(())
}

/// A turn lasts from a person's message until the model requests no tool: it thinks at the beginning, and
/// need not think again.
fn expected_thinking(turns: &[VendorTurn], thinking: &ThinkingForm) -> Result<(), VendorRefusal> {
    let goes_on =
        |turn: &VendorTurn| !turn.is_user || turn.blocks.iter().any(|block| block["type"] == "tool_result");
    let from = turns
        .iter()
        .rposition(|turn| !goes_on(turn))
        .map_or(0, |at| at + 1);
    let Some(asked) = turns[from..].iter().find(|turn| !turn.is_user) else {
        return Ok(());
    };
    let first = asked.blocks.first();
    if !thinking.by_budget || first.is_none_or(blocks::is_thinking) {
        return Ok(());
    }
    let kind = first.and_then(|block| block["type"].as_str()).unwrap_or_default();
    let message = format!(
        "messages.{from}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{kind}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
    );
    Err(refuse(rules::EXPECTED_THINKING, message))
}

fn image(block: &Value, place: &str) -> Result<(), VendorRefusal> {
    let source = &block["source"];
    if source["type"] != "base64" {
        return Ok(());
    }
    let place = format!("{place}.image.source.base64");
    let no = |rule: &'static VendorRule, message: String| Err(refuse(rule, format!("{place}{message}")));
    let data = source["data"].as_str().unwrap_or_default();
    if data.len() > MAX_PICTURE {
        return no(
            &picture::BYTES,
            format!(
                ": image exceeds 10 MB maximum: {} bytes > {MAX_PICTURE} bytes",
                data.len()
            ),
        );
    }
    let claimed = source["media_type"].as_str().unwrap_or_default();
    if !["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&claimed) {
        return no(
            &picture::KIND,
            ".media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'".into(),
        );
    }
    let Some(bytes) = base64(data) else {
        return no(&picture::DATA, ".data: Invalid base64 data".into());
    };
    let Some(found) = VendorPicture::of(&bytes) else {
        return no(&picture::BROKEN, ".data: Could not process image".into());
    };
    if found.media_type != claimed {
        let message = format!(
            ": The image was specified using the {claimed} media type, but the image appears to be a {} image",
            found.media_type
        );
        return no(&picture::KIND, message);
    }
    if found.width.max(found.height) > 8_000 {
        return no(
            &picture::PIXELS,
            ".data: At least one of the image dimensions exceed max allowed size: 8000 pixels".into(),
        );
    }
    Ok(())
}

/// Checks the pictures of a request as a whole.
fn pictures(body: &Value, model: &VendorModel) -> Result<(), VendorRefusal> {
    let mut all = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        for block in blocks::of(&message["content"]) {
            let inner = blocks::of(&block["content"]);
            all.extend(
                inner
                    .into_iter()
                    .chain([block])
                    .filter(|block| block["type"] == "image"),
            );
        }
    }
    let most = if model.window > 200_000 { 600 } else { 100 };
    if all.len() > most {
        return Err(refuse(
            &picture::COUNT,
            format!("Too much media: 0 document pages + {} images > {most}", all.len()),
        ));
    }
    let sizes = all
        .iter()
        .filter_map(|block| VendorPicture::of(&base64(block["source"]["data"].as_str()?)?));
    let largest = sizes.map(|one| one.width.max(one.height)).max().unwrap_or(0);
    if all.len() > 20 && largest > 2_000 {
        let message = "messages: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels";
        return Err(refuse(&picture::MANY_PIXELS, message));
    }
    Ok(())
}
