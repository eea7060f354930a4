//! Replaces known secrets in what a chat draws. The runtime replaces them where facts are made; a fact from
//! before a value was marked still has it, and is drawn again when a session is opened or an output is
//! printed in full.

use std::borrow::Cow;

use agentx::config::Settings;
use agentx::runtime::{Redactor, SecretSet};

use crate::render::transcript::TextPiece;

/// The secrets that a chat does not draw.
pub(crate) struct HiddenSecrets {
    /// `None` if the settings switch the replacement off.
    redactor: Option<Redactor>,
}

impl HiddenSecrets {
    /// Returns the secrets that the settings know.
    pub(super) fn of(settings: &Settings) -> Self {
        Self {
            redactor: agentx::node::redactor(settings),
        }
    }

    /// Replaces these values from now on.
    pub(in crate::chat) fn learn(&self, secrets: &SecretSet) {
        if let Some(redactor) = &self.redactor {
            redactor.learn(secrets);
        }
    }

    /// Returns the pieces without secrets.
    pub(super) fn hide_in_pieces(&self, mut pieces: Vec<TextPiece>) -> Vec<TextPiece> {
        for piece in &mut pieces {
            self.hide_in(&mut piece.text);
        }
        pieces
    }

    /// Returns the rows without secrets.
    pub(super) fn hide_in_rows(&self, mut rows: Vec<String>) -> Vec<String> {
        for row in &mut rows {
            self.hide_in(row);
        }
        rows
    }

    /// Returns a text without secrets.
    pub(super) fn hide_in_text(&self, mut text: String) -> String {
        self.hide_in(&mut text);
        text
    }

    fn hide_in(&self, text: &mut String) {
        let Some(redactor) = &self.redactor else { return };
        if let Cow::Owned(hidden) = redactor.redact(text) {
            *text = hidden;
        }
    }
}

#[cfg(test)]
mod tests {
    use agentx::secrets::Origin;

    use super::*;
    use crate::render::transcript::TextRegion;

    /// A made-up secret without a published form.
    const VALUE: &str = "walrus5f2c81d09be34a7766";

    #[test]
    fn a_value_is_hidden_as_soon_as_it_is_known() {
        let known = SecretSet::default();
        let hidden = HiddenSecrets {
            redactor: Some(Redactor::of_values(&known)),
        };
        let piece = || TextPiece {
            region: TextRegion::Aside,
            text: format!("it is {VALUE}\n"),
        };
        let shown = |hidden: &HiddenSecrets| hidden.hide_in_pieces(vec![piece()])[0].text.clone();
        assert_eq!(shown(&hidden), format!("it is {VALUE}\n"));
        let mut known = SecretSet::default();
        assert!(known.add("WIFI", Origin::Person, VALUE));
        hidden.learn(&known);
        assert_eq!(shown(&hidden), "it is [secret WIFI]\n");
        assert_eq!(hidden.hide_in_rows(vec![VALUE.to_owned()]), ["[secret WIFI]"]);
    }

    #[test]
    fn nothing_is_hidden_if_the_settings_say_so() {
        let hidden = HiddenSecrets { redactor: None };
        assert_eq!(hidden.hide_in_rows(vec![VALUE.to_owned()]), [VALUE]);
    }
}
