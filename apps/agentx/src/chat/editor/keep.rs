//! The line as a whole: taken, written anew, put aside for a question, given back.

use super::Editor;
use crate::render::clean::clean_with_tabs;

impl Editor {
    /// What is written, with the texts of long pastes in it.
    pub(crate) fn whole(&self) -> String {
        self.pastes.unfold(&self.text)
    }

    /// Takes what is written, whole.
    pub(crate) fn take(&mut self) -> String {
        let whole = self.whole();
        self.pastes.sent(&self.text);
        self.clear();
        whole
    }

    /// Writes this instead; what stood there can be had back.
    pub(crate) fn replace(&mut self, text: &str) {
        self.change(false);
        let text = clean_with_tabs(&text.replace("\r\n", "\n").replace('\r', "\n"));
        let shown = self.pastes.refold(text);
        self.set(shown);
    }

    /// Whether what was written is put aside for a question.
    pub(crate) fn is_stashed(&self) -> bool {
        self.stashed.is_some()
    }

    /// Takes what was written elsewhere, where meanwhile a question may have come or gone: the text belongs to where it was
    /// taken from.
    pub(crate) fn written(&mut self, text: &str, was_stashed: bool) {
        match (&mut self.stashed, was_stashed) {
            (Some(draft), false) => {
                let text = self.pastes.refold(clean_with_tabs(text));
                *draft = (text.clone(), text.len());
            }
            // It was the answer to a question that is not asked any more.
            (None, true) => {}
            (Some(_), true) | (None, false) => self.replace(text),
        }
    }

    /// Puts texts that were said before what is written, or before what is put aside for a question.
    pub(crate) fn bring_back(&mut self, texts: &[String]) {
        let mut whole = self.pastes.refold(texts.join("\n"));
        let (text, cursor) = match &mut self.stashed {
            Some((text, cursor)) => (text, cursor),
            None => (&mut self.text, &mut self.cursor),
        };
        if !text.is_empty() {
            whole.push('\n');
        }
        *cursor += whole.len();
        text.insert_str(0, &whole);
    }

    /// Puts what is written aside, so that it does not become the answer to a question; behind what is there already.
    pub(crate) fn stash(&mut self) {
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

    /// Takes back what was put aside. What is written since is the answer to a question that is asked no more.
    pub(crate) fn unstash(&mut self) {
        if let Some((text, cursor)) = self.stashed.take() {
            self.text = text;
            self.cursor = cursor;
        }
    }
}
