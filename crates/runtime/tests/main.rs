//! The tests of this crate as one binary, because each binary links all dependencies.

mod acting;
mod asking_again;
mod blobs;
mod children;
mod condenser;
mod copied_redaction;
mod driver;
mod forged_facts;
mod ingress;
mod journals;
mod newer_answers;
mod reactors;
mod security;
mod streams;
mod waits;
