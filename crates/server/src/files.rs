//! The files that an agent works on, for those who are elsewhere: the one that a call would change, before somebody decides about
//! it, and those that go back to how they were. Of the server's disk nobody learns or changes more than the agent could.

use std::path::Path;
use std::sync::Arc;

use agentx_node_runtime::Shown;
use agentx_runtime::{
    FileInQuestion, PlannedFile, RestorePlan, RestoreReport, RestoreWish, Runtime as _, RuntimeError, Session,
};
use agentx_types::{FileFailed, SessionId, ToolCallId};

use crate::control::whole;
use crate::hand::Hand;
use crate::state::{Access, Caller, ServerState};

/// Why a file with secrets stays as it is.
const GUARDED: &str = "it may hold secrets: only whoever runs the server puts it back";
/// Why a file stays as it is.
const OUTSIDE: &str = "it lies outside of the workspace: only whoever runs the server puts it back";

impl ServerState {
    /// The file that a call which waits for a decision would change, as it is now.
    ///
    /// # Errors
    /// Where no decision is awaited for this call.
    pub async fn file_in_question(
        &self,
        (caller, access): (&Caller, &Access),
        session: &SessionId,
        call: &ToolCallId,
    ) -> Result<FileInQuestion, RuntimeError> {
        let open = self.open_already(session).await;
        let shown = match caller.operator {
            true => Shown::All,
            false => Shown::ToTheAgent,
        };
        access.runtime.file_now(session, open, call, shown).await
    }

    /// What putting files back to how they were before an event would do.
    ///
    /// # Errors
    /// Where the session cannot be read.
    pub async fn plan_restore(
        &self,
        (caller, access): (&Caller, &Access),
        session: &SessionId,
        to_seq: u64,
    ) -> Result<RestorePlan, RuntimeError> {
        let mut plan = access.runtime.plan_restore(session, to_seq).await?;
        if !caller.operator {
            let open = self.open_already(session).await;
            let workspace = workspace(access, session, open).await?;
            for file in &mut plan.files {
                if let Some(why) = self.keeps(&workspace, &file.path) {
                    withhold(file, why);
                }
            }
        }
        Ok(plan)
    }

    /// Puts files back to how they were before an event, and puts that on record. Nothing may run meanwhile.
    ///
    /// # Errors
    /// Where the caller may not, or does not drive, something runs, or nothing can be put on record.
    pub async fn restore(
        self: &Arc<Self>,
        caller: &Caller,
        session: &SessionId,
        wish: RestoreWish,
        wheel_epoch: Option<u64>,
    ) -> Result<RestoreReport, RuntimeError> {
        let (state, caller, session) = (self.clone(), caller.clone(), session.clone());
        whole(async move {
            let hand = Hand::new(&state, &caller, &session).await?;
            let runtime = hand.access.runtime.clone();
            hand.drive(wheel_epoch, |open| async move {
                let now = open.state().await?;
                if now.run.is_some_and(|run| !run.status.is_final()) {
                    return Err(RuntimeError::Refused(
                        "the agent is at work; stop it first, then put files back".into(),
                    ));
                }
                let workspace = now.config.workspace;
                let kept = |path: &str| state.keeps(&workspace, path).filter(|_| !caller.operator);
                let (mine, others): (Vec<_>, Vec<_>) = wish
                    .files
                    .into_iter()
                    .partition(|file| kept(&file.path).is_none());
                let wish = RestoreWish {
                    to_seq: wish.to_seq,
                    files: mine,
                };
                let mut report = runtime.restore(&session, Some(open), wish).await?;
                let refused = others.into_iter().map(|file| FileFailed {
                    what: kept(&file.path).unwrap_or(OUTSIDE).into(),
                    path: file.path,
                });
                report.failed.extend(refused);
                Ok(report)
            })
            .await
        })
        .await
    }

    /// Why a file is not shown or put back for those who do not run the server.
    fn keeps(&self, workspace: &str, path: &str) -> Option<&'static str> {
        if !is_inside(workspace, path) {
            return Some(OUTSIDE);
        }
        self.settings().is_guarded(Path::new(path)).then_some(GUARDED)
    }

    /// The session, where somebody has opened it here.
    async fn open_already(&self, session: &SessionId) -> Option<Arc<dyn Session>> {
        let room = self.rooms().there(session).await?;
        room.session().cloned()
    }
}

async fn workspace(
    access: &Access,
    session: &SessionId,
    open: Option<Arc<dyn Session>>,
) -> Result<String, RuntimeError> {
    let state = match open {
        Some(open) => open.state().await?,
        None => access.runtime.state(session).await?,
    };
    Ok(state.config.workspace)
}

/// Whether a path, which has no links in it, lies in a workspace, which may be reached through one.
fn is_inside(workspace: &str, path: &str) -> bool {
    std::fs::canonicalize(workspace).is_ok_and(|root| Path::new(path).starts_with(root))
}

fn withhold(file: &mut PlannedFile, why: &str) {
    file.blocked = Some(why.into());
    file.seen = None;
    file.diff.clear();
    (file.added, file.removed) = (0, 0);
}
