//! Replaces the secrets in a whole event. Chunks of streamed text are handled in `facts.rs`.
//!
//! It works on the JSON of the payload, so that a new kind of event, or a new field of one, is covered
//! without further code.

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
    let is_changed = match event {
        // The fields around the provider's data are AgentX's own and stay.
        EnvironmentEvent::ProviderPart(_) => value
            .get_mut("data")
            .is_some_and(|data| redact_value(redactor, data, RedactedArea::Provider)),
        _ => redact_value(redactor, &mut value, RedactedArea::Payload),
    };
    if !is_changed {
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

/// Returns whether an event has only ids and numbers, so that it need not be searched.
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

#[cfg(test)]
mod tests {
    use agentx_secrets::{Origin, SecretSet};
    use agentx_types::ProviderPart;
    use serde_json::json;

    use super::*;

    #[test]
    fn data_of_a_provider_stays_an_event_of_its_kind() {
        let mut set = SecretSet::default();
        assert!(set.add("KEY", Origin::Variable, "q8Zr-made-up"));
        let redactor = Redactor::new(&set);
        for (data, expected) in [
            (
                json!({"reasoning_details": [{"text": "It is q8Zr-made-up.", "signature": "c2ln"}]}),
                json!({"reasoning_details": [{"text": "It is [secret KEY]."}]}),
            ),
            (
                json!({"content": [{"text": "q8Zr-made-up"}], "type": "web_search_tool_result"}),
                json!({"content": [{"text": "[secret KEY]"}], "type": "web_search_tool_result"}),
            ),
            (json!("q8Zr-made-up"), json!("[secret KEY]")),
        ] {
            let mut event = EnvironmentEvent::from(ProviderPart {
                api: "openai_chat".to_owned(),
                attach: true,
                data,
            });
            assert!(redact_event(&redactor, &mut event));
            let EnvironmentEvent::ProviderPart(part) = event else {
                panic!("{event:?}");
            };
            assert_eq!((part.attach, part.data), (true, expected));
        }
    }
}
