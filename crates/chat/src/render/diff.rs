//! Renders a change of a file as a diff with a few lines of context.

use similar::{ChangeTag, TextDiff};

use super::clean::visible;
use super::style::AnsiStyle;
use super::table::cut;
use super::units;

/// The number of lines around a change.
const CONTEXT: usize = 3;
/// Texts beyond this are not compared; a person would not read that either.
const MOST_BYTES: usize = 1 << 20;

/// Renders at most `most` lines of a unified diff, and the number of further lines. Texts that take too long
/// to compare are shown as all removed and all added.
pub(crate) fn unified(old: &str, new: &str, most: usize, style: AnsiStyle) -> Vec<String> {
    if old.len() + new.len() > MOST_BYTES {
        return vec![style.dim(&format!("{} bytes become {}", old.len(), new.len()))];
    }
    let diff = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        lines.push(style.dim(&format!(
            "@@ -{} +{} @@",
            range(first.old_range().start, last.old_range().end),
            range(first.new_range().start, last.new_range().end)
        )));
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let text = change.value();
            let words = visible(text.trim_end_matches(['\n', '\r']));
            lines.push(match change.tag() {
                ChangeTag::Delete => style.bad(&format!("-{words}")),
                ChangeTag::Insert => style.good(&format!("+{words}")),
                ChangeTag::Equal => style.dim(&format!(" {words}")),
            });
            if change.missing_newline() {
                lines.push(style.dim("\\ no newline at end of file"));
            }
        }
    }
    if lines.len() > most {
        let more = lines.len() - most;
        lines.truncate(most);
        lines.push(style.dim(&format!("… {} more", units::counted(more, "line"))));
    }
    lines
}

/// A unified diff that a tool made, without a head: at most `most` lines, none wider than `room`.
pub(crate) fn shortened(diff: &str, most: usize, room: usize, style: AnsiStyle) -> Vec<String> {
    let lines: Vec<&str> = diff.lines().collect();
    let mut told: Vec<String> = lines
        .iter()
        .take(most)
        .map(|line| {
            let words = cut(&visible(line), room);
            match line.chars().next() {
                Some('+') => style.good(&words),
                Some('-') => style.bad(&words),
                _ => style.dim(&words),
            }
        })
        .collect();
    if lines.len() > most {
        told.push(style.dim(&format!("… {} more", units::counted(lines.len() - most, "line"))));
    }
    told
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

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(old: &str, new: &str, most: usize) -> Vec<String> {
        unified(old, new, most, AnsiStyle::default())
    }

    #[test]
    fn a_diff_of_a_tool_is_told_in_short() {
        let diff = "@@ -1,2 +1,2 @@\n same\n-old and rather long\n+new\n";
        let told = shortened(diff, 3, 12, AnsiStyle::default());
        assert_eq!(told, ["@@ -1,2 +1,…", " same", "-old and ra…", "… 1 line more"]);
    }

    #[test]
    fn lines_that_go_and_come_are_shown_with_those_around() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\n";
        assert_eq!(
            plain(old, &old.replace("e\n", "E\u{1b}[2K\n"), 40),
            [
                "@@ -2,7 +2,7 @@",
                " b",
                " c",
                " d",
                "-e",
                "+E␛[2K",
                " f",
                " g",
                " h"
            ]
        );
        assert_eq!(plain("", "x\ny\n", 40), ["@@ -0,0 +1,2 @@", "+x", "+y"]);
        assert_eq!(
            plain("x", "y\n", 40),
            ["@@ -1 +1 @@", "-x", "\\ no newline at end of file", "+y"]
        );
        assert!(plain(old, old, 40).is_empty());
    }

    #[test]
    fn no_more_than_is_read() {
        let new: String = (0..1000).map(|i| format!("{i}\n")).collect();
        let lines = plain("", &new, 5);
        assert_eq!(lines.len(), 6);
        assert_eq!(lines[5], "… 996 lines more");
        assert_eq!(plain("", &"x".repeat(MOST_BYTES + 1), 5).len(), 1);
    }

    #[test]
    fn colours_say_the_same() {
        let lines = unified(
            "a\n",
            "b\n",
            9,
            AnsiStyle {
                color: true,
                ..AnsiStyle::default()
            },
        );
        assert!(lines[1].starts_with("\u{1b}[31m-a") && lines[2].starts_with("\u{1b}[32m+b"));
    }
}
