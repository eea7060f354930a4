//! `agentx sandbox`: shows what holds commands, and runs one by hand.

use crate::args::{Global, SandboxCommand};
use crate::command_sandbox::{run_held, show};
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::start::{self, SettingsRead};

/// Does what was asked for.
pub(crate) fn run(
    command: SandboxCommand,
    global: &Global,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let loaded = start::settings_to_look(global)?;
    console.say(&start::notes(&loaded, SettingsRead::Sandbox));
    match command {
        SandboxCommand::Show => show(&loaded.settings, global.json, console),
        SandboxCommand::Run { step, command } => {
            run_held(&loaded.settings, step.as_deref(), &command, console)
        }
    }
}
