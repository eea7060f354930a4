//! Small functions for reading plain words: prefixes in any case, quotes, names of files. Only the intents
//! use them.
//!
//! They return pieces of the input, never fail, and cut only at the boundaries of characters, because an
//! input may be any text.

/// Returns the text after `prefix` in `text`, ignoring ASCII case. A prefix that ends in a letter or digit
/// must be a whole word there.
pub(super) fn after_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    if !head.eq_ignore_ascii_case(prefix) {
        return None;
    }
    let rest = &text[prefix.len()..];
    let word_goes_on = prefix.ends_with(|c: char| c.is_ascii_alphanumeric())
        && rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "_.-/".contains(c));
    (!word_goes_on).then(|| rest.trim_start_matches([' ', '\t', ':', '：', ',', '，']))
}

/// Returns the text after the first matching prefix.
pub(super) fn after_any<'a>(text: &'a str, prefixes: &[&str]) -> Option<&'a str> {
    prefixes.iter().find_map(|prefix| after_prefix(text, prefix))
}

/// `text` without any of `prefixes`, taken off for as long as one fits.
pub(super) fn without_prefixes<'a>(mut text: &'a str, prefixes: &[&str]) -> &'a str {
    while let Some(rest) = after_any(text, prefixes) {
        if rest.len() == text.len() {
            break;
        }
        text = rest;
    }
    text
}

/// Returns whether the words of `text` hold one of `needles`; `text` is lower case already.
pub(super) fn has_any(text: &str, needles: &[&str]) -> bool {
    needles.iter().any(|needle| {
        if needle.chars().all(|c| c.is_ascii_alphanumeric()) {
            text.split(|c: char| !c.is_ascii_alphanumeric())
                .any(|word| word == *needle)
        } else {
            text.contains(needle)
        }
    })
}

/// `text` split at the last of `marks`, both sides trimmed and not empty.
pub(super) fn split_last<'a>(text: &'a str, marks: &[&str]) -> Option<(&'a str, &'a str)> {
    let (at, mark) = marks
        .iter()
        .filter_map(|mark| text.rfind(mark).map(|at| (at, mark)))
        .max_by_key(|(at, mark)| (at + mark.len(), mark.len()))?;
    let sides = (text[..at].trim(), text[at + mark.len()..].trim());
    (!sides.0.is_empty() && !sides.1.is_empty()).then_some(sides)
}

/// `text` without the quotes or backticks around it.
pub(super) fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let pairs = [
        ('"', '"'),
        ('\'', '\''),
        ('`', '`'),
        ('“', '”'),
        ('「', '」'),
        ('《', '》'),
    ];
    pairs
        .iter()
        .find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close))
        .unwrap_or(text)
}

/// `text` without the punctuation that ends a sentence.
pub(super) fn without_end(text: &str) -> &str {
    text.trim()
        .trim_end_matches(['?', '!', '？', '！', '。', '，', ',', ';'])
        .trim_end()
}

/// The name of a file, if `text` is only that: quoted, or one word.
pub(super) fn file_name(text: &str) -> Option<&str> {
    let text = without_prefixes(without_end(text), &["the file", "file", "the", "文件", "一下"]);
    let text = text
        .strip_suffix(" file")
        .or_else(|| text.strip_suffix("文件"))
        .unwrap_or(text);
    let sentence = text.trim_end_matches('.');
    let quoted = unquoted(sentence);
    let is_quoted = quoted.len() != sentence.trim().len();
    // `@FILE` sends a file along; without the sign it is the file's name.
    let quoted = quoted.strip_prefix('@').unwrap_or(quoted);
    (!quoted.is_empty() && (is_quoted || !quoted.contains(char::is_whitespace))).then_some(quoted)
}

/// Returns whether `name` looks like a path rather than a word.
pub(super) fn looks_like_path(name: &str) -> bool {
    let known = ["README", "LICENSE", "Makefile", "Dockerfile"];
    known.contains(&name) || (name.len() > 1 && name.contains(['.', '/']) && !name.ends_with('.'))
}

/// Returns whether a person who writes this reads Chinese. The first line with letters counts: the lines
/// after it may be a file that was sent along.
pub(super) fn is_in_chinese(text: &str) -> bool {
    let first = text.lines().find(|line| line.contains(char::is_alphabetic));
    first.is_some_and(|line| line.chars().any(is_han))
}

/// Returns whether `c` is a character that is written without spaces around it.
pub(super) fn is_han(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{FF00}'..='\u{FFEF}' | '\u{20000}'..='\u{2FA1F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_whole_word_of_any_case() {
        assert_eq!(after_prefix("Run: ls -l", "run"), Some("ls -l"));
        assert_eq!(after_prefix("running late", "run"), None);
        assert_eq!(after_prefix("运行 ls", "运行"), Some("ls"));
        assert_eq!(after_prefix("é", "e"), None);
    }

    #[test]
    fn the_first_line_chooses_the_language() {
        assert!(is_in_chinese("读 README.md") && is_in_chinese("1.\n你好"));
        assert!(!is_in_chinese("read this\n\n你好") && !is_in_chinese("") && !is_in_chinese("123"));
    }

    #[test]
    fn file_names_are_single_words_or_quoted() {
        assert_eq!(file_name("the file `a b.txt`"), Some("a b.txt"));
        assert_eq!(file_name("README.md."), Some("README.md"));
        assert_eq!(file_name("README.md?"), Some("README.md"));
        assert_eq!(file_name("@src/app.py"), Some("src/app.py"));
        assert_eq!(file_name("me a story"), None);
        assert_eq!(file_name(""), None);
    }

    #[test]
    fn the_last_mark_splits() {
        assert_eq!(
            split_last("go to town to a.txt", &[" to "]),
            Some(("go to town", "a.txt"))
        );
        assert_eq!(split_last("to ", &["to "]), None);
    }
}
