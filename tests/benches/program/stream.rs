//! The costs of a minute of Markdown that streams into a terminal, 500 pieces a second, from the model's
//! server through the log to the screen: the share of a core, the bytes written for each byte of text,
//! memory.

use std::time::{Duration, Instant};

use crate::idle::{chat_of, resident_mib};
use crate::keys::Chat;
use crate::process::Scratch;
use crate::server::{Server, markdown_pieces};

/// Pieces, and how far they are apart: a minute. `AGENTX_BENCH_PIECES` wants fewer, to try something.
const PIECES: usize = 30_000;
const PACE_US: u64 = 2_000;
/// No minute is longer.
const LOST: Duration = Duration::from_secs(120);

pub(crate) fn measure() {
    let wanted = std::env::var("AGENTX_BENCH_PIECES").ok();
    let pieces = wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(PIECES);
    let server = Server::markdown(pieces, PACE_US);
    let scratch = Scratch::new("stream");
    let mut chat = Chat::start(&scratch, &server.url, &["chat", "--yes"]);
    chat.wait_for("›", Duration::from_secs(10)).expect("a prompt");
    let parent = chat.child.id();
    let pid = chat_of(parent).unwrap_or(parent);
    let (began, cpu, bytes) = (Instant::now(), cpu_s(pid), chat.bytes);
    chat.press("go\r");
    // The end of an answer shows its cost.
    chat.wait_for(" out · $", LOST).expect("the end of the answer");
    let (took, cpu) = (began.elapsed().as_secs_f64(), cpu_s(pid) - cpu);
    let text: usize = markdown_pieces(pieces).iter().map(String::len).sum();
    println!(
        "{pieces} pieces of Markdown in {took:.1} s: {:.2} % of a core   {:.2} bytes to the terminal for a byte of text   resident {:.1} MiB",
        cpu / took * 100.0,
        (chat.bytes - bytes) as f64 / text as f64,
        resident_mib(pid)
    );
}

/// Seconds of CPU that a process has had.
fn cpu_s(pid: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("its figures");
    // The name of the program may have blanks in it.
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = rest.split_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
