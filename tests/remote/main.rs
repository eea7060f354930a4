//! Servers and their clients over a network. The files are one program of tests, because each program takes
//! seconds to build and to link.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../crates/types/tests/golden/newer_words.rs"]
mod newer_words;
#[path = "../conformance/place.rs"]
mod place;

mod clients;
mod cuts;
mod flood;
mod garbage;
mod keep;
mod netns;
mod newer;
mod owners;
mod relay;
mod server_kills;
mod streams;
mod together;
mod wheel;
