//! The tests of this crate as one binary, because each one links the whole of what it uses.

mod fold;
mod newer;
mod reading;
mod ui;
