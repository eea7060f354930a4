//! Jobs: commands that continue after their call has ended. Each session has its own, a bounded number of
//! them, and all end with it.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentx_runtime::ToolOutputSink;
use agentx_types::SessionId;

use super::background_job::BackgroundJob;
use super::command_end::CommandEnd;
use super::command_report::{CommandReport, LeftProcesses, seconds};
use super::pump::OutputDestination;
use super::running_command::RunningCommand;
use crate::bash::options::BashOptions;
use crate::failure::ToolFailure;
use crate::text;

/// Maximum number of bytes of a command line to show when it ends.
const SHOWN_COMMAND: usize = 200;

/// The jobs of all sessions.
#[derive(Clone)]
pub(crate) struct JobTable {
    table: Arc<JobTableState>,
}

struct JobTableState {
    options: BashOptions,
    sessions: Mutex<HashMap<SessionId, SessionJobs>>,
}

#[derive(Default)]
struct SessionJobs {
    last: u64,
    jobs: Vec<Arc<BackgroundJob>>,
}

impl SessionJobs {
    fn running(&self) -> usize {
        self.jobs.iter().filter(|job| job.end().is_none()).count()
    }

    /// Forgets the oldest jobs that have ended, so that the list stays short.
    fn forget(&mut self, most: usize) {
        while self.jobs.len() >= 2 * most.max(1) {
            let Some(at) = self.jobs.iter().position(|job| job.end().is_some()) else {
                return;
            };
            self.jobs.remove(at);
        }
    }
}

impl JobTable {
    pub(crate) fn new(options: BashOptions) -> Self {
        Self {
            table: Arc::new(JobTableState {
                options,
                sessions: Mutex::default(),
            }),
        }
    }

    pub(crate) fn options(&self) -> &BashOptions {
        &self.table.options
    }

    /// Whether the session may have one more.
    pub(super) fn check_room(&self, session: &SessionId) -> Result<(), ToolFailure> {
        let most = self.table.options.max_jobs;
        let running = self.table.lock().get(session).map_or(0, SessionJobs::running);
        if running < most {
            return Ok(());
        }
        Err(ToolFailure::failed(format!(
            "{running} jobs run already, and {most} are allowed; kill one with job first."
        )))
    }

    /// Continues a command as a job.
    pub(super) fn adopt(
        &self,
        session: &SessionId,
        command: &str,
        mut running: RunningCommand,
        (timeout, sink): (Option<Duration>, ToolOutputSink),
    ) -> Result<Arc<BackgroundJob>, ToolFailure> {
        // A command that is refused here is killed when it is dropped.
        self.check_room(session)?;
        let mut sessions = self.table.lock();
        let own = sessions.entry(session.clone()).or_default();
        own.forget(self.table.options.max_jobs);
        own.last += 1;
        let id = format!("job_{}", own.last);
        let job = BackgroundJob::new(id, command, running.group(), &self.table.options);
        let job = Arc::new(job.held_by(running.sandbox()));
        own.jobs.push(Arc::clone(&job));
        drop(sessions);
        running.record(OutputDestination::Job(Arc::clone(&job)));
        tokio::spawn(attend(running, Arc::clone(&job), timeout, sink));
        Ok(job)
    }

    pub(super) fn find(&self, session: &SessionId, id: &str) -> Option<Arc<BackgroundJob>> {
        self.table
            .lock()
            .get(session)?
            .jobs
            .iter()
            .find(|job| job.id() == id)
            .cloned()
    }

    pub(super) fn list(&self, session: &SessionId) -> Vec<Arc<BackgroundJob>> {
        self.table
            .lock()
            .get(session)
            .map(|own| own.jobs.clone())
            .unwrap_or_default()
    }

    /// Ends a job on request of the person; the session is notified. Returns whether it ran.
    pub(crate) async fn stop(&self, session: &SessionId, id: &str) -> bool {
        let Some(job) = self.find(session, id).filter(|job| job.end().is_none()) else {
            return false;
        };
        job.stopped.store(true, Ordering::Relaxed);
        job.kill().await;
        true
    }

    /// Ends all jobs of a session, and waits until they are gone.
    pub(crate) async fn shutdown(&self, session: &SessionId) {
        let own = self.table.lock().remove(session).unwrap_or_default();
        for job in &own.jobs {
            job.cancel.cancel();
        }
        for job in &own.jobs {
            job.wait_for_end().await;
        }
    }
}

impl JobTableState {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, SessionJobs>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for JobTableState {
    fn drop(&mut self) {
        for job in self.lock().values().flat_map(|own| &own.jobs) {
            if job.end().is_none() {
                job.cancel.cancel();
                job.group.kill_once(&[]);
            }
        }
    }
}

/// Reads the output of a job until it ends.
async fn attend(
    mut running: RunningCommand,
    job: Arc<BackgroundJob>,
    timeout: Option<Duration>,
    sink: ToolOutputSink,
) {
    let end = running.run(&job.cancel, timeout).await;
    let end = running.attend(&job.cancel, end).await;
    job.finish(end);
    let is_stopped = job.stopped.load(Ordering::Relaxed);
    if end == CommandEnd::Interrupted && !is_stopped {
        // The caller that ended it knows.
        return;
    }
    let report = CommandReport {
        end,
        duration: job.age(),
        limit: timeout,
        rest: LeftProcesses::None,
        sandbox: None,
    };
    let command = text::cut_line(job.command(), SHOWN_COMMAND).to_string();
    let how = match end {
        CommandEnd::Interrupted => format!("ended by the person, {}", seconds(job.age())),
        _ => report.sentence(0),
    };
    sink.job_ended(job.id(), command, how).await;
}
