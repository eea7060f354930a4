//! The tests of this crate as one binary, because each binary links all dependencies.

mod fixtures;
mod recorded;
