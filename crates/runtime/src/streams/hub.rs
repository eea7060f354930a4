//! The multiplexer itself: one reader of the session, which hands each event to the streams that want it. It never waits for
//! any of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_types::{AgentStateId, Envelope, RuntimeEvent};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::event::StreamEvent;
use super::fold::StreamFold;
use super::queue::Slot;
use super::select::Who;
use super::{Place, StreamEnd, StreamSource};
use crate::{Delivery, RuntimeError, Subscription};

/// How many deliveries are handed on at once.
const AT_ONCE: usize = 256;

/// The state that the multiplexer and the readers of its streams share.
pub(super) struct Hub {
    state: Mutex<State>,
}

pub(super) struct State {
    pub(super) fold: StreamFold,
    /// Everything up to here was seen.
    pub(super) place: Place,
    /// Where an agent last said something.
    said: Place,
    /// Where the streams begin.
    pub(super) begin: Place,
    /// How it stood there, or before, and where that was.
    pub(super) at_begin: (StreamFold, Place),
    has_begun: bool,
    /// Streams of one agent.
    by_agent: HashMap<AgentStateId, Vec<Arc<Slot>>>,
    /// All others.
    others: Vec<Arc<Slot>>,
    ended: Option<StreamEnd>,
}

impl Hub {
    pub(super) fn new(after_seq: u64) -> Self {
        let state = State {
            fold: StreamFold::default(),
            place: (0, u32::MAX),
            said: (0, 0),
            begin: (after_seq, u32::MAX),
            at_begin: (StreamFold::default(), (0, u32::MAX)),
            has_begun: false,
            by_agent: HashMap::new(),
            others: Vec::new(),
            ended: None,
        };
        Self {
            state: Mutex::new(state),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes the next event.
    fn take(&mut self, event: &Envelope<RuntimeEvent>) {
        let place = (event.seq, event.index.unwrap_or(0));
        if place <= self.place {
            return;
        }
        if !self.has_begun && place > self.begin {
            self.begin();
        }
        self.place = place;
        let Some(said) = self.fold.take(event) else { return };
        self.said = place;
        if self.has_begun {
            self.hand_on(&Arc::new(said));
        }
    }

    /// From here on, events are handed on.
    fn begin(&mut self) {
        if !self.has_begun {
            self.has_begun = true;
            self.at_begin = (self.fold.clone(), self.place);
        }
    }

    fn hand_on(&mut self, event: &Arc<StreamEvent>) {
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

    /// A stream takes part whose reader knows everything up to `known`.
    ///
    /// # Errors
    /// Where that is less than what was said.
    pub(super) fn join(&mut self, slot: &Arc<Slot>, known: Place) -> Result<(), ()> {
        if known < self.said {
            return Err(());
        }
        slot.skip_to(known);
        let gone = match &slot.select.agent {
            Who::Id(id) if self.fold.is_closed(id) => Some(StreamEnd::AgentClosed),
            _ => self.ended.clone(),
        };
        if let Some(end) = gone {
            slot.end(end);
            return Ok(());
        }
        match &slot.select.agent {
            Who::Id(id) => self.by_agent.entry(id.clone()).or_default().push(slot.clone()),
            Who::Name(_) | Who::All => self.others.push(slot.clone()),
        }
        Ok(())
    }

    /// The reader of a stream is gone.
    pub(super) fn leave(&mut self, slot: &Arc<Slot>) {
        let others = |known: &Arc<Slot>| !Arc::ptr_eq(known, slot);
        match &slot.select.agent {
            Who::Id(id) => {
                if let Some(slots) = self.by_agent.get_mut(id) {
                    slots.retain(others);
                    if slots.is_empty() {
                        self.by_agent.remove(id);
                    }
                }
            }
            Who::Name(_) | Who::All => self.others.retain(others),
        }
    }

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
pub(super) struct Pump {
    pub(super) hub: Arc<Hub>,
    pub(super) source: Arc<dyn StreamSource>,
    pub(super) stop: CancellationToken,
    /// Told once all that was there has been seen.
    pub(super) ready: Option<oneshot::Sender<()>>,
}

impl Pump {
    /// Reads until the session ends or nobody listens any more.
    pub(super) async fn run(mut self, subscription: Subscription) {
        let stop = self.stop.clone();
        let end = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            end = self.read(subscription) => end,
        };
        self.hub.lock().end(&end);
    }

    async fn read(&mut self, mut subscription: Subscription) -> StreamEnd {
        let mut waiting = Vec::new();
        let mut progressed = true;
        loop {
            if subscription.deliveries.recv_many(&mut waiting, AT_ONCE).await == 0 {
                return StreamEnd::SessionEnded;
            }
            let Some(why) = self.hand_on(&mut waiting, &mut progressed) else {
                continue;
            };
            if !progressed {
                return StreamEnd::Failed(why);
            }
            let known = self.hub.lock().place;
            match again(self.source.as_ref(), known).await {
                Ok(again) => subscription = again,
                Err(error) => return StreamEnd::Failed(error.to_string()),
            }
            progressed = false;
        }
    }

    /// `Some`: the subscription was cut off.
    fn hand_on(&mut self, waiting: &mut Vec<Delivery>, progressed: &mut bool) -> Option<String> {
        let mut state = self.hub.lock();
        let before = state.place;
        let mut cut_off = None;
        for delivery in waiting.drain(..) {
            match delivery {
                Delivery::Runtime(event) => state.take(&event),
                Delivery::Environment(_) => {}
                Delivery::CaughtUp(_) => {
                    state.begin();
                    self.ready.take();
                }
                Delivery::CutOff(why) => cut_off = Some(why),
            }
        }
        *progressed |= state.place > before;
        cut_off
    }
}

/// Comes back to a session of which everything up to `known` is known. The last fact may be known in part.
pub(super) async fn again(source: &dyn StreamSource, known: Place) -> Result<Subscription, RuntimeError> {
    source.subscribe(known.0.saturating_sub(1)).await
}
