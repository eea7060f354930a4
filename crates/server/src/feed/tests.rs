//! Tests feeds without a server: where readers join, what is kept, and any mix of publishing and reading,
//! compared with the log.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;

use agentx_runtime::{BoxFuture, Fact, RuntimeError};
use agentx_types::wire::WireView;
use agentx_types::{
    Envelope, EnvironmentEvent, EventDraft, SessionId, Source as From, TextChunk, Timestamp, UserMessage,
};
use proptest::prelude::*;

use super::*;

fn session() -> SessionId {
    SessionId::new("ses_1")
}

fn fact(seq: u64, size: usize) -> Fact {
    let event = TextChunk {
        text: "x".repeat(size),
    };
    let draft: EventDraft<EnvironmentEvent> = EventDraft::new(From::Environment, None, event);
    Arc::new(draft.into_envelope(session(), seq, Timestamp(1)))
}

/// A log that has these facts, and more later.
#[derive(Default)]
struct Log {
    facts: Mutex<Vec<Fact>>,
    /// The number of pages that were read.
    pages: AtomicUsize,
}

impl Log {
    fn add(&self, size: usize) -> Fact {
        let mut facts = self.facts.lock().unwrap();
        let fact = fact(facts.len() as u64 + 1, size);
        facts.push(fact.clone());
        fact
    }

    fn len(&self) -> u64 {
        self.facts.lock().unwrap().len() as u64
    }
}

impl FactSource for Log {
    fn facts(&self, after_seq: u64, limit: usize) -> BoxFuture<'static, Result<Vec<Fact>, RuntimeError>> {
        self.pages.fetch_add(1, Ordering::Relaxed);
        let facts = self.facts.lock().unwrap();
        let page = facts.iter().filter(|fact| fact.seq > after_seq).take(limit);
        let page: Vec<Fact> = page.cloned().collect();
        Box::pin(async move { Ok(page) })
    }

    fn fold(&self, view: WireView, _: u64) -> ViewFold {
        ViewFold::new(&session(), &"own_1".into(), view)
    }

    fn keep(&self, _: ViewFold) {}
}

struct World {
    log: Arc<Log>,
    feed: Arc<Feed>,
    encoder: FrameEncoder,
}

impl World {
    fn new(before: usize, bounds: FeedBounds) -> Self {
        let log = Arc::new(Log::default());
        (0..before).for_each(|_| drop(log.add(10)));
        Self {
            feed: Arc::new(Feed::new(log.len(), bounds)),
            log,
            encoder: FrameEncoder::default(),
        }
    }

    fn publish(&mut self, count: usize, size: usize) -> usize {
        let mut frames = Vec::new();
        for _ in 0..count {
            let fact = self.log.add(size);
            frames.extend(self.encoder.frame(&*fact));
        }
        self.feed.publish(&mut frames, self.log.len())
    }

    fn reader(&self, after: u64) -> FeedReader {
        let start = FeedStart {
            session: session(),
            view: WireView::Environment,
            after: EventCursor::after(after),
            head: self.log.len(),
            only: None,
        };
        FeedReader::new(
            self.feed.clone(),
            (self.log.clone(), ReplayShare::default()),
            start,
        )
    }
}

/// The positions that a reader has, and its other items.
fn read(reader: &mut FeedReader, seen: &mut Vec<u64>, limit: usize) -> Option<FeedItem> {
    let mut cx = Context::from_waker(Waker::noop());
    let mut frames = Vec::new();
    // A reader that has nothing says so twice: a turn without a frame is not the end.
    for _ in 0..4 {
        if let Poll::Ready(step) = reader.poll_next(&mut cx, (limit, 1 << 20), &mut frames) {
            seen.extend(frames.iter().map(|frame: &Frame| frame.place.seq));
            return Some(step);
        }
    }
    None
}

fn read_all(reader: &mut FeedReader) -> (Vec<u64>, Vec<FeedItem>) {
    let (mut seen, mut steps) = (Vec::new(), Vec::new());
    while let Some(step) = read(reader, &mut seen, 7) {
        let is_last = matches!(step, FeedItem::Overrun | FeedItem::Ended(_));
        steps.extend((step != FeedItem::Frames).then_some(step));
        if is_last {
            break;
        }
    }
    (seen, steps)
}

use std::task::{Context, Poll};

const BOUNDS: FeedBounds = FeedBounds {
    frames: 1000,
    bytes: 1 << 20,
};

#[test]
fn a_frame_knows_its_tag() {
    let message = UserMessage {
        message_id: "msg_1".into(),
        content: vec![agentx_types::ContentPart::text(",\"event\":\"no\"")],
        mode: Default::default(),
        idempotency_key: None,
        by: None,
        answer_schema: None,
    };
    let draft: EventDraft<EnvironmentEvent> =
        EventDraft::new(From::User, Some(",\"event\":\"no\"".into()), message);
    let envelope: Envelope<EnvironmentEvent> = draft.into_envelope(session(), 3, Timestamp(1));
    let frame = FrameEncoder::default().frame(&envelope).unwrap();
    assert_eq!((frame.tag(), frame.place), ("user_message", (3, 0).into()));
}

#[test]
fn replay_then_live_is_one_stream() {
    let mut world = World::new(2500, BOUNDS);
    let mut reader = world.reader(0);
    let mut seen = Vec::new();
    read(&mut reader, &mut seen, 100);
    world.publish(5, 10);
    let (rest, steps) = read_all(&mut reader);
    seen.extend(rest);
    world.publish(3, 10);
    seen.extend(read_all(&mut reader).0);
    assert_eq!(seen, (1..=2508).collect::<Vec<_>>());
    assert_eq!(steps, [FeedItem::CaughtUp(2500)]);
}

#[test]
fn who_comes_back_soon_is_served_without_the_log() {
    let mut world = World::new(10, BOUNDS);
    world.publish(20, 10);
    world.log.facts.lock().unwrap().clear();
    let mut reader = FeedReader::new(
        world.feed.clone(),
        (world.log.clone(), ReplayShare::default()),
        FeedStart {
            session: session(),
            view: WireView::Environment,
            after: EventCursor::after(15),
            head: 30,
            only: None,
        },
    );
    let (seen, steps) = read_all(&mut reader);
    assert_eq!(seen, (16..=30).collect::<Vec<_>>());
    assert_eq!(steps, [FeedItem::CaughtUp(30)]);
}

#[test]
fn a_slow_reader_is_overrun_alone() {
    let bounds = FeedBounds {
        frames: 50,
        bytes: 1 << 20,
    };
    let mut world = World::new(1, bounds);
    let (mut slow, mut fast) = (world.reader(1), world.reader(1));
    read_all(&mut slow);
    let mut seen = Vec::new();
    let mut overrun = 0;
    for _ in 0..20 {
        overrun += world.publish(5, 10);
        seen.extend(read_all(&mut fast).0);
    }
    assert_eq!(overrun, 1, "told once");
    assert_eq!(seen, (2..=101).collect::<Vec<_>>());
    assert!(slow.slot().is_overrun());
    assert_eq!(read_all(&mut slow).1, [FeedItem::Overrun]);
}

#[test]
fn what_waits_is_bounded_in_bytes_and_one_frame_always_fits() {
    let bounds = FeedBounds {
        frames: 1000,
        bytes: 5000,
    };
    let mut world = World::new(1, bounds);
    let mut reader = world.reader(1);
    assert_eq!(world.publish(1, 20_000), 0);
    assert_eq!(read_all(&mut reader).0, [2]);
    assert_eq!(world.publish(2, 20_000), 1);
}

#[test]
fn what_everybody_has_is_not_kept() {
    let mut world = World::new(1, BOUNDS);
    let mut reader = world.reader(1);
    for _ in 0..100 {
        world.publish(10, 1000);
        read_all(&mut reader);
    }
    let ring = world.feed.lock();
    assert!(ring.bytes < TAIL_BYTES + 20_000, "{}", ring.bytes);
}

#[test]
fn the_end_comes_after_what_there_is() {
    let mut world = World::new(1, BOUNDS);
    let mut reader = world.reader(1);
    world.publish(10, 10);
    world.feed.end(*crate::problems::problem("gone", "it was closed"));
    let (seen, steps) = read_all(&mut reader);
    assert_eq!(seen, (2..=11).collect::<Vec<_>>());
    assert!(
        matches!(&steps[..], [FeedItem::CaughtUp(1), FeedItem::Ended(problem)] if problem.code == "gone")
    );
}

#[test]
fn who_may_read_no_longer_gets_nothing_more() {
    let mut world = World::new(1, BOUNDS);
    let mut reader = world.reader(1);
    world.publish(10, 10);
    reader
        .slot()
        .end(*crate::problems::problem("no_session", "no session"));
    let (seen, steps) = read_all(&mut reader);
    assert_eq!((seen.len(), steps.len()), (0, 1));
}

#[test]
fn a_part_of_an_event_is_gone_on_with() {
    let world = World::new(20, BOUNDS);
    let start = |after| FeedStart {
        session: session(),
        view: WireView::Environment,
        after,
        head: 20,
        only: None,
    };
    let mut reader = FeedReader::new(
        world.feed.clone(),
        (world.log.clone(), ReplayShare::default()),
        start((15, 0).into()),
    );
    assert_eq!(read_all(&mut reader).0, (16..=20).collect::<Vec<_>>());
}

fn said(seq: u64, agent: Option<&str>, event: impl Into<EnvironmentEvent>) -> Frame {
    let draft: EventDraft<EnvironmentEvent> =
        EventDraft::new(From::Environment, agent.map(Into::into), event);
    let envelope = draft.into_envelope(session(), seq, Timestamp(1));
    FrameEncoder::default().frame(&envelope).unwrap()
}

#[test]
fn a_part_is_handed_on_and_what_is_left_out_was_seen() {
    let text = |text: &str| TextChunk { text: text.into() };
    let thought = || agentx_types::ThinkingChunk { text: "hm".into() };
    let title = agentx_types::SessionTitled {
        title: "Lunch".into(),
        by: None,
    };
    let feed = Arc::new(Feed::new(0, BOUNDS));
    let reader = |agents: &[&str], media: &[&str]| {
        let agents = agents.iter().map(|agent| (*agent).into()).collect();
        let media = media.iter().map(|medium| (*medium).to_owned().into()).collect();
        let start = FeedStart {
            session: session(),
            view: WireView::Environment,
            after: EventCursor::after(0),
            head: 0,
            only: SubscriptionFilter::of(agents, media).unwrap(),
        };
        FeedReader::new(
            feed.clone(),
            (Arc::new(Log::default()), ReplayShare::default()),
            start,
        )
    };
    let mut readers = [
        reader(&[], &[]),
        reader(&["agt_1"], &[]),
        reader(&[], &["thinking"]),
        reader(&["agt_2"], &["text"]),
    ];
    let mut frames = vec![
        said(1, Some("agt_1"), text("one")),
        said(2, Some("agt_2"), text("two")),
        said(3, Some("agt_1"), thought()),
        said(4, None, title),
    ];
    feed.publish(&mut frames, 5);
    let seen = readers.each_mut().map(|reader| read_all(reader).0);
    assert_eq!(seen, [vec![1, 2, 3, 4], vec![1, 3, 4], vec![3, 4], vec![2, 4]]);
    let through = readers
        .each_ref()
        .map(|reader| reader.seen().map(|seen| seen.seq));
    assert_eq!(
        through,
        [None, Some(5), Some(5), Some(5)],
        "also past what is in no view"
    );
    assert!(SubscriptionFilter::of(vec!["agt".into(); 257], vec![]).is_err());
}

#[test]
fn a_part_is_chosen_from_the_log_too() {
    let world = World::new(1500, BOUNDS);
    let mut start = world.reader(0).start().clone();
    start.only = SubscriptionFilter::of(Vec::new(), vec![Medium::Audio]).unwrap();
    let mut reader = FeedReader::new(
        world.feed.clone(),
        (world.log.clone(), ReplayShare::default()),
        start,
    );
    let mut steps = Vec::new();
    // Each turn without a frame is a wake-up more.
    for _ in 0..20 {
        let mut seen = Vec::new();
        steps.extend(read(&mut reader, &mut seen, 100));
        assert_eq!(seen, [0; 0], "it is all text");
    }
    assert_eq!(steps, [FeedItem::CaughtUp(1500)]);
    assert_eq!(reader.seen().map(|seen| seen.seq), Some(1500));
}

#[test]
fn many_readers_of_a_large_event_share_its_bytes() {
    let log = Arc::new(Log::default());
    for size in [10, page_cache::LARGE, 10] {
        log.add(size);
    }
    let feed = Arc::new(Feed::new(log.len(), BOUNDS));
    let share = ReplayShare::default();
    let read = || {
        let start = FeedStart {
            session: session(),
            view: WireView::Environment,
            after: EventCursor::after(0),
            head: log.len(),
            only: None,
        };
        let mut reader = FeedReader::new(feed.clone(), (log.clone(), share.clone()), start);
        let mut cx = Context::from_waker(Waker::noop());
        let mut frames = Vec::new();
        while reader.poll_next(&mut cx, (100, 1 << 20), &mut frames) != Poll::Ready(FeedItem::CaughtUp(3)) {}
        frames
    };
    let first = read();
    assert_eq!(first.len(), 3);
    for _ in 0..60 {
        let next = read();
        assert_eq!(next, first);
        assert_eq!(next[1].text.as_ptr(), first[1].text.as_ptr(), "not encoded again");
    }
    assert_eq!(log.pages.load(Ordering::Relaxed), 1, "nor read again");
}

#[derive(Clone, Debug)]
enum Happening {
    Publish(usize),
    Read(usize),
    ReadAll(usize),
    Come(u8),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => (1..40usize).prop_map(Happening::Publish),
        3 => (0..8usize).prop_map(Happening::Read),
        2 => (0..8usize).prop_map(Happening::ReadAll),
        1 => any::<u8>().prop_map(Happening::Come),
    ]
}

/// A reader, and all that it was given.
struct Follower {
    reader: FeedReader,
    seen: Vec<u64>,
    after: u64,
    is_over: bool,
}

impl Follower {
    fn note(&mut self, step: Option<FeedItem>) {
        if matches!(step, Some(FeedItem::Overrun | FeedItem::Ended(_))) {
            self.is_over = true;
        }
    }
}

proptest! {
    #[test]
    fn nobody_misses_anything_or_gets_it_twice(
        before in prop_oneof![3 => 0..40usize, 1 => 1000..1100usize],
        steps in proptest::collection::vec(happening(), 1..120),
    ) {
        let mut world = World::new(before.max(1), FeedBounds { frames: 60, bytes: 1 << 20 });
        let mut followers: Vec<Follower> = Vec::new();
        for step in steps {
            match step {
                Happening::Publish(count) => drop(world.publish(count, 10)),
                Happening::Come(part) if followers.len() < 8 => {
                    let after = world.log.len() * u64::from(part) / 255;
                    followers.push(Follower { reader: world.reader(after), seen: Vec::new(), after, is_over: false });
                }
                Happening::Come(_) => {}
                Happening::Read(who) => {
                    if let Some(follower) = followers.get_mut(who).filter(|follower| !follower.is_over) {
                        let step = read(&mut follower.reader, &mut follower.seen, 5);
                        follower.note(step);
                    }
                }
                Happening::ReadAll(who) => {
                    if let Some(follower) = followers.get_mut(who).filter(|follower| !follower.is_over) {
                        let (seen, mut steps) = read_all(&mut follower.reader);
                        follower.seen.extend(seen);
                        follower.note(steps.pop());
                    }
                }
            }
        }
        for follower in &mut followers {
            let end = follower.after + follower.seen.len() as u64;
            prop_assert_eq!(&follower.seen, &(follower.after + 1..=end).collect::<Vec<_>>());
            if !follower.is_over {
                let (rest, steps) = read_all(&mut follower.reader);
                let is_over = steps.contains(&FeedItem::Overrun);
                prop_assert!(is_over || end + rest.len() as u64 == world.log.len(), "all of it");
            }
        }
    }
}
