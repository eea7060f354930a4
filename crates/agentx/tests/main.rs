//! The tests of this crate as one binary, because each binary links all dependencies.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod doors;
mod examples;
mod handle;
mod outside;
mod replays;
mod typed_answers;

mod support;
