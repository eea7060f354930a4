//! Facts for a session that nobody has open. Opening it would go on with what broke off in it: a name, or a file that is put
//! back, is no reason for that.

use std::sync::Arc;

use agentx_types::{Draft, EnvironmentEvent, SessionId, Source};
use tokio::sync::Mutex;

use crate::{
    Batch, BoxFuture, Clock, Derived, DerivedDigest, Record, RuntimeError, SessionFold, SessionLog, Writer,
};

/// Facts are read in pages of so many.
const PAGE: usize = 4096;

/// The writer of a session that nobody has open.
pub struct Jotter {
    log: Arc<dyn SessionLog>,
    clock: Arc<dyn Clock>,
    writer: Writer,
    state: Mutex<State>,
}

struct State {
    fold: SessionFold,
    digest: DerivedDigest,
    derived: Derived,
}

impl Jotter {
    /// Becomes the writer of the session.
    ///
    /// # Errors
    /// Where there is no such session, another process writes it, or the log cannot be read.
    pub async fn attach(
        log: Arc<dyn SessionLog>,
        session: &SessionId,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, RuntimeError> {
        let writer = log.attach(session).await?;
        let mut state = State {
            fold: SessionFold::new(session.clone()),
            digest: DerivedDigest::default(),
            derived: Derived::default(),
        };
        loop {
            let facts = log.read(session, state.fold.last_seq(), PAGE).await?;
            if facts.is_empty() {
                break;
            }
            for fact in &facts {
                state.derived.clear();
                state.fold.apply(fact, &mut state.derived);
                state.digest.add(fact, &state.derived);
            }
        }
        Ok(Self {
            log,
            clock,
            writer,
            state: Mutex::new(state),
        })
    }

    async fn put(&self, event: EnvironmentEvent) -> Result<u64, RuntimeError> {
        let mut state = self.state.lock().await;
        let State {
            fold,
            digest,
            derived,
        } = &mut *state;
        let seq = fold.last_seq() + 1;
        let draft = Draft::<EnvironmentEvent>::new(Source::User, None, event);
        let fact = Arc::new(draft.into_envelope(fold.session_id().clone(), seq, self.clock.now()));
        derived.clear();
        fold.apply(&fact, derived);
        digest.add(&fact, derived);
        let batch = Batch {
            facts: vec![fact],
            derived: digest.value(),
            projections: std::mem::take(&mut derived.projections),
        };
        self.log.append(&self.writer, batch).await?;
        Ok(seq)
    }
}

impl Record for Jotter {
    fn record(&self, event: EnvironmentEvent) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(self.put(event))
    }
}
