//! The ends of the program: every exit code by a run, and the state of a session when the world around it
//! goes away: a pipe that nobody reads, a terminal that is closed, a disk that is full, a home that cannot be
//! written.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test: it fails by panicking, and reads files"
)]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Ran, Sandbox};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Longer than anything takes; a test that waits so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server of models that says no to everything.
fn refusing() -> String {
    let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#;
    crate::models::answering("400 Bad Request", body)
}

/// Runs until its tool runs, then sends it this signal.
fn stopped_by(signal: Signal) -> Option<i32> {
    let sandbox = Sandbox::new();
    let args = ["run", "--yes", "--output-format", "stream-json", "run sleep 1000"];
    let mut child = sandbox.command(&args).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"tool_executing\"") {
        line.clear();
        assert!(
            out.read_line(&mut line).unwrap() > 0,
            "it ended before the tool ran"
        );
    }
    kill(pid(&child), signal).unwrap();
    out.read_to_end(&mut Vec::new()).unwrap();
    child.wait().unwrap().code()
}

/// Runs while its output is read no further than its first line, as by `head -n 1`.
fn read_no_further() -> Option<i32> {
    let sandbox = Sandbox::new();
    let args = ["run", "--output-format", "stream-json", "tell a long story"];
    let mut child = sandbox.command(&args).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    assert!(out.read_line(&mut String::new()).unwrap() > 0);
    drop(out);
    child.wait().unwrap().code()
}

pub(crate) fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap())
}

fn code(sandbox: &Sandbox, args: &[&str]) -> Option<i32> {
    sandbox.run(args).code
}

/// A run whose model waits for longer than the command does.
fn waiting_for_an_hour() -> Option<i32> {
    let arguments = serde_json::json!({ "seconds": 3_600, "reason": "the build" }).to_string();
    let call = serde_json::json!({ "choices": [{ "index": 0, "finish_reason": "tool_calls", "delta": { "tool_calls": [
        { "index": 0, "id": "call_1", "type": "function", "function": { "name": "wait", "arguments": arguments } }
    ] } }] });
    let answer = format!("data: {call}\n\ndata: [DONE]\n\n");
    let sandbox = Sandbox::new();
    sandbox.config(&format!(
        "providers:\n  mine: {{base_url: '{}/v1', auth: none}}\nmodels:\n  m: {{provider: mine}}\nmodel: m\ntools: {{optional: [wait]}}\n",
        crate::models::streaming(&[&answer])
    ));
    code(&sandbox, &["run", "go"])
}

/// A run that ends with this code.
fn ended_with(wanted: u8) -> Option<i32> {
    let sandbox = Sandbox::new();
    let world = |name: &str, value: &str| Sandbox::new().env(name, value);
    match wanted {
        0 => code(&sandbox, &["run", "hello"]),
        1 => code(&sandbox, &["debug", "decode", "--api", "anthropic", "missing"]),
        2 => code(&sandbox, &["run", "--nope"]),
        3 => code(sandbox.config("modle: x\n"), &["run", "hello"]),
        4 => code(&sandbox, &["run", "--model", "opus", "hello"]),
        5 => {
            let sandbox = world("ANTHROPIC_API_KEY", "sk-1").env("ANTHROPIC_BASE_URL", &refusing());
            code(&sandbox, &["run", "hello"])
        }
        6 => code(&sandbox, &["run", "--yes", "--timeout", "1s", "run sleep 1000"]),
        7 => code(&sandbox, &["run", "run touch notes.txt"]),
        8 => code(&sandbox, &["sessions", "show", "ses_none"]),
        9 => code(&world("AGENTX_DATA", "/dev/null/data"), &["sessions", "list"]),
        10 => code(&sandbox, &["--connect", "http://127.0.0.1:1", "sessions", "list"]),
        11 => waiting_for_an_hour(),
        129 => stopped_by(Signal::SIGHUP),
        130 => stopped_by(Signal::SIGINT),
        131 => stopped_by(Signal::SIGQUIT),
        141 => read_no_further(),
        143 => stopped_by(Signal::SIGTERM),
        other => panic!("no run is known that ends with {other}: give it one here"),
    }
}

#[test]
fn every_exit_code_that_is_listed_is_one_that_a_run_ends_with() {
    let listed = Sandbox::new().run(&["help", "exit-codes"]);
    let codes: BTreeSet<u8> = listed
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next()?.parse().ok())
        .collect();
    assert!(codes.len() >= 13, "{listed}");
    for wanted in codes {
        assert_eq!(ended_with(wanted), Some(i32::from(wanted)), "{wanted}: {listed}");
    }
}

#[test]
fn a_list_through_a_pipe_that_is_closed_early_ends_quietly() {
    let sandbox = Sandbox::new();
    for _ in 0..3 {
        assert_eq!(code(&sandbox, &["run", "--quiet", "hello"]), Some(0));
    }
    let program = env!("CARGO_BIN_EXE_agentx");
    for command in ["sessions list", "sessions list --json", "help settings"] {
        let line = format!("'{program}' {command} | head -n 1; echo \"exit ${{PIPESTATUS[0]}}\"");
        let mut shell = Command::new("bash");
        shell.args(["-c", &line]);
        let inner = sandbox.command(&[]);
        shell
            .env_clear()
            .envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = shell.current_dir(sandbox.path("ws")).output().unwrap();
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert!(out.ends_with("exit 0\n"), "{command}: {out}{err}");
        assert!(
            !err.contains("panicked") && !err.contains("error:"),
            "{command}: {err}"
        );
    }
}

#[test]
fn an_output_that_cannot_be_written_is_an_error_and_no_panic() {
    let sandbox = Sandbox::new();
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
        return;
    };
    let mut command = sandbox.command(&["models"]);
    let output = command.stdout(Stdio::from(full)).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(9), "{err}");
    assert_eq!(
        err, "error: output: no space left\nhint: free some disk space\n",
        "and no panic"
    );
}

/// A chat on a terminal that can be closed.
pub(crate) struct Terminal {
    master: OwnedFd,
    /// The end of the program.
    pub(crate) slave: OwnedFd,
    pub(crate) child: Child,
    said: String,
}

impl Terminal {
    pub(crate) fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        let size = Winsize {
            ws_row: 40,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pty = openpty(Some(&size), None).unwrap();
        fcntl(&pty.master, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
        // Only who holds this end can close the terminal: the program must not.
        fcntl(&pty.master, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
        let end = || Stdio::from(pty.slave.try_clone().unwrap());
        let inner = sandbox.command(args);
        let mut command = Command::new("setsid");
        command
            .args(["--ctty", "--wait"])
            .arg(inner.get_program())
            .args(inner.get_args());
        command.env_clear().env("TERM", "xterm");
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(sandbox.path("ws"));
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        Self {
            master: pty.master,
            slave: pty.slave,
            child,
            said: String::new(),
        }
    }

    pub(crate) fn keys(&self, keys: &str) {
        nix::unistd::write(&self.master, keys.as_bytes()).unwrap();
    }

    pub(crate) fn wait_for(&mut self, text: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.said.contains(text) {
            assert!(Instant::now() < until, "{text:?} never came: {}", self.said);
            let mut bytes = [0; 4096];
            match nix::unistd::read(&self.master, &mut bytes) {
                Ok(read) => self.said.push_str(&String::from_utf8_lossy(&bytes[..read])),
                Err(Errno::EAGAIN) => std::thread::yield_now(),
                Err(error) => panic!("{error}: {}", self.said),
            }
        }
    }

    /// Closes the terminal, as a window is closed; waits for the end.
    pub(crate) fn close(mut self) -> Option<i32> {
        drop(self.master);
        let until = Instant::now() + PATIENCE;
        while self.child.try_wait().unwrap().is_none() {
            if Instant::now() >= until {
                self.child.kill().unwrap();
                panic!("it goes on without a terminal");
            }
            std::thread::yield_now();
        }
        self.child.wait().unwrap().code()
    }
}

/// Whether a process has this among its arguments.
pub(crate) fn runs(argument: &str) -> bool {
    process_with(argument).is_some()
}

/// Whether the process with this among its arguments ends soon: a process that was killed may be listed for a
/// moment.
pub(crate) fn ends(argument: &str) -> bool {
    let until = Instant::now() + PATIENCE;
    while runs(argument) && Instant::now() < until {
        std::thread::yield_now();
    }
    !runs(argument)
}

/// Waits until a program runs with this among its arguments. That a chat shows the call says less: its
/// program may be yet to start.
pub(crate) fn wait_until_it_runs(argument: &str) {
    let until = Instant::now() + PATIENCE;
    while !runs(argument) {
        assert!(Instant::now() < until, "the command never ran");
        std::thread::yield_now();
    }
}

/// The id of a process that has this among its arguments.
pub(crate) fn process_with(argument: &str) -> Option<String> {
    let mut entries = std::fs::read_dir("/proc").unwrap().flatten();
    let found = entries.find(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|part| part == argument.as_bytes())
    });
    Some(found?.file_name().to_string_lossy().into_owned())
}

fn latest(sandbox: &Sandbox) -> String {
    let output = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    list[0]["session_id"].as_str().unwrap().to_owned()
}

/// The session can be checked, replayed and continued.
fn is_whole(sandbox: &Sandbox, id: &str) {
    for args in [&["sessions", "verify", id][..], &["replay", id]] {
        let ran = sandbox.run(args);
        assert_eq!(ran.code, Some(0), "{ran}");
    }
    let ran: Ran = sandbox.run(&["run", "--session", id, "--quiet", "thanks"]);
    assert_eq!(ran.code, Some(0), "{ran}");
}

#[test]
fn a_terminal_that_is_closed_in_the_middle_of_an_answer_ends_the_chat_and_nothing_is_lost() {
    let sandbox = Sandbox::new();
    let mut chat = Terminal::start(&sandbox, &["chat"]);
    chat.wait_for("›");
    chat.keys("tell a long story\r");
    chat.wait_for("Chapter 1");
    assert_eq!(chat.close(), Some(129));
    let id = latest(&sandbox);
    let shown = sandbox.run(&["sessions", "show", &id]);
    assert!(shown.stdout.contains("Chapter 1"), "{shown}");
    is_whole(&sandbox, &id);
}

#[test]
fn a_terminal_that_is_closed_while_a_tool_runs_takes_the_tool_with_it() {
    let sandbox = Sandbox::new();
    // No other process sleeps for so long.
    let long = format!("{}", 1_000_000 + u64::from(std::process::id()));
    let mut chat = Terminal::start(&sandbox, &["chat", "--yes"]);
    chat.wait_for("›");
    chat.keys(&format!("run sleep {long}\r"));
    let until = Instant::now() + PATIENCE;
    while !runs(&long) {
        assert!(Instant::now() < until, "the tool never ran");
        chat.wait_for("›");
        std::thread::yield_now();
    }
    assert_eq!(chat.close(), Some(129));
    assert!(ends(&long), "the tool goes on without anybody");
    is_whole(&sandbox, &latest(&sandbox));
}

/// A process of this test that is ended with it.
struct Bystander(Child);

impl Bystander {
    /// Starts a process with this mark.
    fn marked(mark: &str, seconds: &str) -> Self {
        let mut sleep = Command::new("sleep");
        Self(sleep.arg(seconds).env("AGENTX_CALL", mark).spawn().unwrap())
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The command of a call, and one that it started in the background and in a session of its own, outlive a
/// killed program. The next process that continues the session ends them, and nothing else.
#[test]
fn what_a_killed_program_left_running_is_ended_by_the_next_one_and_told() {
    let sandbox = Sandbox::new();
    // No other process sleeps for so long.
    let own = 2_000_000 + 10 * u64::from(std::process::id());
    let [long, apart, other, live] = [own, own + 1, own + 2, own + 3].map(|seconds| seconds.to_string());
    let mut chat = Terminal::start(&sandbox, &["chat", "--yes"]);
    chat.wait_for("›");
    chat.keys(&format!("run setsid sleep {apart} & sleep {long}\r"));
    let until = Instant::now() + PATIENCE;
    while !(runs(&long) && runs(&apart)) {
        assert!(Instant::now() < until, "the command never ran");
        chat.wait_for("›");
        std::thread::yield_now();
    }
    chat.child.kill().unwrap();
    chat.child.wait().unwrap();
    assert!(runs(&long) && runs(&apart), "they outlive the program");
    let id = latest(&sandbox);
    // Of another session; and of this one, by a program that lives.
    let _other = Bystander::marked("ses_other/call_1/1.1.1.0", &other);
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let started = stat[stat.rfind(')').unwrap() + 2..]
        .split(' ')
        .nth(19)
        .unwrap()
        .to_owned();
    let _live = Bystander::marked(
        &format!("{id}/call_1/{}.{started}.1.0", std::process::id()),
        &live,
    );

    let ran = sandbox.run(&["run", "--session", &id]);
    assert!(ends(&long) && ends(&apart), "{ran}");
    assert!(runs(&other) && runs(&live), "{ran}");
    assert!(
        ran.stderr.contains("still running from before, now ended"),
        "{ran}"
    );
    let shown = sandbox.run(&["sessions", "show", &id]);
    assert!(
        shown.stdout.contains("look before you repeat it. It was st"),
        "{shown}"
    );
    is_whole(&sandbox, &id);
}

/// A prompt in a session whose run was cut off waits for that run; how it ended is said.
#[test]
fn a_prompt_behind_a_run_that_was_cut_off_says_how_that_ended() {
    let sandbox = Sandbox::new();
    let long = (2_000_004 + 10 * u64::from(std::process::id())).to_string();
    let id = killed_while(&sandbox, &format!("run sleep {long}\r"), &long);
    let note = "the earlier run has finished; answering your prompt now";
    let ran = sandbox.run(&["run", "--session", &id, "hello"]);
    assert_eq!(ran.stderr.matches(note).count(), 1, "{ran}");
    assert!(!ran.stdout.contains(note), "{ran}");
    for (args, told) in [
        (&["hello"][..], "a run that is over"),
        (&["--quiet", "hello"][..], "quiet"),
    ] {
        let args: Vec<&str> = ["run", "--session", &id].iter().chain(args).copied().collect();
        let ran = sandbox.run(&args);
        assert!(!ran.stderr.contains("answering your prompt now"), "{told}: {ran}");
    }
}

/// Starts a chat, has it run `line` until `seconds` of a sleep are seen, and kills it.
fn killed_while(sandbox: &Sandbox, line: &str, seconds: &str) -> String {
    let mut chat = Terminal::start(sandbox, &["chat", "--yes"]);
    chat.wait_for("›");
    let until = Instant::now() + PATIENCE;
    chat.keys(line);
    while !runs(seconds) {
        assert!(Instant::now() < until, "the command never ran");
        chat.wait_for("›");
        std::thread::yield_now();
    }
    chat.child.kill().unwrap();
    chat.child.wait().unwrap();
    latest(sandbox)
}

#[test]
fn a_persons_own_command_of_a_killed_chat_and_what_it_left_in_the_background_are_ended_and_named_by_the_next_one()
 {
    let sandbox = Sandbox::new();
    let own = 3_000_000 + 10 * u64::from(std::process::id());
    let [long, behind] = [own, own + 1].map(|seconds| seconds.to_string());
    // Nothing else was said in this chat.
    let line = format!("!sleep {behind} >/dev/null & echo started\r!sleep {long}\r");
    let id = killed_while(&sandbox, &line, &long);
    assert!(runs(&long) && runs(&behind), "they outlive the program");
    let ran = sandbox.run(&["run", "--session", &id, "thanks"]);
    assert!(ends(&long), "{ran}");
    assert!(ends(&behind), "it was to end with the chat: {ran}");
    assert!(ran.stderr.contains(&format!("!sleep {behind} and ")), "{ran}");
    let shown = sandbox.run(&["sessions", "show", &id]);
    assert!(
        shown.stdout.contains("started"),
        "its output is in the session: {shown}"
    );
    is_whole(&sandbox, &id);
}

#[test]
fn a_copy_says_what_a_killed_program_left_running_and_a_deletion_ends_it() {
    let sandbox = Sandbox::new();
    let long = (4_000_000 + u64::from(std::process::id())).to_string();
    let id = killed_while(&sandbox, &format!("hello\rrun sleep {long}\r"), &long);
    for args in [
        &["fork", &id][..],
        &["rewind", &id, "--to", "2", "--conversation", "--yes"],
    ] {
        let ran = sandbox.run(args);
        assert!(ran.stderr.contains("still run, because the program"), "{ran}");
        assert!(ran.stderr.contains("sleep"), "{ran}");
        assert!(runs(&long), "it is the original's: {ran}");
    }
    let ran = sandbox.run(&["sessions", "delete", &id, "--yes"]);
    assert!(ran.stderr.contains("now ended: sleep"), "{ran}");
    assert!(ends(&long), "{ran}");
}

/// Files of at most so many blocks of 512 bytes: what is more cannot be written, as on a full disk, without
/// being root.
fn with_small_files(sandbox: &Sandbox, blocks: u32, args: &[&str]) -> std::process::Output {
    let inner = sandbox.command(args);
    let mut shell = Command::new("bash");
    let line = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", blocks / 2);
    shell
        .args(["-c", &line, "bash"])
        .arg(inner.get_program())
        .args(inner.get_args());
    shell
        .env_clear()
        .envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
        .current_dir(sandbox.path("ws"))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn a_disk_that_is_full_in_the_middle_stops_the_run_and_what_was_shown_is_kept() {
    let sandbox = Sandbox::new();
    let first = sandbox.run(&["run", "--quiet", "--output-format", "json", "hello"]);
    assert_eq!(first.code, Some(0), "{first}");
    let id = latest(&sandbox);
    let database = sandbox.path("home/.local/share/agentx/sessions.db");
    // The write-ahead log of the next run may grow so far; what follows does not fit.
    let blocks = u32::try_from(std::fs::metadata(&database).unwrap().len() / 512).unwrap() + 16;
    let args = [
        "run",
        "--session",
        &id,
        "--output-format",
        "stream-json",
        "--view",
        "environment",
        "tell a long story",
    ];
    let output = with_small_files(&sandbox, blocks, &args);
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(output.status.code(), Some(9), "{err}");
    let last: serde_json::Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!(last["status"], "failed", "{last}");
    assert!(err.contains("error:") && !err.contains("panicked"), "{err}");
    // What was shown is there.
    let kept = sandbox
        .command(&["sessions", "export", &id, "--format", "json"])
        .output()
        .unwrap();
    let kept = String::from_utf8_lossy(&kept.stdout).into_owned();
    let frames = out
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let chunks: Vec<String> = frames
        .filter(|frame| frame["event"] == "text_chunk")
        .map(|frame| frame["seq"].to_string())
        .collect();
    let verified = sandbox.run(&["sessions", "verify", &id, "--json"]);
    let good = serde_json::from_str::<serde_json::Value>(&verified.stdout).unwrap()["last_seq"]
        .as_u64()
        .unwrap();
    assert!(
        chunks.iter().all(|seq| seq.parse::<u64>().unwrap() <= good),
        "{good}: {chunks:?} {}",
        kept.len()
    );
    is_whole(&sandbox, &id);
}

/// A directory in which nobody can make anything, not even root.
const NO_HOME: &str = "/proc/self";

#[test]
fn a_home_that_cannot_be_written_is_said_and_what_needs_none_works() {
    let sandbox = Sandbox::new().env("HOME", NO_HOME);
    let refused = sandbox.run(&["run", "hello"]);
    assert_eq!(refused.code, Some(9), "{refused}");
    assert!(
        refused.stderr.contains("cannot keep sessions in /proc/self/"),
        "{refused}"
    );
    assert!(
        refused
            .stderr
            .contains("choose another directory with --data or AGENTX_DATA"),
        "{refused}"
    );
    for args in [
        &["--version"][..],
        &["help", "run"],
        &["config", "show"],
        &["config", "check"],
    ] {
        let ran = sandbox.run(args);
        assert_eq!(ran.code, Some(0), "{ran}");
    }
    let data = sandbox.path("data");
    let data = data.to_str().unwrap();
    let ran = sandbox.run(&["--data", data, "run", "--quiet", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    // A rule that cannot be kept for later is said, and the call is made.
    let ran = sandbox.run_with_input(&["--data", data, "chat"], "run echo hi\na\nhello\n");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(
        ran.stdout.contains("│ hi") && ran.stdout.contains("error: "),
        "{ran}"
    );
    assert!(ran.stdout.contains("built-in demo"), "it goes on: {ran}");
    let set = sandbox.run(&["config", "set", "model", "scripted"]);
    assert_eq!(set.code, Some(3), "{set}");
    let file = Sandbox::new();
    file.write("file", "no directory");
    let file = file.path("file");
    let sandbox = Sandbox::new().env("HOME", file.to_str().unwrap());
    let refused = sandbox.run(&["run", "hello"]);
    assert_eq!(refused.code, Some(9), "{refused}");
}

#[test]
fn a_run_that_goes_on_names_the_command_of_a_call_that_began_before() {
    let sandbox = Sandbox::new();
    let long = (5_000_000 + u64::from(std::process::id())).to_string();
    let mut child = sandbox
        .command(&["run", "--yes", &format!("run sleep {long}")])
        .spawn()
        .unwrap();
    let until = Instant::now() + PATIENCE;
    while !runs(&long) {
        assert!(Instant::now() < until, "the command never ran");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let onward = sandbox.run(&["run", "--last"]);
    let head = format!("● bash  sleep {long}\n");
    assert!(onward.stderr.contains(&head), "{onward}");
}
