//! Recognizes footnotes. The Markdown parser cannot do it: it gets one block at a time, and a later block may
//! define a label.

use super::code::indent_of;

/// Maximum number of bytes of a label.
const LONGEST_LABEL: usize = 32;
/// Maximum number of digits of a number that marks a footnote in a text.
const MOST_DIGITS: usize = 4;
/// The number of blanks before the further paragraphs of a definition.
pub(super) const INDENT: usize = 4;

/// The definition of a footnote: `[^1]: text`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FootnoteDefinition<'a> {
    label: &'a str,
    rest: &'a str,
}

impl<'a> FootnoteDefinition<'a> {
    /// Reads a line or a block that begins with a definition.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let indent = indent_of(text);
        let (label, rest) = text[indent..].strip_prefix("[^")?.split_once("]:")?;
        (indent < INDENT && is_label(label)).then_some(Self { label, rest })
    }

    /// Returns the mark as the reader sees it, here and in the text: `[1]`.
    pub(super) fn mark(&self) -> String {
        match number_of(self.label) {
            Some((number, "")) => format!("[{number}]"),
            _ => format!("[^{}]", self.label),
        }
    }

    /// Returns the text without the mark and without the indent of its further lines.
    pub(super) fn body(&self) -> String {
        let mut lines = self.rest.split('\n');
        let mut body = lines.next().unwrap_or_default().trim_start().to_owned();
        for line in lines {
            body.push('\n');
            body.push_str(&line[indent_of(line).min(INDENT)..]);
        }
        body
    }
}

/// Returns whether a line may become a definition, because its label has not ended.
pub(super) fn may_become_definition(line: &str) -> bool {
    let text = line.trim_start_matches(' ');
    match text.strip_prefix("[^") {
        None => text == "[",
        Some("") => true,
        Some(label) => is_label(label.strip_suffix(']').unwrap_or(label)),
    }
}

/// A place in a text that refers to a footnote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FootnoteReference<'a> {
    /// The text before it.
    pub(super) before: &'a str,
    pub(super) number: &'a str,
    /// The text after it.
    pub(super) after: &'a str,
}

impl<'a> FootnoteReference<'a> {
    /// Finds the first reference of a text. Only a number is one: `[^a-z]` may be a pattern, and only a later
    /// block may say that it is a footnote.
    pub(super) fn find(text: &'a str) -> Option<Self> {
        text.match_indices("[^").find_map(|(at, begin)| {
            let (number, rest) = number_of(&text[at + begin.len()..])?;
            Some(Self {
                before: &text[..at],
                number,
                after: rest.strip_prefix(']')?,
            })
        })
    }
}

/// Returns the number that a text begins with, and the rest.
fn number_of(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = text.len() - rest.len();
    (1..=MOST_DIGITS).contains(&digits).then(|| text.split_at(digits))
}

fn is_label(label: &str) -> bool {
    let is_part = |c: char| !c.is_whitespace() && !"[]".contains(c);
    (1..=LONGEST_LABEL).contains(&label.len()) && label.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_refers_to_a_footnote() {
        let found = |text| FootnoteReference::find(text).map(|found| found.number);
        assert_eq!(found("so it is [^12]."), Some("12"));
        assert_eq!(found("not [^a-z], but [^3]"), Some("3"));
        for text in ["[^a-z]", "[^0-9]", "[^]", "[^1", "[1]", "[^12345]", "[^ 1]"] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn a_definition_has_a_label_and_its_text() {
        let read = |text| FootnoteDefinition::read(text).map(|found| (found.mark(), found.body()));
        let note = |mark: &str, body: &str| Some((mark.to_owned(), body.to_owned()));
        assert_eq!(
            read("[^1]: one\n    two\n\n        code"),
            note("[1]", "one\ntwo\n\n    code")
        );
        assert_eq!(read("  [^long]:"), note("[^long]", ""));
        for text in [
            "[^1] : one",
            "[^a b]: one",
            "    [^1]: one",
            "[^]: one",
            "[1]: one",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_line_is_open_until_its_label_has_ended() {
        for text in ["[", "[^", "[^lon", "[^1]"] {
            assert!(may_become_definition(text), "{text}");
        }
        for text in ["[a", "[^1]:", "[^1] ", "[^a b", "a [^1", "[^]"] {
            assert!(!may_become_definition(text), "{text}");
        }
    }
}
