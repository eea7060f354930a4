//! The keys of vi: a state machine beside the line. In insert mode, keys mean the same as without vi; in
//! normal mode they are commands: a count, an operator, a motion.

mod commands;
mod operators;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{EditOutcome, Editor, motion};

/// Maximum count: a typing mistake must not cause minutes of work.
const MOST: usize = 1_000;
/// Maximum number of repetitions of a change.
const MOST_AGAIN: usize = 100;

/// The state of the vi keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Vi {
    mode: ViMode,
    /// The number that is being typed.
    count: Option<usize>,
    /// The pending operator and its count.
    operator: Option<(ViOperator, usize)>,
    /// The command that the next key completes.
    wait: Wait,
    /// The target of `;` and `,`.
    sought: Option<Sought>,
    /// The keys of the command that is being typed, and of the last one that changed something.
    typed: Vec<KeyEvent>,
    last: Vec<KeyEvent>,
    /// The command changes something.
    changes: bool,
    /// The keys come from `.`, not from the person.
    again: bool,
}

/// The meaning of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ViMode {
    /// Letters are typed.
    #[default]
    Insert,
    /// Letters are commands.
    Normal,
}

/// An operator on a piece of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ViOperator {
    Delete,
    Change,
    Yank,
}

/// A command that the next key completes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wait {
    #[default]
    Nothing,
    /// `f`, `t`, `F`, `T`: the sign to find comes next.
    Sign { back: bool, till: bool },
    /// `r`: the new sign comes next.
    Replace,
    /// `g`.
    G,
    /// `i` or `a` after an operator: the text object comes next.
    Object { around: bool },
}

/// A sign that was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sought {
    sign: char,
    back: bool,
    till: bool,
}

/// The target of a motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Motion {
    to: usize,
    reach: MotionExtent,
}

/// The extent of a motion for an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MotionExtent {
    /// Up to the place.
    Before,
    /// Including the sign at the place.
    With,
    /// Whole lines, from the one of the cursor to the one of the target.
    Rows,
}

impl Vi {
    /// Returns whether keys are commands.
    pub(super) fn is_normal(&self) -> bool {
        self.mode == ViMode::Normal
    }

    /// A new line begins, by typing.
    pub(super) fn begin(&mut self) {
        self.mode = ViMode::Insert;
        self.typed.clear();
        self.changes = false;
        self.forget();
    }

    fn is_idle(&self) -> bool {
        self.count.is_none() && self.operator.is_none() && self.wait == Wait::Nothing
    }

    /// Discards a partly typed command.
    fn forget(&mut self) {
        (self.count, self.operator, self.wait) = (None, None, Wait::Nothing);
    }

    /// Returns the repetitions: the number before the operator times the one after it.
    fn times(&self) -> usize {
        let before = self.operator.map_or(1, |(_, times)| times);
        (before * self.count.unwrap_or(1)).clamp(1, MOST)
    }

    /// A command is complete: if it changed something, `.` does it again.
    fn done(&mut self) {
        self.forget();
        if self.mode == ViMode::Insert {
            return;
        }
        if std::mem::take(&mut self.changes) && !self.again {
            self.last = std::mem::take(&mut self.typed);
        }
        if !self.again {
            self.typed.clear();
        }
    }
}

impl Editor {
    /// Handles a key, if vi's keys are on.
    pub(super) fn vi_key(&mut self, key: KeyEvent) -> EditOutcome {
        let Some(vi) = &mut self.vi else {
            return self.plain_key(key);
        };
        if !vi.again {
            vi.typed.push(key);
        }
        if vi.is_normal() {
            return self.command_key(key);
        }
        if key.code == KeyCode::Esc {
            let before = motion::previous_grapheme(&self.text, self.cursor);
            let before = self.pastes.landed(&self.text, self.cursor, before);
            self.cursor = before.max(motion::row_start(&self.text, self.cursor));
            self.undo.release();
            vi.mode = ViMode::Normal;
            vi.done();
            return EditOutcome::Changed;
        }
        if !vi.changes && !vi.again {
            // `.` does not repeat text that was typed into a new line.
            vi.typed.clear();
        }
        self.plain_key(key)
    }

    /// A key in normal mode.
    fn command_key(&mut self, key: KeyEvent) -> EditOutcome {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let edited = match key.code {
            KeyCode::Char('r') if control => self.counted(|editor| editor.take_back(true)),
            KeyCode::Char('c' | 'd' | 'l' | 's' | 'x' | 'z') if control => {
                self.settled();
                self.plain_key(key)
            }
            KeyCode::Char(c) if !control => self.command(c),
            KeyCode::Esc if self.vi.as_ref().is_some_and(Vi::is_idle) => {
                self.settled();
                EditOutcome::Escape
            }
            KeyCode::Esc => {
                self.settled();
                EditOutcome::Changed
            }
            KeyCode::Backspace => self.command('h'),
            KeyCode::Enter if self.waits() == Wait::Replace => self.command('\n'),
            KeyCode::Left
            | KeyCode::Right
            | KeyCode::Home
            | KeyCode::End
            | KeyCode::Delete
            | KeyCode::Up
            | KeyCode::Down
            | KeyCode::Enter => {
                self.settled();
                self.plain_key(key)
            }
            _ => {
                self.settled();
                EditOutcome::Nothing
            }
        };
        self.keep_inside();
        edited
    }

    fn waits(&self) -> Wait {
        self.vi.as_ref().map_or(Wait::Nothing, |vi| vi.wait)
    }

    /// Takes the count of the command and does something as often.
    fn counted(&mut self, mut each: impl FnMut(&mut Self) -> EditOutcome) -> EditOutcome {
        let times = self.vi.as_ref().map_or(1, Vi::times);
        let mut edited = EditOutcome::Nothing;
        for _ in 0..times {
            let now = each(self);
            if now == EditOutcome::Nothing {
                break;
            }
            edited = now;
        }
        self.settled();
        edited
    }

    /// The command is complete.
    fn settled(&mut self) {
        if let Some(vi) = &mut self.vi {
            vi.done();
            if vi.is_normal() && !vi.again {
                self.undo.release();
            }
        }
    }

    /// The letters that follow are typed, as a part of the command.
    fn insert_mode(&mut self) -> EditOutcome {
        self.undo.hold();
        if let Some(vi) = &mut self.vi {
            (vi.mode, vi.changes) = (ViMode::Insert, true);
            vi.forget();
        }
        EditOutcome::Changed
    }

    /// The command changes something; it is undone in one step with everything that belongs to it.
    fn changes(&mut self) {
        self.undo.hold();
        if let Some(vi) = &mut self.vi {
            vi.changes = true;
        }
    }

    /// In normal mode the cursor is on something, not behind it.
    fn keep_inside(&mut self) {
        if !self.is_commanded() {
            return;
        }
        let start = motion::row_start(&self.text, self.cursor);
        if self.cursor > start && self.cursor == motion::row_end(&self.text, self.cursor) {
            self.cursor = self.previous_grapheme();
        }
    }

    /// Does the last change again.
    fn repeat_change(&mut self) -> EditOutcome {
        let Some(vi) = &mut self.vi else {
            return EditOutcome::Nothing;
        };
        let (keys, times) = (vi.last.clone(), vi.times().min(MOST_AGAIN));
        vi.forget();
        vi.typed.clear();
        if keys.is_empty() || vi.again {
            return EditOutcome::Nothing;
        }
        vi.again = true;
        for _ in 0..times {
            for key in &keys {
                self.vi_key(*key);
            }
        }
        if let Some(vi) = &mut self.vi {
            vi.again = false;
            vi.changes = false;
        }
        self.settled();
        EditOutcome::Changed
    }
}
