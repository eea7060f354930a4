//! Reads one line at a question that is asked before a chat opens. A paste answers no question, whatever it
//! says, because a person may paste their first message.

use std::io::{self, Write as _};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use unicode_width::UnicodeWidthChar as _;

use super::output::{self, standard_output};

/// Maximum number of characters of an answer.
const LONGEST: usize = 200;

/// The reaction of a person to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PersonAnswer {
    /// A line was typed.
    Typed(String),
    /// A text was pasted; what was typed before it is lost.
    Pasted(String),
    /// The input has ended.
    End,
}

/// Shows a question, waits for a line or a paste, and shows what is typed. The terminal reports single keys
/// before the question is shown: a quick answer would otherwise be echoed twice.
///
/// # Errors
/// Returns an error if the terminal refuses, or is gone.
pub(crate) fn read_answer(question: &str) -> io::Result<PersonAnswer> {
    let mut keys = AnswerKeys::begin()?;
    show(&question.replace('\n', "\r\n"))?;
    let mut line = AnswerLine::default();
    loop {
        let step = line.take(crossterm::event::read()?);
        show(&std::mem::take(&mut line.echo))?;
        match step {
            LineStep::Continue => {}
            LineStep::Interrupt(interrupt) => {
                drop(keys);
                interrupt.happen()?;
                keys = AnswerKeys::begin()?;
            }
            LineStep::Done(answer) => {
                show("\r\n")?;
                return Ok(answer);
            }
        }
    }
}

fn show(text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    standard_output().write_all(text.as_bytes())?;
    output::finish()
}

/// The terminal as it reports single keys, with pastes told apart, until this is dropped.
struct AnswerKeys;

impl AnswerKeys {
    fn begin() -> io::Result<Self> {
        crossterm::terminal::enable_raw_mode()?;
        let keys = Self;
        show("\x1b[?2004h")?;
        Ok(keys)
    }
}

impl Drop for AnswerKeys {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _ = show("\x1b[?2004l");
        let _ = crossterm::terminal::disable_raw_mode();
    }
}

/// A key that the terminal turns into a signal outside of raw mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InterruptKey {
    End,
    Suspend,
}

impl InterruptKey {
    /// Does what the signal does.
    #[cfg(unix)]
    fn happen(self) -> io::Result<()> {
        use nix::sys::signal::{Signal, raise};
        let signal = match self {
            Self::End => Signal::SIGINT,
            Self::Suspend => Signal::SIGTSTP,
        };
        Ok(raise(signal)?)
    }

    #[cfg(not(unix))]
    fn happen(self) -> io::Result<()> {
        match self {
            Self::End => Err(io::ErrorKind::Interrupted.into()),
            Self::Suspend => Ok(()),
        }
    }
}

/// The effect of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LineStep {
    Continue,
    Interrupt(InterruptKey),
    Done(PersonAnswer),
}

/// The line that is typed.
#[derive(Debug, Default)]
struct AnswerLine {
    typed: String,
    /// The text that the terminal does not show yet.
    echo: String,
}

impl AnswerLine {
    fn take(&mut self, event: Event) -> LineStep {
        match event {
            Event::Paste(text) => LineStep::Done(PersonAnswer::Pasted(text)),
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(key),
            _ => LineStep::Continue,
        }
    }

    fn key(&mut self, key: KeyEvent) -> LineStep {
        let typed = || LineStep::Done(PersonAnswer::Typed(self.typed.clone()));
        match (key.code, key.modifiers.contains(KeyModifiers::CONTROL)) {
            (KeyCode::Enter, _) | (KeyCode::Char('j' | 'm'), true) => return typed(),
            (KeyCode::Char('c' | '\\'), true) => return LineStep::Interrupt(InterruptKey::End),
            (KeyCode::Char('z'), true) => return LineStep::Interrupt(InterruptKey::Suspend),
            (KeyCode::Char('d'), true) if self.typed.is_empty() => {
                return LineStep::Done(PersonAnswer::End);
            }
            (KeyCode::Char('u'), true) => while self.erase() {},
            (KeyCode::Backspace, _) | (KeyCode::Char('h'), true) => {
                self.erase();
            }
            (KeyCode::Char(c), false) if !c.is_control() && self.typed.chars().count() < LONGEST => {
                self.typed.push(c);
                self.echo.push(c);
            }
            _ => {}
        }
        LineStep::Continue
    }

    /// Erases the last character; returns whether there was one.
    fn erase(&mut self) -> bool {
        let Some(c) = self.typed.pop() else {
            return false;
        };
        let columns = c.width().unwrap_or(0);
        self.echo.push_str(&"\u{8} \u{8}".repeat(columns));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> Event {
        Event::Key(KeyEvent::new(code, modifiers))
    }

    fn plain(text: &str) -> Vec<Event> {
        let letter = |c| key(KeyCode::Char(c), KeyModifiers::NONE);
        text.chars().map(letter).collect()
    }

    /// The last step after these inputs, and what the terminal was told.
    fn after(events: impl IntoIterator<Item = Event>) -> (LineStep, String) {
        let mut line = AnswerLine::default();
        let steps = events.into_iter().map(|event| line.take(event));
        let last = steps.last().unwrap_or(LineStep::Continue);
        (last, line.echo)
    }

    #[test]
    fn a_line_is_typed_and_shown() {
        let enter = key(KeyCode::Enter, KeyModifiers::NONE);
        let (step, echo) = after(plain("1").into_iter().chain([enter.clone()]));
        assert_eq!(step, LineStep::Done(PersonAnswer::Typed("1".into())));
        assert_eq!(echo, "1");
        let back = key(KeyCode::Backspace, KeyModifiers::NONE);
        let (step, echo) = after(plain("s你").into_iter().chain([back, enter.clone()]));
        assert_eq!(step, LineStep::Done(PersonAnswer::Typed("s".into())));
        assert_eq!(echo, "s你\u{8} \u{8}\u{8} \u{8}", "it had two columns");
        let clear = key(KeyCode::Char('u'), KeyModifiers::CONTROL);
        let (step, _) = after(plain("no").into_iter().chain([clear, enter]));
        assert_eq!(step, LineStep::Done(PersonAnswer::Typed(String::new())));
    }

    #[test]
    fn a_paste_is_no_line_even_if_it_has_a_line_end() {
        let pasted = "1\nfix the bug\n".to_owned();
        let (step, echo) = after([Event::Paste(pasted.clone())]);
        assert_eq!(
            (step, echo.as_str()),
            (LineStep::Done(PersonAnswer::Pasted(pasted)), "")
        );
    }

    #[test]
    fn keys_that_end_or_suspend_do_so() {
        let control = |c| after([key(KeyCode::Char(c), KeyModifiers::CONTROL)]).0;
        assert_eq!(control('c'), LineStep::Interrupt(InterruptKey::End));
        assert_eq!(control('z'), LineStep::Interrupt(InterruptKey::Suspend));
        assert_eq!(control('d'), LineStep::Done(PersonAnswer::End));
        assert_eq!(
            after([key(KeyCode::Esc, KeyModifiers::NONE)]),
            (LineStep::Continue, String::new())
        );
    }
}
