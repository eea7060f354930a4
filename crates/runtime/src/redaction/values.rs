//! Replaces secrets in JSON values, by what a value is for.

use agentx_secrets::Redactor;
use serde_json::Value;

/// What a value is for, which decides which of its texts are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RedactedArea {
    /// A payload of an event: ids, places and what decides about calls are left alone.
    Payload,
    /// Arguments and results of tools: every text is looked at.
    Free,
    /// Data that only a provider understands: ids, signatures and encrypted text are left alone.
    Provider,
}

/// Fields of payloads that are no text: ids are in keys that end with `_id`.
const NO_TEXT: &[&str] = &[
    "base64",
    "blob",
    "by",
    "fallbacks",
    "guard",
    "id",
    "idempotency_key",
    "key",
    "kind",
    "model",
    "owner",
    "rules",
    "server_rules",
    "type",
    "workspace",
];

/// Fields of providers that have to come back unchanged.
const OF_PROVIDER: &[&str] = &[
    "data",
    "encrypted_content",
    "encrypted_index",
    "id",
    "signature",
    "thoughtSignature",
    "thought_signature",
    "type",
];

impl RedactedArea {
    /// What the value of a field of such an object is for; `None` if it is left alone.
    fn of_field(self, key: &str, value: &Value) -> Option<Self> {
        match self {
            Self::Free => Some(Self::Free),
            Self::Provider => (!OF_PROVIDER.contains(&key) && !key.ends_with("_id")).then_some(self),
            Self::Payload if NO_TEXT.contains(&key) || key.ends_with("_id") => None,
            Self::Payload => Some(match key {
                "input" | "details" | "outcome" => Self::Free,
                "provider" if value.is_object() => Self::Provider,
                _ => Self::Payload,
            }),
        }
    }
}

/// Replaces the secrets in a value. Returns whether there was one.
pub(super) fn redact_value(redactor: &Redactor, value: &mut Value, kind: RedactedArea) -> bool {
    match value {
        Value::String(text) => redact_text(redactor, text),
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |any, item| redact_value(redactor, item, kind) | any),
        Value::Object(fields) => {
            let mut any = false;
            for (key, value) in fields.iter_mut() {
                // Only texts of a provider are left alone by their names.
                let is_whole = kind == RedactedArea::Provider && (value.is_object() || value.is_array());
                let inner = if is_whole {
                    Some(kind)
                } else {
                    kind.of_field(key, value)
                };
                any |= inner.is_some_and(|inner| redact_value(redactor, value, inner));
            }
            any | redact_keys(redactor, fields, kind)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Replaces the secrets in the names of fields, in their order.
fn redact_keys(redactor: &Redactor, fields: &mut serde_json::Map<String, Value>, kind: RedactedArea) -> bool {
    if kind != RedactedArea::Free || !fields.keys().any(|key| redactor.may_find_in(key)) {
        return false;
    }
    let before = fields.len();
    let mut any = false;
    let redacted = std::mem::take(fields).into_iter().map(|(mut key, value)| {
        any |= redact_text(redactor, &mut key);
        (key, value)
    });
    *fields = redacted.collect();
    any || fields.len() != before
}

/// Replaces the secrets in a text. Returns whether there was one.
pub(super) fn redact_text(redactor: &Redactor, text: &mut String) -> bool {
    match redactor.redact(text) {
        std::borrow::Cow::Borrowed(_) => false,
        std::borrow::Cow::Owned(redacted) => {
            *text = redacted;
            true
        }
    }
}
