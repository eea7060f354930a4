//! The tests of this crate as one binary, because each binary links all dependencies.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod patience;
mod remote;
mod went_back;

mod fake;
