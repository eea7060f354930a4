//! Finds a cut in a long paragraph, so that finished rows need not be rendered again with each word: right
//! after the last finished row, if nothing is open there and the rest is still a paragraph.

use super::blocks::BlockKind;
use super::inline::closed;

/// Maximum number of rows to check for one after which the text may be cut.
pub(super) const TRIES: usize = 6;

/// Returns a place at the end of a row after which the text may be cut, and the number of letters before it.
/// `ends` has the numbers of letters at the ends of rows; `said` returns the number of letters that a
/// beginning of the text shows.
pub(super) fn place(
    text: &str,
    kind: BlockKind,
    ends: &[usize],
    said: impl Fn(&str) -> usize,
) -> Option<(usize, usize)> {
    if kind != BlockKind::Text {
        return None;
    }
    let blanks: Vec<usize> = text
        .char_indices()
        .filter(|(_, c)| matches!(c, ' ' | '\n'))
        .map(|(at, _)| at)
        .collect();
    ends.iter().rev().find_map(|letters| {
        let at = *blanks.get(blanks.partition_point(|at| said(&text[..*at]) < *letters))?;
        let (before, after) = (&text[..at], &text[at + 1..]);
        let is_closed = closed(before) == before && !is_open(before) && !before.ends_with([' ', '\\']);
        (is_closed && goes_on(after) && said(before) == *letters).then_some((at + 1, *letters))
    })
}

/// Returns whether a link, a picture or a tag may end further on.
pub(super) fn is_open(text: &str) -> bool {
    let ends = |begin: char, end: &str| text.rfind(begin).is_none_or(|at| text[at..].contains(end));
    let leads = |at: usize| text[at + 2..].contains(')');
    !ends('[', "]") || !ends('<', ">") || !text.rfind("](").is_none_or(leads) || text.ends_with(']')
}

/// Returns whether this continues with a sentence, and can be nothing else.
fn goes_on(text: &str) -> bool {
    let word = text.trim_start_matches(['*', '(', '"', '\'']);
    let is_number = word
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .starts_with(['.', ')']);
    word.starts_with(char::is_alphanumeric) && !is_number
}
