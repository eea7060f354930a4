//! The messages of a request: roles, blocks, calls and their results.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{is_name, is_of_amazon_or_anthropic, refuse, rules, signature};
use crate::vendors::{VendorRefusal, VendorRule};

/// The kinds of blocks that each role may have.
const OF_USER: &[&str] = &["text", "image", "document", "toolResult", "cachePoint"];
const OF_ASSISTANT: &[&str] = &["text", "toolUse", "reasoningContent", "cachePoint"];

pub(super) fn check(body: &Value, model: &str) -> Result<(), VendorRefusal> {
    let system = list(&body["system"]).enumerate();
    for (at, block) in system.filter(|(_, block)| block.get("cachePoint").is_none()) {
        check_words(block, &format!("system.{at}"))?;
    }
    let has_tools = list(&body["toolConfig"]["tools"]).next().is_some();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut before = "";
    for (at, message) in list(&body["messages"]).enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        check_role(role, before, at)?;
        before = role;
        let content: Vec<&Value> = list(&message["content"]).collect();
        if content.is_empty() {
            let message = format!("The content field in the Message object at messages.{at} is empty.");
            return Err(refuse(rules::EMPTY, &message));
        }
        let is_users = role == "user";
        for (place, block) in content.iter().enumerate() {
            check_block(block, is_users, model, &format!("messages.{at}.content.{place}"))?;
        }
        let has = |kind: &str| content.iter().any(|block| block.get(kind).is_some());
        if (has("toolUse") || has("toolResult")) && !has_tools {
            let message =
                "The toolConfig field must be defined when using toolUse and toolResult content blocks.";
            return Err(refuse(rules::TOOL_CONFIG, message));
        }
        check_mixing(&content, is_users, model, at)?;
        if has("document") && !has("text") {
            return Err(refuse(
                rules::DOCUMENT,
                "A text block is required with documents.",
            ));
        }
        take_results(&mut open, &content, at)?;
        open = ids(&content, "toolUse").collect();
    }
    match (before, open.first()) {
        ("user", _) => Ok(()),
        (_, Some(id)) => Err(refuse(
            rules::MISSING,
            &format!("Expected toolResult blocks for {id}"),
        )),
        (_, None) => {
            let message = "A conversation must end with a user message. Try again with one.";
            Err(refuse(rules::LAST, message))
        }
    }
}

/// Checks the role of a message behind one of another role.
fn check_role(role: &str, before: &str, at: usize) -> Result<(), VendorRefusal> {
    if at == 0 && role == "assistant" {
        let message = "A conversation must start with a user message. Try again with one.";
        return Err(refuse(rules::FIRST, message));
    }
    if role == before || !["user", "assistant"].contains(&role) {
        let message = "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.";
        return Err(refuse(rules::ROLES, message));
    }
    Ok(())
}

/// Checks that calls and results have a message of their own where that is needed.
fn check_mixing(content: &[&Value], is_users: bool, model: &str, at: usize) -> Result<(), VendorRefusal> {
    let count = |kind: &str| content.iter().filter(|block| block.get(kind).is_some()).count();
    let results = count("toolResult") + if is_users { count("cachePoint") } else { 0 };
    if count("toolResult") > 0 && results < content.len() {
        let message = format!(
            "messages.{at}.content: Conversation blocks and tool result blocks cannot be provided in the same turn."
        );
        return Err(refuse(rules::MIXED_RESULTS, &message));
    }
    let is_mixed = count("toolUse") > 0 && count("text") > 0;
    if is_mixed && !is_of_amazon_or_anthropic(model) {
        let message = format!(
            "messages.{at}.content: Conversation blocks and tool use blocks cannot be provided in the same turn."
        );
        return Err(refuse(rules::MIXED_CALLS, &message));
    }
    Ok(())
}

/// Takes the results of a message from the open calls of the message before.
fn take_results<'a>(
    open: &mut BTreeSet<&'a str>,
    content: &[&'a Value],
    at: usize,
) -> Result<(), VendorRefusal> {
    for id in ids(content, "toolResult") {
        if !open.remove(id) {
            let message = format!(
                "The number of toolResult blocks at messages.{at}.content exceeds the number of toolUse blocks of previous turn."
            );
            return Err(refuse(rules::EXCESS, &message));
        }
    }
    match open.first() {
        None => Ok(()),
        Some(id) => {
            let message =
                format!("Expected toolResult blocks at messages.{at}.content for the following Ids: {id}");
            Err(refuse(rules::MISSING, &message))
        }
    }
}

fn ids<'a>(content: &[&'a Value], kind: &str) -> impl Iterator<Item = &'a str> {
    let ids: Vec<&str> = content
        .iter()
        .filter_map(|block| block.get(kind)?["toolUseId"].as_str())
        .collect();
    ids.into_iter()
}

fn check_block(block: &Value, is_users: bool, model: &str, place: &str) -> Result<(), VendorRefusal> {
    let kinds = if is_users { OF_USER } else { OF_ASSISTANT };
    let wrong = || refuse(rules::BLOCK, &format!("Invalid block at {place}: {block}"));
    let mut keys = block.as_object().ok_or_else(wrong)?.keys();
    let kind = match (keys.next(), keys.next()) {
        (Some(kind), None) if kinds.contains(&kind.as_str()) => kind.as_str(),
        _ => return Err(wrong()),
    };
    let inner = &block[kind];
    match kind {
        "text" => check_words(block, place),
        "toolUse" => {
            check_id(inner, place)?;
            let is_whole = is_name(inner["name"].as_str().unwrap_or_default()) && inner["input"].is_object();
            if is_whole { Ok(()) } else { Err(wrong()) }
        }
        "toolResult" => {
            check_id(inner, place)?;
            check_result(inner, model, place)
        }
        "reasoningContent" => check_reasoning(inner, model),
        "image" | "document" => check_medium(kind, inner).map_err(|rule| {
            let message = format!("Invalid {kind} at {place}.");
            refuse(rule, &message)
        }),
        _ => Ok(()),
    }
}

fn check_id(inner: &Value, place: &str) -> Result<(), VendorRefusal> {
    let id = inner["toolUseId"].as_str().unwrap_or_default();
    if is_name(id) {
        return Ok(());
    }
    let message = format!(
        "Value '{id}' at '{place}.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+"
    );
    Err(refuse(rules::ID, &message))
}

fn check_words(block: &Value, place: &str) -> Result<(), VendorRefusal> {
    if block["text"].as_str().is_some_and(|text| !text.trim().is_empty()) {
        return Ok(());
    }
    let message = format!(
        "The text field in the ContentBlock object at {place} is blank. Add text to the text field, and try again."
    );
    Err(refuse(rules::BLANK, &message))
}

fn check_result(result: &Value, model: &str, place: &str) -> Result<(), VendorRefusal> {
    let status = &result["status"];
    let is_status = status.is_null() || *status == "success" || *status == "error";
    if !is_status || (!status.is_null() && !is_of_amazon_or_anthropic(model)) {
        let message = format!("The status {status} at {place}.toolResult is not supported by the model.");
        return Err(refuse(rules::STATUS, &message));
    }
    let content: Vec<&Value> = list(&result["content"]).collect();
    if content.is_empty() && *status == "error" {
        let message =
            format!("The content field at {place}.toolResult cannot be empty when status value is error.");
        return Err(refuse(rules::ERROR_RESULT, &message));
    }
    let is_known = |block: &&Value| {
        let kinds = ["text", "json", "image", "document"];
        kinds.iter().any(|kind| block.get(*kind).is_some())
    };
    if result["content"].is_array() && content.iter().all(is_known) {
        return Ok(());
    }
    Err(refuse(
        rules::BLOCK,
        &format!("Invalid content at {place}.toolResult."),
    ))
}

fn check_reasoning(reasoning: &Value, model: &str) -> Result<(), VendorRefusal> {
    let signed = reasoning["reasoningText"]["signature"].as_str();
    if signed.is_some_and(|signed| signed.starts_with(&signature(model))) {
        return Ok(());
    }
    let message =
        "User messages cannot contain reasoning content. Please remove the reasoning content and try again.";
    Err(refuse(rules::REASONING, message))
}

/// Checks an image or a document; returns the rule that it breaks.
fn check_medium(kind: &str, medium: &Value) -> Result<(), &'static VendorRule> {
    if !medium["format"].is_string() || !medium["source"]["bytes"].is_string() {
        return Err(rules::BLOCK);
    }
    let name = medium["name"].as_str().unwrap_or_default();
    let fits = |c: char| c.is_alphanumeric() || " -()[]".contains(c);
    let is_named = !name.is_empty() && name.chars().all(fits) && !name.contains("  ");
    if kind == "image" || is_named {
        Ok(())
    } else {
        Err(rules::DOCUMENT)
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
