//! Recognizes footnotes. The Markdown parser cannot do it: it gets one block at a time, and a later block may
//! define a label.

use super::code::indent_of;

/// Maximum number of bytes of a label.
const LONGEST_LABEL: usize = 32;
/// Maximum number of digits of a number that marks a footnote in a text.
const MOST_DIGITS: usize = 4;
/// Minimum number of bytes of a name that marks a footnote in a text.
const SHORTEST_NAME: usize = 3;
/// The characters after which a class of characters belongs to a pattern.
const PATTERN_BEFORE: &str = "([{<=/\\|^$+";
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
        format!("[{}]", self.label)
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

    /// Returns the text of the definition with another body.
    pub(super) fn with_body(&self, body: &str) -> String {
        let indented = body.replace('\n', &format!("\n{}", " ".repeat(INDENT)));
        format!("[^{}]: {indented}", self.label)
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
    pub(super) label: &'a str,
    /// The text after it.
    pub(super) after: &'a str,
}

impl<'a> FootnoteReference<'a> {
    /// Finds the first reference of a text. `earlier` is the character before the text. A number always
    /// refers to a footnote. A name such as `[^note]` does so at the end of a word or a sentence: only a
    /// later block defines it, and elsewhere `[^aeiou]` and `[^a-z]` are patterns.
    pub(super) fn find(text: &'a str, earlier: Option<char>) -> Option<Self> {
        text.match_indices("[^").find_map(|(at, begin)| {
            let (label, after) = text[at + begin.len()..].split_once(']')?;
            let before = &text[..at];
            let last = before.chars().next_back().or(earlier);
            let ends_a_word = last.is_some_and(|c| !c.is_whitespace() && !PATTERN_BEFORE.contains(c));
            let is_named = ends_a_word && is_name(label) && !continues_pattern(after);
            (is_number(label) || is_named).then_some(Self { before, label, after })
        })
    }
}

/// Returns whether a label is a number that marks a footnote.
fn is_number(label: &str) -> bool {
    (1..=MOST_DIGITS).contains(&label.len()) && label.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a label consists of words, as `note`, `see-also` and `doe_2` do. The ranges of a pattern
/// (`a-z`, `A-Za-z0-9`) begin with a single letter.
fn is_name(label: &str) -> bool {
    let is_word = |part: &str| part.chars().count() > 1 && part.chars().all(char::is_alphanumeric);
    let is_count = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = label.split(['-', '_']);
    let begins = parts
        .next()
        .is_some_and(|part| is_word(part) && part.starts_with(char::is_alphabetic));
    begins
        && (SHORTEST_NAME..=LONGEST_LABEL).contains(&label.len())
        && parts.all(|part| is_word(part) || is_count(part))
}

/// Returns whether a text continues a pattern after a class of characters, and not a sentence.
fn continues_pattern(after: &str) -> bool {
    let continues = |c: char| c.is_ascii_alphanumeric() || "*+{(\\$|/^-=".contains(c);
    after.starts_with(continues) || (after.starts_with('[') && !after.starts_with("[^"))
}

fn is_label(label: &str) -> bool {
    let is_part = |c: char| !c.is_whitespace() && !"[]".contains(c);
    (1..=LONGEST_LABEL).contains(&label.len()) && label.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_refers_to_a_footnote_and_a_name_does_at_the_end_of_a_word() {
        let found = |text| FootnoteReference::find(text, None).map(|found| found.label);
        assert_eq!(found("so it is [^12]."), Some("12"));
        assert_eq!(found("not [^a-z], but [^3]"), Some("3"));
        assert_eq!(found("so it is[^note]."), Some("note"));
        assert_eq!(found("so it is.[^see-also]"), Some("see-also"));
        assert_eq!(found("so it is[^doe_2] and"), Some("doe_2"));
        assert_eq!(found("如此[^注释]而且"), Some("注释"));
        for text in ["[^a-z]", "[^0-9]", "[^]", "[^1", "[1]", "[^12345]", "[^ 1]"] {
            assert_eq!(found(text), None, "{text}");
        }
        for text in [
            "match [^aeiou] here",
            "x[^A-Za-z0-9]",
            "b[^abc]d",
            "b[^abc]*",
            "a|[^abc]",
            "x[^ab]",
            "x[^note",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn a_name_may_follow_a_text_that_was_read_before() {
        let found = |earlier| FootnoteReference::find("[^note] so", earlier).map(|found| found.label);
        assert_eq!(found(Some(']')), Some("note"));
        assert_eq!(found(Some(' ')), None);
        assert_eq!(found(None), None);
    }

    #[test]
    fn a_definition_has_a_label_and_its_text() {
        let read = |text| FootnoteDefinition::read(text).map(|found| (found.mark(), found.body()));
        let note = |mark: &str, body: &str| Some((mark.to_owned(), body.to_owned()));
        assert_eq!(
            read("[^1]: one\n    two\n\n        code"),
            note("[1]", "one\ntwo\n\n    code")
        );
        assert_eq!(read("  [^long]:"), note("[long]", ""));
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
