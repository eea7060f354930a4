//! The multiplexer: one reader of the session, which passes each event to the streams that want it. It never
//! waits for any of them.
//!
//! Every stream is in one of two states: it takes part here, or its reader reads the log directly
//! ([`super::reader`]) and joins when it has caught up. Both are decided under one lock, so that no event is
//! lost between them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_types::{AgentStateId, Envelope, RuntimeEvent};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::event::{StreamEnd, StreamEvent};
use super::fold::StreamFold;
use super::queue::StreamSlot;
use super::select::AgentSelection;
use crate::follow::{Follower, SubscriptionSource};
use agentx_session::{Delivery, EventCursor};

/// The number of deliveries that are passed on together.
const AT_ONCE: usize = 256;

/// The state shared by the multiplexer and the readers of its streams. The lock is held for one batch of
/// deliveries at most, and never across a wait.
pub(super) struct StreamHub {
    state: Mutex<StreamHubState>,
}

pub(super) struct StreamHubState {
    pub(super) fold: StreamFold,
    /// Everything up to here was seen.
    pub(super) place: EventCursor,
    /// The place of the agent's last output.
    said: EventCursor,
    /// The place at which the streams begin.
    pub(super) begin: EventCursor,
    /// The state there, or before, and its place.
    pub(super) at_begin: (StreamFold, EventCursor),
    has_begun: bool,
    by_agent: HashMap<AgentStateId, Vec<Arc<StreamSlot>>>,
    /// All others.
    others: Vec<Arc<StreamSlot>>,
    ended: Option<StreamEnd>,
}

impl StreamHub {
    pub(super) fn new(after_seq: u64) -> Self {
        let state = StreamHubState {
            fold: StreamFold::default(),
            place: EventCursor::after(0),
            said: EventCursor::default(),
            begin: EventCursor::after(after_seq),
            at_begin: (StreamFold::default(), EventCursor::after(0)),
            has_begun: false,
            by_agent: HashMap::new(),
            others: Vec::new(),
            ended: None,
        };
        Self {
            state: Mutex::new(state),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, StreamHubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StreamHubState {
    /// Publishes the next event.
    fn dispatch(&mut self, event: &Envelope<RuntimeEvent>) {
        let place = EventCursor::of(event);
        if !self.has_begun && place > self.begin {
            self.begin();
        }
        self.place = place;
        let Some(said) = self.fold.apply(event) else {
            return;
        };
        self.said = place;
        if self.has_begun {
            self.forward(&Arc::new(said));
        }
    }

    /// Hands events on from now on.
    fn begin(&mut self) {
        if !self.has_begun {
            self.has_begun = true;
            self.at_begin = (self.fold.clone(), self.place);
        }
    }

    /// Sends an event to the streams that want it. Streams of one agent are found by its id; the others are
    /// checked one by one.
    fn forward(&mut self, event: &Arc<StreamEvent>) {
        let fold = &self.fold;
        if let Some(slots) = self.by_agent.get_mut(&event.agent_state_id) {
            slots.retain(|slot| !slot.select.wants_medium(event) || slot.push(event, fold));
            if slots.is_empty() {
                self.by_agent.remove(&event.agent_state_id);
            }
        }
        self.others
            .retain(|slot| !slot.select.wants(event) || slot.push(event, fold));
    }

    /// Adds a stream whose reader knows everything up to `known`.
    ///
    /// # Errors
    /// Returns an error if there were later outputs.
    pub(super) fn join(&mut self, slot: &Arc<StreamSlot>, known: EventCursor) -> Result<(), ()> {
        if known < self.said {
            return Err(());
        }
        slot.skip_to(known);
        let gone = match &slot.select.agent {
            AgentSelection::Id(id) if self.fold.is_closed(id) => Some(StreamEnd::AgentClosed),
            _ => self.ended.clone(),
        };
        if let Some(end) = gone {
            slot.end(end);
            return Ok(());
        }
        match &slot.select.agent {
            AgentSelection::Id(id) => self.by_agent.entry(id.clone()).or_default().push(slot.clone()),
            AgentSelection::Name(_) | AgentSelection::All => self.others.push(slot.clone()),
        }
        Ok(())
    }

    /// The reader of a stream is gone.
    pub(super) fn leave(&mut self, slot: &Arc<StreamSlot>) {
        let others = |known: &Arc<StreamSlot>| !Arc::ptr_eq(known, slot);
        match &slot.select.agent {
            AgentSelection::Id(id) => {
                if let Some(slots) = self.by_agent.get_mut(id) {
                    slots.retain(others);
                    if slots.is_empty() {
                        self.by_agent.remove(id);
                    }
                }
            }
            AgentSelection::Name(_) | AgentSelection::All => self.others.retain(others),
        }
    }

    /// The session has ended: all streams end, and those that join later end at once.
    fn end(&mut self, end: &StreamEnd) {
        self.begin();
        self.ended = Some(end.clone());
        let slots = self.by_agent.drain().flat_map(|(_, slots)| slots);
        for slot in slots.chain(self.others.drain(..)) {
            slot.end(end.clone());
        }
    }
}

/// Reads the session for all streams.
pub(super) struct StreamPump {
    pub(super) hub: Arc<StreamHub>,
    pub(super) follower: Follower<SubscriptionSource>,
    pub(super) stop: CancellationToken,
    /// Notified once all earlier events have been read.
    pub(super) ready: Option<oneshot::Sender<()>>,
}

impl StreamPump {
    /// Reads until the session ends or no stream is left.
    pub(super) async fn run(mut self) {
        let stop = self.stop.clone();
        let end = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            end = self.read() => end,
        };
        self.hub.lock().end(&end);
    }

    /// Passes on the events of the session until its end.
    async fn read(&mut self) -> StreamEnd {
        let mut waiting = Vec::new();
        loop {
            match self.follower.next_many(&mut waiting, AT_ONCE).await {
                Ok(true) => self.forward(&mut waiting),
                Ok(false) => return StreamEnd::SessionEnded,
                Err(error) => return StreamEnd::Failed(error.to_string()),
            }
        }
    }

    fn forward(&mut self, waiting: &mut Vec<Delivery>) {
        let mut state = self.hub.lock();
        for delivery in waiting.drain(..) {
            match delivery {
                Delivery::Runtime(event) => state.dispatch(&event),
                Delivery::CaughtUp(_) => {
                    state.begin();
                    self.ready.take();
                }
                Delivery::Environment(_) | Delivery::CutOff(_) => {}
            }
        }
    }
}
