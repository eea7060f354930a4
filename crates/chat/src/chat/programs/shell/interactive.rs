//! Runs commands of the user that need the terminal. The chat lends it to them, and comes back when they end.

use std::io;

use agentx::config::Settings;
use agentx::node::program_environment;
use tokio::process::{Child, Command};

use super::ShellEnd;
use super::process::shell;
use crate::chat::input::external_editor::EditorEnd;
use crate::chat::{Chat, ChatFlow};
use crate::error::ChatError;

/// The error if the chat has no terminal to lend.
const NO_TERMINAL: &str =
    "not run: it needs a terminal, and this chat prints plain lines; run it in another window";
/// The text that the agent reads in place of the output of such a command.
const NOT_KEPT: &str = "(it had the terminal, so its output was not recorded)";

impl Chat<'_> {
    /// Runs a command that has the terminal until it ends.
    pub(super) async fn lend_to_command(&mut self, command: &str) -> Result<ChatFlow, ChatError> {
        let style = self.display.style();
        let mark = self.command_mark().await;
        let Some(loan) = self.lend_terminal()? else {
            return self.display.print_line(NO_TERMINAL);
        };
        let visit = match begin(command, self.settings, mark) {
            Ok(child) => self.visit(child).await,
            Err(error) => {
                drop(loan);
                return self
                    .display
                    .print_line(&style.bad(&format!("  it could not be run: {error}")));
            }
        };
        drop(loan);
        // The last line of the program may have no line end.
        self.display.console.paint("\r\n")?;
        self.measure_terminal().await?;
        match visit? {
            EditorEnd::Leaves(exit) => Ok(ChatFlow::Leave(exit)),
            EditorEnd::Over(status) => {
                let (end, shown) = ShellEnd::By(status).describe(style);
                self.keep_for_agent(command, NOT_KEPT.to_owned(), end).await;
                let (corner, note) = (style.dim("  └ "), style.dim(" · the agent sees that you ran it"));
                self.display.print_line(&format!("{corner}{shown}{note}"))?;
                self.note_withheld_variables(command);
                Ok(ChatFlow::Continue)
            }
        }
    }
}

/// Starts a command with the terminal of the chat.
fn begin(command: &str, settings: &Settings, mark: Option<(&'static str, String)>) -> io::Result<Child> {
    Command::new(shell())
        .args(["-c", command])
        .current_dir(&settings.workspace)
        .env_clear()
        .envs(program_environment(settings).variables())
        .envs(mark)
        .kill_on_drop(true)
        .spawn()
}
