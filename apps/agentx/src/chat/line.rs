//! How the line that is being written lies on the screen: broken into rows, as many as there is room for, those around the cursor.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// What stands for a tab.
const TAB: &str = "    ";

/// The line that is being written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// What stands before it.
    pub(crate) prompt: String,
    /// What is written.
    pub(crate) text: String,
    /// Where the cursor is in it, in bytes.
    pub(crate) cursor: usize,
}

/// How a line lies on the screen.
pub(super) struct Layout {
    pub(super) rows: Vec<String>,
    pub(super) row: usize,
    pub(super) column: usize,
}

/// Breaks the line into rows, at most `most` of them: those around the cursor.
pub(super) fn layout(line: &Line, columns: usize, most: usize) -> Layout {
    let mut rows = vec![line.prompt.clone()];
    let mut width = line.prompt.width();
    let mut cursor = (0, width);
    let mut bytes = 0;
    for grapheme in line.text.graphemes(true) {
        // A tab is as wide as the terminal likes: blanks are not.
        let shown = if grapheme == "\t" { TAB } else { grapheme };
        let wide = shown.width();
        if grapheme != "\n" && width + wide > columns {
            rows.push(String::new());
            width = 0;
        }
        if bytes == line.cursor {
            cursor = (rows.len() - 1, width);
        }
        bytes += grapheme.len();
        if grapheme == "\n" || grapheme == "\r\n" {
            rows.push("  ".to_owned());
            width = 2;
            continue;
        }
        if let Some(row) = rows.last_mut() {
            row.push_str(shown);
        }
        width += wide;
    }
    if width >= columns {
        rows.push(String::new());
        width = 0;
    }
    if bytes <= line.cursor {
        cursor = (rows.len() - 1, width);
    }
    let first = (cursor.0 + 1).saturating_sub(most.max(1));
    let rows: Vec<String> = rows.into_iter().skip(first).take(most.max(1)).collect();
    Layout {
        rows,
        row: cursor.0 - first,
        column: cursor.1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, cursor: usize, columns: usize, most: usize) -> (Vec<String>, usize, usize) {
        let line = Line {
            prompt: "› ".into(),
            text: text.into(),
            cursor,
        };
        let layout = layout(&line, columns, most);
        (layout.rows, layout.row, layout.column)
    }

    #[test]
    fn what_is_wide_or_joined_is_never_torn_at_the_end_of_a_row() {
        let rows = |rows: &[&str]| rows.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>();
        assert_eq!(of("abc好", 6, 6, 9), (rows(&["› abc", "好"]), 1, 2));
        assert_eq!(of("abcd", 4, 6, 9), (rows(&["› abcd", ""]), 1, 0));
        assert_eq!(of("abce\u{301}x", 7, 6, 9), (rows(&["› abce\u{301}", "x"]), 1, 1));
        let family = "👨\u{200d}👩\u{200d}👧";
        let text = format!("abc{family}");
        assert_eq!(of(&text, 3, 6, 9), (rows(&["› abc", family]), 1, 0));
        assert_eq!(of("a\tb", 2, 20, 9), (rows(&["› a    b"]), 0, 7));
        assert_eq!(of("a\nb\nc\nd", 7, 20, 2), (rows(&["  c", "  d"]), 1, 3));
    }
}
