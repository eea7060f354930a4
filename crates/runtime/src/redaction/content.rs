//! Replaces the secrets in messages: those of people before they are compared and stored, and those of a
//! request before a model gets them.

use std::sync::Arc;

use agentx_secrets::Redactor;
use agentx_types::{ContentPart, MediaPart, MediaSource, Message, ModelRequest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::tools::tool::ToolOutcome;

use super::checked_messages::CheckedMessages;
use super::values::{RedactedArea, redact_text, redact_value};

/// The content of a person's message without secrets; attached texts are redacted too.
pub(crate) fn redact_input(redactor: Option<&Redactor>, content: &mut [ContentPart]) {
    let Some(redactor) = redactor else { return };
    for part in content {
        match part {
            ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) => {
                redact_media(redactor, media);
            }
            _ => {
                redact_part(redactor, part);
            }
        }
    }
}

/// Replaces the secrets in the result of a call that is in no session.
pub fn redact_outcome(redactor: &Redactor, outcome: &mut ToolOutcome) {
    for part in &mut outcome.content {
        redact_part(redactor, part);
    }
    if let Some(details) = &mut outcome.details {
        redact_value(redactor, details, RedactedArea::Free);
    }
}

/// Replaces the secrets in a text that is attached as base64.
fn redact_media(redactor: &Redactor, media: &mut MediaPart) {
    let MediaSource::Base64(encoded) = &media.source else {
        return;
    };
    let decoded = STANDARD.decode(encoded).ok();
    let Some(mut text) = decoded.and_then(|bytes| String::from_utf8(bytes).ok()) else {
        return;
    };
    if redact_text(redactor, &mut text) {
        media.source = MediaSource::Base64(STANDARD.encode(text));
    }
}

/// The request without secrets; `None` if there are none. Messages in `checked` have none.
pub(super) fn redacted_request(
    redactor: &Redactor,
    request: &ModelRequest,
    checked: &CheckedMessages,
) -> Option<ModelRequest> {
    let has_secret = |message: &Arc<Message>| message.content.iter().any(|part| may_hold(redactor, part));
    let mut places = request.messages.iter().enumerate();
    let in_messages = places.any(|(place, message)| !checked.has(place, message) && has_secret(message));
    let in_system = request.system.iter().any(|text| redactor.may_find_in(text));
    if !in_messages && !in_system {
        return None;
    }
    let mut redacted = request.clone();
    for message in redacted.messages.iter_mut().filter(|message| has_secret(message)) {
        let message = Arc::make_mut(message);
        for part in &mut message.content {
            redact_part(redactor, part);
        }
    }
    for text in &mut redacted.system {
        if let std::borrow::Cow::Owned(without) = redactor.redact(text) {
            *text = without.into();
        }
    }
    Some(redacted)
}

/// Returns whether a part may have a secret, without any copy.
fn may_hold(redactor: &Redactor, part: &ContentPart) -> bool {
    match part {
        ContentPart::Text(part) => redactor.may_find_in(&part.text),
        ContentPart::Thinking(part) => redactor.may_find_in(&part.text),
        ContentPart::ToolCall(part) => value_may_hold(redactor, &part.input),
        ContentPart::ToolResult(result) => result.content.iter().any(|part| may_hold(redactor, part)),
        ContentPart::Opaque(part) => value_may_hold(redactor, &part.provider.data),
        ContentPart::Image(_) | ContentPart::Audio(_) | ContentPart::File(_) => false,
    }
}

fn value_may_hold(redactor: &Redactor, value: &serde_json::Value) -> bool {
    use serde_json::Value;
    match value {
        Value::String(text) => redactor.may_find_in(text),
        Value::Array(items) => items.iter().any(|item| value_may_hold(redactor, item)),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| redactor.may_find_in(key) || value_may_hold(redactor, value)),
        Value::Number(number) => redactor.may_find_in(&number.to_string()),
        Value::Null | Value::Bool(_) => false,
    }
}

/// Replaces the secrets in a part. A thought that had one loses its signature, which would no longer fit.
fn redact_part(redactor: &Redactor, part: &mut ContentPart) {
    match part {
        ContentPart::Text(part) => {
            redact_text(redactor, &mut part.text);
        }
        ContentPart::Thinking(part) => {
            if redact_text(redactor, &mut part.text) {
                part.provider = None;
            }
        }
        ContentPart::ToolCall(part) => {
            redact_value(redactor, &mut part.input, RedactedArea::Free);
        }
        ContentPart::ToolResult(result) => {
            for part in &mut result.content {
                redact_part(redactor, part);
            }
        }
        ContentPart::Opaque(part) => {
            redact_value(redactor, &mut part.provider.data, RedactedArea::Provider);
        }
        ContentPart::Image(_) | ContentPart::Audio(_) | ContentPart::File(_) => {}
    }
}
