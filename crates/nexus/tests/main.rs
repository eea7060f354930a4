//! The tests of this crate as one binary: clients that know NEXUS's protocol alone, written from the facts in
//! `docs/NEXUS.md`, at a real server with the scripted model.

mod authorization;
mod bounds;
mod requests;
mod socket;
mod streams;

mod support;
