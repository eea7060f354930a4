//! Columns that stand under each other, also with wide characters.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Lines of cells, the first line being the heads; the last column is cut to what is left of `width`.
pub(crate) fn table(rows: &[Vec<String>], width: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|c| {
            rows.iter()
                .filter_map(|row| row.get(c))
                .map(|cell| cell.width())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (c, cell) in row.iter().enumerate() {
            if c + 1 == columns {
                let used: usize = widths[..c].iter().map(|w| w + 2).sum();
                line.push_str(&cut(cell, width.saturating_sub(used).max(16)));
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

/// At most `width` columns of a text; what is cut off is shown as `…`.
pub(crate) fn cut(text: &str, width: usize) -> String {
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
    fn what_is_too_long_is_cut() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("一二三", 4), "一…");
        assert_eq!(cut("ok", 4), "ok");
    }
}
