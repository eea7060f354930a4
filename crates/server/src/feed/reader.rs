//! A reader of one session: first from the log, at its own pace, then from the feed, without gaps or
//! duplicates.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use agentx_runtime::{BoxFuture, EventCursor, Fact, RuntimeError};
use agentx_types::SessionId;
use agentx_types::wire::{Problem, Seen, WireView};

use super::replay::{Replay, ReplayShare};
use super::{Feed, FeedRead, FeedSlot, Frame, SubscriptionFilter, ViewFold};

/// The source from which a reader loads the facts of a session.
pub trait FactSource: Send + Sync {
    /// Returns up to `limit` facts of the session after `after_seq`.
    fn facts(&self, after_seq: u64, limit: usize) -> BoxFuture<'static, Result<Vec<Fact>, RuntimeError>>;

    /// Returns a fold to start from that has seen no fact after `seq`.
    fn fold(&self, view: WireView, seq: u64) -> ViewFold;

    /// Keeps a fold for later readers.
    fn keep(&self, fold: ViewFold);
}

/// The position and view with which a reader begins.
#[derive(Clone, Debug)]
pub struct FeedStart {
    /// The session.
    pub session: SessionId,
    /// The kind of events to deliver.
    pub view: WireView,
    /// The reader knows all events up to here.
    pub after: EventCursor,
    /// The last event of the session when the reader began.
    pub head: u64,
    /// The filter; `None` for all frames.
    pub only: Option<SubscriptionFilter>,
}

/// An item that a reader yields.
#[derive(Debug, PartialEq)]
pub enum FeedItem {
    /// Frames were moved to the caller's buffer.
    Frames,
    /// All events that existed at the start were delivered, up to this `seq`.
    CaughtUp(u64),
    /// The reader took too long to deliver its frames.
    Overrun,
    /// The feed has ended.
    Ended(Problem),
}

/// Reads one session for one subscriber.
pub struct FeedReader {
    feed: Arc<Feed>,
    slot: Arc<FeedSlot>,
    start: FeedStart,
    /// All events up to here were delivered.
    has: EventCursor,
    /// The last fact that was read for this reader.
    through: u64,
    caught_up: bool,
    /// `None` once it takes part in the feed.
    replay: Option<Replay>,
}

impl FeedReader {
    /// Creates a reader that begins at `start`. It reads the log when it gets a permit.
    pub fn new(
        feed: Arc<Feed>,
        (source, share): (Arc<dyn FactSource>, ReplayShare),
        start: FeedStart,
    ) -> Self {
        let slot = Arc::new(FeedSlot::default());
        let replay = feed.join(start.after, &slot).is_err();
        Self {
            replay: replay.then(|| Replay::new(source, share, &start)),
            feed,
            slot,
            has: start.after,
            through: 0,
            caught_up: false,
            start,
        }
    }

    /// Returns its slot in the feed.
    pub fn slot(&self) -> &Arc<FeedSlot> {
        &self.slot
    }

    /// Returns how far the reader has come, if it has a filter and has passed its beginning.
    pub fn seen(&self) -> Option<Seen> {
        let is_news = self.start.only.is_some() && self.through > self.start.after.seq;
        is_news.then(|| Seen {
            session_id: self.start.session.clone(),
            seq: self.through,
        })
    }

    /// Returns the start of the reader.
    pub fn start(&self) -> &FeedStart {
        &self.start
    }

    /// Moves about `bytes` bytes of frames, and at most `frames` of them, into `out`; waits if there are
    /// none.
    pub fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        limits: (usize, usize),
        out: &mut Vec<Frame>,
    ) -> Poll<FeedItem> {
        loop {
            if let Some(problem) = self.slot.ended() {
                return Poll::Ready(FeedItem::Ended(problem.clone()));
            }
            if !self.caught_up && self.through >= self.start.head {
                self.caught_up = true;
                return Poll::Ready(FeedItem::CaughtUp(self.start.head));
            }
            let Some(replay) = &mut self.replay else {
                match ready!(self.poll_live(cx, limits, out)) {
                    Some(step) => return Poll::Ready(step),
                    None => continue,
                }
            };
            match ready!(replay.poll(cx, limits.1, out)) {
                Err(error) => return Poll::Ready(FeedItem::Ended(Problem::from(&error))),
                Ok(true) => return Poll::Ready(FeedItem::Frames),
                Ok(false) if self.through < replay.at() => self.through = replay.at(),
                Ok(false) => {
                    if let Err(error) = self.go_live() {
                        return Poll::Ready(FeedItem::Ended(Problem::from(&error)));
                    }
                }
            }
        }
    }

    /// Returns the next frames; see [`FeedReader::poll_next`].
    pub async fn next(&mut self, limits: (usize, usize), out: &mut Vec<Frame>) -> FeedItem {
        std::future::poll_fn(|cx| self.poll_next(cx, limits, out)).await
    }

    /// Joins the feed, if the feed has all events after those from the log.
    fn go_live(&mut self) -> Result<(), RuntimeError> {
        let Some(replay) = &mut self.replay else {
            return Ok(());
        };
        let has = replay.has().max(EventCursor::after(replay.at()));
        match self.feed.join(has, &self.slot) {
            Ok(()) => {
                self.has = has;
                self.replay = None;
                Ok(())
            }
            Err(mark) => replay.advance_to(mark, &self.start.session),
        }
    }

    /// Polls the feed; `None` if there was no frame for this reader.
    fn poll_live(
        &mut self,
        cx: &mut Context<'_>,
        limits: (usize, usize),
        out: &mut Vec<Frame>,
    ) -> Poll<Option<FeedItem>> {
        if !self.slot.take_news(cx.waker()) {
            return Poll::Pending;
        }
        let before = out.len();
        let taken = self
            .feed
            .take((&self.slot, self.start.only.as_ref()), &mut self.has, limits, out);
        let step = (out.len() > before).then_some(FeedItem::Frames);
        Poll::Ready(match taken {
            FeedRead::Some => {
                self.slot.more();
                step
            }
            FeedRead::All(mark) => {
                self.through = self.through.max(mark);
                step
            }
            FeedRead::Overrun => Some(FeedItem::Overrun),
            FeedRead::Ended(problem) => Some(FeedItem::Ended(problem)),
        })
    }
}

impl Drop for FeedReader {
    fn drop(&mut self) {
        self.feed.leave(&self.slot);
    }
}
