//! The part of a reader that is read from the log. It is read in turns: a reader waits for its own, reads and encodes a piece on a
//! thread where that holds up nothing else, and hands the turn on. Whoever takes its time to get rid of a piece keeps no turn.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use agentx_runtime::{BoxFuture, EventCursor, Fact, LogError, RuntimeError};
use agentx_types::SessionId;

use super::{FactSource, FeedStart, Frame, FrameEncoder, Lens, Shelf, SubscriptionFilter};
use crate::work_turns::{TurnQueue, WorkTurn};

/// The number of facts that are read at once, where they are small.
const PAGE: usize = 1024;
/// How many bytes of frames a page of facts should become.
const PAGE_BYTES: usize = 1 << 20;
/// The number of facts that are looked at before others get a turn.
const TURN: usize = 256;

/// What a reader shares with others: the turns, and what was read a moment ago.
#[derive(Clone, Default)]
pub struct ReplayShare {
    /// Nobody waits if there is none.
    queue: Option<TurnQueue>,
    shelf: Arc<Shelf>,
}

impl ReplayShare {
    /// Turns are waited for in `queue`, and large pieces looked for on `shelf`.
    pub fn new(queue: TurnQueue, shelf: Arc<Shelf>) -> Self {
        Self {
            queue: Some(queue),
            shelf,
        }
    }

    async fn turn(&self) -> WorkTurn {
        match &self.queue {
            Some(queue) => queue.take().await,
            None => WorkTurn::default(),
        }
    }
}

type Took = Result<(Box<ReplayWork>, Vec<Frame>), RuntimeError>;

/// The part of a reader that is read from the log.
pub(super) struct Replay {
    /// `None` while it is being worked on, or where that failed.
    work: Option<Box<ReplayWork>>,
    turn: Option<BoxFuture<'static, Took>>,
    /// The last event that it has seen.
    at: u64,
    /// All up to here was handed on.
    has: EventCursor,
    /// Up to here it goes.
    upto: u64,
    /// The log has less than it was said to.
    is_short: bool,
}

impl Replay {
    pub(super) fn new(source: Arc<dyn FactSource>, share: ReplayShare, start: &FeedStart) -> Self {
        // An event of which a part is known is derived again, and what is known of it passed over.
        let known = start.after.whole();
        let mut lens = source.lens(start.view, known);
        lens.skip_to(known);
        Self {
            at: lens.at(),
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
                lens,
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

    /// There is more by now.
    pub(super) fn go_on_to(&mut self, mark: u64, session: &SessionId) -> Result<(), RuntimeError> {
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

    /// Takes its turns. `Ok(true)`: there are frames, and perhaps more to come; `Ok(false)`: it is where it was to go.
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
        (self.at, self.has, self.is_short) = (work.lens.at(), work.has, work.is_short);
        self.work = Some(work);
        if !frames.is_empty() {
            out.extend(frames);
            return Poll::Ready(Ok(true));
        }
        // Nothing to show, but a turn's worth of work.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// What goes along from turn to turn.
struct ReplayWork {
    session: SessionId,
    only: Option<SubscriptionFilter>,
    source: Arc<dyn FactSource>,
    share: ReplayShare,
    lens: Lens,
    encoder: FrameEncoder,
    has: EventCursor,
    upto: u64,
    /// The page that is looked at, from `next` on: the facts after `page_after`.
    facts: Arc<[Fact]>,
    next: usize,
    page_after: u64,
    /// How many facts the next page has.
    page: usize,
    /// How many bytes this one became.
    bytes: usize,
    is_short: bool,
}

impl ReplayWork {
    fn is_page_done(&self) -> bool {
        self.next >= self.facts.len()
    }

    /// Waits for a turn, and does what fits into it.
    async fn take_turn(mut self: Box<Self>, bytes: usize) -> Took {
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
        let after = self.lens.at();
        let facts = match self.share.shelf.page(&self.session, after) {
            Some(facts) => facts,
            None => self.source.facts(after, self.page).await?.into(),
        };
        self.is_short = facts.is_empty();
        (self.facts, self.next, self.page_after, self.bytes) = (facts, 0, after, 0);
        Ok(())
    }

    /// Looks at a turn's worth of facts.
    fn look(&mut self, bytes: usize) -> Vec<Frame> {
        let (facts, mut size, mut out) = (self.facts.clone(), 0, Vec::new());
        for fact in facts.iter().skip(self.next).take(TURN) {
            if size >= bytes || fact.seq > self.upto {
                break;
            }
            self.next += 1;
            if fact.seq <= self.has.whole() {
                self.lens.pass(fact);
                continue;
            }
            let (has, only) = (&mut self.has, self.only.as_ref());
            let seen = (fact, &*self.share.shelf);
            self.lens.look_with(seen, &mut self.encoder, |frame| {
                if has.advance_to(frame.place) && only.is_none_or(|only| only.wants(&frame)) {
                    size += frame.text.len();
                    out.push(frame);
                }
            });
        }
        self.bytes += size;
        // What came after the end is the feed's to say.
        if facts.get(self.next).is_none_or(|fact| fact.seq > self.upto) {
            self.end_page(&facts);
        }
        out
    }

    /// Gives the page back, and says how many facts the next one should have.
    fn end_page(&mut self, facts: &Arc<[Fact]>) {
        self.share
            .shelf
            .keep_page(&self.session, self.page_after, facts, self.bytes);
        let fit = facts.len().saturating_mul(PAGE_BYTES).checked_div(self.bytes);
        self.page = fit.unwrap_or(self.page).clamp(16, PAGE);
        (self.facts, self.next) = (Arc::new([]), 0);
    }
}
