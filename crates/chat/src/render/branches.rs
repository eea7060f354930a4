//! Renders two branches beside each other, for people and for programs.

use agentx::history::{BranchFile, BranchSide, BranchTurn, Branches};
use agentx_terminal::{Markdown, Theme};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::clean::{clean, visible};
use super::diff::{DiffForm, changed_lines, unified};
use super::rewind::own_text;
use super::style::AnsiStyle;
use super::table::cut;
use super::units::counted;

/// The most that is shown of a file's diff.
const SHOWN: DiffForm = DiffForm {
    most: 200,
    room: 1_000,
    is_numbered: true,
};
/// Paragraphs are one line of this width, mostly.
const READ_COLUMNS: usize = 400;
/// Turns of a side that are shown; those between the first and the last are counted.
const MOST_TURNS: usize = 12;

/// Returns the text of a file at the end of a branch, which is empty if there is no file; `None` if it is not
/// known.
fn text(left: Option<&Option<Vec<u8>>>) -> Option<std::borrow::Cow<'_, str>> {
    let bytes = left?.as_deref().unwrap_or_default();
    Some(String::from_utf8_lossy(bytes))
}

fn is_text(file: &BranchFile) -> bool {
    let sides = file.left.iter().flatten().flatten();
    sides.into_iter().all(|bytes| !bytes.contains(&0))
}

/// Returns the numbers of lines that are added and removed from the first branch to the second.
fn counts(file: &BranchFile) -> Option<(usize, usize)> {
    let (one, other) = (text(file.left[0].as_ref())?, text(file.left[1].as_ref())?);
    if !is_text(file) {
        return None;
    }
    let diff = TextDiff::from_lines(one.as_ref(), other.as_ref());
    let count = |tag| {
        diff.iter_all_changes()
            .filter(|change| change.tag() == tag)
            .count()
    };
    Some((count(ChangeTag::Insert), count(ChangeTag::Delete)))
}

/// Returns the diff of a file for people.
fn lines(file: &BranchFile, style: AnsiStyle) -> Vec<String> {
    match (text(file.left[0].as_ref()), text(file.left[1].as_ref())) {
        (Some(one), Some(other)) if is_text(file) => changed_lines(&one, &other, SHOWN, style),
        _ => Vec::new(),
    }
}

/// Returns the whole diff of a file for programs.
fn unified_diff(file: &BranchFile) -> String {
    match (text(file.left[0].as_ref()), text(file.left[1].as_ref())) {
        (Some(one), Some(other)) if is_text(file) => unified(&one, &other),
        _ => String::new(),
    }
}

fn state(left: Option<&Option<Vec<u8>>>) -> &'static str {
    match left {
        None => "unknown",
        Some(None) => "absent",
        Some(Some(_)) => "there",
    }
}

/// Renders the branches for people.
pub fn render(branches: &Branches, style: AnsiStyle, width: usize) -> String {
    let [one, other] = &branches.sides;
    let mut text = format!(
        "{} and {} are the same up to event {}\n",
        one.session_id, other.session_id, branches.part_after
    );
    for side in &branches.sides {
        text.push_str(&side_text(side, style, width));
    }
    if branches.files.is_empty() {
        text.push_str("files changed by agents are the same\n");
        return text;
    }
    text.push_str(&style.bold(&format!("from {} to {}", one.session_id, other.session_id)));
    text.push('\n');
    for file in &branches.files {
        text.push_str(&file_text(file, branches, style));
    }
    text
}

/// Renders the changes of a session's tools, from before the session to its end.
pub fn changes(files: &[BranchFile], style: AnsiStyle) -> String {
    let mut text = String::new();
    for file in files {
        let what = match (state(file.left[0].as_ref()), state(file.left[1].as_ref())) {
            ("unknown", _) | (_, "unknown") => "its content is not in the log".to_owned(),
            ("absent", _) => format!("new, {}", much(file)),
            (_, "absent") => format!("deleted, {}", much(file)),
            _ => much(file),
        };
        text.push_str(&with_lines(file, &what, style));
    }
    text
}

/// The number of lines that differ.
fn much(file: &BranchFile) -> String {
    match counts(file) {
        Some((added, removed)) => format!("+{added} -{removed}"),
        None => "not text".to_owned(),
    }
}

/// A file with what happened to it, and its diff.
fn with_lines(file: &BranchFile, what: &str, style: AnsiStyle) -> String {
    let mut text = format!("{}  {}\n", visible(&file.shown), style.dim(what));
    for line in lines(file, style) {
        text.push_str(&format!("  {line}\n"));
    }
    text
}

fn side_text(side: &BranchSide, style: AnsiStyle, width: usize) -> String {
    let mut text = format!("{}\n", style.bold(side.session_id.as_str()));
    if side.turns.is_empty() {
        text.push_str(&style.dim("  no messages since\n"));
    }
    let hidden = side.turns.len().saturating_sub(MOST_TURNS);
    for (index, turn) in side.turns.iter().enumerate() {
        let from_end = side.turns.len() - index;
        if hidden > 0 && index >= MOST_TURNS / 2 && from_end > MOST_TURNS / 2 {
            if index == MOST_TURNS / 2 {
                text.push_str(&style.dim(&format!("  … {hidden} more\n")));
            }
            continue;
        }
        text.push_str(&turn_text(turn, style, width));
    }
    text
}

fn turn_text(turn: &BranchTurn, style: AnsiStyle, width: usize) -> String {
    match turn {
        BranchTurn::Input { texts, .. } => {
            let words = own_text(texts);
            let first = words
                .lines()
                .map(str::trim)
                .find(|line| !line.is_empty())
                .unwrap_or_default();
            let said = cut(&visible(first), width.saturating_sub(4));
            format!("  {}\n", style.person(&format!("› {said}")))
        }
        BranchTurn::Answer { text, calls, .. } => {
            let lines = read(text);
            let mut more = Vec::new();
            match lines.len() {
                0 | 1 => {}
                n => more.push(format!("{} more", counted(n - 1, "line"))),
            }
            match calls {
                0 => {}
                n => more.push(counted(*n, "call")),
            }
            let more = if more.is_empty() {
                String::new()
            } else {
                format!("… {}", more.join(", "))
            };
            let Some(first) = lines.first() else {
                return format!("    {}\n", style.dim(&more));
            };
            let said = cut(first, width.saturating_sub(6 + more.len()));
            let line = format!("    {said}  {}", style.dim(&more));
            format!("{}\n", line.trim_end())
        }
    }
}

/// The lines of an answer as a person reads them, and not as the model marks them.
fn read(answer: &str) -> Vec<String> {
    let mut markdown = Markdown::new(READ_COLUMNS, Theme::plain());
    markdown.push(&clean(answer));
    markdown.end();
    let rows = markdown.take_done().into_iter().map(|row| row.text());
    rows.map(|row| row.trim().trim_start_matches('#').trim_start().to_owned())
        .filter(|row| !row.is_empty())
        .collect()
}

fn file_text(file: &BranchFile, branches: &Branches, style: AnsiStyle) -> String {
    let what = match (state(file.left[0].as_ref()), state(file.left[1].as_ref())) {
        ("unknown", _) | (_, "unknown") => "its end is not in the log".to_owned(),
        ("absent", _) => "only in the second".to_owned(),
        (_, "absent") => "only in the first".to_owned(),
        _ => match counts(file) {
            Some((added, removed)) => format!("+{added} -{removed}"),
            None => "differs; not text".to_owned(),
        },
    };
    let [one, other] = &branches.sides;
    let who = match file.changed {
        [true, true] => "changed in both".to_owned(),
        [true, false] => format!("changed in {}", one.session_id),
        _ => format!("changed in {}", other.session_id),
    };
    with_lines(file, &format!("{what} · {who}"), style)
}

/// Renders the branches for programs.
pub fn json(branches: &Branches) -> Value {
    let files: Vec<Value> = branches
        .files
        .iter()
        .map(|file| {
            let counts = counts(file);
            json!({
                "path": file.path, "changed_in_one": file.changed[0], "changed_in_other": file.changed[1],
                "one": state(file.left[0].as_ref()), "other": state(file.left[1].as_ref()),
                "added": counts.map(|(added, _)| added), "removed": counts.map(|(_, removed)| removed),
                "diff": unified_diff(file),
            })
        })
        .collect();
    json!({
        "part_after": branches.part_after,
        "one": branches.sides[0],
        "other": branches.sides[1],
        "files": files,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_and_not_their_marks() {
        assert_eq!(
            read("## The **plan**\n\n- one `a`\n- two [b](https://c.d)\n"),
            ["The plan", "• one a", "• two b (https://c.d)"]
        );
        let answer = |text: &str, calls| {
            let turn = BranchTurn::Answer {
                seq: 1,
                text: text.into(),
                calls,
            };
            turn_text(&turn, AnsiStyle::default(), 40)
        };
        assert_eq!(
            answer("It is **done**.\nAll.", 1),
            "    It is done.  … 1 line more, 1 call\n"
        );
        assert_eq!(answer("# One\n\ntwo\n", 0), "    One  … 1 line more\n");
        assert_eq!(answer("", 2), "    … 2 calls\n");
    }
}
