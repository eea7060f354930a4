//! The events of a session, and its state after each. Some folds are kept, so that a jump costs no more than
//! the events since the nearest kept fold, and a step forward costs one event.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx::runtime::{Delivery, Runtime, RuntimeError, SessionFold, View};
use agentx::types::{Envelope, EnvironmentEvent, SessionId};

/// An event of the log with its number and time.
pub(super) type TimelineFact = Arc<Envelope<EnvironmentEvent>>;

/// The number of events between two folds that are kept.
const STRIDE: usize = 1_024;

/// All events of a session, and the way to its state after any of them.
pub(crate) struct Timeline {
    session: SessionId,
    facts: Vec<TimelineFact>,
    /// The kept folds, by the number of events that they have seen; always a multiple of [`STRIDE`].
    kept: BTreeMap<usize, SessionFold>,
    /// The fold that was asked for last.
    current: (usize, SessionFold),
}

impl Timeline {
    /// Returns the timeline of these events, from the first on.
    pub(crate) fn new(session: SessionId, facts: Vec<TimelineFact>) -> Self {
        Self {
            current: (0, SessionFold::new(session.clone())),
            session,
            facts,
            kept: BTreeMap::new(),
        }
    }

    /// Reads the whole session.
    ///
    /// # Errors
    /// Returns an error if it cannot be read.
    pub(crate) async fn read(runtime: &dyn Runtime, session: &SessionId) -> Result<Self, RuntimeError> {
        let mut subscription = runtime.watch(session, 0, View::Environment, false).await?;
        let mut facts = Vec::new();
        while let Some(delivery) = subscription.next().await {
            match delivery {
                Delivery::Environment(fact) => facts.push(fact),
                Delivery::CaughtUp(_) => break,
                Delivery::CutOff(why) => return Err(RuntimeError::unreadable(session, why)),
                Delivery::Runtime(_) => {}
            }
        }
        Ok(Self::new(session.clone(), facts))
    }

    pub(super) fn session(&self) -> &SessionId {
        &self.session
    }

    /// Returns all events.
    pub(super) fn facts(&self) -> &[TimelineFact] {
        &self.facts
    }

    /// The place of an event among all; if there is none of this number, the nearest one.
    pub(super) fn place_of(&self, seq: u64) -> usize {
        let at = self.facts.partition_point(|fact| fact.seq < seq);
        at.min(self.facts.len().saturating_sub(1))
    }

    /// Returns the state of the session after the event at this place.
    pub(super) fn fold_after(&mut self, place: usize) -> &SessionFold {
        let wanted = (place + 1).min(self.facts.len());
        let (seen, _) = self.current;
        let kept = self.kept.range(..=wanted).next_back();
        let nearest = kept.filter(|(at, _)| seen > wanted || **at > seen);
        if let Some((at, fold)) = nearest {
            self.current = (*at, fold.clone());
        } else if seen > wanted {
            self.current = (0, SessionFold::new(self.session.clone()));
        }
        let (seen, fold) = &mut self.current;
        while *seen < wanted {
            fold.advance(&self.facts[*seen]);
            *seen += 1;
            if seen.is_multiple_of(STRIDE) {
                self.kept.entry(*seen).or_insert_with(|| fold.clone());
            }
        }
        fold
    }
}
