//! A session that this process writes, as front ends see it.
//!
//! Every method is a message to the driver of the session and its answer: a [`FactRequest`] that becomes a
//! fact, or a question about the fold. A method that returns a `seq` returns when that event is committed.
//! Work that takes time or may fail on its own (media, a message that is sent again) is done here before the
//! request to the driver, so that the driver never waits for it.

use std::sync::{Arc, Mutex, PoisonError};

use agentx_types::{
    AccessChanged, Approval, BlobId, CommandRan, CondenseRequested, ConfigChange, ConfigChanged, ContentPart,
    EnvironmentEvent, FilesRestoring, InputMode, InputPinned, InputRevised, InterruptRequested, MediaSource,
    MessageId, OwnerId, SessionId, SessionTitled,
};
use tokio::sync::oneshot;

use crate::answer_schema::check_answer_schema;
use crate::api::{ApprovalInput, ContextRequest, RequestKey, RuntimeError, Session, Subscription, UserInput};
use crate::commands::DriverStatus;
use crate::commands::{FactRequest, ReplySender, SessionCommand};
use crate::follow::{self, LiveSource};
use crate::future::BoxFuture;
use crate::log::blobs::has_blob;
use crate::log::titles::check_title;
use crate::log_error::LogError;
use crate::redaction::redact_input;
use crate::session::duplicate_message::{decoded, is_same, media_of};
use crate::session::picture_support::{cannot_see, do_not_fit};
use crate::system_events::AgentEventBus;
use agentx_session::{SessionState, SharingFact, View, WaitingInputs};

/// A session that this process writes: a handle. The session is closed when the last handle and the last
/// subscription on it are gone.
pub struct LocalSession {
    /// Its driver, its log and its events.
    live: LiveSource,
    /// The bus for events of its agents inside their own boundaries.
    agents: AgentEventBus,
    /// The person who acts through this handle, if that is not the owner of the session: every fact that they
    /// cause names them.
    by: Option<OwnerId>,
    /// The key of the request that this handle was made for, until a fact is recorded with it.
    key: Mutex<Option<RequestKey>>,
}

impl LocalSession {
    /// A handle on a session with a running driver.
    pub(crate) fn new(live: LiveSource, agents: AgentEventBus) -> Self {
        Self {
            live,
            agents,
            by: None,
            key: Mutex::default(),
        }
    }

    /// Sends a request to the driver and waits for its answer. It also waits while 64 requests are queued.
    ///
    /// # Errors
    /// Returns an error if the session is closed, or ends before it answers.
    async fn ask<T>(
        &self,
        command: impl FnOnce(ReplySender<T>) -> SessionCommand,
    ) -> Result<T, RuntimeError> {
        let (reply, answer) = oneshot::channel();
        let sent = self.live.commands.send(command(reply)).await.is_ok();
        match answer.await {
            Ok(answer) if sent => answer,
            _ => Err(self.closed_error()),
        }
    }

    /// Records a request. Returns the `seq` of the event once it is committed.
    async fn record(&self, request: FactRequest) -> Result<u64, RuntimeError> {
        let request = Box::new(request);
        let key = self.key.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.ask(|reply| SessionCommand::Record { request, key, reply })
            .await
    }

    /// The reason why the driver no longer answers.
    fn closed_error(&self) -> RuntimeError {
        match &*self.live.status.borrow() {
            DriverStatus::Failed(error) => error.clone().into(),
            DriverStatus::Open | DriverStatus::Closed => RuntimeError::Gone {
                session: self.live.session.clone(),
                why: "it was closed".into(),
            },
        }
    }

    /// Moves media inside the message into the blob store. All of them are checked before any of them is
    /// stored.
    async fn store_media(&self, mut content: Vec<ContentPart>) -> Result<Vec<ContentPart>, RuntimeError> {
        let mut inside = Vec::new();
        for (place, part) in content.iter().enumerate() {
            let Some(media) = media_of(part) else { continue };
            match &media.source {
                MediaSource::Base64(text) => inside.push((place, decoded(media, text)?)),
                MediaSource::Blob(blob) => self.check_blob(blob).await?,
                MediaSource::Url(_) => {}
            }
        }
        for (place, bytes) in inside {
            let blob = self.live.log.put_blob(bytes).await?;
            if let Some(ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media)) =
                content.get_mut(place)
            {
                media.source = MediaSource::Blob(blob);
            }
        }
        Ok(content)
    }

    /// Refuses pictures that the model cannot read, or that no request holds: once recorded, each later call
    /// would send them, or leave some of them out.
    async fn check_sight(&self, content: &[ContentPart]) -> Result<(), RuntimeError> {
        if !content.iter().any(|part| matches!(part, ContentPart::Image(_))) {
            return Ok(());
        }
        let config = self.state().await?.config;
        match cannot_see(&config, content, &[]).or_else(|| do_not_fit(&config, content)) {
            Some(why) => Err(RuntimeError::Refused(format!("{why}; nothing was sent"))),
            None => Ok(()),
        }
    }

    /// The `seq` of the input that came with this key.
    async fn seq_of(&self, key: Option<&str>) -> Result<Option<u64>, RuntimeError> {
        let Some(key) = key.map(str::to_owned) else {
            return Ok(None);
        };
        self.ask(|reply| SessionCommand::Known { key, reply }).await
    }

    /// Checks that the input at `seq` is this one with this content: a key identifies one message.
    ///
    /// # Errors
    /// Returns the error `key_reused` if that input has other content, another mode or another schema of its
    /// answer.
    async fn check_same(
        &self,
        seq: u64,
        input: &UserInput,
        content: &[ContentPart],
    ) -> Result<(), RuntimeError> {
        let log = self.live.log.as_ref();
        let facts = log.read(&self.live.session, seq.saturating_sub(1), 1).await?;
        let before = match facts.first().map(|fact| &fact.event) {
            Some(EnvironmentEvent::UserMessage(before)) => before,
            _ => return Ok(()),
        };
        let has_same_terms = before.mode == input.mode && before.answer_schema == input.answer_schema;
        if has_same_terms && is_same(log, &before.content, content).await? {
            return Ok(());
        }
        Err(RuntimeError::key_reused(&format!(
            "the message at event {seq} has the same idempotency key but different content, mode or schema"
        )))
    }

    /// Checks that the session has this blob already: a message must not show the model a blob of another
    /// session.
    async fn check_blob(&self, blob: &BlobId) -> Result<(), RuntimeError> {
        if has_blob(self.live.log.as_ref(), &self.live.session, blob).await? {
            return Ok(());
        }
        Err(LogError::NoBlob(blob.clone()).into())
    }
}

impl Session for LocalSession {
    fn id(&self) -> &SessionId {
        &self.live.session
    }

    fn state(&self) -> BoxFuture<'_, Result<SessionState, RuntimeError>> {
        Box::pin(self.ask(|reply| SessionCommand::State { reply }))
    }

    fn send(&self, mut input: UserInput) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(async move {
            redact_input(self.live.redactor.as_ref(), &mut input.content);
            // A message that is sent again gets its earlier answer, before all other checks.
            if let Some(seq) = self.sent_before(&input).await? {
                return Ok(seq);
            }
            if let Some(answer) = &input.answer_schema {
                let checked = check_answer_schema(answer);
                checked.map_err(|what| {
                    RuntimeError::Refused(format!("the schema of the answer is invalid: {what}"))
                })?;
            }
            self.check_sight(&input.content).await?;
            let content = self.store_media(input.content).await?;
            let by = self.by.clone().or(input.by);
            self.record(FactRequest::UserInput(UserInput { content, by, ..input }))
                .await
        })
    }

    fn sent_before<'a>(&'a self, input: &'a UserInput) -> BoxFuture<'a, Result<Option<u64>, RuntimeError>> {
        Box::pin(async move {
            let Some(seq) = self.seq_of(input.idempotency_key.as_deref()).await? else {
                return Ok(None);
            };
            let mut content = input.content.clone();
            redact_input(self.live.redactor.as_ref(), &mut content);
            self.check_same(seq, input, &content).await.map(|()| Some(seq))
        })
    }

    fn waiting(&self) -> BoxFuture<'_, Result<WaitingInputs, RuntimeError>> {
        Box::pin(self.ask(|reply| SessionCommand::Waiting { reply }))
    }

    fn revise(&self, input: MessageId, mode: Option<InputMode>) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        let revised = InputRevised {
            message_id: input,
            mode,
            by: self.by.clone(),
        };
        Box::pin(self.record(FactRequest::Revise(revised)))
    }

    fn context(&self, wish: ContextRequest) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(self.record(match wish {
            ContextRequest::Condense { instructions } => FactRequest::Condense(CondenseRequested {
                instructions,
                by: self.by.clone(),
            }),
            ContextRequest::Restore {} => FactRequest::Restore { by: self.by.clone() },
            ContextRequest::Pin { message_id, pinned } => FactRequest::Pin(InputPinned {
                message_id,
                pinned,
                by: self.by.clone(),
            }),
        }))
    }

    fn interrupt(&self, reason: Option<String>) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        let hold = false;
        Box::pin(self.record(FactRequest::Interrupt(InterruptRequested {
            reason,
            hold,
            by: self.by.clone(),
        })))
    }

    fn halt(&self, reason: Option<String>) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        let hold = true;
        Box::pin(self.record(FactRequest::Interrupt(InterruptRequested {
            reason,
            hold,
            by: self.by.clone(),
        })))
    }

    fn retry(&self) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(self.record(FactRequest::Retry { by: self.by.clone() }))
    }

    fn approve(&self, decision: ApprovalInput) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        let ApprovalInput {
            tool_call_id,
            decision,
            note,
            rule,
            by,
            limited,
        } = decision;
        Box::pin(self.record(FactRequest::Approve(Approval {
            tool_call_id,
            decision,
            note,
            rule: rule.map(Box::new),
            by: self.by.clone().or(by),
            limited,
        })))
    }

    fn change(&self, change: ConfigChange) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(
            self.record(FactRequest::Record(
                ConfigChanged {
                    change,
                    by: self.by.clone(),
                }
                .into(),
            )),
        )
    }

    fn record_sharing(&self, note: SharingFact) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        let by = |named: Option<OwnerId>| self.by.clone().or(named);
        let event: EnvironmentEvent = match note {
            // The seat names the person.
            SharingFact::Wheel(changed) => changed.into(),
            SharingFact::Access(changed) => AccessChanged {
                by: by(changed.by),
                ..changed
            }
            .into(),
            SharingFact::Restoring(restoring) => FilesRestoring {
                by: by(restoring.by),
                ..restoring
            }
            .into(),
            SharingFact::Restored(restored) => restored.into(),
            SharingFact::Ran(ran) => CommandRan {
                by: by(ran.by),
                ..ran
            }
            .into(),
        };
        Box::pin(self.record(FactRequest::Record(event)))
    }

    fn rename(&self, title: String) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(async move {
            check_title(&title)?;
            let by = self.by.clone();
            self.record(FactRequest::Record(SessionTitled { title, by }.into()))
                .await
        })
    }

    fn as_person(&self, person: &OwnerId) -> Option<Arc<dyn Session>> {
        Some(Arc::new(Self {
            live: self.live.clone(),
            agents: self.agents.clone(),
            by: Some(person.clone()),
            key: Mutex::default(),
        }))
    }

    fn once(&self, key: &RequestKey) -> Option<Arc<dyn Session>> {
        Some(Arc::new(Self {
            live: self.live.clone(),
            agents: self.agents.clone(),
            by: self.by.clone(),
            key: Mutex::new(Some(key.clone())),
        }))
    }

    fn done_before<'a>(&'a self, key: &'a RequestKey) -> BoxFuture<'a, Result<Option<u64>, RuntimeError>> {
        let key = key.clone();
        Box::pin(self.ask(|reply| SessionCommand::Requested { key, reply }))
    }

    fn subscribe(&self, after_seq: u64, view: View) -> BoxFuture<'_, Result<Subscription, RuntimeError>> {
        let live = self.live.clone();
        Box::pin(async move { Ok(follow::live(live, after_seq, view)) })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let (reply, closed) = oneshot::channel();
            if self
                .live
                .commands
                .send(SessionCommand::Close { reply })
                .await
                .is_ok()
            {
                let _ = closed.await;
            }
            // Even if the log refuses facts, running work has ended by then.
            let mut status = self.live.status.clone();
            let _ = status.wait_for(|status| *status != DriverStatus::Open).await;
        })
    }

    fn agent_bus(&self) -> Option<AgentEventBus> {
        Some(self.agents.clone())
    }

    fn failure(&self) -> Option<LogError> {
        match &*self.live.status.borrow() {
            DriverStatus::Failed(error) => Some(error.clone()),
            DriverStatus::Open | DriverStatus::Closed => None,
        }
    }

    fn suspend(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let (reply, closed) = oneshot::channel();
            if self
                .live
                .commands
                .send(SessionCommand::Suspend { reply })
                .await
                .is_ok()
            {
                let _ = closed.await;
            }
        })
    }
}
