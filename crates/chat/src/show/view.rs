//! A step as rows of a terminal: the events around it, its position in the session, and one of its panes.
//! Pure.

use agentx::types::Vocabulary as _;
use agentx_terminal::{Line, Row, Style, Theme, width};

use super::event_description::describe;
use super::panes::{self, Pane, precise};
use super::stepper::{Stepper, StepperPrompt};
use crate::render::units;

/// The part of the height that the list of events gets.
const LIST_SHARE: usize = 3;
/// Rows of the list at most.
const MOST_LISTED: usize = 9;
/// Rows that are neither list nor pane.
const AROUND: usize = 4;

const HELP: &[(&str, &str)] = &[
    (
        "← →",
        "one event back or forward; PageUp and PageDown ten; Home and End to the ends",
    ),
    ("[ ]", "to the previous or next message of a person"),
    ("Tab", "panes: the event, the state after it, the model's context"),
    ("↑ ↓", "scroll the pane"),
    (
        "/",
        "search for words; n and N go to the next and the previous match",
    ),
    ("g", "go to an event by its number"),
    ("q", "leaves"),
];

/// Returns the rows and the place of the cursor.
pub(super) fn rows(
    stepper: &mut Stepper,
    columns: usize,
    rows: usize,
    theme: &Theme,
) -> (Vec<Row>, Option<(usize, usize)>) {
    let height = rows.saturating_sub(1).max(1);
    let mut shown = vec![head(stepper, columns, theme)];
    if stepper.help {
        shown.extend(help(columns, theme));
        shown.truncate(height);
        return (cut_rows(&shown, columns), Some((0, 0)));
    }
    let free = height.saturating_sub(AROUND);
    let listed = (free / LIST_SHARE).clamp(1, MOST_LISTED);
    shown.extend(list(stepper, columns, listed, theme));
    shown.push(slider(stepper, columns, theme));
    shown.push(tabs(stepper.pane, columns, theme));
    let room = height.saturating_sub(shown.len() + 1);
    shown.extend(pane(stepper, columns, room, theme));
    shown.truncate(height.saturating_sub(1));
    let (last, column) = foot(stepper, columns, theme);
    let cursor = column.map(|column| (shown.len(), column.min(columns.saturating_sub(1))));
    shown.push(last);
    (cut_rows(&shown, columns), cursor.or(Some((0, 0))))
}

/// Cuts rows to the width of the screen.
fn cut_rows(rows: &[Row], columns: usize) -> Vec<Row> {
    rows.iter().map(|row| row.cut(columns)).collect()
}

fn head(stepper: &Stepper, columns: usize, theme: &Theme) -> Row {
    let facts = stepper.timeline.facts();
    let last = facts.last().map_or(0, |fact| fact.seq);
    let mut row = Row::new(stepper.timeline.session().as_str(), theme.heading);
    if let Some(fact) = stepper.fact() {
        let begun = facts.first().map_or(fact.at, |first| first.at);
        let since = units::duration(fact.at.millis_since(begun));
        let place = format!("  {} of {last} · +{since} · {} UTC", fact.seq, precise(fact.at));
        row.push(&place, Style::default());
    }
    row.cut(columns)
}

/// The events around the selected one.
fn list(stepper: &Stepper, columns: usize, height: usize, theme: &Theme) -> Vec<Row> {
    let facts = stepper.timeline.facts();
    let first = stepper.at.saturating_sub(height / 2);
    let first = first.min(facts.len().saturating_sub(height));
    let digits = facts.last().map_or(1, |fact| fact.seq.to_string().len());
    let shown = facts.iter().enumerate().skip(first).take(height);
    shown
        .map(|(place, fact)| {
            let is_here = place == stepper.at;
            let before = place.checked_sub(1).and_then(|before| facts.get(before));
            let since = before.map_or(0, |before| fact.at.millis_since(before.at));
            let mut row = Row::new(if is_here { "› " } else { "  " }, theme.heading);
            row.push(&format!("{:>digits$}  ", fact.seq), theme.faint);
            if columns >= 60 {
                row.push(
                    &format!("+{:<7} {:<18} ", units::duration(since), fact.event.tag()),
                    theme.faint,
                );
            }
            let look = if is_here { theme.strong } else { Style::default() };
            row.push(&describe(&fact.event), look);
            row.cut(columns)
        })
        .collect()
}

/// Returns the row that shows the position of the event among all events.
fn slider(stepper: &Stepper, columns: usize, theme: &Theme) -> Row {
    let count = stepper.timeline.facts().len().max(1);
    let track = columns.saturating_sub(2).max(1);
    let place = if count == 1 {
        0
    } else {
        stepper.at * (track - 1) / (count - 1)
    };
    let mut row = Row::new("├", theme.faint);
    row.push(&"─".repeat(place), theme.faint);
    row.push("●", theme.heading);
    row.push(&"─".repeat(track - 1 - place), theme.faint);
    row.push("┤", theme.faint);
    row.cut(columns)
}

fn tabs(pane: Pane, columns: usize, theme: &Theme) -> Row {
    let mut row = Row::default();
    for each in Pane::ALL {
        let (text, look) = if each == pane {
            (format!("[{}]", each.name()), theme.strong)
        } else {
            (format!(" {} ", each.name()), theme.faint)
        };
        row.push(&text, look);
        row.push(" ", Style::default());
    }
    row.cut(columns)
}

fn pane(stepper: &mut Stepper, columns: usize, room: usize, theme: &Theme) -> Vec<Row> {
    let Some(fact) = stepper.fact().cloned() else {
        return vec![Row::new("no events yet", theme.faint)];
    };
    let lines = panes::lines(
        stepper.pane,
        &fact,
        stepper.timeline.fold_after(stepper.at),
        theme,
    );
    let mut rows: Vec<Row> = lines.iter().flat_map(|line: &Line| line.rows(columns)).collect();
    let hidden = rows.len().saturating_sub(room);
    // The end of the context is the part that changed.
    if stepper.pane == Pane::Context {
        stepper.scrolled = stepper.scrolled.min(hidden);
        let first = hidden - stepper.scrolled;
        return rows.drain(first..first + room.min(rows.len())).collect();
    }
    stepper.scrolled = stepper.scrolled.min(hidden);
    let first = stepper.scrolled;
    rows.drain(first..first + room.min(rows.len())).collect()
}

fn foot(stepper: &Stepper, columns: usize, theme: &Theme) -> (Row, Option<usize>) {
    if let Some(asked) = &stepper.asked {
        let (prompt, text) = match asked {
            StepperPrompt::Words(text) => ("look for › ", text),
            StepperPrompt::Number(text) => ("go to event › ", text),
        };
        let mut row = Row::new(prompt, theme.heading);
        row.push(text, Style::default());
        let column = row.width();
        return (row.cut(columns), Some(column));
    }
    if let Some(note) = &stepper.note {
        return (Row::new(note, theme.removed).cut(columns), None);
    }
    let keys = match columns {
        0..60 => "← → Tab · / · g · ? help · q",
        _ => "← → one · PgUp PgDn ten · Tab pane · / look · g go · ? help · q leaves",
    };
    (Row::new(keys, theme.faint).cut(columns), None)
}

fn help(columns: usize, theme: &Theme) -> Vec<Row> {
    let mut rows = Vec::new();
    for (key, does) in HELP {
        let mut line = Line::new(does, Style::default());
        let pad = " ".repeat(6usize.saturating_sub(width(key)));
        line.first = Row::new(&format!("  {key}{pad}"), theme.strong);
        line.rest = Row::new("        ", Style::default());
        rows.extend(line.rows(columns));
    }
    rows.push(Row::new("press any key to go back", theme.faint));
    rows
}
