//! Reads a session from the log and then live, each event exactly once and in order. All followers use it:
//! chats, scripts, mirrors, agent streams. It does no I/O.

mod event_cursor;
mod last_seen;
mod source;
mod stage;
mod view;

use std::collections::VecDeque;
use std::sync::Arc;

use agentx_types::{Envelope, RuntimeEvent};

use crate::SessionFold;

pub use event_cursor::EventCursor;
use last_seen::{EventOrder, LastSeen};
pub use source::{Gap, LiveContent, PastRequest, ReaderStep, SourceItem, SourceStart};
use stage::{CaughtUp, ReaderStage, follows, position};
pub use view::{Delivery, Fact, View};

/// A session as one reader sees it: first the log, then live events.
///
/// It keeps a position, ignores events that it has seen, folds facts if the source brings no derived events,
/// returns to the log after a cut, and reports once that it has caught up. It does no I/O. Its methods are of
/// three kinds:
///
/// - [`step`](Self::step) returns the next thing to do. Call it until it requests something from outside.
/// - [`source_began`](Self::source_began), [`page`](Self::page), [`folded`](Self::folded) and
///   [`feed`](Self::feed) supply what it requested, and nothing else. Events that come twice, or again after
///   a cut, are ignored. A missing fact makes the next step `Missing`. If the last event returns with other
///   content, the log was rolled back (`WentBack`).
/// - [`position`](Self::position), [`known`](Self::known), [`overlap`](Self::overlap) and
///   [`fold`](Self::fold) describe its state.
///
/// Each event after the start position is therefore delivered once and in order, even if the source is cut or
/// repeats events, and [`Delivery::CaughtUp`] comes once, after the last event that existed when the source
/// began. One that is begun at [`position`](Self::position) instead continues with the very next event.
///
/// ```
/// use agentx_session::{SourceStart, LiveContent, Delivery, Fact, EventCursor, SessionReader, SessionFold, ReaderStep, View, PastRequest};
///
/// /// What a log says that nobody writes.
/// fn read(log: &[Fact], after: u64, view: View) -> Vec<Delivery> {
///     let mut reading = SessionReader::new(view, LiveContent::Facts, EventCursor::after(after)).to_the_end();
///     let mut read = Vec::new();
///     loop {
///         match reading.step() {
///             ReaderStep::Deliver(delivery) => read.push(delivery),
///             ReaderStep::Begin => reading.source_began(SourceStart::Log(log.len() as u64)),
///             ReaderStep::Read(PastRequest::Fold(_)) => reading.folded(Box::new(SessionFold::new("ses_1".into()))),
///             ReaderStep::Read(PastRequest::Facts(after)) => {
///                 let after = log.iter().filter(|fact| fact.seq > after);
///                 reading.page(after.cloned().collect())
///             }
///             ReaderStep::Wait | ReaderStep::End | ReaderStep::Missing(_) | ReaderStep::WentBack(..) => return read,
///         }
///     }
/// }
/// assert_eq!(read(&[], 0, View::Runtime).len(), 1, "it has caught up");
/// ```
pub struct SessionReader {
    view: View,
    brings: LiveContent,
    stage: ReaderStage,
    caught_up: CaughtUp,
    /// Whether the reader continues after it has caught up.
    follows: bool,
    /// The position up to which the reader took events in.
    taken: EventCursor,
    /// The position up to which it delivered events.
    delivered: EventCursor,
    /// The last incoming event.
    seen: LastSeen,
    /// The fold of the session, if this reader derives the meaning of facts.
    fold: Option<Box<SessionFold>>,
    /// The rest of the current page of the log.
    page: std::vec::IntoIter<Fact>,
    ready: VecDeque<Delivery>,
}

impl SessionReader {
    /// A session in one view, from after a place, from a source that brings this while it is live.
    pub fn new(view: View, brings: LiveContent, after: EventCursor) -> Self {
        Self {
            view,
            brings,
            stage: ReaderStage::Cut,
            caught_up: CaughtUp::Unknown,
            follows: true,
            taken: after,
            delivered: after,
            seen: LastSeen::default(),
            fold: None,
            page: Vec::new().into_iter(),
            ready: VecDeque::new(),
        }
    }

    /// Ends the reading once it has caught up.
    #[must_use]
    pub fn to_the_end(mut self) -> Self {
        self.follows = false;
        self
    }

    /// Begins after a fact that the reader has: the source has to have it too.
    #[must_use]
    pub fn after_fact(mut self, fact: Fact) -> Self {
        self.seen.fact(&fact);
        self
    }

    /// Returns the next step.
    pub fn step(&mut self) -> ReaderStep {
        loop {
            if let Some(delivery) = self.ready.pop_front() {
                self.delivered = position(&delivery).unwrap_or(self.delivered);
                return ReaderStep::Deliver(delivery);
            }
            if self.process_page() {
                continue;
            }
            if let CaughtUp::At(head) = self.caught_up
                && self.taken.whole() >= head
            {
                self.caught_up = CaughtUp::Said;
                return ReaderStep::Deliver(Delivery::CaughtUp(head));
            }
            if self.caught_up == CaughtUp::Said && !self.follows {
                return ReaderStep::End;
            }
            match self.stage {
                ReaderStage::Cut => return ReaderStep::Begin,
                ReaderStage::Log(head) if self.taken.whole() < head => {
                    return ReaderStep::Read(self.wanted());
                }
                ReaderStage::Log(_) => self.go_live(),
                ReaderStage::Live { .. } if self.derives() && self.fold.is_none() => {
                    return ReaderStep::Read(self.wanted());
                }
                ReaderStage::Live { .. } => return ReaderStep::Wait,
                ReaderStage::Broken(gap) => return ReaderStep::Missing(gap),
                ReaderStage::WentBack => {
                    return match self.seen.place() {
                        Some((session, seq)) => ReaderStep::WentBack(session, seq),
                        None => ReaderStep::End,
                    };
                }
            }
        }
    }

    /// Records that the source has begun, or has begun again.
    pub fn source_began(&mut self, began: SourceStart) {
        let (stage, head, fold) = match began {
            SourceStart::Log(head) => (ReaderStage::Log(head), Some(head), None),
            SourceStart::Stream { head, fold } => (ReaderStage::Live { in_step: false }, head, fold),
        };
        self.stage = stage;
        self.seen.set_awaited(matches!(stage, ReaderStage::Live { .. }));
        if head.is_some_and(|head| self.seen.is_after(head)) {
            self.stage = ReaderStage::WentBack;
            return;
        }
        if let (Some(head), CaughtUp::Unknown) = (head, self.caught_up) {
            self.caught_up = CaughtUp::At(head);
        }
        if let Some(fold) = fold {
            self.folded(fold);
        }
    }

    /// Handles the facts of the log after the requested one, in order; an empty list if it has no more.
    pub fn page(&mut self, facts: Vec<Fact>) {
        let ReaderStage::Log(head) = self.stage else {
            return;
        };
        let before = self.known();
        let mut known = before;
        for fact in facts.iter().filter(|fact| fact.seq <= head) {
            match follows(known, fact) {
                Ok(seq) => known = seq.max(known),
                Err(gap) => {
                    self.stage = ReaderStage::Broken(gap);
                    return;
                }
            }
        }
        if known == before {
            // The log has fewer facts than it reported.
            if let CaughtUp::At(_) = self.caught_up {
                self.caught_up = CaughtUp::At(self.taken.whole());
            }
            self.go_live();
        }
        self.page = facts.into_iter();
    }

    /// Handles the requested state of the session.
    pub fn folded(&mut self, fold: Box<SessionFold>) {
        let wanted = self.taken.whole();
        let is_of_use = self.fold.is_none() || fold.last_seq() > self.known();
        if fold.last_seq() > wanted {
            let (first, last) = (wanted + 1, fold.last_seq());
            self.stage = ReaderStage::Broken(Gap { first, last });
        } else if self.derives() && is_of_use {
            // The next fact follows the fold, not the last event that came.
            self.seen = LastSeen::default();
            self.fold = Some(fold);
        }
    }

    /// Handles an item of the source.
    pub fn feed(&mut self, heard: SourceItem) {
        match heard {
            SourceItem::Fact(fact) => self.fact(&fact),
            SourceItem::Derived(event) => self.meaning(event),
            SourceItem::Log(head) => self.stage = ReaderStage::Log(head),
            SourceItem::CaughtUp(_) if self.seen.is_missing() => self.stage = ReaderStage::WentBack,
            SourceItem::CaughtUp(head) => {
                if self.caught_up != CaughtUp::Said {
                    self.caught_up = CaughtUp::Said;
                    self.ready.push_back(Delivery::CaughtUp(head));
                }
            }
            SourceItem::Cut => {
                self.stage = ReaderStage::Cut;
                self.page = Vec::new().into_iter();
            }
        }
    }

    /// Everything up to here was delivered, or is not wanted.
    pub fn position(&self) -> EventCursor {
        if self.ready.is_empty() {
            self.taken
        } else {
            self.delivered
        }
    }

    /// Returns the last fact that the source no longer needs to bring: the later facts suffice for everything
    /// requested.
    pub fn known(&self) -> u64 {
        if self.derives() {
            self.fold.as_ref().map_or(0, |fold| fold.last_seq())
        } else {
            self.taken.whole()
        }
    }

    /// The `seq` after which a new stream has to begin. It overlaps by one event, by which the reader detects
    /// a rolled-back log.
    pub fn overlap(&self) -> u64 {
        let known = self.known();
        let last = self.seen.place();
        last.map_or(known, |(_, seq)| known.min(seq.saturating_sub(1)))
    }

    /// The state of the session, if this reader derives the events from facts at the moment.
    pub fn fold(&self) -> Option<&SessionFold> {
        self.fold.as_deref()
    }

    /// The view that it has of the session.
    pub fn view(&self) -> View {
        self.view
    }

    /// Returns whether the reader is cut off: its source has to begin, or to begin again.
    pub fn is_cut(&self) -> bool {
        self.stage == ReaderStage::Cut
    }

    /// Returns whether events are derived here from facts: always, or only while the log is read.
    fn derives(&self) -> bool {
        let is_live = !matches!(self.stage, ReaderStage::Log(_));
        self.view == View::Runtime && !(self.brings == LiveContent::Derived && is_live)
    }

    /// The next thing to read from the log: the state of the session, if facts are folded here, then the
    /// facts after it.
    fn wanted(&self) -> PastRequest {
        if self.derives() && self.fold.is_none() {
            PastRequest::Fold(self.taken.whole())
        } else {
            PastRequest::Facts(self.known())
        }
    }

    /// Continues with the source, once the log was read to its end.
    fn go_live(&mut self) {
        self.stage = ReaderStage::Live { in_step: true };
        if self.brings == LiveContent::Derived {
            // Facts are no longer folded here, so the state will soon be out of date.
            self.fold = None;
        }
    }

    /// Processes the next fact of the page. Returns whether there was one.
    fn process_page(&mut self) -> bool {
        let ReaderStage::Log(head) = self.stage else {
            return false;
        };
        // The source brings the facts after the end.
        let Some(fact) = self.page.next().filter(|fact| fact.seq <= head) else {
            self.page = Vec::new().into_iter();
            return false;
        };
        if fact.seq > self.known() {
            self.process_fact(&fact);
        }
        true
    }

    /// Handles a derived event that the source brings.
    fn meaning(&mut self, event: Arc<Envelope<RuntimeEvent>>) {
        if self.view != View::Runtime || self.brings != LiveContent::Derived {
            return;
        }
        match self.seen.receive_event(&event) {
            EventOrder::Early => return,
            EventOrder::Other => {
                self.stage = ReaderStage::WentBack;
                return;
            }
            EventOrder::Good => {}
        }
        if self.taken.advance_to(EventCursor::of(&event)) {
            self.seen.meaning(&event);
            self.ready.push_back(Delivery::Runtime(event));
        }
    }

    /// Handles a fact that the source brings. One that leaves a gap breaks the reading, unless the source
    /// then brings the missing facts.
    fn fact(&mut self, fact: &Fact) {
        let ReaderStage::Live { in_step } = self.stage else {
            return;
        };
        if self.view == View::Runtime && self.brings == LiveContent::Derived {
            // A fact is published before its derived events: so all derived events of earlier facts have
            // come.
            self.taken
                .advance_to(EventCursor::after(fact.seq.saturating_sub(1)));
            return;
        }
        match self.seen.receive_fact(fact) {
            EventOrder::Early => return,
            EventOrder::Other => {
                self.stage = ReaderStage::WentBack;
                return;
            }
            EventOrder::Good => {}
        }
        match follows(self.known(), fact) {
            Ok(seq) if seq <= self.known() => {}
            Ok(_) => {
                self.stage = ReaderStage::Live { in_step: true };
                self.process_fact(fact);
            }
            // It comes again, after the requested facts.
            Err(_) if !in_step => {}
            Err(gap) => self.stage = ReaderStage::Broken(gap),
        }
    }

    /// Applies the fact after the last known one.
    fn process_fact(&mut self, fact: &Fact) {
        let after = EventCursor::after(fact.seq);
        if self.view == View::Environment {
            self.seen.fact(fact);
            self.taken.advance_to(after);
            self.ready.push_back(Delivery::Environment(fact.clone()));
            return;
        }
        // The state was requested before any fact.
        let Some(fold) = &mut self.fold else { return };
        if self.brings == LiveContent::Facts {
            self.seen.fact(fact);
        }
        if after <= self.taken {
            return fold.advance(fact);
        }
        let derived = fold.apply(fact);
        let is_new = |event: &Envelope<RuntimeEvent>| EventCursor::of(event) > self.taken;
        let events = derived.events.into_iter().filter(is_new);
        self.ready
            .extend(events.map(|event| Delivery::Runtime(Arc::new(event))));
        self.taken.advance_to(after);
    }
}
