//! The indent of the further rows of a line that is too long for one row.

use agentx_terminal::{Line, Row};

/// Maximum number of columns of a hanging indent. A line that begins farther in is a picture.
const MOST_HANGING: usize = 12;

/// Returns a line whose further rows are indented like its first one: behind its blanks, and behind the bar
/// of an output or the sign of a list.
pub(in crate::chat) fn hanging(line: &str) -> Line {
    let mut text = Line::from_ansi(line);
    let plain: String = text.spans.iter().map(|span| span.text.as_str()).collect();
    let blanks = plain.len() - plain.trim_start_matches(' ').len();
    if blanks > 0 && blanks < plain.len() && blanks <= MOST_HANGING {
        let told = &plain[blanks..];
        let bar = match told {
            told if told.starts_with("│ ") => "│ ",
            told if told.starts_with(['└', '☑', '☐', '▸', '·']) => "  ",
            _ => "",
        };
        let look = text.spans.first().map(|span| span.style).unwrap_or_default();
        text.rest = Row::new(&format!("{}{bar}", " ".repeat(blanks)), look);
    }
    text
}
