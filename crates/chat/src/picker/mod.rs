//! Choosing a session to go on with: a list that is filtered while one types, and what was said last in the chosen one. Called
//! where `agentx resume` is told no session.
//!
//! The first rows are on the screen before the rest of the list is read. Keys are taken at any time; lists, previews and searches
//! come when they come.

mod load;
mod model;
mod plain;
mod preview;
#[cfg(test)]
mod tests;
mod view;

use std::collections::HashMap;

use agentx::config::Settings;
use agentx::types::SessionId;
use agentx_terminal::{Painter, Row, Theme};
use tokio::sync::mpsc;

use crate::chat::terminal::{Input, RawMode, long_rows};
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::place::Place;
use crate::render::units;
use crate::seat;
use crate::signals::Signals;

use load::{Loader, News};
use model::{Model, Step};
use preview::Preview;
use view::Frame;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picked {
    /// This one.
    Session(SessionId),
    /// None: the person has left.
    Nothing(Exit),
}

/// Lets a person choose, with an editor's keys where `inputs` are keys, and by number where the terminal can do no more than print
/// lines.
///
/// # Errors
/// Where there is no session, the list cannot be read, or the terminal is gone.
pub async fn pick(
    place: &Place,
    settings: &Settings,
    console: &mut Console,
    inputs: &mut mpsc::Receiver<Input>,
    has_keys: bool,
) -> Result<Picked, CliError> {
    let here = seat::workspace(place, settings).await?;
    let mut model = Model::new(here.clone(), place.remote().is_some());
    let mut loader = Loader::new(place.shared());
    model.add(loader.first(Some(here.clone())).await?);
    if model.total() == 0 {
        model.add(loader.first(None).await?);
        if model.total() == 0 {
            return Err(CliError::NoSession { workspace: here });
        }
        model.only_here = false;
    }
    loader.all(None);
    if !has_keys {
        return plain::pick(model, loader, console, inputs).await;
    }
    let raw = RawMode::enter()?;
    let mut picker = Picker {
        model,
        loader,
        previews: HashMap::new(),
        painter: painter(),
        theme: console.theme(),
    };
    let picked = picker.run(console, inputs).await;
    let bytes = picker.painter.frame(&[], &[Row::default()], None);
    let cleared = console.paint(&bytes);
    drop(raw);
    cleared.and(picked)
}

fn painter() -> Painter {
    let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
    Painter::new(columns.into(), rows.into())
}

struct Picker {
    model: Model,
    loader: Loader,
    previews: HashMap<SessionId, Preview>,
    painter: Painter,
    theme: Theme,
}

impl Picker {
    async fn run(
        &mut self,
        console: &mut Console,
        inputs: &mut mpsc::Receiver<Input>,
    ) -> Result<Picked, CliError> {
        let mut signals = Signals::listen()?;
        loop {
            self.wish();
            self.paint(console)?;
            tokio::select! {
                biased;
                exit = signals.next() => return Ok(Picked::Nothing(exit)),
                input = inputs.recv() => {
                    let mut input = Some(input.unwrap_or(Input::End));
                    while let Some(next) = input {
                        if let Some(picked) = self.input(next, console)? {
                            return Ok(picked);
                        }
                        input = inputs.try_recv().ok();
                    }
                }
                news = self.loader.news() => self.take(news?),
            }
        }
    }

    fn input(&mut self, input: Input, console: &mut Console) -> Result<Option<Picked>, CliError> {
        let step = match input {
            Input::Key(key) => self.model.key(key),
            Input::Paste(text) => {
                self.model.paste(&text);
                Step::Stay
            }
            Input::Resize(columns, rows) => {
                let bytes = self.painter.resize(columns, rows, long_rows());
                console.paint(&bytes)?;
                Step::Stay
            }
            Input::Background { is_light } if self.theme.color => {
                self.theme = if is_light { Theme::light() } else { Theme::dark() };
                Step::Stay
            }
            Input::End => Step::Leave,
            Input::Background { .. } | Input::Named(_) | Input::Line(_) | Input::Waited(_) => Step::Stay,
        };
        Ok(match step {
            Step::Stay => None,
            Step::Take(id) => Some(Picked::Session(id)),
            Step::Leave => Some(Picked::Nothing(Exit::Ok)),
        })
    }

    fn take(&mut self, news: News) {
        match news {
            News::Page(page) => drop(self.model.add(page)),
            News::Complete => self.model.completed(),
            News::Preview(id, preview) => drop(self.previews.insert(id, preview)),
            News::Hits(words, hits) => self.model.found(&words, hits),
        }
    }

    /// Asks for what is to be shown and is not known yet.
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

    fn paint(&mut self, console: &mut Console) -> Result<(), CliError> {
        let frame = Frame {
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
