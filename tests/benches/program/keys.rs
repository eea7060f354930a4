//! From a key press to its echo in a terminal while a model says 500 pieces of Markdown a second: what a
//! person feels who writes on.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};

use crate::process::{Scratch, agentx, percentile};
use crate::server::Server;

/// Pieces, and how far they are apart: 500 a second for longer than is typed.
const PIECES: usize = 30_000;
const PACE_US: u64 = 2_000;
/// The number of keys, and the time between two: faster than people type.
const KEYS: usize = 600;
const BETWEEN: Duration = Duration::from_millis(35);
/// No echo takes longer.
const LOST: Duration = Duration::from_secs(2);
/// Letters that no answer has in it. A line has each once, and the next line others, so that what is painted
/// again is not an echo.
const LETTERS: [&str; 2] = ["абвгдежзиклмнопрстуфхцчшщэюя", "αβγδεζηθικλμνξοπρστυφχψω"];

/// A chat in a terminal.
pub(crate) struct Chat {
    pub(crate) child: Child,
    keys: File,
    output: Receiver<(Instant, Vec<u8>)>,
    pub(crate) bytes: usize,
}

impl Chat {
    /// Starts the program in a terminal that echoes nothing itself.
    pub(crate) fn start(scratch: &Scratch, url: &str, args: &[&str]) -> Self {
        let size = Winsize {
            ws_row: 40,
            ws_col: 100,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pty = openpty(Some(&size), None).expect("a terminal");
        let mut modes = tcgetattr(&pty.slave).expect("a terminal");
        modes.local_flags.remove(LocalFlags::ECHO);
        tcsetattr(&pty.slave, SetArg::TCSANOW, &modes).expect("a terminal");
        let end = |fd: &OwnedFd| Stdio::from(fd.try_clone().expect("a terminal"));
        let child = Command::new("setsid")
            .args(["--ctty", "--wait"])
            .arg(agentx())
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &scratch.0)
            .env("LANG", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .env("AGENTX_THEME", "dark")
            .env("ANTHROPIC_BASE_URL", url)
            .env("ANTHROPIC_API_KEY", "sk-bench")
            .current_dir(scratch.0.join("ws"))
            .stdin(end(&pty.slave))
            .stdout(end(&pty.slave))
            .stderr(end(&pty.slave))
            .spawn()
            .expect("setsid, from util-linux");
        drop(pty.slave);
        let keys = File::from(pty.master);
        let mut source = keys.try_clone().expect("a terminal");
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 16_384];
            while let Ok(read @ 1..) = source.read(&mut buffer) {
                if sender.send((Instant::now(), buffer[..read].to_vec())).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            keys,
            output,
            bytes: 0,
        }
    }

    /// Waits until the terminal is sent these bytes; `None` if that takes too long.
    pub(crate) fn wait_for(&mut self, wanted: &str, patience: Duration) -> Option<Instant> {
        let until = Instant::now() + patience;
        let mut tail = Vec::new();
        loop {
            let left = until.checked_duration_since(Instant::now())?;
            let (at, bytes) = self.output.recv_timeout(left).ok()?;
            self.bytes += bytes.len();
            tail.extend_from_slice(&bytes);
            if tail
                .windows(wanted.len())
                .any(|window| window == wanted.as_bytes())
            {
                return Some(at);
            }
            tail.drain(..tail.len().saturating_sub(wanted.len()));
        }
    }

    /// Returns the next output to the terminal; `None` if that takes too long.
    pub(crate) fn read(&mut self, patience: Duration) -> Option<Vec<u8>> {
        self.output.recv_timeout(patience).ok().map(|(_, bytes)| bytes)
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("a terminal");
    }
}

impl Drop for Chat {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn measure() {
    let server = Server::markdown(PIECES, PACE_US);
    let scratch = Scratch::new("keys");
    let mut chat = Chat::start(&scratch, &server.url, &["chat", "--yes"]);
    chat.wait_for("›", Duration::from_secs(10)).expect("a prompt");
    chat.press("go\r");
    chat.wait_for("Chapter", Duration::from_secs(10))
        .expect("an answer");
    let (mut delays, mut lost, mut line) = (Vec::new(), 0_usize, 0_usize);
    let (began, before) = (Instant::now(), chat.bytes);
    while delays.len() + lost < KEYS {
        for letter in LETTERS[line % 2].chars() {
            chat.wait_for("\u{0}", BETWEEN);
            let mut text = [0; 4];
            let text = letter.encode_utf8(&mut text);
            let pressed = Instant::now();
            chat.press(text);
            match chat.wait_for(text, LOST) {
                Some(seen) => delays.push((seen - pressed).as_secs_f64() * 1e3),
                None => lost += 1,
            }
        }
        chat.press("\u{15}");
        line += 1;
    }
    let seconds = began.elapsed().as_secs_f64();
    delays.sort_by(f64::total_cmp);
    println!(
        "{} keys while 500 pieces of Markdown a second came: echo p50 {:.2} ms   p99 {:.2} ms   longest {:.2} ms   {lost} lost   ({:.1} kB/s to the terminal)",
        delays.len(),
        percentile(&delays, 50),
        percentile(&delays, 99),
        delays.last().copied().unwrap_or(f64::NAN),
        (chat.bytes - before) as f64 / seconds / 1e3,
    );
}
