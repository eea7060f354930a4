//! Copies of sessions. A copy shares the events of its parent, so a parent that cannot be read is not copied.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentx_runtime::{LogError, NewLog, RuntimeError};
use agentx_types::{Envelope, EnvironmentEvent, SessionId};

use crate::node::NodeRuntime;

impl NodeRuntime {
    /// Copies a session up to an event, or all of it.
    ///
    /// # Errors
    /// Returns an error if there is no such event, and [`LogError::Corrupt`] if an event up to it cannot be
    /// read, because the copy could not be opened.
    pub(crate) async fn make_fork(
        &self,
        session: &SessionId,
        at_seq: Option<u64>,
    ) -> Result<SessionId, RuntimeError> {
        let parent = self.owned(session).await?;
        let at_seq = at_seq.unwrap_or(parent.last_seq);
        if at_seq == 0 || at_seq > parent.last_seq {
            return Err(RuntimeError::Refused(format!(
                "{session} has events 1 to {}; there is no event {at_seq}",
                parent.last_seq
            )));
        }
        self.check_readable(session, at_seq).await?;
        if let Some(imported) = self.import_after(session, at_seq, parent.last_seq).await? {
            return Err(RuntimeError::Refused(format!(
                "{session} was imported at event {imported}: what it allowed before does not count here, so it is copied from that event on"
            )));
        }
        let ids = self.ids()?;
        let new = NewLog::new(
            ids.session_id.clone(),
            ids.owner,
            self.driver.clock.now(),
            parent.workspace,
        )
        .with_parent(session.clone(), at_seq);
        self.log().create(new).await?;
        Ok(ids.session_id)
    }

    /// The event after `at_seq` by which the session was imported: a copy of the part before it would be
    /// allowed what the imported document says.
    ///
    /// A damaged event behind the copied part forbids no copy, and hides no import behind it.
    async fn import_after(
        &self,
        session: &SessionId,
        at_seq: u64,
        last_seq: u64,
    ) -> Result<Option<u64>, RuntimeError> {
        let found = Arc::new(AtomicU64::new(0));
        let mut after = at_seq;
        while after < last_seq {
            let seen = found.clone();
            let take = Box::new(move |fact: &mut Envelope<EnvironmentEvent>| {
                if matches!(fact.event, EnvironmentEvent::SessionImported(_)) {
                    seen.store(fact.seq, Ordering::Relaxed);
                }
                ControlFlow::Continue(())
            });
            match self.log().scan(session, after, last_seq, take).await {
                Err(LogError::Corrupt { seq, .. }) => after = seq.max(after + 1),
                scanned => {
                    scanned?;
                    break;
                }
            }
        }
        Ok(Some(found.load(Ordering::Relaxed)).filter(|seq| *seq > 0))
    }

    /// Reads a session up to the event `last`, which checks the hashes of its rows.
    async fn check_readable(&self, session: &SessionId, last: u64) -> Result<(), RuntimeError> {
        let next = Box::new(|_: &mut _| ControlFlow::Continue(()));
        match self.log().scan(session, 0, last, next).await {
            // The scan looks at the row behind the last event, too.
            Err(LogError::Corrupt { seq, .. }) if seq > last => Ok(()),
            scanned => Ok(scanned?),
        }
    }
}
