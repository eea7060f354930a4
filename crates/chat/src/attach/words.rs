//! Finds the words of a message that may name a file: those with `@`, outside of code.

use std::borrow::Cow;

/// Signs that may stand directly before the `@` of a name, as in `(@a.rs)`.
const OPENING: [char; 6] = ['(', '[', '{', '<', '"', '\''];
/// Signs behind a name that belong to the sentence.
const CLOSING: [char; 13] = [',', '.', ';', ':', '?', '!', ')', ']', '}', '>', '"', '\'', '…'];

/// A word with `@`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NamedWord {
    /// The name, as it was written.
    pub(super) name: String,
    /// Whether a bracket or a quote precedes the `@`.
    pub(super) is_opened: bool,
}

impl NamedWord {
    /// The name without the signs of the sentence behind it.
    pub(super) fn trimmed(&self) -> &str {
        self.name.trim_end_matches(CLOSING)
    }
}

/// Returns the words with `@` of a text, in order. Code in backticks and between fences is left out.
pub(super) fn named_words(text: &str) -> Vec<NamedWord> {
    let text = without_code(text);
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let bare = rest.trim_start_matches(OPENING);
        let (is_opened, from) = match bare.strip_prefix('@') {
            Some(_) => (bare.len() < rest.len(), bare),
            None => (false, rest),
        };
        let (word, after) = from.split_at(end_of_word(from));
        rest = after.trim_start();
        if let Some(written) = word.strip_prefix('@') {
            let name = quoted(written).map_or_else(|| unescaped(written), str::to_owned);
            found.push(NamedWord { name, is_opened });
        }
    }
    found
}

/// Returns the text with a sign in place of each piece of code.
fn without_code(text: &str) -> Cow<'_, str> {
    if !text.contains(['`', '~']) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut fence: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let marks = fence_of(line);
        match (fence, marks) {
            (Some(open), Some(marks)) if marks.starts_with(open) && line.trim() == marks => fence = None,
            (None, Some(marks)) => fence = Some(marks),
            (None, None) => push_without_spans(line, &mut plain),
            (Some(_), _) => {}
        }
        if fence.is_some() || marks.is_some() {
            plain.push('\n');
        }
    }
    Cow::Owned(plain)
}

/// Returns the marks with which a line begins or ends a block of code.
fn fence_of(line: &str) -> Option<&str> {
    let line = line.trim();
    let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let marks = &line[..line.len() - line.trim_start_matches(sign).len()];
    // Three backticks with more of them behind are code within a line.
    let is_span = sign == '`' && line[marks.len()..].contains('`');
    (marks.len() >= 3 && !is_span).then_some(marks)
}

/// Adds a line, with one backtick in place of each quoted part.
fn push_without_spans(line: &str, plain: &mut String) {
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        plain.push_str(&rest[..at]);
        let inner = rest[at..].trim_start_matches('`');
        let marks = &rest[at..rest.len() - inner.len()];
        plain.push('`');
        rest = end_of_span(inner, marks.len()).map_or(inner, |end| &inner[end..]);
    }
    plain.push_str(rest);
}

/// Returns the end of the code that begins a text, behind as many backticks as it began with.
fn end_of_span(inner: &str, marks: usize) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = inner[from..].find('`') {
        let start = from + at;
        let count = inner[start..].bytes().take_while(|byte| *byte == b'`').count();
        from = start + count;
        if count == marks {
            return Some(from);
        }
    }
    None
}

/// A name that is written after `@`.
pub(crate) fn unescaped(written: &str) -> String {
    written.replace("\\ ", " ")
}

/// Returns the index at which the last word of a text begins.
pub(crate) fn last_word(text: &str) -> usize {
    let after_last = |ends: &dyn Fn(usize, char) -> bool| {
        let last = text.char_indices().rev().find(|(at, sign)| ends(*at, *sign));
        last.map_or(0, |(at, sign)| at + sign.len_utf8())
    };
    let start = after_last(&|at, sign| ends_word(text, at, sign));
    if text[start..].starts_with('@') {
        start
    } else {
        after_last(&|_, sign| sign.is_whitespace())
    }
}

/// The name between quotes with which the words behind an `@` begin.
fn quoted(written: &str) -> Option<&str> {
    let quote = written.chars().next().filter(|sign| matches!(sign, '"' | '\''))?;
    let rest = &written[1..];
    rest.find(quote).map(|end| &rest[..end])
}

/// A name without the lines behind it, as `a.md` of `a.md:1-20`, `a.md#L1` and `a.md#L1-L20`; `None` if it
/// names none.
pub(super) fn without_lines(name: &str) -> Option<&str> {
    let (file, lines) = name.rsplit_once("#L").or_else(|| name.rsplit_once(':'))?;
    let (from, to) = lines.split_once('-').unwrap_or((lines, lines));
    let to = to.strip_prefix('L').unwrap_or(to);
    let is_number = |words: &str| !words.is_empty() && words.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(from) && is_number(to)).then_some(file)
}

/// Returns the end of the word with which a text begins.
fn end_of_word(text: &str) -> usize {
    if let Some(name) = text.strip_prefix('@').and_then(quoted) {
        let end = 1 + name.len() + 2;
        let rest = text[end..].find(char::is_whitespace);
        rest.map_or(text.len(), |more| end + more)
    } else if text.starts_with('@') {
        (text.char_indices())
            .find(|(at, sign)| ends_word(text, *at, *sign))
            .map_or(text.len(), |(at, _)| at)
    } else {
        text.find(char::is_whitespace).unwrap_or(text.len())
    }
}

/// Returns whether a word with `@` ends here: a blank behind a backslash belongs to it.
fn ends_word(text: &str, at: usize, sign: char) -> bool {
    sign.is_whitespace() && !(sign == ' ' && text[..at].ends_with('\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let words = named_words(text);
        words.iter().map(|word| word.trimmed().to_owned()).collect()
    }

    #[test]
    fn code_names_no_files() {
        for code in [
            "run `cat @a.rs` and ``echo `@b.rs` ``",
            "```\n@a.rs\n```",
            "~~~ sh\ncurl -d @data.json\n~~~\n",
            "````\n```\n@a.rs\n````",
            "  ```rust\n  @a.rs\n",
            "ada@a.rs",
        ] {
            assert!(names(code).is_empty(), "{code}");
        }
        assert_eq!(names("`x` @a.rs `y`"), ["a.rs"]);
        assert_eq!(names("```\n@a.rs\n```\n@b.rs"), ["b.rs"]);
        assert_eq!(names("```x``` and @c.rs"), ["c.rs"]);
        assert_eq!(names("a lone ` and @d.rs in ~/x"), ["d.rs"]);
    }

    #[test]
    fn a_bracket_or_a_quote_may_stand_before_a_name() {
        for text in ["(@a.rs)", "[@a.rs].", "\"@a.rs\",", "'@a.rs'", "(\"@a.rs\")"] {
            assert_eq!(names(text), ["a.rs"], "{text}");
            assert!(named_words(text).iter().all(|word| word.is_opened), "{text}");
        }
        assert!(named_words("@a.rs").iter().all(|word| !word.is_opened));
        assert_eq!(names("(@\"my own.txt\") and (see @b.rs)"), ["my own.txt", "b.rs"]);
    }

    #[test]
    fn lines_are_told_from_a_name() {
        for name in ["a.rs:2", "a.rs:2-9", "a.rs#L2", "a.rs#L2-9", "a.rs#L2-L9"] {
            assert_eq!(without_lines(name), Some("a.rs"), "{name}");
        }
        for name in ["a.rs", "a.rs:", "a.rs#L", "a.rs#2", "a.rs:x", "a.rs#Lx"] {
            assert_eq!(without_lines(name), None, "{name}");
        }
    }
}
