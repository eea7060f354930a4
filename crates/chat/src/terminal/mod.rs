//! The terminal of a chat: raw mode while the chat is open, restored whatever happens; and the reader of its
//! keys.

pub(crate) mod clipboard;
pub mod console;
mod dollars;
pub(crate) mod draft;
mod draft_header;
mod lending;
pub(crate) mod line_filter;
pub(crate) mod output;
pub mod passphrase;
pub(crate) mod question_line;
pub(crate) mod reply_filter;
pub mod signals;
pub(crate) mod stop_request;
pub(crate) mod title;
pub(crate) mod tmux;
pub(crate) mod typed_ahead;
pub(crate) mod typed_answer;
pub(crate) mod unfinished_drafts;
pub(crate) mod xterm;

use std::io::{self, BufRead as _, Write as _};
use std::sync::Once;
use std::time::Instant;

use agentx_terminal::LongRows;
use crossterm::event::{Event, KeyEvent};
use tokio::sync::mpsc;

use crate::terminal::output::standard_output;
use lending::GATE;
pub(crate) use lending::TerminalLoan;
use reply_filter::ReplyFilter;

/// The input of a person.
#[derive(Clone, Debug, PartialEq)]
pub enum TerminalInput {
    /// A key, as the terminal reports it.
    Key(KeyEvent),
    /// A text that was pasted.
    Paste(String),
    /// The terminal has another size: columns and rows.
    Resize(usize, usize),
    /// The terminal reports its background.
    Background {
        /// Whether the background is light.
        is_light: bool,
    },
    /// The terminal gives its name.
    Named(String),
    /// A whole line, if the chat reads lines.
    Line(String),
    /// A line that was sent while something else had to end first; it never answers a question.
    Waited(String),
    /// The input has ended.
    End,
}

/// Maximum number of waiting inputs; then the terminal's own buffer fills.
const WAITING: usize = 64;

/// Reads keys on a separate thread, which sleeps until there is one.
pub fn keys() -> mpsc::Receiver<TerminalInput> {
    let (sender, inputs) = mpsc::channel(WAITING);
    std::thread::spawn(move || {
        let mut answer = ReplyFilter::new(Instant::now());
        loop {
            GATE.pass();
            let waits = answer.patience();
            if waits.is_some_and(|patience| !crossterm::event::poll(patience).unwrap_or(true)) {
                for input in answer.give_up() {
                    if sender.blocking_send(input).is_err() {
                        return;
                    }
                }
                continue;
            }
            let input = match crossterm::event::read() {
                Ok(Event::Key(key)) => {
                    for input in answer.take(key, Instant::now()) {
                        if let TerminalInput::Named(name) = &input {
                            xterm::record_name(name);
                        }
                        if sender.blocking_send(input).is_err() {
                            return;
                        }
                    }
                    continue;
                }
                Ok(Event::Paste(text)) => TerminalInput::Paste(text),
                Ok(Event::Resize(columns, rows)) => TerminalInput::Resize(columns.into(), rows.into()),
                Ok(Event::FocusGained | Event::FocusLost | Event::Mouse(_)) => continue,
                Err(_) => TerminalInput::End,
            };
            let end = input == TerminalInput::End;
            if sender.blocking_send(input).is_err() || end {
                return;
            }
        }
    });
    inputs
}

/// Reads lines on a separate thread, one line ahead.
pub fn lines() -> mpsc::Receiver<TerminalInput> {
    let (sender, inputs) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if sender.blocking_send(TerminalInput::Line(line)).is_err() {
                return;
            }
        }
        let _ = sender.blocking_send(TerminalInput::End);
    });
    inputs
}

/// The terminal in raw mode, with pastes distinguished from keys.
pub struct RawMode;

impl RawMode {
    /// Enters it; it ends when this is dropped, and before a panic says something.
    ///
    /// # Errors
    /// Returns an error if the terminal refuses.
    pub fn enter() -> io::Result<Self> {
        enter()?;
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            leave();
            before(panic);
        }));
        Ok(Self)
    }

    /// Lends the terminal to another program, in its original mode and without a reader in this program.
    pub(crate) fn lend(&self) -> TerminalLoan {
        GATE.close();
        leave();
        TerminalLoan::of_program()
    }

    /// Lends the terminal for an answer that is not shown. The terminal stays in raw mode, so nothing is
    /// shown that is typed before the question is there. Also returns what it has received already.
    pub(crate) fn lend_hidden(&self) -> (TerminalLoan, Vec<TerminalInput>) {
        GATE.close();
        let inputs = lending::received();
        say_farewell();
        (TerminalLoan::of_hidden_question(), inputs)
    }

    /// Suspends the program until the shell resumes it.
    #[cfg(unix)]
    pub(crate) fn suspend(&self) -> io::Result<()> {
        leave();
        nix::sys::signal::raise(nix::sys::signal::Signal::SIGTSTP)?;
        enter()
    }

    /// Does nothing: this system has no background for programs.
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

/// Whether the keyboard modes that other programs left behind were reset.
static FORGOTTEN: Once = Once::new();

fn enter() -> io::Result<()> {
    crossterm::terminal::enable_raw_mode()?;
    let mut wishes = String::from("\x1b[?2004h");
    if tells_keys_apart(&|name| std::env::var(name).ok()) {
        // A program that was killed has left its wish behind; the shell has none while another program runs.
        FORGOTTEN.call_once(|| wishes.push_str("\x1b[<16u"));
        wishes.push_str("\x1b[>1u");
    }
    wishes.push_str(xterm::wishes());
    standard_output().write_all(wishes.as_bytes())?;
    output::finish()
}

fn leave() {
    say_farewell();
    let _ = crossterm::terminal::disable_raw_mode();
}

/// Ends the modes of the terminal that its reader set.
fn say_farewell() {
    let mut farewell = String::new();
    if tells_keys_apart(&|name| std::env::var(name).ok()) {
        farewell.push_str("\x1b[<u");
    }
    farewell.push_str(xterm::farewell());
    farewell.push_str(title::farewell());
    farewell.push_str("\x1b[?2004l");
    // A terminal that is gone needs no cleaning up.
    let _ = standard_output().write_all(farewell.as_bytes());
    // Another program, or the shell, has the terminal next.
    let _ = output::finish();
}

/// Restores the terminal, from any thread, if a chat has it.
pub(crate) fn restore() {
    if crossterm::terminal::is_raw_mode_enabled().unwrap_or(false) {
        leave();
    }
}

/// Returns whether the terminal is known to distinguish Shift-Enter from Enter on request (the keyboard
/// protocol of kitty). Asking it first would cost a start of the program, and some never answer.
fn tells_keys_apart(lookup: &dyn Fn(&str) -> Option<String>) -> bool {
    let is = |name: &str, words: &[&str]| lookup(name).is_some_and(|value| words.contains(&value.as_str()));
    let is_set = |name: &str| lookup(name).is_some_and(|value| !value.is_empty());
    if is_set("TMUX") || is_set("STY") {
        return false;
    }
    is(
        "TERM",
        &[
            "xterm-kitty",
            "xterm-ghostty",
            "foot",
            "foot-direct",
            "alacritty",
            "rio",
        ],
    ) || is("TERM_PROGRAM", &["ghostty", "WezTerm", "iTerm.app", "rio"])
        || is_set("KITTY_WINDOW_ID")
}

/// Returns whether to ask the terminal for its name: it can answer, and the variables say less. A program
/// between this one and the terminal would give its own name.
pub(crate) fn may_be_asked() -> bool {
    asks_for_name(&|name| std::env::var(name).ok())
}

fn asks_for_name(lookup: &dyn Fn(&str) -> Option<String>) -> bool {
    let is_set = |name: &str| lookup(name).is_some_and(|value| !value.is_empty());
    let kinds = ["xterm", "screen", "tmux"];
    let is_kind = lookup("TERM").is_some_and(|term| kinds.iter().any(|kind| term.starts_with(kind)));
    is_kind && !is_set("TMUX") && !is_set("STY")
}

/// Returns what the terminal does with long rows when it becomes narrower. A terminal cannot say so itself: a
/// few that cut rows are recognized, and all others count as the common kind.
pub(crate) fn long_rows() -> LongRows {
    if xterm::is_known().unwrap_or_else(|| cuts_rows(&|name| std::env::var(name).ok())) {
        LongRows::Cut
    } else {
        LongRows::Broken
    }
}

fn cuts_rows(lookup: &dyn Fn(&str) -> Option<String>) -> bool {
    let is_set = |name: &str| lookup(name).is_some_and(|value| !value.is_empty());
    // A program between this one and the terminal decides.
    if is_set("TMUX") {
        return false;
    }
    let kinds = ["linux", "st", "st-256color", "screen", "screen-256color"];
    let is_kind = lookup("TERM").is_some_and(|term| kinds.contains(&term.as_str()));
    is_set("STY") || is_kind || is_set("XTERM_VERSION")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a variable, if only these are set.
    fn value(set: &[(&str, &str)], name: &str) -> Option<String> {
        let found = set.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn xterm_is_told_from_terminals_that_break_rows_anew() {
        let cuts = |set: &[(&str, &str)]| cuts_rows(&|name| value(set, name));
        assert!(cuts(&[
            ("TERM", "xterm-256color"),
            ("XTERM_VERSION", "XTerm(390)")
        ]));
        assert!(cuts(&[("TERM", "screen"), ("STY", "1.pts")]));
        assert!(!cuts(&[
            ("TERM", "screen"),
            ("TMUX", "/tmp/x"),
            ("XTERM_VERSION", "XTerm(390)")
        ]));
        assert!(!cuts(&[("TERM", "xterm-256color")]) && !cuts(&[("TERM", "xterm-kitty")]));
    }

    #[test]
    fn who_may_be_another_one_is_asked_what_it_is() {
        let asks = |set: &[(&str, &str)]| asks_for_name(&|name| value(set, name));
        assert!(asks(&[("TERM", "xterm-256color")]) && asks(&[("TERM", "screen-256color")]));
        assert!(!asks(&[("TERM", "screen"), ("STY", "1.pts")]));
        assert!(!asks(&[("TERM", "xterm-256color"), ("TMUX", "/tmp/x")]));
        assert!(!asks(&[("TERM", "linux")]) && !asks(&[]));
    }

    #[test]
    fn keys_are_told_apart_where_the_terminal_is_known_to() {
        let tells = |set: &[(&str, &str)]| tells_keys_apart(&|name| value(set, name));
        assert!(tells(&[("TERM", "xterm-kitty")]));
        assert!(tells(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "ghostty")]));
        assert!(!tells(&[("TERM", "xterm-256color")]));
        assert!(!tells(&[
            ("TERM", "tmux-256color"),
            ("TMUX", "/tmp/x"),
            ("KITTY_WINDOW_ID", "1")
        ]));
    }
}
