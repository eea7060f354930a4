//! The rows of the server's log for the copy: when to request which rows, and how to adopt them.
//!
//! They are requested independently of the facts, which do not wait for them. An answer may be ahead of the
//! facts; then it waits until they are here. If no answer comes, the copy continues with its own rows, and
//! requests again after the next reconnect or run.
//!
//! Adopting rows replaces the local rows by the server's bytes of the same facts, which the log checks first.
//! If other local sessions depend on the rows of the copy, as a fork of it does, it keeps its own.

use std::sync::Arc;

use agentx_runtime::{Adoption, BoxFuture, LogError, LogPlace, LogRows, RuntimeError};
use agentx_types::SessionId;

use super::MirrorKeeper;
use crate::http::Query;
use crate::remote_core::RemoteCore;

/// Number of facts without the server's rows at which rows are requested, also while a run continues.
const ENOUGH: u64 = 8192;
/// The maximum number of bytes of rows in one request.
const MOST_BYTES: usize = 512 << 20;

/// An answer that is on its way.
type RowsFuture = BoxFuture<'static, Result<Fetched, RuntimeError>>;

/// The known rows of the server.
pub(super) struct MirrorRows {
    /// For a fork: which session, and the last event that both have.
    parent: Option<(SessionId, u64)>,
    /// The start of the session's own rows in the local log.
    base: u64,
    /// A fork that was made here continues from rows that are here: they stay.
    depended_on: bool,
    /// Whether rows should be requested as soon as no request is in progress.
    wanted: bool,
    asking: Option<RowsFuture>,
    /// Rows that came and wait for facts.
    came: Option<Fetched>,
}

/// Rows that follow each other.
pub(super) struct Fetched(LogRows);

impl Fetched {
    /// The last event that they reach.
    pub(super) fn last_seq(&self) -> u64 {
        last_of(&self.0)
    }
}

impl MirrorRows {
    /// Creates the state without any known row; `parent` is that of a fork.
    pub(super) fn new(parent: Option<(SessionId, u64)>) -> Self {
        Self {
            parent,
            base: 0,
            depended_on: false,
            wanted: false,
            asking: None,
            came: None,
        }
    }

    /// Forgets rows that are on their way.
    pub(super) fn begin_again(&mut self) {
        self.asking = None;
        self.came = None;
    }

    /// The event after which the session's own rows begin.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Requests rows at the next opportunity.
    pub(super) fn want(&mut self, wanted: bool) {
        self.wanted |= wanted;
    }

    /// Waits for the answer; forever if nothing was requested.
    pub(super) async fn fetched(&mut self) -> Result<Fetched, RuntimeError> {
        match &mut self.asking {
            Some(asking) => {
                let fetched = asking.await;
                self.asking = None;
                fetched
            }
            None => std::future::pending().await,
        }
    }

    /// Handles an answer. One that did not come is asked for again when something is new.
    pub(super) fn have(&mut self, fetched: Result<Fetched, RuntimeError>) {
        match fetched {
            Ok(fetched) => self.came = Some(fetched),
            Err(error) => tracing::debug!(%error, "the rows of the server could not be fetched"),
        }
    }
}

impl MirrorKeeper {
    /// Finds the last local row that equals the server's, by the hashes at the ends of segments.
    pub(super) async fn find_rows(&mut self) -> Result<(), RuntimeError> {
        let end = self.place_before(u64::MAX).await?;
        self.rows.base = end.base;
        let mut place = end.place;
        let mut step = 1;
        while place.seq > self.rows.base {
            let there = page(&self.core, self.session(), place.seq, Some(1)).await?.before;
            if there.seq <= place.seq && self.place_before(there.seq).await?.place == there {
                place = there;
                break;
            }
            let back = there.seq.min(place.seq).saturating_sub(step);
            place = self.place_before(back.max(self.rows.base)).await?.place;
            step *= 8;
        }
        self.kept.rows = place.seq.max(self.rows.base);
        self.say();
        Ok(())
    }

    /// The end of the segment here that ends with this event, or the last one that ends before it.
    async fn place_before(&self, seq: u64) -> Result<LocalEnd, RuntimeError> {
        let rows = self.log.rows(self.session(), seq, 1).await?;
        Ok(LocalEnd {
            base: rows.parts.last().map_or(0, |own| own.after_seq),
            place: rows.before,
        })
    }

    /// Requests the rows of committed facts: when no run is in progress, and now and then during one.
    pub(super) fn want_rows(&mut self) {
        let without = self.kept.seq.saturating_sub(self.kept.rows);
        let is_quiet = self.kept.caught_up && !self.running && without > 0;
        self.rows.want(is_quiet || without >= ENOUGH);
    }

    /// Requests rows if they are wanted.
    pub(super) fn ask_for_rows(&mut self) {
        // The shared part of a fork comes as a whole.
        let shares = self.rows.parent.as_ref().map_or(0, |(_, at_seq)| *at_seq);
        let is_enough = self.kept.seq > 0 && self.kept.seq >= shares;
        if self.rows.wanted && is_enough && self.is_idle() {
            self.rows.wanted = false;
            self.rows.asking = Some(Box::pin(self.last_rows()));
        }
    }

    /// Returns whether rows may be requested: no request is in progress, and the local rows may be replaced.
    fn is_idle(&self) -> bool {
        self.rows.asking.is_none() && self.rows.came.is_none() && !self.rows.depended_on
    }

    /// The server's rows from the last segment on that is the server's already: it may have grown, or been
    /// packed.
    pub(super) fn last_rows(&self) -> impl Future<Output = Result<Fetched, RuntimeError>> + Send + use<> {
        let after = self.kept.rows.saturating_sub(1).max(self.rows.base);
        fetch(self.core.clone(), self.session().clone(), after, self.kept.seq)
    }

    /// Stores fetched rows, once their facts are here.
    pub(super) async fn store_fetched_rows(&mut self) -> Result<(), RuntimeError> {
        let seq = self.kept.seq;
        match self.rows.came.take_if(|came| came.last_seq() <= seq) {
            Some(came) => self.adopt(came).await,
            None => Ok(()),
        }
    }

    /// Stores rows. If they need blobs that the facts here do not, those are fetched.
    pub(super) async fn adopt(&mut self, Fetched(rows): Fetched) -> Result<(), RuntimeError> {
        let own = rows.parts.last().map_or(0, |own| own.after_seq);
        let adoption = Arc::new(Adoption {
            parts: rows.parts,
            parent: self.rows.parent.clone(),
            before: rows.before,
            rows: rows.rows,
            derived: self.digest.value(),
        });
        let mut fetched = Vec::new();
        let upto = loop {
            match self.log.adopt(&self.writer, adoption.clone()).await {
                Ok(upto) => break upto,
                Err(LogError::NoBlob(blob)) if !fetched.contains(&blob) => {
                    self.keep_blob(&blob).await?;
                    fetched.push(blob);
                }
                Err(error) => return Err(error.into()),
            }
        };
        if upto > adoption.before.seq {
            self.rows.base = own;
            self.kept.rows = upto;
        } else {
            self.rows.depended_on = !adoption.rows.is_empty();
        }
        self.say();
        Ok(())
    }
}

/// The end of the local rows: the last position in the log, and the start of the session's own rows.
struct LocalEnd {
    base: u64,
    place: LogPlace,
}

/// Rows from the segment on that holds the event after `after_seq`, at least up to `upto`, or to the end.
async fn fetch(
    core: Arc<RemoteCore>,
    session: SessionId,
    after_seq: u64,
    upto: u64,
) -> Result<Fetched, RuntimeError> {
    let mut all = page(&core, &session, after_seq, None).await?;
    let mut bytes = bytes_of(&all);
    while let Some(next) = all.next_after_seq
        && last_of(&all) < upto
    {
        let more = page(&core, &session, next, None).await?;
        bytes += bytes_of(&more);
        if more.before.seq != next || more.rows.is_empty() || bytes > MOST_BYTES {
            return Err(RuntimeError::Refused(format!(
                "the pages of rows of {session} do not follow each other, or are too many"
            )));
        }
        all.rows.extend(more.rows);
        all.parts = more.parts;
        all.next_after_seq = more.next_after_seq;
    }
    Ok(Fetched(all))
}

fn last_of(rows: &LogRows) -> u64 {
    rows.rows.last().map_or(rows.before.seq, |row| row.last_seq)
}

/// The stored size of rows, to bound the memory for the rows of a large session.
fn bytes_of(rows: &LogRows) -> usize {
    rows.rows.iter().map(|row| row.data.len()).sum()
}

/// Requests a page of rows of about this many bytes.
async fn page(
    core: &RemoteCore,
    session: &SessionId,
    after_seq: u64,
    bytes: Option<u64>,
) -> Result<LogRows, RuntimeError> {
    let path = ["sessions", session.as_str(), "rows"];
    let ask = Query::get(&path)
        .with("after_seq", Some(after_seq.to_string()))
        .with("bytes", bytes.map(|bytes| bytes.to_string()));
    core.http.json(ask).await
}
