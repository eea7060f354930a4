//! Starts the processes of a command of the user, and ends all of them.

use std::process::Stdio;

use agentx::config::Settings;
use agentx::node::program_environment;
use tokio::process::{Child, Command};

use crate::chat::display::status_row::end_group;

/// Ends the processes that a command started, even if the chat ends first.
pub(super) struct ShellProcessGroup(pub(super) Option<u32>);

impl Drop for ShellProcessGroup {
    fn drop(&mut self) {
        end_group(self.0.take());
    }
}

/// The shell of the person, if it can run anything; else `sh`.
pub(super) fn shell() -> String {
    let named = std::env::var("SHELL").unwrap_or_default();
    let runs = !named.ends_with("/false") && !named.ends_with("/nologin");
    if runs && std::path::Path::new(&named).is_file() {
        named
    } else {
        "sh".to_owned()
    }
}

/// Joins standard output and error into one stream, in a way that does not depend on the person's shell, and
/// becomes that shell.
const ONE_STREAM: &str = r#"exec 2>&1; exec "$1" -c "$2""#;

/// Begins a command in its own process group. Its output and errors come in one stream, in order.
pub(super) fn begin(
    command: &str,
    settings: &Settings,
    mark: Option<(&'static str, String)>,
) -> std::io::Result<Child> {
    let mut process = Command::new("sh");
    process
        .args(["-c", ONE_STREAM, "sh", &shell(), command])
        .current_dir(&settings.workspace)
        .env_clear()
        .envs(program_environment(settings).variables())
        .envs(mark)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    #[cfg(unix)]
    process.process_group(0);
    process.spawn()
}

/// The error for a command that would change nothing.
const OWN_SHELL: &str =
    "each command runs in its own shell, so `cd` alone has no effect; write !cd DIR && COMMAND";

/// Returns a notice to print instead of running a command that would have no effect here.
pub(super) fn instead_of(command: &str) -> Option<&'static str> {
    let program = command.split_whitespace().next().unwrap_or_default();
    match program.rsplit('/').next().unwrap_or_default() {
        "!" => {
            Some("`!!COMMAND` gives the terminal to a command that reads keys, for example !!./configure.sh")
        }
        "" => Some("`!COMMAND` runs a command in your shell, for example !ls"),
        _ if only_changes_directory(command) => Some(OWN_SHELL),
        _ => None,
    }
}

/// Returns whether a command is a `cd` and nothing else.
fn only_changes_directory(command: &str) -> bool {
    let is_cd = command == "cd" || command.starts_with("cd ");
    is_cd && !command.contains(['&', ';', '|', '\n'])
}
