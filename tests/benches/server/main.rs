//! Measures the server as its clients see it: how much it delivers beside a bare broadcast, how late, to how
//! many, and what sessions and connections cost it. It prints figures and asserts nothing. Everything is on
//! the loopback interface.
//!
//! `cargo bench -p agentx-tests --bench server [-- fanout latency …]`
//!
//! The server, what it is measured beside, and all readers are processes of their own; readers do nothing but
//! count.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark that cannot measure stops"
)]

mod bare;
mod behind;
#[path = "../built.rs"]
mod built;
mod desk;
mod fanout;
#[path = "../filled.rs"]
mod filled;
mod histogram;
mod host;
mod identity;
mod idle;
mod latency;
mod many;
mod pace;
mod process;
mod readers;
mod socket;
mod stopped;

use std::time::Duration;

/// No part takes nearly as long.
const BOUND: Duration = Duration::from_secs(1_200);

fn main() {
    let args: Vec<String> = std::env::args().collect();
    std::thread::spawn(|| {
        std::thread::sleep(BOUND);
        eprintln!("the benchmark did not end in time");
        std::process::exit(1);
    });
    match args.get(1).map(String::as_str) {
        Some("host") => return host::serve(&args[2..]),
        Some("bare") => return bare::serve(&args[2..]),
        Some("read") => return readers::read(),
        _ => {}
    }
    let wanted: Vec<&str> = args[1..]
        .iter()
        .map(String::as_str)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let parts: [(&str, fn()); 7] = [
        ("fanout", fanout::measure),
        ("latency", latency::measure),
        ("many", many::measure),
        ("sessions", idle::sessions),
        ("connections", idle::connections),
        ("behind", behind::measure),
        ("stopped", stopped::measure),
    ];
    for (name, measure) in parts {
        if wanted.is_empty() || wanted.contains(&name) {
            println!("\n== {name}");
            measure();
        }
    }
}
