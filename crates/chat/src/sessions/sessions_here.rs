//! The sessions of the folder that is here now. A session names its directory by path, and another folder may
//! have been at that path before: its sessions are about other files.
//!
//! Every command that selects a session of this directory without an id uses this module: to continue or
//! explain the latest one, or to serve sessions to other programs.

use std::path::PathBuf;

use agentx::config::{Settings, lying_since};
use agentx::runtime::{Runtime, RuntimeError, SessionInfo, SessionQuery};
use agentx::types::{RunStatus, SessionId, Timestamp};

use crate::error::ChatError;
use crate::render::clean::visible;
use crate::sessions::stored_sessions::wait_times;

/// The number of sessions among which the latest free one is looked for.
const LOOKED_AT: usize = 20;

/// Returns whether no other program writes the session.
fn is_free(session: &SessionInfo) -> bool {
    let writer = session.writer.as_ref();
    writer.is_none_or(|writer| writer.process == std::process::id())
}

/// Returns what keeps the run of a session from being over; `None` if it is over, or a program has it open.
fn unfinished(session: &SessionInfo) -> Option<&'static str> {
    let status = session.status.filter(|status| !status.is_final());
    match status.filter(|_| session.writer.is_none())? {
        RunStatus::AwaitingApproval => Some("has a question for you"),
        _ => Some("was cut off"),
    }
}

/// The folder that is here now, and since when.
#[derive(Clone, Debug)]
pub struct SessionsHere {
    workspace: PathBuf,
    /// `None` if no other folder was here before.
    since: Option<Timestamp>,
}

impl SessionsHere {
    /// Finds the folder at the directory of the settings, and remembers it.
    pub fn of(settings: &Settings) -> Self {
        Self {
            workspace: settings.workspace.clone(),
            since: lying_since(&settings.data_dir, &settings.workspace),
        }
    }

    /// Returns whether a session belongs to this folder.
    pub fn has(&self, session: &SessionInfo) -> bool {
        self.is_at_its_path(session) && !self.is_of_before(session)
    }

    /// Returns a note that a session belongs to the folder that was here before; `None` if it does not.
    pub fn belongs_to_another(&self, session: &SessionInfo) -> Option<String> {
        let is_another = self.is_at_its_path(session) && self.is_of_before(session);
        is_another.then(|| {
            format!(
                "the session {} belongs to another folder, which was at {} before",
                session.session_id,
                visible(&session.workspace)
            )
        })
    }

    /// The sessions of this folder, the latest first, at most `limit`.
    ///
    /// # Errors
    /// Returns an error if the runtime cannot read its sessions.
    pub async fn list(&self, runtime: &dyn Runtime, limit: usize) -> Result<Vec<SessionInfo>, RuntimeError> {
        // Those of the folder before changed last before this one came, so they are at the end.
        let mut found = self.at_this_path(runtime, limit).await?;
        found.retain(|session| self.has(session));
        Ok(found)
    }

    /// The latest session of this folder if it is open in another program, so that an earlier one was taken;
    /// `None` if that is the latest.
    pub(crate) async fn passed_over(&self, runtime: &dyn Runtime, taken: &SessionId) -> Option<SessionId> {
        let found = self.list(runtime, LOOKED_AT).await.ok()?;
        let at = found.iter().position(|session| session.session_id == *taken)?;
        let (later, _) = found.split_at(at);
        let latest = later.first().filter(|_| !later.iter().any(is_free))?;
        Some(latest.session_id.clone())
    }

    /// Returns a note about the latest session of this folder if its run is not over although no program has
    /// it open: it was killed, or its question waits.
    pub(crate) async fn note_of_unfinished(&self, runtime: &dyn Runtime) -> Option<String> {
        let latest = self.list(runtime, 1).await.ok()?.into_iter().next()?;
        let what = unfinished(&latest)?;
        // A session that waits for a time is continued when the time comes.
        let is_waiting = wait_times(runtime).await.get(&latest.session_id).is_some();
        (!is_waiting).then(|| format!("note: the last session here {what}: `agentx -c` continues it\n"))
    }

    /// The latest session of this folder that no other program has open; the latest if all are open. `helps`
    /// is a hint about the latest one if that belongs to the folder before.
    ///
    /// # Errors
    /// Returns an error if there is no session here, or it belongs to another folder.
    pub async fn latest(
        &self,
        runtime: &dyn Runtime,
        helps: impl FnOnce(&SessionId) -> String,
    ) -> Result<SessionId, ChatError> {
        let found = self.at_this_path(runtime, LOOKED_AT).await?;
        let is_meant = |session: &&SessionInfo| is_free(session) && self.has(session);
        let latest = found.iter().find(is_meant).or(found.first());
        let latest = latest.ok_or_else(|| ChatError::NoSession {
            workspace: self.workspace.to_string_lossy().into_owned(),
        })?;
        match self.belongs_to_another(latest) {
            Some(what) => Err(ChatError::usage(what, helps(&latest.session_id))),
            None => Ok(latest.session_id.clone()),
        }
    }

    fn is_at_its_path(&self, session: &SessionInfo) -> bool {
        *session.workspace == *self.workspace.to_string_lossy()
    }

    /// A session that was continued in this folder belongs to it.
    fn is_of_before(&self, session: &SessionInfo) -> bool {
        self.since.is_some_and(|since| session.updated_at < since)
    }

    async fn at_this_path(
        &self,
        runtime: &dyn Runtime,
        limit: usize,
    ) -> Result<Vec<SessionInfo>, RuntimeError> {
        let query = SessionQuery {
            owner: runtime.owner().clone(),
            workspace: Some(self.workspace.to_string_lossy().into_owned()),
            limit,
            before: None,
        };
        runtime.sessions(query).await
    }
}

#[cfg(test)]
mod tests {
    use agentx::runtime::WriterInfo;

    use super::*;

    #[test]
    fn a_session_whose_run_nobody_continues_is_told_apart() {
        let with = |status| SessionInfo::new("ses_1", "own_1", Timestamp(0)).with_status(status);
        for (status, told) in [
            (None, None),
            (Some(RunStatus::Completed), None),
            (Some(RunStatus::Interrupted), None),
            (Some(RunStatus::AwaitingTool), Some("was cut off")),
            (Some(RunStatus::AwaitingLlm), Some("was cut off")),
            (Some(RunStatus::AwaitingApproval), Some("has a question for you")),
        ] {
            assert_eq!(unfinished(&with(status)), told, "{status:?}");
        }
        let mut open = with(Some(RunStatus::AwaitingTool));
        open.writer = Some(WriterInfo { process: 7, epoch: 1 });
        assert_eq!(unfinished(&open), None, "another program continues it");
    }
}
