//! The shells of all sessions: one for each agent of a session, at most [`MOST`] of them, which end with the
//! session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentx_runtime::ToolContext;
use agentx_types::{AgentStateId, OutputChannel, SessionId};
use tokio::sync::OwnedMutexGuard;

use super::running_shell::RunningShell;
use super::shell_report::{ShellReport, ShellState};
use crate::bash::capture::Capture;
use crate::bash::command::Shell;
use crate::bash::events::OutputEvents;
use crate::bash::options::BashOptions;
use crate::failure::ToolFailure;

/// Shells of a session, at most. Another agent's new shell ends the one that was used least recently.
const MOST: usize = 8;
/// The time after which output that ends inside of a line, like a question, is shown.
const QUESTION: Duration = Duration::from_millis(400);

/// A shell, or the place for one. One call at a time has it.
type ShellSlot = Arc<tokio::sync::Mutex<Option<RunningShell>>>;

/// The shells of all sessions. Clones share them.
#[derive(Clone)]
pub(crate) struct LastingShells {
    inner: Arc<ShellsInner>,
}

struct ShellsInner {
    options: BashOptions,
    program: Shell,
    sessions: Mutex<HashMap<SessionId, Vec<AgentShell>>>,
}

/// The shell of an agent; the one that was used last stands at the end of its list.
struct AgentShell {
    agent: Option<AgentStateId>,
    slot: ShellSlot,
}

impl LastingShells {
    pub(crate) fn new(options: BashOptions) -> Self {
        Self {
            inner: Arc::new(ShellsInner {
                options,
                program: Shell::find(),
                sessions: Mutex::default(),
            }),
        }
    }

    pub(super) fn options(&self) -> &BashOptions {
        &self.inner.options
    }

    /// Waits until no other call has the shell of this agent.
    pub(super) async fn take(
        &self,
        context: &ToolContext,
    ) -> Result<OwnedMutexGuard<Option<RunningShell>>, ToolFailure> {
        let slot = self.slot(context);
        let mut shell = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Err(ToolFailure::interrupted()),
            shell = slot.lock_owned() => shell,
        };
        if shell.as_ref().is_some_and(|shell| shell.screen.is_over()) {
            *shell = None;
        }
        Ok(shell)
    }

    fn slot(&self, context: &ToolContext) -> ShellSlot {
        let agent = context.journal.agent_state_id().cloned();
        let mut sessions = self.inner.lock();
        let shells = sessions.entry(context.session_id.clone()).or_default();
        let own = match shells.iter().position(|shell| shell.agent == agent) {
            Some(at) => shells.remove(at),
            None => AgentShell {
                agent,
                slot: ShellSlot::default(),
            },
        };
        if shells.len() >= MOST {
            // Dropping it ends it, unless a call has it: then it ends with that call.
            shells.remove(0);
        }
        let slot = Arc::clone(&own.slot);
        shells.push(own);
        slot
    }

    /// Starts the shell of this agent with these `options` of a call if it does not run.
    pub(super) async fn started<'a>(
        &self,
        slot: &'a mut Option<RunningShell>,
        options: &BashOptions,
        context: &ToolContext,
    ) -> Result<&'a mut RunningShell, ToolFailure> {
        let shell = match slot.take() {
            Some(shell) => shell,
            None => RunningShell::start(&self.inner.program, options, context).await?,
        };
        Ok(slot.insert(shell))
    }

    /// Watches the shell until its command has ended, asks something, or `wait` is over.
    pub(super) async fn watch(
        &self,
        shell: &RunningShell,
        context: &ToolContext,
        wait: Duration,
    ) -> ShellReport {
        let options = self.options();
        let began = tokio::time::Instant::now();
        let end = began + wait;
        let mut capture = Capture::new(options);
        let mut events = OutputEvents::new(context.output.clone(), options);
        let mut lost = 0;
        // The time of the last output, if there was any during this call.
        let mut last = None;
        let state = loop {
            let news = shell.screen.take();
            lost += news.lost;
            if !news.output.is_empty() {
                last = Some(tokio::time::Instant::now());
                capture.push(&news.output);
                events.push(OutputChannel::Stdout, &news.output);
            }
            match (news.end, news.prompt) {
                (Some(end), _) => break ShellState::Over(end),
                (None, Some(prompt)) => break ShellState::Ready(prompt),
                (None, None) => {}
            }
            if events.is_full() {
                events.flush().await;
            }
            let asks = last.filter(|_| news.in_line).map(|last| last + QUESTION);
            let quiet = asks.unwrap_or(end).min(end);
            let flush = events.due().unwrap_or(end);
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => break ShellState::Interrupted,
                () = shell.screen.news() => {}
                () = tokio::time::sleep_until(flush.min(quiet)) => {
                    events.flush().await;
                    if tokio::time::Instant::now() >= quiet {
                        break ShellState::Busy;
                    }
                }
            }
        };
        events.flush().await;
        ShellReport {
            state,
            capture,
            lost,
            waited: began.elapsed(),
        }
    }

    /// Ends the shells of a session, and waits until they are gone.
    pub(crate) async fn shutdown(&self, session: &SessionId) {
        let shells = self.inner.lock().remove(session).unwrap_or_default();
        for AgentShell { slot, .. } in shells {
            // A call that has it was cancelled before its session ends.
            if let Some(shell) = slot.lock().await.take() {
                shell.stop().await;
            }
        }
    }
}

impl ShellsInner {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Vec<AgentShell>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
