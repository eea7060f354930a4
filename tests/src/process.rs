//! The program while it runs and after it has ended. Tests can wait for its output, each time within a bound.

use std::io::{Read, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::Value;

use crate::BOUND;

/// The program while it runs. It is killed when this is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    typed: Option<ChildStdin>,
    said: Arc<Said>,
    began: Instant,
}

#[derive(Debug, Default)]
struct Said {
    text: Mutex<Text>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Text {
    out: Vec<u8>,
    err: Vec<u8>,
    ended: usize,
}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = String::from_utf8_lossy;
        write!(f, "{}--- standard error\n{}", text(&self.out), text(&self.err))
    }
}

impl Said {
    fn lock(&self) -> MutexGuard<'_, Text> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The exit status of a program, and its output.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// From its start to its end.
    pub took: Duration,
}

fn listen(
    mut stream: impl Read + Send + 'static,
    said: Arc<Said>,
    into: impl Fn(&mut Text) -> &mut Vec<u8> + Send + 'static,
) {
    std::thread::spawn(move || {
        let mut piece = [0; 16 * 1024];
        while let Ok(read @ 1..) = stream.read(&mut piece) {
            into(&mut said.lock()).extend_from_slice(&piece[..read]);
            said.changed.notify_all();
        }
        said.lock().ended += 1;
        said.changed.notify_all();
    });
}

impl Running {
    /// Starts it without input.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    pub fn start(command: Command) -> Self {
        Self::with_input(command, Stdio::null())
    }

    /// Starts it with an input that is open until it is closed.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    pub fn talk(command: Command) -> Self {
        Self::with_input(command, Stdio::piped())
    }

    fn with_input(mut command: Command, input: Stdio) -> Self {
        let mut child = command
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let said = Arc::new(Said::default());
        let (out, err) = (child.stdout.take(), child.stderr.take());
        listen(out.expect("a pipe"), said.clone(), |text| &mut text.out);
        listen(err.expect("a pipe"), said.clone(), |text| &mut text.err);
        Self {
            typed: child.stdin.take(),
            child,
            said,
            began: Instant::now(),
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until standard output holds such a frame.
    ///
    /// # Panics
    /// Panics if it ends or time runs out before.
    pub fn frame(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut seen = 0;
        let mut found = None;
        self.wait(|text| {
            let whole = text
                .out
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |end| end + 1);
            let lines = text.out[seen..whole].split(|byte| *byte == b'\n');
            found = lines
                .filter_map(|line| serde_json::from_slice(line).ok())
                .find(&wanted);
            seen = whole;
            found.is_some()
        });
        found.expect("it was waited for")
    }

    /// Waits until standard output has this text so many times.
    pub fn says(&self, wanted: &str, times: usize) {
        self.wait(|text| String::from_utf8_lossy(&text.out).matches(wanted).count() >= times);
    }

    fn wait(&self, mut is_there: impl FnMut(&Text) -> bool) {
        let mut text = self.said.lock();
        while !is_there(&text) {
            assert!(text.ended < 2, "it ended first: {text}");
            let waited = self.said.changed.wait_timeout(text, BOUND);
            let (next, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            assert!(!waited.timed_out(), "it never came: {next}");
            text = next;
        }
    }

    /// Writes a line to its input.
    ///
    /// # Panics
    /// If it has no input, or does not listen any more.
    pub fn types(&mut self, line: &str) {
        let input = self.typed.as_mut().expect("an input");
        input
            .write_all(format!("{line}\n").as_bytes())
            .expect("it listens");
    }

    /// Ends its input.
    pub fn types_no_more(&mut self) {
        self.typed = None;
    }

    /// Waits for the first event of this name.
    pub fn event(&self, name: &str) -> Value {
        self.frame(|frame| frame["event"] == name)
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// Panics if it is gone.
    pub fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("a process id");
        nix::sys::signal::kill(Pid::from_raw(id), signal).expect("it is still there");
    }

    /// Kills it (-9) and says what it had said.
    pub fn kill(mut self) -> Ran {
        let _ = self.child.kill();
        self.finish()
    }

    /// Waits until it has ended.
    ///
    /// # Panics
    /// Panics if it does not end.
    pub fn end(mut self) -> Ran {
        self.finish()
    }

    fn finish(&mut self) -> Ran {
        let (text, waited) = self
            .said
            .changed
            .wait_timeout_while(self.said.lock(), BOUND, |text| text.ended < 2)
            .unwrap_or_else(PoisonError::into_inner);
        assert!(!waited.timed_out(), "it does not end: {text}");
        let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (words(&text.out), words(&text.err));
        drop(text);
        let status = self.child.wait().expect("a child can be waited for");
        Ran {
            code: status.code(),
            out,
            err,
            took: self.began.elapsed(),
        }
    }

    /// The most memory that it has had so far, in KiB.
    ///
    /// # Panics
    /// Panics if the system does not say.
    pub fn peak_kib(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("its status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let figure = line.and_then(|line| line.split_whitespace().next());
        figure.and_then(|figure| figure.parse().ok()).expect("a figure")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Ran {
    /// The last line of standard output: the result.
    ///
    /// # Panics
    /// Panics if it is not a result.
    pub fn result(&self) -> Value {
        let last = self.out.lines().last().unwrap_or_default();
        let result: Value = serde_json::from_str(last).unwrap_or_default();
        assert_eq!(result["type"], "result", "{self}");
        result
    }

    /// The frames before the result.
    pub fn frames(&self) -> Vec<Value> {
        let lines = self
            .out
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        lines.filter(|frame: &Value| frame["seq"].is_u64()).collect()
    }

    /// The session that it speaks of.
    ///
    /// # Panics
    /// Panics if it names no session.
    pub fn session(&self) -> String {
        let ids = self.out.lines().filter_map(|line| {
            let value: Value = serde_json::from_str(line).ok()?;
            value["session_id"].as_str().map(str::to_owned)
        });
        ids.into_iter()
            .next()
            .unwrap_or_else(|| panic!("no session: {self}"))
    }

    /// Fails the test unless the exit code is this one.
    ///
    /// # Panics
    /// Panics if it is another one.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "exit {:?}\n{}--- standard error\n{}",
            self.code, self.out, self.err
        )
    }
}
