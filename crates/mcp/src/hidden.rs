//! Removes the secrets that a server gets from everything that it returns: results, errors, output.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_config::{McpServerSettings, Secret};
use serde_json::Value;

/// A shorter value is an ordinary word: hiding it would hide other words.
const SHORTEST: usize = 8;

/// A shorter part of a value reveals little.
const SHORTEST_PART: usize = 4;

/// The replacement for a secret.
const HIDDEN: &str = "[hidden]";

/// The values that no text of a server may show, the longest first. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct HiddenValues(Arc<Mutex<Vec<Secret>>>);

impl HiddenValues {
    /// The values that a server gets.
    pub(crate) fn of(server: &McpServerSettings) -> Self {
        let values = Self::default();
        values.add(server.hidden.clone());
        values
    }

    /// Adds values, such as the tokens of a login, which change while the program runs.
    pub(crate) fn add(&self, more: impl IntoIterator<Item = Secret>) {
        let mut values = self.lock();
        for value in more {
            if value.expose().len() >= SHORTEST && !values.contains(&value) {
                values.push(value);
            }
        }
        // One value may be within another.
        values.sort_by_key(|value| std::cmp::Reverse(value.expose().len()));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Secret>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The text without them.
    pub(crate) fn removed_from(&self, text: &str) -> String {
        self.lock().iter().fold(text.to_owned(), |text, value| {
            if text.contains(value.expose()) {
                text.replace(value.expose(), HIDDEN)
            } else {
                text
            }
        })
    }

    /// The text without them, if it was cut out of a longer one: a part of a value at its beginning or its
    /// end is replaced too.
    pub(crate) fn removed_from_cut(&self, text: &str) -> String {
        let mut text = self.removed_from(text);
        for value in self.lock().iter() {
            let value = value.expose();
            let starts = value.char_indices().map(|(at, _)| at);
            let is_part = |part: &&str| part.len() >= SHORTEST_PART && part.len() < value.len();
            if let Some(part) = starts
                .clone()
                .map(|at| &value[at..])
                .filter(is_part)
                .find(|part| text.starts_with(*part))
            {
                text.replace_range(..part.len(), HIDDEN);
            }
            if let Some(part) = starts
                .rev()
                .map(|at| &value[..at])
                .filter(is_part)
                .find(|part| text.ends_with(*part))
            {
                text.replace_range(text.len() - part.len().., HIDDEN);
            }
        }
        text
    }

    /// Returns whether a text or a name in a document holds one of them.
    pub(crate) fn are_in_document(&self, document: &Value) -> bool {
        match document {
            Value::String(text) => self.are_in(text),
            Value::Array(items) => items.iter().any(|item| self.are_in_document(item)),
            Value::Object(fields) => fields
                .iter()
                .any(|(name, value)| self.are_in(name) || self.are_in_document(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Returns whether the text holds one of them.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.lock().iter().any(|value| text.contains(value.expose()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_hidden_whole_and_where_a_text_was_cut_within_it() {
        let mut server = McpServerSettings::program("s", "x", ["y"], "/");
        server.hidden = vec![Secret::new("made-up-secret"), Secret::new("short")];
        let hidden = HiddenValues::of(&server);
        assert_eq!(
            hidden.removed_from("a made-up-secret, short"),
            "a [hidden], short"
        );
        assert_eq!(
            hidden.removed_from_cut("p-secret failed at made-up-s"),
            "[hidden] failed at [hidden]"
        );
        assert_eq!(hidden.removed_from_cut("made-up-secret"), "[hidden]");
        assert_eq!(hidden.removed_from_cut("the end: mad"), "the end: mad");
        let nested = serde_json::json!({"properties": {"a": {"enum": ["x made-up-secret"]}}});
        assert!(
            hidden.are_in_document(&nested) && !hidden.are_in_document(&serde_json::json!([1, "made-up"]))
        );
        assert!(hidden.are_in_document(&serde_json::json!({"made-up-secret": 1})));
        assert!(hidden.are_in("xmade-up-secretx") && !hidden.are_in("made-up"));
    }
}
