//! The list of messages before which a session can go back: enough of each to choose one.

use agentx::history::{PastInput, Restoring, SessionHistory};
use agentx::types::Timestamp;
use agentx_terminal::{Line, Row, Style};

use super::clean::visible;
use super::rewind::words_of;
use super::style::AnsiStyle;
use super::table::cut;
use super::units::{self, counted};
use super::wrapped_text::wrap_lines;

/// Maximum number of inputs in a list of a chat.
const LISTED: usize = 12;
/// The number of inputs in a list on a screen that has room for fewer.
const FEWEST: usize = 4;
/// The number of rows of a screen for each input, with some room for other rows.
const ROWS_OF_AN_ENTRY: usize = 4;
/// Maximum number of rows of an input.
const ROWS_OF_AN_INPUT: usize = 2;
/// Maximum number of named files that the run of an input changed.
const FILES_OF_AN_INPUT: usize = 3;
/// The number of columns before the words of an input.
const INDENT: usize = 5;

/// The size of a list of inputs, and the time now.
#[derive(Clone, Copy, Debug)]
pub struct ListLook {
    /// Maximum number of inputs to list.
    pub most: usize,
    /// The number of columns.
    pub width: usize,
    /// The colours.
    pub style: AnsiStyle,
    /// The time now.
    pub now: Timestamp,
}

impl ListLook {
    /// Returns the number of inputs to list on a screen of so many rows, or without a screen.
    pub(crate) fn most_in(rows: Option<usize>) -> usize {
        rows.map_or(LISTED, |rows| (rows / ROWS_OF_AN_ENTRY).clamp(FEWEST, LISTED))
    }
}

/// Lists inputs, newest first: the beginning of each, its time, the files that it changed, and the amount of
/// work that a rewind to before it would undo.
pub fn list(history: &SessionHistory, look: ListLook) -> String {
    let (mut text, width) = (String::new(), look.width.saturating_sub(1));
    let mut restorings = history.restorings().iter().rev().peekable();
    for input in history.inputs().iter().rev().take(look.most) {
        while let Some(restoring) = restorings.next_if(|restoring| restoring.seq > input.seq) {
            text.push_str(&put_back(history, restoring, look.style));
        }
        let rows = beginning_of(input, width.saturating_sub(INDENT));
        text.push_str(&format!("{:>3}  {}\n", input.number, rows.join("\n     ")));
        let about = format!("{:INDENT$}{}", "", effects_of(history, input, look.now));
        for row in wrap_lines(&about, width).lines() {
            text.push_str(&format!("{}\n", look.style.dim(row)));
        }
    }
    let hidden = history.inputs().len().saturating_sub(look.most);
    if hidden > 0 {
        let hidden = format!("     … {} earlier\n", counted(hidden, "input"));
        text.push_str(&look.style.dim(&hidden));
    }
    text
}

/// Returns the first rows of an input.
fn beginning_of(input: &PastInput, width: usize) -> Vec<String> {
    let line = Line::new(&words_of(input), Style::default());
    let rows: Vec<String> = line.rows(width.max(1)).iter().map(Row::text).collect();
    let Some(last) = rows
        .get(ROWS_OF_AN_INPUT - 1)
        .filter(|_| rows.len() > ROWS_OF_AN_INPUT)
    else {
        return rows;
    };
    let last = cut(&format!("{} …", last.trim_end()), width.max(1));
    let shown = rows.iter().take(ROWS_OF_AN_INPUT - 1).cloned();
    shown.chain([last]).collect()
}

/// Returns the time of an input, the files that its run changed, and the effects of a rewind to before it.
fn effects_of(history: &SessionHistory, input: &PastInput, now: Timestamp) -> String {
    let mut about = vec![units::ago(input.at, now)];
    let files = files_changed_by(history, input);
    let names: Vec<String> = files.iter().take(FILES_OF_AN_INPUT).cloned().collect();
    match files.len().saturating_sub(names.len()) {
        0 if names.is_empty() => {}
        0 => about.push(format!("changed {}", names.join(", "))),
        more => about.push(format!("changed {} and {more} more", names.join(", "))),
    }
    let undone = history.undone(input.seq);
    let mut much = counted(undone.messages, "message");
    if !undone.files.is_empty() {
        much.push_str(&format!(", {}", counted(undone.files.len(), "file")));
    }
    about.push(format!("undoes {much}"));
    if undone.beyond > 0 {
        about.push(format!("{} cannot be undone", counted(undone.beyond, "call")));
    }
    about.join(" · ")
}

/// Returns the files that the agent changed between this input and the next one.
fn files_changed_by(history: &SessionHistory, input: &PastInput) -> Vec<String> {
    let next = history.input(input.number + 1).map_or(u64::MAX, |next| next.seq);
    let files = history.files().iter();
    let changed = files.filter(|(_, trail)| trail.is_worked_on_in(input.seq..next));
    changed.map(|(path, _)| visible(history.show(path))).collect()
}

fn put_back(history: &SessionHistory, restoring: &Restoring, style: AnsiStyle) -> String {
    let to = match history
        .inputs()
        .iter()
        .find(|input| input.seq >= restoring.to_seq)
    {
        Some(input) if input.seq == restoring.to_seq => format!("before input {}", input.number),
        _ => format!("before event {}", restoring.to_seq),
    };
    let files = counted(restoring.files.len(), "file");
    let cut_off = if restoring.unfinished { ", cut off" } else { "" };
    style.dim(&format!("  ↺  {files} restored to {to}{cut_off}\n"))
}

#[cfg(test)]
mod tests {
    use agentx::types::{
        ContentPart, EnvironmentEvent, EventDraft, InputMode, MessageId, Source, UserMessage,
    };

    use super::*;

    /// A session with these messages, a minute apart.
    fn history_with(messages: &[&str]) -> SessionHistory {
        let mut history = SessionHistory::default();
        for (seq, text) in (1_u64..).zip(messages) {
            let message = UserMessage {
                message_id: MessageId::with_suffix(seq),
                content: vec![ContentPart::text(*text)],
                mode: InputMode::default(),
                idempotency_key: None,
                by: None,
                answer_schema: None,
            };
            let draft = EventDraft::<EnvironmentEvent>::new(Source::User, None, message);
            let at = Timestamp(seq.cast_signed() * 60_000_000);
            history.take(&draft.into_envelope("ses_1".into(), seq, at));
        }
        history
    }

    fn listed(history: &SessionHistory, most: usize, width: usize) -> String {
        let look = ListLook {
            most,
            width,
            style: AnsiStyle::default(),
            now: Timestamp(180_000_000),
        };
        list(history, look)
    }

    #[test]
    fn a_message_is_shown_with_its_time_and_what_going_back_undoes() {
        let history = history_with(&["hello", "look\naround"]);
        assert_eq!(
            listed(&history, 5, 80),
            "  2  look↵around\n     1 min ago · undoes 1 message\n  1  hello\n     2 min ago · undoes 2 messages\n"
        );
        let one = listed(&history, 1, 80);
        assert!(
            one.ends_with("undoes 1 message\n     … 1 input earlier\n"),
            "{one}"
        );
    }

    #[test]
    fn a_list_is_no_longer_than_its_screen() {
        assert_eq!(
            [None, Some(10), Some(24), Some(200)].map(ListLook::most_in),
            [12, 4, 6, 12]
        );
    }

    #[test]
    fn a_long_message_has_two_rows_and_no_row_is_too_wide() {
        let history = history_with(&[&"some words ".repeat(40)]);
        for width in [24, 40, 80, 200] {
            let told = listed(&history, 5, width);
            let rows: Vec<&str> = told.lines().collect();
            assert!(rows[0].starts_with("  1  some words"), "{told}");
            assert!(rows[1].starts_with("     ") && rows[1].ends_with('…'), "{told}");
            assert!(told.contains("2 min ago"), "{told}");
            for row in rows {
                assert!(agentx_terminal::width(row) <= width, "{width}: {row}");
            }
        }
    }
}
