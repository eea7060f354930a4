//! Messages that are queued when somebody leaves, however they leave: what runs is stopped, nothing of the
//! queue begins, and it is shown on return.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};

use crate::common::Sandbox;
use crate::ends::{Terminal, pid, runs, wait_until_it_runs};
use crate::models::recording;
use crate::pty::Pty;
use crate::serving::Serving;

/// Longer than anything takes; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A place whose model has every request run one command, which says in a file that it ran and then sleeps.
struct World {
    sandbox: Sandbox,
    asked: Arc<Mutex<Vec<String>>>,
    /// The time that the command sleeps, which no other process uses.
    long: String,
}

impl World {
    fn new(which: u32) -> Self {
        let long = format!("{}", 50_000_000 + 10 * std::process::id() + which);
        let command = serde_json::json!({ "command": format!("echo ran >> ran; exec sleep {long}") });
        let call = serde_json::json!({ "choices": [{ "index": 0, "finish_reason": "tool_calls", "delta": { "tool_calls": [
            { "index": 0, "id": "call_1", "type": "function", "function": { "name": "bash", "arguments": command.to_string() } }
        ] } }] });
        let answer: &'static str = format!("data: {call}\n\ndata: [DONE]\n\n").leak();
        let (address, asked) = recording(answer);
        let sandbox = Sandbox::new()
            .env("OPENAI_BASE_URL", &format!("{address}/v1"))
            .env("OPENAI_API_KEY", "sk-made-up")
            .env("AGENTX_MODEL", "openai/made-up");
        Self { sandbox, asked, long }
    }

    /// A chat in which a command runs and a message is queued.
    fn busy(&self, args: &[&str]) -> Terminal {
        let mut chat = Terminal::start(&self.sandbox, args);
        chat.wait_for("›");
        chat.keys("begin\r");
        wait_until_it_runs(&self.long);
        chat.keys("and then again\r");
        chat.wait_for("sends it now");
        self.has_recorded("and then again");
        chat
    }

    /// Waits until a message is in the database or its write-ahead log, where texts are plain: the terminal
    /// paints a row before that, and then only the sign in it.
    fn has_recorded(&self, text: &str) {
        let data = self.sandbox.path("home/.local/share/agentx");
        let holds = |name: &str| {
            let bytes = std::fs::read(data.join(name)).unwrap_or_default();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        };
        let until = Instant::now() + PATIENCE;
        while !(holds("sessions.db-wal") || holds("sessions.db")) {
            assert!(Instant::now() < until, "{text:?} is not in the log");
            std::thread::yield_now();
        }
    }

    /// Waits until the command has ended. A process that was killed may be listed for a moment.
    fn has_stopped(&self) {
        let until = Instant::now() + PATIENCE;
        while runs(&self.long) {
            assert!(Instant::now() < until, "the command goes on without anybody");
            std::thread::yield_now();
        }
    }

    /// Nothing has begun since the first message, and a front end that comes back shows the queue.
    fn waits(&self, args: &[&str]) {
        let mut chat = Pty::start(&self.sandbox, args, 80, 40);
        chat.wait_for("  1 › and then again");
        chat.wait_for_last("›");
        chat.keys("\u{4}");
        // Its exit code is not what is tried here: it depends on how the run before ended.
        chat.end();
        assert_eq!(
            self.asked.lock().unwrap().len(),
            1,
            "the model is not asked again"
        );
        let ran = std::fs::read_to_string(self.sandbox.path("ws/ran")).unwrap();
        assert_eq!(ran, "ran\n", "no command ran again");
    }
}

/// The exit code, once it has ended. Its terminal stays open until then.
fn end(chat: &mut Terminal) -> Option<i32> {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = chat.child.try_wait().unwrap() {
            return status.code();
        }
        assert!(Instant::now() < until, "it does not end");
        std::thread::yield_now();
    }
}

fn left_by(which: u32, leave: impl FnOnce(Terminal) -> Option<i32>, code: i32) {
    let world = World::new(which);
    let chat = world.busy(&["chat", "--yes"]);
    assert_eq!(leave(chat), Some(code));
    world.has_stopped();
    world.waits(&["resume", "--last"]);
}

fn by_keys(keys: &'static str) -> impl FnOnce(Terminal) -> Option<i32> {
    move |mut chat| {
        chat.keys(keys);
        chat.wait_for("1 message stays queued; resume the session and press Enter to send it");
        end(&mut chat)
    }
}

#[test]
fn nothing_queued_begins_when_the_chat_is_left_by_ctrl_d() {
    // The first one says that something runs.
    left_by(0, by_keys("\u{4}\u{4}"), 0);
}

#[test]
fn nothing_queued_begins_when_the_chat_is_left_by_quit() {
    left_by(1, by_keys("/quit\r"), 0);
}

#[test]
fn nothing_queued_begins_when_the_terminal_is_closed() {
    left_by(2, Terminal::close, 129);
}

#[test]
fn nothing_queued_begins_when_the_chat_is_told_to_end() {
    let terminate = |mut chat: Terminal| {
        kill(pid(&chat.child), Signal::SIGTERM).unwrap();
        end(&mut chat)
    };
    left_by(3, terminate, 143);
}

#[test]
fn nothing_queued_begins_when_a_server_ends() {
    let world = World::new(4);
    let server = Serving::start(&world.sandbox);
    let address = server.address();
    let chat = world.busy(&["--connect", &server.url, "chat", "--yes"]);
    server.stop();
    world.has_stopped();
    drop(chat);
    let server = Serving::at(&world.sandbox, &address, &[]);
    world.waits(&["--connect", &server.url, "resume", "--last"]);
    server.stop();
    assert_eq!(
        world.asked.lock().unwrap().len(),
        1,
        "nor when the server ends again"
    );
}
