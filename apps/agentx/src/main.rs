//! The program is a library; this starts it.

use std::process::ExitCode;

/// The allocator of glibc keeps memory that a server used in a flood of connections; jemalloc gives it back
/// within seconds.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    agentx_cli::run()
}
