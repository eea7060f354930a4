//! `agentx serve` and other programs that run until they are asked to end; what they say is waited for,
//! within a bound.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::Sandbox;

/// Longer than anything takes; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program that runs; it is killed when this is dropped.
pub(crate) struct Running {
    child: Child,
    out: Lines,
    err: Lines,
}

/// The lines of a stream.
struct Lines {
    source: Receiver<String>,
    said: Vec<String>,
}

impl Lines {
    fn of(stream: impl Read + Send + 'static) -> Self {
        let (sender, source) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            source,
            said: Vec::new(),
        }
    }

    fn wait(&mut self, what: &str, found: impl Fn(&[String]) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !found(&self.said) {
            let left = until.saturating_duration_since(Instant::now());
            match self.source.recv_timeout(left) {
                Ok(line) => self.said.push(line),
                Err(error) => panic!("{what} never came ({error}):\n{}", self.said.join("\n")),
            }
        }
    }

    /// All until the end.
    fn all(&mut self) -> String {
        while let Ok(line) = self.source.recv_timeout(PATIENCE) {
            self.said.push(line);
        }
        self.said.iter().map(|line| format!("{line}\n")).collect()
    }
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let out = Lines::of(child.stdout.take().unwrap());
        let err = Lines::of(child.stderr.take().unwrap());
        Self { child, out, err }
    }

    /// Waits until standard output has a line with this.
    pub(crate) fn prints(&mut self, text: &str) {
        self.out.wait(&format!("{text:?}"), |said| {
            said.iter().any(|line| line.contains(text))
        });
    }

    /// Waits until standard error has a line with this.
    pub(crate) fn says(&mut self, text: &str) {
        self.err.wait(&format!("{text:?}"), |said| {
            said.iter().any(|line| line.contains(text))
        });
    }

    /// Returns the first line with this that standard error had until now, without blanks around it.
    pub(crate) fn line_on_stderr(&self, text: &str) -> String {
        let line = self.err.said.iter().find(|line| line.contains(text)).unwrap();
        line.trim().to_owned()
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    /// Waits for the end: how, standard output, standard error.
    pub(crate) fn end(mut self) -> (ExitStatus, String, String) {
        let (out, err) = (self.out.all(), self.err.all());
        (self.child.wait().unwrap(), out, err)
    }

    /// Stops it as a person does.
    pub(crate) fn interrupt(self) -> (ExitStatus, String, String) {
        self.signal(Signal::SIGINT);
        self.end()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has already ended if the test succeeded.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server of a sandbox.
pub(crate) struct Serving {
    running: Running,
    pub(crate) url: String,
}

impl Serving {
    /// On a free port.
    pub(crate) fn start(sandbox: &Sandbox) -> Self {
        Self::at(sandbox, "127.0.0.1:0", &[])
    }

    /// At this address.
    pub(crate) fn at(sandbox: &Sandbox, listen: &str, more: &[&str]) -> Self {
        let mut args = vec!["serve", "--json", "--listen", listen];
        args.extend(more);
        let mut running = Running::start(sandbox.command(&args));
        running.prints("\"url\"");
        let line: serde_json::Value = serde_json::from_str(&running.out.said[0]).unwrap();
        let url = line["url"].as_str().unwrap().to_owned();
        Self { running, url }
    }

    /// Returns the address without the scheme.
    pub(crate) fn address(&self) -> String {
        self.url.trim_start_matches("http://").to_owned()
    }

    /// Kills it (-9) and starts it again where it was.
    pub(crate) fn killed_and_started_again(self, sandbox: &Sandbox) -> Self {
        let address = self.address();
        self.running.kill();
        Self::at(sandbox, &address, &[])
    }

    /// Kills it (-9).
    pub(crate) fn kill(self) {
        self.running.kill();
    }

    /// Stops its process: it accepts nothing any more, and no connection breaks off.
    pub(crate) fn freeze(&self) {
        self.running.signal(Signal::SIGSTOP);
    }

    /// Waits until it says a line with this on standard error.
    pub(crate) fn says(&mut self, text: &str) {
        self.running.says(text);
    }

    /// Ends it in good order; what it said on standard error.
    pub(crate) fn stop(self) -> String {
        let (status, err) = self.told_to_end();
        assert!(status.success(), "{status}: {err}");
        err
    }

    /// Tells it to end; how it did, and what it said on standard error.
    pub(crate) fn told_to_end(self) -> (ExitStatus, String) {
        let (status, _, err) = self.running.interrupt();
        (status, err)
    }
}
