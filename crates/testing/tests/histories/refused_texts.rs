//! Texts that a vendor refuses by a policy that no client knows beforehand. The policy and its messages are
//! made up; each message names the place in the request in the form of its protocol.

use agentx_testing::vendors::{VendorRefusal, VendorRule};
use agentx_types::Api;
use serde_json::{Value, json};

/// The beginning of each refused text. A number follows it.
const REFUSED: &str = "forbidden-words-";

/// The name of the policy.
pub(crate) const POLICY: &str = "made-up-policy";

static RULE: VendorRule = VendorRule {
    name: POLICY,
    says: "No text contains forbidden words.",
    source: "made up",
    date: "2026-11-30",
};

/// Returns the refused text with this number.
pub(crate) fn refused_text(number: u64) -> String {
    format!("{REFUSED}{number}")
}

/// Refuses a request with such a text. The message names the first one and its place.
pub(crate) fn check(api: Api, body: &[u8]) -> Result<(), Box<VendorRefusal>> {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let list = ["messages", "input", "contents"]
        .into_iter()
        .find(|list| value[*list].is_array());
    let Some(list) = list else { return Ok(()) };
    let Some((steps, text)) = first_refused(&value[list]) else {
        return Ok(());
    };
    let dotted: String = steps.iter().rev().map(|step| format!(".{step}")).collect();
    let bracketed: String = steps
        .iter()
        .rev()
        .map(|step| match step.parse::<usize>() {
            Ok(index) => format!("[{index}]"),
            Err(_) => format!(".{step}"),
        })
        .collect();
    let message = match api {
        Api::Anthropic | Api::Bedrock | Api::BedrockConverse | Api::VertexAnthropic => {
            format!("{list}{dotted}: the text '{text}' is not allowed")
        }
        _ => format!("Invalid value at '{list}{bracketed}': the text '{text}' is not allowed"),
    };
    let body = match api {
        Api::Anthropic | Api::Bedrock | Api::VertexAnthropic => {
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}})
        }
        Api::BedrockConverse => json!({ "message": message }),
        Api::Gemini => json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}),
        _ => {
            json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": null}})
        }
    };
    Err(Box::new(VendorRefusal {
        rule: &RULE,
        status: 400,
        message,
        body,
    }))
}

/// Returns the refused text that a message of [`check`] names.
pub(crate) fn named_text(message: &str) -> Option<String> {
    message
        .split('\'')
        .find(|part| part.starts_with(REFUSED))
        .map(str::to_owned)
}

/// Returns the steps to the first refused text, the last one first, and the text.
fn first_refused(value: &Value) -> Option<(Vec<String>, String)> {
    let inside = |step: &dyn std::fmt::Display, item: &Value| {
        let (mut steps, text) = first_refused(item)?;
        steps.push(step.to_string());
        Some((steps, text))
    };
    match value {
        Value::String(text) => {
            let text = &text[text.find(REFUSED)?..];
            let end = text[REFUSED.len()..].find(|c: char| !c.is_ascii_digit());
            let end = end.map_or(text.len(), |end| REFUSED.len() + end);
            Some((Vec::new(), text[..end].to_owned()))
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| inside(&index, item)),
        Value::Object(fields) => fields.iter().find_map(|(key, item)| inside(key, item)),
        _ => None,
    }
}
