//! One reader of one session: first from the log, at its own pace, then from the feed, without a gap or a double.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use agentx_runtime::{BoxFuture, Fact, LogError, RuntimeError};
use agentx_types::SessionId;
use agentx_types::wire::{Problem, Seen, WireView};

use super::{Encoder, Feed, Frame, Lens, Only, Place, Slot, Taken};

/// How many facts are read at once, where they are small.
const PAGE: usize = 1024;
/// How many bytes of frames a page of facts should become.
const PAGE_BYTES: usize = 1 << 20;
/// How many facts are looked at before others get a turn.
const TURN: usize = 256;

/// Where facts are read from.
pub trait Source: Send + Sync {
    /// Up to `limit` facts of the session after `after_seq`.
    fn facts(&self, after_seq: u64, limit: usize) -> BoxFuture<'static, Result<Vec<Fact>, RuntimeError>>;

    /// A lens to begin with that has seen no fact after `seq`.
    fn lens(&self, view: WireView, seq: u64) -> Lens;

    /// Keeps a lens for later readers.
    fn keep(&self, lens: Lens);
}

/// Where a reader begins.
#[derive(Clone, Debug)]
pub struct Start {
    /// Which session.
    pub session: SessionId,
    /// In which view.
    pub view: WireView,
    /// All up to here is known to the reader.
    pub after: Place,
    /// The last event of the session; up to here is what was there when it began.
    pub head: u64,
    /// What is wanted of it; `None` for all.
    pub only: Option<Only>,
}

/// What a reader has to hand on.
#[derive(Debug, PartialEq)]
pub enum Step {
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
pub struct Reader {
    feed: Arc<Feed>,
    slot: Arc<Slot>,
    start: Start,
    /// All up to here was handed on.
    has: Place,
    /// All facts up to here were looked at for it.
    through: u64,
    caught_up: bool,
    /// `None` once it takes part in the feed.
    replay: Option<Box<Replay>>,
}

impl Reader {
    /// A reader that begins at `start`.
    pub fn new(feed: Arc<Feed>, source: Arc<dyn Source>, start: Start) -> Self {
        let slot = Arc::new(Slot::default());
        let replay = feed.join(start.after, &slot).is_err();
        Self {
            replay: replay.then(|| Box::new(Replay::new(source, &start))),
            feed,
            slot,
            has: start.after,
            through: 0,
            caught_up: false,
            start,
        }
    }

    /// Its place in the feed.
    pub fn slot(&self) -> &Arc<Slot> {
        &self.slot
    }

    /// How far it has come, where it is handed only a part and has come further than where it began.
    pub fn seen(&self) -> Option<Seen> {
        let is_news = self.start.only.is_some() && self.through > self.start.after.0;
        is_news.then(|| Seen {
            session_id: self.start.session.clone(),
            seq: self.through,
        })
    }

    /// Where it began.
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// Moves about `bytes` bytes of frames, and at most `frames` of them, into `out`; waits where there is nothing to hand on.
    pub fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        limits: (usize, usize),
        out: &mut Vec<Frame>,
    ) -> Poll<Step> {
        loop {
            if let Some(problem) = self.slot.ended() {
                return Poll::Ready(Step::Ended(problem.clone()));
            }
            if !self.caught_up && self.through >= self.start.head {
                self.caught_up = true;
                return Poll::Ready(Step::CaughtUp(self.start.head));
            }
            let Some(replay) = &mut self.replay else {
                match ready!(self.poll_live(cx, limits, out)) {
                    Some(step) => return Poll::Ready(step),
                    None => continue,
                }
            };
            match ready!(replay.poll(cx, (&mut self.has, self.start.only.as_ref()), limits.1, out)) {
                Err(error) => return Poll::Ready(Step::Ended(Problem::from(&error))),
                Ok(true) => return Poll::Ready(Step::Frames),
                Ok(false) if self.through < replay.at() => self.through = replay.at(),
                Ok(false) => {
                    if let Err(error) = self.go_live() {
                        return Poll::Ready(Step::Ended(Problem::from(&error)));
                    }
                }
            }
        }
    }

    /// The next frames; see [`Reader::poll_next`].
    pub async fn next(&mut self, limits: (usize, usize), out: &mut Vec<Frame>) -> Step {
        std::future::poll_fn(|cx| self.poll_next(cx, limits, out)).await
    }

    /// Takes part in the feed, if it has all that comes after what the log had.
    fn go_live(&mut self) -> Result<(), RuntimeError> {
        let Some(replay) = &mut self.replay else {
            return Ok(());
        };
        let has = self.has.max((replay.at(), u32::MAX));
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
    ) -> Poll<Option<Step>> {
        if !self.slot.take_news(cx.waker()) {
            return Poll::Pending;
        }
        let before = out.len();
        let taken = self
            .feed
            .take((&self.slot, self.start.only.as_ref()), &mut self.has, limits, out);
        let step = (out.len() > before).then_some(Step::Frames);
        Poll::Ready(match taken {
            Taken::Some => {
                self.slot.more();
                step
            }
            Taken::All(mark) => {
                self.through = self.through.max(mark);
                step
            }
            Taken::Overrun => Some(Step::Overrun),
            Taken::Ended(problem) => Some(Step::Ended(problem)),
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.feed.leave(&self.slot);
    }
}

type Page = BoxFuture<'static, Result<Vec<Fact>, RuntimeError>>;

/// The part that is read from the log.
struct Replay {
    source: Arc<dyn Source>,
    lens: Lens,
    encoder: Encoder,
    /// Up to here it goes.
    upto: u64,
    facts: VecDeque<Fact>,
    /// The page that is being read: it follows what is in `facts`.
    next: Option<Page>,
    /// How many facts the next page has.
    page: usize,
    /// How many bytes the last one became.
    bytes: usize,
    /// The log has less than it was said to.
    is_short: bool,
}

impl Replay {
    fn new(source: Arc<dyn Source>, start: &Start) -> Self {
        // An event of which a part is known is derived again, and what is known of it passed over.
        let known = match start.after {
            (seq, u32::MAX) => seq,
            (seq, _) => seq.saturating_sub(1),
        };
        let mut lens = source.lens(start.view, known);
        lens.skip_to(known);
        Self {
            source,
            lens,
            encoder: Encoder::default(),
            upto: start.head,
            facts: VecDeque::new(),
            next: None,
            page: PAGE,
            bytes: 0,
            is_short: false,
        }
    }

    fn at(&self) -> u64 {
        self.lens.at()
    }

    /// There is more by now.
    fn go_on_to(&mut self, mark: u64, session: &SessionId) -> Result<(), RuntimeError> {
        self.upto = self.upto.max(mark);
        if !self.is_short {
            return Ok(());
        }
        let error = LogError::Corrupt {
            session: session.clone(),
            seq: self.at() + 1,
            what: format!("it is missing, though event {mark} is there"),
        };
        Err(error.into())
    }

    /// Looks at what is there. `Ok(true)`: there are frames, and perhaps more to come; `Ok(false)`: it is where it was to go.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        (has, only): (&mut Place, Option<&Only>),
        bytes: usize,
        out: &mut Vec<Frame>,
    ) -> Poll<Result<bool, RuntimeError>> {
        let before = out.len();
        if self.facts.is_empty() {
            self.read_on();
            let Some(next) = &mut self.next else {
                return Poll::Ready(Ok(false));
            };
            let facts = ready!(next.as_mut().poll(cx))?;
            self.next = None;
            self.take_page(facts);
        }
        // While a page is looked at, the next one is read.
        self.read_on();
        if let Some(next) = &mut self.next
            && let Poll::Ready(facts) = next.as_mut().poll(cx)
        {
            self.next = Some(Box::pin(std::future::ready(facts)));
        }
        self.look((has, only), bytes, out);
        if out.len() > before {
            return Poll::Ready(Ok(true));
        }
        // Nothing to show, but a turn's worth of work.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn read_on(&mut self) {
        let after = self.facts.back().map_or(self.at(), |fact| fact.seq);
        if self.next.is_none() && after < self.upto && !self.is_short {
            self.next = Some(self.source.facts(after, self.page));
        }
    }

    fn take_page(&mut self, facts: Vec<Fact>) {
        self.is_short = facts.is_empty();
        let fit = self.page.saturating_mul(PAGE_BYTES).checked_div(self.bytes);
        self.page = fit.unwrap_or(self.page).clamp(16, PAGE);
        self.bytes = 0;
        self.facts = facts.into();
        // What came after the end is the feed's to say.
        self.facts
            .truncate(self.facts.partition_point(|fact| fact.seq <= self.upto));
    }

    /// Looks at a turn's worth of facts.
    fn look(&mut self, (has, only): (&mut Place, Option<&Only>), bytes: usize, out: &mut Vec<Frame>) {
        let mut size = 0;
        for _ in 0..TURN {
            if size >= bytes {
                break;
            }
            let Some(fact) = self.facts.pop_front() else { break };
            if fact.seq < has.0 || *has == (fact.seq, u32::MAX) {
                self.lens.pass(&fact);
                continue;
            }
            self.lens.look(&fact, &mut self.encoder, |frame| {
                if frame.place > *has {
                    *has = frame.place;
                    if only.is_none_or(|only| only.wants(&frame)) {
                        size += frame.text.len();
                        out.push(frame);
                    }
                }
            });
        }
        self.bytes += size;
    }
}
