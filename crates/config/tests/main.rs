//! The tests of this crate as one binary, because each binary links all dependencies.

mod clouds;
mod layers;
mod set;
mod workspace;
