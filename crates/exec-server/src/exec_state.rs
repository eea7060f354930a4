//! The state of a server that its requests share: its tools, its actions, and whether it works at all.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agentx_tools::Toolbox;
use agentx_types::SessionId;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use tokio_util::task::TaskTracker;

use crate::action_table::{ActionTable, TableLimits};
use crate::options::ExecServerOptions;
use crate::refusal::ExecRefusal;
use crate::session_records;

/// The time to wait for actions that were cancelled.
const ENDING: Duration = Duration::from_secs(10);

/// Whether a server works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExecPhase {
    /// The server performs actions.
    Active,
    /// The server takes no new actions until it is active again. Running commands continue.
    Paused,
    /// Its workspace is gone for good.
    Deleted,
}

/// The state of a server.
pub(crate) struct ExecState {
    pub(crate) options: ExecServerOptions,
    pub(crate) toolbox: Toolbox,
    pub(crate) actions: ActionTable,
    /// The actions that run, which end although their requests are cut off.
    pub(crate) tasks: TaskTracker,
    /// Tells this process from its successors, which do not know its actions.
    pub(crate) instance: String,
    activity: Mutex<ExecActivity>,
    began: Instant,
}

struct ExecActivity {
    phase: ExecPhase,
    last: Instant,
    /// The sessions that have used it, which may have left something running.
    sessions: BTreeSet<SessionId>,
}

impl ExecState {
    pub(crate) fn new(options: ExecServerOptions) -> Self {
        let limits = TableLimits {
            running: options.at_once,
            results: options.kept_results,
            bytes: options.kept_bytes,
        };
        let now = Instant::now();
        Self {
            toolbox: Toolbox::builtin(options.tools.clone()),
            actions: ActionTable::new(limits),
            tasks: TaskTracker::new(),
            instance: random_name(),
            activity: Mutex::new(ExecActivity {
                phase: ExecPhase::Active,
                last: now,
                sessions: BTreeSet::new(),
            }),
            began: now,
            options,
        }
    }

    /// The session of requests that name none: those of OpenHands' clients, of which a server has one.
    pub(crate) fn own_session() -> SessionId {
        SessionId::new("ses_exec")
    }

    /// Returns whether the server works. A workspace that was removed counts as deleted.
    pub(crate) fn phase(&self) -> ExecPhase {
        let phase = self.lock().phase;
        if phase == ExecPhase::Active && !self.options.directory.is_dir() {
            return ExecPhase::Deleted;
        }
        phase
    }

    /// Sets the phase. A deleted server stays deleted.
    pub(crate) fn set_phase(&self, phase: ExecPhase) -> ExecPhase {
        let mut activity = self.lock();
        if activity.phase != ExecPhase::Deleted {
            activity.phase = phase;
        }
        activity.phase
    }

    /// Checks that the server works.
    pub(crate) fn check_works(&self) -> Result<(), ExecRefusal> {
        match self.phase() {
            ExecPhase::Active => Ok(()),
            ExecPhase::Paused => Err(ExecRefusal::new(
                StatusCode::LOCKED,
                "paused",
                "this exec server is paused; nothing was done",
            )),
            ExecPhase::Deleted => Err(ExecRefusal::new(
                StatusCode::GONE,
                "deleted",
                "the workspace of this exec server was deleted; nothing was done",
            )),
        }
    }

    /// Notes that a session uses this server.
    pub(crate) fn note_session(&self, session: &SessionId) {
        if self.lock().sessions.insert(session.clone())
            && let Some(records) = &self.options.records
            && let Err(error) = session_records::add(records, session)
        {
            tracing::warn!(%error, "the session is not recorded");
        }
    }

    /// Ends the commands that a killed server left running.
    pub(crate) async fn end_left_running(&self) {
        let Some(records) = &self.options.records else {
            return;
        };
        for session in session_records::read(records) {
            if self.toolbox.may_have_left(&session) {
                let ended = self.toolbox.end_left_running(&session, &[]).await;
                tracing::info!(%session, programs = ended.len(), "ended what a killed server left running");
            }
        }
    }

    /// Cancels all actions, waits for their end, and ends everything that they left running.
    pub(crate) async fn end_all(&self) {
        self.actions.cancel_all();
        self.tasks.close();
        // Actions end within their own limits.
        let _ = tokio::time::timeout(ENDING, self.tasks.wait()).await;
        self.tasks.reopen();
        let sessions = std::mem::take(&mut self.lock().sessions);
        for session in &sessions {
            self.toolbox.shutdown(session).await;
        }
    }

    /// Notes an action.
    pub(crate) fn note_request(&self) {
        self.lock().last = Instant::now();
    }

    /// Returns the time since the server began, and since the last action.
    pub(crate) fn times(&self) -> (Duration, Duration) {
        (self.began.elapsed(), self.lock().last.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, ExecActivity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a name that no other process has.
pub(crate) fn random_name() -> String {
    let mut bytes = [0; 16];
    // Without random numbers of the system, the time is different for each process.
    if getrandom::fill(&mut bytes).is_err() {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        bytes = (now.as_nanos() ^ u128::from(std::process::id())).to_le_bytes();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
