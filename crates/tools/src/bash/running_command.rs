//! A running command, from its start to its end.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use super::command_end::CommandEnd;
use super::command_sandbox::CommandSandbox;
use super::group::ProcessGroup;
use super::pump::{OutputDestination, OutputPump};
use super::started_process::StartedProcess;
use crate::bash::options::BashOptions;

/// A command that runs.
pub(super) struct RunningCommand {
    child: StartedProcess,
    group: Arc<ProcessGroup>,
    pump: OutputPump,
    options: BashOptions,
    sandbox: Option<CommandSandbox>,
}

/// The interval of checks whether the processes that a shell left behind have ended, when no pipe shows it.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// The time to wait for a killed process: one that hangs in the kernel does not die.
const DYING: Duration = Duration::from_millis(400);

impl RunningCommand {
    pub(super) fn new(
        child: StartedProcess,
        group: Arc<ProcessGroup>,
        pump: OutputPump,
        options: &BashOptions,
    ) -> Self {
        Self {
            child,
            group,
            pump,
            options: options.clone(),
            sandbox: None,
        }
    }

    /// Notes what holds the command.
    pub(super) fn held_by(self, sandbox: Option<CommandSandbox>) -> Self {
        Self { sandbox, ..self }
    }

    /// The sandbox that holds the command, for people and programs; `None` if nothing does.
    pub(super) fn sandbox(&self) -> Option<CommandSandbox> {
        self.sandbox.clone()
    }

    pub(super) fn group(&self) -> Arc<ProcessGroup> {
        Arc::clone(&self.group)
    }

    /// Runs it until the shell ends or has to be ended.
    pub(super) async fn run(&mut self, cancel: &CancellationToken, timeout: Option<Duration>) -> CommandEnd {
        let child = &mut self.child;
        let ended = async {
            tokio::select! {
                biased;
                () = cancel.cancelled() => CommandEnd::Interrupted,
                status = child.wait() => status.map_or(CommandEnd::Lost, CommandEnd::Exited),
                () = sleep_for(timeout) => CommandEnd::TimedOut,
            }
        };
        let end = self
            .pump
            .drive(self.options.kill_bytes, ended)
            .await
            .unwrap_or(CommandEnd::Flooded);
        if !end.is_exit() {
            self.stop().await;
            return end;
        }
        self.group.lost_leader();
        self.pump
            .drain(self.options.kill_bytes, self.options.linger)
            .await;
        end
    }

    /// Returns whether something that the shell started still runs after it has ended.
    pub(super) fn is_left(&self) -> bool {
        self.group.has_members() || !self.pump.is_at_end()
    }

    /// Also waits until the processes that the shell left behind are gone.
    pub(super) async fn attend(&mut self, cancel: &CancellationToken, end: CommandEnd) -> CommandEnd {
        while end.is_exit() && self.is_left() {
            if self.wait_for_change(cancel).await {
                self.stop().await;
                return CommandEnd::Interrupted;
            }
        }
        end
    }

    /// Waits for the end of the output, or for a while if it has ended already. Returns whether the command
    /// was cancelled while it waited.
    async fn wait_for_change(&mut self, cancel: &CancellationToken) -> bool {
        let pump = &mut self.pump;
        let change = async {
            if pump.is_at_end() {
                tokio::time::sleep(LOOK_AGAIN).await;
            } else {
                pump.exhaust(u64::MAX).await;
            }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => true,
            () = change => false,
        }
    }

    /// Ends it: SIGTERM, a short wait, SIGKILL. The output is still read, so that no process blocks on
    /// writing.
    pub(super) async fn stop(&mut self) {
        let (group, child, grace) = (&self.group, &mut self.child, self.options.grace);
        let stopping = async {
            let known = group.ask();
            let _ = tokio::time::timeout(grace, all_gone(group, child)).await;
            group.kill(&known).await;
            if tokio::time::timeout(DYING, child.wait()).await.is_ok() {
                group.lost_leader();
            }
        };
        self.pump.drive(u64::MAX, stopping).await;
        group_over(&self.group);
        const REST: Duration = Duration::from_millis(50);
        self.pump.drain(u64::MAX, REST).await;
    }

    /// Takes the captured output; later output is discarded.
    pub(super) fn take_capture(&mut self) -> Capture {
        match self.pump.redirect(OutputDestination::Nothing) {
            OutputDestination::Call(capture) => capture,
            OutputDestination::Nothing | OutputDestination::Job(_) => Capture::new(&self.options),
        }
    }

    /// Sends later output to a job.
    pub(super) fn record(&mut self, record: OutputDestination) {
        self.pump.redirect(record);
    }
}

/// Stops sending SIGTERM once no process is left.
fn group_over(group: &ProcessGroup) {
    if !group.has_members() {
        group.mark_ended();
    }
}

async fn all_gone(group: &ProcessGroup, child: &mut StartedProcess) {
    const LOOK: Duration = Duration::from_millis(10);
    if child.wait().await.is_ok() {
        group.lost_leader();
    }
    while group.has_members() {
        tokio::time::sleep(LOOK).await;
    }
}

async fn sleep_for(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}
