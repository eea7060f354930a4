//! Writes facts to a session that no program has open. Opening it would continue interrupted work, which a
//! new title or a restored file should not do.
//!
//! No `writer_attached` is committed, so no agent settles open calls, and no action is performed: the actions
//! of the fold are dropped, and the next writer gets them again. The [`OfflineWriter`] holds the lock of the
//! session as long as it lives.

use std::sync::Arc;

use agentx_bus::Bus;
use agentx_secrets::Redactor;
use agentx_types::{Envelope, EnvironmentEvent, EventDraft, RuntimeEvent, SessionClosed, SessionId, Source};
use tokio::sync::Mutex;

use crate::api::RuntimeError;
use crate::clock::Clock;
use crate::future::BoxFuture;
use crate::log::SessionLog;
use crate::log::folding::check_version;
use crate::log::writing::{Batch, Writer};
use crate::redaction::redact_event;
use crate::system_events::SystemEvent;
use agentx_session::{DerivedDigest, Fact, SessionFold};

/// Number of facts in a page.
const PAGE: usize = 4096;

/// Records facts in one session.
pub trait FactRecorder: Send + Sync {
    /// Records a fact; returns its `seq` once it is committed.
    ///
    /// # Errors
    /// Returns an error if it could not be committed.
    fn record(&self, event: EnvironmentEvent) -> BoxFuture<'_, Result<u64, RuntimeError>>;
}

/// The writer of a session that nobody has open.
pub struct OfflineWriter {
    log: Arc<dyn SessionLog>,
    clock: Arc<dyn Clock>,
    writer: Writer,
    redactor: Option<Redactor>,
    state: Mutex<OfflineState>,
}

/// The state of the session for its writer.
struct OfflineState {
    fold: SessionFold,
    digest: DerivedDigest,
}

impl OfflineWriter {
    /// Becomes the writer of the session.
    ///
    /// # Errors
    /// Returns an error if the session does not exist, another process writes it, or the log cannot be read.
    pub async fn attach(
        log: Arc<dyn SessionLog>,
        session: &SessionId,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, RuntimeError> {
        let writer = log.attach(session).await?;
        let mut state = OfflineState {
            fold: SessionFold::new(session.clone()),
            digest: DerivedDigest::default(),
        };
        loop {
            let facts = log.read(session, state.fold.last_seq(), PAGE).await?;
            if facts.is_empty() {
                break;
            }
            for fact in &facts {
                let derived = state.fold.apply(fact);
                state.digest.add(fact, &derived);
            }
        }
        Ok(Self {
            log,
            clock,
            writer,
            redactor: None,
            state: Mutex::new(state),
        })
    }

    /// Replaces secrets in the facts that it records.
    #[must_use]
    pub fn redacting(self, redactor: Option<Redactor>) -> Self {
        Self { redactor, ..self }
    }

    /// Records the last fact of a session before it is deleted, and publishes it on `bus`, because readers no
    /// longer find it in the log afterwards.
    ///
    /// # Errors
    /// Returns an error if the log refuses it.
    pub async fn close(self, reason: &str, bus: &Bus<SystemEvent>) -> Result<(), RuntimeError> {
        let reason = reason.to_owned();
        let (fact, derived) = self.append(SessionClosed { reason }.into()).await?;
        let meaning = derived
            .into_iter()
            .map(|event| SystemEvent::Runtime(Arc::new(event)));
        let told = std::iter::once(SystemEvent::Environment(fact)).chain(meaning);
        // A bus that is closed has no readers left.
        let _ = bus.publish_all(told.map(Arc::new).collect()).await;
        Ok(())
    }

    /// Records a fact, unless a newer version wrote the session.
    async fn put(&self, event: EnvironmentEvent) -> Result<u64, RuntimeError> {
        check_version(&self.state.lock().await.fold)?;
        Ok(self.append(event).await?.0.seq)
    }

    /// Commits a fact. Returns it with its derived events.
    async fn append(
        &self,
        mut event: EnvironmentEvent,
    ) -> Result<(Fact, Vec<Envelope<RuntimeEvent>>), RuntimeError> {
        if let Some(redactor) = &self.redactor {
            redact_event(redactor, &mut event);
        }
        let mut state = self.state.lock().await;
        let OfflineState { fold, digest } = &mut *state;
        let draft = EventDraft::<EnvironmentEvent>::new(Source::User, None, event);
        let fact = Arc::new(fold.mint(draft, self.clock.now()));
        let derived = fold.apply(&fact);
        digest.add(&fact, &derived);
        let batch = Batch::new(vec![fact.clone()], digest.value()).with_projections(derived.projections);
        self.log.append(&self.writer, batch).await?;
        Ok((fact, derived.events))
    }
}

impl FactRecorder for OfflineWriter {
    fn record(&self, event: EnvironmentEvent) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(self.put(event))
    }
}
