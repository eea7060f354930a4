//! Colours and signs, or none of them: a pipe, `NO_COLOR` and a dumb terminal get plain text.

/// How text may be marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    /// Whether colours may be used.
    pub(crate) color: bool,
}

impl Style {
    fn wrap(self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// Less important.
    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// More important.
    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// What the person said.
    pub(crate) fn person(self, text: &str) -> String {
        self.wrap("36", text)
    }

    /// What went well.
    pub(crate) fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// What a person should look at.
    pub(crate) fn warn(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// What went wrong.
    pub(crate) fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }
}
