//! The line editor: keys in, text and cursor out. It knows no screen and no terminal.
//!
//! It is our own because its line stays editable while an answer streams above it, woken by whatever comes first: an
//! editor that owns the terminal until a line is done has to poll for that.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation as _;

use super::history::History;
use super::pastes::Pastes;

/// The longest text that is taken.
const LONGEST: usize = 1 << 20;

/// What a key came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edited {
    /// Nothing.
    Nothing,
    /// The text or the cursor changed.
    Changed,
    /// The text is done.
    Submit(String),
    /// Stop, or clear the line.
    Interrupt,
    /// Stop what runs, if anything does.
    Escape,
    /// Leave.
    Leave,
    /// Begin on a clear screen.
    Clear,
    /// Go to the background.
    Suspend,
    /// Complete what stands before the cursor.
    Complete,
}

/// A line that is being written.
#[derive(Debug, Default)]
pub(crate) struct Editor {
    text: String,
    cursor: usize,
    killed: String,
    history: History,
    stashed: Option<(String, usize)>,
    /// What is looked for in the history.
    wanted: Option<String>,
    pastes: Pastes,
}

impl Editor {
    /// An empty line with this history.
    pub(crate) fn new(history: History) -> Self {
        Self {
            history,
            ..Self::default()
        }
    }

    /// What is written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Where the next character goes, in bytes.
    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Empties the line.
    pub(crate) fn clear(&mut self) {
        self.set(String::new());
        self.history.leave();
    }

    /// Puts what is written aside, so that it does not become the answer to a question.
    pub(crate) fn stash(&mut self) {
        if self.stashed.is_none() {
            self.stashed = Some((std::mem::take(&mut self.text), self.cursor));
            self.cursor = 0;
        }
    }

    /// Takes back what was put aside.
    pub(crate) fn unstash(&mut self) {
        if let Some((text, cursor)) = self.stashed.take() {
            self.text = text;
            self.cursor = cursor;
        }
    }

    /// Keeps a line that was given in the history.
    pub(crate) fn remember(&mut self, line: &str) {
        self.history.add(line);
    }

    /// Takes pasted text as it is, line ends and all. A long one is shown by its size.
    pub(crate) fn paste(&mut self, text: &str) -> Edited {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let shown = self.pastes.fold(crate::render::clean::clean(&text));
        self.insert(&shown)
    }

    /// What is looked for in the history, while it is.
    pub(crate) fn wanted(&self) -> Option<&str> {
        self.wanted.as_deref()
    }

    /// Puts `text` in the place of what stands from `from` to the cursor.
    pub(crate) fn complete(&mut self, from: usize, text: &str) {
        if from <= self.cursor && self.text.is_char_boundary(from) {
            self.text.replace_range(from..self.cursor, text);
            self.cursor = from + text.len();
        }
    }

    /// Takes a key.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Edited {
        if key.kind == KeyEventKind::Release {
            return Edited::Nothing;
        }
        if self.wanted.is_some()
            && let Some(edited) = self.search(key)
        {
            return edited;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char(c) if control => self.control(c.to_ascii_lowercase()),
            KeyCode::Char(c) if alt => self.alt(c.to_ascii_lowercase()),
            KeyCode::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Enter if alt || key.modifiers.contains(KeyModifiers::SHIFT) => self.insert("\n"),
            KeyCode::Enter => self.enter(),
            KeyCode::Left if control || alt => self.go(self.word_before()),
            KeyCode::Right if control || alt => self.go(self.word_after()),
            KeyCode::Left => self.go(self.before()),
            KeyCode::Right => self.go(self.after()),
            KeyCode::Home => self.go(self.line_start()),
            KeyCode::End => self.go(self.line_end()),
            KeyCode::Up => match self.row_above() {
                Some(to) => self.go(to),
                None => self.recall(true),
            },
            KeyCode::Down => match self.row_below() {
                Some(to) => self.go(to),
                None => self.recall(false),
            },
            KeyCode::Tab => Edited::Complete,
            KeyCode::Backspace if alt || control => self.kill(self.word_before(), self.cursor),
            KeyCode::Backspace => self.delete(self.before(), self.cursor),
            KeyCode::Delete => self.delete(self.cursor, self.after()),
            KeyCode::Esc => Edited::Escape,
            _ => Edited::Nothing,
        }
    }

    fn control(&mut self, c: char) -> Edited {
        match c {
            'c' => Edited::Interrupt,
            'd' if self.text.is_empty() => Edited::Leave,
            'd' => self.delete(self.cursor, self.after()),
            'a' => self.go(self.line_start()),
            'e' => self.go(self.line_end()),
            'b' => self.go(self.before()),
            'f' => self.go(self.after()),
            'h' => self.delete(self.before(), self.cursor),
            'j' => self.insert("\n"),
            'k' => self.kill(self.cursor, self.line_end()),
            'u' => self.kill(self.line_start(), self.cursor),
            'w' => self.kill(self.word_before(), self.cursor),
            'y' => {
                let killed = self.killed.clone();
                self.insert(&killed)
            }
            'p' => self.recall(true),
            'n' => self.recall(false),
            'r' => {
                self.wanted = Some(String::new());
                Edited::Changed
            }
            'l' => Edited::Clear,
            'z' => Edited::Suspend,
            _ => Edited::Nothing,
        }
    }

    fn alt(&mut self, c: char) -> Edited {
        match c {
            'b' => self.go(self.word_before()),
            'f' => self.go(self.word_after()),
            'd' => self.kill(self.cursor, self.word_after()),
            _ => Edited::Nothing,
        }
    }

    /// A backslash at the end goes on in a new line.
    fn enter(&mut self) -> Edited {
        if self.cursor == self.text.len() && self.text.ends_with('\\') {
            self.text.pop();
            self.cursor = self.text.len();
            return self.insert("\n");
        }
        let line = std::mem::take(&mut self.text);
        self.clear();
        Edited::Submit(self.pastes.unfold(&line))
    }

    /// A key while the history is searched; `None` ends the search, and the key means what it does otherwise.
    fn search(&mut self, key: KeyEvent) -> Option<Edited> {
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
            self.set(line);
        }
    }

    fn insert(&mut self, text: &str) -> Edited {
        if self.text.len() + text.len() > LONGEST {
            return Edited::Nothing;
        }
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        Edited::Changed
    }

    fn go(&mut self, cursor: usize) -> Edited {
        self.cursor = cursor;
        Edited::Changed
    }

    fn delete(&mut self, from: usize, to: usize) -> Edited {
        self.text.replace_range(from..to, "");
        self.cursor = from;
        Edited::Changed
    }

    fn kill(&mut self, from: usize, to: usize) -> Edited {
        if from < to {
            self.killed = self.text[from..to].to_owned();
        }
        self.delete(from, to)
    }

    fn recall(&mut self, older: bool) -> Edited {
        let found = if older {
            self.history.older(&self.text)
        } else {
            self.history.newer()
        };
        match found {
            Some(line) => {
                self.set(line);
                Edited::Changed
            }
            None => Edited::Nothing,
        }
    }

    fn set(&mut self, text: String) {
        self.cursor = text.len();
        self.text = text;
    }

    fn before(&self) -> usize {
        self.text[..self.cursor]
            .grapheme_indices(true)
            .next_back()
            .map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.text[self.cursor..]
            .graphemes(true)
            .next()
            .map_or(self.cursor, |next| self.cursor + next.len())
    }

    fn word_before(&self) -> usize {
        let mut words = self.text[..self.cursor].unicode_word_indices();
        words.next_back().map_or(0, |(at, _)| at)
    }

    fn word_after(&self) -> usize {
        let mut words = self.text[self.cursor..].unicode_word_indices();
        words
            .next()
            .map_or(self.text.len(), |(at, word)| self.cursor + at + word.len())
    }

    /// The place above the cursor, in a text of several lines.
    fn row_above(&self) -> Option<usize> {
        let start = self.line_start();
        let above = start.checked_sub(1)?;
        let above_start = self.text[..above].rfind('\n').map_or(0, |at| at + 1);
        Some(self.place_in(above_start, above, start))
    }

    /// The place below it.
    fn row_below(&self) -> Option<usize> {
        let end = self.line_end();
        let below = Some(end + 1).filter(|below| *below <= self.text.len())?;
        let below_end = self.text[below..]
            .find('\n')
            .map_or(self.text.len(), |at| below + at);
        Some(self.place_in(below, below_end, self.line_start()))
    }

    /// As far into another line as the cursor is into its own, which begins at `start`.
    fn place_in(&self, from: usize, to: usize, start: usize) -> usize {
        let along = self.text[start..self.cursor].graphemes(true).count();
        let mut places = self.text[from..to].grapheme_indices(true);
        places.nth(along).map_or(to, |(at, _)| from + at)
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..]
            .find('\n')
            .map_or(self.text.len(), |at| self.cursor + at)
    }
}

#[cfg(test)]
mod tests;
