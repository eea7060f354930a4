//! Finds the words that changed within lines, so that a person sees one changed word in a long line.

use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};
use unicode_segmentation::UnicodeSegmentation as _;

/// Maximum number of steps that comparing may take for one diff: the square of the number of words of a
/// change, summed over the changes. Further changes have no marks.
const MOST_STEPS: usize = 16 << 20;
/// Maximum number of bytes of one change, old and new; a longer one has no marks.
const MOST_BYTES: usize = 64 << 10;
/// Signs that end a word of code, although Unicode counts them as a part of it: `clock.now` has two names.
const BETWEEN: [char; 3] = ['.', ':', '\''];

/// Compares the words of changed lines, as long as its bound allows.
#[derive(Debug)]
pub(super) struct WordComparison {
    steps_left: usize,
}

/// A word, a blank or a sign of a line.
#[derive(Debug)]
struct DiffWord<'a> {
    /// The index of its line.
    line: usize,
    /// The offset in its line, in bytes.
    start: usize,
    text: &'a str,
}

impl WordComparison {
    /// Creates a comparison that has its whole bound left.
    pub(super) fn new() -> Self {
        Self {
            steps_left: MOST_STEPS,
        }
    }

    /// Compares the removed lines of a change with the added ones. Returns the bytes that changed in each
    /// line: of the lines in `old`, then of those in `new`. A line has none if it has little in common with
    /// the other side, or if the change is beyond the bound.
    pub(super) fn changed(&mut self, old: &[&str], new: &[&str]) -> Vec<Vec<Range<usize>>> {
        let mut marks = vec![Vec::new(); old.len() + new.len()];
        let bytes: usize = old.iter().chain(new).map(|line| line.len()).sum();
        if old.is_empty() || new.is_empty() || bytes > MOST_BYTES {
            return marks;
        }
        let (before, after) = (words(old), words(new));
        let steps = (before.len() + after.len()).saturating_pow(2);
        let Some(left) = self.steps_left.checked_sub(steps) else {
            return marks;
        };
        self.steps_left = left;
        let ops = capture_diff_slices(Algorithm::Myers, &texts(&before), &texts(&after));
        for op in ops.iter().filter(|op| op.tag() != DiffTag::Equal) {
            mark(&before[op.old_range()], &mut marks[..old.len()]);
            mark(&after[op.new_range()], &mut marks[old.len()..]);
        }
        for (line, marks) in old.iter().chain(new).zip(&mut marks) {
            if !has_enough_in_common(line, marks) {
                marks.clear();
            }
        }
        marks
    }
}

fn texts<'a>(words: &[DiffWord<'a>]) -> Vec<&'a str> {
    words.iter().map(|word| word.text).collect()
}

/// Adds the words to the marks of their lines; neighbours become one mark.
fn mark(words: &[DiffWord<'_>], marks: &mut [Vec<Range<usize>>]) {
    for word in words {
        let end = word.start + word.text.len();
        match marks[word.line].last_mut() {
            Some(last) if last.end == word.start => last.end = end,
            _ => marks[word.line].push(word.start..end),
        }
    }
}

/// Returns whether at least a third of the letters of a line is outside its marks.
fn has_enough_in_common(line: &str, marks: &[Range<usize>]) -> bool {
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
    let changed: usize = marks.iter().map(|mark| letters(&line[mark.clone()])).sum();
    let all = letters(line);
    (all - changed) * 3 >= all
}

/// Splits lines into words, blanks and signs.
fn words<'a>(lines: &[&'a str]) -> Vec<DiffWord<'a>> {
    let mut words = Vec::new();
    for (line, &text) in lines.iter().enumerate() {
        for (mut start, word) in text.split_word_bound_indices() {
            for part in word.split_inclusive(BETWEEN) {
                let name = part.trim_end_matches(BETWEEN);
                for text in [name, &part[name.len()..]] {
                    if !text.is_empty() {
                        words.push(DiffWord { line, start, text });
                    }
                    start += text.len();
                }
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(old: &[&str], new: &[&str]) -> Vec<Vec<String>> {
        let marks = WordComparison::new().changed(old, new);
        let lines = old.iter().chain(new).zip(marks);
        lines
            .map(|(line, marks)| marks.into_iter().map(|mark| line[mark].to_owned()).collect())
            .collect()
    }

    #[test]
    fn only_the_words_that_changed_are_marked() {
        assert_eq!(
            changed(
                &["let tide = water(Instant::now());"],
                &["let tide = water(clock.now())?;"]
            ),
            [vec!["Instant::"], vec!["clock.", "?"]]
        );
        assert_eq!(
            changed(&["我 like 茶"], &["我 like 水"]),
            [vec!["茶"], vec!["水"]]
        );
        assert_eq!(
            changed(&["\tfour five"], &["    four five"]),
            [vec!["\t"], vec!["    "]]
        );
    }

    #[test]
    fn a_line_that_is_new_beside_changed_ones_has_no_marks() {
        assert_eq!(
            changed(&["moor(tide);"], &["// ships lie higher", "moor(tide + 1);"]),
            [vec![], vec![], vec![" + 1"]]
        );
        assert_eq!(changed(&["hello"], &["bye"]), [Vec::<&str>::new(), vec![]]);
    }

    #[test]
    fn words_are_compared_within_a_bound() {
        let line = |word: &str| format!("{word}{}", " a".repeat(1_000));
        let (one, two) = (line("one"), line("two"));
        let mut comparison = WordComparison::new();
        let first = comparison.changed(&[&one], &[&two]);
        assert_eq!(first.concat(), [0..3, 0..3]);
        let last = comparison.changed(&[&one], &[&two]);
        assert!(last.iter().all(Vec::is_empty), "{last:?}");
        let long = "a ".repeat(MOST_BYTES / 2);
        assert!(changed(&[&long], &["a b"]).iter().all(Vec::is_empty));
    }
}
