//! Styled text in lines, and the rows of a terminal that they take: broken between words, and never inside a
//! character, however wide it is.

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr as _};

use crate::style::Style;

/// Returns the width of a text in columns.
pub fn width(text: &str) -> usize {
    if is_plain(text) {
        return text.len();
    }
    text.graphemes(true).map(grapheme_width).sum()
}

/// Returns whether each byte is a letter of one column: true of most text, and known without a table.
pub(crate) fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Returns the width of a grapheme in columns: a letter with its marks, a composed emoji.
pub(crate) fn grapheme_width(grapheme: &str) -> usize {
    grapheme.width().min(2)
}

/// Returns whether every terminal gives a sign the same columns. Composed signs (a hand with a colour, a
/// family, a flag, a heart as an emoji) are one sign in some terminals and two or three in others, and their
/// width differs accordingly.
pub(crate) fn is_sure(grapheme: &str) -> bool {
    let flag = |c: char| ('\u{1f1e6}'..='\u{1f1ff}').contains(&c);
    uncomposed_width(grapheme) == grapheme_width(grapheme) && !grapheme.contains(flag)
}

/// Returns the width of a grapheme in a terminal that does not compose it.
pub(crate) fn uncomposed_width(grapheme: &str) -> usize {
    grapheme.chars().filter_map(UnicodeWidthChar::width).sum()
}

/// A piece of text of one look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The text, without control characters.
    pub text: String,
    /// The style of the text.
    pub style: Style,
    /// The target of the link, on a terminal that supports links.
    pub link: Option<Arc<str>>,
}

impl Span {
    /// Returns whether both look the same and lead to the same place.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.style == other.style && self.link == other.link
    }
}

/// A row of the terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The pieces; neighbours differ in style.
    pub spans: Vec<Span>,
    /// Whether the next row continues this one without a line break: the terminal breaks the line itself, so
    /// that a person who copies it gets one line.
    pub wraps: bool,
}

impl Row {
    /// A row of one look.
    pub fn new(text: &str, style: Style) -> Self {
        let mut row = Self::default();
        row.push(text, style);
        row
    }

    /// A row from text with control sequences for looks, as [`Line::from_ansi`].
    pub fn from_ansi(text: &str) -> Self {
        Self {
            spans: Line::from_ansi(text).spans,
            wraps: false,
        }
    }

    /// Returns the row as text with control sequences for looks, which [`Row::from_ansi`] reads. Links are
    /// left out.
    ///
    /// ```
    /// use agentx_terminal::{Row, Style};
    ///
    /// let row = Row::new("so", Style::default().bold());
    /// assert_eq!(row.to_ansi(), "\u{1b}[1mso\u{1b}[0m");
    /// assert_eq!(Row::from_ansi(&row.to_ansi()), row);
    /// ```
    pub fn to_ansi(&self) -> String {
        let spans = self.spans.iter();
        spans
            .map(|span| match span.style.begin() {
                begin if begin.is_empty() => span.text.clone(),
                begin => format!("{begin}{}\u{1b}[0m", span.text),
            })
            .collect()
    }

    /// Adds text at the end.
    pub fn push(&mut self, text: &str, style: Style) {
        push(&mut self.spans, text, style, None);
    }

    /// Adds text with the style and the link of `like`.
    pub fn push_like(&mut self, text: &str, like: &Span) {
        push(&mut self.spans, text, like.style, like.link.as_ref());
    }

    /// Returns the width of the row in columns.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| width(&span.text)).sum()
    }

    /// Returns its text without looks and links.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Returns the bytes and columns before the first grapheme whose width differs between terminals.
    pub(crate) fn sure(&self) -> Option<(usize, usize)> {
        let (mut bytes, mut columns) = (0, 0);
        for span in &self.spans {
            if is_plain(&span.text) {
                bytes += span.text.len();
                columns += span.text.len();
                continue;
            }
            for sign in span.text.graphemes(true) {
                if !is_sure(sign) {
                    return Some((bytes, columns));
                }
                bytes += sign.len();
                columns += grapheme_width(sign);
            }
        }
        None
    }

    /// Returns whether `next` may be written behind this row on a terminal of this width, so that the
    /// terminal breaks the line: only if this row certainly fills the width.
    pub(crate) fn wraps_into(&self, next: &Self, columns: usize) -> bool {
        self.wraps && self.sure().is_none() && self.width() + next.first_width() > columns
    }

    /// Returns the width of the first sign, in columns.
    fn first_width(&self) -> usize {
        let first = self
            .spans
            .iter()
            .find_map(|span| span.text.graphemes(true).next());
        first.map_or(0, grapheme_width)
    }

    /// Returns the last sign alone.
    pub(crate) fn last(&self) -> Self {
        let mut last = Self::default();
        if let Some(span) = self.spans.last() {
            let sign = span.text.graphemes(true).next_back();
            last.push_like(sign.unwrap_or_default(), span);
        }
        last
    }

    /// Returns as much of the row as fits into this number of columns.
    pub(crate) fn first(&self, columns: usize) -> Self {
        let (mut first, mut room) = (Self::default(), columns);
        for span in &self.spans {
            for sign in span.text.graphemes(true) {
                let Some(left) = room.checked_sub(grapheme_width(sign)) else {
                    return first;
                };
                room = left;
                first.push_like(sign, span);
            }
        }
        first
    }

    /// Returns as much of the row as fits into this number of columns, with `…` if it was cut.
    pub fn cut(&self, columns: usize) -> Self {
        if self.width() <= columns {
            return self.clone();
        }
        let mut cut = self.first(columns.saturating_sub(1));
        let style = cut.spans.last().map_or(Style::default(), |span| span.style);
        cut.push("…", style);
        cut
    }
}

fn push(spans: &mut Vec<Span>, text: &str, style: Style, link: Option<&Arc<str>>) {
    if text.is_empty() {
        return;
    }
    match spans.last_mut() {
        Some(last) if last.style == style && last.link.as_ref() == link => last.text.push_str(text),
        _ => spans.push(Span {
            text: text.to_owned(),
            style,
            link: link.cloned(),
        }),
    }
}

/// A line of any length, before it is broken into rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The pieces; neighbours differ in style.
    pub spans: Vec<Span>,
    /// The prefix of the first row, such as a bullet.
    pub first: Row,
    /// The prefix of the other rows.
    pub rest: Row,
    /// Whether the line is broken at the end of each full row and not between words: for code. The terminal
    /// itself breaks it if its other rows have no prefix.
    pub verbatim: bool,
}

impl Line {
    /// A line of one look.
    pub fn new(text: &str, style: Style) -> Self {
        let mut line = Self::default();
        line.push(text, style);
        line
    }

    /// Returns the last character of its text, without the prefixes of rows.
    pub(crate) fn last_char(&self) -> Option<char> {
        self.spans.last().and_then(|span| span.text.chars().next_back())
    }

    /// A line from text with control sequences for looks (`ESC [ … m`). Other control characters are left
    /// out, a tab is four blanks.
    pub fn from_ansi(text: &str) -> Self {
        let mut line = Self::default();
        let mut style = Style::default();
        let mut rest = text;
        while let Some(at) = rest.find(|c: char| c.is_control()) {
            line.push(&rest[..at], style);
            let after = &rest[at..];
            let sequence = after.strip_prefix("\u{1b}[").and_then(|codes| {
                let end = codes.find(|c: char| !(c.is_ascii_digit() || c == ';'))?;
                codes[end..].strip_prefix('m').map(|rest| (&codes[..end], rest))
            });
            rest = if let Some((codes, rest)) = sequence {
                style = style.apply_codes(codes);
                rest
            } else {
                let mut chars = after.chars();
                if chars.next() == Some('\t') {
                    line.push("    ", style);
                }
                chars.as_str()
            };
        }
        line.push(rest, style);
        line
    }

    /// Adds text at the end.
    pub fn push(&mut self, text: &str, style: Style) {
        push(&mut self.spans, text, style, None);
    }

    /// Adds text with a link.
    pub fn push_link(&mut self, text: &str, style: Style, link: &Arc<str>) {
        push(&mut self.spans, text, style, Some(link));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(line: &Line, columns: usize) -> Vec<String> {
        line.rows(columns).iter().map(Row::text).collect()
    }

    #[test]
    fn lines_break_between_words_and_hang() {
        let mut line = Line::new("one two three four", Style::default());
        line.first = Row::new("• ", Style::default());
        line.rest = Row::new("  ", Style::default());
        assert_eq!(rows(&line, 10), ["• one two", "  three", "  four"]);
        assert_eq!(rows(&Line::default(), 10), [""]);
        assert_eq!(
            rows(&Line::new("  abcdefghijkl", Style::default()), 8),
            ["  abcdef", "ghijkl"],
            "no row of nothing but blanks"
        );
    }

    #[test]
    fn wide_characters_and_marks_stay_whole() {
        assert_eq!(
            rows(&Line::new("你好世界", Style::default()), 5),
            ["你好", "世界"]
        );
        let family = "👨‍👩‍👧x";
        assert_eq!(width(family), 3);
        assert_eq!(rows(&Line::new(family, Style::default()), 2), ["👨‍👩‍👧", "x"]);
        assert_eq!(width("e\u{301}a"), 2);
    }

    #[test]
    fn what_is_seen_as_one_sign_takes_the_columns_of_one() {
        let signs = [
            ("a family", "👨‍👩‍👧‍👦"),
            ("a couple of two colours", "👩🏽‍❤️‍💋‍👨🏿"),
            ("a profession", "👩🏾‍🚒"),
            ("a flag of two letters", "🇩🇪"),
            (
                "a flag of a part of a country",
                "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            ),
            ("a flag that is put together", "🏳️‍🌈"),
            ("a hand with a colour", "👋🏽"),
            ("a heart that is a picture", "❤️"),
            ("a wide letter", "好"),
        ];
        for (what, sign) in signs {
            assert_eq!(width(sign), 2, "{what}");
            let text = format!("a{sign}{sign}b");
            assert_eq!(width(&text), 6, "{what}");
            let line = Line::new(&text, Style::default());
            let two = format!("{sign}b");
            assert_eq!(rows(&line, 3), [format!("a{sign}"), two], "{what} stays whole");
            assert_eq!(
                Row::new(&text, Style::default()).cut(4).text(),
                format!("a{sign}…"),
                "{what}"
            );
        }
        for narrow in ["é", "e\u{301}", "❤\u{fe0e}", "\u{200b}x\u{200d}"] {
            assert_eq!(width(narrow), 1, "{narrow:?}");
        }
    }

    #[test]
    fn code_breaks_where_the_row_is_full() {
        let mut line = Line::new("let a  = 1;", Style::default());
        line.verbatim = true;
        assert_eq!(rows(&line, 6), ["let a ", " = 1;"]);
    }

    #[test]
    fn looks_are_read_from_control_sequences() {
        let line = Line::from_ansi("a\u{1b}[1;31mb\u{1b}[0mc\td\u{1b}[2K\u{7}");
        assert_eq!(line.spans[1].style, Style::ansi(1).bold());
        let row = Row {
            spans: line.spans,
            wraps: false,
        };
        assert_eq!(row.text(), "abc    d[2K");
    }

    #[test]
    fn a_long_row_is_cut_with_a_sign() {
        assert_eq!(Row::new("你好世界", Style::default()).cut(6).text(), "你好…");
        assert_eq!(Row::new("abc", Style::default()).cut(3).text(), "abc");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_is_too_wide(text in "[a-z 你👍]{0,60}", columns in 2usize..30, verbatim: bool) {
            let mut line = Line::new(&text, Style::default());
            line.verbatim = verbatim;
            let rows = line.rows(columns);
            prop_assert!(rows.iter().all(|row| row.width() <= columns));
            let kept: String = rows.iter().map(Row::text).collect::<String>().replace(' ', "");
            prop_assert_eq!(kept, text.replace(' ', ""));
        }
    }
}
