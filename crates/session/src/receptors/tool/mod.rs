//! ToolReceptor: the life of each tool call, once per step: planned, executing, its output, completed or
//! failed. Names and arguments are kept from the model's call until they are used; a finished call is
//! forgotten, so a second result belongs to an unknown call and is ignored.

use std::collections::BTreeMap;

use agentx_agent::DELEGATE;
use agentx_types::{
    ActionKind, ActionStarted, AgentStateId, CommandFinished, CommandRan, ContentPart, Envelope,
    EnvironmentEvent, JobEnded, JobFinished, RuntimeEvent, StopReason, Timestamp, ToolCall, ToolCallId,
    ToolCallStart, ToolCompleted, ToolExecuting, ToolFailed, ToolOutput, ToolOutputChunk, ToolPlanned,
    ToolResult, ToolStatus,
};
use serde_json::Value;

use super::Receptor;

/// Maximum number of characters of a failure to show beside the call; `tool_result` has the whole text.
/// Longer ones show the beginning and the end, because the last words of nested calls give the reason.
const SHOWN_CHARS: usize = 480;
/// The number of those characters for its beginning.
const HEAD_CHARS: usize = 160;

/// Emits `tool_planned`, `tool_executing`, `tool_output`, `tool_completed`, `tool_failed`, `job_finished`,
/// `command_finished`.
///
/// A call goes through these steps, and each is reported once:
///
/// | fact | event | from then on |
/// | --- | --- | --- |
/// | `tool_call_start`, or `tool_call` without one | `tool_planned` | its arguments stream in |
/// | `tool_call` | – | it is asked for: a person may have to decide |
/// | `action_started` of it, or of the timer that it waits for | `tool_executing`, with the arguments | it runs |
/// | `tool_output_chunk` | `tool_output` | |
/// | `tool_result` | `tool_completed`, or `tool_failed` with how | it is forgotten |
///
/// A call that is denied, refused or answered by the agent itself goes from `tool_call` directly to its
/// result. One of an answer that broke off is forgotten without an end, because nobody answers it. Durations
/// are the milliseconds between the times of `action_started` and the result; for `delegate`, from the call;
/// 0 if nothing ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolReceptor {
    agents: BTreeMap<AgentStateId, OpenCalls>,
}

/// The calls of one agent that have no result yet.
#[derive(Clone, Debug, Default, PartialEq)]
struct OpenCalls {
    /// The calls by the id that the model gave; ids are an agent's own, so that two agents may use one.
    open: BTreeMap<ToolCallId, OpenCall>,
    /// The calls that came in the stream that is open.
    in_stream: Vec<ToolCallId>,
}

#[derive(Clone, Debug, PartialEq)]
struct OpenCall {
    /// The tool's name, as the call gives it.
    name: String,
    step: CallPhase,
}

/// The progress of a call.
#[derive(Clone, Debug, PartialEq)]
enum CallPhase {
    /// The arguments are being streamed.
    Announced,
    /// The model has called it, with these arguments, at this time.
    Asked(Value, Timestamp),
    /// The call has run since this time.
    Runs(Timestamp),
}

impl Receptor for ToolReceptor {
    fn receive(&mut self, fact: &Envelope<EnvironmentEvent>, out: &mut Vec<RuntimeEvent>) {
        use EnvironmentEvent as E;
        let Some(agent) = &fact.agent_state_id else { return };
        match &fact.event {
            E::JobEnded(JobEnded { job, command, how }) => {
                let (job, command, how) = (job.clone(), command.clone(), how.clone());
                out.push(JobFinished { job, command, how }.into());
            }
            E::CommandRan(ran) => out.push(finished(ran).into()),
            E::ToolCallStart(start) => self.agents.entry(agent.clone()).or_default().announce(start, out),
            E::ToolCall(call) => {
                let calls = self.agents.entry(agent.clone()).or_default();
                calls.ask(call, fact.at, out);
            }
            E::ActionStarted(_)
            | E::ToolOutputChunk(_)
            | E::ToolResult(_)
            | E::StreamStart(_)
            | E::StreamEnd(_) => {
                if let Some(calls) = self.agents.get_mut(agent) {
                    calls.on_fact(fact, out);
                }
            }
            _ => {}
        }
    }
}

fn finished(ran: &CommandRan) -> CommandFinished {
    let CommandRan {
        command,
        output,
        how,
        by,
    } = ran.clone();
    CommandFinished {
        command,
        output,
        how,
        by,
    }
}

impl OpenCalls {
    /// Handles the facts that concern only open calls. An agent without any is not even entered in the map.
    fn on_fact(&mut self, fact: &Envelope<EnvironmentEvent>, out: &mut Vec<RuntimeEvent>) {
        use EnvironmentEvent as E;
        match &fact.event {
            E::ActionStarted(started) => self.run(started, fact.at, out),
            E::ToolOutputChunk(chunk) => self.output(chunk, out),
            E::ToolResult(result) => self.end(result, fact.at, out),
            // If the program died during a stream, another begins while that one is open.
            E::StreamStart(_) => self.drop_unmeant(StopReason::Broken),
            E::StreamEnd(end) => self.drop_unmeant(end.stop_reason),
            _ => {}
        }
    }

    fn announce(&mut self, start: &ToolCallStart, out: &mut Vec<RuntimeEvent>) {
        self.plan(&start.tool_call_id, &start.name, out);
    }

    /// The arguments are complete. The name of this fact counts.
    fn ask(&mut self, call: &ToolCall, at: Timestamp, out: &mut Vec<RuntimeEvent>) {
        let planned = self.plan(&call.tool_call_id, &call.name, out);
        if planned.step == CallPhase::Announced {
            planned.name.clone_from(&call.name);
            planned.step = CallPhase::Asked(call.input.clone(), at);
        }
    }

    /// Forgets the calls without complete arguments when a stream ends, and all its calls if it breaks off:
    /// the model may not have finished deciding on them.
    fn drop_unmeant(&mut self, stop_reason: StopReason) {
        let broken = matches!(stop_reason, StopReason::Broken | StopReason::Interrupted);
        for id in self.in_stream.drain(..) {
            let unmeant = |call: &OpenCall| match call.step {
                CallPhase::Announced => true,
                CallPhase::Asked(..) => broken,
                CallPhase::Runs(_) => false,
            };
            if self.open.get(&id).is_some_and(unmeant) {
                self.open.remove(&id);
            }
        }
    }

    /// The call with this id, announced if it is new.
    fn plan(&mut self, id: &ToolCallId, name: &str, out: &mut Vec<RuntimeEvent>) -> &mut OpenCall {
        self.open.entry(id.clone()).or_insert_with(|| {
            let planned = ToolPlanned {
                tool_call_id: id.clone(),
                name: name.to_owned(),
            };
            out.push(planned.into());
            self.in_stream.push(id.clone());
            OpenCall {
                name: name.to_owned(),
                step: CallPhase::Announced,
            }
        })
    }

    /// The tool begins: the log has this fact before the tool acts.
    fn run(&mut self, started: &ActionStarted, at: Timestamp, out: &mut Vec<RuntimeEvent>) {
        let (ActionKind::CallTool | ActionKind::StartTimer, Some(id)) = (started.kind, &started.tool_call_id)
        else {
            return;
        };
        let Some(call) = self.open.get_mut(id) else { return };
        // A call that is repeated after a crash is the same call: it is announced once.
        if let CallPhase::Asked(input, _) = std::mem::replace(&mut call.step, CallPhase::Runs(at)) {
            out.push(
                ToolExecuting {
                    tool_call_id: id.clone(),
                    name: call.name.clone(),
                    input,
                }
                .into(),
            );
        }
    }

    fn output(&self, chunk: &ToolOutputChunk, out: &mut Vec<RuntimeEvent>) {
        if self.open.contains_key(&chunk.tool_call_id) {
            let (tool_call_id, text) = (chunk.tool_call_id.clone(), chunk.text.clone());
            out.push(
                ToolOutput {
                    tool_call_id,
                    channel: chunk.channel,
                    text,
                }
                .into(),
            );
        }
    }

    fn end(&mut self, result: &ToolResult, at: Timestamp, out: &mut Vec<RuntimeEvent>) {
        let Some(OpenCall { name, step }) = self.open.remove(&result.tool_call_id) else {
            return;
        };
        let duration_ms = match step {
            CallPhase::Runs(since) => at.millis_since(since),
            // No tool runs: another agent is at work until then.
            CallPhase::Asked(_, since) if name == DELEGATE => at.millis_since(since),
            CallPhase::Asked(..) | CallPhase::Announced => 0,
        };
        let (tool_call_id, details) = (result.tool_call_id.clone(), result.details.clone());
        let event = match failure_of(result) {
            None => ToolCompleted {
                tool_call_id,
                name,
                duration_ms,
                details,
            }
            .into(),
            Some(status) => {
                let error = shorten_failure(&result.result);
                ToolFailed {
                    tool_call_id,
                    name,
                    status,
                    error,
                    duration_ms,
                    details,
                }
                .into()
            }
        };
        out.push(event);
    }
}

/// Returns the status of a failed call; `None` if it did not fail. A result that is marked as an error has
/// failed even with the status `success`; any other status counts regardless of the mark.
fn failure_of(result: &ToolResult) -> Option<ToolStatus> {
    match (result.is_error, result.status) {
        (false, ToolStatus::Success) => None,
        (true, ToolStatus::Success) => Some(ToolStatus::Failed),
        (_, status) => Some(status),
    }
}

/// The shown text of a failure: all of it up to [`SHOWN_CHARS`] characters, otherwise both ends with `…`
/// between them.
fn shorten_failure(content: &[ContentPart]) -> String {
    let text: String = content.iter().filter_map(ContentPart::as_text).collect();
    let Some(too_many) = text.chars().count().checked_sub(SHOWN_CHARS + 1) else {
        return text;
    };
    let head: String = text.chars().take(HEAD_CHARS).collect();
    let tail = text.chars().skip(HEAD_CHARS + too_many + 1);
    format!("{head}…{}", tail.collect::<String>())
}

#[cfg(test)]
mod tests;
