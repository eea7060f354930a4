//! The program in a terminal: a pseudo terminal with a screen behind it.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};

use super::Sandbox;
use super::terminal::FakeTerminal;

/// Longer than anything takes; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A program that runs in a terminal.
pub(crate) struct Pty {
    child: Child,
    keys: std::fs::File,
    output: mpsc::Receiver<Vec<u8>>,
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
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pty = openpty(Some(&size), None).unwrap();
        let end = |fd: &OwnedFd| Stdio::from(fd.try_clone().unwrap());
        let inner = sandbox.command(args);
        let mut command = Command::new("setsid");
        command
            .args(["--ctty", "--wait"])
            .arg(inner.get_program())
            .args(inner.get_args())
            .env_clear();
        command.env("TERM", "xterm").env("NO_COLOR", "1");
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.envs(variables.iter().copied());
        command.current_dir(sandbox.path("ws"));
        command
            .stdin(end(&pty.slave))
            .stdout(end(&pty.slave))
            .stderr(end(&pty.slave));
        let child = command.spawn().unwrap();
        drop((command, pty.slave));
        let keys = std::fs::File::from(pty.master);
        let mut source = keys.try_clone().unwrap();
        let (sender, output) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = source.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        let screen = FakeTerminal::new(columns.into(), rows.into());
        Self {
            child,
            keys,
            output,
            screen,
            undecoded: Vec::new(),
        }
    }

    /// Types.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Ends the program as a power cut would.
    pub(crate) fn kill_program(&mut self) {
        let id = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        let below = children
            .split_whitespace()
            .next()
            .and_then(|child| child.parse().ok());
        let program = nix::unistd::Pid::from_raw(below.unwrap_or(i32::try_from(id).unwrap()));
        nix::sys::signal::kill(program, nix::sys::signal::Signal::SIGKILL).unwrap();
        let _ = self.child.wait();
    }

    /// Waits until another program has written this file.
    pub(crate) fn wait_for_file(&mut self, path: &std::path::Path) {
        let until = Instant::now() + PATIENCE;
        while !std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
            assert!(Instant::now() < until, "{} never came", path.display());
            if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(5)) {
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
            match self.output.recv_timeout(left) {
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
            Some(start) if !text[start + 1..].contains(|c: char| c.is_ascii_alphabetic()) => start,
            _ => text.len(),
        };
        self.screen.write(&text[..end]);
        self.undecoded.drain(..end);
    }

    /// The screen, with all that has scrolled away.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.screen.lines()
    }

    /// Waits for the end; returns the exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self
                .output
                .recv_timeout(until.saturating_duration_since(Instant::now()))
            {
                Ok(bytes) => self.write(&bytes),
                Err(mpsc::RecvTimeoutError::Disconnected) => return self.child.wait().unwrap().code(),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    panic!("it does not end:\n{}", self.lines().join("\n"))
                }
            }
        }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // It has ended already where the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
