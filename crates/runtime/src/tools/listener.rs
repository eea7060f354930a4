//! Lets a running call read the events of another agent of its session: all events from some point on, in
//! order, without gaps or duplicates. They come from the bus; a listener that is too slow for it, or begins
//! in the past, reads the log.
//!
//! Used by scripts that wait for an agent which they made. A listener is bound to its session, so a script
//! hears no other one.

use std::sync::Arc;

use agentx_bus::Filter;
use agentx_session::{Delivery, EventCursor, LiveContent, SessionReader, View};
use agentx_types::{AgentStateId, Envelope, EnvironmentEvent, OwnerId, RuntimeEvent, SessionId};

use crate::follow::{BusSource, Follower, Pages};
use crate::log::SessionLog;
use crate::log_error::LogError;
use crate::system_events::SystemEvents;

/// Maximum number of events that the bus keeps before the rest is read from the log.
const BUS_CAPACITY: usize = 4096;
/// Number of facts in a page.
const PAGE: usize = 1024;

/// Opens ears to the agents of one session.
#[derive(Clone)]
pub struct AgentListener {
    session: SessionId,
    log: Arc<dyn SessionLog>,
    bus: SystemEvents,
}

impl std::fmt::Debug for AgentListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Listener").field(&self.session).finish()
    }
}

impl AgentListener {
    /// A listener to a session of this process, which is published on `bus`.
    pub fn new(session: SessionId, log: Arc<dyn SessionLog>, bus: SystemEvents) -> Self {
        Self { session, log, bus }
    }

    /// Hears `agent` from now on: every event that is recorded after this returns. `None` if the runtime is
    /// gone.
    pub fn from_now(&self, agent: &AgentStateId) -> Option<AgentHearing> {
        self.hearing(agent, EventCursor::default(), true)
    }

    /// Hears `agent` from after a place in the log: a `seq`, and the index of an event that was derived from
    /// it.
    pub fn listen_after(&self, agent: &AgentStateId, place: impl Into<EventCursor>) -> Option<AgentHearing> {
        self.hearing(agent, place.into(), false)
    }

    /// Follows one agent from a place on.
    fn hearing(&self, agent: &AgentStateId, after: EventCursor, from_now: bool) -> Option<AgentHearing> {
        let filter = Filter::all()
            .session(self.session.as_str())
            .agent_state(agent.as_str());
        let pages = Pages {
            session: self.session.clone(),
            log: self.log.clone(),
            remembered: None,
        };
        let wish = ("hearing", filter, BUS_CAPACITY);
        let source = BusSource::filtered(pages, self.bus.clone(), wish, from_now)?;
        let reading = SessionReader::new(View::Runtime, LiveContent::Derived, after);
        Some(AgentHearing {
            follower: Follower::new(reading, source),
            agent: agent.clone(),
        })
    }

    /// The owner of the session.
    ///
    /// # Errors
    /// Returns an error if the log cannot be read.
    pub async fn owner(&self) -> Result<OwnerId, LogError> {
        Ok(self.log.info(&self.session).await?.owner)
    }

    /// The `seq` of the first fact for which `is_it` returns true.
    ///
    /// # Errors
    /// Returns an error if the log cannot be read.
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

/// Reads the events of one agent in order. Nothing is lost if the caller does not poll for a long time:
/// events that do not fit on the bus are read from the log.
pub struct AgentHearing {
    follower: Follower<BusSource>,
    agent: AgentStateId,
}

impl AgentHearing {
    /// Returns the next event of the agent. `None` if the session is gone, or its log cannot be read.
    pub async fn next(&mut self) -> Option<Arc<Envelope<RuntimeEvent>>> {
        loop {
            let delivery = self.follower.next().await.ok()??;
            if let Some(event) = self.wanted(delivery) {
                return Some(event);
            }
        }
    }

    /// The next event of the agent, without waiting; `None` if there is none yet.
    pub fn try_next(&mut self) -> Option<Arc<Envelope<RuntimeEvent>>> {
        loop {
            let delivery = self.follower.try_next()?;
            if let Some(event) = self.wanted(delivery) {
                return Some(event);
            }
        }
    }

    /// The event of a delivery, if it belongs to this agent: deliveries from the log have the events of all
    /// agents.
    fn wanted(&self, delivery: Delivery) -> Option<Arc<Envelope<RuntimeEvent>>> {
        match delivery {
            Delivery::Runtime(event) if event.agent_state_id.as_ref() == Some(&self.agent) => Some(event),
            _ => None,
        }
    }
}
