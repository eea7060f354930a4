//! Replaces secrets in JSON values, depending on the purpose of each value.

use agentx_secrets::Redactor;
use serde_json::Value;

/// The purpose of a value, which decides which of its texts are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RedactedArea {
    /// A payload of an event: ids, places and what decides about calls are left alone.
    Payload,
    /// Arguments and results of tools: every text is searched.
    Free,
    /// Data that only a provider understands: ids, signatures and encrypted text are left alone.
    Provider,
}

/// Fields of payloads that are not text of a person, a model or a tool: ids (also in keys that end with
/// `_id`), places, names of programs and tools, and words of a fixed set.
const NO_TEXT: &[&str] = &[
    "access",
    "address_argument",
    "api",
    "approval",
    "ask_user",
    "base64",
    "blob",
    "by",
    "channel",
    "client",
    "command_argument",
    "decision",
    "effect",
    "fallbacks",
    "guard",
    "id",
    "idempotency_key",
    "job",
    "kept",
    "key",
    "kind",
    "mode",
    "model",
    "owner",
    "parent",
    "path_argument",
    "person",
    "reach",
    "refused",
    "request",
    "role",
    "rules",
    "segments",
    "server_rules",
    "status",
    "stop_reason",
    "timer",
    "tool_name",
    "type",
    "workspace",
];

/// Fields that do not count as text if their value is a name, and otherwise contain texts.
const NO_TEXT_AS_NAME: &[&str] = &["provider", "source", "tool"];

/// The fields of calls, tools and agents, beside which a `name` is one that events and rules refer to. The
/// `name` of an attached file is a text.
const NAMED_BESIDE: &[&str] = &["access", "approval", "tool_call_id"];

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

/// The fields among them that sign or repeat the text beside them. They are invalid if a secret in it was
/// replaced.
pub(super) const SIGNATURES: &[&str] = &[
    "data",
    "encrypted_content",
    "signature",
    "thoughtSignature",
    "thought_signature",
];

impl RedactedArea {
    /// Returns the purpose of a field of such an object; `None` if it stays unchanged. `is_named` is what
    /// [`is_named`] returns for the object.
    pub(super) fn of_field(self, key: &str, value: &Value, is_named: bool) -> Option<Self> {
        match self {
            Self::Free => Some(Self::Free),
            Self::Provider => (!OF_PROVIDER.contains(&key) && !key.ends_with("_id")).then_some(self),
            Self::Payload if NO_TEXT.contains(&key) || key.ends_with("_id") => None,
            Self::Payload if value.is_string() && NO_TEXT_AS_NAME.contains(&key) => None,
            Self::Payload if is_named && key == "name" => None,
            Self::Payload => Some(match key {
                "input" | "details" | "outcome" => Self::Free,
                "provider" if value.is_object() => Self::Provider,
                _ => Self::Payload,
            }),
        }
    }
}

/// Returns whether the `name` of an object is one that events and rules refer to, and stays as it is.
pub(super) fn is_named(fields: &serde_json::Map<String, Value>) -> bool {
    NAMED_BESIDE.iter().any(|key| fields.contains_key(*key))
}

/// Replaces the secrets in a value. Returns whether there was one.
pub(super) fn redact_value(redactor: &Redactor, value: &mut Value, kind: RedactedArea) -> bool {
    match value {
        Value::String(text) => redact_text(redactor, text),
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |any, item| redact_value(redactor, item, kind) | any),
        Value::Object(fields) => {
            let (mut any, is_named) = (false, is_named(fields));
            for (key, value) in fields.iter_mut() {
                // Only texts of a provider are left alone by their names.
                let is_whole = kind == RedactedArea::Provider && (value.is_object() || value.is_array());
                let inner = if is_whole {
                    Some(kind)
                } else {
                    kind.of_field(key, value, is_named)
                };
                any |= inner.is_some_and(|inner| redact_value(redactor, value, inner));
            }
            if any && kind == RedactedArea::Provider {
                fields.retain(|key, _| !SIGNATURES.contains(&key.as_str()));
            }
            any | redact_keys(redactor, fields, kind)
        }
        // A number can be a secret too: a long PIN.
        Value::Number(number) if kind == RedactedArea::Free => {
            let mut text = number.to_string();
            let is_secret = redact_text(redactor, &mut text);
            if is_secret {
                *value = Value::String(text);
            }
            is_secret
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

#[cfg(test)]
mod tests {
    use agentx_secrets::{Origin, SecretSet};
    use serde_json::json;

    use super::*;

    fn redacted(mut value: Value, kind: RedactedArea) -> Value {
        let mut set = SecretSet::default();
        assert!(set.add("PIN", Origin::Variable, "8204175936"));
        assert!(redact_value(&Redactor::new(&set), &mut value, kind));
        value
    }

    #[test]
    fn a_number_is_replaced_too() {
        let value = json!({"pin": 8_204_175_936_u64, "count": 3});
        let expected = json!({"pin": "[secret PIN]", "count": 3});
        assert_eq!(redacted(value, RedactedArea::Free), expected);
    }

    #[test]
    fn a_signature_goes_with_the_text_that_it_signs() {
        let value = json!({"reasoning_details": [
            {"type": "reasoning.text", "text": "It is 8204175936.", "signature": "c2ln"},
            {"type": "reasoning.encrypted", "data": "c2Vj"},
        ]});
        let expected = json!({"reasoning_details": [
            {"type": "reasoning.text", "text": "It is [secret PIN]."},
            {"type": "reasoning.encrypted", "data": "c2Vj"},
        ]});
        assert_eq!(redacted(value, RedactedArea::Provider), expected);
    }
}
