//! The rows of a diff: its lines with their numbers, from two texts or from a diff that a tool made.

use std::borrow::Cow;
use std::ops::Range;

use similar::{ChangeTag, TextDiff};

use super::word_marks::WordComparison;

/// The number of lines around a change.
const CONTEXT: usize = 3;
/// The highest number of a line; a diff that claims a higher one is shown without numbers.
const MOST_LINES: usize = 9_999_999;

/// A row of a diff.
#[derive(Debug)]
pub(super) enum DiffRow<'a> {
    /// The beginning of a hunk: `@@ -1,2 +1,2 @@`.
    Hunk(Cow<'a, str>),
    /// A line of the old or the new text.
    Line(DiffLine<'a>),
    /// A remark, such as that the line before has no line end.
    Note(&'a str),
}

/// A line of a diff.
#[derive(Debug)]
pub(super) struct DiffLine<'a> {
    /// Whether the line is removed, added or in both texts.
    pub(super) tag: ChangeTag,
    /// The number of the line in the old text if it is removed, otherwise in the new one, from 1. `None` if
    /// it is unknown.
    pub(super) number: Option<usize>,
    /// The line without its sign and its line end.
    pub(super) text: &'a str,
}

/// Returns the hunks of a comparison, with or without the numbers of the lines.
pub(super) fn of_texts<'d>(diff: &'d TextDiff<'_, '_, str>, is_numbered: bool) -> Vec<DiffRow<'d>> {
    let mut rows = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let head = format!(
            "@@ -{} +{} @@",
            range(first.old_range().start, last.old_range().end),
            range(first.new_range().start, last.new_range().end)
        );
        rows.push(DiffRow::Hunk(head.into()));
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let index = match change.tag() {
                ChangeTag::Delete => change.old_index(),
                ChangeTag::Equal | ChangeTag::Insert => change.new_index(),
            };
            rows.push(DiffRow::Line(DiffLine {
                tag: change.tag(),
                number: index.filter(|_| is_numbered).map(|index| index + 1),
                text: change.value().trim_end_matches(['\n', '\r']),
            }));
            if change.missing_newline() {
                rows.push(DiffRow::Note("\\ no newline at end of file"));
            }
        }
    }
    rows
}

/// Returns a range as `first,count`: lines count from 1, an empty range from 0.
fn range(start: usize, end: usize) -> String {
    let count = end - start;
    let first = if count == 0 { start } else { start + 1 };
    match count {
        1 => first.to_string(),
        _ => format!("{first},{count}"),
    }
}

/// The numbers of the next lines of a hunk.
struct NextNumbers {
    old: usize,
    new: usize,
}

impl NextNumbers {
    /// Reads the head of a hunk.
    fn read(head: &str) -> Option<Self> {
        let (old, rest) = head.strip_prefix("@@ -")?.split_once(" +")?;
        let (new, _) = rest.split_once(" @@")?;
        let first = |range: &str| {
            let number: usize = range.split(',').next()?.parse().ok()?;
            (number <= MOST_LINES).then_some(number)
        };
        Some(Self {
            old: first(old)?,
            new: first(new)?,
        })
    }

    /// Returns the number of a line and goes to the next one.
    fn pass(&mut self, tag: ChangeTag) -> usize {
        let (old, new) = (self.old, self.new);
        if tag != ChangeTag::Insert {
            self.old += 1;
        }
        if tag != ChangeTag::Delete {
            self.new += 1;
        }
        if tag == ChangeTag::Delete { old } else { new }
    }
}

/// Reads a unified diff. Rows that are not part of one become notes.
pub(super) fn of_unified(diff: &str) -> Vec<DiffRow<'_>> {
    let mut rows = Vec::new();
    let mut next = None;
    for line in diff.lines() {
        if line.starts_with("@@") {
            next = NextNumbers::read(line);
            rows.push(match next {
                Some(_) => DiffRow::Hunk(line.into()),
                None => DiffRow::Note(line),
            });
            continue;
        }
        let tag = match line.chars().next() {
            Some('-') => ChangeTag::Delete,
            Some('+') => ChangeTag::Insert,
            Some(' ') | None => ChangeTag::Equal,
            Some(_) => {
                rows.push(DiffRow::Note(line));
                continue;
            }
        };
        rows.push(DiffRow::Line(DiffLine {
            tag,
            number: next.as_mut().map(|next| next.pass(tag)),
            text: line.get(1..).unwrap_or_default(),
        }));
    }
    rows
}

/// Returns the bytes that changed in the text of each row: removed lines are compared with the added lines
/// that follow them.
pub(super) fn word_marks(rows: &[DiffRow<'_>]) -> Vec<Vec<Range<usize>>> {
    let mut changes = Changes {
        rows,
        comparison: WordComparison::new(),
        old: Vec::new(),
        new: Vec::new(),
        marks: vec![Vec::new(); rows.len()],
    };
    for (at, row) in rows.iter().enumerate() {
        match row {
            DiffRow::Note(_) => {}
            DiffRow::Line(line) if line.tag == ChangeTag::Insert => changes.new.push(at),
            DiffRow::Line(line) if line.tag == ChangeTag::Delete => {
                if !changes.new.is_empty() {
                    changes.compare();
                }
                changes.old.push(at);
            }
            DiffRow::Line(_) | DiffRow::Hunk(_) => changes.compare(),
        }
    }
    changes.compare();
    changes.marks
}

/// The change that is being read, and the marks of those before it.
struct Changes<'a> {
    rows: &'a [DiffRow<'a>],
    comparison: WordComparison,
    /// The indices of its removed lines.
    old: Vec<usize>,
    /// The indices of its added lines.
    new: Vec<usize>,
    marks: Vec<Vec<Range<usize>>>,
}

impl Changes<'_> {
    /// Ends the change.
    fn compare(&mut self) {
        let (old, new) = (std::mem::take(&mut self.old), std::mem::take(&mut self.new));
        let (removed, added) = (texts(self.rows, &old), texts(self.rows, &new));
        let changed = self.comparison.changed(&removed, &added);
        for (at, marks) in old.into_iter().chain(new).zip(changed) {
            self.marks[at] = marks;
        }
    }
}

/// Returns the texts of the lines at these indices.
fn texts<'a>(rows: &'a [DiffRow<'_>], indices: &[usize]) -> Vec<&'a str> {
    let lines = indices.iter().map(|at| match &rows[*at] {
        DiffRow::Line(line) => line.text,
        DiffRow::Hunk(_) | DiffRow::Note(_) => "",
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(diff: &str) -> Vec<Option<usize>> {
        let lines = of_unified(diff).into_iter();
        lines
            .filter_map(|row| match row {
                DiffRow::Line(line) => Some(line.number),
                DiffRow::Hunk(_) | DiffRow::Note(_) => None,
            })
            .collect()
    }

    #[test]
    fn lines_of_a_unified_diff_have_the_number_of_where_they_are() {
        assert_eq!(
            numbers("@@ -7,3 +9,3 @@ fn a()\n same\n-old\n+new\n\n@@ -20 +22,0 @@\n-gone\n"),
            [Some(9), Some(8), Some(10), Some(11), Some(20)]
        );
    }

    #[test]
    fn a_wrong_head_gives_no_numbers() {
        for head in ["@@ -x +1 @@", "@@", "@@ -99999999999 +1 @@", "@@ -1 +10000000 @@"] {
            assert_eq!(numbers(&format!("@@ -1 +1 @@\n{head}\n-old\n")), [None], "{head}");
        }
    }
}
