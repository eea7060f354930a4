//! The input of a request: items, calls and their outputs, reasoning.

use serde_json::Value;

use super::form::is_name;
use super::{UnansweredCalls, encrypted, refuse, rules};
use crate::vendors::VendorRefusal;
use crate::vendors::picture::is_sent_well;

const ROLES: [&str; 4] = ["user", "assistant", "system", "developer"];

pub(super) fn check(body: &Value) -> Result<(), VendorRefusal> {
    let items = body["input"].as_array().map(Vec::as_slice).unwrap_or_default();
    if items.is_empty() {
        return Err(refuse(
            rules::JSON,
            Some("input"),
            "Missing required parameter: 'input'.",
        ));
    }
    let model = body["model"].as_str().unwrap_or_default();
    let mut open = UnansweredCalls::new();
    for (at, item) in items.iter().enumerate() {
        match kind(item) {
            "message" => message(item, at)?,
            "function_call" | "custom_tool_call" => {
                call(item, at)?;
                open.insert(call_id(item));
            }
            "function_call_output" | "custom_tool_call_output" => {
                output(item, at)?;
                if !open.remove(call_id(item)) {
                    let id = call_id(item);
                    let message = format!("No tool call found for function call output with call_id {id}.");
                    return Err(refuse(rules::NO_CALL, Some("input"), &message));
                }
            }
            "reasoning" => reasoning(item, items.get(at + 1), at, model)?,
            "web_search_call" | "compaction" => {}
            other => {
                let message = format!("Invalid value: '{other}'. Supported values are: 'message', …");
                return Err(refuse(rules::ITEM, Some(&format!("input[{at}]")), &message));
            }
        }
    }
    match open.first() {
        None => Ok(()),
        Some(id) => {
            let message = format!("No tool output found for function call {id}.");
            Err(refuse(rules::OUTPUT, Some("input"), &message))
        }
    }
}

fn kind(item: &Value) -> &str {
    item["type"].as_str().unwrap_or("message")
}

fn call_id(item: &Value) -> &str {
    item["call_id"].as_str().unwrap_or_default()
}

fn message(item: &Value, at: usize) -> Result<(), VendorRefusal> {
    let role = item["role"].as_str().unwrap_or_default();
    if !ROLES.contains(&role) {
        let message = format!(
            "Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'."
        );
        return Err(refuse(rules::ITEM, Some(&format!("input[{at}]")), &message));
    }
    if !(item["content"].is_string() || item["content"].is_array()) {
        let message = format!("Missing required parameter: 'input[{at}].content'.");
        return Err(refuse(rules::CONTENT, Some("input"), &message));
    }
    let (known, names): (&[&str], &str) = match role {
        "assistant" => (&["output_text", "refusal"], "'output_text' and 'refusal'"),
        _ => (
            &["input_text", "input_image", "input_file"],
            "'input_text', 'input_image', and 'input_file'",
        ),
    };
    for (place, part) in item["content"].as_array().into_iter().flatten().enumerate() {
        let kind = part["type"].as_str().unwrap_or_default();
        if !known.contains(&kind) {
            let message = format!("Invalid value: '{kind}'. Supported values are: {names}.");
            let place = format!("input[{at}].content[{place}]");
            return Err(refuse(rules::CONTENT, Some(&place), &message));
        }
        picture(part)?;
    }
    if role == "assistant" && !is_whole(item) {
        let message = format!(
            "Field required: 'input[{at}]' is not an output message without its id, status and annotations."
        );
        return Err(refuse(rules::WHOLE, Some(&format!("input[{at}]")), &message));
    }
    Ok(())
}

/// Returns whether a message of the assistant has all fields that an output message must have. One whose
/// content is a text is an input message.
fn is_whole(item: &Value) -> bool {
    let Some(parts) = item["content"].as_array() else {
        return true;
    };
    let mut texts = parts.iter().filter(|part| part["type"] == "output_text");
    item["id"].as_str().is_some_and(|id| id.starts_with("msg_"))
        && item["status"].is_string()
        && texts.all(|text| text["annotations"].is_array())
}

fn picture(part: &Value) -> Result<(), VendorRefusal> {
    if part["type"] == "input_image" && !is_sent_well(part["image_url"].as_str().unwrap_or_default()) {
        let message = "The image data you provided does not represent a valid image. Please check your input and try again with one of the supported image formats.";
        return Err(refuse(rules::PICTURE, Some("input"), message));
    }
    Ok(())
}

fn call(item: &Value, at: usize) -> Result<(), VendorRefusal> {
    let id = call_id(item);
    if !(1..=64).contains(&id.len()) {
        let length = id.len();
        let message = format!(
            "Invalid 'input[{at}].call_id': string too long. Expected a string with maximum length 64, but got a string with length {length} instead."
        );
        return Err(refuse(
            rules::CALL,
            Some(&format!("input[{at}].call_id")),
            &message,
        ));
    }
    if !is_name(item["name"].as_str().unwrap_or_default()) {
        let message = format!(
            "Invalid 'input[{at}].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        );
        return Err(refuse(rules::NAME, Some(&format!("input[{at}].name")), &message));
    }
    let arguments = item["arguments"].as_str().unwrap_or_default();
    let is_json = serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object());
    if kind(item) == "function_call" && !is_json {
        let message = format!("Invalid 'input[{at}].arguments': the arguments of a call are JSON.");
        return Err(refuse(rules::CALL, Some("input"), &message));
    }
    Ok(())
}

fn output(item: &Value, at: usize) -> Result<(), VendorRefusal> {
    if !(item["output"].is_string() || item["output"].is_array()) {
        let message = format!("Missing required parameter: 'input[{at}].output'.");
        return Err(refuse(rules::CONTENT, Some("input"), &message));
    }
    for part in item["output"].as_array().into_iter().flatten() {
        picture(part)?;
    }
    Ok(())
}

fn reasoning(item: &Value, next: Option<&Value>, at: usize, model: &str) -> Result<(), VendorRefusal> {
    if !item["summary"].is_array() {
        let message = format!("Missing required parameter: 'input[{at}].summary'.");
        return Err(refuse(rules::SUMMARY, Some("input"), &message));
    }
    let id = item["id"].as_str().unwrap_or("rs_made_up");
    let Some(kept) = item["encrypted_content"].as_str() else {
        let message = format!(
            "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."
        );
        let mut refusal = refuse(rules::NOT_STORED, Some("input"), &message);
        refusal.status = 404;
        return Err(refusal);
    };
    if !kept.starts_with(&encrypted(model, "")) {
        let message = "The encrypted content gAAA...made could not be verified.";
        let mut refusal = refuse(rules::ENCRYPTED, None, message);
        refusal.body["error"]["code"] = "invalid_encrypted_content".into();
        return Err(refusal);
    }
    let follows = next.is_some_and(|next| match kind(next) {
        "message" => next["role"] == "assistant",
        kind => !kind.ends_with("_output"),
    });
    if !follows {
        let message =
            format!("Item '{id}' of type 'reasoning' was provided without its required following item.");
        return Err(refuse(rules::ALONE, Some("input"), &message));
    }
    Ok(())
}
