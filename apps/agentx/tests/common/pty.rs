//! The program in a terminal: a pseudo terminal with a screen behind it.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::mpsc;
use std::time::{Duration, Instant};

mod tube;

use crate::common::Sandbox;
use crate::terminal::FakeTerminal;
use tube::Tube;

/// Longer than anything takes; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A program that runs in a terminal.
pub(crate) struct Pty {
    tube: Tube,
    screen: FakeTerminal,
    undecoded: Vec<u8>,
}

impl Pty {
    /// Starts it in a session of its own, so that no other terminal is found.
    pub(crate) fn start(sandbox: &Sandbox, args: &[&str], columns: u16, rows: u16) -> Self {
        Self::start_with(sandbox, args, columns, rows, &[])
    }

    /// The same with more variables in its environment.
    pub(crate) fn start_with(
        sandbox: &Sandbox,
        args: &[&str],
        columns: u16,
        rows: u16,
        variables: &[(&str, &str)],
    ) -> Self {
        let defaults = [("TERM", "xterm"), ("NO_COLOR", "1")];
        let tube = Tube::open(&sandbox.command(args), (columns, rows), &defaults, variables);
        let screen = FakeTerminal::new(columns.into(), rows.into());
        Self {
            tube,
            screen,
            undecoded: Vec::new(),
        }
    }

    /// Types.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.tube.keys(keys);
    }

    /// Ends the program as a power cut would.
    pub(crate) fn kill_program(&mut self) {
        self.tube.kill_program();
    }

    /// Tells the program to end, as a system that shuts down does.
    pub(crate) fn terminate_program(&self) {
        self.tube.signal(nix::sys::signal::Signal::SIGTERM);
    }

    /// Waits until another program has written this file.
    pub(crate) fn wait_for_file(&mut self, path: &std::path::Path) {
        let until = Instant::now() + PATIENCE;
        while !std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
            assert!(Instant::now() < until, "{} never came", path.display());
            if let Ok(bytes) = self.tube.output.recv_timeout(Duration::from_millis(5)) {
                self.write(&bytes);
            }
        }
    }

    /// Waits until the screen, with all that has scrolled away, shows this.
    pub(crate) fn wait_for(&mut self, text: &str) {
        self.wait_until(&format!("{text:?}"), |lines| {
            lines.iter().any(|line| line.contains(text))
        });
    }

    /// Waits until the program has set this mode of the terminal.
    pub(crate) fn wait_for_mode(&mut self, mode: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.screen.modes().iter().any(|told| told == mode) {
            let left = until.saturating_duration_since(Instant::now());
            match self.tube.output.recv_timeout(left) {
                Ok(bytes) => self.write(&bytes),
                Err(error) => panic!("{mode} never came ({error}): {:?}", self.screen.modes()),
            }
        }
    }

    /// The titles that the terminal was given, in order.
    #[allow(dead_code, reason = "only some tests look at it")]
    pub(crate) fn titles(&self) -> &[String] {
        self.screen.titles()
    }

    /// Waits until the terminal has this title.
    pub(crate) fn wait_for_title(&mut self, title: &str) {
        let until = Instant::now() + PATIENCE;
        while self.screen.titles().last().is_none_or(|shown| shown != title) {
            let left = until.saturating_duration_since(Instant::now());
            match self.tube.output.recv_timeout(left) {
                Ok(bytes) => self.write(&bytes),
                Err(error) => panic!("{title:?} never came ({error}): {:?}", self.screen.titles()),
            }
        }
    }

    /// Returns the modes that were set in the terminal, in order.
    pub(crate) fn modes(&self) -> &[String] {
        self.screen.modes()
    }

    /// Waits until no line shows this.
    pub(crate) fn wait_until_gone(&mut self, text: &str) {
        self.wait_until(&format!("no {text:?}"), |lines| {
            !lines.iter().any(|line| line.contains(text))
        });
    }

    /// Waits until the last line of the screen is this.
    pub(crate) fn wait_for_last(&mut self, text: &str) {
        self.wait_until(&format!("{text:?} at the end"), |lines| {
            lines.last().is_some_and(|line| line == text)
        });
    }

    fn wait_until(&mut self, what: &str, found: impl Fn(&[String]) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !found(&self.screen.lines()) {
            let left = until.saturating_duration_since(Instant::now());
            match self.tube.output.recv_timeout(left) {
                Ok(bytes) => self.write(&bytes),
                Err(error) => panic!("{what} never came ({error}):\n{}", self.screen.lines().join("\n")),
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.undecoded.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.undecoded) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        // A sequence that is not whole yet waits for its end.
        let text = String::from_utf8_lossy(&self.undecoded[..whole]).into_owned();
        let end = match text.rfind('\u{1b}') {
            Some(start) if !is_whole(&text[start + 1..]) => start,
            _ => text.len(),
        };
        self.screen.write(&text[..end]);
        self.undecoded.drain(..end);
    }

    /// The screen, with all that has scrolled away.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.screen.lines()
    }

    /// Returns the latest text of the terminal's clipboard, in base64.
    pub(crate) fn clipboard(&self) -> Option<&str> {
        self.screen.clipboard()
    }

    /// Waits for the end; returns the exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self
                .tube
                .output
                .recv_timeout(until.saturating_duration_since(Instant::now()))
            {
                Ok(bytes) => self.write(&bytes),
                Err(mpsc::RecvTimeoutError::Disconnected) => return self.tube.code(),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    panic!("it does not end:\n{}", self.lines().join("\n"))
                }
            }
        }
    }
}

/// Whether a sequence has its end: words to the terminal end with BEL, all others with a letter.
fn is_whole(sequence: &str) -> bool {
    if sequence.starts_with(']') {
        sequence.contains('\u{7}')
    } else {
        sequence.contains(|c: char| c.is_ascii_alphabetic())
    }
}
