//! Watches the processes of a tool's command for tests: when it has begun, and when its last process has
//! ended. Each process holds the same pipe, which ends with the last one. Processes that are left at the end
//! of a test are killed.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::BOUND;

/// Held by all processes of one command.
#[derive(Debug)]
pub struct Leash {
    path: PathBuf,
    lines: Receiver<String>,
    pids: Vec<i32>,
}

impl Leash {
    /// A new one at `path`.
    ///
    /// # Panics
    /// Panics if the pipe cannot be made.
    pub fn new(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref().to_owned();
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let (sender, lines) = channel();
        let reading = path.clone();
        std::thread::spawn(move || {
            // Waits until the first process takes it.
            let Ok(pipe) = std::fs::File::open(reading) else {
                return;
            };
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            path,
            lines,
            pids: Vec::new(),
        }
    }

    /// Returns the beginning of a command line that puts the command and all its descendants on the leash.
    pub fn put_on(&self) -> String {
        format!("exec 9>'{}'; echo $$ >&9; ", self.path.display())
    }

    /// Like [`Self::put_on`], for a process that the command starts: says its id too.
    pub fn say_pid() -> &'static str {
        "echo $BASHPID >&9"
    }

    /// Waits until `count` processes have said that they are there.
    ///
    /// # Panics
    /// Panics if they do not come.
    pub fn taken_by(&mut self, count: usize) {
        while self.pids.len() < count {
            let line = self
                .lines
                .recv_timeout(BOUND)
                .expect("the command never came so far");
            self.pids.extend(line.trim().parse::<i32>().ok());
        }
    }

    /// Waits until nobody holds it; says how long that took.
    ///
    /// # Panics
    /// Panics if somebody keeps it.
    pub fn let_go(&mut self) -> Duration {
        let began = Instant::now();
        loop {
            match self.lines.recv_timeout(BOUND) {
                Ok(line) => self.pids.extend(line.trim().parse::<i32>().ok()),
                Err(RecvTimeoutError::Disconnected) => {
                    self.pids.clear();
                    return began.elapsed();
                }
                Err(RecvTimeoutError::Timeout) => panic!("of {:?} some are still there", self.pids),
            }
        }
    }

    /// Kills what holds it: what a killed program has left behind.
    pub fn kill(&mut self) {
        while let Ok(line) = self.lines.try_recv() {
            self.pids.extend(line.trim().parse::<i32>().ok());
        }
        for pid in self.pids.drain(..) {
            // A process that has ended needs no signal.
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        if self.lines.try_recv() != Err(std::sync::mpsc::TryRecvError::Disconnected) {
            self.kill();
        }
    }
}
