//! A title for a session that nobody has open. Opening it would go on with what broke off in it: a name is no reason for that.

use std::sync::Arc;

use agentx_types::{Draft, EnvironmentEvent, SessionId, SessionTitled, Source, Timestamp};

use crate::{Batch, Derived, DerivedDigest, LogError, SessionFold, SessionLog};

/// Facts are read in pages of so many.
const PAGE: usize = 4096;

/// Puts a title on record, and nothing else.
///
/// # Errors
/// Where there is no such session, another process writes it, or the log cannot be written.
pub async fn retitle(
    log: &dyn SessionLog,
    session: &SessionId,
    title: String,
    at: Timestamp,
) -> Result<(), LogError> {
    let writer = log.attach(session).await?;
    let mut fold = SessionFold::new(session.clone());
    let mut digest = DerivedDigest::default();
    let mut derived = Derived::default();
    loop {
        let facts = log.read(session, fold.last_seq(), PAGE).await?;
        if facts.is_empty() {
            break;
        }
        for fact in &facts {
            derived.clear();
            fold.apply(fact, &mut derived);
            digest.add(fact, &derived);
        }
    }
    let draft = Draft::<EnvironmentEvent>::new(Source::User, None, SessionTitled { title });
    let fact = Arc::new(draft.into_envelope(session.clone(), fold.last_seq() + 1, at));
    derived.clear();
    fold.apply(&fact, &mut derived);
    digest.add(&fact, &derived);
    let batch = Batch {
        facts: vec![fact],
        derived: digest.value(),
        projections: std::mem::take(&mut derived.projections),
    };
    log.append(&writer, batch).await
}
