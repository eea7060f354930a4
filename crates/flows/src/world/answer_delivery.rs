//! The pieces of an answer for a script. If the answer breaks off and begins again, the part that the script
//! has is skipped while it is equal; if it differs, the script gets it again, marked as a restart.

use agentx_luau_tools::EffectError;
use serde_json::{Value, json};

/// An update while a model answers.
pub(crate) enum ModelUpdate {
    /// An attempt begins.
    Begins,
    /// A piece of text.
    Says(String),
    /// The end of the answer.
    Ends(Result<(), EffectError>),
}

/// The state of one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamDelta {
    said: String,
    /// Set while a restarted answer repeats text that the script has: the length of that part, in bytes.
    repeated: Option<usize>,
}

/// A piece for the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScriptPiece {
    pub(crate) text: String,
    /// Whether all earlier pieces of this answer are void.
    pub(crate) restarted: bool,
}

impl ScriptPiece {
    /// Returns the value that a script gets.
    pub(crate) fn to_value(&self) -> Value {
        if self.restarted {
            json!({"chunk": self.text, "restarted": true})
        } else {
            json!({"chunk": self.text})
        }
    }
}

impl StreamDelta {
    /// Creates the state of an answer of which the script has this part.
    pub(crate) fn of(said: String) -> Self {
        Self { said, repeated: None }
    }

    /// Returns all text that the script got.
    pub(crate) fn full_text(&self) -> &str {
        &self.said
    }

    /// Begins the answer, or begins it again.
    pub(crate) fn begin(&mut self) {
        if !self.said.is_empty() {
            self.repeated = Some(0);
        }
    }

    /// Adds text of the answer.
    pub(crate) fn add(&mut self, text: &str) -> Option<ScriptPiece> {
        let Some(repeated) = self.repeated else {
            self.said.push_str(text);
            return piece(text.to_owned(), false);
        };
        let told = self.said.get(repeated..).unwrap_or_default();
        if told.len() > text.len() && told.starts_with(text) {
            self.repeated = Some(repeated + text.len());
            return None;
        }
        self.repeated = None;
        if let Some(more) = text.strip_prefix(told) {
            self.said.push_str(more);
            return piece(more.to_owned(), false);
        }
        self.said.truncate(repeated);
        self.said.push_str(text);
        piece(self.said.clone(), true)
    }

    /// Ends the answer. A restarted one that is shorter than the text that the script has is sent again.
    pub(crate) fn end(&mut self) -> Option<ScriptPiece> {
        let repeated = self.repeated.take()?;
        self.said.truncate(repeated);
        Some(ScriptPiece {
            text: self.said.clone(),
            restarted: true,
        })
    }
}

fn piece(text: String, restarted: bool) -> Option<ScriptPiece> {
    (!text.is_empty()).then_some(ScriptPiece { text, restarted })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deliver(delta: &mut StreamDelta, texts: &[&str]) -> Vec<(String, bool)> {
        delta.begin();
        let mut pieces: Vec<ScriptPiece> = texts.iter().filter_map(|text| delta.add(text)).collect();
        pieces.extend(delta.end());
        pieces
            .into_iter()
            .map(|piece| (piece.text, piece.restarted))
            .collect()
    }

    #[test]
    fn what_is_the_same_again_is_told_once() {
        let mut delta = StreamDelta::default();
        assert_eq!(
            delta.add("从前"),
            Some(ScriptPiece {
                text: "从前".into(),
                restarted: false
            })
        );
        assert_eq!(
            deliver(&mut delta, &["从", "前有座", "山"]),
            [("有座".into(), false), ("山".into(), false)]
        );
        assert_eq!(deliver(&mut delta, &["从前有座山"]), []);
        assert_eq!(delta.full_text(), "从前有座山");
    }

    #[test]
    fn what_is_another_is_told_anew() {
        let mut delta = StreamDelta::of("Once upon a".into());
        assert_eq!(
            deliver(&mut delta, &["Once ", "there ", "was"]),
            [("Once there ".into(), true), ("was".into(), false)]
        );
        assert_eq!(deliver(&mut delta, &["Once"]), [("Once".into(), true)]);
        assert_eq!(delta.full_text(), "Once");
    }
}
