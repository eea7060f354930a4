//! The part of a reader that reads the log. Readers take turns: each waits for its permit, reads and encodes
//! a page on a blocking thread, and gives the permit back. A reader that is slow to deliver its page holds no
//! permit.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use agentx_runtime::{BoxFuture, EventCursor, Fact, LogError, RuntimeError};
use agentx_types::SessionId;

use super::{FactSource, FeedStart, Frame, FrameEncoder, PageCache, SubscriptionFilter, ViewFold};
use crate::limits::fair_semaphore::{FairPermit, FairQueue};

/// The number of facts that are read at once, if they are small.
const PAGE: usize = 1024;
/// The target size of a page, in bytes of frames.
const PAGE_BYTES: usize = 1 << 20;
/// The number of facts that are read before other readers get a turn.
const TURN: usize = 256;

/// The state that readers share: the queue, and the cache of recent pages.
#[derive(Clone, Default)]
pub struct ReplayShare {
    /// The queue for permits; without one, the reader does not wait.
    queue: Option<FairQueue>,
    page_cache: Arc<PageCache>,
}

impl ReplayShare {
    /// Waits for permits in `queue`, and looks up large pieces in `page_cache`.
    pub fn new(queue: FairQueue, page_cache: Arc<PageCache>) -> Self {
        Self {
            queue: Some(queue),
            page_cache,
        }
    }

    async fn turn(&self) -> FairPermit {
        match &self.queue {
            Some(queue) => queue.take().await,
            None => FairPermit::default(),
        }
    }
}

type ReplayResult = Result<(Box<ReplayWork>, Vec<Frame>), RuntimeError>;

/// The part of a reader that is read from the log.
pub(super) struct Replay {
    /// `None` while it is on the blocking thread, or after that failed.
    work: Option<Box<ReplayWork>>,
    turn: Option<BoxFuture<'static, ReplayResult>>,
    /// The last event that it has seen.
    at: u64,
    /// All up to here was handed on.
    has: EventCursor,
    /// The last fact to read.
    upto: u64,
    /// Whether the log ended before the expected fact.
    is_short: bool,
}

impl Replay {
    pub(super) fn new(source: Arc<dyn FactSource>, share: ReplayShare, start: &FeedStart) -> Self {
        // An event that is partly known is derived again, and its known part is skipped.
        let known = start.after.whole();
        let mut fold = source.fold(start.view, known);
        fold.skip_to(known);
        Self {
            at: fold.at(),
            has: start.after,
            upto: start.head,
            is_short: false,
            turn: None,
            work: Some(Box::new(ReplayWork {
                session: start.session.clone(),
                only: start.only.clone(),
                has: start.after,
                upto: start.head,
                source,
                share,
                fold,
                encoder: FrameEncoder::default(),
                facts: Arc::new([]),
                next: 0,
                page_after: 0,
                page: PAGE,
                bytes: 0,
                is_short: false,
            })),
        }
    }

    pub(super) fn at(&self) -> u64 {
        self.at
    }

    pub(super) fn has(&self) -> EventCursor {
        self.has
    }

    /// Continues to a later fact.
    pub(super) fn advance_to(&mut self, mark: u64, session: &SessionId) -> Result<(), RuntimeError> {
        self.upto = self.upto.max(mark);
        if !self.is_short {
            return Ok(());
        }
        let error = LogError::Corrupt {
            session: session.clone(),
            seq: self.at + 1,
            what: format!("it is missing, though event {mark} is there"),
        };
        Err(error.into())
    }

    /// Reads one page. `Ok(true)`: there are frames, and perhaps more to come; `Ok(false)`: the replay is
    /// complete.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        bytes: usize,
        out: &mut Vec<Frame>,
    ) -> Poll<Result<bool, RuntimeError>> {
        if self.turn.is_none() {
            let is_there = self.at >= self.upto || self.is_short;
            let Some(mut work) = self.work.take_if(|work| !(is_there && work.is_page_done())) else {
                return Poll::Ready(Ok(false));
            };
            work.upto = self.upto;
            self.turn = Some(Box::pin(work.take_turn(bytes)));
        }
        let Some(turn) = &mut self.turn else {
            return Poll::Ready(Ok(false));
        };
        let took = ready!(turn.as_mut().poll(cx));
        self.turn = None;
        let (work, frames) = took?;
        (self.at, self.has, self.is_short) = (work.fold.at(), work.has, work.is_short);
        self.work = Some(work);
        if !frames.is_empty() {
            out.extend(frames);
            return Poll::Ready(Ok(true));
        }
        // There are no frames, but the work used up the permit.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// The state of a replay, which moves to the blocking thread and back.
struct ReplayWork {
    session: SessionId,
    only: Option<SubscriptionFilter>,
    source: Arc<dyn FactSource>,
    share: ReplayShare,
    fold: ViewFold,
    encoder: FrameEncoder,
    has: EventCursor,
    upto: u64,
    /// The page that is being read, from `next` on: the facts after `page_after`.
    facts: Arc<[Fact]>,
    next: usize,
    page_after: u64,
    /// The number of facts of the next page.
    page: usize,
    /// The size of the frames of this page, in bytes.
    bytes: usize,
    is_short: bool,
}

impl ReplayWork {
    fn is_page_done(&self) -> bool {
        self.next >= self.facts.len()
    }

    /// Waits for a turn, and does what fits into it.
    async fn take_turn(mut self: Box<Self>, bytes: usize) -> ReplayResult {
        let turn = self.share.turn().await;
        if self.is_page_done() {
            self.read_page().await?;
        }
        turn.run(move || {
            let frames = self.look(bytes);
            (self, frames)
        })
        .await
    }

    async fn read_page(&mut self) -> Result<(), RuntimeError> {
        let after = self.fold.at();
        let facts = match self.share.page_cache.page(&self.session, after) {
            Some(facts) => facts,
            None => self.source.facts(after, self.page).await?.into(),
        };
        self.is_short = facts.is_empty();
        (self.facts, self.next, self.page_after, self.bytes) = (facts, 0, after, 0);
        Ok(())
    }

    /// Encodes as many facts as fit into one permit.
    fn look(&mut self, bytes: usize) -> Vec<Frame> {
        let (facts, mut size, mut out) = (self.facts.clone(), 0, Vec::new());
        for fact in facts.iter().skip(self.next).take(TURN) {
            if size >= bytes || fact.seq > self.upto {
                break;
            }
            self.next += 1;
            if fact.seq <= self.has.whole() {
                self.fold.pass(fact);
                continue;
            }
            let (has, only) = (&mut self.has, self.only.as_ref());
            let seen = (fact, &*self.share.page_cache);
            self.fold.look_with(seen, &mut self.encoder, |frame| {
                if has.advance_to(frame.place) && only.is_none_or(|only| only.wants(&frame)) {
                    size += frame.text.len();
                    out.push(frame);
                }
            });
        }
        self.bytes += size;
        // Facts after the end come from the feed.
        if facts.get(self.next).is_none_or(|fact| fact.seq > self.upto) {
            self.end_page(&facts);
        }
        out
    }

    /// Returns the page's memory, and sets the size of the next page.
    fn end_page(&mut self, facts: &Arc<[Fact]>) {
        self.share
            .page_cache
            .keep_page(&self.session, self.page_after, facts, self.bytes);
        let fit = facts.len().saturating_mul(PAGE_BYTES).checked_div(self.bytes);
        self.page = fit.unwrap_or(self.page).clamp(16, PAGE);
        (self.facts, self.next) = (Arc::new([]), 0);
    }
}
