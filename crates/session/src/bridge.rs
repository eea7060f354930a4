//! The AgentBridge: the only one who reads an agent's outputs from outside. What needs the agent's own state becomes
//! RuntimeEvents and read models here; what facts alone say is the receptors'.

use agentx_types::{
    AgentOutput, ApprovalSettled, AssistantMessageAdded, Chunk, Closed, ContentPart, ContextChanged, Eof,
    Medium, Message, MessageOutput, RunFinished, RunStarted, RunStatusChanged, RuntimeEvent, StateOutput,
    StreamOutput, ToolCallId, ToolCallMessageAdded, ToolResultMessageAdded, TurnOutput, TurnRequest,
    TurnResponse, UserMessageAdded,
};

use crate::Projection;

/// Pushes what `output` means onto `out`. The Stream layer says nothing new outside, but for what a tool emits: the rest the
/// StreamReceptor has said.
pub fn meaning(output: &AgentOutput, out: &mut Vec<RuntimeEvent>) {
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
        AgentOutput::State(state) => state_meaning(state, out),
        AgentOutput::Message(message) => message_meaning(message, out),
        AgentOutput::Turn(turn) => out.push(turn_meaning(turn)),
    }
}

fn state_meaning(state: &StateOutput, out: &mut Vec<RuntimeEvent>) {
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
            out.push(
                Eof {
                    run_id: run_id.clone(),
                }
                .into(),
            );
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
        } => {
            out.push(
                agentx_types::ApprovalRequested {
                    tool_call_id,
                    name,
                    input,
                    reason,
                    suggested,
                }
                .into(),
            );
        }
        StateOutput::ApprovalSettled {
            tool_call_id,
            allowed,
        } => out.push(settled(tool_call_id, allowed)),
        StateOutput::Context { change } => out.push(ContextChanged { change }.into()),
        StateOutput::Closed { reason } => out.push(Closed { reason }.into()),
        StateOutput::InputQueued { .. }
        | StateOutput::Spent { .. }
        | StateOutput::ToolStarted { .. }
        | StateOutput::ToolEnded { .. } => {}
    }
}

fn settled(tool_call_id: ToolCallId, allowed: bool) -> RuntimeEvent {
    ApprovalSettled {
        tool_call_id,
        allowed,
    }
    .into()
}

fn message_meaning(output: &MessageOutput, out: &mut Vec<RuntimeEvent>) {
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

fn turn_meaning(turn: &TurnOutput) -> RuntimeEvent {
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

fn call_id(part: &ContentPart) -> Option<ToolCallId> {
    match part {
        ContentPart::ToolCall(call) => Some(call.tool_call_id.clone()),
        _ => None,
    }
}

/// What `output` changes in the read models, if anything. `seq` is the fact that it follows from.
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

/// Where an output stands.
#[derive(Clone, Copy)]
pub(crate) struct ProjectionContext<'a> {
    pub(crate) seq: u64,
    pub(crate) agent_state_id: &'a agentx_types::AgentStateId,
    pub(crate) run_id: Option<&'a agentx_types::RunId>,
    /// Whether people talk to the agent: how the session stands is how that one does.
    pub(crate) is_root: bool,
}

/// The words of a message that a person would search for: texts, and what tools were asked and answered.
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
