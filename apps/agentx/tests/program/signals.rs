//! Signals to stop, even if nobody reads what the program writes: it ends, and its commands with it.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test: it fails by panicking, and looks for files"
)]

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::common::Sandbox;
use crate::ends::{Terminal, pid, runs};
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};

/// Longer than anything takes; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A number that no other process has among its arguments.
fn number() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}", 30_000_000 + 100 * u64::from(std::process::id()) + next)
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "{what}: never");
        std::thread::yield_now();
    }
}

/// Whether nothing more can be written there.
fn is_full(stream: &impl AsFd) -> bool {
    let mut asked = [PollFd::new(stream.as_fd(), PollFlags::POLLOUT)];
    poll(&mut asked, PollTimeout::ZERO).unwrap() == 0
}

/// The exit code, once it has ended.
fn end(child: &mut Child) -> Option<i32> {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if Instant::now() >= until {
            child.kill().unwrap();
            panic!("it does not end");
        }
        std::thread::yield_now();
    }
}

/// A run that is stuck because nobody reads what its command prints; it gets these signals.
fn unread(command: impl Fn(&str) -> String, signals: &[Signal]) -> Option<i32> {
    let (sandbox, number) = (Sandbox::new(), number());
    let prompt = command(&number);
    let args = ["run", "--yes", "--output-format", "stream-json", &prompt];
    let (unread, pipe) = nix::unistd::pipe2(OFlag::O_CLOEXEC).unwrap();
    let mut program = sandbox.command(&args);
    program.stdout(Stdio::from(pipe.try_clone().unwrap()));
    let mut child = program.stderr(Stdio::null()).spawn().unwrap();
    wait_until("the command runs", || runs(&number));
    wait_until("the pipe is full", || is_full(&pipe));
    for signal in signals {
        kill(pid(&child), *signal).unwrap();
    }
    let code = end(&mut child);
    // A process that was killed may be listed for a moment.
    wait_until("the command has ended", || !runs(&number));
    drop(unread);
    code
}

#[test]
fn a_run_whose_output_nobody_reads_ends_with_the_first_signal() {
    assert_eq!(
        unread(|number| format!("run yes {number}"), &[Signal::SIGTERM]),
        Some(143)
    );
}

#[test]
fn a_second_signal_ends_a_run_at_once_and_a_command_that_does_not_want_to() {
    let stubborn = |number: &str| format!("run trap '' TERM; yes {number}");
    let twice = [Signal::SIGTERM, Signal::SIGINT];
    assert!(matches!(unread(stubborn, &twice), Some(130 | 143)));
}

#[test]
fn a_chat_on_a_terminal_that_nobody_reads_ends_with_the_first_signal() {
    let (sandbox, number) = (Sandbox::new(), number());
    let mut chat = Terminal::start(&sandbox, &["chat", "--yes"]);
    chat.wait_for("›");
    chat.keys(&format!("run yes {number}\r"));
    wait_until("the command runs", || {
        chat.wait_for("›");
        runs(&number)
    });
    wait_until("the terminal is full", || is_full(&chat.slave));
    kill(pid(&chat.child), Signal::SIGTERM).unwrap();
    assert_eq!(end(&mut chat.child), Some(143));
    // A process that was killed may be listed for a moment.
    wait_until("the command has ended", || !runs(&number));
}

/// Ctrl-\ ends the program before its run hears that the command was killed.
#[test]
fn nothing_of_a_run_goes_on_once_a_quit_signal_came() {
    for _ in 0..4 {
        let (sandbox, number) = (Sandbox::new(), number());
        let prompt = format!("run sleep {number}");
        let mut child = sandbox.command(&["run", "--yes", &prompt]).spawn().unwrap();
        wait_until("the command runs", || runs(&number));
        kill(pid(&child), Signal::SIGQUIT).unwrap();
        assert_eq!(end(&mut child), Some(131));
        // A process that was killed may be listed for a moment.
        wait_until("the command has ended", || !runs(&number));
        let last = sandbox.run(&["sessions", "show", &crate::rewind::id_of(&sandbox, 0)]);
        assert_eq!(last.code, Some(0), "{last}");
        assert!(last.stdout.contains(&format!("sleep {number}")), "{last}");
        assert!(!last.stdout.contains("SIGKILL"), "{last}");
        let resumed = sandbox.run(&["run", "--last", "--yes"]);
        assert!(resumed.stderr.contains("outcome unknown"), "{resumed}");
    }
}

#[test]
fn a_tool_that_is_tried_ends_with_every_signal() {
    for (signal, code) in [
        (Signal::SIGTERM, 143),
        (Signal::SIGHUP, 129),
        (Signal::SIGINT, 130),
        (Signal::SIGQUIT, 131),
    ] {
        let (sandbox, number) = (Sandbox::new(), number());
        let arguments = format!("{{\"command\": \"sleep {number}\"}}");
        let mut child = sandbox
            .command(&["tools", "run", "bash", &arguments])
            .spawn()
            .unwrap();
        wait_until("the command runs", || runs(&number));
        kill(pid(&child), signal).unwrap();
        assert_eq!(end(&mut child), Some(code), "{signal}");
        wait_until("the command has ended", || !runs(&number));
        let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
        assert_eq!(
            said.contains("bash was stopped"),
            signal != Signal::SIGQUIT,
            "{said}"
        );
    }
}

#[test]
fn a_run_that_is_to_ignore_that_its_terminal_is_closed_goes_on() {
    let sandbox = Sandbox::new();
    let wait = "run touch begun; n=0; until [ -e go ] || [ $((n += 1)) -gt 6000 ]; do sleep 0.01; done";
    let inner = sandbox.command(&["run", "--yes", "--quiet", wait]);
    // As `nohup` does it.
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "trap '' HUP; exec \"$0\" \"$@\""])
        .arg(inner.get_program())
        .args(inner.get_args())
        .env_clear()
        .envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(sandbox.path("ws"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = shell.spawn().unwrap();
    wait_until("the command runs", || sandbox.path("ws/begun").exists());
    kill(pid(&child), Signal::SIGHUP).unwrap();
    sandbox.write("ws/go", "");
    assert_eq!(end(&mut child), Some(0));
}

#[test]
fn a_run_says_which_server_it_waits_for_and_ends_at_once_with_a_signal() {
    let sandbox = Sandbox::new();
    // A port that was given back a moment ago is closed.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let mut run = sandbox
        .command(&["--connect", &address, "run", "hello"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(run.stderr.take().unwrap());
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    let expected = format!("waiting for the server at {address} for up to 60s; Ctrl-C ends this\n");
    assert_eq!(line, expected);
    let began = Instant::now();
    kill(pid(&run), Signal::SIGINT).unwrap();
    let status = run.wait().unwrap();
    assert_eq!(status.signal(), Some(Signal::SIGINT as i32), "{status}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "it is said once");
}
