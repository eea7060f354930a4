//! Refuses commands if a tool of an agent runs this program: only a person changes settings and rules,
//! opens sessions, or starts an agent. A script, a link or another program may hide what a line runs.

use agentx::tools::is_in_a_call;

use crate::args::{ApprovalsCommand, Command, ConfigCommand, IdentityCommand, McpCommand};
use crate::error::ChatError;

/// Refuses a command if a tool's command started this process.
pub(super) fn refuse(command: Option<&Command>) -> Result<(), ChatError> {
    let Some(does) = restricted_command(command).filter(|_| is_in_a_call()) else {
        return Ok(());
    };
    Err(ChatError::usage(
        format!("this command {does}, and it was started by an agent's tool; only a person may do that"),
        "run it in your own terminal, or with `!` in the chat",
    ))
}

/// Returns the name of a command that only a person may run; `None` for all other commands.
fn restricted_command(command: Option<&Command>) -> Option<&'static str> {
    const SETTINGS: &str = "changes the settings of AgentX";
    const RULES: &str = "changes approval rules";
    const IDENTITY: &str = "changes or shows who is trusted";
    const AGENT: &str = "starts an agent";
    const SESSIONS: &str = "shows, changes or shares sessions";
    match command {
        None | Some(Command::Chat(_) | Command::Run(_) | Command::Resume(_) | Command::Serve(_)) => {
            Some(AGENT)
        }
        Some(Command::Config { command }) => {
            let shows = matches!(
                command,
                None | Some(ConfigCommand::Show | ConfigCommand::Path | ConfigCommand::Check)
            );
            (!shows).then_some(SETTINGS)
        }
        Some(Command::Approvals { command }) => matches!(
            command,
            Some(ApprovalsCommand::Add(_) | ApprovalsCommand::Remove { .. })
        )
        .then_some(RULES),
        Some(Command::Mcp { command }) => match command {
            None | Some(McpCommand::List | McpCommand::Show { .. }) => None,
            Some(McpCommand::Serve) => Some(AGENT),
            Some(_) => Some(SETTINGS),
        },
        Some(Command::Identity { command }) => {
            let shows = matches!(
                command,
                None | Some(
                    IdentityCommand::Show | IdentityCommand::List | IdentityCommand::Export { secret: false }
                )
            );
            (!shows).then_some(IDENTITY)
        }
        Some(Command::Usage(args)) => args.raise_day.map(|_| "raises the limit of a day"),
        Some(Command::Sessions { command: Some(_) } | Command::Show(_)) => Some(SESSIONS),
        Some(_) => None,
    }
}
