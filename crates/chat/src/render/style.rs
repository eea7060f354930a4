//! Colours and signs, or none of them: a pipe, `NO_COLOR` and a dumb terminal get plain text.

use std::collections::HashMap;

use agentx_terminal::Row;

/// The marks and colours that text may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnsiStyle {
    /// Whether colours may be used.
    pub(crate) color: bool,
    /// Whether words replace signs, for screen readers.
    pub(crate) words: bool,
}

/// The colours of agents. Successes, warnings and failures have other colours.
const AGENTS: [&str; 6] = ["34", "35", "36", "94", "95", "96"];

/// Maximum number of names that keep their colours.
const MOST_NAMES: usize = 256;

/// The colours of the agents.
#[derive(Debug, Default)]
pub(crate) struct Colours {
    given: HashMap<String, usize>,
}

impl Colours {
    /// A name keeps its colour. A new name gets the least used colour, so that those who speak
    /// together differ.
    pub(crate) fn of(&mut self, name: &str) -> usize {
        if let Some(colour) = self.given.get(name) {
            return *colour;
        }
        if self.given.len() >= MOST_NAMES {
            self.given.clear();
        }
        let having = |colour: &usize| self.given.values().filter(|other| *other == colour).count();
        let colour = (0..AGENTS.len()).min_by_key(having).unwrap_or_default();
        self.given.insert(name.to_owned(), colour);
        colour
    }
}

impl AnsiStyle {
    fn wrap(self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// Returns a sign, or its meaning if words are wanted.
    pub fn sign<'a>(self, sign: &'a str, words: &'a str) -> &'a str {
        if self.words { words } else { sign }
    }

    /// Returns a text in faint intensity, as less important.
    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// Like [`dim`](Self::dim), but keeps the styles that the text already has.
    pub(crate) fn dim_unless_painted(self, text: &str) -> String {
        if !text.contains('\u{1b}') {
            self.dim(text)
        } else if self.color {
            text.to_owned()
        } else {
            Row::from_ansi(text).text()
        }
    }

    /// Returns a text in bold, as more important.
    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// Marks the words of the person.
    pub(crate) fn person(self, text: &str) -> String {
        self.wrap("36", text)
    }

    /// Marks the name of an agent with its [colour](Colours).
    pub(crate) fn agent(self, colour: usize, text: &str) -> String {
        self.wrap(AGENTS.get(colour).copied().unwrap_or("36"), text)
    }

    /// Marks a success.
    pub fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// Marks something that a person should look at.
    pub fn warn(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// Marks a failure.
    pub fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }

    /// Marks the words of an added line that the removed line does not have.
    pub(crate) fn added_words(self, text: &str) -> String {
        self.wrap(&stronger("32", text), text)
    }

    /// Marks the words of a removed line that the added line does not have.
    pub(crate) fn removed_words(self, text: &str) -> String {
        self.wrap(&stronger("31", text), text)
    }
}

/// Returns a colour in bold. Blanks alone are also underlined, because nobody sees bold blanks.
fn stronger(colour: &str, text: &str) -> String {
    let underline = if text.trim().is_empty() { "4;" } else { "" };
    format!("1;{underline}{colour}")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{AGENTS, Colours};

    #[test]
    fn agents_that_speak_together_differ_in_colour() {
        let mut colours = Colours::default();
        let names = ["writer", "director", "Ada", "Ben", "scout", "critic"];
        let given: HashSet<usize> = names.iter().map(|name| colours.of(name)).collect();
        assert_eq!(given.len(), AGENTS.len());
        assert_eq!((colours.of("Ada"), colours.of("seventh")), (2, 0));
    }
}
