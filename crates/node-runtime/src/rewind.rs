//! Putting files back: the facts of the session, the disk of this machine, and a place to write down what
//! happened.
//!
//! A plan is made from the log alone and changes nothing. Putting back records `files_restoring` first, with
//! what it is about to do, then writes the files, then records `files_restored`. A program that dies between
//! the two leaves a record of what was begun, and the same wish can be given again: files that are back
//! already are left as they are.
//!
//! If the session is open in this program its driver writes the two facts. Else they are written here, which
//! needs the session's lease: nobody else can drive it meanwhile.

use std::sync::Arc;

use agentx_history::history_of;
use agentx_runtime::{
    BoxFuture, FactRecorder, OfflineWriter, RestorePlan, RestoreReport, RestoreRequest, RuntimeError,
    Session, SessionBlobs, SharingFact,
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
            EnvironmentEvent::FilesRestoring(restoring) => self.0.note(SharingFact::Restoring(restoring)),
            EnvironmentEvent::FilesRestored(restored) => self.0.note(SharingFact::Restored(restored)),
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
            // Before anything is read: nobody else writes the session from here on.
            _ => {
                Box::new(OfflineWriter::attach(self.shared_log(), session, self.driver.clock.clone()).await?)
            }
        };
        let history = history_of(self, session).await?;
        restore(&history, wish, &self.blobs_of(session), &*record).await
    }

    fn blobs_of(&self, session: &SessionId) -> SessionBlobs {
        SessionBlobs::new(self.shared_log(), session.clone())
    }
}
