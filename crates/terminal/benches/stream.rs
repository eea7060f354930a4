//! The cost of showing a text that streams: 500 deltas a second for a minute, 40 frames a second, above a
//! row that says how things stand. It prints the share of a core and the bytes written for each byte of text,
//! and asserts nothing.
//!
//! `cargo bench -p agentx-terminal`

use std::time::Instant;

use agentx_terminal::{Markdown, Painter, Row, Style, Theme};

const DELTAS: usize = 30_000;
const SECONDS: f64 = 60.0;
/// Deltas between two frames.
const A_FRAME: usize = 12;

const MIXED: &str = "# What was found\n\nThe **harbour** of the old town was quiet, and `nobody` came for the boats that were \
tied there. See [the log](https://example.com/log) for *when* it began.\n\n- one thing that was said about it, at some length\n- \
another **one**\n  - and what follows from it\n\n```rust\nfn main() {\n    let boats: Vec<Boat> = harbour().boats(); // all of \
them\n    for boat in &boats {\n        println!(\"{}\", boat.name());\n    }\n}\n```\n\n| boat | since |\n| --- | --: |\n| Anna | \
1901 |\n| Bertha | 1923 |\n\n1. first this\n2. then that\n\n> somebody said so\n\n";
const PROSE: &str = "The harbour of the old town was quiet and nobody came for the boats that were tied there all winter long. ";
const CODE: &str = "    let boats: Vec<Boat> = harbour().boats(); // all of them\n";

fn main() {
    for (name, begin, text) in [
        ("markdown of every kind", "", MIXED),
        ("one paragraph without an end", "", PROSE),
        ("one item without an end", "- ", PROSE),
        ("one sign that never ends", "*", PROSE),
        ("one piece of code", "```rust\n", CODE),
    ] {
        measure(name, begin, text);
    }
}

fn measure(name: &str, begin: &str, text: &str) {
    let letters: Vec<char> = begin
        .chars()
        .chain(text.chars().cycle())
        .take(DELTAS * 5)
        .collect();
    let deltas: Vec<String> = letters.chunks(5).map(|delta| delta.iter().collect()).collect();
    let (mut answer, mut painter) = (Markdown::new(100, Theme::dark()), Painter::new(100, 40));
    let status = Row::new("⠹ opus answers · 12s · Esc stops", Style::default().dim());
    let (mut written, mut read, mut frames, mut longest) = (0, 0, 0_u32, 0.0_f64);
    let began = Instant::now();
    for frame in deltas.chunks(A_FRAME) {
        let at = Instant::now();
        for delta in frame {
            answer.push(delta);
            read += delta.len();
        }
        let mut live = answer.live();
        let cursor = live.last().map(|row| (live.len() - 1, row.width()));
        live.push(status.clone());
        written += painter.frame(&answer.take_done(), &live, cursor).len();
        frames += 1;
        longest = longest.max(at.elapsed().as_secs_f64());
    }
    let took = began.elapsed().as_secs_f64();
    println!(
        "{name:30} {:5.2} % of a core   {:6.1} µs a frame, at most {:7.1}   {:.2} bytes a byte",
        took / SECONDS * 100.0,
        took / f64::from(frames) * 1e6,
        longest * 1e6,
        written as f64 / read as f64
    );
}
