//! What an invocation costs, beside a bare call of the VM.

fn main() {}
