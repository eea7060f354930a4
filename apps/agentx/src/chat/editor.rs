//! The line editor: keys in, text and cursor out. It knows no screen and no terminal.
//!
//! It is our own because its line stays editable while an answer streams above it, woken by whatever comes first: an
//! editor that owns the terminal until a line is done has to poll for that.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation as _;

use super::history::History;

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
}

/// A line that is being written.
#[derive(Debug, Default)]
pub(crate) struct Editor {
    text: String,
    cursor: usize,
    killed: String,
    history: History,
    stashed: Option<(String, usize)>,
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

    /// Takes pasted text as it is, line ends and all.
    pub(crate) fn paste(&mut self, text: &str) -> Edited {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        self.insert(&crate::render::clean::clean(&text));
        Edited::Changed
    }

    /// Takes a key.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Edited {
        if key.kind == KeyEventKind::Release {
            return Edited::Nothing;
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
            KeyCode::Up => self.recall(true),
            KeyCode::Down => self.recall(false),
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
        Edited::Submit(line)
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
mod tests {
    use super::*;

    /// Types words and keys: `<c-w>`, `<a-b>`, `<left>`, `<enter>`, … and returns what was submitted and what is left.
    fn typed(keys: &str) -> (Vec<String>, String) {
        let mut editor = Editor::default();
        let mut done = Vec::new();
        let mut rest = keys;
        while let Some(c) = rest.chars().next() {
            let (code, modifiers, len) = match rest.strip_prefix('<').and_then(|after| after.split_once('>'))
            {
                Some((name, _)) => {
                    let (code, modifiers) = named(name);
                    (code, modifiers, name.len() + 2)
                }
                None => (KeyCode::Char(c), KeyModifiers::NONE, c.len_utf8()),
            };
            if let Edited::Submit(line) = editor.key(KeyEvent::new(code, modifiers)) {
                editor.remember(&line);
                done.push(line);
            }
            rest = &rest[len..];
        }
        let mut left = editor.text().to_owned();
        left.insert(editor.cursor(), '|');
        (done, left)
    }

    fn named(name: &str) -> (KeyCode, KeyModifiers) {
        match name {
            "left" => (KeyCode::Left, KeyModifiers::NONE),
            "right" => (KeyCode::Right, KeyModifiers::NONE),
            "up" => (KeyCode::Up, KeyModifiers::NONE),
            "down" => (KeyCode::Down, KeyModifiers::NONE),
            "bs" => (KeyCode::Backspace, KeyModifiers::NONE),
            "enter" => (KeyCode::Enter, KeyModifiers::NONE),
            "a-enter" => (KeyCode::Enter, KeyModifiers::ALT),
            other => {
                let modifiers = if other.starts_with("c-") {
                    KeyModifiers::CONTROL
                } else {
                    KeyModifiers::ALT
                };
                (KeyCode::Char(other.chars().next_back().unwrap()), modifiers)
            }
        }
    }

    #[test]
    fn editing() {
        for (keys, left) in [
            ("hello<left><left>X", "helX|lo"),
            ("你好吗<bs><left>们", "你们|好"),
            ("👨‍👩‍👧x<bs><bs>", "|"),
            ("one two three<c-w>", "one two |"),
            ("one two<c-a><a-f>!", "one!| two"),
            ("one two<c-u>", "|"),
            ("one two<a-b><c-k><c-a><c-y>", "two|one "),
            ("a\\<enter>b", "a\nb|"),
            ("a<a-enter>b<c-a>c", "a\nc|b"),
            ("e\u{301}x<left><bs>y", "y|x"),
        ] {
            assert_eq!(typed(keys).1, left, "{keys}");
        }
    }

    #[test]
    fn history() {
        let (done, left) = typed("one<enter>two<enter>dra<up><up><up><down><down>");
        assert_eq!(done, ["one", "two"]);
        assert_eq!(left, "dra|");
        assert_eq!(typed("one<enter>two<enter><up><up>").1, "one|");
    }

    #[test]
    fn a_question_does_not_take_the_draft() {
        let mut editor = Editor::default();
        editor.paste("yes and\r\nmore");
        editor.stash();
        assert_eq!(editor.text(), "");
        editor.paste("y");
        assert_eq!(
            editor.key(KeyEvent::from(KeyCode::Enter)),
            Edited::Submit("y".into())
        );
        editor.unstash();
        assert_eq!(editor.text(), "yes and\nmore");
    }
}
