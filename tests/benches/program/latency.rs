//! From the moment at which the model's server sends a word to the moment at which it is there: for a reader
//! of the program's output, and on a terminal.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::Duration;

use agentx_tests::model_server::now_us;

use crate::keys::Chat;
use crate::process::{Scratch, percentile, program};
use crate::server::Server;

/// The number of words, and the time between two: a thousand a second, five hundred, and as many as models
/// say.
const WORDS: [(usize, u64); 3] = [(2_000, 1_000), (2_000, 2_000), (500, 15_000)];
/// The digits of the time at which a word was sent.
const DIGITS: usize = 16;
/// No word takes longer.
const LOST: Duration = Duration::from_secs(5);

pub(crate) fn measure() {
    for (words, pace) in WORDS {
        tell("a reader", pace, piped(words, pace));
        tell("a terminal", pace, painted(words, pace));
    }
}

fn tell(whom: &str, pace: u64, mut delays: Vec<f64>) {
    delays.sort_by(f64::total_cmp);
    println!(
        "{} deltas, {} ms apart, from the server through the log to {whom}: p50 {:.2} ms   p99 {:.2} ms",
        delays.len(),
        pace / 1_000,
        percentile(&delays, 50),
        percentile(&delays, 99)
    );
}

/// The words that were seen, and their delays.
#[derive(Default)]
struct Seen {
    words: HashSet<u128>,
    /// Digits that may continue.
    digits: String,
    delays: Vec<f64>,
}

impl Seen {
    /// Takes bytes that came just now. A word that a terminal is sent again is seen once.
    fn take(&mut self, bytes: &[u8]) {
        let now = now_us();
        for byte in bytes {
            if !byte.is_ascii_digit() {
                self.digits.clear();
                continue;
            }
            self.digits.push(char::from(*byte));
            if self.digits.len() == DIGITS
                && let Ok(sent) = self.digits.parse()
                && self.words.insert(sent)
            {
                self.delays.push(now.saturating_sub(sent) as f64 / 1e3);
            }
        }
    }
}

fn piped(words: usize, pace: u64) -> Vec<f64> {
    let server = Server::start(0, words, pace);
    let scratch = Scratch::new("latency");
    let mut child = program(&scratch, &server.url, &["chat", "--yes"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"go\n").expect("its input");
    let mut out = child.stdout.take().expect("a pipe");
    let (mut buffer, mut seen) = ([0; 4096], Seen::default());
    while seen.delays.len() < words {
        let count = out.read(&mut buffer).expect("its output");
        if count == 0 {
            break;
        }
        seen.take(&buffer[..count]);
    }
    drop(input);
    let _ = child.kill();
    let _ = child.wait();
    seen.delays
}

fn painted(words: usize, pace: u64) -> Vec<f64> {
    let server = Server::start(0, words, pace);
    let scratch = Scratch::new("latency");
    let mut chat = Chat::start(&scratch, &server.url, &["chat", "--yes"]);
    chat.wait_for("›", Duration::from_secs(10)).expect("a prompt");
    chat.press("go\r");
    let mut seen = Seen::default();
    while seen.delays.len() < words
        && let Some(bytes) = chat.read(LOST)
    {
        seen.take(&bytes);
    }
    seen.delays
}
