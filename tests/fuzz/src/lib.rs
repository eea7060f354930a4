//! Invariants of readers for any bytes from outside: one module for each reader, each with a function `check`
//! that panics if it does not hold.
//!
//! libFuzzer calls them with bytes that reach new code (`tests/fuzz/run.sh`), and `tests/fuzz/replay.rs` with
//! the corpus that is kept, as an ordinary test. An input that made a check fail is mended, and stays in the
//! corpus.

pub mod files;
pub mod frames;
pub mod luau_values;
pub mod records;
pub mod shell;
pub mod sse;
