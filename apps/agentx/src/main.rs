//! The agentx program.
fn main() {}
