//! Measures the whole program, as people run it: how long turns take beside a bare loop, how fast it starts,
//! takes a key, opens a long session and shows what a model says, and what it costs while nothing happens. It
//! prints figures and asserts nothing.
//!
//! `cargo build --release -p agentx-cli && cargo bench -p agentx-tests --bench program`
//!
//! `AGENTX_BIN` names another binary. Comparisons are made in turn in one run, so that the machine's noise
//! hits both.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark that cannot measure stops"
)]

mod bare;
#[path = "../built.rs"]
mod built;
#[path = "../filled.rs"]
mod filled;
mod idle;
mod keys;
mod latency;
mod long;
mod mcp;
mod process;
mod prompt;
mod server;
mod start;
mod stream;
mod turns;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("serve") => return server::serve(&args[2..]),
        Some("measure") => return process::measure(&args[2..]),
        Some("bare") => return bare::run(&args[2]),
        _ => {}
    }
    let wanted: Vec<&str> = args[1..]
        .iter()
        .map(String::as_str)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let parts: [(&str, fn()); 9] = [
        ("turns", turns::measure),
        ("start", start::measure),
        ("mcp", mcp::measure),
        ("prompt", prompt::measure),
        ("open", long::measure),
        ("latency", latency::measure),
        ("keys", keys::measure),
        ("stream", stream::measure),
        ("idle", idle::measure),
    ];
    for (name, measure) in parts {
        if wanted.is_empty() || wanted.contains(&name) {
            println!("\n== {name}");
            measure();
        }
    }
}
