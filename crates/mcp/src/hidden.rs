//! Keeps the secrets that a server is given out of everything that it says: a result, an error, a complaint.

use agentx_config::{McpServerSettings, Secret};

/// A shorter value is an ordinary word: hiding it would hide other words.
const SHORTEST: usize = 8;

/// The replacement for a secret.
const HIDDEN: &str = "[hidden]";

/// The values that no text of a server may show.
#[derive(Clone, Debug, Default)]
pub(crate) struct HiddenValues(Vec<Secret>);

impl HiddenValues {
    /// The values that a server gets.
    pub(crate) fn of(server: &McpServerSettings) -> Self {
        let mut values = server.hidden.clone();
        values.retain(|value| value.expose().len() >= SHORTEST);
        // One value may be within another.
        values.sort_by_key(|value| std::cmp::Reverse(value.expose().len()));
        Self(values)
    }

    /// The text without them.
    pub(crate) fn removed_from(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, value| {
            if text.contains(value.expose()) {
                text.replace(value.expose(), HIDDEN)
            } else {
                text
            }
        })
    }
}
