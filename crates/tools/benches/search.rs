//! Placeholder of the bench.
fn main() {}
