//! The tests of this crate as one binary, because each one links the whole of what it uses.

mod files;
mod lasting_shell;
mod links;
#[cfg(feature = "query")]
mod query;
mod rewind;
mod search;
mod shell;

mod support;
