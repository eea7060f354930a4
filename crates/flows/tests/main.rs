//! The tests of this crate as one binary, because each binary links all dependencies.

mod again;
mod asking;
mod given_up;
mod keys;
mod kills;
mod network;
mod older;
mod places;
mod rules;
mod session;
mod shared;

mod support;
