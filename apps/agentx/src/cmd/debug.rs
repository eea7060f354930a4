//! `agentx debug`: looking inside.

use crate::args::DebugCommand;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;

/// Runs one of the commands.
pub(crate) fn run(command: &DebugCommand, console: &mut Console) -> Result<Exit, CliError> {
    let DebugCommand::Decode { .. } = command;
    console.say("nothing can be decoded yet\n");
    Ok(Exit::Failed)
}
