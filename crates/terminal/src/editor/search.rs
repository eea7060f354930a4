//! Searches earlier inputs: Ctrl-R, and `/` among vi's commands.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{EditOutcome, Editor};

/// A search in the history.
#[derive(Debug, Default)]
pub(super) struct HistorySearch {
    text: String,
    /// Whether no entry matches, or none before the shown one.
    missed: bool,
    /// The text and the cursor before the search.
    before: (String, usize),
}

impl HistorySearch {
    /// Returns the search as the user sees it.
    pub(super) fn label(&self) -> String {
        if self.missed {
            format!("{} (nothing found)", self.text)
        } else {
            self.text.clone()
        }
    }
}

impl Editor {
    /// Begins a search.
    pub(super) fn begin_search(&mut self) -> EditOutcome {
        self.wanted = Some(HistorySearch {
            before: (self.text.clone(), self.cursor),
            ..HistorySearch::default()
        });
        EditOutcome::Changed
    }

    /// Handles a key during a search in the history; `None` ends the search and leaves the key to the editor.
    pub(super) fn search(&mut self, key: KeyEvent) -> Option<EditOutcome> {
        let wanted = self.wanted.as_mut()?;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('r') if control => self.find(true),
            KeyCode::Char('g' | 'c') if control => {
                // Restores the text from before the search.
                (self.text, self.cursor) = std::mem::take(&mut wanted.before);
                self.wanted = None;
                self.history.leave();
            }
            KeyCode::Char(c) if !control && !key.modifiers.contains(KeyModifiers::ALT) => {
                wanted.text.push(c);
                self.find(false);
            }
            KeyCode::Backspace => {
                wanted.text.pop();
                self.history.leave();
                self.find(false);
            }
            KeyCode::Esc => self.wanted = None,
            _ => {
                self.wanted = None;
                return None;
            }
        }
        Some(EditOutcome::Changed)
    }

    fn find(&mut self, older: bool) {
        let Some(wanted) = &mut self.wanted else { return };
        let found = self.history.find(&wanted.text, older);
        wanted.missed = found.is_none() && !wanted.text.is_empty();
        if let Some(line) = found {
            self.change(false);
            let shown = self.pastes.refold(line);
            self.set(shown);
        }
    }
}
