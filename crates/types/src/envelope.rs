//! An event with its context, and the one form in which it leaves the process: the frame
//! `{"seq":…,"at":…,"source":…,"session_id":…,…,"event":tag,"payload":{…}}`, live and exported alike.

use std::borrow::Cow;

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::vocabulary::PayloadOf;
use crate::{ActionId, AgentStateId, RunId, SessionId, Timestamp, UnknownEvent, Vocabulary};

/// The origin of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A person.
    User,
    /// An agent.
    Agent,
    /// Models, tools, clocks, the network.
    Environment,
    /// The runtime itself.
    System,
}

/// An event with its context. `seq` is dense and strictly increasing in its session, from 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope<E> {
    /// The position in the session. Derived events have that of the event that they are derived from.
    pub seq: u64,
    /// For derived events: the position among those that come from the same `seq`, from 0.
    pub index: Option<u32>,
    /// The time at which the log took the event.
    pub at: Timestamp,
    /// The origin.
    pub source: Source,
    /// The session.
    pub session_id: SessionId,
    /// The agent that it is addressed to or comes from; `None` if it concerns the session.
    pub agent_state_id: Option<AgentStateId>,
    /// The run.
    pub run_id: Option<RunId>,
    /// The action that it answers.
    pub cause: Option<ActionId>,
    /// The event.
    pub event: E,
    /// The event as a newer version wrote it, if `event` is only this version's reading of it. It is passed
    /// on in this form.
    pub newer: Option<Box<UnknownEvent>>,
}

/// An event before it is in a log: all of an [`Envelope`] except the fields that the sequencer adds.
#[derive(Clone, Debug, PartialEq)]
pub struct EventDraft<E> {
    /// The origin.
    pub source: Source,
    /// The agent that it is addressed to.
    pub agent_state_id: Option<AgentStateId>,
    /// The run.
    pub run_id: Option<RunId>,
    /// The action that it answers.
    pub cause: Option<ActionId>,
    /// The event.
    pub event: E,
}

impl<E> EventDraft<E> {
    /// An event of the system or a person that belongs to no action.
    pub fn new(source: Source, agent_state_id: Option<AgentStateId>, event: impl Into<E>) -> Self {
        Self {
            source,
            agent_state_id,
            run_id: None,
            cause: None,
            event: event.into(),
        }
    }

    /// Takes its place in a session.
    pub fn into_envelope(self, session_id: SessionId, seq: u64, at: Timestamp) -> Envelope<E> {
        Envelope {
            seq,
            index: None,
            at,
            source: self.source,
            session_id,
            agent_state_id: self.agent_state_id,
            run_id: self.run_id,
            cause: self.cause,
            event: self.event,
            newer: None,
        }
    }
}

impl<E> Envelope<E> {
    /// Puts the same context around an event that is derived from this one.
    pub fn derive<D>(&self, index: u32, event: D) -> Envelope<D> {
        Envelope {
            seq: self.seq,
            index: Some(index),
            at: self.at,
            source: self.source,
            session_id: self.session_id.clone(),
            agent_state_id: self.agent_state_id.clone(),
            run_id: self.run_id.clone(),
            cause: self.cause.clone(),
            event,
            newer: None,
        }
    }
}

impl<E: Vocabulary> Envelope<E> {
    /// The payload as JSON text, as it was written.
    pub fn payload_json(&self) -> Vec<u8> {
        match &self.newer {
            Some(newer) => newer.payload.get().into(),
            None => self.event.payload_json(),
        }
    }
}

impl<E: Vocabulary> Serialize for Envelope<E> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let optional = [
            self.index.is_some(),
            self.agent_state_id.is_some(),
            self.run_id.is_some(),
            self.cause.is_some(),
        ];
        let mut frame =
            serializer.serialize_struct("Frame", 6 + optional.iter().filter(|on| **on).count())?;
        frame.serialize_field("seq", &self.seq)?;
        if let Some(index) = self.index {
            frame.serialize_field("index", &index)?;
        }
        frame.serialize_field("at", &self.at)?;
        frame.serialize_field("source", &self.source)?;
        frame.serialize_field("session_id", &self.session_id)?;
        if let Some(id) = &self.agent_state_id {
            frame.serialize_field("agent_state_id", id)?;
        }
        if let Some(id) = &self.run_id {
            frame.serialize_field("run_id", id)?;
        }
        if let Some(id) = &self.cause {
            frame.serialize_field("cause", id)?;
        }
        frame.serialize_field("event", self.event.tag())?;
        match &self.newer {
            Some(newer) => frame.serialize_field("payload", &newer.payload)?,
            None => frame.serialize_field("payload", &PayloadOf(&self.event))?,
        }
        frame.end()
    }
}

impl<'de, E: Vocabulary> Deserialize<'de> for Envelope<E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let frame = RawFrame::deserialize(deserializer)?;
        let read = E::read(&frame.event, frame.payload.get()).map_err(serde::de::Error::custom)?;
        Ok(Self {
            seq: frame.seq,
            index: frame.index,
            at: frame.at,
            source: frame.source,
            session_id: frame.session_id,
            agent_state_id: frame.agent_state_id,
            run_id: frame.run_id,
            cause: frame.cause,
            event: read.event,
            newer: read.newer,
        })
    }
}

#[derive(Deserialize)]
struct RawFrame<'a> {
    seq: u64,
    #[serde(default)]
    index: Option<u32>,
    at: Timestamp,
    #[serde(deserialize_with = "crate::newer::word")]
    source: Source,
    session_id: SessionId,
    #[serde(default)]
    agent_state_id: Option<AgentStateId>,
    #[serde(default)]
    run_id: Option<RunId>,
    #[serde(default)]
    cause: Option<ActionId>,
    #[serde(borrow)]
    event: Cow<'a, str>,
    payload: Box<RawValue>,
}
