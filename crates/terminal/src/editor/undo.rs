//! Undo and redo: a bounded list of snapshots of the line.

/// Maximum number of changes that can be undone.
const MOST: usize = 200;
/// Maximum number of bytes to keep for undo; a long text keeps fewer changes.
const BYTES: usize = 4 << 20;

/// A text and the place of the cursor in it.
type UndoState = (String, usize);

/// The earlier states of the line.
#[derive(Debug, Default)]
pub(super) struct Undo {
    past: Vec<UndoState>,
    future: Vec<UndoState>,
    /// Whether the last change typed a letter: letters in a row are one change.
    typing: bool,
    /// `Some` while edits are grouped into one undo entry; `true` if that entry exists already.
    held: Option<bool>,
}

impl Undo {
    /// Notes that the line is about to change; `typing` if one more letter is typed.
    pub(super) fn change(&mut self, text: &str, cursor: usize, typing: bool) {
        self.future.clear();
        let goes_on = match &mut self.held {
            Some(kept) => std::mem::replace(kept, true),
            None => self.typing && typing,
        };
        self.typing = typing;
        if goes_on || self.past.last().is_some_and(|(before, _)| before == text) {
            return;
        }
        self.past.push((text.to_owned(), cursor));
        let mut bytes: usize = self.past.iter().map(|(text, _)| text.len()).sum();
        while self.past.len() > MOST || (bytes > BYTES && self.past.len() > 1) {
            bytes -= self.past.remove(0).0.len();
        }
    }

    /// Notes that the cursor moved, so that the next typed text is another change.
    pub(super) fn pause(&mut self) {
        self.typing = false;
    }

    /// Groups all edits from now on into one undo entry.
    pub(super) fn hold(&mut self) {
        self.held.get_or_insert(false);
    }

    /// Ends the grouping: each change is undone separately again.
    pub(super) fn release(&mut self) {
        (self.held, self.typing) = (None, false);
    }

    /// Returns the state before the last change.
    pub(super) fn back(&mut self, text: &str, cursor: usize) -> Option<UndoState> {
        self.typing = false;
        loop {
            let before = self.past.pop()?;
            if before.0 != text {
                self.future.push((text.to_owned(), cursor));
                return Some(before);
            }
        }
    }

    /// Returns the state that was undone last, if nothing has changed since.
    pub(super) fn forth(&mut self, text: &str, cursor: usize) -> Option<UndoState> {
        self.typing = false;
        let after = self.future.pop()?;
        self.past.push((text.to_owned(), cursor));
        Some(after)
    }

    /// Another line begins.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}
