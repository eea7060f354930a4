//! The contents of a request: turns, calls and their results, signatures, media.

use serde_json::Value;

use super::form::{is_name, known, unknown};
use super::{UNCHECKED, refuse, rules, signature, version};
use crate::vendors::VendorRefusal;
use crate::vendors::picture::is_sent_well;

/// The kinds of a part.
const KINDS: &[&str] = &[
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
];
/// The fields that are allowed next to it.
const BESIDE: &[&str] = &["thought", "thoughtSignature", "videoMetadata", "mediaResolution"];
/// The media that Gemini reads, by the beginning of their type.
const MEDIA: &[&str] = &[
    "image/png",
    "image/jpeg",
    "image/webp",
    "image/heic",
    "image/heif",
    "application/pdf",
    "text/plain",
    "audio/",
    "video/",
];

/// A turn of a conversation.
struct Turn<'a> {
    is_users: bool,
    parts: &'a [Value],
}

impl Turn<'_> {
    fn all<'v>(&'v self, kind: &'v str) -> impl Iterator<Item = &'v Value> {
        self.parts.iter().filter_map(move |part| part.get(kind))
    }

    fn has(&self, kind: &str) -> bool {
        self.all(kind).next().is_some()
    }
}

pub(super) fn check(body: &Value, model: &str, is_vertex: bool) -> Result<(), VendorRefusal> {
    let contents = body["contents"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut turns = Vec::with_capacity(contents.len());
    for (at, content) in contents.iter().enumerate() {
        turns.push(turn(content, at, model, is_vertex)?);
    }
    order(&turns)?;
    if version(model) >= 30 {
        signed(&turns)?;
    }
    match turns.last() {
        Some(turn) if !turn.is_users => Err(refuse(
            rules::LAST,
            "Please ensure that single turn requests end with a user role or the role field is empty.",
        )),
        _ => Ok(()),
    }
}

fn turn<'a>(content: &'a Value, at: usize, model: &str, is_vertex: bool) -> Result<Turn<'a>, VendorRefusal> {
    known(content, &["role", "parts"], &format!("contents[{at}]"))?;
    let is_users = match content["role"].as_str() {
        Some("user") => true,
        Some("model") => false,
        _ => return Err(refuse(rules::ROLE, "Please use a valid role: user, model.")),
    };
    let parts = content["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    if parts.is_empty() {
        let message =
            format!("* GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty.\n");
        return Err(refuse(rules::EMPTY, &message));
    }
    for (number, json) in parts.iter().enumerate() {
        part(json, &format!("contents[{at}].parts[{number}]"), model, is_vertex)?;
    }
    Ok(Turn { is_users, parts })
}

fn part(part: &Value, place: &str, model: &str, is_vertex: bool) -> Result<(), VendorRefusal> {
    let all: Vec<&str> = KINDS.iter().chain(BESIDE).copied().collect();
    known(part, &all, place)?;
    let kinds = KINDS.iter().filter(|kind| part.get(**kind).is_some()).count();
    let is_text = part.get("text").is_none_or(Value::is_string);
    if kinds != 1 || !is_text {
        let message = format!(
            "* GenerateContentRequest.{place}.data: required oneof field 'data' must have one initialized field\n"
        );
        return Err(refuse(rules::PART, &message));
    }
    if let Some(given) = part.get("thoughtSignature") {
        let given = given.as_str().unwrap_or_default();
        if given != UNCHECKED && !given.starts_with(&signature(model)) {
            return Err(refuse(rules::SIGNATURE, "Corrupted thought signature."));
        }
    }
    if let Some(call) = part.get("functionCall") {
        known(call, &["id", "name", "args"], &format!("{place}.function_call"))?;
        with_id(call, &format!("{place}.function_call"), is_vertex)?;
        if !is_name(call["name"].as_str().unwrap_or_default()) || !call["args"].is_object() {
            let message =
                format!("* GenerateContentRequest.{place}.function_call.name: Name cannot be empty.\n");
            return Err(refuse(rules::NAME, &message));
        }
    }
    if let Some(response) = part.get("functionResponse") {
        let place = format!("{place}.function_response");
        known(response, &["id", "name", "response", "parts"], &place)?;
        with_id(response, &place, is_vertex)?;
        for inner in response["parts"].as_array().into_iter().flatten() {
            medium(inner)?;
        }
    }
    medium(part)
}

fn with_id(value: &Value, place: &str, is_vertex: bool) -> Result<(), VendorRefusal> {
    match value.get("id") {
        Some(_) if is_vertex => Err(unknown(rules::VERTEX_ID, "id", place)),
        _ => Ok(()),
    }
}

fn medium(part: &Value) -> Result<(), VendorRefusal> {
    for (kind, data) in [("inlineData", "data"), ("fileData", "fileUri")] {
        let Some(medium) = part.get(kind) else { continue };
        let media_type = medium["mimeType"].as_str().unwrap_or_default();
        if !MEDIA.iter().any(|known| media_type.starts_with(known)) {
            let message = format!("Unsupported MIME type: {media_type}");
            return Err(refuse(rules::MEDIA, &message));
        }
        let bytes = medium[data].as_str().unwrap_or_default();
        let is_picture = media_type.starts_with("image/") && kind == "inlineData";
        if bytes.is_empty() || (is_picture && !is_sent_well(&format!("data:{media_type};base64,{bytes}"))) {
            let message = "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting";
            return Err(refuse(rules::MEDIA, message));
        }
    }
    Ok(())
}

/// Checks that each turn with calls is between a turn of the user and one with their results.
fn order(turns: &[Turn<'_>]) -> Result<(), VendorRefusal> {
    for (at, turn) in turns.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| &turns[before]);
        let calls: Vec<&Value> = before
            .filter(|before| !before.is_users)
            .map(|before| before.all("functionCall").collect())
            .unwrap_or_default();
        let results: Vec<&Value> = turn.all("functionResponse").collect();
        if !calls.is_empty() || !results.is_empty() {
            answered(turn, &calls, &results)?;
        }
        if turn.has("functionCall") && (turn.is_users || before.is_none_or(|before| !before.is_users)) {
            let message = "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
            return Err(refuse(rules::TURN, message));
        }
    }
    let is_open = turns.last().is_some_and(|turn| turn.has("functionCall"));
    if is_open {
        return Err(too_few());
    }
    Ok(())
}

fn answered(turn: &Turn<'_>, calls: &[&Value], results: &[&Value]) -> Result<(), VendorRefusal> {
    if !turn.is_users || calls.len() != results.len() {
        return Err(too_few());
    }
    for (call, result) in calls.iter().zip(results) {
        let is_named = result["name"] == call["name"] && result.get("id") == call.get("id");
        if !is_named || !result["response"].is_object() {
            let message =
                "* GenerateContentRequest.contents: function response does not match its function call.\n";
            return Err(refuse(rules::RESULT, message));
        }
    }
    Ok(())
}

fn too_few() -> VendorRefusal {
    let message = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
    refuse(rules::RESULTS, message)
}

/// Checks that the first call of each turn since the user's last message is signed.
fn signed(turns: &[Turn<'_>]) -> Result<(), VendorRefusal> {
    let says = |turn: &Turn<'_>| turn.is_users && !turn.has("functionResponse");
    let from = turns.iter().rposition(says).unwrap_or(0);
    for (at, turn) in turns
        .iter()
        .enumerate()
        .skip(from)
        .filter(|(_, turn)| !turn.is_users)
    {
        let first = turn.parts.iter().find(|part| part.get("functionCall").is_some());
        if let Some(call) = first.filter(|call| call.get("thoughtSignature").is_none()) {
            let name = call["functionCall"]["name"].as_str().unwrap_or_default();
            let message = format!(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{name}`, position {at}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            );
            return Err(refuse(rules::UNSIGNED, &message));
        }
    }
    Ok(())
}
