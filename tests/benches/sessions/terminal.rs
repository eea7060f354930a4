//! Runs the program in a terminal, and measures the time until something is on the screen.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};

use crate::program;

/// Starts the program, waits for `wanted` on its screen, presses `leave`; milliseconds from the start.
pub(crate) fn until(home: &Path, args: &[&str], wanted: &str, leave: &str) -> f64 {
    let size = Winsize {
        ws_row: 40,
        ws_col: 120,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let pty = openpty(Some(&size), None).expect("a terminal");
    let end = |fd: &OwnedFd| Stdio::from(fd.try_clone().expect("a terminal"));
    let inner = program(home, args);
    let mut command = Command::new("setsid");
    command
        .args(["--ctty", "--wait"])
        .arg(inner.get_program())
        .args(inner.get_args());
    command.env_clear().env("TERM", "xterm-256color");
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(home.join("ws"));
    command
        .stdin(end(&pty.slave))
        .stdout(end(&pty.slave))
        .stderr(end(&pty.slave));
    let begun = Instant::now();
    let mut child = command.spawn().expect("setsid, from util-linux");
    drop((command, pty.slave));
    let mut screen = File::from(pty.master);
    let mut seen = Vec::new();
    let mut buffer = [0; 16_384];
    while !seen
        .windows(wanted.len())
        .any(|window| window == wanted.as_bytes())
    {
        let read = screen.read(&mut buffer).unwrap_or(0);
        assert!(
            read > 0 && begun.elapsed() < Duration::from_secs(20),
            "{wanted:?} never came:\n{}",
            String::from_utf8_lossy(&seen)
        );
        seen.extend_from_slice(&buffer[..read]);
    }
    let took = begun.elapsed().as_secs_f64() * 1e3;
    screen.write_all(leave.as_bytes()).expect("a terminal");
    while screen.read(&mut buffer).is_ok_and(|read| read > 0) {}
    child.wait().expect("its end");
    took
}
