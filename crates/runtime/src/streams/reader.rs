//! The reader's end of one stream: what waits for it, or, where it is behind, what the log has.

use std::sync::Arc;

use super::event::StreamEvent;
use super::fold::StreamFold;
use super::hub::again;
use super::queue::{Slot, Taken};
use super::select::{Policy, Select};
use super::{Place, Shared, StreamEnd};
use crate::{Delivery, Subscription};

/// One stream of a session. Dropping it closes it.
pub struct AgentStream {
    pub(super) shared: Arc<Shared>,
    pub(super) slot: Arc<Slot>,
    /// Where the reader is behind what is handed on.
    pub(super) behind: Option<Box<CatchUp>>,
    pub(super) ended: Option<StreamEnd>,
}

/// Reading on one's own, until one is where the others are.
pub(super) struct CatchUp {
    pub(super) fold: StreamFold,
    /// Everything up to here was seen.
    pub(super) known: Place,
    /// What is not after this is not wanted.
    pub(super) from: Place,
    /// `None` before the first, and after a cut.
    pub(super) subscription: Option<Subscription>,
    /// Whether something came since the last cut.
    pub(super) progressed: bool,
}

/// What one look at the log brought.
enum Look {
    Event(Arc<StreamEvent>),
    /// Nothing that is wanted.
    Nothing,
    Ended(StreamEnd),
}

impl AgentStream {
    /// The next event; `None` at the end. Safe to drop while it waits.
    pub async fn next(&mut self) -> Option<Arc<StreamEvent>> {
        loop {
            if self.behind.is_some() {
                match self.catch_up().await {
                    Some(event) => return Some(event),
                    None if self.ended.is_some() => return None,
                    None => {}
                }
            }
            match self.slot.take() {
                Taken::Event(event) => return Some(event),
                Taken::Behind(behind) => {
                    let first = behind.first;
                    self.behind = Some(Box::new(CatchUp {
                        fold: behind.fold,
                        known: first.place(),
                        from: first.place(),
                        subscription: None,
                        progressed: true,
                    }));
                    self.note_end(&first);
                    return Some(first);
                }
                Taken::Ended(end) => {
                    self.ended = Some(end);
                    return None;
                }
                Taken::Nothing => self.slot.news.notified().await,
            }
        }
    }

    /// Moves the next events to the end of `out`: at least one, at most `limit`. Returns how many; 0 at the end.
    pub async fn next_many(&mut self, out: &mut Vec<Arc<StreamEvent>>, limit: usize) -> usize {
        let limit = limit.max(1);
        if self.behind.is_none() {
            let taken = self.slot.take_many(out, limit);
            if taken > 0 {
                return taken;
            }
        }
        let Some(event) = self.next().await else {
            return 0;
        };
        out.push(event);
        let more = if self.behind.is_none() {
            self.slot.take_many(out, limit - 1)
        } else {
            0
        };
        1 + more
    }

    /// How many events were dropped because newer ones came: with [`Policy::Latest`] alone.
    pub fn dropped(&self) -> u64 {
        self.slot.dropped()
    }

    /// What the stream is of.
    pub fn select(&self) -> &Select {
        &self.slot.select
    }

    /// Why it ended; `None` before [`AgentStream::next`] has said that it did.
    pub fn ended(&self) -> Option<&StreamEnd> {
        self.ended.as_ref()
    }

    /// Whether it reads the log at the moment, because its reader is behind.
    pub fn is_behind(&self) -> bool {
        self.behind.is_some()
    }

    /// Reads on its own until there is an event; `None` where it takes part again, or the stream has ended.
    async fn catch_up(&mut self) -> Option<Arc<StreamEvent>> {
        loop {
            if self.ended.is_some() || self.join() {
                return None;
            }
            // What is new replaces what waits, also where it is read from the log.
            let is_latest = matches!(self.slot.policy, Policy::Latest(_));
            let behind = self.behind.as_mut()?;
            if is_latest
                && !self.slot.is_empty()
                && behind
                    .subscription
                    .as_ref()
                    .is_none_or(|subscription| subscription.deliveries.is_empty())
                && let Taken::Event(event) = self.slot.take()
            {
                return Some(event);
            }
            match look(behind, &self.shared, &self.slot.select).await {
                Look::Nothing => {}
                Look::Ended(end) => self.slot_end(end),
                Look::Event(event) if is_latest => {
                    self.slot.push(&event, &behind.fold);
                    self.note_end(&event);
                }
                Look::Event(event) => {
                    self.note_end(&event);
                    return Some(event);
                }
            }
        }
    }

    /// Takes part in what is handed on, if it has seen all that was.
    fn join(&mut self) -> bool {
        let Some(behind) = &self.behind else { return true };
        let joined = self.shared.hub.lock().join(&self.slot, behind.known).is_ok();
        if joined {
            self.behind = None;
        }
        joined
    }

    /// The stream is over with this event, which is still to be handed on.
    fn note_end(&mut self, event: &StreamEvent) {
        if let Some(end) = self.slot.end_with(event) {
            self.slot_end(end);
        }
    }

    fn slot_end(&mut self, end: StreamEnd) {
        self.behind = None;
        self.slot.end(end);
    }
}

impl Drop for AgentStream {
    fn drop(&mut self) {
        self.shared.hub.lock().leave(&self.slot);
    }
}

/// The next event of the log, or of what happens now.
async fn look(behind: &mut CatchUp, shared: &Shared, select: &Select) -> Look {
    let Some(subscription) = &mut behind.subscription else {
        return match again(shared.source.as_ref(), behind.known).await {
            Ok(subscription) => {
                behind.subscription = Some(subscription);
                Look::Nothing
            }
            Err(error) => Look::Ended(StreamEnd::Failed(error.to_string())),
        };
    };
    let event = match subscription.next().await {
        Some(Delivery::Runtime(event)) => event,
        Some(Delivery::Environment(_) | Delivery::CaughtUp(_)) => return Look::Nothing,
        Some(Delivery::CutOff(why)) => {
            behind.subscription = None;
            return if std::mem::take(&mut behind.progressed) {
                Look::Nothing
            } else {
                Look::Ended(StreamEnd::Failed(why))
            };
        }
        None => return Look::Ended(over(behind, shared)),
    };
    let place = (event.seq, event.index.unwrap_or(0));
    if place <= behind.known {
        return Look::Nothing;
    }
    behind.known = place;
    behind.progressed = true;
    let said = behind.fold.take(&event);
    match said.filter(|said| said.place() > behind.from && select.wants(said)) {
        Some(said) => Look::Event(Arc::new(said)),
        None => Look::Nothing,
    }
}

/// The end, where the session gives nothing more to one who reads on its own.
fn over(behind: &CatchUp, shared: &Shared) -> StreamEnd {
    if behind.known < shared.hub.lock().place {
        let why = format!(
            "the session was closed before what came after event {} could be read again",
            behind.known.0
        );
        return StreamEnd::Failed(why);
    }
    StreamEnd::SessionEnded
}
