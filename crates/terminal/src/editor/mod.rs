//! The line editor: keys in, text and cursor out. It knows no screen and no terminal.
//!
//! We wrote our own because the line stays editable while an answer streams above it. An editor that owns the
//! terminal until the line is complete would have to poll for that.

mod keep;
mod motion;
mod search;
mod undo;
mod vi;

use std::collections::VecDeque;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::clean::clean_with_tabs;
use crate::history::LineHistory;
use crate::pastes::Pastes;
use keep::LaterText;
use search::HistorySearch;
use undo::Undo;
use vi::Vi;

/// Maximum length of a text in bytes.
const LONGEST: usize = 1 << 20;

/// The result of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditOutcome {
    /// Nothing.
    Nothing,
    /// The text or the cursor changed.
    Changed,
    /// The text is done.
    Submit(String),
    /// Send the text into the current run; or the last queued message, if the line is empty.
    Steer,
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
    /// Complete the word before the cursor.
    Complete,
    /// Write the text in the person's own editor.
    Elsewhere,
}

/// The text that was cut or copied.
#[derive(Clone, Debug, Default)]
struct KillBuffer {
    text: String,
    /// Whether it consists of whole rows.
    rows: bool,
    /// The rest of the text after the cut and the cursor then: the next cut at that place is appended.
    left: Option<(String, usize)>,
}

/// A line that is being written.
#[derive(Debug, Default)]
pub struct Editor {
    text: String,
    cursor: usize,
    cut: KillBuffer,
    history: LineHistory,
    stashed: Option<(String, usize)>,
    /// Texts that came back, for the line after this one.
    later: VecDeque<LaterText>,
    wanted: Option<HistorySearch>,
    pastes: Pastes,
    undo: Undo,
    /// The keys of vi, if the person has them.
    vi: Option<Vi>,
    /// Whether Ctrl-X was pressed; the next key completes the command.
    chord: bool,
    /// The line answers a question, so nothing from the history comes into it.
    answers: bool,
}

impl Editor {
    /// An empty line with this history, edited by the keys of vi or else by those of Emacs.
    pub fn with_keys(history: LineHistory, has_vi: bool) -> Self {
        Self {
            history,
            vi: has_vi.then(Vi::default),
            ..Self::default()
        }
    }

    /// Returns the text of the line.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the position of the cursor in bytes.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Returns whether keys are commands, as in vi's normal mode.
    pub fn is_commanded(&self) -> bool {
        self.vi.as_ref().is_some_and(Vi::is_normal)
    }

    /// Returns whether the person has the keys of vi.
    pub fn is_vi(&self) -> bool {
        self.vi.is_some()
    }

    /// Empties the line.
    pub fn clear(&mut self) {
        self.set(String::new());
        self.history.leave();
        self.undo.forget();
        if let Some(vi) = &mut self.vi {
            vi.begin();
        }
    }

    /// Discards the text, as Ctrl-C does; this can be undone.
    pub fn discard(&mut self) {
        self.change(false);
        self.set(String::new());
        self.history.leave();
        self.write_next();
        if let Some(vi) = &mut self.vi {
            vi.begin();
        }
    }

    /// Adds a line to the history.
    pub fn remember(&mut self, line: &str) {
        self.history.add(line);
    }

    /// Inserts pasted text unchanged, including line ends. A long text is shown by its size.
    pub fn paste(&mut self, text: &str) -> EditOutcome {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let shown = self.pastes.paste(clean_with_tabs(&text));
        self.change(false);
        self.insert(&shown)
    }

    /// Returns the text of the open search in the history.
    pub fn wanted(&self) -> Option<String> {
        self.wanted.as_ref().map(HistorySearch::label)
    }

    /// Replaces the text from `from` to the cursor by `text`.
    pub fn complete(&mut self, from: usize, text: &str) {
        if from <= self.cursor && self.text.is_char_boundary(from) {
            self.change(false);
            self.text.replace_range(from..self.cursor, text);
            self.cursor = motion::snapped(&self.text, from + text.len());
        }
    }

    /// Handles a key, and returns its outcome.
    pub fn key(&mut self, key: KeyEvent) -> EditOutcome {
        if key.kind == KeyEventKind::Release {
            return EditOutcome::Nothing;
        }
        if self.wanted.is_some()
            && let Some(edited) = self.search(key)
        {
            return edited;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if std::mem::take(&mut self.chord) && control && matches!(key.code, KeyCode::Char('e' | 'E')) {
            return EditOutcome::Elsewhere;
        }
        if self.vi.is_some() {
            return self.vi_key(key);
        }
        self.plain_key(key)
    }

    /// Handles a key without vi, or in vi's insert mode.
    fn plain_key(&mut self, key: KeyEvent) -> EditOutcome {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let shift = key.modifiers.contains(KeyModifiers::SHIFT);
        match key.code {
            KeyCode::Char(c) if control => self.control(c.to_ascii_lowercase()),
            KeyCode::Char(c) if alt => self.alt(c.to_ascii_lowercase()),
            KeyCode::Char(c) => self.type_in(c.encode_utf8(&mut [0; 4])),
            KeyCode::Enter if alt || shift || control => self.type_in("\n"),
            KeyCode::Enter => self.enter(),
            KeyCode::Left if control || alt => self.go(motion::word_before(&self.text, self.cursor)),
            KeyCode::Right if control || alt => self.go(motion::word_after(&self.text, self.cursor)),
            KeyCode::Left => self.go(self.previous_grapheme()),
            KeyCode::Right => self.go(self.next_grapheme()),
            KeyCode::Home => self.go(motion::row_start(&self.text, self.cursor)),
            KeyCode::End => self.go(motion::row_end(&self.text, self.cursor)),
            KeyCode::Up => self.up(),
            KeyCode::Down => self.down(),
            KeyCode::Tab => EditOutcome::Complete,
            KeyCode::Backspace if alt || control => {
                self.kill(motion::word_before(&self.text, self.cursor), self.cursor)
            }
            KeyCode::Backspace => self.delete(self.previous_grapheme(), self.cursor),
            KeyCode::Delete => self.delete(self.cursor, self.next_grapheme()),
            KeyCode::Esc => EditOutcome::Escape,
            _ => EditOutcome::Nothing,
        }
    }

    fn control(&mut self, c: char) -> EditOutcome {
        let (start, end) = (
            motion::row_start(&self.text, self.cursor),
            motion::row_end(&self.text, self.cursor),
        );
        match c {
            'c' => EditOutcome::Interrupt,
            'd' if self.text.is_empty() => EditOutcome::Leave,
            'd' => self.delete(self.cursor, self.next_grapheme()),
            'a' => self.go(start),
            'e' => self.go(end),
            'b' => self.go(self.previous_grapheme()),
            'f' => self.go(self.next_grapheme()),
            'h' => self.delete(self.previous_grapheme(), self.cursor),
            'j' => self.type_in("\n"),
            // A cut at the end or the beginning of a row takes the line end there.
            'k' if self.cursor == end => self.kill(end, (end + 1).min(self.text.len())),
            'k' => self.kill(self.cursor, end),
            'u' if self.cursor == start => self.kill(self.previous_grapheme(), start),
            'u' => self.kill(start, self.cursor),
            'w' => self.kill(motion::word_before(&self.text, self.cursor), self.cursor),
            'y' => self.yank(),
            'p' => self.recall(true),
            'n' => self.recall(false),
            'r' => self.begin_search(),
            's' => EditOutcome::Steer,
            'x' => {
                self.chord = true;
                EditOutcome::Nothing
            }
            // Terminals send Ctrl-_ for it, or say Ctrl-7.
            '_' | '/' | '7' => self.take_back(false),
            'l' => EditOutcome::Clear,
            'z' => EditOutcome::Suspend,
            _ => EditOutcome::Nothing,
        }
    }

    fn alt(&mut self, c: char) -> EditOutcome {
        match c {
            'b' => self.go(motion::word_before(&self.text, self.cursor)),
            'f' => self.go(motion::word_after(&self.text, self.cursor)),
            'd' => self.kill(self.cursor, motion::word_after(&self.text, self.cursor)),
            _ => EditOutcome::Nothing,
        }
    }

    fn up(&mut self) -> EditOutcome {
        match motion::row_above(&self.text, self.cursor) {
            Some(to) => self.go(to),
            None => self.recall(true),
        }
    }

    fn down(&mut self) -> EditOutcome {
        match motion::row_below(&self.text, self.cursor) {
            Some(to) => self.go(to),
            None => self.recall(false),
        }
    }

    /// Handles Enter: after a backslash, starts a new line.
    fn enter(&mut self) -> EditOutcome {
        if self.cursor == self.text.len() && self.text.ends_with('\\') {
            self.change(false);
            self.text.pop();
            self.cursor = self.text.len();
            return self.insert("\n");
        }
        EditOutcome::Submit(self.take())
    }

    fn type_in(&mut self, text: &str) -> EditOutcome {
        self.change(true);
        self.insert(text)
    }

    /// Notes that the text is about to change.
    fn change(&mut self, typing: bool) {
        self.cut.left = None;
        self.undo.change(&self.text, self.cursor, typing);
    }

    fn insert(&mut self, text: &str) -> EditOutcome {
        if self.text.len() + text.len() > LONGEST {
            return EditOutcome::Nothing;
        }
        self.text.insert_str(self.cursor, text);
        self.cursor = motion::snapped(&self.text, self.cursor + text.len());
        EditOutcome::Changed
    }

    fn go(&mut self, cursor: usize) -> EditOutcome {
        self.undo.pause();
        let cursor = self.pastes.landed(&self.text, self.cursor, cursor);
        self.cursor = motion::snapped(&self.text, cursor);
        EditOutcome::Changed
    }

    fn delete(&mut self, from: usize, to: usize) -> EditOutcome {
        if from < to {
            let (from, to) = self.pastes.widened(&self.text, from, to);
            self.change(false);
            self.text.replace_range(from..to, "");
            self.cursor = motion::snapped(&self.text, from);
        }
        EditOutcome::Changed
    }

    /// Cuts a range. Consecutive cuts at one place are pasted as one.
    fn kill(&mut self, from: usize, to: usize) -> EditOutcome {
        if from >= to {
            return EditOutcome::Changed;
        }
        let (from, to) = self.pastes.widened(&self.text, from, to);
        let cut = &self.text[from..to];
        let goes_on =
            (self.cut.left.as_ref()).is_some_and(|(left, at)| *left == self.text && *at == self.cursor);
        self.cut.text = match (goes_on, to == self.cursor) {
            (true, true) => format!("{cut}{}", self.cut.text),
            (true, false) => format!("{}{cut}", self.cut.text),
            (false, _) => cut.to_owned(),
        };
        self.cut.rows = false;
        let edited = self.delete(from, to);
        self.cut.left = Some((self.text.clone(), self.cursor));
        edited
    }

    fn yank(&mut self) -> EditOutcome {
        let cut = self.cut.text.clone();
        self.change(false);
        self.insert(&cut)
    }

    /// Undoes the last change, or redoes it.
    fn take_back(&mut self, again: bool) -> EditOutcome {
        let found = if again {
            self.undo.forth(&self.text, self.cursor)
        } else {
            self.undo.back(&self.text, self.cursor)
        };
        match found {
            Some((text, cursor)) => {
                (self.text, self.cursor) = (text, cursor);
                EditOutcome::Changed
            }
            None => EditOutcome::Nothing,
        }
    }

    fn recall(&mut self, older: bool) -> EditOutcome {
        let found = match (self.answers, older) {
            (true, _) => None,
            (false, true) => self.history.older(&self.text),
            (false, false) => self.history.newer(),
        };
        match found {
            Some(line) => {
                self.change(false);
                let shown = self.pastes.refold(line);
                self.set(shown);
                EditOutcome::Changed
            }
            None => EditOutcome::Nothing,
        }
    }

    fn set(&mut self, text: String) {
        self.cursor = text.len();
        self.text = text;
    }

    fn previous_grapheme(&self) -> usize {
        let to = motion::previous_grapheme(&self.text, self.cursor);
        self.pastes.landed(&self.text, self.cursor, to)
    }

    fn next_grapheme(&self) -> usize {
        let to = motion::next_grapheme(&self.text, self.cursor);
        self.pastes.landed(&self.text, self.cursor, to)
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod vi_tests;
