//! An exec server as its clients see it, as one binary.

mod cuts;
mod support;
mod v0;
