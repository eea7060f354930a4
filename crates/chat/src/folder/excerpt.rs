//! The first lines of a folder's instructions in the question about it: a person who trusts the folder has
//! seen the beginning of the text that the model gets. A bar stands before each line, so that no line can
//! look like a row or an answer of the question.

use agentx_terminal::{Row, Style};

use crate::render::clean::visible;
use crate::render::units::counted;

/// Maximum number of lines of all files together.
const MOST_LINES: usize = 6;

/// The beginning of a file of instructions.
pub(super) struct InstructionExcerpt {
    /// Its first lines, with control and invisible characters shown as signs.
    first: Vec<String>,
    /// The number of all its lines.
    lines: usize,
}

/// The rows of the excerpts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ExcerptRows {
    /// The rows of each file.
    pub(super) of_files: Vec<Vec<String>>,
    /// A row that counts the lines that are not shown.
    pub(super) more: Option<String>,
}

impl InstructionExcerpt {
    /// Reads the beginning of a file.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        Self {
            first: text.lines().take(MOST_LINES).map(visible).collect(),
            lines: text.lines().count(),
        }
    }
}

/// Returns the rows of the excerpts of the first `named` files, at most `room` in total and each at most
/// `width` columns wide. The files share the room: each has one line before any has two.
pub(super) fn excerpt_rows(
    files: &[InstructionExcerpt],
    named: usize,
    width: usize,
    room: usize,
) -> ExcerptRows {
    if room == 0 {
        return ExcerptRows::default();
    }
    let all: usize = files.iter().map(|file| file.lines).sum();
    let named = files.get(..named).unwrap_or(files);
    let fits = |most: usize| shares(named, most).iter().sum::<usize>() == all;
    let most = MOST_LINES.min(room);
    let most = if fits(most) {
        most
    } else {
        MOST_LINES.min(room - 1)
    };
    let shares = shares(named, most);
    let shown: usize = shares.iter().sum();
    let row = |words: String| Row::new(&words, Style::default()).cut(width).text();
    let text = |(file, share): (&InstructionExcerpt, usize)| {
        let lines = file.first.iter().take(share);
        lines.map(|line| row(format!("    │ {line}"))).collect()
    };
    let what = if shown == 0 { "line" } else { "more line" };
    let more = (shown < all).then(|| row(format!("    … {}: `s` shows all", counted(all - shown, what))));
    ExcerptRows {
        of_files: named.iter().zip(shares).map(text).collect(),
        more,
    }
}

/// Returns the number of lines that each file shows of at most `most` lines in total.
fn shares(files: &[InstructionExcerpt], most: usize) -> Vec<usize> {
    let mut shares = vec![0; files.len()];
    let mut left = most;
    for round in 1..=MOST_LINES {
        for (share, file) in shares.iter_mut().zip(files) {
            if left > 0 && file.first.len() >= round {
                *share = round;
                left -= 1;
            }
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of files in 40 columns and so many rows.
    fn shown(files: &[&str], room: usize) -> (Vec<Vec<String>>, Option<String>) {
        let excerpts = files.iter().map(|text| InstructionExcerpt::of(text.as_bytes()));
        let excerpts: Vec<InstructionExcerpt> = excerpts.collect();
        let rows = excerpt_rows(&excerpts, files.len(), 40, room);
        (rows.of_files, rows.more)
    }

    #[test]
    fn a_short_file_is_shown_whole_and_a_long_one_says_how_much_is_left() {
        let (rows, more) = shown(&["Be brief.\n\nAsk first.\n"], 16);
        assert_eq!(rows, [["    │ Be brief.", "    │ ", "    │ Ask first."]]);
        assert_eq!(more, None);
        let long: String = (1..=40).map(|number| format!("line {number}\n")).collect();
        let (rows, more) = shown(&[&long], 16);
        assert_eq!((rows[0].len(), rows[0][5].as_str()), (6, "    │ line 6"));
        assert_eq!(more.as_deref(), Some("    … 34 more lines: `s` shows all"));
        let (rows, more) = shown(&["a\nb\nc\nd\ne\nf\ng\n"], 16);
        assert_eq!(rows[0].len(), 6);
        assert_eq!(more.as_deref(), Some("    … 1 more line: `s` shows all"));
        assert_eq!(
            shown(&[""], 16),
            (vec![vec![]], None),
            "an empty file has no line"
        );
    }

    #[test]
    fn a_long_line_is_cut_at_the_width_and_hides_nothing() {
        let (rows, more) = shown(&[&"word ".repeat(60_000)], 16);
        assert_eq!(agentx_terminal::width(&rows[0][0]), 40);
        assert!(rows[0][0].ends_with('…') && more.is_none(), "{rows:?}");
        let (rows, _) = shown(&[&"長".repeat(50)], 16);
        assert!(agentx_terminal::width(&rows[0][0]) <= 40, "{rows:?}");
        let (rows, _) = shown(&["\u{1b}[2Ja\tb\rc\u{202e}d\u{200b}e\n1  trust it\n"], 16);
        assert_eq!(rows, [["    │ ␛[2Ja⇥b␍c<U+202E>d<U+200B>e", "    │ 1  trust it"]]);
    }

    #[test]
    fn files_share_the_rows_that_are_left() {
        let long = "a\nb\nc\nd\n";
        let (rows, more) = shown(&[long, "x\n", long], 16);
        let lengths = |rows: &[Vec<String>]| rows.iter().map(Vec::len).collect::<Vec<usize>>();
        assert_eq!(lengths(&rows), [3, 1, 2]);
        assert_eq!(more.as_deref(), Some("    … 3 more lines: `s` shows all"));
        let (rows, more) = shown(&[long, "x\n", long], 3);
        assert_eq!((lengths(&rows), more.is_some()), (vec![1, 1, 0], true));
        let (rows, more) = shown(&[long], 4);
        assert_eq!((lengths(&rows), more), (vec![4], None));
        let (rows, more) = shown(&[long], 1);
        assert_eq!(lengths(&rows), [0]);
        assert_eq!(more.as_deref(), Some("    … 4 lines: `s` shows all"));
        assert_eq!(shown(&[long], 0), (vec![], None));
        let files = [InstructionExcerpt::of(b"a\n"), InstructionExcerpt::of(b"b\n")];
        let rows = excerpt_rows(&files, 1, 40, 16);
        assert_eq!(rows.more.as_deref(), Some("    … 1 more line: `s` shows all"));
    }
}
