//! Restoring files: from the facts of the session, on the disk of this machine, recorded in the log.
//!
//! A plan is made from the log alone and changes nothing. A restore first records `files_restoring` with its
//! plan, then writes the files, then records `files_restored`. A program that dies between the two leaves the
//! plan on record, and the same request can be repeated: files that are already restored do not change.
//!
//! If the session is open in this program, its driver writes the two facts. Otherwise they are written here
//! under the session's lease, so that no other process can drive it at the same time.

use std::sync::Arc;

use agentx_history::history_of;
use agentx_runtime::{
    BoxFuture, FactRecorder, RestorePlan, RestoreReport, RestoreRequest, RuntimeError, Session, SessionBlobs,
    SharingFact,
};
use agentx_tools::{plan_restore, restore};
use agentx_types::{EnvironmentEvent, SessionId};

use crate::node::NodeRuntime;

/// A session that is open in this program.
struct OpenedHere(Arc<dyn Session>);

impl FactRecorder for OpenedHere {
    /// Has the session's driver write the fact. It knows only the two that restoring makes.
    fn record(&self, event: EnvironmentEvent) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        match event {
            EnvironmentEvent::FilesRestoring(restoring) => {
                self.0.record_sharing(SharingFact::Restoring(restoring))
            }
            EnvironmentEvent::FilesRestored(restored) => {
                self.0.record_sharing(SharingFact::Restored(restored))
            }
            _ => Box::pin(std::future::ready(Err(RuntimeError::Refused(
                "only what became of files is put on record so".into(),
            )))),
        }
    }
}

impl NodeRuntime {
    pub(crate) async fn plan_files(
        &self,
        session: &SessionId,
        to_seq: u64,
    ) -> Result<RestorePlan, RuntimeError> {
        self.owned(session).await?;
        let history = history_of(self, session).await?;
        plan_restore(session, &history, to_seq, &self.blobs_of(session)).await
    }

    pub(crate) async fn restore_files(
        &self,
        session: &SessionId,
        open: Option<Arc<dyn Session>>,
        wish: &RestoreRequest,
    ) -> Result<RestoreReport, RuntimeError> {
        self.owned(session).await?;
        let record: Box<dyn FactRecorder> = match open {
            Some(open) if open.id() == session => Box::new(OpenedHere(open)),
            // Take the lease before reading anything, so that no other process writes the session from now
            // on.
            _ => Box::new(self.offline_writer(session).await?),
        };
        let history = history_of(self, session).await?;
        restore(&history, wish, &self.blobs_of(session), &*record).await
    }

    fn blobs_of(&self, session: &SessionId) -> SessionBlobs {
        SessionBlobs::new(self.shared_log(), session.clone())
    }
}
