//! Following a session without any I/O: the log, then what happens, each event once and in order. Every follower runs this: of a session
//! of this process, of another one's log, of a server, an ear of a script, a stream of an agent.

mod position;
mod seen;
mod source;
mod stage;
mod view;

use std::collections::VecDeque;
use std::sync::Arc;

use agentx_types::{Envelope, RuntimeEvent};

use crate::SessionFold;

pub use position::Position;
use seen::{Met, Seen};
pub use source::{Began, Brings, Gap, Heard, Step, Wanted};
use stage::{CaughtUp, Stage, follows, position};
pub use view::{Delivery, Fact, View};

/// A session as one reader sees it: the log, then what happens.
///
/// It keeps a place, passes over what was seen, folds facts to their meaning where nobody else has done so, goes back to the log
/// after a cut, and says once that it has caught up. It does no I/O. Its methods are of three kinds:
///
/// - [`step`](Self::step) says what is to be done next. It is asked until it wants something from outside.
/// - [`begins`](Self::begins), [`page`](Self::page), [`folded`](Self::folded) and [`hear`](Self::hear) give it that, and
///   nothing that it did not ask for. What is given twice, or comes again after a cut, is passed over.
///   Where a fact is missing all the same, the source is broken, and the next step says so. Where the last event that came is
///   another one when it comes again, the log went back, and the next step says that.
/// - [`position`](Self::position), [`known`](Self::known), [`overlap`](Self::overlap) and [`fold`](Self::fold) say where it stands.
///
/// So each event after the place where it began is delivered once and in order, wherever the source is cut and whatever it
/// brings again, and [`Delivery::CaughtUp`] comes once, after the last event that was there when the source began. One that is
/// begun at [`position`](Self::position) instead continues with the very next event.
///
/// ```
/// use agentx_session::{Began, Brings, Delivery, Fact, Position, Reading, SessionFold, Step, View, Wanted};
///
/// /// What a log says that nobody writes.
/// fn read(log: &[Fact], after: u64, view: View) -> Vec<Delivery> {
///     let mut reading = Reading::new(view, Brings::Facts, Position::after(after)).to_the_end();
///     let mut read = Vec::new();
///     loop {
///         match reading.step() {
///             Step::Deliver(delivery) => read.push(delivery),
///             Step::Begin => reading.begins(Began::Log(log.len() as u64)),
///             Step::Read(Wanted::Fold(_)) => reading.folded(Box::new(SessionFold::new("ses_1".into()))),
///             Step::Read(Wanted::Facts(after)) => {
///                 let after = log.iter().filter(|fact| fact.seq > after);
///                 reading.page(after.cloned().collect())
///             }
///             Step::Hear | Step::End | Step::Missing(_) | Step::WentBack(..) => return read,
///         }
///     }
/// }
/// assert_eq!(read(&[], 0, View::Runtime).len(), 1, "it has caught up");
/// ```
pub struct Reading {
    view: View,
    brings: Brings,
    stage: Stage,
    caught_up: CaughtUp,
    /// Whether more is wanted than what was there when it began.
    goes_on: bool,
    /// Everything up to here was taken in.
    taken: Position,
    /// Everything up to here was handed on, where something is ready.
    given: Position,
    /// The last event that came.
    seen: Seen,
    /// How the session stands, where what facts mean is derived here.
    fold: Option<Box<SessionFold>>,
    /// What the log said and was not looked at yet.
    page: std::vec::IntoIter<Fact>,
    ready: VecDeque<Delivery>,
}

impl Reading {
    /// A session in one view, from after a place, from a source that brings this while it is live.
    pub fn new(view: View, brings: Brings, after: Position) -> Self {
        Self {
            view,
            brings,
            stage: Stage::Cut,
            caught_up: CaughtUp::Unknown,
            goes_on: true,
            taken: after,
            given: after,
            seen: Seen::default(),
            fold: None,
            page: Vec::new().into_iter(),
            ready: VecDeque::new(),
        }
    }

    /// This reading, ending where it has caught up: what comes later is not wanted.
    #[must_use]
    pub fn to_the_end(mut self) -> Self {
        self.goes_on = false;
        self
    }

    /// This reading, which begins after a fact that the reader has: the source has to have it too.
    #[must_use]
    pub fn after_fact(mut self, fact: Fact) -> Self {
        self.seen.fact(&fact);
        self
    }

    /// What is to be done next.
    pub fn step(&mut self) -> Step {
        loop {
            if let Some(delivery) = self.ready.pop_front() {
                self.given = position(&delivery).unwrap_or(self.given);
                return Step::Deliver(delivery);
            }
            if self.look_at_page() {
                continue;
            }
            if let CaughtUp::At(head) = self.caught_up
                && self.taken.whole() >= head
            {
                self.caught_up = CaughtUp::Said;
                return Step::Deliver(Delivery::CaughtUp(head));
            }
            if self.caught_up == CaughtUp::Said && !self.goes_on {
                return Step::End;
            }
            match self.stage {
                Stage::Cut => return Step::Begin,
                Stage::Log(head) if self.taken.whole() < head => return Step::Read(self.wanted()),
                Stage::Log(_) => self.go_live(),
                Stage::Live { .. } if self.derives() && self.fold.is_none() => {
                    return Step::Read(self.wanted());
                }
                Stage::Live { .. } => return Step::Hear,
                Stage::Broken(gap) => return Step::Missing(gap),
                Stage::WentBack => {
                    return match self.seen.place() {
                        Some((session, seq)) => Step::WentBack(session, seq),
                        None => Step::End,
                    };
                }
            }
        }
    }

    /// The source has begun, or has begun again.
    pub fn begins(&mut self, began: Began) {
        let (stage, head, fold) = match began {
            Began::Log(head) => (Stage::Log(head), Some(head), None),
            Began::Stream { head, fold } => (Stage::Live { in_step: false }, head, fold),
        };
        self.stage = stage;
        self.seen.is_awaited(matches!(stage, Stage::Live { .. }));
        if head.is_some_and(|head| self.seen.is_after(head)) {
            self.stage = Stage::WentBack;
            return;
        }
        if let (Some(head), CaughtUp::Unknown) = (head, self.caught_up) {
            self.caught_up = CaughtUp::At(head);
        }
        if let Some(fold) = fold {
            self.folded(fold);
        }
    }

    /// What the log has after the fact that was asked for, in order; nothing where it has no more.
    pub fn page(&mut self, facts: Vec<Fact>) {
        let Stage::Log(head) = self.stage else { return };
        let before = self.known();
        let mut known = before;
        for fact in facts.iter().filter(|fact| fact.seq <= head) {
            match follows(known, fact) {
                Ok(seq) => known = seq.max(known),
                Err(gap) => {
                    self.stage = Stage::Broken(gap);
                    return;
                }
            }
        }
        if known == before {
            // There is less in it than it said.
            if let CaughtUp::At(_) = self.caught_up {
                self.caught_up = CaughtUp::At(self.taken.whole());
            }
            self.go_live();
        }
        self.page = facts.into_iter();
    }

    /// How the session stood, as it was asked for.
    pub fn folded(&mut self, fold: Box<SessionFold>) {
        let wanted = self.taken.whole();
        let is_of_use = self.fold.is_none() || fold.last_seq() > self.known();
        if fold.last_seq() > wanted {
            let (first, last) = (wanted + 1, fold.last_seq());
            self.stage = Stage::Broken(Gap { first, last });
        } else if self.derives() && is_of_use {
            // What comes now follows it, and not the last event that came.
            self.seen = Seen::default();
            self.fold = Some(fold);
        }
    }

    /// What the source brings.
    pub fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Fact(fact) => self.fact(&fact),
            Heard::Meaning(event) => self.meaning(event),
            Heard::Log(head) => self.stage = Stage::Log(head),
            Heard::CaughtUp(_) if self.seen.is_missing() => self.stage = Stage::WentBack,
            Heard::CaughtUp(head) => {
                if self.caught_up != CaughtUp::Said {
                    self.caught_up = CaughtUp::Said;
                    self.ready.push_back(Delivery::CaughtUp(head));
                }
            }
            Heard::Cut => {
                self.stage = Stage::Cut;
                self.page = Vec::new().into_iter();
            }
        }
    }

    /// Everything up to here was handed on, or is not wanted.
    pub fn position(&self) -> Position {
        if self.ready.is_empty() {
            self.taken
        } else {
            self.given
        }
    }

    /// The last fact that needs to be brought no more: with those after it, everything wanted can be delivered.
    pub fn known(&self) -> u64 {
        if self.derives() {
            self.fold.as_ref().map_or(0, |fold| fold.last_seq())
        } else {
            self.taken.whole()
        }
    }

    /// After which fact a stream that begins has to bring facts: it overlaps by one event with what came, where anything came.
    /// By that event it is known whether the log is the same.
    pub fn overlap(&self) -> u64 {
        let known = self.known();
        let last = self.seen.place();
        last.map_or(known, |(_, seq)| known.min(seq.saturating_sub(1)))
    }

    /// How the session stands, where what facts mean is derived here at the moment.
    pub fn fold(&self) -> Option<&SessionFold> {
        self.fold.as_deref()
    }

    /// The view that it has of the session.
    pub fn view(&self) -> View {
        self.view
    }

    /// Whether the source is to begin, or to begin again.
    pub fn is_cut(&self) -> bool {
        self.stage == Stage::Cut
    }

    /// Whether facts are folded to what they mean: always, or while the log is read.
    fn derives(&self) -> bool {
        let is_live = !matches!(self.stage, Stage::Log(_));
        self.view == View::Runtime && !(self.brings == Brings::Meaning && is_live)
    }

    /// The next thing to read of the log: how the session stood, where facts are folded here, then the facts
    /// behind it.
    fn wanted(&self) -> Wanted {
        if self.derives() && self.fold.is_none() {
            Wanted::Fold(self.taken.whole())
        } else {
            Wanted::Facts(self.known())
        }
    }

    /// Goes on with what the source brings, once the log was read to its end.
    fn go_live(&mut self) {
        self.stage = Stage::Live { in_step: true };
        if self.brings == Brings::Meaning {
            // What comes is not folded here, so how it stood is soon of no use.
            self.fold = None;
        }
    }

    /// Looks at the next fact of the page. Whether there was one.
    fn look_at_page(&mut self) -> bool {
        let Stage::Log(head) = self.stage else {
            return false;
        };
        // What came after the end is the source's to bring.
        let Some(fact) = self.page.next().filter(|fact| fact.seq <= head) else {
            self.page = Vec::new().into_iter();
            return false;
        };
        if fact.seq > self.known() {
            self.look_at(&fact);
        }
        true
    }

    /// Takes what a fact means, as the source brings it.
    fn meaning(&mut self, event: Arc<Envelope<RuntimeEvent>>) {
        if self.view != View::Runtime || self.brings != Brings::Meaning {
            return;
        }
        match self.seen.meet_meaning(&event) {
            Met::Early => return,
            Met::Other => {
                self.stage = Stage::WentBack;
                return;
            }
            Met::Good => {}
        }
        if self.taken.moves_to(Position::of(&event)) {
            self.seen.meaning(&event);
            self.ready.push_back(Delivery::Runtime(event));
        }
    }

    /// Takes a fact that the source brings. One that leaves a gap breaks the reading, unless the source comes
    /// again with what is missing.
    fn fact(&mut self, fact: &Fact) {
        let Stage::Live { in_step } = self.stage else {
            return;
        };
        if self.view == View::Runtime && self.brings == Brings::Meaning {
            // A fact is published before what it means: here, the meaning of all before it has come.
            self.taken.moves_to(Position::after(fact.seq.saturating_sub(1)));
            return;
        }
        match self.seen.meet_fact(fact) {
            Met::Early => return,
            Met::Other => {
                self.stage = Stage::WentBack;
                return;
            }
            Met::Good => {}
        }
        match follows(self.known(), fact) {
            Ok(seq) if seq <= self.known() => {}
            Ok(_) => {
                self.stage = Stage::Live { in_step: true };
                self.look_at(fact);
            }
            // It comes again, after those that were asked for.
            Err(_) if !in_step => {}
            Err(gap) => self.stage = Stage::Broken(gap),
        }
    }

    /// Takes the fact after the last known one.
    fn look_at(&mut self, fact: &Fact) {
        let after = Position::after(fact.seq);
        if self.view == View::Environment {
            self.seen.fact(fact);
            self.taken.moves_to(after);
            self.ready.push_back(Delivery::Environment(fact.clone()));
            return;
        }
        // It was asked for first.
        let Some(fold) = &mut self.fold else { return };
        if self.brings == Brings::Facts {
            self.seen.fact(fact);
        }
        if after <= self.taken {
            return fold.advance(fact);
        }
        let derived = fold.apply(fact);
        let is_new = |event: &Envelope<RuntimeEvent>| Position::of(event) > self.taken;
        let events = derived.events.into_iter().filter(is_new);
        self.ready
            .extend(events.map(|event| Delivery::Runtime(Arc::new(event))));
        self.taken.moves_to(after);
    }
}
