//! Helpers of the tests and benchmarks that span several crates.

pub mod model_server;
