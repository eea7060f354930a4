//! Assigns requests to responders: a pure state machine without channels, tasks or a clock.
//!
//! A request belongs to the most specific responder that serves its topic and key; among equals, to the one
//! attached last. While that one has no free place, the request waits, and waiting sessions take turns. A
//! request is given to one responder, once: a request that was given and then lost is never given again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::key_pattern::KeyPattern;

/// A responder that is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResponderId(pub(crate) u64);

/// A request that is not settled yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RequestId(pub(crate) u64);

/// The address of a request.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    pub(crate) topic: Box<str>,
    pub(crate) key: Box<str>,
    pub(crate) session: Arc<str>,
}

/// An output that has to be carried out after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchedulerOutput {
    /// This responder has a free slot for this request now.
    Give(ResponderId, RequestId),
    /// The request was given, and its outcome will stay unknown.
    Lost(RequestId),
    /// No responder serves the request any more, and no other came in time. It reached no responder.
    Unserved(RequestId),
}

/// The reason why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestRefusal {
    Nobody,
    Full { responder: ResponderId, waiting: usize },
}

/// The result of cancelling a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cancelled {
    /// The request waited, and is removed.
    Removed,
    /// A responder has it and has to be notified.
    Claimed,
    /// The request is settled already.
    Settled,
}

struct Responder {
    served: Vec<(Box<str>, KeyPattern)>,
    capacity: usize,
    most_waiting: usize,
    claimed: BTreeSet<RequestId>,
    waiting: SessionQueue,
    /// Accepts nothing new, and is removed when it has settled its requests.
    leaving: bool,
    settled: u64,
    lost: u64,
}

/// The load of a responder: its open and its settled requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResponderLoad {
    pub(crate) claimed: usize,
    pub(crate) waiting: usize,
    pub(crate) settled: u64,
    pub(crate) lost: u64,
}

impl Responder {
    /// Returns how specifically it serves an address; `None` if it does not.
    fn serves(&self, address: &Address) -> Option<usize> {
        let fits = self.served.iter().filter(|(topic, _)| *topic == address.topic);
        fits.filter(|(_, key)| key.matches(&address.key))
            .map(|(_, key)| key.literal())
            .max()
    }

    fn has_place(&self) -> bool {
        self.claimed.len() < self.capacity
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueuePlace {
    /// In the queue of this responder.
    Waits(ResponderId),
    /// The time since which no responder serves it.
    Homeless(Duration),
    Claimed(ResponderId),
}

struct SchedulerEntry {
    address: Address,
    place: QueuePlace,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Scheduler {
    responders: BTreeMap<ResponderId, Responder>,
    requests: BTreeMap<RequestId, SchedulerEntry>,
    minted: u64,
}

impl Scheduler {
    /// Adds a responder. Unserved requests are given to it, or wait for it.
    pub(crate) fn attach(
        &mut self,
        served: Vec<(Box<str>, KeyPattern)>,
        capacity: usize,
        most_waiting: usize,
    ) -> (ResponderId, Vec<SchedulerOutput>) {
        let id = ResponderId(self.mint());
        let responder = Responder {
            served,
            capacity,
            most_waiting,
            claimed: BTreeSet::new(),
            waiting: SessionQueue::default(),
            leaving: false,
            settled: 0,
            lost: 0,
        };
        self.responders.insert(id, responder);
        let is_homeless = |entry: &SchedulerEntry| matches!(entry.place, QueuePlace::Homeless(_));
        let homeless = self.requests.iter().filter(|(_, entry)| is_homeless(entry));
        let homeless: Vec<RequestId> = homeless.map(|(id, _)| *id).collect();
        let effects = homeless.into_iter().filter_map(|id| self.assign(id)).collect();
        (id, effects)
    }

    /// A responder accepts nothing new from `now` on, and settles its requests. Those that wait for it go to
    /// others.
    pub(crate) fn drain(&mut self, id: ResponderId, now: Duration) -> Vec<SchedulerOutput> {
        let Some(responder) = self.responders.get_mut(&id) else {
            return Vec::new();
        };
        responder.leaving = true;
        let waiting = responder.waiting.take_all();
        if responder.claimed.is_empty() {
            self.responders.remove(&id);
        }
        self.reassign(waiting, now)
    }

    /// A responder is gone, with the requests that it had been given.
    pub(crate) fn detach(&mut self, id: ResponderId, now: Duration) -> Vec<SchedulerOutput> {
        let Some(mut responder) = self.responders.remove(&id) else {
            return Vec::new();
        };
        let lost = std::mem::take(&mut responder.claimed);
        let mut effects: Vec<SchedulerOutput> = lost.into_iter().map(SchedulerOutput::Lost).collect();
        for effect in &effects {
            if let SchedulerOutput::Lost(request) = effect {
                self.requests.remove(request);
            }
        }
        effects.extend(self.reassign(responder.waiting.take_all(), now));
        effects
    }

    /// A request comes.
    pub(crate) fn request(
        &mut self,
        address: Address,
    ) -> Result<(RequestId, Option<SchedulerOutput>), RequestRefusal> {
        let responder = self.responder_for(&address).ok_or(RequestRefusal::Nobody)?;
        let found = self.responders.get(&responder).ok_or(RequestRefusal::Nobody)?;
        if !found.has_place() && found.waiting.len() >= found.most_waiting {
            let waiting = found.waiting.len();
            return Err(RequestRefusal::Full { responder, waiting });
        }
        let id = RequestId(self.mint());
        let place = QueuePlace::Homeless(Duration::ZERO);
        self.requests.insert(id, SchedulerEntry { address, place });
        Ok((id, self.hand_to(responder, id)))
    }

    /// The caller has cancelled a request.
    pub(crate) fn cancel(&mut self, id: RequestId) -> Cancelled {
        let Some(entry) = self.requests.get(&id) else {
            return Cancelled::Settled;
        };
        match entry.place {
            QueuePlace::Claimed(_) => return Cancelled::Claimed,
            QueuePlace::Waits(responder) => {
                if let Some(responder) = self.responders.get_mut(&responder) {
                    responder.waiting.remove(&entry.address.session, id);
                }
            }
            QueuePlace::Homeless(_) => {}
        }
        self.requests.remove(&id);
        Cancelled::Removed
    }

    /// A request that was given was settled or lost: its place is free, for the next one that waits. `None`
    /// if it had ended already.
    pub(crate) fn ended(&mut self, id: RequestId, settled: bool) -> Option<Vec<SchedulerOutput>> {
        let entry = self.requests.get(&id)?;
        let QueuePlace::Claimed(responder_id) = entry.place else {
            return None;
        };
        self.requests.remove(&id);
        let Some(responder) = self.responders.get_mut(&responder_id) else {
            return Some(Vec::new());
        };
        responder.claimed.remove(&id);
        let count = if settled {
            &mut responder.settled
        } else {
            &mut responder.lost
        };
        *count = count.saturating_add(1);
        if responder.leaving && responder.claimed.is_empty() {
            self.responders.remove(&responder_id);
            return Some(Vec::new());
        }
        Some(self.assign_waiting(responder_id))
    }

    /// Ends the requests that nobody has served since `before`.
    pub(crate) fn expire(&mut self, before: Duration) -> Vec<SchedulerOutput> {
        let too_old =
            |entry: &SchedulerEntry| matches!(entry.place, QueuePlace::Homeless(since) if since <= before);
        let old = self.requests.iter().filter(|(_, entry)| too_old(entry));
        let old: Vec<RequestId> = old.map(|(id, _)| *id).collect();
        for id in &old {
            self.requests.remove(id);
        }
        old.into_iter().map(SchedulerOutput::Unserved).collect()
    }

    /// Returns the load of a responder.
    pub(crate) fn load(&self, id: ResponderId) -> ResponderLoad {
        let responder = self.responders.get(&id);
        responder.map_or_else(ResponderLoad::default, |responder| ResponderLoad {
            claimed: responder.claimed.len(),
            waiting: responder.waiting.len(),
            settled: responder.settled,
            lost: responder.lost,
        })
    }

    fn mint(&mut self) -> u64 {
        self.minted += 1;
        self.minted
    }

    fn responder_for(&self, address: &Address) -> Option<ResponderId> {
        let stays = self.responders.iter().filter(|(_, responder)| !responder.leaving);
        let fits = stays.filter_map(|(id, responder)| Some((responder.serves(address)?, *id)));
        fits.max().map(|(_, id)| id)
    }

    /// Finds the responder for a request that has none: gives it, lets it wait, or leaves it unserved.
    fn assign(&mut self, id: RequestId) -> Option<SchedulerOutput> {
        let address = &self.requests.get(&id)?.address;
        let responder_id = self.responder_for(address)?;
        self.hand_to(responder_id, id)
    }

    /// Gives a request to its responder, or lets it wait there.
    fn hand_to(&mut self, responder_id: ResponderId, id: RequestId) -> Option<SchedulerOutput> {
        let responder = self.responders.get_mut(&responder_id)?;
        let entry = self.requests.get_mut(&id)?;
        if responder.has_place() {
            responder.claimed.insert(id);
            entry.place = QueuePlace::Claimed(responder_id);
            return Some(SchedulerOutput::Give(responder_id, id));
        }
        responder.waiting.push(&entry.address.session, id);
        entry.place = QueuePlace::Waits(responder_id);
        None
    }

    /// Moves requests that their responder does not accept to others, or lets them wait for one.
    fn reassign(&mut self, requests: Vec<RequestId>, now: Duration) -> Vec<SchedulerOutput> {
        for id in &requests {
            if let Some(entry) = self.requests.get_mut(id) {
                entry.place = QueuePlace::Homeless(now);
            }
        }
        requests.into_iter().filter_map(|id| self.assign(id)).collect()
    }

    /// Gives a responder its waiting requests while it has free places.
    fn assign_waiting(&mut self, id: ResponderId) -> Vec<SchedulerOutput> {
        let mut effects = Vec::new();
        let Some(responder) = self.responders.get_mut(&id) else {
            return effects;
        };
        while responder.has_place()
            && let Some(request) = responder.waiting.pop()
        {
            responder.claimed.insert(request);
            if let Some(entry) = self.requests.get_mut(&request) {
                entry.place = QueuePlace::Claimed(id);
            }
            effects.push(SchedulerOutput::Give(id, request));
        }
        effects
    }
}

/// Requests in order, if the sessions that wait take turns: a session with a thousand requests delays another
/// by one.
#[derive(Default)]
struct SessionQueue {
    by_session: BTreeMap<Arc<str>, VecDeque<RequestId>>,
    turns: VecDeque<Arc<str>>,
    len: usize,
}

impl SessionQueue {
    fn len(&self) -> usize {
        self.len
    }

    fn push(&mut self, session: &Arc<str>, id: RequestId) {
        let own = self.by_session.entry(Arc::clone(session)).or_default();
        if own.is_empty() {
            self.turns.push_back(Arc::clone(session));
        }
        own.push_back(id);
        self.len += 1;
    }

    fn pop(&mut self) -> Option<RequestId> {
        let session = self.turns.pop_front()?;
        let own = self.by_session.get_mut(&session)?;
        let id = own.pop_front()?;
        self.len -= 1;
        if own.is_empty() {
            self.by_session.remove(&session);
        } else {
            self.turns.push_back(session);
        }
        Some(id)
    }

    fn remove(&mut self, session: &Arc<str>, id: RequestId) {
        let Some(own) = self.by_session.get_mut(session) else {
            return;
        };
        let before = own.len();
        own.retain(|other| *other != id);
        self.len -= before - own.len();
        if own.is_empty() {
            self.by_session.remove(session);
            self.turns.retain(|other| other != session);
        }
    }

    fn take_all(&mut self) -> Vec<RequestId> {
        std::iter::from_fn(|| self.pop()).collect()
    }
}
