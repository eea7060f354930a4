//! The interface of this process's runtime for front ends.
//!
//! Each method checks first that the session belongs to the runtime's owner: another owner's session does not
//! exist here ([`LogError::NotFound`]). Then it either reads the log, which needs no lease and works while
//! another process drives the session, or is one of these:
//!
//! | method | needs the session closed | writes |
//! | --- | --- | --- |
//! | `open`, `open_named` | yes: it takes the lease | `session_opened` or `writer_attached` |
//! | `rename` | yes | `session_titled` |
//! | `redact` | yes, and all that share its events | facts anew, `session_redacted` |
//! | `restore` | yes, or the open session as `open` | `files_restoring`, `files_restored` |
//! | `delete` | yes | `session_closed`, then the rows are removed |
//! | `fork` | no | a new log that begins with its parent's events |
//! | `import` | no, the session must be new | all of its rows |
//!
//! A method that needs the lease and does not get it fails with [`LogError::Busy`].

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx_history::import;
use agentx_runtime::{
    AgentInfo, BoxFuture, ContextView, EventsHash, FactRecorder as _, FileChangePreview, LogError, ModelInfo,
    NamedAgent, OpenRequest, ReactorInfo, RedactionReport, Redactor, ReplayReport, RestorePlan,
    RestoreReport, RestoreRequest, Runtime, RuntimeError, SearchHit, SecretSet, Session, SessionExport,
    SessionInfo, SessionQuery, SessionWaits, StoredSize, Subscription, UsageQuery, UsageRow, VerifyReport,
    View, check_title, has_blob, redact_session, watch_log,
};
use agentx_types::{
    AgentConfig, BlobId, LeftRunning, OwnerId, SessionId, SessionTitled, ToolCallId, ToolSpec,
};

use crate::node::NodeRuntime;
use crate::preview_links::DiskPreview;
use crate::replay;

impl Runtime for NodeRuntime {
    fn owner(&self) -> &OwnerId {
        &self.owner
    }

    fn open(&self, request: OpenRequest) -> BoxFuture<'_, Result<Arc<dyn Session>, RuntimeError>> {
        Box::pin(self.open_any(request))
    }

    fn open_named(&self, agent: NamedAgent) -> BoxFuture<'_, Result<Arc<dyn Session>, RuntimeError>> {
        Box::pin(async move {
            let config = self.resolve_agent(&agent)?;
            self.open_any(OpenRequest::New(Box::new(config))).await
        })
    }

    fn watch(
        &self,
        session: &SessionId,
        after_seq: u64,
        view: View,
        follow: bool,
    ) -> BoxFuture<'_, Result<Subscription, RuntimeError>> {
        let session = session.clone();
        Box::pin(async move {
            self.owned(&session).await?;
            Ok(watch_log(
                self.driver.log.clone(),
                session,
                after_seq,
                view,
                follow,
            ))
        })
    }

    fn sessions(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionInfo>, RuntimeError>> {
        Box::pin(self.list(query))
    }

    fn waits(&self) -> BoxFuture<'_, Result<Vec<SessionWaits>, RuntimeError>> {
        Box::pin(self.waiting_until())
    }

    fn info(&self, session: &SessionId) -> BoxFuture<'_, Result<SessionInfo, RuntimeError>> {
        let session = session.clone();
        Box::pin(async move { self.owned(&session).await })
    }

    fn resolve(&self, prefix: &str) -> BoxFuture<'_, Result<SessionId, RuntimeError>> {
        let prefix = prefix.to_owned();
        Box::pin(async move { self.resolve_prefix(&prefix).await })
    }

    fn fork(
        &self,
        session: &SessionId,
        at_seq: Option<u64>,
    ) -> BoxFuture<'_, Result<SessionId, RuntimeError>> {
        let session = session.clone();
        Box::pin(async move { self.make_fork(&session, at_seq).await })
    }

    fn left_running(&self, session: &SessionId) -> BoxFuture<'_, Result<Vec<LeftRunning>, RuntimeError>> {
        let session = session.clone();
        Box::pin(async move {
            self.owned(&session).await?;
            let open = self.calls_under_way(&session);
            self.tools.left_running(&session, open).await
        })
    }

    fn stop_job(&self, session: &SessionId, job: &str) -> BoxFuture<'_, Result<bool, RuntimeError>> {
        let (session, job) = (session.clone(), job.to_owned());
        Box::pin(async move {
            self.owned(&session).await?;
            Ok(self.tools.stop_job(&session, &job).await)
        })
    }

    fn delete(&self, session: &SessionId) -> BoxFuture<'_, Result<(), RuntimeError>> {
        let session = session.clone();
        Box::pin(async move {
            self.owned(&session).await?;
            let open = self.calls_to_end(&session);
            let left = self
                .tools
                .left_running(&session, async { Ok::<_, RuntimeError>(open.await) });
            let open = if left.await?.is_empty() {
                None
            } else {
                Some(self.calls_to_end(&session).await)
            };
            self.record_closed(&session).await?;
            self.log().delete(&session).await?;
            if let Some(open) = open {
                // Nobody will open the session again to end them.
                self.tools.end_left_running(&session, &open).await;
            }
            // Deleted data must be gone, not only hidden.
            self.log().collect_garbage().await?;
            Ok(())
        })
    }

    fn rename(&self, session: &SessionId, title: String) -> BoxFuture<'_, Result<(), RuntimeError>> {
        let session = session.clone();
        Box::pin(async move {
            self.owned(&session).await?;
            check_title(&title)?;
            let jotter = self.offline_writer(&session).await?;
            jotter
                .record(SessionTitled { title, by: None }.into())
                .await
                .map(drop)
        })
    }

    fn blob(&self, session: &SessionId, blob: &BlobId) -> BoxFuture<'_, Result<Vec<u8>, RuntimeError>> {
        let (session, blob) = (session.clone(), blob.clone());
        Box::pin(async move {
            self.owned(&session).await?;
            if !has_blob(self.log(), &session, &blob).await? {
                return Err(LogError::NoBlob(blob).into());
            }
            Ok(self.log().get_blob(&blob, 0..u64::MAX).await?)
        })
    }

    fn preview_file_change(
        &self,
        session: &SessionId,
        open: Option<Arc<dyn Session>>,
        call: &ToolCallId,
    ) -> BoxFuture<'_, Result<FileChangePreview, RuntimeError>> {
        let (session, call) = (session.clone(), call.clone());
        Box::pin(async move { self.file_now(&session, open, &call, DiskPreview::All).await })
    }

    fn plan_restore(
        &self,
        session: &SessionId,
        to_seq: u64,
    ) -> BoxFuture<'_, Result<RestorePlan, RuntimeError>> {
        let session = session.clone();
        Box::pin(async move { self.plan_files(&session, to_seq).await })
    }

    fn restore(
        &self,
        session: &SessionId,
        open: Option<Arc<dyn Session>>,
        wish: RestoreRequest,
    ) -> BoxFuture<'_, Result<RestoreReport, RuntimeError>> {
        let session = session.clone();
        Box::pin(async move { self.restore_files(&session, open, &wish).await })
    }

    fn import(&self, export: SessionExport) -> BoxFuture<'_, Result<VerifyReport, RuntimeError>> {
        Box::pin(import(self.log(), &self.owner, export, self.driver.clock.now()))
    }

    fn usage(&self, query: UsageQuery) -> BoxFuture<'_, Result<Vec<UsageRow>, RuntimeError>> {
        let owner = self.owner.clone();
        Box::pin(async move { Ok(self.log().usage(UsageQuery { owner, ..query }).await?) })
    }

    fn stored(&self, session: Option<&SessionId>) -> BoxFuture<'_, Result<Option<StoredSize>, RuntimeError>> {
        let session = session.cloned();
        Box::pin(async move {
            if let Some(session) = &session {
                self.owned(session).await?;
            }
            let mut stored = self.log().stored(&self.owner, session.as_ref()).await?;
            if session.is_none() {
                let (kept, owner) = (self.kept_bytes.clone(), self.owner.clone());
                let kept = tokio::task::spawn_blocking(move || kept(&owner)).await;
                let kept = kept.unwrap_or_else(|lost| Err(lost.to_string()));
                stored.kept_bytes = kept.map_err(RuntimeError::Refused)?;
            }
            Ok(Some(stored))
        })
    }

    fn blobs(
        &self,
        session: Option<&SessionId>,
    ) -> BoxFuture<'_, Result<BTreeMap<BlobId, u64>, RuntimeError>> {
        let session = session.cloned();
        Box::pin(async move {
            if let Some(session) = &session {
                self.owned(session).await?;
            }
            Ok(self.log().blobs(&self.owner, session.as_ref()).await?)
        })
    }

    fn collect_garbage(&self) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(async move { Ok(self.log().collect_garbage().await?) })
    }

    fn verify(&self, session: &SessionId) -> BoxFuture<'_, Result<VerifyReport, RuntimeError>> {
        let session = session.clone();
        Box::pin(async move {
            match self.owned(&session).await?.last_seq {
                0 => Err(LogError::NotFound(session.to_string()).into()),
                _ => Ok(self.log().verify(&session).await?),
            }
        })
    }

    fn hash_at(
        &self,
        session: &SessionId,
        seq: u64,
    ) -> BoxFuture<'_, Result<Option<EventsHash>, RuntimeError>> {
        let session = session.clone();
        Box::pin(async move {
            self.owned(&session).await?;
            Ok(self.log().hash_at(&session, seq).await?)
        })
    }

    fn redact(
        &self,
        session: &SessionId,
        redactor: Redactor,
    ) -> BoxFuture<'_, Result<RedactionReport, RuntimeError>> {
        let session = session.clone();
        Box::pin(async move {
            self.owned(&session).await?;
            redact_session(self.log(), &session, &redactor, &*self.driver.clock).await
        })
    }

    fn learn_secrets(&self, secrets: &SecretSet) -> bool {
        let redactor = self.redactor();
        redactor.inspect(|redactor| redactor.learn(secrets)).is_some()
    }

    fn replay(&self, session: &SessionId) -> BoxFuture<'_, Result<ReplayReport, RuntimeError>> {
        let session = session.clone();
        Box::pin(async move {
            self.owned(&session).await?;
            replay::replay(self.log(), &session).await
        })
    }

    fn context(
        &self,
        session: &SessionId,
        at_seq: Option<u64>,
    ) -> BoxFuture<'_, Result<ContextView, RuntimeError>> {
        let session = session.clone();
        Box::pin(async move { self.context_at(&session, at_seq).await })
    }

    fn search(&self, words: &str, limit: usize) -> BoxFuture<'_, Result<Vec<SearchHit>, RuntimeError>> {
        let words = words.to_owned();
        Box::pin(async move { Ok(self.log().search(&self.owner, &words, limit).await?) })
    }

    /// A key that is missing in the configuration is not needed if an attached environment has its own.
    fn models(&self) -> Vec<ModelInfo> {
        let attached = self.attached_providers();
        let mut models = self.models.clone();
        for info in models
            .iter_mut()
            .filter(|info| attached.contains(&info.spec.provider))
        {
            info.missing = None;
        }
        models
    }

    fn tools(&self) -> Vec<ToolSpec> {
        self.driver.tools.now().to_vec()
    }

    fn reactors(&self) -> BoxFuture<'_, Result<Vec<ReactorInfo>, RuntimeError>> {
        Box::pin(std::future::ready(Ok(Self::reactors(self))))
    }

    fn agents(&self) -> BoxFuture<'_, Result<Vec<AgentInfo>, RuntimeError>> {
        Box::pin(std::future::ready(Ok(self.agents.list())))
    }

    fn agent(&self, wanted: &NamedAgent) -> BoxFuture<'_, Result<AgentConfig, RuntimeError>> {
        Box::pin(std::future::ready(self.resolve_agent(wanted)))
    }
}
