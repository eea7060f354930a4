//! The duration of a search among many memories: `cargo bench -p agentx-memory --bench recall`. It prints
//! figures and judges nothing.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints and fails by panicking"
)]

use std::time::{Duration, Instant};

use agentx_memory::{MemoryFilter, MemoryStore, NewMemory};
use agentx_types::{OwnerId, Timestamp};

/// The number of memories.
const MEMORIES: u64 = 100_000;
/// The number of searches of each kind.
const SEARCHES: u64 = 200;

/// A number that follows from `seed` without a pattern that matters.
fn number(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 33
}

/// A made-up word; low numbers are frequent.
fn word(seed: u64) -> String {
    let choice = number(seed);
    let bound = [50, 500, 5_000, 50_000][(choice % 4) as usize];
    format!("word{}", number(seed + 1) % bound)
}

fn sentence(seed: u64, words: u64) -> String {
    let words = (0..words).map(|at| word(seed * 1_000 + at * 2));
    words.collect::<Vec<_>>().join(" ")
}

fn measure(name: &str, mut work: impl FnMut(u64)) {
    let mut times: Vec<Duration> = (0..SEARCHES)
        .map(|at| {
            let begin = Instant::now();
            work(at);
            begin.elapsed()
        })
        .collect();
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    println!(
        "{name}: median {:?}, p95 {:?}, longest {:?}",
        at(50),
        at(95),
        at(100)
    );
}

fn main() {
    let directory = tempfile::tempdir().unwrap();
    let store = MemoryStore::open(directory.path(), OwnerId::new("own_bench")).unwrap();
    let begin = Instant::now();
    for at in 0..MEMORIES {
        let new = NewMemory::of_person(format!("{at} {}", sentence(at, 12)));
        store.add(&new, Timestamp(1)).unwrap();
    }
    println!("{MEMORIES} memories stored in {:?}", begin.elapsed());
    measure("recall for an input of 40 words", |at| {
        store.recall(&sentence(at + MEMORIES, 40), "/work", 64).unwrap();
    });
    measure("search of 2 words", |at| {
        store
            .search(&sentence(at + MEMORIES, 2), &MemoryFilter::default(), 20)
            .unwrap();
    });
    measure("search of one word of 50", |at| {
        store
            .search(&format!("word{}", at % 50), &MemoryFilter::default(), 20)
            .unwrap();
    });
}
