//! The picker for a terminal that can only print lines: a numbered list, and a line for the answer.

use tokio::sync::mpsc;

use super::PickerOutcome;
use super::load::Loader;
use super::model::{PickerModel, StatusMark};
use super::view::title;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::table::{cut, table};
use crate::render::units;
use crate::terminal::TerminalInput;
use crate::terminal::console::Console;
use crate::terminal::signals::Signals;

/// Maximum number of sessions to list at once.
const LISTED: usize = 20;

/// Lets a person choose by number; words narrow the list.
pub(super) async fn pick(
    mut model: PickerModel,
    mut loader: Loader,
    console: &mut Console,
    inputs: &mut mpsc::Receiver<TerminalInput>,
) -> Result<PickerOutcome, ChatError> {
    let mut signals = Signals::listen()?;
    console.out(&listed(&model, console.terminal.width))?;
    loop {
        console.say("which session? number, search words, or nothing to leave › ");
        let line = loop {
            tokio::select! {
                           exit = signals.next() => return Ok(PickerOutcome::Nothing(exit)),
                           input = inputs.recv() => match input {
                               Some(TerminalInput::Line(line)) => break line,
                               Some(TerminalInput::End) | None => return Ok(PickerOutcome::Nothing(Exit::Ok)),
                               Some(_) => {}
                           },
                           news = loader.news() => match news? {
                               super::LoadEvent::Page(page) => {
            let _ = model.add(page);
            }
                               super::LoadEvent::Complete => model.completed(),
                               super::LoadEvent::Waits(waits) => model.waits = waits,
                               super::LoadEvent::Preview(..) | super::LoadEvent::Hits(..) => {}
                           },
                       }
        };
        let words = line.trim();
        if words.is_empty() {
            return Ok(PickerOutcome::Nothing(Exit::Ok));
        }
        match words.parse().ok().map(|number| model.numbered(number)) {
            Some(Some(info)) => return Ok(PickerOutcome::Session(info.session_id.clone())),
            Some(None) => console.say("no such number\n"),
            None => {
                model.filter.clear();
                model.only_here = false;
                model.paste(words);
                console.out(&listed(&model, console.terminal.width))?;
            }
        }
    }
}

fn listed(model: &PickerModel, width: usize) -> String {
    if model.shown().len() == 0 {
        return "nothing fits\n".into();
    }
    let now = units::now();
    let rows: Vec<Vec<String>> = model
        .shown()
        .take(LISTED)
        .enumerate()
        .map(|(i, entry)| {
            let mark = match model.mark(&entry.info) {
                StatusMark::Elsewhere => "open",
                StatusMark::BrokeOff => "interrupted",
                StatusMark::Asks => "asks you",
                StatusMark::Waits => "waits",
                StatusMark::Fork => "fork",
                StatusMark::None => "",
            };
            vec![
                (i + 1).to_string(),
                units::ago(entry.info.updated_at, now),
                mark.to_owned(),
                title(&entry.info),
            ]
        })
        .collect();
    let more = model.shown().len().saturating_sub(LISTED);
    let mut text = table(&rows, width);
    if more > 0 {
        text.push_str(&cut(&format!("… and {more} more"), width));
        text.push('\n');
    }
    text
}
