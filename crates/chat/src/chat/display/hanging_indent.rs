//! The indent of the further rows of a line that is too long for one row.

use agentx_terminal::{Line, Row};

/// Maximum number of columns of a hanging indent. A line that begins farther in is a picture.
const MOST_HANGING: usize = 12;

/// Returns a line whose further rows are indented like its first one: behind its blanks, and behind the bar
/// of an output, the sign of a list, or the number and the sign of a line of a change.
pub(in crate::chat) fn hanging(line: &str) -> Line {
    let mut text = Line::from_ansi(line);
    let plain: String = text.spans.iter().map(|span| span.text.as_str()).collect();
    let blanks = plain.len() - plain.trim_start_matches(' ').len();
    if blanks > 0 && blanks < plain.len() && blanks <= MOST_HANGING {
        let told = &plain[blanks..];
        let bar = match told {
            told if told.starts_with("│ ") => "│ ".to_owned(),
            told if told.starts_with(['└', '☑', '☐', '▸', '·']) => "  ".to_owned(),
            _ => match numbered(told) {
                width if blanks + width <= MOST_HANGING => " ".repeat(width),
                _ => String::new(),
            },
        };
        let look = text.spans.first().map(|span| span.style).unwrap_or_default();
        text.rest = Row::new(&format!("{}{bar}", " ".repeat(blanks)), look);
    }
    text
}

/// Returns the width of the number and the sign that a line of a change begins with: `12 -`. 0 if it does not
/// begin so.
fn numbered(line: &str) -> usize {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let is_sign = matches!(
        line.as_bytes().get(digits..digits + 2),
        Some(b" +" | b" -" | b"  ")
    );
    if is_sign && digits > 0 { digits + 2 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_rows_of_a_changed_line_stand_below_its_text() {
        let rows = |line: &str| -> Vec<String> { hanging(line).rows(14).iter().map(Row::text).collect() };
        assert_eq!(rows("    12 -let it go"), ["    12 -let it", "        go"]);
        assert_eq!(rows("     9  let it go"), ["     9  let it", "        go"]);
        assert_eq!(rows("    -let this go"), ["    -let this", "    go"]);
        assert_eq!(rows("    12 cups of tea"), ["    12 cups of", "    tea"]);
    }
}
