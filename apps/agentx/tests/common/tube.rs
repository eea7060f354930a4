//! A program behind a pseudo terminal: keys go in, what it writes comes out.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, mpsc};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, tcgetpgrp};

/// Terminals are opened one at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The terminal's end of it.
pub(crate) struct Tube {
    child: Child,
    keys: std::fs::File,
    pub(crate) output: mpsc::Receiver<Vec<u8>>,
}

impl Tube {
    /// Starts the program in a session of its own, so that no other terminal is found. Its own variables win
    /// over `defaults`, and `variables` over those.
    pub(crate) fn open(
        inner: &Command,
        (columns, rows): (u16, u16),
        defaults: &[(&str, &str)],
        variables: &[(&str, &str)],
    ) -> Self {
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        // No program that another test starts meanwhile may hold an end of this terminal: it would never end.
        let alone = ONE_AT_A_TIME.lock();
        let pty = openpty(Some(&size), None).unwrap();
        for fd in [&pty.master, &pty.slave] {
            fcntl(fd, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
        }
        let end = |fd: &OwnedFd| Stdio::from(fd.try_clone().unwrap());
        let mut command = Command::new("setsid");
        command
            .args(["--ctty", "--wait"])
            .arg(inner.get_program())
            .args(inner.get_args())
            .env_clear();
        command.envs(defaults.iter().copied());
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.envs(variables.iter().copied());
        command.current_dir(inner.get_current_dir().unwrap());
        command
            .stdin(end(&pty.slave))
            .stdout(end(&pty.slave))
            .stderr(end(&pty.slave));
        let child = command.spawn().unwrap();
        drop((command, pty.slave, alone));
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
        Self { child, keys, output }
    }

    /// Types.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Resizes the terminal; a signal tells the program.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let done = Command::new("stty")
            .args(["cols", &columns, "rows", &rows])
            .stdin(Stdio::from(self.keys.try_clone().unwrap()))
            .status();
        assert!(done.unwrap().success(), "stty cols {columns} rows {rows}");
    }

    /// Ends the program as a power cut would.
    pub(crate) fn kill_program(&mut self) {
        self.signal(Signal::SIGKILL);
        let _ = self.child.wait();
    }

    /// Kills the processes that a shell has started in the foreground.
    pub(crate) fn kill_foreground(&self) {
        killpg(tcgetpgrp(&self.keys).unwrap(), Signal::SIGKILL).unwrap();
    }

    /// Sends the program a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = self.child.id();
        let mut program = Pid::from_raw(i32::try_from(id).unwrap());
        // `setsid` may have become the program, or be its parent.
        if std::fs::read_to_string(format!("/proc/{id}/comm"))
            .unwrap()
            .trim()
            == "setsid"
        {
            let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
            let child = children
                .split_whitespace()
                .next()
                .and_then(|child| child.parse().ok());
            program = child.map_or(program, Pid::from_raw);
        }
        kill(program, signal).unwrap();
    }

    /// Returns the exit code, once the program has ended.
    pub(crate) fn code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Tube {
    fn drop(&mut self) {
        // It has already ended if the test succeeded.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
