//! The AgentBridge: the only reader of an agent's outputs outside the agent. Here, outputs that depend on the
//! agent's own state become RuntimeEvents and read models; events that follow only from facts come from the
//! receptors.
//!
//! The fold calls it for each output of each agent, in the order in which the agents emit them, after all
//! receptors have processed the same fact. Both functions are pure and stateless: an output always has the
//! same meaning.
//!
//! | an agent's output | RuntimeEvents, in this order | read model |
//! | --- | --- | --- |
//! | `RunStarted` | `run_started` | – |
//! | `RunStatus` | `run_status` | the session's status, of the root agent alone |
//! | `RunFinished` | `eof`, `run_finished` | the same |
//! | `ApprovalRequested`, `ApprovalSettled` | `approval_requested`, `approval_settled` | – |
//! | `LoopDetected` | `loop_detected` | – |
//! | `Context` | `context_changed` | – |
//! | `Closed` | `closed` | – |
//! | `Spent` | – (the run's sum is in `turn_response`) | one row of the usage ledger |
//! | `InputQueued`, `ToolStarted`, `ToolEnded` | – (the receptors emit them, from the facts) | – |
//! | a message of a person or a tool | `user_message`, `tool_result_message` | the message, for search |
//! | an answer | a `chunk` for each text and thought, `assistant_message`, `tool_call_message` if it has calls | the same |
//! | a turn begins, ends | `turn_request`, `turn_response` | – |
//! | the Stream layer | only `chunk`, for output that a tool emits | – |
//!
//! Each event has one emitter (invariant 4): `–` means that a receptor emits the event, or that it stays
//! internal.

use agentx_types::{
    AgentOutput, ApprovalSettled, AssistantMessageAdded, Chunk, Closed, ContentPart, ContextChanged, Eof,
    Medium, Message, MessageOutput, RunFinished, RunStarted, RunStatusChanged, RuntimeEvent, StateOutput,
    StreamOutput, ToolCallId, ToolCallMessageAdded, ToolResultMessageAdded, TurnOutput, TurnRequest,
    TurnResponse, UserMessageAdded,
};

use crate::Projection;

/// Pushes the events of `output` onto `out`. The Stream layer adds only chunks that a tool emits: the
/// StreamReceptor has emitted the rest.
///
/// `out` is appended to and never cleared. The events have no envelope yet: the fold adds their `seq`,
/// `index` and agent.
///
/// ```
/// use agentx_session::bridge::runtime_events_for;
/// use agentx_types::{AgentOutput, RunId, RunStatus, RuntimeEvent, StateOutput};
///
/// let ended = AgentOutput::State(StateOutput::RunFinished {
///     run_id: RunId::new("run_1"),
///     status: RunStatus::Completed,
///     reason: None,
///     iterations: 2,
/// });
/// let mut said = Vec::new();
/// runtime_events_for(&ended, &mut said);
/// assert!(matches!(said[..], [RuntimeEvent::Eof(_), RuntimeEvent::RunFinished(_)]));
/// ```
pub fn runtime_events_for(output: &AgentOutput, out: &mut Vec<RuntimeEvent>) {
    match output {
        AgentOutput::Stream(StreamOutput::Emitted {
            medium,
            text,
            data,
            tool_call_id,
        }) => out.push(
            Chunk {
                medium: medium.clone(),
                text: text.clone(),
                data: data.clone(),
                tool_call_id: Some(tool_call_id.clone()),
            }
            .into(),
        ),
        AgentOutput::Stream(_) => {}
        AgentOutput::State(state) => state_events(state, out),
        AgentOutput::Message(message) => message_events(message, out),
        AgentOutput::Turn(turn) => out.push(turn_event(turn)),
    }
}

/// The State layer. `eof` comes before `run_finished`: a reader of a stream has every chunk at `eof` and can
/// stop there, and a reader that counts runs still gets their outcome.
fn state_events(state: &StateOutput, out: &mut Vec<RuntimeEvent>) {
    match state.clone() {
        StateOutput::RunStarted { run_id, message_id } => out.push(RunStarted { run_id, message_id }.into()),
        StateOutput::RunStatus {
            run_id,
            status,
            iterations,
        } => {
            out.push(
                RunStatusChanged {
                    run_id,
                    status,
                    iterations,
                }
                .into(),
            );
        }
        StateOutput::RunFinished {
            run_id,
            status,
            reason,
            iterations,
        } => {
            let run = run_id.clone();
            out.push(Eof { run_id: run }.into());
            out.push(
                RunFinished {
                    run_id,
                    status,
                    reason,
                    iterations,
                }
                .into(),
            );
        }
        StateOutput::ApprovalRequested {
            tool_call_id,
            name,
            input,
            reason,
            suggested,
            form,
            question,
        } => {
            let asked = agentx_types::ApprovalRequested {
                tool_call_id,
                name,
                input,
                reason,
                suggested,
                form,
                question,
            };
            out.push(asked.into());
        }
        StateOutput::ApprovalSettled {
            tool_call_id,
            allowed,
        } => out.push(approval_settled(tool_call_id, allowed)),
        StateOutput::LoopDetected(found) => out.push(found.into()),
        StateOutput::Context { change } => out.push(ContextChanged { change }.into()),
        StateOutput::Closed { reason } => out.push(Closed { reason }.into()),
        StateOutput::InputQueued { .. }
        | StateOutput::Spent { .. }
        | StateOutput::ToolStarted { .. }
        | StateOutput::ToolEnded { .. } => {}
    }
}

/// The event for the end of a question.
fn approval_settled(tool_call_id: ToolCallId, allowed: bool) -> RuntimeEvent {
    ApprovalSettled {
        tool_call_id,
        allowed,
    }
    .into()
}

/// The Message layer. The parts of an answer come as chunks before the answer itself. They are for readers
/// that ignore deltas; other readers skip them (`crates/runtime/src/streams/fold.rs`).
fn message_events(output: &MessageOutput, out: &mut Vec<RuntimeEvent>) {
    match output {
        MessageOutput::User { message } => out.push(
            UserMessageAdded {
                message: Message::clone(message),
            }
            .into(),
        ),
        MessageOutput::ToolResult { message } => {
            out.push(
                ToolResultMessageAdded {
                    message: Message::clone(message),
                }
                .into(),
            );
        }
        MessageOutput::Assistant { message, partial } => {
            out.extend(message.content.iter().filter_map(chunk));
            out.push(
                AssistantMessageAdded {
                    message: Message::clone(message),
                    partial: *partial,
                }
                .into(),
            );
            let tool_call_ids: Vec<ToolCallId> = message.content.iter().filter_map(call_id).collect();
            if !tool_call_ids.is_empty() {
                out.push(
                    ToolCallMessageAdded {
                        message_id: message.message_id.clone(),
                        tool_call_ids,
                    }
                    .into(),
                );
            }
        }
    }
}

/// The Turn layer: one event for each output.
fn turn_event(turn: &TurnOutput) -> RuntimeEvent {
    match turn.clone() {
        TurnOutput::Request { run_id, text } => TurnRequest { run_id, text }.into(),
        TurnOutput::Response {
            run_id,
            text,
            duration_ms,
            usage,
            cost,
            model_calls,
        } => TurnResponse {
            run_id,
            text,
            duration_ms,
            usage,
            cost,
            model_calls,
        }
        .into(),
    }
}

/// The chunk of a part of an answer: text or thinking. Calls have separate events, and media and opaque parts
/// are not streamed.
fn chunk(part: &ContentPart) -> Option<RuntimeEvent> {
    let (medium, text) = match part {
        ContentPart::Text(part) => (Medium::Text, part.text.clone()),
        ContentPart::Thinking(part) => (Medium::Thinking, part.text.clone()),
        _ => return None,
    };
    Some(
        Chunk {
            medium,
            text,
            data: None,
            tool_call_id: None,
        }
        .into(),
    )
}

/// The id of a call among the parts of an answer.
fn call_id(part: &ContentPart) -> Option<ToolCallId> {
    match part {
        ContentPart::ToolCall(call) => Some(call.tool_call_id.clone()),
        _ => None,
    }
}

/// Returns the change of `output` in the read models, if any. `seq` is the fact that it follows from.
///
/// A change may come again, because read models can be rebuilt from the log: the id of a message and the
/// `seq` of a payment are keys by which a store recognizes a repeated change.
pub(crate) fn projection(output: &AgentOutput, context: ProjectionContext<'_>) -> Option<Projection> {
    let message = |message: &Message| Projection::Message {
        seq: context.seq,
        message_id: message.message_id.clone(),
        agent_state_id: context.agent_state_id.clone(),
        role: message.role,
        text: searchable(message),
    };
    match output {
        AgentOutput::State(
            StateOutput::RunStatus { status, .. } | StateOutput::RunFinished { status, .. },
        ) if context.is_root => Some(Projection::Status(*status)),
        AgentOutput::State(StateOutput::Spent { model, usage, cost }) => Some(Projection::Spent {
            seq: context.seq,
            run_id: context.run_id.cloned(),
            model: model.clone(),
            usage: *usage,
            cost: *cost,
        }),
        AgentOutput::Message(
            MessageOutput::User { message: m }
            | MessageOutput::ToolResult { message: m }
            | MessageOutput::Assistant { message: m, .. },
        ) => Some(message(m)),
        _ => None,
    }
}

/// The place of an output.
#[derive(Clone, Copy)]
pub(crate) struct ProjectionContext<'a> {
    /// The fact that it follows from.
    pub(crate) seq: u64,
    /// The agent that emits it.
    pub(crate) agent_state_id: &'a agentx_types::AgentStateId,
    /// The run to which it belongs; `None` before the agent's first run.
    pub(crate) run_id: Option<&'a agentx_types::RunId>,
    /// Whether people talk to the agent: the state of the session is how that one does.
    pub(crate) is_root: bool,
}

/// The text of a message for search: texts, calls as name and arguments in JSON, and results. Thinking is
/// left out: people search for what they have read.
fn searchable(message: &Message) -> String {
    let mut out = String::new();
    for part in &message.content {
        match part {
            ContentPart::Text(part) => out.push_str(&part.text),
            ContentPart::ToolCall(call) => {
                if !out.is_empty() {
                    out.push('\n');
                }
                out.push_str(&format!("{} {}", call.name, call.input));
            }
            ContentPart::ToolResult(result) => {
                result
                    .content
                    .iter()
                    .filter_map(ContentPart::as_text)
                    .for_each(|text| out.push_str(text));
            }
            _ => {}
        }
    }
    out
}
