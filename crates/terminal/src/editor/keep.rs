//! The line as a whole: takes it, replaces it, stashes it for a question, and restores it.

use super::Editor;
use crate::clean::clean_with_tabs;

/// A text that comes into the line later.
#[derive(Clone, Debug)]
pub(super) struct LaterText {
    text: String,
    /// The place of the cursor in it, in bytes.
    cursor: usize,
}

impl From<String> for LaterText {
    fn from(text: String) -> Self {
        let cursor = text.len();
        Self { text, cursor }
    }
}

impl Editor {
    /// Returns the text of the line with the full text of long pastes.
    pub fn whole(&self) -> String {
        self.pastes.unfold(&self.text)
    }

    /// A text that was sent, with its long pastes by their size.
    pub fn folded(&self, text: &str) -> String {
        self.pastes.folded(text)
    }

    /// Returns the part of a text that was not pasted into it as a long text or as several lines.
    pub fn typed(&self, text: &str) -> String {
        self.pastes.typed(text)
    }

    /// Takes the whole text. The next returned text, if there is one, becomes the line.
    pub fn take(&mut self) -> String {
        let whole = self.whole();
        self.pastes.sent(&self.text);
        self.clear();
        self.write_next();
        whole
    }

    /// Replaces the text; this can be undone.
    pub fn replace(&mut self, text: &str) {
        self.change(false);
        let text = clean_with_tabs(&text.replace("\r\n", "\n").replace('\r', "\n"));
        let shown = self.pastes.refold(text);
        self.set(shown);
    }

    /// Says whether the line answers a question. Then the keys that go to earlier and later inputs do
    /// nothing, so that no old input becomes an answer.
    pub fn set_answering(&mut self, answers: bool) {
        self.answers = answers;
    }

    /// Returns whether the typed text was put aside for a question.
    pub fn is_stashed(&self) -> bool {
        self.stashed.is_some()
    }

    /// Takes the text from the external editor. A question may have come or gone meanwhile, so the text goes
    /// back to the place from which it was taken.
    pub fn set_edited(&mut self, text: &str, was_stashed: bool) {
        match (&mut self.stashed, was_stashed) {
            (Some(draft), false) => {
                let text = self.pastes.refold(clean_with_tabs(text));
                *draft = (text.clone(), text.len());
            }
            // It answered a question that is closed by now.
            (None, true) => {}
            (Some(_), true) | (None, false) => self.replace(text),
        }
    }

    /// Returns sent texts to the editor: the first goes into the line, or into the stashed line while a
    /// question is open. The others, and then the text that was in the line, follow one by one, each when the
    /// one before is sent or discarded.
    pub fn bring_back(&mut self, texts: &[String]) {
        let Some((first, others)) = texts.split_first() else {
            return;
        };
        let draft = (!self.own_text().0.is_empty()).then(|| LaterText {
            text: self.pastes.unfold(self.own_text().0),
            cursor: self.own_cursor(),
        });
        let others = others.iter().cloned().map(LaterText::from);
        for text in others.chain(draft).rev() {
            self.later.push_front(text);
        }
        let shown = self.pastes.refold(first.clone());
        match &mut self.stashed {
            Some(stashed) => *stashed = (shown.clone(), shown.len()),
            None => self.set(shown),
        }
    }

    /// Writes the next text that came back, if nothing is written.
    pub(super) fn write_next(&mut self) {
        if self.stashed.is_none()
            && let Some(next) = self.later.pop_front()
        {
            let shown = self.pastes.refold(next.text.clone());
            let cursor = visible_place(&shown, &next.text, next.cursor);
            self.set(shown);
            self.cursor = cursor;
        }
    }

    /// Puts the cursor at this place of the whole text that came back first.
    pub fn place_cursor(&mut self, cursor: usize) {
        let (text, at) = match &mut self.stashed {
            Some((text, at)) => (&*text, at),
            None => (&self.text, &mut self.cursor),
        };
        *at = visible_place(text, &self.pastes.unfold(text), cursor);
    }

    /// Returns the place of the cursor in the first unsent text; `None` if the line is blank.
    pub fn unsent_cursor(&self) -> Option<usize> {
        (!self.own_text().0.trim().is_empty()).then(|| self.own_cursor())
    }

    /// Returns the text of the message, without an answer that is being typed, and its cursor position.
    fn own_text(&self) -> (&str, usize) {
        match &self.stashed {
            Some((text, at)) => (text, *at),
            None => (&self.text, self.cursor),
        }
    }

    /// Returns the same place in the whole text.
    fn own_cursor(&self) -> usize {
        let (text, at) = self.own_text();
        self.pastes.unfold(text.get(..at).unwrap_or(text)).len()
    }

    /// The texts that came back and are not in the line yet.
    pub fn later(&self) -> impl ExactSizeIterator<Item = &str> {
        self.later.iter().map(|later| later.text.as_str())
    }

    /// Returns the texts that were typed and not sent, in their order, with the full text of long pastes.
    /// Blank ones are left out.
    pub fn unsent(&self) -> Vec<String> {
        // While a question is open, the draft is stashed and the line holds an answer.
        let own = match &self.stashed {
            Some((draft, _)) => self.pastes.unfold(draft),
            None => self.whole(),
        };
        // The next text for the line was sent after the text that is in it.
        let texts = std::iter::once(own).chain(self.later.iter().map(|later| later.text.clone()));
        texts.filter(|text| !text.trim().is_empty()).collect()
    }

    /// Keeps unsent text in the history, in its order, for the next chat.
    pub fn keep_unsent(&mut self) {
        let unsent = self.unsent();
        self.later.clear();
        unsent.iter().for_each(|text| self.remember(text));
    }

    /// Stashes the text, so that it does not become the answer to a question.
    pub fn stash(&mut self) {
        let text = std::mem::take(&mut self.text);
        let cursor = std::mem::take(&mut self.cursor);
        let (draft, at) = self.stashed.get_or_insert_default();
        if !text.is_empty() {
            draft.push_str(if draft.is_empty() { "" } else { "\n" });
            *at = draft.len() + cursor;
            draft.push_str(&text);
        }
        // An answer begins by typing.
        if let Some(vi) = &mut self.vi {
            vi.begin();
        }
    }

    /// Restores the stashed text. The text since then answers a question that is closed.
    pub fn unstash(&mut self) {
        if let Some((text, cursor)) = self.stashed.take() {
            self.text = text;
            self.cursor = cursor;
        }
    }
}

/// Returns the place of the cursor in a text as it is shown. A text with a long paste is shown by its size,
/// so the place in it is not known: the cursor goes to the end.
fn visible_place(shown: &str, text: &str, cursor: usize) -> usize {
    if shown == text && text.is_char_boundary(cursor) {
        cursor
    } else {
        shown.len()
    }
}
