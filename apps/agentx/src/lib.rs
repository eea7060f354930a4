//! The agentx program: it parses the command line and renders events; everything else is behind the `Runtime`
//! trait.
//!
//! Nothing is started before the command line is understood: no async runtime, no TLS, no files.

use std::process::ExitCode;

mod args;
mod cmd;
mod compose;
mod logging;
mod other_directory;
#[cfg(test)]
mod other_programs;
mod start;

// The parts of the front end have the same paths here as in the library.
use agentx_chat::{
    agent_list, anchors, attach, branches, cache_why, chat, chat_opening, command_sandbox, configuration,
    connection_watch, console, default_model, demo, doctor, error, exec_server, exit, export, folder, follow,
    headless, import, mcp_changes, mcp_login, mcp_servers, mcp_serving, mcp_tokens, memory, model_facts,
    models, named_file, numbers, other_server, parameter_names, passphrase, picker, place, provider_keys,
    reactor_list, redacting, refreshed_models, render, rules, run_result, sandbox_arguments, script_output,
    secret_scan, secrets, seen_notes, server_patience, session_opening, sessions_here, show, signals,
    spectator, spending, stored_sessions, terminal, untrusted_files, unwritten, waits,
};
use console::Console;

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    keep_environment_private();
    let mut console = Console::of_process();
    match args::Cli::of_process() {
        Ok(cli) => {
            let exit = cmd::main(cli, &mut console);
            signals::exit_of_process(exit).into()
        }
        Err(error) => cmd::usage::answer(&error, &mut console).into(),
    }
}

/// Programs that run for an agent do not get the keys that it uses, and cannot read them from this process.
/// On Linux a process that cannot be dumped shows its memory and its environment (`/proc/PID/environ`) to
/// root alone.
fn keep_environment_private() {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // It does not fail on a kernel of this century, and nothing else depends on it.
    let _ = nix::sys::prctl::set_dumpable(false);
}
