//! Wraps text for a terminal between words, and indents further rows to the column in which the text begins.

use agentx_terminal::{Line, Row, Style};

use super::clean::colours;

/// The placeholder for a blank between words that stay together.
const TOGETHER: char = '\u{e000}';
/// The signs that begin a message; its further rows are indented behind them.
const HEADS: [&str; 8] = [
    "error: ",
    "hint: ",
    "note: ",
    "warning: ",
    "› ",
    "you: ",
    "· ",
    "■ ",
];

/// Wraps each line into the rows that it needs. Text in backquotes stays together if it fits into a row, so
/// that it can be copied.
pub fn wrap_lines(text: &str, width: usize) -> String {
    let mut fitted = String::with_capacity(text.len());
    for line in text.lines() {
        let (looks, line, reset) = without_looks(line);
        fitted.push_str(looks);
        // A line with control sequences inside is not broken.
        if agentx_terminal::width(line) <= width || line.contains('\u{1b}') {
            fitted.push_str(line);
            fitted.push_str(reset);
            fitted.push('\n');
            continue;
        }
        let blanks = line.len() - line.trim_start_matches(' ').len();
        let head = HEADS.iter().find(|head| line.starts_with(**head));
        let hang = head
            .map_or(blanks, |head| agentx_terminal::width(head))
            .min(width / 3);
        let mut whole = Line::new(&keep_quotes_together(line, width - hang), Style::default());
        whole.rest = Row::new(&" ".repeat(hang), Style::default());
        let rows = whole.rows(width).into_iter();
        let rows: Vec<String> = rows.map(|row| row.text().replace(TOGETHER, " ")).collect();
        fitted.push_str(&rows.join("\n"));
        fitted.push_str(reset);
        fitted.push('\n');
    }
    fitted
}

/// A line apart from the colours that it begins with, and from what ends them.
fn without_looks(line: &str) -> (&str, &str, &str) {
    let mut begin = 0;
    while let Some(length) = colours(&line[begin..]) {
        begin += length;
    }
    let end = line.rfind("\u{1b}[").filter(|at| *at >= begin);
    let end = end.filter(|at| colours(&line[*at..]) == Some(line.len() - at));
    let end = end.unwrap_or(line.len());
    (&line[..begin], &line[begin..end], &line[end..])
}

/// The line with quoted spaces replaced by non-breaking ones, as far as that fits.
fn keep_quotes_together(line: &str, width: usize) -> String {
    let parts = line.split('`').enumerate().map(|(at, part)| {
        let is_quoted = at % 2 == 1 && agentx_terminal::width(part) + 2 <= width;
        if is_quoted {
            part.replace(' ', &TOGETHER.to_string())
        } else {
            part.to_owned()
        }
    });
    parts.collect::<Vec<String>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_and_so_does_what_is_quoted() {
        let text = "error: invalid value 'all' for '--approve <WHO>'\n       [possible values: ask, auto, deny]\n\
                    hint: run `agentx help approvals test` first, or `agentx help`\n";
        assert_eq!(
            wrap_lines(text, 40),
            "error: invalid value 'all' for\n       '--approve <WHO>'\n       [possible values: ask, auto,\n       deny]\n\
             hint: run `agentx help approvals test`\n      first, or `agentx help`\n"
        );
        assert_eq!(wrap_lines(text, 100), text, "where it fits nothing changes");
    }

    #[test]
    fn what_is_coloured_whole_is_broken_between_words_too() {
        assert_eq!(
            wrap_lines("\u{1b}[2mnote: one two three four five\n\u{1b}[0m", 20),
            "\u{1b}[2mnote: one two three\n      four five\n\u{1b}[0m\n"
        );
        assert_eq!(
            wrap_lines("\u{1b}[33mone two three four\u{1b}[0m\n", 12),
            "\u{1b}[33mone two\nthree four\u{1b}[0m\n"
        );
    }

    #[test]
    fn words_of_a_session_hang_behind_their_sign() {
        assert_eq!(
            wrap_lines("\u{1b}[36m› one two three\u{1b}[0m\n  four five six\n", 10),
            "\u{1b}[36m› one two\n  three\u{1b}[0m\n  four\n  five six\n"
        );
    }

    #[test]
    fn no_row_is_too_long_and_nothing_is_lost() {
        let text = "error: `a very long command that fits into no row at all` 好好好好好好好好好好 pathwithoutanyblank/and/more\n";
        for width in 20..60 {
            let rows = wrap_lines(text, width);
            assert!(
                rows.lines().all(|row| agentx_terminal::width(row) <= width),
                "{width}: {rows}"
            );
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            assert_eq!(letters(&rows), letters(text), "{width}");
        }
    }
}
