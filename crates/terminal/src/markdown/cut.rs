//! Finds the place in a long paragraph before which all rows are final. It depends on the text alone, and not
//! on the pieces in which the text comes.

use super::blocks::{BlockKind, MarkdownBlock, may_become_anything};
use super::inline::closed;
use super::literal;
use crate::text::{Row, width};

/// Number of rows at the end of a paragraph that stay live: a closing sign may change the style of the text
/// that it closes, and the next letters may move a word to the next row.
pub(super) const LIVE_ROWS: usize = 3;

/// Number of live rows above which final rows are looked for.
const MOST_ROWS: usize = LIVE_ROWS * 2;

/// Number of live rows above which a sign that is still open is taken to the letter.
const MOST_OPEN_ROWS: usize = LIVE_ROWS * 6;

/// Number of live rows above which the text is cut anywhere.
const MOST_UNCUT_ROWS: usize = LIVE_ROWS * 12;

/// Maximum number of rows to check for one after which the text may be cut.
const TRIES: usize = 6;

/// A place before which all rows are final.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The number of bytes before it.
    pub(super) at: usize,
    /// The text before it, with a meaning that later text cannot change.
    pub(super) before: String,
    /// The rows of that text.
    pub(super) rows: Vec<Row>,
}

/// Finds a place at the end of a row, behind the first `released` bytes of the block. `live` is the number of
/// rows that are not final yet, `render` returns the rows of a beginning of the text.
pub(super) fn find(
    block: &MarkdownBlock,
    released: usize,
    live: usize,
    render: impl Fn(&str) -> Vec<Row>,
) -> Option<Cut> {
    if live <= MOST_ROWS {
        return None;
    }
    let text = block.text.as_str();
    let all = render(text);
    // The last place before which there are no more than this number of rows.
    let last_place = |places: &[usize], rows: usize| {
        let after = places.partition_point(|at| render(&text[..*at]).len() <= rows);
        after.checked_sub(1).map(|i| places[i])
    };
    let words = places(text, released, |last, next| is_wide(last) && is_wide(next));
    let mut ends = (all.len() - live + 1..=all.len() - LIVE_ROWS).rev().take(TRIES);
    let found = ends.find_map(|rows| {
        let at = last_place(&words, rows)?;
        let waits = live <= MOST_OPEN_ROWS && is_open(&text[..at]);
        if waits || !continues(&text[at..], block.kind) {
            return None;
        }
        cut_at(at, block, &render).filter(|cut| cut.rows == all[..rows])
    });
    if found.is_some() || live <= MOST_UNCUT_ROWS {
        return found;
    }
    let letters = places(text, released, |last, next| {
        last.is_alphanumeric() && next.is_alphanumeric()
    });
    cut_at(last_place(&letters, all.len() - LIVE_ROWS)?, block, &render)
}

/// Returns the cut at a place, unless the text before it may have another meaning without what follows.
fn cut_at(at: usize, block: &MarkdownBlock, render: impl Fn(&str) -> Vec<Row>) -> Option<Cut> {
    let before = block.text[..at].trim_end();
    let line = before.rsplit('\n').next().unwrap_or_default();
    if before.ends_with('\\') || may_become_anything(line) {
        return None;
    }
    let before = literal::fixed(before, block.kind)?;
    let rows = render(&before);
    Some(Cut { at, before, rows })
}

/// Returns the places before words behind the first `released` bytes, and those between two letters that may
/// be cut apart.
fn places(text: &str, released: usize, may_cut: impl Fn(char, char) -> bool) -> Vec<usize> {
    let is_blank = |c| matches!(c, ' ' | '\n');
    let neighbours = text.char_indices().zip(text.char_indices().skip(1));
    neighbours
        .filter(|(_, (at, _))| *at > released)
        .filter(|((_, last), (_, next))| !is_blank(*next) && (is_blank(*last) || may_cut(*last, *next)))
        .map(|(_, (at, _))| at)
        .collect()
}

fn is_wide(c: char) -> bool {
    c.is_alphanumeric() && width(c.encode_utf8(&mut [0; 4])) > 1
}

/// Returns whether emphasis, code, a link, a picture or a tag may end further on.
fn is_open(text: &str) -> bool {
    let ends = |begin: char, end: &str| text.rfind(begin).is_none_or(|at| text[at..].contains(end));
    let leads = |at: usize| text[at + 2..].contains(')');
    closed(text) != text || !ends('[', "]") || !ends('<', ">") || !text.rfind("](").is_none_or(leads)
}

/// Returns whether the rest of a paragraph is a paragraph by itself. The rest of a container keeps what is
/// before it.
fn continues(rest: &str, kind: BlockKind) -> bool {
    let word = rest.trim_start_matches(['*', '_', '(', '"', '\'']);
    let is_number = word
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .starts_with(['.', ')']);
    let is_code = rest.starts_with('`') && !rest.starts_with("```");
    let is_sentence = word.starts_with(|c: char| c.is_alphanumeric() || !c.is_ascii()) && !is_number;
    kind.is_container() || is_code || is_sentence
}

/// Returns a text that makes the rest of a paragraph a paragraph by itself, and the number of bytes at its
/// beginning that it replaces.
pub(super) fn beginning(rest: &str) -> (String, usize) {
    match rest.chars().next() {
        Some(first) if !continues(rest, BlockKind::Text) => {
            // A sign that is written as its number begins nothing.
            (format!("&#{};", u32::from(first)), first.len_utf8())
        }
        _ => (String::new(), 0),
    }
}
