//! The tests of this crate as one binary, because each binary links all dependencies.

mod fold;
mod newer;
mod reading;
mod ui;
mod waits;
