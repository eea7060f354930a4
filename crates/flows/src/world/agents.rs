//! Agents that a tool creates: children of the calling agent, in the same session, with their own models and
//! tools.
//!
//! Their ids follow from the call and the step, and so do the ids of their inputs: a step that is repeated
//! after a crash creates no second agent and sends nothing twice. A child's answer is read from the session;
//! each piece that a script got is recorded with its position, so a repeated script reads on after it.

use std::sync::Arc;

use agentx_luau_tools::{EffectError, Outcome};
use agentx_runtime::{AgentHearing, Journal};
use agentx_types::{
    AgentClosed, AgentStateId, ContentPart, Envelope, EnvironmentEvent, InputMode, InterruptRequested,
    Medium, MessageId, RunId, RunStatus, RuntimeEvent, StopReason, UserMessage,
};
use serde_json::{Value, json};

use super::answer_delivery::{ScriptPiece, StreamDelta};
use super::children::{ChildTurn, FlowChild};
use super::file_tool_call::FileToolCall;

/// Maximum number of bytes of waiting pieces to pass on together.
const TOGETHER: usize = 4 << 10;

pub(super) async fn say(
    journal: &Journal,
    to: &AgentStateId,
    event: impl Into<EnvironmentEvent>,
) -> Result<u64, EffectError> {
    let said = journal.record_for(to, event).await;
    let taken = said.ok_or_else(|| EffectError::new("unavailable", "the session is gone"))?;
    taken.map_err(|why| EffectError::new("refused", why))
}

/// Sends an input to an agent, exactly once.
pub(crate) async fn input(call: Arc<FileToolCall>, step: u64, asked: Value, again: bool) -> Outcome {
    let child = call.children.find(&asked)?;
    let journal = &call.context.journal;
    let listener = journal
        .listener()
        .ok_or_else(|| EffectError::new("unavailable", "agents are heard inside a session"))?;
    let words = match asked.get("input") {
        Some(Value::String(words)) => words.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let message_id = MessageId::with_suffix(format_args!("{}_{step}", journal.tool_call_id()));
    let mut turn = child.turn.lock().await;
    let known = if again {
        listener
            .find(|fact| matches!(&fact.event, EnvironmentEvent::UserMessage(said) if said.message_id == message_id))
            .await
            .map_err(|error| EffectError::new("failed", format!("the session's log cannot be read: {error}")))?
    } else {
        None
    };
    // Subscribed before the input is sent, so that no answer is missed.
    let ears = listener.from_now(&child.id);
    let seq = match known {
        Some(seq) => seq,
        None => {
            let message = UserMessage {
                message_id: message_id.clone(),
                content: vec![ContentPart::text(words)],
                mode: InputMode::Queue,
                idempotency_key: Some(message_id.to_string()),
                by: None,
                answer_schema: None,
            };
            say(journal, &child.id, message).await?
        }
    };
    *turn = ChildTurn {
        input: Some(seq),
        ears: ears.filter(|_| known.is_none()),
        ..ChildTurn::default()
    };
    Ok(json!({"seq": seq}))
}

/// Returns the next piece of an agent's answer, or null at the end of its turn.
pub(crate) async fn next(call: &FileToolCall, asked: &Value) -> Outcome {
    let child = call.children.find(asked)?;
    let mut turn = child.turn.lock().await;
    match turn.next(call, &child.id).await? {
        Some((piece, at)) => {
            let mut value = piece.to_value();
            value["at"] = json!(at);
            Ok(value)
        }
        None => Ok(Value::Null),
    }
}

/// Returns the complete answer of an agent's turn: its last message.
pub(crate) async fn collect(call: &FileToolCall, asked: &Value) -> Outcome {
    let child = call.children.find(asked)?;
    let mut turn = child.turn.lock().await;
    while turn.next(call, &child.id).await?.is_some() {}
    Ok(Value::String(turn.answer.clone()))
}

/// Interrupts an agent.
pub(crate) async fn interrupt(call: &FileToolCall, asked: &Value) -> Outcome {
    let child = call.children.find(asked)?;
    let reason = Some("stopped by the tool that made it".to_owned());
    say(
        &call.context.journal,
        &child.id,
        InterruptRequested {
            reason,
            hold: false,
            by: None,
        },
    )
    .await?;
    Ok(Value::Null)
}

/// Ends an agent.
pub(crate) async fn close(call: &FileToolCall, asked: &Value) -> Outcome {
    let child = call.children.find(asked)?;
    call.children.lock().remove(child.id.as_str());
    say_closed(&call.context.journal, &child.id).await?;
    Ok(Value::Null)
}

async fn say_closed(journal: &Journal, child: &AgentStateId) -> Result<u64, EffectError> {
    let closed = AgentClosed {
        agent_state_id: child.clone(),
        reason: "its work is done".into(),
    };
    say(journal, child, closed).await
}

/// Ends all agents that the call created and did not end, and stops their runs if the call was stopped.
pub(crate) async fn end_all(call: &FileToolCall, stopped: bool) {
    let left: Vec<Arc<FlowChild>> = std::mem::take(&mut *call.children.lock()).into_values().collect();
    for child in left {
        if stopped {
            let reason = Some("the call that made it was stopped".to_owned());
            let _ = say(
                &call.context.journal,
                &child.id,
                InterruptRequested {
                    reason,
                    hold: false,
                    by: None,
                },
            )
            .await;
        }
        // If the session is gone, its agents are too.
        let _ = say_closed(&call.context.journal, &child.id).await;
    }
}

impl ChildTurn {
    /// Returns the next piece with its position in the session; pieces that are already there come together.
    async fn next(
        &mut self,
        call: &FileToolCall,
        child: &AgentStateId,
    ) -> Result<Option<(ScriptPiece, (u64, u32))>, EffectError> {
        let Some(input) = self.input else {
            return Err(EffectError::new(
                "invalid",
                "the agent has no input yet: call input first",
            ));
        };
        let mut together: Option<(ScriptPiece, (u64, u32))> = None;
        loop {
            if let Some(ended) = &self.ended {
                return match (together, ended) {
                    (None, Err(problem)) => Err(problem.clone()),
                    (together, _) => Ok(together),
                };
            }
            let event = match &together {
                None => Some(self.hear(call, child, input).await?),
                Some((piece, _)) if piece.text.len() < TOGETHER => {
                    self.ears.as_mut().and_then(AgentHearing::try_next)
                }
                Some(_) => None,
            };
            let Some(event) = event else { return Ok(together) };
            let at = (event.seq, event.index.unwrap_or(0));
            let Some(piece) = self.takes(&event, input) else {
                continue;
            };
            if at <= self.told {
                continue;
            }
            self.told = at;
            together = Some(match together {
                Some((before, _)) if !piece.restarted => (
                    ScriptPiece {
                        text: before.text + &piece.text,
                        restarted: before.restarted,
                    },
                    at,
                ),
                _ => (piece, at),
            });
        }
    }

    async fn hear(
        &mut self,
        call: &FileToolCall,
        child: &AgentStateId,
        input: u64,
    ) -> Result<Arc<Envelope<RuntimeEvent>>, EffectError> {
        let gone = || EffectError::new("unavailable", "the session is gone");
        if self.ears.is_none() {
            let listener = call.context.journal.listener().ok_or_else(gone)?;
            self.ears = listener.listen_after(child, (input, 0));
        }
        let ears = self.ears.as_mut().ok_or_else(gone)?;
        ears.next().await.ok_or_else(gone)
    }

    /// Adds an event to the answer. Returns the piece for the script, if there is one.
    fn takes(&mut self, event: &Envelope<RuntimeEvent>, input: u64) -> Option<ScriptPiece> {
        let run = RunId::of_input(input);
        if event.seq < input || event.run_id.as_ref().is_some_and(|of| *of != run) {
            return None;
        }
        match &event.event {
            RuntimeEvent::MessageStart(_) => {
                self.delta.begin();
                None
            }
            RuntimeEvent::TextDelta(delta) => self.delta.add(&delta.text),
            RuntimeEvent::MessageStop(stop) => {
                if stop.stop_reason == StopReason::Broken {
                    return None;
                }
                let piece = self.delta.end();
                self.delta = StreamDelta::default();
                piece
            }
            // Output of its tools; its own text has already come.
            RuntimeEvent::Chunk(chunk) if !matches!(chunk.medium, Medium::Text | Medium::Thinking) => {
                Some(ScriptPiece {
                    text: chunk.text.clone(),
                    restarted: false,
                })
            }
            RuntimeEvent::TurnResponse(response) => {
                self.answer.clone_from(&response.text);
                None
            }
            RuntimeEvent::RunFinished(finished) => {
                let failed = matches!(finished.status, RunStatus::Failed | RunStatus::TimedOut);
                let why = finished.reason.clone().unwrap_or_default();
                self.ended = Some(if failed {
                    Err(EffectError::new(
                        "agent_failed",
                        format!("the agent could not go on: {why}"),
                    ))
                } else {
                    Ok(())
                });
                None
            }
            RuntimeEvent::Closed(_) | RuntimeEvent::AgentDestroyed(_) => {
                self.ended = Some(Err(EffectError::new("closed", "the agent is gone")));
                None
            }
            _ => None,
        }
    }
}
