//! The session picker: a list that is filtered while one types, and the last messages of the selected
//! session. Called if `agentx resume` gets no session.
//!
//! The first rows are on the screen before the rest of the list is read. Keys work at any time; lists,
//! previews and search results appear as they arrive.

mod load;
mod model;
mod plain;
mod preview;
#[cfg(test)]
mod tests;
pub(crate) mod view;

use std::collections::HashMap;

use agentx::config::Settings;
use agentx::types::SessionId;
use agentx_terminal::{Painter, Row, Theme};
use tokio::sync::mpsc;

use crate::error::ChatError;
use crate::exit::Exit;
use crate::place::Place;
use crate::render::units;
use crate::session_opening;
use crate::terminal::console::Console;
use crate::terminal::signals::Signals;
use crate::terminal::{RawMode, TerminalInput, long_rows};

use load::{LoadEvent, Loader};
use model::{PickerModel, PickerStep};
use preview::Preview;
use view::PickerFrame;

/// The result of the picker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PickerOutcome {
    /// This one.
    Session(SessionId),
    /// No session: the person has left.
    Nothing(Exit),
}

/// The sessions that the list has when it opens; Tab switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PickerScope {
    /// The sessions of this directory, or all if it has none.
    #[default]
    Here,
    /// The sessions of all directories.
    Everywhere,
}

/// Lets a person choose: with the keys of an editor if `inputs` are keys, and by number if the terminal can
/// only print lines.
///
/// # Errors
/// Returns an error if there is no session, the list cannot be read, or the terminal is gone.
pub async fn pick(
    place: &Place,
    settings: &Settings,
    console: &mut Console,
    inputs: &mut mpsc::Receiver<TerminalInput>,
    has_keys: bool,
    scope: PickerScope,
) -> Result<PickerOutcome, ChatError> {
    let (mut model, loader) = first_page(place, settings, scope).await?;
    if !has_keys {
        // A printed list does not change.
        model.waits = loader.waits_now().await;
        return plain::pick(model, loader, console, inputs).await;
    }
    let raw = RawMode::enter()?;
    let picked = with_keys(model, loader, console, inputs).await;
    drop(raw);
    picked
}

/// Lets a person choose with an editor's keys, in a terminal that is already in raw mode, and stays in it.
///
/// # Errors
/// Returns an error for the same reasons as [`pick`].
pub(crate) async fn pick_in_raw_mode(
    place: &Place,
    settings: &Settings,
    console: &mut Console,
    inputs: &mut mpsc::Receiver<TerminalInput>,
    scope: PickerScope,
) -> Result<PickerOutcome, ChatError> {
    let (model, loader) = first_page(place, settings, scope).await?;
    with_keys(model, loader, console, inputs).await
}

/// The first sessions of the list, with the rest under way.
async fn first_page(
    place: &Place,
    settings: &Settings,
    scope: PickerScope,
) -> Result<(PickerModel, Loader), ChatError> {
    let here = session_opening::workspace(place, settings).await?;
    let mut model = PickerModel::new(here.clone(), place.remote().is_some());
    let mut loader = Loader::new(place.shared());
    if scope == PickerScope::Here {
        model.add(loader.first(Some(here.clone())).await?);
    }
    if model.total() == 0 {
        model.add(loader.first(None).await?);
        if model.total() == 0 {
            return Err(ChatError::NoSession { workspace: here });
        }
        model.only_here = false;
    }
    loader.all(None);
    Ok((model, loader))
}

async fn with_keys(
    model: PickerModel,
    loader: Loader,
    console: &mut Console,
    inputs: &mut mpsc::Receiver<TerminalInput>,
) -> Result<PickerOutcome, ChatError> {
    let mut picker = Picker {
        model,
        loader,
        previews: HashMap::new(),
        painter: painter(),
        theme: console.theme(),
    };
    picker.loader.waits();
    let picked = picker.run(console, inputs).await;
    let bytes = picker.painter.frame(&[], &[Row::default()], None);
    let cleared = console.paint(&bytes);
    cleared.and(picked)
}

fn painter() -> Painter {
    let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
    Painter::new(columns.into(), rows.into())
}

struct Picker {
    model: PickerModel,
    loader: Loader,
    previews: HashMap<SessionId, Preview>,
    painter: Painter,
    theme: Theme,
}

impl Picker {
    async fn run(
        &mut self,
        console: &mut Console,
        inputs: &mut mpsc::Receiver<TerminalInput>,
    ) -> Result<PickerOutcome, ChatError> {
        let mut signals = Signals::listen()?;
        loop {
            self.wish();
            self.paint(console)?;
            tokio::select! {
                biased;
                exit = signals.next() => return Ok(PickerOutcome::Nothing(exit)),
                input = inputs.recv() => {
                    let mut input = Some(input.unwrap_or(TerminalInput::End));
                    while let Some(next) = input {
                        if let Some(picked) = self.input(next) {
                            return Ok(picked);
                        }
                        input = inputs.try_recv().ok();
                    }
                }
                news = self.loader.news() => self.take(news?),
            }
        }
    }

    fn input(&mut self, input: TerminalInput) -> Option<PickerOutcome> {
        let step = match input {
            TerminalInput::Key(key) => self.model.key(key),
            TerminalInput::Paste(text) => {
                self.model.paste(&text);
                PickerStep::Stay
            }
            TerminalInput::Resize(columns, rows) => {
                self.painter.resize(columns, rows, long_rows());
                PickerStep::Stay
            }
            TerminalInput::Background { is_light } if self.theme.color => {
                self.theme = if is_light { Theme::light() } else { Theme::dark() };
                PickerStep::Stay
            }
            TerminalInput::End => PickerStep::Leave,
            TerminalInput::Background { .. }
            | TerminalInput::Named(_)
            | TerminalInput::Line(_)
            | TerminalInput::Waited(_) => PickerStep::Stay,
        };
        match step {
            PickerStep::Stay => None,
            PickerStep::Take(id) => Some(PickerOutcome::Session(id)),
            PickerStep::Leave => Some(PickerOutcome::Nothing(Exit::Ok)),
        }
    }

    fn take(&mut self, news: LoadEvent) {
        match news {
            LoadEvent::Page(page) => {
                let _ = self.model.add(page);
            }
            LoadEvent::Complete => self.model.completed(),
            LoadEvent::Waits(waits) => self.model.waits = waits,
            LoadEvent::Preview(id, preview) => {
                let _ = self.previews.insert(id, preview);
            }
            LoadEvent::Hits(words, hits) => self.model.found(&words, hits),
        }
    }

    /// Requests the data that is needed for the screen and not loaded yet.
    fn wish(&mut self) {
        if let Some(words) = self.model.to_search() {
            self.loader.search(words);
        }
        if let Some(info) = self.model.chosen()
            && self.painter.columns() >= view::BESIDE
            && !self.previews.contains_key(&info.session_id)
        {
            self.loader.preview(info.clone());
        }
    }

    fn paint(&mut self, console: &mut Console) -> Result<(), ChatError> {
        let frame = PickerFrame {
            columns: self.painter.columns(),
            rows: self.painter.most() + 1,
            theme: self.theme,
            now: units::now(),
        };
        let chosen = self.model.chosen().map(|info| &info.session_id);
        let preview = chosen.and_then(|id| self.previews.get(id));
        let (rows, cursor) = view::rows(&self.model, preview, &frame);
        let bytes = self.painter.frame(&[], &rows, Some(cursor));
        console.paint(&bytes)
    }
}
