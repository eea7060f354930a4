//! A command that continues after its call has ended: its output so far, its end, and the ways to wait for
//! both.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::backlog::OutputBacklog;
use super::command_end::CommandEnd;
use super::command_sandbox::CommandSandbox;
use super::group::ProcessGroup;
use crate::bash::options::BashOptions;

/// A command that continues after its call has ended.
pub(super) struct BackgroundJob {
    id: String,
    command: String,
    started: Instant,
    pub(super) cancel: CancellationToken,
    /// Whether the person has ended it, which neither the agent nor the log knows yet.
    pub(super) stopped: AtomicBool,
    pub(super) group: Arc<ProcessGroup>,
    /// The sandbox that holds it, if any.
    sandbox: Option<CommandSandbox>,
    state: Mutex<JobState>,
    news: Notify,
}

struct JobState {
    backlog: OutputBacklog,
    end: Option<(CommandEnd, Duration)>,
}

impl BackgroundJob {
    pub(super) fn new(id: String, command: &str, group: Arc<ProcessGroup>, options: &BashOptions) -> Self {
        let state = JobState {
            backlog: OutputBacklog::new(options.backlog_bytes),
            end: None,
        };
        Self {
            id,
            command: command.into(),
            started: Instant::now(),
            cancel: CancellationToken::new(),
            stopped: AtomicBool::new(false),
            group,
            sandbox: None,
            state: Mutex::new(state),
            news: Notify::new(),
        }
    }

    /// Notes what holds it.
    pub(super) fn held_by(self, sandbox: Option<CommandSandbox>) -> Self {
        Self { sandbox, ..self }
    }

    /// The sandbox that holds it, if any.
    pub(super) fn sandbox(&self) -> Option<&CommandSandbox> {
        self.sandbox.as_ref()
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn command(&self) -> &str {
        &self.command
    }

    /// Returns how it ended and after how long; `None` while it runs.
    pub(super) fn end(&self) -> Option<(CommandEnd, Duration)> {
        self.lock().end
    }

    pub(super) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    pub(super) fn push(&self, output: &str) {
        if !output.is_empty() {
            self.lock().backlog.push(output);
            self.news.notify_waiters();
        }
    }

    /// Takes the output since the last call, and the number of bytes before it that were lost.
    pub(super) fn take(&self) -> (String, u64) {
        self.lock().backlog.take()
    }

    /// Ends it, and waits until it is gone.
    pub(super) async fn kill(&self) {
        self.cancel.cancel();
        self.wait_for_end().await;
    }

    /// Waits for output or the end.
    pub(super) async fn news(&self) {
        self.wait_until(|state| state.end.is_some() || !state.backlog.is_empty())
            .await;
    }

    /// Waits until it is gone, for a bounded time, because some processes cannot be killed.
    pub(super) async fn wait_for_end(&self) {
        const PATIENCE: Duration = Duration::from_secs(2);
        let _ = tokio::time::timeout(PATIENCE, self.wait_until(|state| state.end.is_some())).await;
    }

    async fn wait_until(&self, done: impl Fn(&JobState) -> bool) {
        loop {
            let news = self.news.notified();
            if done(&self.lock()) {
                return;
            }
            news.await;
        }
    }

    pub(super) fn finish(&self, end: CommandEnd) {
        self.lock().end = Some((end, self.age()));
        self.news.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, JobState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
