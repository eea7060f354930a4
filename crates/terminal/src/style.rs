//! The styles of text and their uses. Only the sixteen colours of the terminal are used, so that text is
//! readable on any background that people choose.

/// A colour of the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Color {
    /// The style of plain text.
    #[default]
    Default,
    /// Black, red, green, yellow, blue, magenta, cyan, white (0 to 7), and the same bright (8 to 15).
    Ansi(u8),
}

/// The look of a piece of text: colour, weight and other attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Style {
    /// The colour of the text.
    pub color: Color,
    /// Whether the text is bold.
    pub bold: bool,
    /// Whether the text is faint.
    pub dim: bool,
    /// Whether the text is italic.
    pub italic: bool,
    /// Whether the text is underlined.
    pub underline: bool,
    /// Whether the text is struck through.
    pub strike: bool,
}

impl Style {
    /// Creates a style with this colour, 0 to 15 ([`Color::Ansi`]).
    pub fn ansi(color: u8) -> Self {
        Self {
            color: Color::Ansi(color & 15),
            ..Self::default()
        }
    }

    /// Returns this style in bold.
    pub fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// Returns this style in faint intensity.
    pub fn dim(self) -> Self {
        Self { dim: true, ..self }
    }

    /// Returns this style in italics.
    pub fn italic(self) -> Self {
        Self { italic: true, ..self }
    }

    /// Returns this style with an underline.
    pub fn underline(self) -> Self {
        Self {
            underline: true,
            ..self
        }
    }

    /// Returns this style struck through.
    pub fn strike(self) -> Self {
        Self { strike: true, ..self }
    }

    /// Returns this style, overridden by `over`.
    pub fn with(self, over: Self) -> Self {
        Self {
            color: if over.color == Color::Default {
                self.color
            } else {
                over.color
            },
            bold: self.bold || over.bold,
            dim: self.dim || over.dim,
            italic: self.italic || over.italic,
            underline: self.underline || over.underline,
            strike: self.strike || over.strike,
        }
    }

    /// Returns the control sequence that begins the style; empty for plain text.
    pub(crate) fn begin(self) -> String {
        let mut codes: Vec<String> = Vec::new();
        let flags = [
            (self.bold, "1"),
            (self.dim, "2"),
            (self.italic, "3"),
            (self.underline, "4"),
            (self.strike, "9"),
        ];
        codes.extend(
            flags
                .iter()
                .filter(|(on, _)| *on)
                .map(|(_, code)| (*code).to_owned()),
        );
        match self.color {
            Color::Default => {}
            Color::Ansi(color @ 0..=7) => codes.push((30 + color).to_string()),
            Color::Ansi(color) => codes.push((82 + color).to_string()),
        }
        if codes.is_empty() {
            String::new()
        } else {
            format!("\u{1b}[{}m", codes.join(";"))
        }
    }

    /// Returns whether the style is visible on blanks.
    pub(crate) fn shows_on_blanks(self) -> bool {
        self.underline || self.strike
    }

    /// Returns the control sequence that changes this style to `next`; empty if they are equal.
    pub(crate) fn to(self, next: Self) -> String {
        let plain = Self {
            color: next.color,
            ..Self::default()
        };
        let flags = |style: Self| Self {
            color: Color::Default,
            ..style
        };
        match next {
            next if next == self => String::new(),
            next if next == Self::default() => "\u{1b}[m".to_owned(),
            // Something is added to the default style.
            next if self == Self::default() => next.begin(),
            next if flags(self) == flags(next) && next.color != Color::Default => plain.begin(),
            next => next.begin().replacen('[', "[0;", 1),
        }
    }

    /// Returns this style after the codes of a control sequence (`1;31`); unknown codes change nothing.
    pub(crate) fn apply_codes(self, codes: &str) -> Self {
        let mut style = self;
        for code in codes.split(';') {
            match code.parse::<u8>() {
                Err(_) | Ok(0) => style = Self::default(),
                Ok(1) => style.bold = true,
                Ok(2) => style.dim = true,
                Ok(3) => style.italic = true,
                Ok(4) => style.underline = true,
                Ok(9) => style.strike = true,
                Ok(39) => style.color = Color::Default,
                Ok(code @ 30..=37) => style.color = Color::Ansi(code - 30),
                Ok(code @ 90..=97) => style.color = Color::Ansi(code - 82),
                Ok(_) => {}
            }
        }
        style
    }
}

/// The styles of the parts of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    /// The style of headings.
    pub heading: Style,
    /// The style of inline code.
    pub code: Style,
    /// The text of a link.
    pub link: Style,
    /// The target of a link, bullets, rules, borders.
    pub faint: Style,
    /// The style of quotations.
    pub quote: Style,
    /// The style of strong emphasis, `**text**`.
    pub strong: Style,
    /// The style of emphasis, `*text*`.
    pub emphasis: Style,
    /// The style of struck-through text, `~~text~~`.
    pub gone: Style,
    /// The style of comments in code.
    pub comment: Style,
    /// The style of keywords in code.
    pub keyword: Style,
    /// The style of strings in code.
    pub string: Style,
    /// A number or another literal in code.
    pub literal: Style,
    /// The name of a function or a type in code.
    pub name: Style,
    /// A line that is new, in a diff.
    pub added: Style,
    /// A line that is gone, in a diff.
    pub removed: Style,
    /// Whether anything may be coloured at all.
    pub color: bool,
    /// Whether text without its own look keeps its marks: `**so**`.
    pub marks: bool,
    /// Whether the background is a light one.
    pub light: bool,
    /// Whether the terminal supports clickable links; else the address follows the text.
    pub links: bool,
}

impl Theme {
    /// Plain text that keeps its marks, for `NO_COLOR`: otherwise struck-out text would look like any other.
    pub fn marked() -> Self {
        Self {
            marks: true,
            ..Self::plain()
        }
    }

    /// Plain text: for a pipe, a dumb terminal, and text that is read aloud.
    pub fn plain() -> Self {
        let none = Style::default();
        Self {
            heading: none,
            code: none,
            link: none,
            faint: none,
            quote: none,
            strong: none,
            emphasis: none,
            gone: none,
            comment: none,
            keyword: none,
            string: none,
            literal: none,
            name: none,
            added: none,
            removed: none,
            color: false,
            marks: false,
            light: false,
            links: false,
        }
    }

    /// Returns the theme for a dark background.
    pub fn dark() -> Self {
        let none = Style::default();
        Self {
            heading: Style::ansi(14).bold(),
            code: Style::ansi(11),
            link: Style::ansi(12).underline(),
            faint: none.dim(),
            quote: none.italic().dim(),
            strong: none.bold(),
            emphasis: none.italic(),
            gone: none.strike(),
            comment: none.dim(),
            keyword: Style::ansi(13),
            string: Style::ansi(10),
            literal: Style::ansi(11),
            name: Style::ansi(12),
            added: Style::ansi(10),
            removed: Style::ansi(9),
            color: true,
            marks: false,
            light: false,
            links: false,
        }
    }

    /// Returns this theme with or without links.
    pub fn with_links(self, links: bool) -> Self {
        Self { links, ..self }
    }

    /// For a light background: the darker eight.
    pub fn light() -> Self {
        Self {
            heading: Style::ansi(4).bold(),
            code: Style::ansi(5),
            link: Style::ansi(4).underline(),
            keyword: Style::ansi(5),
            string: Style::ansi(2),
            literal: Style::ansi(1),
            name: Style::ansi(4),
            added: Style::ansi(2),
            removed: Style::ansi(1),
            light: true,
            ..Self::dark()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_written_and_read_back() {
        for style in [
            Style::default(),
            Style::ansi(1),
            Style::ansi(15).bold().italic(),
            Style::default().dim().underline().strike(),
        ] {
            let begun = style.begin();
            let codes = begun.trim_start_matches("\u{1b}[").trim_end_matches('m');
            assert_eq!(Style::default().apply_codes(codes), style, "{begun:?}");
        }
        assert_eq!(Style::ansi(3).bold().apply_codes("0"), Style::default());
    }
}
