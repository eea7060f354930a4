//! The steps of a request: what each requires, signatures, calls and their results, media.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{refuse, rules, signature};
use crate::vendors::picture::is_sent_well;
use crate::vendors::{VendorRefusal, is_gemini_name};

pub(super) fn check(body: &Value, model: &str) -> Result<(), VendorRefusal> {
    let mut open = BTreeSet::new();
    for (at, step) in body["input"].as_array().into_iter().flatten().enumerate() {
        let has = |key: &str| step[key].as_str().is_some_and(|text| !text.is_empty());
        let is_whole = match step["type"].as_str().unwrap_or_default() {
            "user_input" | "model_output" => content(&step["content"])?,
            "thought" => has("signature"),
            "function_call" => {
                open.insert(step["id"].as_str().unwrap_or_default());
                let name = step["name"].as_str().unwrap_or_default();
                has("id") && is_gemini_name(name) && step["arguments"].is_object()
            }
            "function_result" => {
                let id = step["call_id"].as_str().unwrap_or_default();
                if !open.remove(id) {
                    let message =
                        format!("No function call found for the function result with call_id {id}.");
                    return Err(refuse(rules::RESULTS, &message));
                }
                result(&step["result"])?
            }
            "google_search_call" | "google_search_result" => true,
            _ => false,
        };
        if !is_whole {
            return Err(refuse(rules::STEP, &format!("Invalid value at input[{at}].")));
        }
        let given = step["signature"].as_str();
        if given.is_some_and(|given| !given.starts_with(&signature(model))) {
            return Err(refuse(rules::SIGNATURE, "Invalid thought signature."));
        }
    }
    match open.first() {
        None => Ok(()),
        Some(id) => {
            let message = format!("No function result found for the function call {id}.");
            Err(refuse(rules::RESULTS, &message))
        }
    }
}

/// Whether this is a list of content that is not empty.
fn content(list: &Value) -> Result<bool, VendorRefusal> {
    let parts = list.as_array().map(Vec::as_slice).unwrap_or_default();
    for part in parts {
        match part["type"].as_str().unwrap_or_default() {
            "text" if part["text"].is_string() => {}
            "image" => picture(part)?,
            "document" | "audio" => {}
            _ => return Ok(false),
        }
    }
    Ok(!parts.is_empty())
}

fn result(result: &Value) -> Result<bool, VendorRefusal> {
    let parts = result.as_array().into_iter().flatten();
    for part in parts {
        match part["type"].as_str().unwrap_or_default() {
            "text" => {}
            "image" => picture(part)?,
            other => {
                let message = format!("A function result takes no content of the type '{other}'.");
                return Err(refuse(rules::MEDIA, &message));
            }
        }
    }
    Ok(result.is_string() || result.is_object() || result.as_array().is_some_and(|parts| !parts.is_empty()))
}

fn picture(part: &Value) -> Result<(), VendorRefusal> {
    let word = |key: &str| part[key].as_str().unwrap_or_default();
    let is_here = part["data"].is_string();
    let (media_type, data) = (word("mime_type"), word("data"));
    let is_read = media_type != "image/gif" && is_sent_well(&format!("data:{media_type};base64,{data}"));
    if is_here && !is_read {
        return Err(refuse(rules::MEDIA, "Unable to process input image."));
    }
    Ok(())
}
