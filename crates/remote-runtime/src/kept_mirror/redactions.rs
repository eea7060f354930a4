//! Redactions of the server's session: the copy replaces the same facts and removes the same contents of
//! files, before the record of it is committed, and then takes the server's rows of them. A mirror that dies
//! in between does it again when the record comes. What the server changed is checked first
//! ([`replace_copied_facts`]): nothing but texts may be replaced.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentx_runtime::{DerivedDigest, Fact, RuntimeError, SessionFold, blobs_of, replace_copied_facts};
use agentx_types::{BlobId, Envelope, EnvironmentEvent, SessionRedacted};

use super::start::fact_at;
use super::{BATCH, MirrorKeeper};
use crate::http::{ListPage, Query};

impl MirrorKeeper {
    /// Replaces the facts that these ones say were redacted.
    pub(super) async fn follow_redactions(&mut self, facts: &[Fact]) -> Result<(), RuntimeError> {
        for fact in facts {
            if let EnvironmentEvent::SessionRedacted(record) = &fact.event {
                self.replace(record).await?;
            }
        }
        Ok(())
    }

    /// Takes the server's facts in place of those that were redacted. The server's rows of them follow.
    async fn replace(&mut self, record: &SessionRedacted) -> Result<(), RuntimeError> {
        let last = self.kept.seq;
        let dropped: BTreeSet<BlobId> = record.dropped_blobs().collect();
        let mut facts = Vec::new();
        for seq in record.events().filter(|seq| *seq <= last) {
            let Some(there) = fact_at(&self.core, self.session(), seq).await? else {
                return Err(RuntimeError::Refused(format!(
                    "the server redacted session {}, and no longer has its event {seq}; the copy is left unchanged",
                    self.session()
                )));
            };
            for blob in blobs_of(&there.event).difference(&dropped) {
                self.keep_blob(blob).await?;
            }
            facts.push(Arc::new(there));
        }
        if facts.is_empty() && dropped.is_empty() {
            return Ok(());
        }
        let dropped = dropped.into_iter().collect();
        replace_copied_facts(self.log.as_ref(), &self.writer, facts, dropped).await?;
        self.fold = SessionFold::new(self.session().clone());
        self.digest = DerivedDigest::default();
        self.load().await?;
        // Rows from before the redaction are no longer those of the server.
        self.rows.begin_again();
        self.kept.rows = self.rows.base();
        self.rows.want(true);
        Ok(())
    }

    /// Replaces a fact of the copy that differs from the server's, if the server has redacted it since.
    /// Returns whether it has.
    pub(super) async fn was_redacted(&mut self, seq: u64) -> Result<bool, RuntimeError> {
        let mut after = self.kept.seq;
        loop {
            let path = ["sessions", self.session().as_str(), "events"];
            let ask = Query::get(&path)
                .with("after_seq", Some(after.to_string()))
                .with("view", Some("environment".into()))
                .with("limit", Some(BATCH.to_string()));
            let page: ListPage<Envelope<EnvironmentEvent>> = self.core.http.json(ask).await?;
            let end = page.items.last().map(|fact| fact.seq);
            // A page that leads no further ends the search, so that a server cannot make it endless.
            let Some(end) = end.filter(|end| *end > after) else {
                return Ok(false);
            };
            for fact in page.items {
                if let EnvironmentEvent::SessionRedacted(record) = &fact.event
                    && record.events().any(|known| known == seq)
                {
                    self.replace(record).await?;
                    return Ok(true);
                }
            }
            after = end;
        }
    }
}
