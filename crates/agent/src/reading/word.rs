//! A word of a command line, as it is written and as what it may become when it runs.

/// Stands in [`Word::open`] for any run of characters.
pub(crate) const ANYTHING: char = '\0';

/// A word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// Without quotes and escapes; expansions stay as they are written.
    pub(crate) text: String,
    /// The same, with [`ANYTHING`] in place of each expansion.
    pub(crate) open: String,
    /// Whether a variable, a substitution, a glob or braces make it another word when it runs.
    pub(crate) dynamic: bool,
    /// Whether [`ANYTHING`] stands for the rest of it, too.
    loose: bool,
}

impl Word {
    pub(crate) fn push(&mut self, c: char) {
        self.text.push(c);
        if !self.loose {
            self.open.push(c);
        }
    }

    pub(crate) fn push_str(&mut self, text: &str) {
        text.chars().for_each(|c| self.push(c));
    }

    /// `text` becomes something else when it runs.
    pub(crate) fn push_dynamic(&mut self, text: &str) {
        self.text.push_str(text);
        if !self.loose {
            self.open.push(ANYTHING);
        }
        self.dynamic = true;
    }

    /// `text` and all that follows in the word becomes something else: what brackets say is not looked at.
    pub(crate) fn push_loose(&mut self, text: &str) {
        self.push_dynamic(text);
        self.loose = true;
    }

    /// It is what it says after all.
    pub(crate) fn settle(&mut self) {
        (self.dynamic, self.loose) = (false, false);
        self.open.clone_from(&self.text);
    }

    /// A word of which nothing is known.
    pub(crate) fn anything() -> Self {
        let mut word = Self::default();
        word.push_dynamic("");
        word
    }

    /// A word that is nothing but an expansion, which may become no word or many.
    pub(crate) fn is_anything(&self) -> bool {
        !self.open.is_empty() && self.open.chars().all(|c| c == ANYTHING)
    }
}
