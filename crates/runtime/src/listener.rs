//! What a running call hears of another agent of its session: everything that is meant from some point on, in order, without
//! a gap or a double. It comes by the bus; whoever is too slow for that, or begins in the past, is told from the log.

use std::sync::Arc;

use agentx_bus::{Ended, Filter, Queue, Subscription};
use agentx_types::{AgentStateId, Envelope, EnvironmentEvent, OwnerId, RuntimeEvent, SessionId};

use crate::{Derived, LogError, SessionFold, SessionLog, SystemBus, SystemEvent};

/// How many events the bus keeps before the rest is read from the log.
const BUS_CAPACITY: usize = 4096;
/// Facts are read in pages of so many.
const PAGE: usize = 1024;

/// Opens ears to the agents of one session.
#[derive(Clone)]
pub struct Listener {
    session: SessionId,
    log: Arc<dyn SessionLog>,
    bus: SystemBus,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Listener").field(&self.session).finish()
    }
}

impl Listener {
    /// A listener to a session of this process, which is published on `bus`.
    pub fn new(session: SessionId, log: Arc<dyn SessionLog>, bus: SystemBus) -> Self {
        Self { session, log, bus }
    }

    /// Hears `agent` from now on. What is put on record after this returns is heard. `None` where the runtime is gone.
    pub fn from_now(&self, agent: &AgentStateId) -> Option<Hearing> {
        self.hearing(agent, (0, 0), false)
    }

    /// Hears `agent` from after a place in the log: a `seq`, and the index of what was derived from it.
    pub fn after(&self, agent: &AgentStateId, place: (u64, u32)) -> Option<Hearing> {
        self.hearing(agent, place, true)
    }

    fn hearing(&self, agent: &AgentStateId, last: (u64, u32), behind: bool) -> Option<Hearing> {
        Some(Hearing {
            bus: subscribe(self, agent)?,
            listener: self.clone(),
            agent: agent.clone(),
            last,
            past: behind.then(|| Past::new(&self.session)),
            waiting: std::collections::VecDeque::new(),
        })
    }

    /// Whose session it is.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub async fn owner(&self) -> Result<OwnerId, LogError> {
        Ok(self.log.info(&self.session).await?.owner)
    }

    /// The `seq` of the first fact that `is_it` says yes to.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub async fn find(
        &self,
        is_it: impl Fn(&Envelope<EnvironmentEvent>) -> bool,
    ) -> Result<Option<u64>, LogError> {
        let mut seq = 0;
        loop {
            let facts = self.log.read(&self.session, seq, PAGE).await?;
            let Some(last) = facts.last().map(|fact| fact.seq) else {
                return Ok(None);
            };
            if let Some(found) = facts.iter().find(|fact| is_it(fact)) {
                return Ok(Some(found.seq));
            }
            seq = last;
        }
    }
}

fn subscribe(listener: &Listener, agent: &AgentStateId) -> Option<Subscription<SystemEvent>> {
    let filter = Filter::all()
        .session(listener.session.as_str())
        .agent_state(agent.as_str());
    let queue = Queue::cut_off(BUS_CAPACITY);
    listener.bus.subscribe("hearing", filter, queue).ok()
}

/// One agent, heard in order.
pub struct Hearing {
    bus: Subscription<SystemEvent>,
    listener: Listener,
    agent: AgentStateId,
    /// Everything up to here was handed out, or is not wanted.
    last: (u64, u32),
    /// Set while it is told from the log.
    past: Option<Past>,
    /// What a page of the log said and nobody took yet.
    waiting: std::collections::VecDeque<Arc<Envelope<RuntimeEvent>>>,
}

struct Past {
    fold: SessionFold,
}

impl Past {
    fn new(session: &SessionId) -> Self {
        Self {
            fold: SessionFold::new(session.clone()),
        }
    }
}

impl Hearing {
    /// What the agent means next. `None` where the session is gone, or its log cannot be read.
    pub async fn next(&mut self) -> Option<Arc<Envelope<RuntimeEvent>>> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.past.is_some() {
                self.read_page().await.ok()?;
                continue;
            }
            let ended = match self.bus.recv().await {
                Ok(delivery) => {
                    let event = delivery.into_event().and_then(|event| self.wanted(&event));
                    match event {
                        Some(event) => return Some(event),
                        None => continue,
                    }
                }
                Err(ended) => ended,
            };
            if !matches!(ended, Ended::CutOff { .. }) {
                return None;
            }
            self.bus = subscribe(&self.listener, &self.agent)?;
            self.past = Some(Past::new(&self.listener.session));
        }
    }

    /// The same without waiting.
    pub fn ready(&mut self) -> Option<Arc<Envelope<RuntimeEvent>>> {
        if let Some(event) = self.waiting.pop_front() {
            return Some(event);
        }
        while self.past.is_none()
            && let Ok(Some(delivery)) = self.bus.try_recv()
        {
            let event = delivery.into_event().and_then(|event| self.wanted(&event));
            if event.is_some() {
                return event;
            }
        }
        None
    }

    fn wanted(&mut self, event: &SystemEvent) -> Option<Arc<Envelope<RuntimeEvent>>> {
        let SystemEvent::Runtime(event) = event else {
            return None;
        };
        self.is_new(event).then(|| event.clone())
    }

    fn is_new(&mut self, event: &Envelope<RuntimeEvent>) -> bool {
        let place = (event.seq, event.index.unwrap_or(0));
        let is_new = place > self.last;
        if is_new {
            self.last = place;
        }
        is_new
    }

    async fn read_page(&mut self) -> Result<(), LogError> {
        let Some(mut past) = self.past.take() else {
            return Ok(());
        };
        let (log, session) = (&self.listener.log, &self.listener.session);
        let facts = log.read(session, past.fold.last_seq(), PAGE).await?;
        if facts.is_empty() {
            // The bus has what is later.
            return Ok(());
        }
        for fact in &facts {
            if fact.seq < self.last.0 {
                past.fold.apply(fact, &mut Derived::state_only());
                continue;
            }
            let mut derived = Derived::default();
            past.fold.apply(fact, &mut derived);
            for event in derived.events {
                if event.agent_state_id.as_ref() == Some(&self.agent) && self.is_new(&event) {
                    self.waiting.push_back(Arc::new(event));
                }
            }
        }
        self.past = Some(past);
        Ok(())
    }
}
