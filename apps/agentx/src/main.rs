//! The agentx program: it parses what is typed and renders what happens; everything else is behind the `Runtime` trait.
//!
//! Nothing is started before the command line is understood: no async runtime, no TLS, no files.

use std::process::ExitCode;

mod args;
mod attach;
#[cfg(test)]
mod catalogue;
mod chat;
mod cmd;
mod compose;
mod console;
mod elsewhere;
mod error;
mod exit;
mod failure;
mod folder;
mod follow;
mod in_question;
mod keys;
mod link;
mod logging;
mod models;
mod new_agent;
mod other_programs;
mod other_server;
mod output;
mod picker;
mod place;
mod relatives;
mod render;
mod rules;
mod runtime_error;
mod seat;
mod show;
mod signals;
mod spectator;
mod start;
#[cfg(test)]
mod testing;
mod told;
mod usual_model;

use console::Console;

/// The allocator of glibc keeps memory that a server used in a flood of connections; jemalloc gives it back within seconds.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    keep_environment_private();
    let mut console = Console::of_process();
    match args::Cli::of_process() {
        Ok(cli) => {
            let exit = cmd::main(cli, &mut console);
            signals::is_ended_with().unwrap_or(exit).into()
        }
        Err(error) => cmd::usage::answer(&error, &mut console).into(),
    }
}

/// Programs that are run for an agent do not get the keys that it runs on; nor may they read them from this process. On Linux a
/// process that cannot be dumped shows its memory and its environment (`/proc/PID/environ`) to root alone.
fn keep_environment_private() {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // It does not fail on a kernel of this century, and nothing else depends on it.
    let _ = nix::sys::prctl::set_dumpable(false);
}
