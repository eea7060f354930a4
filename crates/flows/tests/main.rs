//! The tests of this crate as one binary, because each one links the whole of what it uses.

mod again;
mod asking;
mod keys;
mod kills;
mod network;
mod older;
mod places;
mod rules;
mod session;
mod shared;

mod support;
