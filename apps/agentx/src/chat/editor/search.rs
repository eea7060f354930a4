//! Looking for something that was typed before: Ctrl-R, and `/` among vi's commands.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Edited, Editor};

impl Editor {
    /// Begins to look for something.
    pub(super) fn begin_search(&mut self) -> Edited {
        self.wanted = Some(String::new());
        Edited::Changed
    }

    /// A key while the history is searched; `None` ends the search, and the key means what it does otherwise.
    pub(super) fn search(&mut self, key: KeyEvent) -> Option<Edited> {
        let wanted = self.wanted.as_mut()?;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('r') if control => {
                let wanted = wanted.clone();
                self.find(&wanted, true);
            }
            KeyCode::Char('g' | 'c') if control => {
                self.wanted = None;
                self.clear();
            }
            KeyCode::Char(c) if !control && !key.modifiers.contains(KeyModifiers::ALT) => {
                wanted.push(c);
                let wanted = wanted.clone();
                self.find(&wanted, false);
            }
            KeyCode::Backspace => {
                wanted.pop();
                let wanted = wanted.clone();
                self.history.leave();
                self.find(&wanted, false);
            }
            KeyCode::Esc => self.wanted = None,
            _ => {
                self.wanted = None;
                return None;
            }
        }
        Some(Edited::Changed)
    }

    fn find(&mut self, wanted: &str, older: bool) {
        if let Some(line) = self.history.find(wanted, older) {
            self.change(false);
            let shown = self.pastes.refold(line);
            self.set(shown);
        }
    }
}
