//! The motions of a cursor in a text: by graphemes, words and rows; functions of a text and a place in it.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation as _};
use unicode_width::UnicodeWidthStr as _;

/// Returns the place itself, or the next one between two graphemes: inserted text can combine with a mark
/// after it.
pub(super) fn snapped(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(false) => cursor.next_boundary(text, 0).ok().flatten().unwrap_or(text.len()),
        Ok(true) | Err(_) => at,
    }
}

/// Returns the place one grapheme back.
pub(super) fn previous_grapheme(text: &str, at: usize) -> usize {
    let before = text[..at].grapheme_indices(true).next_back();
    before.map_or(0, |(start, _)| start)
}

/// Returns the place one grapheme forward.
pub(super) fn next_grapheme(text: &str, at: usize) -> usize {
    let next = text[at..].graphemes(true).next();
    next.map_or(at, |next| at + next.len())
}

/// The beginning of the word before, as Unicode sees words.
pub(super) fn word_before(text: &str, at: usize) -> usize {
    let mut words = text[..at].unicode_word_indices();
    words.next_back().map_or(0, |(start, _)| start)
}

/// The end of the word after, as Unicode sees words.
pub(super) fn word_after(text: &str, at: usize) -> usize {
    let mut words = text[at..].unicode_word_indices();
    words
        .next()
        .map_or(text.len(), |(start, word)| at + start + word.len())
}

/// Returns the beginning of the row.
pub(super) fn row_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// Returns the end of the row, before its line end.
pub(super) fn row_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end)
}

/// The first place in the row that is not blank.
pub(super) fn row_text(text: &str, at: usize) -> usize {
    let (start, end) = (row_start(text, at), row_end(text, at));
    let row = &text[start..end];
    start + (row.len() - row.trim_start().len())
}

/// The place above, if there is a row above.
pub(super) fn row_above(text: &str, at: usize) -> Option<usize> {
    let start = row_start(text, at);
    let above = start.checked_sub(1)?;
    Some(same_column(text, row_start(text, above), above, start, at))
}

/// The place below, if there is a row below.
pub(super) fn row_below(text: &str, at: usize) -> Option<usize> {
    let below = Some(row_end(text, at) + 1).filter(|below| *below <= text.len())?;
    Some(same_column(
        text,
        below,
        row_end(text, below),
        row_start(text, at),
        at,
    ))
}

/// Returns the position in the row `from..to` that is as many graphemes from its start as `at` is from
/// `start`.
fn same_column(text: &str, from: usize, to: usize, start: usize, at: usize) -> usize {
    let along = text[start..at].graphemes(true).count();
    let mut places = text[from..to].grapheme_indices(true);
    places.nth(along).map_or(to, |(place, _)| from + place)
}

/// The class of a grapheme: as in vi, graphemes of one class form a word. With `big`, everything but blanks
/// is one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CharClass {
    /// Blanks and line ends.
    Blank,
    /// Letters, digits, `_`.
    Letter,
    /// Letters that take two columns, as 中文.
    Wide,
    /// Other signs.
    Sign,
}

/// Returns the class of a grapheme.
pub(super) fn kind(grapheme: &str, big: bool) -> CharClass {
    let first = grapheme.chars().next().unwrap_or(' ');
    if first.is_whitespace() {
        CharClass::Blank
    } else if big {
        CharClass::Sign
    } else if first.is_alphanumeric() && grapheme.width() > 1 {
        CharClass::Wide
    } else if first.is_alphanumeric() || first == '_' {
        CharClass::Letter
    } else {
        CharClass::Sign
    }
}

fn kind_at(text: &str, at: usize, big: bool) -> Option<CharClass> {
    let grapheme = text[at..].graphemes(true).next()?;
    Some(kind(grapheme, big))
}

/// Moves forward from `at` over characters of this class.
fn past(text: &str, mut at: usize, of: CharClass, big: bool) -> usize {
    while kind_at(text, at, big) == Some(of) {
        at = next_grapheme(text, at);
    }
    at
}

/// Moves back from `at` over characters of this class.
fn back_over(text: &str, mut at: usize, of: CharClass, big: bool) -> usize {
    while at > 0 && kind_at(text, previous_grapheme(text, at), big) == Some(of) {
        at = previous_grapheme(text, at);
    }
    at
}

/// vi's `w`: the beginning of the next word.
pub(super) fn next_word(text: &str, at: usize, big: bool) -> usize {
    let Some(here) = kind_at(text, at, big) else {
        return at;
    };
    past(text, past(text, at, here, big), CharClass::Blank, big)
}

/// vi's `b`: the beginning of this word, or of the one before.
pub(super) fn word_back(text: &str, at: usize, big: bool) -> usize {
    let at = back_over(text, at, CharClass::Blank, big);
    match at.checked_sub(1) {
        Some(_) => match kind_at(text, previous_grapheme(text, at), big) {
            Some(of) => back_over(text, at, of, big),
            None => at,
        },
        None => 0,
    }
}

/// vi's `e`: the last grapheme of this word, or of the next one.
pub(super) fn word_end(text: &str, at: usize, big: bool) -> usize {
    let from = past(text, next_grapheme(text, at), CharClass::Blank, big);
    match kind_at(text, from, big) {
        Some(of) => previous_grapheme(text, past(text, from, of, big)),
        None => previous_grapheme(text, text.len()).max(at),
    }
}

/// The word or the blanks at the cursor; with `around`, also the blanks after it, otherwise before it.
pub(super) fn word_at(text: &str, at: usize, big: bool, around: bool) -> (usize, usize) {
    let (first, last) = (row_start(text, at), row_end(text, at));
    let Some(here) = kind_at(text, at, big).filter(|_| at < last) else {
        return (at, at);
    };
    let start = back_over(text, at, here, big).max(first);
    let end = past(text, at, here, big).min(last);
    if !around {
        return (start, end);
    }
    let next = kind_at(text, end, big).unwrap_or(CharClass::Blank);
    let with_after = match here {
        CharClass::Blank => past(text, end, next, big).min(last),
        _ => past(text, end, CharClass::Blank, big).min(last),
    };
    if with_after > end {
        (start, with_after)
    } else {
        (back_over(text, start, CharClass::Blank, big).max(first), end)
    }
}

/// Returns the range between two of these signs in the row; with `around`, including the signs.
pub(super) fn quoted_at(text: &str, at: usize, sign: char, around: bool) -> Option<(usize, usize)> {
    let (first, last) = (row_start(text, at), row_end(text, at));
    let signs: Vec<usize> = text[first..last]
        .match_indices(sign)
        .map(|(i, _)| first + i)
        .collect();
    let pair = signs.chunks(2).find(|pair| pair.len() == 2 && at <= pair[1])?;
    Some(if around {
        (pair[0], pair[1] + sign.len_utf8())
    } else {
        (pair[0] + sign.len_utf8(), pair[1])
    })
}

/// Returns the range between the brackets around the place; with `around`, including the brackets.
pub(super) fn between_brackets(
    text: &str,
    at: usize,
    open: char,
    close: char,
    around: bool,
) -> Option<(usize, usize)> {
    let mut depth = 0_usize;
    let here = text[at..].chars().next();
    let opens = |(i, c): (usize, char)| {
        if c == open && depth == 0 {
            return Some(i);
        }
        if c == open {
            depth -= 1;
        } else if c == close {
            depth += 1;
        }
        None
    };
    let start = if here == Some(open) {
        at
    } else {
        text[..at].char_indices().rev().find_map(opens)?
    };
    let end = closing(text, start, open, close)?;
    Some(if around {
        (start, end + close.len_utf8())
    } else {
        (start + open.len_utf8(), end)
    })
}

/// The bracket that closes the one at `start`.
fn closing(text: &str, start: usize, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (i, c) in text[start..].char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return Some(start + i);
            }
        }
    }
    None
}

/// vi's `f` and `t` and their ways back: the place of the `count`th of this sign in the row; `till` stops
/// before it.
pub(super) fn find(
    text: &str,
    at: usize,
    sign: char,
    (back, till): (bool, bool),
    count: usize,
) -> Option<usize> {
    let is_it = |grapheme: &str| grapheme.starts_with(sign);
    if back {
        let start = row_start(text, at);
        let mut found = text[start..at]
            .grapheme_indices(true)
            .rev()
            .filter(|(_, g)| is_it(g));
        let (i, grapheme) = found.nth(count.saturating_sub(1))?;
        Some(start + i + if till { grapheme.len() } else { 0 })
    } else {
        let from = next_grapheme(text, at);
        let end = row_end(text, at).max(from);
        let mut found = text[from..end].grapheme_indices(true).filter(|(_, g)| is_it(g));
        let (i, _) = found.nth(count.saturating_sub(1))?;
        Some(if till {
            previous_grapheme(text, from + i)
        } else {
            from + i
        })
    }
}
