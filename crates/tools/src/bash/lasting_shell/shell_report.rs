//! The outcome of a call of the shell: text for the model, details for people and programs.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use agentx_runtime::{ToolContext, ToolOutcome};
use agentx_types::ToolStatus;
use serde_json::json;

use super::prompt_scanner::ShellPrompt;
use super::running_shell::RunningShell;
use crate::bash::capture::Capture;
use crate::bash::command_end::CommandEnd;
use crate::bash::command_report::{seconds, shown};
use crate::text;

/// The state in which a call left the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShellState {
    /// The command has ended.
    Ready(ShellPrompt),
    /// The command still runs.
    Busy,
    /// The call was interrupted before its command had ended.
    Interrupted,
    /// The shell itself has ended.
    Over(CommandEnd),
}

/// The result of a call.
pub(super) struct ShellReport {
    pub(super) state: ShellState,
    pub(super) capture: Capture,
    /// Bytes of output that are lost.
    pub(super) lost: u64,
    /// The time of the call.
    pub(super) waited: Duration,
}

impl ShellReport {
    /// Returns the outcome. Output that is too long for the model is kept in the blob store.
    pub(super) async fn outcome(self, shell: &RunningShell, context: &ToolContext) -> ToolOutcome {
        let total = self.capture.total();
        let status = self.status();
        let sentence = self.sentence(shell);
        let (output, blob) = shown(self.capture, &context.blobs).await;
        let mut text = String::new();
        if self.lost > 0 {
            text.push_str(&format!("[{} before this are lost]\n", text::size(self.lost)));
        }
        text.push_str(&output);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let refused = match shell.sandbox() {
            Some(sandbox) if status == ToolStatus::Failed => sandbox.refusal(&text).await,
            _ => None,
        };
        text.push_str(&format!("[{sentence}]"));
        if let (Some(sandbox), Some(refused)) = (shell.sandbox(), &refused) {
            text.push_str(&sandbox.sentence(refused));
        }
        let waited = u64::try_from(self.waited.as_millis()).unwrap_or(u64::MAX);
        let mut details = json!({
            "exit_code": null,
            "cwd": null,
            "runs": self.state == ShellState::Busy,
            "duration_ms": waited,
            "output_bytes": total,
            "blob": blob,
        });
        match &self.state {
            ShellState::Ready(prompt) => {
                details["exit_code"] = json!(prompt.exit_code);
                details["cwd"] = json!(prompt.directory);
            }
            ShellState::Over(CommandEnd::Exited(ended)) => details["exit_code"] = json!(ended.code()),
            ShellState::Over(_) | ShellState::Busy | ShellState::Interrupted => {}
        }
        match (shell.sandbox(), shell.unheld()) {
            (Some(sandbox), _) => details["sandbox"] = sandbox.details(refused.as_ref()),
            (None, Some(unheld)) => details["sandbox"] = unheld.clone(),
            (None, None) => {}
        }
        ToolOutcome {
            status,
            ..ToolOutcome::success(text)
        }
        .with_details(details)
    }

    fn status(&self) -> ToolStatus {
        match &self.state {
            ShellState::Ready(prompt) if prompt.exit_code == 0 => ToolStatus::Success,
            ShellState::Busy => ToolStatus::Success,
            ShellState::Interrupted => ToolStatus::Interrupted,
            ShellState::Over(CommandEnd::Exited(ended)) if ended.success() => ToolStatus::Success,
            ShellState::Ready(_) | ShellState::Over(_) => ToolStatus::Failed,
        }
    }

    fn sentence(&self, shell: &RunningShell) -> String {
        let (_, age) = shell.last_command();
        match &self.state {
            ShellState::Ready(ShellPrompt {
                exit_code, directory, ..
            }) => format!("exit {exit_code}, {}, in {directory}", seconds(age)),
            ShellState::Busy => format!(
                "runs for {}: shell_input types into it, shell_wait waits for more output or ends it",
                seconds(age)
            ),
            ShellState::Interrupted => format!("interrupted after {}", seconds(age)),
            ShellState::Over(CommandEnd::Exited(ended)) => {
                let how = match (ended.code(), ended.signal()) {
                    (Some(code), _) => format!("exit {code}"),
                    (None, signal) => format!("signal {}", signal.unwrap_or(0)),
                };
                format!("the shell ended: {how}; the next command starts a new one in the workspace")
            }
            ShellState::Over(CommandEnd::Flooded) => {
                "the shell was ended after too much output; the next command starts a new one in the workspace"
                    .to_owned()
            }
            ShellState::Over(_) => {
                "the shell was ended; the next command starts a new one in the workspace".to_owned()
            }
        }
    }
}
