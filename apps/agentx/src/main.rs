//! The agentx program: it parses what is typed and renders what happens; everything else is behind the `Runtime` trait.
//!
//! Nothing is started before the command line is understood: no async runtime, no TLS, no files.

use std::process::ExitCode;

mod args;
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
mod follow;
mod in_question;
mod keys;
mod link;
mod logging;
mod new_agent;
mod picker;
mod render;
mod runtime_error;
mod seat;
mod signals;
mod start;
#[cfg(test)]
mod testing;
mod told;

use console::Console;

fn main() -> ExitCode {
    let mut console = Console::of_process();
    match args::Cli::of_process() {
        Ok(cli) => cmd::main(cli, &mut console).into(),
        Err(error) => cmd::usage::answer(&error, &mut console).into(),
    }
}
