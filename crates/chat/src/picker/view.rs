//! The picker as rows of a terminal: the list, the last messages beside it if there is room, and the keys.
//! Pure.

use agentx::runtime::SessionInfo;
use agentx::types::Timestamp;
use agentx_terminal::{Line, Markdown, Row, Style, Theme, width};

use super::model::{PickerModel, StatusMark};
use super::preview::Preview;
use crate::demo::is_demo;
use crate::render::clean::{clean, visible};
use crate::render::sessions::{NO_TITLE, status_of};
use crate::render::units;

/// Minimum number of columns at which the preview is beside the list.
pub(super) const BESIDE: usize = 80;
/// The mark of a copy of another session.
const FORK: &str = "⑂";
/// The maximum width of the list, because titles are short.
const WIDEST_LIST: usize = 100;
/// Rows above and below the list.
const AROUND: usize = 3;
/// Columns of how long ago it was.
const AGE: usize = 10;
/// Rows for the message to the agent; the answer gets the rest.
const SAID: usize = 4;

/// A size, a look, a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct PickerFrame {
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) theme: Theme,
    pub(super) now: Timestamp,
}

const HELP: &[(&str, &str)] = &[
    ("type", "filter by title, directory, id, model or messages"),
    ("↑ ↓", "select; also PageUp, Home, End"),
    ("Enter", "resume the selected session"),
    ("Tab", "this directory, or all directories"),
    ("Ctrl-U", "clear the filter; Ctrl-W deletes a word"),
    ("Esc", "leave without a change"),
    ("●", "open in another process, or running on the server"),
    ("!", "its process died during a run; resuming continues the run"),
    ("?", "waits for a decision"),
    ("…", "waits for a time"),
    (FORK, "a fork of another session"),
];

/// Returns the rows and the place of the cursor.
pub(super) fn rows(
    model: &PickerModel,
    preview: Option<&Preview>,
    frame: &PickerFrame,
) -> (Vec<Row>, (usize, usize)) {
    let height = frame.rows.saturating_sub(AROUND).max(1);
    let (top, cursor) = top(model, frame);
    let mut rows = vec![top];
    if model.help {
        rows.extend(help(frame, height));
        rows.push(footer("press any key to go back", frame));
        return fit_screen(rows, cursor, frame);
    }
    let has_preview = frame.columns >= BESIDE;
    let columns = if has_preview {
        (frame.columns * 11 / 20).min(WIDEST_LIST)
    } else {
        frame.columns
    };
    let mut list = list(model, columns - usize::from(has_preview), height, frame);
    if has_preview {
        let room = frame.columns - columns - 2;
        let beside = model
            .chosen()
            .map(|info| aside(model, info, preview, room, frame))
            .unwrap_or_default();
        list = joined(list, beside, columns, height, frame);
    }
    rows.extend(list);
    rows.push(match &model.note {
        Some(note) => Row::new(note, frame.theme.removed).cut(frame.columns),
        None => footer(&keys(model, frame.columns), frame),
    });
    fit_screen(rows, cursor, frame)
}

/// Cuts the rows, and keeps the cursor inside the screen.
fn fit_screen(mut rows: Vec<Row>, cursor: usize, frame: &PickerFrame) -> (Vec<Row>, (usize, usize)) {
    rows.truncate(frame.rows.saturating_sub(1).max(1));
    let rows = rows.iter().map(|row| row.cut(frame.columns)).collect();
    (rows, (0, cursor.min(frame.columns.saturating_sub(1))))
}

/// Returns the row with the filter, and the number of sessions that it leaves.
fn top(model: &PickerModel, frame: &PickerFrame) -> (Row, usize) {
    let scope = if model.only_here { "here" } else { "everywhere" };
    let more = if model.complete { "" } else { "+" };
    let shown = model.shown().len();
    let counts = format!("{shown} of {}{more} · {scope}", model.total());
    let mut row = Row::new("resume › ", frame.theme.heading);
    // Show the end of a long filter.
    let room = frame
        .columns
        .saturating_sub(row.width() + width(&counts) + 3)
        .max(8);
    let mut filter = visible(&model.filter);
    while width(&filter) > room {
        filter.remove(0);
    }
    row.push(&filter, Style::default());
    let cursor = row.width();
    let gap = frame.columns.saturating_sub(cursor + width(&counts));
    if gap > 1 {
        row.push(&" ".repeat(gap), Style::default());
        row.push(&counts, frame.theme.faint);
    }
    (row, cursor)
}

fn list(model: &PickerModel, columns: usize, height: usize, frame: &PickerFrame) -> Vec<Row> {
    if model.shown().len() == 0 {
        let text = match (model.complete, model.filter.is_empty(), model.only_here) {
            (false, ..) => "looking …",
            (true, true, true) => "no sessions in this directory; Tab shows all",
            (true, true, false) => "no sessions yet",
            (true, false, true) => "no matches here; Tab searches everywhere",
            (true, false, false) => "nothing fits",
        };
        return vec![Row::new(&format!("  {text}"), frame.theme.faint).cut(columns)];
    }
    let first = (model.at() + 1).saturating_sub(height);
    let first = first
        .max(model.at().saturating_sub(height / 2))
        .min(model.shown().len().saturating_sub(height));
    let visible = model.shown().enumerate().skip(first).take(height);
    visible
        .map(|(i, entry)| item(model, &entry.info, i == model.at(), columns, frame))
        .collect()
}

fn item(
    model: &PickerModel,
    info: &SessionInfo,
    is_chosen: bool,
    columns: usize,
    frame: &PickerFrame,
) -> Row {
    let theme = &frame.theme;
    let mut row = Row::new(if is_chosen { "› " } else { "  " }, theme.heading);
    let (sign, look) = match model.mark(info) {
        StatusMark::Elsewhere => ("●", theme.added),
        StatusMark::BrokeOff => ("!", theme.removed),
        StatusMark::Asks => ("?", theme.literal),
        StatusMark::Waits => ("…", theme.faint),
        StatusMark::Fork => (FORK, theme.faint),
        StatusMark::None => (" ", Style::default()),
    };
    row.push(sign, look);
    row.push(" ", Style::default());
    let look = if is_chosen { theme.strong } else { Style::default() };
    let room = columns.saturating_sub(row.width() + AGE + 1);
    let mut title = Row::new(&title(info), look);
    if !model.only_here && info.workspace != model.here {
        title.push(&format!("  {}", visible(last_of(&info.workspace))), theme.faint);
    }
    let title = title.cut(room);
    let gap = room - title.width();
    title
        .spans
        .iter()
        .for_each(|span| row.push(&span.text, span.style));
    let age = units::ago(info.updated_at, frame.now);
    let pad = gap + 1 + AGE.saturating_sub(width(&age));
    row.push(&" ".repeat(pad), Style::default());
    row.push(&age, theme.faint);
    row.cut(columns)
}

/// Describes the chosen session, with the last messages in it.
fn aside(
    model: &PickerModel,
    info: &SessionInfo,
    preview: Option<&Preview>,
    room: usize,
    frame: &PickerFrame,
) -> Vec<Row> {
    let theme = &frame.theme;
    let plain = |text: &str, style| Line::new(text, style).rows(room);
    let mut rows = plain(&title(info), theme.strong);
    rows.truncate(2);
    let mut facts = vec![
        status_of(info, model.on_server, &model.waits, frame.now),
        units::counted(info.messages, "message"),
        visible(&info.model),
        units::cost_of(info.cost, &info.usage, !is_demo(&info.model)),
    ];
    facts.retain(|fact| !fact.is_empty());
    rows.extend(plain(&facts.join(" · "), theme.faint));
    rows.push(Row::new(&visible(&info.workspace), theme.faint).cut(room));
    rows.push(Row::new(info.session_id.as_str(), theme.faint).cut(room));
    if let Some((parent, seq)) = &info.parent {
        rows.push(Row::new(&format!("⑂ {parent} at {seq}"), theme.faint).cut(room));
    }
    rows.push(Row::default());
    if let Some(hit) = model.hit(&info.session_id) {
        let found = format!("{}: {}", hit.seq, clean(&hit.snippet).replace('\n', " "));
        let mut found = plain(&found, theme.literal);
        found.truncate(3);
        rows.append(&mut found);
        rows.push(Row::default());
    }
    let Some(preview) = preview else {
        return rows;
    };
    rows.extend(
        paragraph(&preview.said, "› ", theme.name, room)
            .into_iter()
            .take(SAID),
    );
    if !preview.tools.is_empty() {
        let tools: Vec<String> = preview.tools.iter().map(|tool| visible(tool)).collect();
        rows.push(Row::new(&format!("● {}", tools.join(", ")), theme.faint).cut(room));
    }
    let mut answer = Markdown::new(room, frame.theme);
    answer.push(&preview.answer);
    answer.end();
    rows.extend(answer.take_done());
    rows
}

/// A text in rows, the first marked.
fn paragraph(text: &str, mark: &str, style: Style, room: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (i, text) in text.trim().lines().enumerate() {
        let mut line = Line::new(text, style);
        line.first = Row::new(if i == 0 { mark } else { "" }, style);
        rows.extend(line.rows(room));
    }
    rows
}

/// The list and the preview beside it.
fn joined(list: Vec<Row>, beside: Vec<Row>, columns: usize, height: usize, frame: &PickerFrame) -> Vec<Row> {
    let count = list.len().max(beside.len()).min(height);
    let mut list = list.into_iter();
    let mut beside = beside.into_iter();
    let mut rows = Vec::with_capacity(count);
    for _ in 0..count {
        let mut row = list.next().unwrap_or_default();
        let gap = columns.saturating_sub(row.width());
        row.push(&" ".repeat(gap), Style::default());
        row.push("│ ", frame.theme.faint);
        let beside = beside.next().unwrap_or_default();
        beside
            .spans
            .iter()
            .for_each(|span| row.push(&span.text, span.style));
        rows.push(row);
    }
    rows
}

/// Describes the keys and the signs; if the terminal is too low for that, the text says so.
fn help(frame: &PickerFrame, height: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (key, does) in HELP {
        let mut line = Line::new(does, Style::default());
        let pad = " ".repeat(8usize.saturating_sub(width(key)));
        line.first = Row::new(&format!("  {key}{pad}"), frame.theme.strong);
        line.rest = Row::new("          ", Style::default());
        rows.extend(line.rows(frame.columns));
    }
    if rows.len() > height {
        rows.truncate(height - 1);
        rows.push(Row::new(
            "  … enlarge the window to see the rest",
            frame.theme.faint,
        ));
    }
    rows
}

fn keys(model: &PickerModel, columns: usize) -> String {
    let other = if model.only_here { "all" } else { "this directory" };
    match columns {
        0..60 => "Enter resumes · Esc leaves · ? help".to_owned(),
        _ => format!("Enter resumes · Esc leaves · Tab {other} · ? help"),
    }
}

fn footer(text: &str, frame: &PickerFrame) -> Row {
    Row::new(text, frame.theme.faint).cut(frame.columns)
}

/// Returns the title of a session with the mark of a copy before it, for lists without a column of marks.
pub(crate) fn marked_title(info: &SessionInfo) -> String {
    match &info.parent {
        Some(_) => format!("{FORK} {}", title(info)),
        None => title(info),
    }
}

/// Returns the title of a session. A copy has the title of its original, so it also names
/// the event at which it was copied.
pub(crate) fn title(info: &SessionInfo) -> String {
    let name = if info.title.is_empty() {
        NO_TITLE
    } else {
        &info.title
    };
    match &info.parent {
        Some((_, at)) => format!("{} (fork at {at})", visible(name)),
        None => visible(name),
    }
}

fn last_of(path: &str) -> &str {
    path.rsplit(['/', '\\'])
        .find(|part| !part.is_empty())
        .unwrap_or(path)
}
