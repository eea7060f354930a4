//! Replaces the secrets in a whole event. Chunks of streamed text are handled in `facts.rs`.
//!
//! It works on the JSON of the payload, so that a new kind of event, or a new field of one, is covered without
//! code here.

use agentx_secrets::Redactor;
use agentx_types::{EnvironmentEvent, ErrorOccurred, Vocabulary as _};
use serde_json::Value;

use super::values::{RedactedArea, redact_value};

/// The code of the error in place of an event that has no form without its secret.
const NOT_REDACTED: &str = "not_redacted";

/// Replaces the secrets in an event. Returns whether there was one.
pub(crate) fn redact_event(redactor: &Redactor, event: &mut EnvironmentEvent) -> bool {
    if is_without_text(event) {
        return false;
    }
    let payload = event.payload_json();
    // A JSON text is UTF-8.
    let text = String::from_utf8_lossy(&payload);
    if !redactor.may_find_in(&text) {
        return false;
    }
    let Ok(mut value) = serde_json::from_str::<Value>(&text) else {
        return false;
    };
    let kind = match event {
        EnvironmentEvent::ProviderPart(_) => RedactedArea::Provider,
        _ => RedactedArea::Payload,
    };
    if !redact_value(redactor, &mut value, kind) {
        return false;
    }
    let redacted = EnvironmentEvent::from_json(event.tag(), &value.to_string());
    *event = redacted.unwrap_or_else(|_| {
        let what = format!(
            "a secret was in a `{}` in a place that cannot be replaced",
            event.tag()
        );
        EnvironmentEvent::from(ErrorOccurred {
            code: NOT_REDACTED.to_owned(),
            message: what,
            recoverable: true,
        })
    });
    true
}

/// Returns whether an event has ids and numbers only, so that it need not be looked at.
fn is_without_text(event: &EnvironmentEvent) -> bool {
    matches!(
        event,
        EnvironmentEvent::PartEnd(_)
            | EnvironmentEvent::UsageReport(_)
            | EnvironmentEvent::StreamStart(_)
            | EnvironmentEvent::ToolCallStart(_)
            | EnvironmentEvent::ActionStarted(_)
            | EnvironmentEvent::TimerFired(_)
            | EnvironmentEvent::InputRevised(_)
            | EnvironmentEvent::InputPinned(_)
            | EnvironmentEvent::AgentClosed(_)
    )
}
