//! Renders tables with aligned columns, also with wide characters. If the terminal is too narrow for the
//! columns, the rows become records.

use agentx_terminal::{Line, Row};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::clean::one_line;

/// A last column that would have less is not worth having.
const LAST: usize = 12;
/// The least room of a last column that is cut rather than shown in records.
const SHORTEST: usize = 6;
/// From this width on, and without a terminal, columns stay columns even if they do not fit: a program may
/// read them.
const ROOMY: usize = 100;

/// Renders lines of cells as columns. The last cell of a line is cut to the rest of `width`. If there is no
/// room for it, and the first line has heads, each line becomes a record.
pub fn table(rows: &[Vec<String>], width: usize) -> String {
    let rows = &cleaned(rows);
    let widths = widths_of(rows);
    let last = widths.last().copied().unwrap_or(0);
    let is_narrow = before_last(&widths) + last.min(LAST) > width;
    if widths.len() > 2 && width < ROOMY && is_narrow && has_heads(rows) {
        return records(rows, &widths, width);
    }
    lines(rows, &widths, width, LAST)
}

/// Renders a table whose last column is cut to a few letters before the rows become records, because one long
/// cell would turn all of them into records.
pub(crate) fn cut_table(rows: &[Vec<String>], width: usize) -> String {
    if !has_room(rows, width) {
        return table(rows, width);
    }
    let rows = &cleaned(rows);
    lines(rows, &widths_of(rows), width, SHORTEST)
}

/// Returns whether the columns fit if the last one is cut to a few letters.
pub(crate) fn has_room(rows: &[Vec<String>], width: usize) -> bool {
    let widths = widths_of(&cleaned(rows));
    let last = widths.last().copied().unwrap_or(0);
    before_last(&widths) + last.min(SHORTEST) <= width
}

/// Returns whether the last column would be cut to fewer columns than `least`.
pub(crate) fn is_last_short(rows: &[Vec<String>], width: usize, least: usize) -> bool {
    let widths = widths_of(&cleaned(rows));
    let last = widths.last().copied().unwrap_or(0);
    let room = width.saturating_sub(before_last(&widths));
    room < last && room < least
}

/// Renders each line as columns. The last cell is cut to the rest of `width`, which counts as `least` columns
/// at least.
fn lines(rows: &[Vec<String>], widths: &[usize], width: usize, least: usize) -> String {
    let columns = widths.len();
    let room = width.saturating_sub(before_last(widths)).max(least);
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (c, cell) in row.iter().enumerate() {
            if c + 1 == columns {
                line.push_str(&cut_at_word(cell, room));
            } else {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', widths[c] - cell.width() + 2));
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Renders a table whose last column is never cut: if it does not fit, each row becomes a record.
pub(crate) fn whole(rows: &[Vec<String>], width: usize) -> String {
    let rows = &cleaned(rows);
    let widths = widths_of(rows);
    let used = before_last(&widths) + widths.last().copied().unwrap_or(0);
    if used > width {
        records(rows, &widths, width)
    } else {
        table(rows, width)
    }
}

/// Removes escape sequences and line breaks from the cells, which may hold names and descriptions from an
/// untrusted folder.
fn cleaned(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let cleaned = |row: &Vec<String>| row.iter().map(|cell| one_line(cell).into_owned()).collect();
    rows.iter().map(cleaned).collect()
}

fn widths_of(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |c: usize| {
        let cells = rows.iter().filter_map(|row: &Vec<String>| row.get(c));
        cells.map(|cell| cell.as_str().width()).max().unwrap_or(0)
    };
    (0..columns).map(widest).collect()
}

/// Columns that are taken before the last cell of a line begins.
fn before_last(widths: &[usize]) -> usize {
    widths.iter().rev().skip(1).map(|width| width + 2).sum()
}

/// Returns whether the first line names the columns, in capitals.
fn has_heads(rows: &[Vec<String>]) -> bool {
    let is_head = |cell: &String| !cell.chars().any(|c| c.is_lowercase() || c.is_numeric());
    rows.first().is_some_and(|heads| heads.iter().all(is_head))
}

/// Renders each line as a record: its first cell, and below it the other cells, each with its head.
fn records(rows: &[Vec<String>], widths: &[usize], width: usize) -> String {
    let Some((heads, rows)) = rows.split_first() else {
        return String::new();
    };
    // A sign or a number alone says too little.
    let named = if widths[0] <= 2 { 2 } else { 1 };
    let mut text = String::new();
    for row in rows {
        let name: Vec<&str> = row.iter().take(named).map(|cell| cell.trim()).collect();
        push_rows(&mut text, name.join(" ").trim(), "", width);
        let mut line = String::new();
        let cells = row.iter().zip(heads).skip(named);
        for (cell, head) in cells.filter(|(cell, _)| !cell.is_empty()) {
            let cell = format!("{} {cell}", head.to_lowercase());
            if !line.is_empty() && line.width() + 3 + cell.width() + 2 > width {
                push_rows(&mut text, &line, "  ", width);
                line.clear();
            }
            let between = if line.is_empty() { "" } else { " · " };
            line.push_str(&format!("{between}{cell}"));
        }
        push_rows(&mut text, &line, "  ", width);
    }
    text
}

/// Adds words in as many rows as they need, behind `before`.
fn push_rows(text: &mut String, words: &str, before: &str, width: usize) {
    if words.is_empty() {
        return;
    }
    for row in Line::new(words, Default::default()).rows(width.saturating_sub(before.len()).max(1)) {
        text.push_str(&format!("{before}{}\n", Row::text(&row).trim_end()));
    }
}

/// The number of columns that a cut at the end of a word may give up.
const LONGEST_WORD: usize = 14;

/// Cuts a text as [`cut`] does, behind a word if one ends near.
fn cut_at_word(text: &str, width: usize) -> String {
    let short = cut(text, width);
    if short.width() == text.width() {
        return short;
    }
    match short.rfind(' ') {
        Some(at) if short[at..].width() <= LONGEST_WORD && at > 0 => {
            format!("{} …", short[..at].trim_end())
        }
        _ => short,
    }
}

/// Returns at most `width` columns of a text; a `…` replaces the rest.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used + 1 > width {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_keep_columns_straight() {
        let rows =
            [["ID", "TITLE"], ["一二", "wide"], ["abc", "narrow"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows, 80), "ID    TITLE\n一二  wide\nabc   narrow\n");
    }

    #[test]
    fn nothing_in_a_cell_drives_the_terminal() {
        let rows = [["TOOL", "DOES"], ["a\u{1b}[31m", "one\u{2028}two\nthree\u{202e}"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        for text in [table(&rows, 80), whole(&rows, 80), whole(&rows, 20)] {
            assert!(
                text.contains("a␛[31m") && !text.contains(['\u{1b}', '\u{2028}', '\u{202e}']),
                "{text:?}"
            );
        }
    }

    #[test]
    fn where_columns_have_no_room_lines_are_records() {
        let rows = [
            ["ID", "STATUS", "COST", "TITLE"],
            ["ses_1", "completed", "$0.10", "a long talk about the garden"],
            ["ses_2", "open", "", "tea"],
        ];
        let rows: Vec<Vec<String>> = rows.map(|row| row.map(str::to_owned).to_vec()).into();
        assert_eq!(
            table(&rows, 40).lines().nth(1),
            Some("ses_1  completed  $0.10  a long talk …")
        );
        assert_eq!(
            table(&rows, 28),
            "ses_1\n  status completed\n  cost $0.10\n  title a long talk about\n  the garden\nses_2\n  status open · title tea\n"
        );
        assert!(table(&rows, 28).lines().all(|line| line.width() <= 28));
        assert!(table(&rows, 100).starts_with("ID     STATUS"));
        let headless: Vec<Vec<String>> = rows[1..].to_vec();
        assert!(table(&headless, 28).starts_with("ses_1  completed  $0.10"));
        let numbered = [
            ["N", "RULE", "FROM"],
            ["1", "allow bash \"git *\"", "the session"],
        ];
        let numbered: Vec<Vec<String>> = numbered.map(|row| row.map(str::to_owned).to_vec()).into();
        assert_eq!(
            table(&numbered, 30),
            "1 allow bash \"git *\"\n  from the session\n"
        );
        let mut placed = numbered;
        placed[1][2] = "your file, config.yaml:4".into();
        assert!(table(&placed, 40).contains("  your file, …\n"));
        assert_eq!(
            whole(&placed, 40),
            "1 allow bash \"git *\"\n  from your file, config.yaml:4\n"
        );
        assert_eq!(whole(&placed, 47), table(&placed, 47), "there is room");
    }

    #[test]
    fn a_long_last_cell_is_cut_before_all_lines_become_records() {
        let rows = [
            ["ID", "STATUS", "TITLE"],
            ["ses_1", "completed", "a long talk about the garden"],
            ["ses_2", "open", "tea"],
        ];
        let rows: Vec<Vec<String>> = rows.map(|row| row.map(str::to_owned).to_vec()).into();
        let cut = "ID     STATUS     TITLE\nses_1  completed  a long …\nses_2  open       tea\n";
        assert_eq!(cut_table(&rows, 26), cut);
        assert!(cut_table(&rows, 24).lines().all(|line| line.width() <= 24));
        assert!(cut_table(&rows, 24).starts_with("ID "));
        assert!(!has_room(&rows, 23));
        assert_eq!(cut_table(&rows, 23), table(&rows, 23));
    }

    #[test]
    fn what_is_too_long_is_cut() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("一二三", 4), "一…");
        assert_eq!(cut("ok", 4), "ok");
    }
}
