//! A pure fold that turns RuntimeEvents into the outputs of agents. It knows each agent's name, its parent
//! and its current activity.
//!
//! Each event yields at most one output, with the same `(seq, index)`: so a place in one is a place in the
//! other.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use agentx_agent::DELEGATE;
use agentx_types::{
    AgentStarted, AgentStateId, Chunk, ContentPart, Envelope, Medium, MessageId, RunStatus, RuntimeEvent,
    ToolCallId, ToolCallRequested, ToolCompleted, ToolExecuting, ToolFailed,
};
use serde_json::Value;

use super::event::{Phase, StreamBody, StreamChunk, StreamEvent, ToolEnd};

/// An agent of a session, as its streams know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentEntry {
    /// The id of the agent.
    pub agent_state_id: AgentStateId,
    /// The name of the agent for people.
    pub name: Arc<str>,
    /// The agent that created it; `None` for the one that people talk to.
    pub parent: Option<AgentStateId>,
    /// The phase of the agent.
    pub phase: Phase,
    /// Whether the agent was closed.
    pub closed: bool,
}

/// The streams of all agents, as a fold of RuntimeEvents in their order. It has to see a session from its
/// first event. An agent that began before that has no name and no parent.
#[derive(Clone, Debug, Default)]
pub struct StreamFold {
    agents: HashMap<AgentStateId, AgentStreamState>,
    /// In the order in which they came.
    order: Vec<AgentStateId>,
}

/// The known data of one agent.
#[derive(Clone, Debug, Default)]
struct AgentStreamState {
    /// The name of the agent for people.
    name: Arc<str>,
    /// The agent that made it.
    parent: Option<AgentStateId>,
    /// Whether it routes inputs to other agents.
    routes: bool,
    phase: Phase,
    /// The status of its last run.
    status: Option<RunStatus>,
    /// Whether it is gone.
    closed: bool,
    /// The answer that comes in.
    message: Option<MessageId>,
    /// Whether words, and thoughts, of the answer came piece by piece.
    streamed: (bool, bool),
    /// Calls that run.
    running: BTreeSet<ToolCallId>,
    /// Requested delegations that have not begun: the call, the agent's name, all arguments.
    orders: Vec<ToolCallRequested>,
    /// The result of a call for the model, until the end of the call follows.
    answered: Option<(ToolCallId, Vec<ContentPart>)>,
    /// Agents that it created and that are working.
    at_work: BTreeSet<AgentStateId>,
}

impl StreamFold {
    /// Applies the next event and returns the stream event that it results in, if any. Ignores events without
    /// an agent. `agent_started` may belong to a call of the parent that is in progress.
    pub fn apply(&mut self, event: &Envelope<RuntimeEvent>) -> Option<StreamEvent> {
        let id = event.agent_state_id.as_ref()?;
        if let RuntimeEvent::AgentStarted(started) = &event.event {
            return self.started(event, id, started);
        }
        if !self.agents.contains_key(id) {
            self.agents.insert(id.clone(), AgentStreamState::default());
            self.order.push(id.clone());
        }
        self.track_parent(id, &event.event);
        let voice = self.agents.get_mut(id)?;
        let body = voice.apply(&event.event)?;
        Some(voice.stream_event(event, id, body))
    }

    /// The agents that there were, in the order in which they came.
    pub fn agents(&self) -> impl Iterator<Item = AgentEntry> {
        let known = self
            .order
            .iter()
            .filter_map(|id| Some((id, self.agents.get(id)?)));
        known.map(|(id, voice)| AgentEntry {
            agent_state_id: id.clone(),
            name: voice.name.clone(),
            parent: voice.parent.clone(),
            phase: voice.phase,
            closed: voice.closed,
        })
    }

    /// Returns whether this agent was seen and has been destroyed since.
    pub fn is_closed(&self, id: &AgentStateId) -> bool {
        self.agents.get(id).is_some_and(|voice| voice.closed)
    }

    /// An agent comes into being. If another one gave it work by a call, that call is in progress now.
    fn started(
        &mut self,
        event: &Envelope<RuntimeEvent>,
        id: &AgentStateId,
        started: &AgentStarted,
    ) -> Option<StreamEvent> {
        let voice = AgentStreamState {
            name: Arc::from(started.name.as_str()),
            parent: started.parent.clone(),
            routes: started.routes,
            ..AgentStreamState::default()
        };
        if self.agents.insert(id.clone(), voice).is_none() {
            self.order.push(id.clone());
        }
        let maker = started.parent.as_ref()?;
        let voice = self.agents.get_mut(maker)?;
        let body = voice.ordered(&started.name)?;
        Some(voice.stream_event(event, maker, body))
    }

    /// Records in the parent which agent works for it.
    fn track_parent(&mut self, id: &AgentStateId, event: &RuntimeEvent) {
        let begins = match event {
            RuntimeEvent::RunStarted(_) => true,
            RuntimeEvent::RunFinished(_) | RuntimeEvent::AgentDestroyed(_) => false,
            _ => return,
        };
        let parent = self.agents.get(id).and_then(|voice| voice.parent.clone());
        let Some(parent) = parent.and_then(|parent| self.agents.get_mut(&parent)) else {
            return;
        };
        if begins {
            parent.at_work.insert(id.clone());
        } else {
            parent.at_work.remove(id);
        }
        parent.update_phase();
    }
}

impl AgentStreamState {
    /// Makes the stream event of an agent, with its place and its phase.
    fn stream_event(
        &self,
        event: &Envelope<RuntimeEvent>,
        id: &AgentStateId,
        body: StreamBody,
    ) -> StreamEvent {
        let run_id = match &event.event {
            RuntimeEvent::Eof(eof) => Some(eof.run_id.clone()),
            // The run of the event is the parent's, not the new agent's.
            RuntimeEvent::AgentStarted(_) => None,
            _ => event.run_id.clone(),
        };
        StreamEvent {
            seq: event.seq,
            index: event.index.unwrap_or(0),
            at: event.at,
            agent_def: self.name.clone(),
            agent_state_id: id.clone(),
            run_id,
            phase: self.phase,
            body,
        }
    }

    /// Applies an event of this agent; returns its output.
    fn apply(&mut self, event: &RuntimeEvent) -> Option<StreamBody> {
        use RuntimeEvent as R;
        match event {
            R::TextDelta(delta) => Some(self.piece(Medium::Text, &delta.text)),
            R::ThinkingDelta(delta) => Some(self.piece(Medium::Thinking, &delta.text)),
            R::ToolOutput(output) => Some(StreamBody::Chunk(StreamChunk {
                medium: Medium::Tool,
                text: output.text.clone(),
                data: None,
                message_id: None,
                tool_call_id: Some(output.tool_call_id.clone()),
            })),
            R::Chunk(chunk) => self.whole(chunk),
            R::ToolExecuting(call) => Some(self.runs(call)),
            R::ToolCompleted(done) => Some(self.done(done)),
            R::ToolFailed(failed) => Some(self.failed(failed)),
            R::RunInterrupted(stopped) => Some(StreamBody::Interrupted {
                reason: stopped.reason.clone(),
            }),
            R::Eof(_) => {
                self.stand(RunStatus::Completed);
                Some(StreamBody::Eof)
            }
            R::Closed(closed) => {
                self.close();
                let reason = closed.reason.clone();
                Some(StreamBody::Closed { reason })
            }
            silent => {
                self.track_state(silent);
                None
            }
        }
    }

    /// Records state that no output carries.
    fn track_state(&mut self, event: &RuntimeEvent) {
        use RuntimeEvent as R;
        match event {
            R::MessageStart(start) => {
                self.message = Some(start.message_id.clone());
                self.streamed = (false, false);
            }
            R::AssistantMessageAdded(_) => {
                self.message = None;
                self.streamed = (false, false);
            }
            R::ToolCallRequested(call) if call.name == DELEGATE => self.orders.push(call.clone()),
            R::ToolCallAnswered(answered) => {
                self.answered = Some((answered.tool_call_id.clone(), answered.result.clone()));
            }
            R::RunStarted(_) => self.stand(RunStatus::Pending),
            R::RunStatusChanged(changed) => self.stand(changed.status),
            R::RunFinished(finished) => {
                self.running.clear();
                self.orders.clear();
                self.stand(finished.status);
            }
            _ => {}
        }
    }

    /// A piece of an answer, as it comes.
    fn piece(&mut self, medium: Medium, text: &str) -> StreamBody {
        if medium == Medium::Text {
            self.streamed.0 = true;
        } else {
            self.streamed.1 = true;
        }
        StreamBody::Chunk(StreamChunk {
            medium,
            text: text.to_owned(),
            data: None,
            message_id: self.message.clone(),
            tool_call_id: None,
        })
    }

    /// Returns the body of a chunk that came at once. The parts of an answer come again when it is complete:
    /// parts that were emitted piece by piece are not emitted again.
    fn whole(&self, chunk: &Chunk) -> Option<StreamBody> {
        let is_known = chunk.tool_call_id.is_none()
            && match chunk.medium {
                Medium::Text => self.streamed.0,
                Medium::Thinking => self.streamed.1,
                _ => false,
            };
        (!is_known).then(|| {
            StreamBody::Chunk(StreamChunk {
                medium: chunk.medium.clone(),
                text: chunk.text.clone(),
                data: chunk.data.clone(),
                message_id: self.message.clone().filter(|_| chunk.tool_call_id.is_none()),
                tool_call_id: chunk.tool_call_id.clone(),
            })
        })
    }

    /// The call by which work was given to an agent of this name.
    fn ordered(&mut self, agent: &str) -> Option<StreamBody> {
        let wanted =
            |call: &ToolCallRequested| call.input.get("agent").and_then(Value::as_str) == Some(agent);
        let call = self.orders.iter().position(wanted)?;
        let ToolCallRequested {
            tool_call_id,
            name,
            input,
        } = self.orders.remove(call);
        Some(StreamBody::ToolStart {
            tool_call_id,
            name,
            input,
        })
    }

    fn runs(&mut self, call: &ToolExecuting) -> StreamBody {
        self.running.insert(call.tool_call_id.clone());
        self.update_phase();
        StreamBody::ToolStart {
            tool_call_id: call.tool_call_id.clone(),
            name: call.name.clone(),
            input: call.input.clone(),
        }
    }

    fn done(&mut self, done: &ToolCompleted) -> StreamBody {
        let end = ToolEnd {
            tool_call_id: done.tool_call_id.clone(),
            name: done.name.clone(),
            result: self.result(&done.tool_call_id),
            duration_ms: done.duration_ms,
            details: done.details.clone(),
        };
        StreamBody::ToolDone(end)
    }

    fn failed(&mut self, failed: &ToolFailed) -> StreamBody {
        let end = ToolEnd {
            tool_call_id: failed.tool_call_id.clone(),
            name: failed.name.clone(),
            result: self.result(&failed.tool_call_id),
            duration_ms: failed.duration_ms,
            details: failed.details.clone(),
        };
        StreamBody::ToolError {
            status: failed.status,
            error: failed.error.clone(),
            end,
        }
    }

    /// Removes and returns the result for the model of this call, which has ended.
    fn result(&mut self, call: &ToolCallId) -> Vec<ContentPart> {
        self.running.remove(call);
        self.orders.retain(|order| order.tool_call_id != *call);
        let answered = self.answered.take().filter(|(id, _)| id == call);
        answered.map(|(_, result)| result).unwrap_or_default()
    }

    /// Marks the agent as gone; its name stays, because others still refer to it.
    fn close(&mut self) {
        // Only its name is still needed.
        *self = Self {
            name: std::mem::take(&mut self.name),
            parent: self.parent.take(),
            routes: self.routes,
            phase: self.phase,
            closed: true,
            ..Self::default()
        };
    }

    /// Sets the status of the agent's run.
    fn stand(&mut self, status: RunStatus) {
        self.status = Some(status);
        self.update_phase();
    }

    /// Updates the phase from the state of the run, the calls that run for it, and the agents that work for
    /// it.
    fn update_phase(&mut self) {
        let Some(status) = self.status else { return };
        let (asks, acts, ended) = if self.routes {
            (Phase::Matching, Phase::Executing, Phase::Idle)
        } else {
            let waits_for_agents = self.running.is_empty() && !self.at_work.is_empty();
            let acts = if waits_for_agents {
                Phase::Agent
            } else {
                Phase::Tool
            };
            (Phase::Thinking, acts, Phase::Finished)
        };
        self.phase = match status {
            RunStatus::Pending | RunStatus::BuildingContext | RunStatus::AwaitingLlm => asks,
            RunStatus::AwaitingApproval | RunStatus::AwaitingTool => acts,
            RunStatus::Stopping => self.phase,
            RunStatus::Completed | RunStatus::Failed | RunStatus::TimedOut | RunStatus::Interrupted => ended,
        };
    }
}
