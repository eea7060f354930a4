//! Lays the input line out on the screen: breaks it into rows, and keeps those around the cursor that fit.

use agentx_terminal::{Line as Text, Row, Style};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// The blanks in place of a tab.
const TAB: &str = "    ";

/// The line that is being written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InputLine {
    /// The text before the input.
    pub(crate) prompt: String,
    /// The input.
    pub(crate) text: String,
    /// The position of the cursor in the input, in bytes.
    pub(crate) cursor: usize,
}

/// The layout of a line on the screen.
pub(in crate::chat) struct Layout {
    pub(in crate::chat) rows: Vec<String>,
    pub(in crate::chat) row: usize,
    pub(in crate::chat) column: usize,
}

/// Breaks the line into rows, at most `most` of them: those around the cursor.
pub(in crate::chat) fn layout(line: &InputLine, columns: usize, most: usize) -> Layout {
    let mut rows = prompt_rows(&line.prompt, columns);
    let mut width = rows.last().map_or(0, |row| row.width());
    let mut cursor = (rows.len() - 1, width);
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

/// Returns the rows of the prompt. A question that is wider than the terminal is broken between its words,
/// with room for an answer.
fn prompt_rows(prompt: &str, columns: usize) -> Vec<String> {
    if prompt.width() < columns {
        return vec![prompt.to_owned()];
    }
    let rows = Text::new(prompt.trim_end(), Style::default()).rows(columns.saturating_sub(2));
    let mut rows: Vec<String> = rows.iter().map(Row::text).collect();
    if let Some(last) = rows.last_mut().filter(|_| prompt.ends_with(' ')) {
        last.push(' ');
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, cursor: usize, columns: usize, most: usize) -> (Vec<String>, usize, usize) {
        let line = InputLine {
            prompt: "› ".into(),
            text: text.into(),
            cursor,
        };
        let layout = layout(&line, columns, most);
        (layout.rows, layout.row, layout.column)
    }

    #[test]
    fn a_question_that_is_too_wide_is_broken_between_its_words() {
        let line = InputLine {
            prompt: "allow? y once · n no › ".into(),
            text: "y".into(),
            cursor: 1,
        };
        let layout = layout(&line, 16, 9);
        assert_eq!(layout.rows, ["allow? y once", "· n no › y"]);
        assert_eq!((layout.row, layout.column), (1, 10));
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
