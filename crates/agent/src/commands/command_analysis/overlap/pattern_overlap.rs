//! Decides whether a partly unknown command may be one to which a rule applies.
//!
//! Both sides have parts that stand for anything, so this compares two patterns: `git push *` and `git`
//! followed by an unknown word have texts in common. The time is the product of their lengths. Beyond a bound
//! the answer is yes, because the question is whether the command can be excluded.
//!
//! The algorithm keeps one row of a table: row `i` holds which prefixes of `open` may equal the first `i`
//! pieces of the pattern.

use crate::commands::command_analysis::lex::expand::{ANYTHING, STAR};
use crate::pattern::fits_name;

/// Maximum number of cells of the table; a longer pair counts as overlapping.
pub(super) const MOST_STEPS: usize = 1 << 20;

/// A part of either side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PatternPiece {
    /// Any run of characters, none included.
    Any,
    /// This character.
    Is(char),
}

/// Returns whether some text matches both `pattern` and `open`. In the pattern `*` stands for any run of
/// characters, in `open` a NUL does. A pattern that ends with a blank and `*` also matches without them.
pub(crate) fn may_fit(pattern: &str, open: &str) -> bool {
    let stem = pattern.strip_suffix(" *");
    meet(&of_pattern(pattern), &of_open(open))
        || stem.is_some_and(|stem| meet(&of_pattern(stem), &of_open(open)))
}

/// Returns whether one name matches both `pattern`, whose stars stand for any run of characters, and `open`,
/// in which a NUL or a [`STAR`] does.
pub(crate) fn names_meet(pattern: &str, open: &str) -> bool {
    // Nearly all names differ at an end, and most have no mark; neither needs a table.
    let is_compared = pattern.len().saturating_mul(open.len()) <= MOST_STEPS;
    if is_compared && differ_at_an_end(pattern.as_bytes(), open.as_bytes()) {
        return false;
    }
    if is_compared && !open.contains([ANYTHING, STAR]) {
        return fits_name(pattern, open);
    }
    meet(&of_pattern(pattern), &of_open(open))
}

/// Returns whether a pattern and a name certainly begin or end with different bytes.
fn differ_at_an_end(pattern: &[u8], open: &[u8]) -> bool {
    let is_mark = |byte: u8| char::from(byte) == ANYTHING || char::from(byte) == STAR;
    let differ = |byte: Option<&u8>, of_open: Option<&u8>| match (byte, of_open) {
        (Some(b'*' | b'\\'), _) | (None, _) | (_, None) => false,
        (Some(byte), Some(of_open)) => byte != of_open && !is_mark(*of_open),
    };
    differ(pattern.first(), open.first()) || differ(pattern.last(), open.last())
}

/// Returns the pieces of a rule's pattern, in which `\*` is a literal star.
fn of_pattern(pattern: &str) -> Vec<PatternPiece> {
    let mut pieces = Vec::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        pieces.push(match c {
            '\\' if chars.peek() == Some(&'*') => {
                chars.next();
                PatternPiece::Is('*')
            }
            '*' => PatternPiece::Any,
            c => PatternPiece::Is(c),
        });
    }
    pieces
}

/// Returns the pieces of a command or a name with marks.
fn of_open(open: &str) -> Vec<PatternPiece> {
    let piece = |c| match c {
        ANYTHING | STAR => PatternPiece::Any,
        c => PatternPiece::Is(c),
    };
    open.chars().map(piece).collect()
}

/// Returns whether two patterns have a text in common. Row by row, `reached[j]` says whether the prefix of
/// `a` up to this row and the first `j` pieces of `b` may be the same text.
fn meet(a: &[PatternPiece], b: &[PatternPiece]) -> bool {
    if a.len().saturating_mul(b.len()) > MOST_STEPS {
        return true;
    }
    let mut reached = vec![false; b.len() + 1];
    reached[0] = true;
    skip(&mut reached, b);
    for piece in a {
        let before = reached;
        reached = match piece {
            // The piece may stand for nothing, and for any text that follows.
            PatternPiece::Any => {
                let mut open = false;
                let until_here = |was: &bool| {
                    open |= *was;
                    open
                };
                before.iter().map(until_here).collect()
            }
            PatternPiece::Is(_) => {
                let taken = |j: usize| match b.get(j) {
                    Some(PatternPiece::Any) => before[j],
                    _ => false,
                };
                let mut next = vec![false; b.len() + 1];
                for j in 0..b.len() {
                    next[j] |= taken(j);
                    next[j + 1] |= before[j] && (b[j] == *piece);
                }
                next
            }
        };
        skip(&mut reached, b);
    }
    reached[b.len()]
}

/// Marks the positions that are reached because a wildcard may match nothing.
fn skip(reached: &mut [bool], b: &[PatternPiece]) {
    for (j, piece) in b.iter().enumerate() {
        if reached[j] && *piece == PatternPiece::Any {
            reached[j + 1] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_become_the_same_text_meets() {
        for (pattern, open, meets) in [
            ("git push *", "git\0", true),
            ("git push *", "git pu\0sh", true),
            ("git push *", "git pu\0x", true),
            ("git push *", "git\0 push", true),
            ("git push *", "git log\0", false),
            ("git push *", "echo\0", false),
            ("rm -rf *", "rm\0 x", true),
            ("rm -rf *", "rm -r x", false),
            ("*secret*", "cat \0", true),
            ("a", "a", true),
            ("a", "\0a\0", true),
            ("ab", "\0ba\0", false),
            (r"rm \*", "rm *", true),
            (r"rm \*", "rm x", false),
        ] {
            assert_eq!(may_fit(pattern, open), meets, "{pattern:?} {open:?}");
        }
    }

    #[test]
    fn names_meet_as_their_tables_say() {
        let texts = |letters: &[char]| {
            let mut all = vec![String::new()];
            let mut from = 0;
            for _ in 0..4 {
                let longer = all[from..]
                    .iter()
                    .flat_map(|text| letters.iter().map(move |letter| format!("{text}{letter}")));
                let longer: Vec<String> = longer.collect();
                from = all.len();
                all.extend(longer);
            }
            all
        };
        let names = texts(&['a', 'é', '*', STAR]);
        for pattern in texts(&['a', 'é', '*', '\\']) {
            for name in &names {
                let expected = meet(&of_pattern(&pattern), &of_open(name));
                assert_eq!(names_meet(&pattern, name), expected, "{pattern:?} {name:?}");
            }
        }
    }
}
