//! Finds the message in an error body. Every provider has its own shape; most have several.
//!
//! ```text
//! OpenAI      {"error":{"message":"…","type":"invalid_request_error","param":"temperature","code":null}}
//! Anthropic   {"type":"error","error":{"type":"overloaded_error","message":"…"}}
//! Google      [{"error":{"code":429,"message":"…","status":"RESOURCE_EXHAUSTED","details":[…]}}]
//! FastAPI     {"detail":[{"loc":["body","messages",0],"msg":"field required"}]}
//! OpenRouter  {"error":{"message":"Provider returned error","metadata":{"raw":"{…}"}}}
//! a proxy     <html><head><title>502 Bad Gateway</title></head>…
//! ```
//!
//! The result is neutral: `classify.rs` decides about the kind of error, `overflow.rs` and `retry_after.rs`
//! read sizes and waiting times. Objects are searched at most four levels deep, and lists up to their eighth
//! item.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::extracted::Extracted;
use super::{overflow, retry_after};

/// Reads a body of any kind.
pub(crate) fn from_body(body: &[u8]) -> Extracted {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches('\u{feff}').trim();
    match serde_json::from_str(text) {
        Ok(value) => from_value(&value),
        Err(_) => Extracted {
            message: from_text(text),
            ..Extracted::default()
        },
    }
}

/// Reads a body that is JSON.
fn from_value(value: &Value) -> Extracted {
    let mut extracted = Extracted::default();
    visit(value, &mut extracted, 0);
    extracted
}

/// Collects from the object and from the error objects inside it; the innermost message wins, because outer
/// ones are often no more than "error".
fn visit(value: &Value, into: &mut Extracted, depth: usize) {
    const DEEPEST: usize = 4;
    if depth > DEEPEST {
        return;
    }
    match value {
        Value::String(text) => into.message = text.clone(),
        Value::Array(items) => {
            let messages: Vec<String> = items
                .iter()
                .take(8)
                .filter_map(|item| item_message(item, into, depth))
                .collect();
            if !messages.is_empty() {
                into.message = messages.join("; ");
            }
        }
        Value::Object(object) => visit_object(object, into, depth),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the message of one of several errors; validation errors have the position (`loc`) next to the
/// message.
fn item_message(item: &Value, into: &mut Extracted, depth: usize) -> Option<String> {
    let mut one = Extracted::default();
    visit(item, &mut one, depth + 1);
    into.words.append(&mut one.words);
    into.status = into.status.or(one.status);
    into.wait_ms = into.wait_ms.or(one.wait_ms);
    into.of_a_day |= one.of_a_day;
    let place: Vec<String> = item
        .get("loc")
        .and_then(Value::as_array)
        .map(|path| {
            path.iter()
                .map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned))
                .collect()
        })
        .unwrap_or_default();
    match (one.message.is_empty(), place.is_empty()) {
        (true, _) => None,
        (false, true) => Some(one.message),
        (false, false) => Some(format!("{}: {}", place.join("."), one.message)),
    }
}

/// Collects types and codes, then descends into the fields that may hold a message or an inner error.
fn visit_object(object: &Map<String, Value>, into: &mut Extracted, depth: usize) {
    overflow::note_fields(object, into);
    retry_after::note_fields(object, into);
    if let Some(param) = object.get("param").and_then(Value::as_str) {
        into.param = Some(param.to_ascii_lowercase());
    }
    for key in [
        "type",
        "code",
        "error_code",
        "error_type",
        "reason",
        "status",
        "raw_status_code",
        "status_code",
    ] {
        match object.get(key) {
            Some(Value::String(word)) => {
                note_status(word.parse().ok(), into);
                into.words.push(word.to_ascii_lowercase());
            }
            Some(Value::Number(number)) => note_status(number.as_u64(), into),
            _ => {}
        }
    }
    for key in [
        "detail",
        "details",
        "title",
        "error_description",
        "msg",
        "errors",
        "message",
        // AWS's, of a part before the service (<https://github.com/boto/botocore>, `botocore/parsers.py`).
        "Message",
    ] {
        if let Some(inner @ (Value::String(_) | Value::Array(_) | Value::Object(_))) = object.get(key)
            && (key != "details" || into.message.is_empty())
        {
            visit(inner, into, depth + 1);
        }
    }
    if let Some(inner) = object.get("error") {
        visit(inner, into, depth + 1);
    }
    note_base_resp(object, into);
    // A router (OpenRouter) puts the words of the provider behind it into the metadata.
    if let Some(raw) = object
        .get("metadata")
        .and_then(|metadata| metadata.get("raw"))
        .and_then(Value::as_str)
    {
        let inner = from_body(raw.as_bytes());
        into.words.extend(inner.words);
        into.window = into.window.or(inner.window);
        into.asked = into.asked.or(inner.asked);
        into.message = format!("{}: {}", into.message, inner.message);
    }
}

/// Reads MiniMax's `base_resp`, which it sends with the status 200:
/// `{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`
/// (<https://platform.minimax.io/docs/api-reference/errorcode.md>). Its codes get a prefix, because other
/// vendors use the same numbers.
fn note_base_resp(object: &Map<String, Value>, into: &mut Extracted) {
    let Some(base) = object.get("base_resp") else {
        return;
    };
    if let Some(code) = base["status_code"].as_u64().filter(|code| *code != 0) {
        into.words.push(format!("base_resp_{code}"));
        if let Some(text) = base["status_msg"].as_str() {
            into.message = text.to_owned();
        }
    }
}

/// Keeps an HTTP status that the body names. Other numbers, such as error codes of a vendor, are ignored.
fn note_status(number: Option<u64>, into: &mut Extracted) {
    if let Some(status) = number.and_then(|number| u16::try_from(number).ok())
        && (400..600).contains(&status)
    {
        into.status = Some(status);
    }
}

/// The words of a body that is not JSON: a page's title, or its text without tags.
fn from_text(text: &str) -> String {
    if !text.starts_with('<') {
        return text.to_owned();
    }
    let lower = text.to_ascii_lowercase();
    if let Some(start) = lower.find("<title")
        && let Some(open) = lower[start..].find('>').map(|at| start + at + 1)
        && let Some(close) = lower[open..].find("</title").map(|at| open + at)
        && !text[open..close].trim().is_empty()
    {
        return text[open..close].trim().to_owned();
    }
    strip_tags(text)
}

/// The text of a page without its tags.
fn strip_tags(text: &str) -> String {
    let mut inside = false;
    text.chars()
        .filter_map(|c| match c {
            '<' => {
                inside = true;
                Some(' ')
            }
            '>' if inside => {
                inside = false;
                None
            }
            c => (!inside).then_some(c),
        })
        .collect::<String>()
        .trim()
        .to_owned()
}

/// Returns whether the field of an error has one: gateways write `null`, `false`, an empty text or an empty
/// object beside a success.
pub(crate) fn says_something(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

/// Returns whether such a field of an event has an error.
pub(crate) fn is_reported(error: &RawValue) -> bool {
    serde_json::from_str(error.get()).is_ok_and(|error| says_something(&error))
}

impl Extracted {
    /// Returns whether a JSON text without anything of an answer in it is an error: it names a message or a
    /// detail, or has a `base_resp` whose code is not 0.
    pub(crate) fn is_error(text: &str) -> bool {
        serde_json::from_str::<Map<String, Value>>(text).is_ok_and(|object| {
            ["error", "message", "detail", "errors"]
                .iter()
                .any(|key| object.get(*key).is_some_and(says_something))
                || (object.get("base_resp"))
                    .is_some_and(|base| base["status_code"].as_u64().is_some_and(|code| code != 0))
        })
    }
}
