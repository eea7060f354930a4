//! The tests of this crate as one binary, because each binary links all dependencies.

mod learner;
mod sessions;
mod store;
