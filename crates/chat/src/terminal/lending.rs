//! The terminal while somebody else has it: another program, or a question whose answer is not shown. The
//! reader of keys of the chat stops meanwhile, so that it takes no key of theirs.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossterm::event::Event;

use super::TerminalInput;

/// Maximum number of inputs that are taken from the terminal around a hidden question.
const MOST_RECEIVED: usize = 4096;
/// Maximum time to wait for the reader of keys, which may hold a key without a receiver.
const AWAY: Duration = Duration::from_millis(300);

/// The gate at which the reader of keys waits while another program has the terminal. A terminal has one
/// reader, and so one gate.
pub(super) static GATE: TerminalGate = TerminalGate {
    state: Mutex::new((false, false)),
    changed: Condvar::new(),
};

pub(super) struct TerminalGate {
    /// Whether the terminal is lent, and whether the reader of keys has stopped.
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl TerminalGate {
    fn state(&self) -> MutexGuard<'_, (bool, bool)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while the terminal is lent.
    pub(super) fn pass(&self) {
        let mut state = self.state();
        while state.0 {
            state.1 = true;
            self.changed.notify_all();
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.1 = false;
    }

    /// Stops the reader, and waits for it.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.0 = true;
        wake_reader();
        while !state.1 {
            let (after, waited) = self
                .changed
                .wait_timeout(state, AWAY)
                .unwrap_or_else(PoisonError::into_inner);
            state = after;
            if waited.timed_out() {
                return;
            }
        }
    }

    fn open(&self) {
        self.state().0 = false;
        self.changed.notify_all();
    }
}

/// Wakes the reader that waits for a key, by the signal that the terminal may have another size.
fn wake_reader() {
    #[cfg(unix)]
    let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGWINCH);
}

/// The terminal without its reader of keys, as another program or a hidden question has it, until this is
/// dropped.
pub(crate) struct TerminalLoan {
    /// Whether it was lent for an answer that is not shown.
    is_hidden: bool,
}

impl TerminalLoan {
    /// The terminal as another program has it. The reader of keys has stopped.
    pub(super) fn of_program() -> Self {
        Self { is_hidden: false }
    }

    /// The terminal as a question has it whose answer is not shown. The reader of keys has stopped.
    pub(super) fn of_hidden_question() -> Self {
        Self { is_hidden: true }
    }
}

impl Drop for TerminalLoan {
    fn drop(&mut self) {
        // The next read reports that the terminal is gone.
        let _ = super::enter();
        if self.is_hidden {
            // It may be the second line of a value that was pasted.
            let _ = received();
        }
        GATE.open();
    }
}

/// Takes the inputs that the terminal has received, without waiting. The reader of keys must have stopped.
pub(super) fn received() -> Vec<TerminalInput> {
    let mut inputs = Vec::new();
    while inputs.len() < MOST_RECEIVED && crossterm::event::poll(Duration::ZERO).unwrap_or(false) {
        match crossterm::event::read() {
            Ok(Event::Key(key)) => inputs.push(TerminalInput::Key(key)),
            Ok(Event::Paste(text)) => inputs.push(TerminalInput::Paste(text)),
            Ok(Event::FocusGained | Event::FocusLost | Event::Mouse(_) | Event::Resize(..)) => {}
            Err(_) => break,
        }
    }
    inputs
}
