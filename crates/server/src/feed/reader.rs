//! One reader of one session: first from the log, at its own pace, then from the feed, without a gap or a double.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use agentx_runtime::{BoxFuture, EventCursor, Fact, RuntimeError};
use agentx_types::SessionId;
use agentx_types::wire::{Problem, Seen, WireView};

use super::replay::{Replay, ReplayShare};
use super::{Feed, FeedRead, FeedSlot, Frame, Lens, SubscriptionFilter};

/// Where facts are read from.
pub trait FactSource: Send + Sync {
    /// Up to `limit` facts of the session after `after_seq`.
    fn facts(&self, after_seq: u64, limit: usize) -> BoxFuture<'static, Result<Vec<Fact>, RuntimeError>>;

    /// A lens to begin with that has seen no fact after `seq`.
    fn lens(&self, view: WireView, seq: u64) -> Lens;

    /// Keeps a lens for later readers.
    fn keep(&self, lens: Lens);
}

/// Where a reader begins.
#[derive(Clone, Debug)]
pub struct FeedStart {
    /// The session.
    pub session: SessionId,
    /// In which view.
    pub view: WireView,
    /// All up to here is known to the reader.
    pub after: EventCursor,
    /// The last event of the session; up to here is what was there when it began.
    pub head: u64,
    /// What is wanted of it; `None` for all.
    pub only: Option<SubscriptionFilter>,
}

/// What a reader has to hand on.
#[derive(Debug, PartialEq)]
pub enum FeedItem {
    /// Frames were moved to where the caller wanted them.
    Frames,
    /// All that was there at the start has been handed on, up to this `seq`.
    CaughtUp(u64),
    /// It took too long to get rid of what it had.
    Overrun,
    /// There will be no more.
    Ended(Problem),
}

/// One reader of one session.
pub struct FeedReader {
    feed: Arc<Feed>,
    slot: Arc<FeedSlot>,
    start: FeedStart,
    /// All up to here was handed on.
    has: EventCursor,
    /// All facts up to here were looked at for it.
    through: u64,
    caught_up: bool,
    /// `None` once it takes part in the feed.
    replay: Option<Replay>,
}

impl FeedReader {
    /// A reader that begins at `start`; what it needs of the log it reads when it is its turn.
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

    /// Its place in the feed.
    pub fn slot(&self) -> &Arc<FeedSlot> {
        &self.slot
    }

    /// How far it has come, where it is handed only a part and has come further than where it began.
    pub fn seen(&self) -> Option<Seen> {
        let is_news = self.start.only.is_some() && self.through > self.start.after.seq;
        is_news.then(|| Seen {
            session_id: self.start.session.clone(),
            seq: self.through,
        })
    }

    /// Where it began.
    pub fn start(&self) -> &FeedStart {
        &self.start
    }

    /// Moves about `bytes` bytes of frames, and at most `frames` of them, into `out`; waits where there is nothing to hand on.
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

    /// The next frames; see [`FeedReader::poll_next`].
    pub async fn next(&mut self, limits: (usize, usize), out: &mut Vec<Frame>) -> FeedItem {
        std::future::poll_fn(|cx| self.poll_next(cx, limits, out)).await
    }

    /// Takes part in the feed, if it has all that comes after what the log had.
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
            Err(mark) => replay.go_on_to(mark, &self.start.session),
        }
    }

    /// What the feed has; `None` where that was nothing for this reader.
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
