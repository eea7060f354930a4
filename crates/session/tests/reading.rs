//! The session reader: however its source is cut, overlaps, repeats or arrives too early, each event comes
//! once and in order, and the reader reports once that it has caught up, at the right position.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::VecDeque;
use std::sync::Arc;

use agentx_session::{
    Delivery, EventCursor, Fact, Gap, LiveContent, PastRequest, ReaderStep, SessionFold, SessionReader,
    SourceItem, SourceStart, View,
};
use agentx_testing::{LogBuilder, fixture};
use proptest::prelude::*;

/// Everything in a test ends before this.
const STEPS: usize = 100_000;

/// The events of a session, and the number of those that have happened.
struct World {
    facts: Vec<Fact>,
    /// Facts and their derived events, as they are published.
    published: Vec<SourceItem>,
    committed: usize,
}

impl World {
    fn new() -> Self {
        let log = LogBuilder::opened(fixture::config());
        let log = log
            .user("read it")
            .calls("call_1", "read", serde_json::json!({ "path": "a" }));
        let log = log.result("call_1", "text").answer("it says text").user("well");
        let facts = log.answer("yes").user("go on").answer("no").build();
        let mut fold = SessionFold::new(fixture::session_id());
        let mut published = Vec::new();
        for fact in &facts {
            published.push(SourceItem::Fact(fact.clone()));
            let derived = fold.apply(fact);
            let events = derived.events.into_iter().map(Arc::new);
            published.extend(events.map(SourceItem::Derived));
        }
        Self {
            facts,
            published,
            committed: 1,
        }
    }

    fn len(&self) -> u64 {
        self.facts.len() as u64
    }

    fn commit(&mut self, count: usize) {
        self.committed = (self.committed + count).min(self.facts.len());
    }

    /// Returns the state of the session after a fact.
    fn fold(&self, seq: u64) -> Box<SessionFold> {
        let mut fold = Box::new(SessionFold::new(fixture::session_id()));
        for fact in self.facts.iter().filter(|fact| fact.seq <= seq) {
            fold.advance(fact);
        }
        fold
    }

    /// Returns the deliveries to a reader that begins after `start`, up to the fact `end`.
    fn expected(&self, view: View, start: EventCursor, end: u64) -> Vec<(EventCursor, String)> {
        let all = self.published.iter().filter_map(|heard| match (view, heard) {
            (View::Environment, SourceItem::Fact(fact)) => told(&Delivery::Environment(fact.clone())),
            (View::Runtime, SourceItem::Derived(event)) => told(&Delivery::Runtime(event.clone())),
            _ => None,
        });
        all.filter(|(position, _)| *position > start && position.seq <= end)
            .collect()
    }
}

fn told(delivery: &Delivery) -> Option<(EventCursor, String)> {
    match delivery {
        Delivery::Environment(fact) => {
            let text = serde_json::to_string(&**fact).unwrap();
            Some((EventCursor::after(fact.seq), text))
        }
        Delivery::Runtime(event) => Some((
            EventCursor::of(&**event),
            serde_json::to_string(&**event).unwrap(),
        )),
        Delivery::CaughtUp(_) | Delivery::CutOff(_) => None,
    }
}

/// The kinds of sources.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// A log, and a bus with the events that are committed to it.
    Bus,
    /// A log that is polled.
    Polled,
    /// A server, which sends facts.
    Server,
    /// A subscription, which is renewed if it is cut off.
    Subscription,
}

impl Kind {
    fn brings(self) -> LiveContent {
        match self {
            Self::Bus | Self::Subscription => LiveContent::Derived,
            Self::Polled | Self::Server => LiveContent::Facts,
        }
    }
}

/// Random choices. When they are used up, nothing bad happens any more.
struct Tape(std::vec::IntoIter<u8>);

impl Tape {
    /// A number below `below`; 0 at the end.
    fn below(&mut self, below: usize) -> usize {
        usize::from(self.0.next().unwrap_or(0)) % below.max(1)
    }

    /// Returns whether an event with the probability of one in so many happens.
    fn once_in(&mut self, many: usize) -> bool {
        self.below(many) == many - 1
    }
}

/// The source of a reader, at its worst.
struct Source {
    kind: Kind,
    world: World,
    tape: Tape,
    /// The live items, up to the position from which all later events are added.
    queue: VecDeque<SourceItem>,
    /// The number of published events in the queue.
    queued: usize,
    /// The number of events that arrive too early: they arrive again in order, and only then may an event
    /// come twice.
    early: usize,
    /// The last items of the source.
    last: Vec<SourceItem>,
    /// The end of the log, as a polled source reported it last.
    known: u64,
    /// The end of the log that the source reported when it began.
    head: Option<u64>,
}

impl Source {
    fn begin(&mut self, reading: &SessionReader) -> SourceStart {
        self.queue.clear();
        self.last.clear();
        self.early = 0;
        let commits = self.tape.below(8);
        let begun = self.published(self.world.committed);
        self.world.commit(commits);
        let head = self.world.committed as u64;
        match self.kind {
            Kind::Bus => {
                // It may begin among the derived events of a fact.
                self.queued = begun - self.tape.below(begun + 1);
                self.head.get_or_insert(head);
                SourceStart::Log(head)
            }
            Kind::Polled => {
                self.known = head;
                self.head.get_or_insert(head);
                SourceStart::Log(head)
            }
            Kind::Server => self.begin_server(reading, head),
            Kind::Subscription => {
                let known = usize::try_from(reading.overlap().min(head)).unwrap();
                let known = known - self.tape.below(known + 1);
                self.queued = self.published(self.world.committed);
                self.queue
                    .extend(self.published_in(self.published(known)..self.queued));
                self.queue.push_back(SourceItem::CaughtUp(head));
                SourceStart::Stream {
                    head: None,
                    fold: None,
                }
            }
        }
    }

    fn begin_server(&mut self, reading: &SessionReader, head: u64) -> SourceStart {
        let mut known = reading.overlap().min(head);
        let start = reading.position().whole().min(head);
        let knows = reading.view() == View::Runtime && start > reading.known() && self.tape.once_in(2);
        let fold = knows.then(|| self.world.fold(start));
        if knows {
            known = start;
        }
        // Events that others requested come in between; then the events come in order, some of them again.
        let (early, count) = (self.tape.below(self.world.committed), self.tape.below(6));
        let early = early..(early + count).min(self.world.committed);
        self.early = early.len();
        self.queue.extend(self.facts_in(early));
        let known = usize::try_from(known).unwrap();
        let from = known - self.tape.below(known + 1);
        self.queue.extend(self.facts_in(from..self.world.committed));
        self.queued = self.published(self.world.committed);
        self.head.get_or_insert(head);
        SourceStart::Stream {
            head: Some(head),
            fold,
        }
    }

    fn facts_in(&self, range: std::ops::Range<usize>) -> Vec<SourceItem> {
        let facts = self.world.facts.get(range).unwrap_or_default();
        facts.iter().cloned().map(SourceItem::Fact).collect()
    }

    fn published_in(&self, range: std::ops::Range<usize>) -> Vec<SourceItem> {
        self.world.published.get(range).unwrap_or_default().to_vec()
    }

    /// Returns the number of published events of the first `facts` facts.
    fn published(&self, facts: usize) -> usize {
        let published = self.world.published.iter().enumerate();
        let mut begins = published.filter(|(_, heard)| matches!(heard, SourceItem::Fact(_)));
        begins.nth(facts).map_or(self.world.published.len(), |(at, _)| at)
    }

    fn read(&mut self, wanted: PastRequest, reading: &mut SessionReader) {
        let after = match wanted {
            PastRequest::Fold(upto) => {
                let before = self.tape.below(usize::try_from(upto).unwrap() + 1) as u64;
                return reading.folded(self.world.fold(upto - before));
            }
            PastRequest::Facts(after) => usize::try_from(after).unwrap(),
        };
        // The log may have grown meanwhile.
        let commits = self.tape.below(3);
        self.world.commit(commits);
        let upto = (after + 1 + self.tape.below(4)).min(self.world.committed);
        let again = after - self.tape.below(after.min(3) + 1);
        reading.page(self.world.facts.get(again..upto).unwrap().to_vec());
    }

    /// Returns the next item; `None` if nothing more happens.
    fn hear(&mut self) -> Option<SourceItem> {
        if self.kind == Kind::Polled {
            let commits = self.tape.below(8).max(1);
            self.world.commit(commits);
            let head = self.world.committed as u64;
            return (std::mem::replace(&mut self.known, head) < head).then_some(SourceItem::Log(head));
        }
        if self.tape.once_in(16) {
            self.queue.clear();
            return Some(SourceItem::Cut);
        }
        if self.tape.once_in(8) {
            // It goes back, and brings the last few again.
            let again = self.tape.below(self.last.len() + 1);
            for heard in self.last.drain(self.last.len() - again..).rev() {
                self.queue.push_front(heard);
            }
        }
        while self.queue.is_empty() {
            let is_all = self.world.committed == self.world.facts.len();
            let commits = self.tape.below(4).max(1);
            self.world.commit(commits);
            let new = self.queued..self.published(self.world.committed);
            self.queued = new.end;
            let is_wanted =
                |heard: &SourceItem| self.kind != Kind::Server || matches!(heard, SourceItem::Fact(_));
            self.queue = self.published_in(new).into_iter().filter(is_wanted).collect();
            if is_all {
                break;
            }
        }
        let heard = self.queue.pop_front()?;
        match self.early.checked_sub(1) {
            Some(early) => self.early = early,
            None => self.last.push(heard.clone()),
        }
        if let (SourceItem::CaughtUp(head), None) = (&heard, self.head) {
            self.head = Some(*head);
        }
        Some(heard)
    }
}

/// A reader, and everything that it got.
struct Reader {
    view: View,
    start: EventCursor,
    to_the_end: bool,
    given: Vec<(EventCursor, String)>,
    caught_up: Option<u64>,
}

impl Reader {
    fn reading(&self, kind: Kind, after: EventCursor) -> SessionReader {
        let reading = SessionReader::new(self.view, kind.brings(), after);
        if self.to_the_end {
            reading.to_the_end()
        } else {
            reading
        }
    }

    fn take(&mut self, delivery: &Delivery, source: &Source) {
        if let Delivery::CaughtUp(head) = delivery {
            assert_eq!(self.caught_up.replace(*head), None, "said twice");
            assert_eq!(Some(*head), source.head, "what was there when it began");
            let expected = source.world.expected(self.view, self.start, *head);
            assert_eq!(self.given.len(), expected.len(), "up to {head}");
        }
        self.given.extend(told(delivery));
    }
}

/// Follows a session to its end, and compares.
fn check(kind: Kind, mut reader: Reader, choices: Vec<u8>) {
    let mut source = Source {
        kind,
        world: World::new(),
        tape: Tape(choices.into_iter()),
        queue: VecDeque::new(),
        queued: 0,
        early: 0,
        last: Vec::new(),
        known: 0,
        head: None,
    };
    let mut reading = reader.reading(kind, reader.start);
    for step in 0.. {
        assert!(step < STEPS, "it goes round in circles");
        match reading.step() {
            ReaderStep::Deliver(delivery) => {
                reader.take(&delivery, &source);
                if source.tape.once_in(24) {
                    // A reader that restarts at its position continues with the next event.
                    reading = reader.reading(kind, reading.position());
                    (source.head, reader.caught_up) = (None, None);
                }
            }
            ReaderStep::Begin => {
                let began = source.begin(&reading);
                reading.source_began(began);
            }
            ReaderStep::Read(wanted) => source.read(wanted, &mut reading),
            ReaderStep::Wait => match source.hear() {
                Some(heard) => reading.feed(heard),
                None => break,
            },
            ReaderStep::End => break,
            ReaderStep::Missing(gap) => panic!("{gap}"),
            ReaderStep::WentBack(_, seq) => panic!("event {seq} is not the same"),
        }
    }
    let Some(head) = reader.caught_up else {
        panic!("it has not caught up");
    };
    let end = if reader.to_the_end {
        head
    } else {
        source.world.len()
    };
    let expected = source.world.expected(reader.view, reader.start, end);
    assert_eq!(reader.given, expected);
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Bus),
        Just(Kind::Polled),
        Just(Kind::Server),
        Just(Kind::Subscription)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn each_event_comes_once_and_in_order_whatever_is_cut_or_comes_again(
        kind in kind(),
        in_runtime in any::<bool>(),
        start in (0..36u64, prop_oneof![3 => Just(u32::MAX), 1 => 0..3u32]),
        to_the_end in proptest::bool::weighted(0.2),
        choices in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let view = if in_runtime { View::Runtime } else { View::Environment };
        // A fact has no parts.
        let start = if in_runtime { EventCursor::from(start) } else { EventCursor::after(start.0) };
        let reader = Reader { view, start, to_the_end, given: Vec::new(), caught_up: None };
        check(kind, reader, choices);
    }
}

#[test]
fn a_fact_that_is_missing_is_named() {
    let world = World::new();
    let is_named = |mut reading: SessionReader| {
        let ReaderStep::Missing(gap) = reading.step() else {
            panic!("nothing is missing");
        };
        assert_eq!(gap, Gap { first: 3, last: 4 });
        assert_eq!(gap.to_string(), "the events 3 to 4 did not come");
    };
    let new = |view| SessionReader::new(view, LiveContent::Facts, EventCursor::after(2));
    let mut reading = new(View::Environment);
    reading.source_began(SourceStart::Log(6));
    reading.page(world.facts[4..].to_vec());
    is_named(reading);

    let mut reading = new(View::Environment);
    reading.source_began(SourceStart::Log(2));
    assert!(matches!(
        reading.step(),
        ReaderStep::Deliver(Delivery::CaughtUp(2))
    ));
    assert!(matches!(reading.step(), ReaderStep::Wait));
    reading.feed(SourceItem::Fact(world.facts[4].clone()));
    is_named(reading);

    let mut reading = new(View::Runtime);
    reading.source_began(SourceStart::Log(6));
    assert!(matches!(reading.step(), ReaderStep::Read(PastRequest::Fold(2))));
    reading.folded(world.fold(4));
    is_named(reading);
}

#[test]
fn a_log_that_has_less_than_it_says_is_read_to_its_end() {
    for view in [View::Environment, View::Runtime] {
        let world = World::new();
        let mut reading = SessionReader::new(view, LiveContent::Facts, EventCursor::after(0)).to_the_end();
        reading.source_began(SourceStart::Log(world.len() + 5));
        let mut caught_up = None;
        loop {
            match reading.step() {
                ReaderStep::Deliver(Delivery::CaughtUp(seq)) => caught_up = Some(seq),
                ReaderStep::Deliver(_) => {}
                ReaderStep::Read(PastRequest::Fold(upto)) => reading.folded(world.fold(upto)),
                ReaderStep::Read(PastRequest::Facts(after)) => {
                    let page = world.facts.iter().filter(|fact| fact.seq > after);
                    reading.page(page.cloned().collect());
                }
                ReaderStep::Begin
                | ReaderStep::Wait
                | ReaderStep::End
                | ReaderStep::Missing(_)
                | ReaderStep::WentBack(..) => break,
            }
        }
        assert_eq!(caught_up, Some(world.len()), "{view:?}");
    }
}

/// A reader that has everything up to the fact `seen`, and whose source was cut.
fn cut_after(world: &World, (view, brings): (View, LiveContent), seen: u64) -> SessionReader {
    let mut reading = SessionReader::new(view, brings, EventCursor::after(0));
    let fold = (brings == LiveContent::Facts).then(|| world.fold(0));
    reading.source_began(SourceStart::Stream { head: None, fold });
    for heard in heard_of(world, brings, 0, seen) {
        reading.feed(heard);
        while matches!(reading.step(), ReaderStep::Deliver(_)) {}
    }
    reading.feed(SourceItem::Cut);
    assert!(matches!(reading.step(), ReaderStep::Begin));
    reading
}

/// Returns the items of a source for the facts after `after`, up to `upto`.
fn heard_of(world: &World, brings: LiveContent, after: u64, upto: u64) -> Vec<SourceItem> {
    let all = world.published.iter().filter(|heard| match heard {
        SourceItem::Fact(fact) => brings == LiveContent::Facts && fact.seq > after && fact.seq <= upto,
        SourceItem::Derived(event) => {
            brings == LiveContent::Derived && event.seq > after && event.seq <= upto
        }
        _ => false,
    });
    all.cloned().collect()
}

/// The events of a log that lost the events after `kept` and then got others.
fn written_anew(world: &World, kept: u64) -> World {
    let later = |at: &mut agentx_types::Timestamp, seq: u64| at.0 += if seq > kept { 5 } else { 0 };
    let mut other = World::new();
    other.committed = world.committed;
    for heard in &mut other.published {
        match heard {
            SourceItem::Fact(fact) => {
                let fact = Arc::make_mut(fact);
                later(&mut fact.at, fact.seq);
            }
            SourceItem::Derived(event) => {
                let event = Arc::make_mut(event);
                later(&mut event.at, event.seq);
            }
            _ => {}
        }
    }
    other
}

const WAYS: [(View, LiveContent); 3] = [
    (View::Environment, LiveContent::Facts),
    (View::Runtime, LiveContent::Facts),
    (View::Runtime, LiveContent::Derived),
];

#[test]
fn a_log_that_went_back_is_found_out_before_anything_of_it_is_handed_on() {
    let world = World::new();
    for way in WAYS {
        for (kept, there) in [(3, world.len()), (7, world.len()), (7, 7), (3, 5)] {
            let other = written_anew(&world, kept);
            let mut reading = cut_after(&world, way, 8);
            let after = reading.overlap();
            assert_eq!(after, 7, "{way:?}: one event more than what is wanted");
            let head = (way.1 == LiveContent::Facts).then_some(there);
            reading.source_began(SourceStart::Stream { head, fold: None });
            let mut heard = heard_of(&other, way.1, after, there);
            heard.push(SourceItem::CaughtUp(there));
            for heard in heard {
                if !matches!(reading.step(), ReaderStep::Wait) {
                    break;
                }
                reading.feed(heard);
            }
            let ReaderStep::WentBack(session, seq) = reading.step() else {
                panic!("{way:?}: kept up to {kept} of {there}");
            };
            assert_eq!((session, seq), (fixture::session_id(), 8));
        }
    }
}

#[test]
fn a_log_that_lost_nothing_is_gone_on_with() {
    let world = World::new();
    for way in WAYS {
        let mut reading = cut_after(&world, way, 8);
        let after = reading.overlap();
        reading.source_began(SourceStart::Stream {
            head: None,
            fold: None,
        });
        for heard in heard_of(&world, way.1, after, world.len()) {
            reading.feed(heard);
            while matches!(reading.step(), ReaderStep::Deliver(_)) {}
        }
        assert!(matches!(reading.step(), ReaderStep::Wait), "{way:?}");
        assert_eq!(reading.position().seq, world.len(), "{way:?}");
    }
}

#[test]
fn a_reader_that_brings_its_last_fact_begins_only_where_the_log_has_it() {
    let world = World::new();
    for (there, is_same) in [(&world, true), (&written_anew(&world, 3), false)] {
        let new = SessionReader::new(View::Environment, LiveContent::Facts, EventCursor::after(5));
        let mut reading = new.after_fact(world.facts[4].clone());
        assert_eq!(reading.overlap(), 4);
        reading.source_began(SourceStart::Stream {
            head: Some(world.len()),
            fold: None,
        });
        for heard in heard_of(there, LiveContent::Facts, 4, 6) {
            reading.feed(heard);
        }
        match reading.step() {
            ReaderStep::Deliver(Delivery::Environment(fact)) => assert!(is_same && fact.seq == 6),
            ReaderStep::WentBack(_, seq) => assert!(!is_same && seq == 5),
            step => panic!("{step:?}"),
        }
    }
}
