//! Colours and signs, or none of them: a pipe, `NO_COLOR` and a dumb terminal get plain text.

/// How text may be marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    /// Whether colours may be used.
    pub(crate) color: bool,
    /// Whether words stand in the place of signs, for who listens.
    pub(crate) words: bool,
}

impl Style {
    fn wrap(self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// A sign, or what it means where words are wanted.
    pub(crate) fn sign<'a>(self, sign: &'a str, words: &'a str) -> &'a str {
        if self.words { words } else { sign }
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

    /// An agent among others: each name has a colour of its own, always the same.
    pub(crate) fn agent(self, name: &str, text: &str) -> String {
        // FNV-1a: the same in every program.
        let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        let hash = name.bytes().fold(0x811c_9dc5, mix);
        let code = match hash % 6 {
            0 => "34",
            1 => "35",
            2 => "94",
            3 => "95",
            4 => "96",
            _ => "36",
        };
        self.wrap(code, text)
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
