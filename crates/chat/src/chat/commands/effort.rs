//! `/effort`: how much the model reasons, recorded as a change of the session's configuration.

use agentx::config::check_params;
use agentx::types::{ConfigChange, ModelParams};

use crate::chat::{Chat, ConversationSite};
use crate::error::ChatError;
use crate::render::units;

/// The levels, each with the maximum number of tokens for reasoning. Vendors with their own levels get the
/// same one.
pub(in crate::chat) const LEVELS: [(&str, Option<u64>, &str); 4] = [
    ("default", None, "the provider's default"),
    ("low", Some(4_096), "a little: up to 4,096 tokens"),
    ("medium", Some(16_384), "up to 16,384 tokens"),
    (
        "high",
        Some(32_768),
        "much: up to 32,768 tokens, slower and more expensive",
    ),
];

impl Chat<'_> {
    /// Returns the maximum number of tokens for reasoning; `None` is the model's default.
    pub(crate) async fn current_effort(&mut self) -> Option<u64> {
        self.agent_config().await.ok()?.params.thinking_tokens
    }

    /// Runs `/effort`.
    pub(super) async fn effort(&mut self, level: Option<&str>) -> Result<String, ChatError> {
        let params = self.agent_config().await?.params;
        let Some(level) = level else {
            return Ok(if self.opens_menu("effort").await {
                String::new()
            } else {
                list(params.thinking_tokens)
            });
        };
        let Some(tokens) = tokens_of(level) else {
            return Ok(format!(
                "there is no effort `{level}`: default, low, medium, high, or a number of tokens"
            ));
        };
        let params = ModelParams {
            thinking_tokens: tokens,
            ..params
        };
        if let Err(why) = check_params(&params) {
            return Ok(why);
        }
        self.change(ConfigChange::Params(params)).await?;
        self.composer.menu.forget();
        let when = match (&self.connection.site, self.status.is_busy()) {
            (ConversationSite::Open { .. }, true) => "from the next model call on",
            _ => "from now on",
        };
        Ok(format!(
            "effort {when}: {}; models that do not reason ignore it",
            level_name(tokens)
        ))
    }
}

/// Returns the tokens of a level or a number, or `None` if it is neither.
fn tokens_of(level: &str) -> Option<Option<u64>> {
    let named = LEVELS.iter().find(|(name, ..)| *name == level);
    match (named, level) {
        (Some((_, tokens, _)), _) => Some(*tokens),
        (None, number) => number.parse().ok().map(Some),
    }
}

/// Names an amount of reasoning: its level, or a number of tokens.
pub(in crate::chat) fn level_name(tokens: Option<u64>) -> String {
    let named = LEVELS.iter().find(|(_, of_level, _)| *of_level == tokens);
    match (named, tokens) {
        (Some((name, ..)), _) => (*name).to_owned(),
        (None, Some(tokens)) => format!("up to {} tokens", units::count(tokens)),
        (None, None) => "default".to_owned(),
    }
}

/// Lists the levels and marks the current one with `*`.
fn list(current: Option<u64>) -> String {
    let mut text = String::new();
    for (name, tokens, about) in LEVELS {
        let mark = if tokens == current { "*" } else { " " };
        text.push_str(&format!("{mark} {name:8} {about}\n"));
    }
    if !LEVELS.iter().any(|(_, tokens, _)| *tokens == current) {
        text.push_str(&format!("* {}\n", level_name(current)));
    }
    text.push_str("/effort LEVEL changes it for this session; a number of tokens works too\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_or_a_number_is_taken_and_the_current_one_is_marked() {
        assert_eq!(tokens_of("medium"), Some(Some(16_384)));
        assert_eq!(tokens_of("8000"), Some(Some(8_000)));
        assert_eq!(tokens_of("default"), Some(None));
        for refused in ["much", "off", "none", "auto", ""] {
            assert_eq!(tokens_of(refused), None, "{refused}");
        }
        assert!(list(None).starts_with("* default "));
        assert!(list(Some(32_768)).contains("\n* high "));
        assert!(list(Some(8_000)).contains("\n* up to 8.0k tokens\n"));
    }
}
