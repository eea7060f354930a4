//! The tests of this crate as one binary, because each binary links all dependencies.

mod adopt;
mod contract;
mod damage;
mod events_hash;
mod faults;
mod forks;
mod garbage;
mod models;
mod newer;
mod redaction;
mod round_trip;
mod said;
mod spending;
mod writers;

#[path = "support/histories.rs"]
mod histories;
mod support;
