//! An answer as it is told to a script, piece by piece. Where the answer breaks off and begins again, what was told already is
//! passed over while it is the same; where it is not, it is told anew, and said so.

use serde_json::{Value, json};

/// What was told of one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Telling {
    said: String,
    /// Set while an answer that began again repeats what was told: how much of it, in bytes.
    repeated: Option<usize>,
}

/// A piece for the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScriptPiece {
    pub(crate) text: String,
    /// Whether all that was told before of this answer is void.
    pub(crate) restarted: bool,
}

impl ScriptPiece {
    /// As a script is given it.
    pub(crate) fn to_value(&self) -> Value {
        if self.restarted {
            json!({"chunk": self.text, "restarted": true})
        } else {
            json!({"chunk": self.text})
        }
    }
}

impl Telling {
    /// A telling of which this was told.
    pub(crate) fn of(said: String) -> Self {
        Self { said, repeated: None }
    }

    /// All that was told.
    pub(crate) fn said(&self) -> &str {
        &self.said
    }

    /// The answer begins, or begins again.
    pub(crate) fn begins(&mut self) {
        if !self.said.is_empty() {
            self.repeated = Some(0);
        }
    }

    /// The answer continues.
    pub(crate) fn hears(&mut self, text: &str) -> Option<ScriptPiece> {
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

    /// The answer is whole. One that began again and is shorter than what was told is told anew.
    pub(crate) fn ends(&mut self) -> Option<ScriptPiece> {
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

    fn told(telling: &mut Telling, texts: &[&str]) -> Vec<(String, bool)> {
        telling.begins();
        let mut pieces: Vec<ScriptPiece> = texts.iter().filter_map(|text| telling.hears(text)).collect();
        pieces.extend(telling.ends());
        pieces
            .into_iter()
            .map(|piece| (piece.text, piece.restarted))
            .collect()
    }

    #[test]
    fn what_is_the_same_again_is_told_once() {
        let mut telling = Telling::default();
        assert_eq!(
            telling.hears("从前"),
            Some(ScriptPiece {
                text: "从前".into(),
                restarted: false
            })
        );
        assert_eq!(
            told(&mut telling, &["从", "前有座", "山"]),
            [("有座".into(), false), ("山".into(), false)]
        );
        assert_eq!(told(&mut telling, &["从前有座山"]), []);
        assert_eq!(telling.said(), "从前有座山");
    }

    #[test]
    fn what_is_another_is_told_anew() {
        let mut telling = Telling::of("Once upon a".into());
        assert_eq!(
            told(&mut telling, &["Once ", "there ", "was"]),
            [("Once there ".into(), true), ("was".into(), false)]
        );
        assert_eq!(told(&mut telling, &["Once"]), [("Once".into(), true)]);
        assert_eq!(telling.said(), "Once");
    }
}
