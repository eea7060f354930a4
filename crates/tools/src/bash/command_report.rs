//! The report of an ended command: text for the model, details for people and programs.

use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::{BlobStore, ToolOutcome};
use agentx_sandbox::SandboxRefusal;
use agentx_types::ToolStatus;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::capture::{Capture, OutputView};
use super::command_end::CommandEnd;
use super::command_sandbox::CommandSandbox;
use crate::text;

/// The end of a command, and the fate of its remaining processes.
pub(super) struct CommandReport {
    pub(super) end: CommandEnd,
    pub(super) duration: Duration,
    /// The time that it was given.
    pub(super) limit: Option<Duration>,
    /// The processes that it left behind.
    pub(super) rest: LeftProcesses,
    /// The sandbox that held it, if any.
    pub(super) sandbox: Option<CommandSandbox>,
}

/// The fate of processes that a shell left behind.
pub(super) enum LeftProcesses {
    /// There were none.
    None,
    /// The processes became this job.
    Job(String),
    /// The processes were killed, because there was no room for another job.
    Killed,
}

impl LeftProcesses {
    fn sentence(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Job(id) => {
                format!(
                    "\n[what it started in the background still runs, as {id}: see job to read its output or kill it]"
                )
            }
            Self::Killed => "\n[what it started in the background was killed: too many jobs run]".into(),
        }
    }

    fn job(&self) -> Option<&str> {
        match self {
            Self::Job(id) => Some(id),
            Self::None | Self::Killed => None,
        }
    }
}

impl CommandReport {
    /// Returns the outcome of the call, and what its sandbox refused. Output that is too long for the model
    /// is kept in the blob store.
    pub(super) async fn outcome(
        &self,
        capture: Capture,
        blobs: &Arc<dyn BlobStore>,
    ) -> (ToolOutcome, Option<SandboxRefusal>) {
        let total = capture.total();
        let (mut text, blob) = shown(capture, blobs).await;
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let refused = match &self.sandbox {
            Some(sandbox) if !self.is_success() => sandbox.refusal(&text).await,
            _ => None,
        };
        text.push_str(&format!("[{}]{}", self.sentence(total), self.rest.sentence()));
        if let (Some(sandbox), Some(refused)) = (&self.sandbox, &refused) {
            text.push_str(&sandbox.sentence(refused));
        }
        if let Some(sandbox) = &self.sandbox {
            text.push_str(&sandbox.left_files().await);
        }
        let mut details = exit_details(self.end);
        details["duration_ms"] = json!(u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX));
        details["output_bytes"] = json!(total);
        details["blob"] = blob;
        details["job"] = json!(self.rest.job());
        if let Some(sandbox) = &self.sandbox {
            details["sandbox"] = sandbox.details(refused.as_ref());
        }
        let outcome = ToolOutcome {
            status: status(self.end),
            ..ToolOutcome::success(text).with_details(details)
        };
        (outcome, refused)
    }

    fn is_success(&self) -> bool {
        matches!(self.end, CommandEnd::Exited(status) if status.success())
    }

    /// Describes how the command ended.
    pub(super) fn sentence(&self, output: u64) -> String {
        let after = seconds(self.duration);
        let limit = seconds(self.limit.unwrap_or(self.duration));
        match self.end {
            CommandEnd::Exited(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("exit {code}, {after}"),
                (None, signal) => format!("killed by {}, {after}", signal_name(signal.unwrap_or(0))),
            },
            CommandEnd::TimedOut => {
                format!(
                    "stopped: not done within {limit}; set timeout_ms or run_in_background for what takes longer"
                )
            }
            CommandEnd::Interrupted => format!("interrupted after {after}"),
            CommandEnd::Flooded => format!(
                "stopped after {} of output; send it to a file or filter it",
                text::size(output)
            ),
            CommandEnd::Lost => "its exit status is unknown".into(),
        }
    }
}

/// Describes how a command ended, for programs.
pub(super) fn exit_details(end: CommandEnd) -> Value {
    let (code, signal) = match end {
        CommandEnd::Exited(status) => (status.code(), status.signal()),
        _ => (None, None),
    };
    json!({
        "exit_code": code,
        "signal": signal.map(signal_name),
        "timed_out": end == CommandEnd::TimedOut,
    })
}

fn status(end: CommandEnd) -> ToolStatus {
    match end {
        CommandEnd::Exited(status) if status.success() => ToolStatus::Success,
        CommandEnd::Exited(_) | CommandEnd::Flooded => ToolStatus::Failed,
        CommandEnd::TimedOut => ToolStatus::TimedOut,
        CommandEnd::Interrupted => ToolStatus::Interrupted,
        CommandEnd::Lost => ToolStatus::Unknown,
    }
}

/// Returns the output for the model, and the id of the blob with all of it.
pub(super) async fn shown(capture: Capture, blobs: &Arc<dyn BlobStore>) -> (String, Value) {
    let (head, tail, left_out, next_line) = match capture.view() {
        OutputView::Whole(text) => return (text.replace('\0', "\u{FFFD}"), Value::Null),
        OutputView::Cut {
            head,
            tail,
            left_out,
            next_line,
        } => (head, tail, left_out, next_line),
    };
    let part = if capture.is_whole() {
        "all of it"
    } else {
        "its beginning"
    };
    // Move the output instead of copying it: it may be very large. Its share of the budget is held until it
    // is stored.
    let (kept, _share) = capture.into_kept();
    let (blob, way) = match blobs.put_blob(kept.into_bytes()).await {
        Ok(id) => {
            let way = format!(
                "{part} is kept: read {{\"blob\": \"{id}\", \"offset\": {next_line}}} continues there"
            );
            (json!(id), way)
        }
        Err(error) => (Value::Null, format!("it could not be kept: {error}")),
    };
    let border = if head.ends_with('\n') { "" } else { "\n" };
    let text = format!("{head}{border}[{} left out; {way}]\n{tail}", text::size(left_out));
    (text.replace('\0', "\u{FFFD}"), blob)
}

/// Formats a time: `0.02 s`, `75 s`.
pub(super) fn seconds(time: Duration) -> String {
    if time < Duration::from_secs(10) {
        format!("{:.2} s", time.as_secs_f64())
    } else {
        format!("{} s", time.as_secs())
    }
}

fn signal_name(signal: i32) -> String {
    Signal::try_from(signal).map_or_else(
        |_| format!("signal {signal}"),
        |signal| signal.as_str().to_owned(),
    )
}
