//! Renders a change of a file as a diff with a few lines of context: each line with its number, and with the
//! words that changed in a stronger style.

mod rows;
mod word_marks;

use std::ops::Range;

use similar::{ChangeTag, TextDiff};

use super::clean::{visible, visible_part};
use super::style::AnsiStyle;
use super::table::cut;
use super::units;
use rows::{DiffLine, DiffRow};

/// Texts beyond this are not compared; a person would not read that either.
const MOST_BYTES: usize = 1 << 20;

/// The extent of a diff on a screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiffForm {
    /// Maximum number of rows.
    pub(crate) most: usize,
    /// Maximum width of a row, in columns; a longer one is cut.
    pub(crate) room: usize,
    /// Whether the lines have numbers: not if the texts are only a part of a file at an unknown place.
    pub(crate) is_numbered: bool,
}

impl DiffForm {
    /// Everything, with numbers.
    pub(crate) const WHOLE: Self = Self {
        most: usize::MAX,
        room: usize::MAX,
        is_numbered: true,
    };
}

/// Renders the difference of two texts, and says how many further lines there are. Only the sizes of texts
/// that are too large to compare are shown.
pub(crate) fn changed_lines(old: &str, new: &str, form: DiffForm, style: AnsiStyle) -> Vec<String> {
    if let Some(instead) = too_large(old, new) {
        return vec![style.dim(&instead)];
    }
    let diff = TextDiff::from_lines(old, new);
    rendered(&rows::of_texts(&diff, form.is_numbered), form, style)
}

/// Renders a unified diff that a tool made, without a head: at most `most` lines, none wider than `room`.
pub(crate) fn shortened(diff: &str, most: usize, room: usize, style: AnsiStyle) -> Vec<String> {
    let form = DiffForm {
        most,
        room,
        is_numbered: true,
    };
    rendered(&rows::of_unified(diff), form, style)
}

/// Returns the difference of two texts as a unified diff, for programs.
pub(crate) fn unified(old: &str, new: &str) -> String {
    if let Some(instead) = too_large(old, new) {
        return format!("{instead}\n");
    }
    let diff = TextDiff::from_lines(old, new);
    let mut text = String::new();
    for row in rows::of_texts(&diff, false) {
        text.push_str(&match row {
            DiffRow::Hunk(head) => format!("{head}\n"),
            DiffRow::Line(line) => format!("{}{}\n", line.tag, visible(line.text)),
            DiffRow::Note(words) => format!("{words}\n"),
        });
    }
    text
}

/// Returns the line about texts that are too large to compare.
fn too_large(old: &str, new: &str) -> Option<String> {
    (old.len() + new.len() > MOST_BYTES).then(|| format!("{} bytes become {}", old.len(), new.len()))
}

fn rendered(rows: &[DiffRow<'_>], form: DiffForm, style: AnsiStyle) -> Vec<String> {
    // The numbers say where the first hunk begins.
    let rows = match rows {
        [DiffRow::Hunk(_), rows @ ..] => rows,
        rows => rows,
    };
    let marks = rows::word_marks(rows);
    let shown = &rows[..rows.len().min(form.most)];
    let highest = shown.iter().filter_map(|row| match row {
        DiffRow::Line(line) => line.number,
        DiffRow::Hunk(_) | DiffRow::Note(_) => None,
    });
    let columns = DiffColumns {
        digits: highest.max().map_or(0, |number| number.to_string().len()),
        room: form.room,
        style,
    };
    let rendered = shown.iter().zip(&marks);
    let mut lines: Vec<String> = rendered.map(|(row, marks)| columns.row(row, marks)).collect();
    if rows.len() > shown.len() {
        let more = units::counted(rows.len() - shown.len(), "line");
        lines.push(style.dim(&format!("… {more} more")));
    }
    lines
}

/// The columns of a diff: the number, the sign, the text.
struct DiffColumns {
    /// The width of the numbers; 0 if there are none.
    digits: usize,
    room: usize,
    style: AnsiStyle,
}

impl DiffColumns {
    fn row(&self, row: &DiffRow<'_>, marks: &[Range<usize>]) -> String {
        let number = match row {
            DiffRow::Line(DiffLine {
                number: Some(number), ..
            }) => self.number(&number.to_string()),
            _ => self.number(""),
        };
        let room = self.room.saturating_sub(number.len());
        match row {
            DiffRow::Hunk(_) => self.style.dim(&format!("{:>1$}", "⋮", self.digits)),
            DiffRow::Note(words) => self.style.dim(&format!("{number}{}", cut(&visible(words), room))),
            DiffRow::Line(line) if line.tag == ChangeTag::Equal => {
                let words = cut(&format!(" {}", visible(line.text)), room);
                self.style.dim(&format!("{number}{words}"))
            }
            DiffRow::Line(line) => format!("{}{}", self.style.dim(&number), self.changed(line, marks, room)),
        }
    }

    /// Returns the column of a number.
    fn number(&self, number: &str) -> String {
        match self.digits {
            0 => String::new(),
            digits => format!("{number:>digits$} "),
        }
    }

    /// Returns the sign and the text of a removed or added line, in at most `room` columns.
    fn changed(&self, line: &DiffLine<'_>, marks: &[Range<usize>], room: usize) -> String {
        let whole = format!("{}{}", line.tag, visible(line.text));
        let shown = cut(&whole, room);
        if marks.is_empty() {
            return self.paint(line.tag, &shown, false);
        }
        let is_cut = shown != whole;
        let mut left = shown.len() - if is_cut { '…'.len_utf8() } else { 0 };
        let mut text = String::new();
        let mut say = |words: &str, is_marked: bool| {
            let words = &words[..words.len().min(left)];
            left -= words.len();
            text.push_str(&self.paint(line.tag, words, is_marked));
        };
        say(&line.tag.to_string(), false);
        let mut at = 0;
        for mark in marks {
            say(&visible_part(line.text, at..mark.start), false);
            say(&visible_part(line.text, mark.clone()), true);
            at = mark.end;
        }
        say(&visible_part(line.text, at..line.text.len()), false);
        if is_cut {
            text.push_str(&self.paint(line.tag, "…", false));
        }
        text
    }

    fn paint(&self, tag: ChangeTag, text: &str, is_marked: bool) -> String {
        let style = self.style;
        match tag {
            ChangeTag::Delete if is_marked => style.removed_words(text),
            ChangeTag::Delete => style.bad(text),
            ChangeTag::Insert if is_marked => style.added_words(text),
            ChangeTag::Insert => style.good(text),
            ChangeTag::Equal => style.dim(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use agentx_terminal::Row;

    use super::*;

    const COLOURS: AnsiStyle = AnsiStyle {
        color: true,
        words: false,
    };

    fn plain(old: &str, new: &str, most: usize) -> Vec<String> {
        let form = DiffForm {
            most,
            ..DiffForm::WHOLE
        };
        changed_lines(old, new, form, AnsiStyle::default())
    }

    #[test]
    fn a_diff_of_a_tool_is_told_in_short() {
        let diff = "@@ -1,2 +1,2 @@\n same\n-old and rather long\n+new\n";
        let told = shortened(diff, 2, 14, AnsiStyle::default());
        assert_eq!(told, ["1  same", "2 -old and ra…", "… 1 line more"]);
    }

    #[test]
    fn a_diff_of_a_tool_looks_like_one_of_two_texts() {
        let old: String = (1..40).map(|i| format!("line {i}\n")).collect();
        let new = old
            .replace("line 12\n", "")
            .replace("line 30\n", "line\t30\nand\n");
        let diff = unified(&old, &new);
        let told = shortened(&diff, usize::MAX, usize::MAX, COLOURS);
        assert_eq!(told, changed_lines(&old, &new, DiffForm::WHOLE, COLOURS));
        let plain: Vec<String> = told.iter().map(|line| Row::from_ansi(line).text()).collect();
        assert_eq!(
            plain,
            [
                " 9  line 9",
                "10  line 10",
                "11  line 11",
                "12 -line 12",
                "12  line 13",
                "13  line 14",
                "14  line 15",
                " ⋮",
                "26  line 27",
                "27  line 28",
                "28  line 29",
                "30 -line 30",
                "29 +line⇥30",
                "30 +and",
                "31  line 31",
                "32  line 32",
                "33  line 33",
            ]
        );
    }

    #[test]
    fn other_text_than_a_unified_diff_is_shown_without_numbers() {
        let diff = "--- a/x\n+++ b/x\n@@ what @@\n-old\u{1b}[2K\n[the diff goes on]\n";
        assert_eq!(
            shortened(diff, 9, 40, AnsiStyle::default()),
            [
                "--- a/x",
                "+++ b/x",
                "@@ what @@",
                "-old␛[2K",
                "[the diff goes on]"
            ]
        );
    }

    #[test]
    fn lines_that_go_and_come_are_shown_with_those_around() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\n";
        assert_eq!(
            plain(old, &old.replace("e\n", "E\u{1b}[2K\n"), 40),
            ["2  b", "3  c", "4  d", "5 -e", "5 +E␛[2K", "6  f", "7  g", "8  h"]
        );
        assert_eq!(plain("", "x\ny\n", 40), ["1 +x", "2 +y"]);
        assert_eq!(plain("x\ny\n", "", 40), ["1 -x", "2 -y"]);
        assert_eq!(
            plain("x", "y\n", 40),
            ["1 -x", "  \\ no newline at end of file", "1 +y"]
        );
        assert!(plain(old, old, 40).is_empty());
        let moved = "b\nc\na\n";
        assert_eq!(plain("a\nb\nc\n", moved, 40), ["1 -a", "1  b", "2  c", "3 +a"]);
        let form = DiffForm {
            is_numbered: false,
            ..DiffForm::WHOLE
        };
        let part = changed_lines("a\nb\n", "a\nc\n", form, AnsiStyle::default());
        assert_eq!(part, [" a", "-b", "+c"]);
    }

    #[test]
    fn programs_get_a_unified_diff() {
        assert_eq!(
            unified("one\ntwo\nthree", "one\n2\t\nthree"),
            "@@ -1,3 +1,3 @@\n one\n-two\n+2⇥\n three\n\\ no newline at end of file\n"
        );
    }

    #[test]
    fn no_more_than_is_read() {
        let new: String = (0..1000).map(|i| format!("{i}\n")).collect();
        let lines = plain("", &new, 5);
        assert_eq!(lines.len(), 6);
        assert_eq!(lines[5], "… 995 lines more");
        assert_eq!(plain("", &"x".repeat(MOST_BYTES + 1), 5).len(), 1);
    }

    #[test]
    fn colours_say_the_same() {
        let lines = changed_lines("a\n", "b\n", DiffForm::WHOLE, COLOURS);
        assert_eq!(
            lines,
            [
                "\u{1b}[2m1 \u{1b}[0m\u{1b}[31m-a\u{1b}[0m",
                "\u{1b}[2m1 \u{1b}[0m\u{1b}[32m+b\u{1b}[0m"
            ]
        );
    }

    #[test]
    fn words_that_changed_stand_out() {
        let lines = changed_lines("say hello to all\n", "say bye to all\n", DiffForm::WHOLE, COLOURS);
        let row = Row::from_ansi(&lines[0]);
        assert_eq!(row.text(), "1 -say hello to all");
        let bold: Vec<&str> = row
            .spans
            .iter()
            .filter(|span| span.style.bold)
            .map(|span| &*span.text)
            .collect();
        assert_eq!(bold, ["hello"]);
        let blanks = changed_lines("a b\n", "a  b\n", DiffForm::WHOLE, COLOURS);
        let row = Row::from_ansi(&blanks[1]);
        assert!(row.spans.iter().any(|span| span.style.underline), "{blanks:?}");
    }

    #[test]
    fn no_row_is_wider_than_its_room() {
        let old = "船 lie higher than they seem to do\n";
        let diff = unified(old, &old.replace("seem", "seemed\t"));
        for style in [AnsiStyle::default(), COLOURS] {
            let whole = shortened(&diff, 9, usize::MAX, style);
            for room in 4..44 {
                for (line, whole) in shortened(&diff, 9, room, style).iter().zip(&whole) {
                    let (row, whole) = (Row::from_ansi(line), Row::from_ansi(whole));
                    assert!(row.width() <= room, "{room}: {}", row.text());
                    let is_cut = row.text().ends_with('…');
                    assert_eq!(is_cut, whole.width() > room, "{room}: {}", row.text());
                }
            }
        }
    }
}
