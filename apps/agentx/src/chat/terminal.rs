//! The terminal of a chat: raw while it is open, itself again whatever happens; and who reads from it.

use std::io::{self, BufRead as _, Write as _};

use crossterm::event::{Event, KeyEvent};
use tokio::sync::mpsc;

/// What a person does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Input {
    /// A key.
    Key(KeyEvent),
    /// A text that was pasted.
    Paste(String),
    /// The terminal has another size: columns and rows.
    Resize(usize, usize),
    /// A whole line, where lines are read.
    Line(String),
    /// There is nothing more to read.
    End,
}

/// How many inputs may wait; then the terminal's own buffer fills.
const WAITING: usize = 64;

/// Reads keys on a thread of its own: it sleeps until there is one.
pub(crate) fn keys() -> mpsc::Receiver<Input> {
    let (sender, inputs) = mpsc::channel(WAITING);
    std::thread::spawn(move || {
        loop {
            let input = match crossterm::event::read() {
                Ok(Event::Key(key)) => Input::Key(key),
                Ok(Event::Paste(text)) => Input::Paste(text),
                Ok(Event::Resize(columns, rows)) => Input::Resize(columns.into(), rows.into()),
                Ok(Event::FocusGained | Event::FocusLost | Event::Mouse(_)) => continue,
                Err(_) => Input::End,
            };
            let end = input == Input::End;
            if sender.blocking_send(input).is_err() || end {
                return;
            }
        }
    });
    inputs
}

/// Reads lines on a thread of its own, one ahead.
pub(crate) fn lines() -> mpsc::Receiver<Input> {
    let (sender, inputs) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if sender.blocking_send(Input::Line(line)).is_err() {
                return;
            }
        }
        let _ = sender.blocking_send(Input::End);
    });
    inputs
}

/// The terminal in raw mode, with pastes told apart from keys.
pub(crate) struct RawMode;

impl RawMode {
    /// Enters it; it ends when this is dropped, and before a panic says something.
    ///
    /// # Errors
    /// Where the terminal refuses.
    pub(crate) fn enter() -> io::Result<Self> {
        enter()?;
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            leave();
            before(panic);
        }));
        Ok(Self)
    }

    /// Goes to the background, and comes back when the shell says so.
    #[cfg(unix)]
    pub(crate) fn suspend(&self) -> io::Result<()> {
        leave();
        nix::sys::signal::raise(nix::sys::signal::Signal::SIGTSTP)?;
        enter()
    }

    /// There is no background here.
    #[cfg(not(unix))]
    pub(crate) fn suspend(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        leave();
    }
}

fn enter() -> io::Result<()> {
    crossterm::terminal::enable_raw_mode()?;
    let mut out = io::stdout();
    out.write_all(b"\x1b[?2004h").and_then(|()| out.flush())
}

fn leave() {
    let mut out = io::stdout();
    // A terminal that is gone needs no cleaning up.
    let _ = out.write_all(b"\x1b[?2004l").and_then(|()| out.flush());
    let _ = crossterm::terminal::disable_raw_mode();
}
