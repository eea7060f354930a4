//! The program is a library; this starts it.

use std::process::ExitCode;

/// The allocator of glibc keeps memory that a server used in a flood of connections; jemalloc gives it back
/// within seconds.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // Before anything else: the helper of the sandbox has to be one thread.
    if let Some(ended) = agentx::sandbox::act_as_helper() {
        return ended;
    }
    if let Some(ended) = agentx::web::act_as_document_helper() {
        return ended;
    }
    agentx_cli::run()
}
