//! From the moment at which the model's server sends a word to the moment at which a reader of the program's output has it.

use std::io::{Read, Write};
use std::process::Stdio;

use agentx_tests::model_server::now_us;

use crate::process::{Scratch, percentile, program};
use crate::server::Server;

const WORDS: usize = 2_000;

pub(crate) fn measure() {
    let server = Server::start(0, WORDS, 1_000);
    let scratch = Scratch::new("latency");
    let mut child = program(&scratch, &server.url, &["chat", "--yes"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"go\n").expect("its input");
    let mut out = child.stdout.take().expect("a pipe");
    let (mut buffer, mut rest, mut delays) = ([0; 4096], String::new(), Vec::new());
    loop {
        let count = out.read(&mut buffer).expect("its output");
        if count == 0 {
            break;
        }
        let seen = now_us();
        rest.push_str(&String::from_utf8_lossy(&buffer[..count]));
        while let Some((word, after)) = rest.split_once(' ') {
            if let Ok(sent) = word.trim().parse::<u128>() {
                delays.push(seen.saturating_sub(sent) as f64 / 1e3);
            }
            rest = after.to_owned();
        }
        if delays.len() >= WORDS {
            break;
        }
    }
    drop(input);
    let _ = child.kill();
    let _ = child.wait();
    delays.sort_by(f64::total_cmp);
    println!(
        "{} deltas, one a millisecond: p50 {:.2} ms   p99 {:.2} ms   (server to reader, through the log)",
        delays.len(),
        percentile(&delays, 50),
        percentile(&delays, 99)
    );
}
