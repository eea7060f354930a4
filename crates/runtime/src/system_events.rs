//! The events of a runtime's bus, and the outputs of agents.
//!
//! Everything of a session that they carry is committed. Only sessions have the `Bus` in
//! [`DriverParts`](crate::DriverParts), with which one can publish; all others get a bus for listening
//! (invariant 2). An environment can add only reports about its connections, which belong to no session.

use std::sync::Arc;

use agentx_bus::{ReadOnlyBus, Routed};
use agentx_types::{
    Action, ActionKind, AgentOutput, AgentStateId, Envelope, EnvironmentEvent, RuntimeEvent, SessionId,
    Vocabulary as _, topic,
};

use crate::transport_event::TransportEvent;

/// The published events of a runtime, for listeners. Events of sessions are published after their commit.
pub type SystemEvents = ReadOnlyBus<SystemEvent>;

/// The events of one agent inside its own boundary.
pub type AgentEventBus = ReadOnlyBus<AgentEvent>;

/// An event that is published on a [`SystemBus`](crate::SystemBus).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SystemEvent {
    /// A committed fact.
    Environment(Arc<Envelope<EnvironmentEvent>>),
    /// An event that was derived from a fact.
    Runtime(Arc<Envelope<RuntimeEvent>>),
    /// An action of an agent, after it is committed and before it is performed. An action that touches
    /// nothing outside the session (an answer to a call, a report, a request to another agent) is a fact
    /// already, which is published before it. This is for observers: only the one responder that gets the
    /// action as a request performs it.
    Action(SessionId, Arc<Action>),
    /// A change of a connection that an environment holds. It belongs to no session and is in no log.
    Transport(Arc<TransportEvent>),
}

impl Routed for SystemEvent {
    fn event_type(&self) -> &str {
        match self {
            Self::Environment(fact) => fact.event.tag(),
            Self::Runtime(event) => event.event.tag(),
            Self::Action(_, action) => match action.body.kind() {
                ActionKind::CallModel => "call_model",
                ActionKind::Condense => "condense",
                ActionKind::BuildContext => "build_context",
                ActionKind::AssessRisk => "assess_risk",
                ActionKind::ProposeMemories => "propose_memories",
                ActionKind::CallTool => "call_tool",
                ActionKind::AnswerCall => "answer_call",
                ActionKind::CheckAnswer => "check_answer",
                ActionKind::StartTimer => "start_timer",
                ActionKind::Cancel => "cancel",
                ActionKind::DecideInnerCall => "decide_inner_call",
                ActionKind::Report => "report",
                ActionKind::SpawnAgent => "spawn_agent",
                ActionKind::SendInput => "send_input",
                ActionKind::InterruptAgent => "interrupt_agent",
                ActionKind::CloseAgent => "close_agent",
                ActionKind::Unknown => "unknown",
            },
            Self::Transport(event) => event.tag(),
        }
    }

    fn topic(&self) -> &str {
        match self {
            Self::Environment(fact) => topic::of_environment(&fact.event),
            Self::Runtime(event) => topic::of_runtime(&event.event),
            Self::Action(_, action) => topic::of_action(action.body.kind()),
            Self::Transport(_) => "transport",
        }
    }

    fn session(&self) -> Option<&str> {
        match self {
            Self::Environment(fact) => Some(fact.session_id.as_str()),
            Self::Runtime(event) => Some(event.session_id.as_str()),
            Self::Action(session, _) => Some(session.as_str()),
            Self::Transport(_) => None,
        }
    }

    fn agent_state(&self) -> Option<&str> {
        match self {
            Self::Environment(fact) => fact.agent_state_id.as_ref().map(AgentStateId::as_str),
            Self::Runtime(event) => event.agent_state_id.as_ref().map(AgentStateId::as_str),
            Self::Action(_, action) => Some(action.agent_state_id.as_str()),
            Self::Transport(_) => None,
        }
    }

    fn run(&self) -> Option<&str> {
        let run = match self {
            Self::Environment(fact) => fact.run_id.as_ref(),
            Self::Runtime(event) => event.run_id.as_ref(),
            Self::Action(_, action) => action.run_id.as_ref(),
            Self::Transport(_) => None,
        };
        run.map(agentx_types::RunId::as_str)
    }
}

/// An event that is published on an [`AgentEventBus`].
#[derive(Clone, Debug)]
pub struct AgentEvent {
    /// The session of the agent.
    pub session_id: SessionId,
    /// The agent that emits it.
    pub agent_state_id: AgentStateId,
    /// The fact that it follows from.
    pub seq: u64,
    /// The output of the agent.
    pub output: AgentOutput,
}

impl Routed for AgentEvent {
    fn event_type(&self) -> &str {
        match self.output {
            AgentOutput::Stream(_) => "stream",
            AgentOutput::State(_) => "state",
            AgentOutput::Message(_) => "message",
            AgentOutput::Turn(_) => "turn",
        }
    }

    fn topic(&self) -> &str {
        match self.output {
            AgentOutput::Stream(_) => "agent.stream",
            AgentOutput::State(_) => "agent.state",
            AgentOutput::Message(_) => "agent.message",
            AgentOutput::Turn(_) => "agent.turn",
        }
    }

    fn session(&self) -> Option<&str> {
        Some(self.session_id.as_str())
    }

    fn agent_state(&self) -> Option<&str> {
        Some(self.agent_state_id.as_str())
    }

    fn run(&self) -> Option<&str> {
        None
    }
}
