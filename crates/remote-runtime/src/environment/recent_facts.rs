//! The last facts of a session, with its state before them: a reader that begins there needs nothing from the
//! server that it sent before.
//!
//! At most 8,192 facts of 8 MiB are kept; beyond that the older half is forgotten, and folded into the state
//! before them if that is known.

use std::collections::VecDeque;

use agentx_runtime::{Fact, SessionFold};

/// The maximum number of facts to keep of a session.
const FACTS: usize = 8192;
/// The maximum size of these facts, in bytes.
const BYTES: usize = 8 << 20;

/// The last facts of a session.
#[derive(Default)]
pub(super) struct RecentFacts {
    /// The state of the session before them, if it is known.
    fold: Option<SessionFold>,
    /// The place of the fact before the first one; `None` before any.
    start: Option<u64>,
    facts: VecDeque<(Fact, usize)>,
    bytes: usize,
}

/// The start of a reader.
pub(crate) struct Snapshot {
    /// The state of the session before the facts, if the reader needs it.
    pub(crate) fold: Option<SessionFold>,
    /// All facts after the state, or after those that the reader has, in order.
    pub(crate) facts: Vec<Fact>,
}

impl RecentFacts {
    /// Keeps a fact, unless it is here or was. No event has the number 0, so such a fact is not kept.
    pub(super) fn add(&mut self, fact: &Fact, bytes: usize) {
        let next = self.head().map(|head| head + 1);
        if next.is_some_and(|next| fact.seq < next) {
            return;
        }
        let Some(before) = fact.seq.checked_sub(1) else {
            return;
        };
        if next != Some(fact.seq) {
            *self = Self {
                start: Some(before),
                ..Self::default()
            };
        }
        self.facts.push_back((fact.clone(), bytes));
        self.bytes += bytes;
        if self.facts.len() > FACTS || self.bytes > BYTES {
            let half = |recent: &Self| recent.facts.len() <= FACTS / 2 && recent.bytes <= BYTES / 2;
            while !half(self) && self.facts.len() > 1 {
                self.forget_first();
            }
        }
    }

    /// Forgets the oldest fact, and moves the state behind it.
    fn forget_first(&mut self) {
        let Some((fact, bytes)) = self.facts.pop_front() else {
            return;
        };
        self.bytes -= bytes;
        self.start = Some(fact.seq);
        if let Some(fold) = &mut self.fold {
            fold.advance(&fact);
        }
    }

    /// Keeps the state of the session at some point, with which later facts can be folded. Returns whether it
    /// was useful.
    pub(super) fn remember(&mut self, fold: &SessionFold) -> bool {
        if self.fold.is_some() {
            return true;
        }
        let seq = fold.last_seq();
        let start = *self.start.get_or_insert(seq);
        if seq < start || self.head().is_none_or(|head| seq > head) {
            return false;
        }
        while self.start < Some(seq) {
            self.forget_first();
        }
        self.fold = Some(fold.clone());
        true
    }

    /// The last fact that is kept; `None` before any came.
    fn head(&self) -> Option<u64> {
        self.start.map(|start| start + self.facts.len() as u64)
    }

    /// Returns the start of a reader of everything after `after_seq`; `None` if it is not here.
    pub(super) fn snapshot(&self, after_seq: u64, with_fold: bool) -> Option<Snapshot> {
        let start = self.start.filter(|start| *start <= after_seq)?;
        self.head().filter(|head| after_seq <= *head)?;
        let first = if with_fold { start } else { after_seq };
        if with_fold && self.fold.is_none() {
            return None;
        }
        let facts = self.facts.iter().skip(usize::try_from(first - start).ok()?);
        Some(Snapshot {
            fold: self.fold.clone().filter(|_| with_fold),
            facts: facts.map(|(fact, _)| fact.clone()).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use agentx_testing::{LogBuilder, fixture};

    use super::*;

    fn log(answers: usize) -> Vec<Fact> {
        let log = LogBuilder::opened(fixture::config());
        (0..answers)
            .fold(log, |log, _| log.user("hi").answer("hello"))
            .build()
    }

    #[test]
    fn what_was_forgotten_is_in_the_fold() {
        let facts = log(4_000);
        let mut recent = RecentFacts::default();
        assert!(recent.remember(&SessionFold::new(fixture::session_id())));
        for fact in &facts {
            recent.add(fact, 100);
        }
        let last = facts.len() as u64;
        assert!(recent.snapshot(0, true).is_none(), "so much is not kept");
        let Snapshot { fold, facts: kept } = recent.snapshot(last - 10, true).unwrap();
        let mut fold = fold.unwrap();
        for fact in &kept {
            fold.advance(fact);
        }
        assert!(fold == whole(&facts));
        assert_eq!(recent.snapshot(last - 10, false).unwrap().facts.len(), 10);
        assert!(recent.snapshot(last + 1, false).is_none());
    }

    fn whole(facts: &[Fact]) -> SessionFold {
        let mut whole = SessionFold::new(fixture::session_id());
        for fact in facts {
            whole.advance(fact);
        }
        whole
    }

    #[test]
    fn an_event_with_the_number_zero_is_not_kept() {
        let facts = log(1);
        let mut recent = RecentFacts::default();
        let mut zero = (*facts[0]).clone();
        zero.seq = 0;
        recent.add(&Fact::new(zero), 100);
        assert!(recent.head().is_none() && recent.snapshot(0, false).is_none());
        recent.add(&facts[0], 100);
        assert_eq!(recent.snapshot(0, false).unwrap().facts, facts[..1]);
    }

    #[test]
    fn what_comes_again_is_not_kept_again_and_who_knows_how_it_stood_tells() {
        let facts = log(3);
        let mut recent = RecentFacts::default();
        for fact in &facts[4..] {
            recent.add(fact, 100);
            recent.add(fact, 100);
        }
        assert!(recent.snapshot(4, true).is_none());
        assert!(
            !recent.remember(&whole(&facts[..3])),
            "what follows it is not here"
        );
        assert!(recent.remember(&whole(&facts[..6])));
        assert!(recent.snapshot(5, true).is_none());
        let last = facts.len() as u64;
        let snapshot = recent.snapshot(last, true).unwrap();
        assert_eq!(snapshot.facts, facts[6..]);
        assert!(snapshot.fold.unwrap() == whole(&facts[..6]));
        assert_eq!(recent.snapshot(7, false).unwrap().facts, facts[7..]);
    }
}
