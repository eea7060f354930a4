//! Warns of a message whose files are larger than the context window of the model.

use agentx_agent::estimate_text;
use agentx_types::{AgentConfig, AgentKind, ContentPart};

/// Returns a warning if the texts of a message and its files alone are larger than the window of the agent's
/// model; `None` for a message without files, and for a router, whose own model only chooses.
pub fn larger_than_window(config: &AgentConfig, content: &[ContentPart]) -> Option<String> {
    if content.len() < 2 || config.kind != AgentKind::React {
        return None;
    }
    let texts = content.iter().map(|part| match part {
        ContentPart::Text(part) => estimate_text(&part.text),
        _ => 0,
    });
    let tokens = texts.fold(0_u64, u64::saturating_add);
    let window = config.model.context_window;
    // A window of 0 is not known.
    (window > 0 && tokens > window).then(|| {
        format!(
            "the message and its files have about {tokens} tokens, and the window of {} holds {window}",
            config.model.id
        )
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_that_is_larger_than_the_window_is_warned_about() {
        let model = json!({"id": "m", "provider": "p", "api": "scripted",
            "context_window": 1000, "max_output_tokens": 10, "prices": {}});
        let config = AgentConfig::react(serde_json::from_value(model).unwrap());
        let message = |bytes: usize| {
            [
                ContentPart::text("see @big.txt"),
                ContentPart::text("x".repeat(bytes)),
            ]
        };
        assert_eq!(larger_than_window(&config, &message(3000)), None);
        assert_eq!(
            larger_than_window(&config, &message(8000)).unwrap(),
            "the message and its files have about 2005 tokens, and the window of m holds 1000"
        );
        assert_eq!(larger_than_window(&config, &message(8000)[1..]), None, "no file");
    }
}
