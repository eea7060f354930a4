//! StreamReceptor: a model's answer as it arrives, and the results that the model will read. Starts and stops
//! pair up even after a crash: a message that never ended is stopped by the first fact that shows that it
//! cannot continue.
//!
//! Deltas are emitted before it is known whether the answer completes; a front end withdraws them if
//! `message_stop` says `broken` or `interrupted`. The bridge emits the complete answer.

use std::collections::{BTreeMap, BTreeSet};

use agentx_types::{
    AgentConfig, AgentKind, AgentStateId, Envelope, EnvironmentEvent, FallbackAnswers, MessageId,
    MessageStart, MessageStop, RunInterrupted, RuntimeEvent, StopReason, StreamStart, TextDelta,
    ThinkingDelta, ToolCall, ToolCallAnswered, ToolCallId, ToolCallRequested, ToolResult, Usage,
};

use super::Receptor;

/// Emits `message_start`, `fallback_answers`, `text_delta`, `thinking_delta`, `tool_call`, `tool_result`,
/// `message_stop`, `interrupted`.
///
/// | fact | events |
/// | --- | --- |
/// | `stream_start` | `message_stop` (`broken`) of one that is open, then `message_start` |
/// | `text_chunk`, `thinking_chunk` | `text_delta`, `thinking_delta`; of an agent that only sorts inputs both are thoughts |
/// | `tool_call` | `tool_call`, when its arguments are whole |
/// | `usage` | nothing: the open message's `message_stop` carries it |
/// | `model_fell_back` | `fallback_answers` if a message is open |
/// | `stream_end` | `message_stop`, with the last usage that was reported |
/// | `tool_result` | `tool_result`, for the first answer of a call that was asked for |
/// | `interrupted` | `message_stop` if one is open, then `interrupted` |
/// | `error` | `message_stop` (`broken`) if one is open |
///
/// Between two `message_start` of an agent there is exactly one `message_stop`. Facts without an agent have
/// no meaning here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamReceptor {
    agents: BTreeMap<AgentStateId, StreamMemory>,
    /// Agents that only sort inputs: the person does not see the answers of their models.
    sorting: BTreeSet<AgentStateId>,
}

/// The open parts in the stream of one agent.
#[derive(Clone, Debug, Default, PartialEq)]
struct StreamMemory {
    /// The answer that comes in: begun and not stopped.
    message: Option<OpenMessage>,
    /// Calls without an answer: only the first answer is one that the model reads.
    calls: BTreeSet<ToolCallId>,
}

#[derive(Clone, Debug, PartialEq)]
struct OpenMessage {
    /// The id that the stream gave it.
    message_id: MessageId,
    /// The last reported usage: each report is the total so far.
    usage: Usage,
    /// The calls in it until now.
    calls: Vec<ToolCallId>,
}

impl Receptor for StreamReceptor {
    fn receive(&mut self, fact: &Envelope<EnvironmentEvent>, out: &mut Vec<RuntimeEvent>) {
        use EnvironmentEvent as E;
        let Some(agent) = &fact.agent_state_id else { return };
        match &fact.event {
            E::SessionOpened(opened) => self.add_agent(agent, &opened.config),
            E::AgentSpawned(spawned) => self.add_agent(&spawned.agent_state_id, &spawned.config),
            E::TextChunk(chunk) if self.sorting.contains(agent) => out.push(
                ThinkingDelta {
                    text: chunk.text.clone(),
                }
                .into(),
            ),
            E::TextChunk(chunk) => out.push(
                TextDelta {
                    text: chunk.text.clone(),
                }
                .into(),
            ),
            E::ThinkingChunk(chunk) => out.push(
                ThinkingDelta {
                    text: chunk.text.clone(),
                }
                .into(),
            ),
            E::StreamStart(start) => self.of(agent).start(start, out),
            E::ModelFellBack(fallback) => {
                if let Some(message) = &self.of(agent).message {
                    let answers = FallbackAnswers {
                        message_id: message.message_id.clone(),
                        model: fallback.model.clone(),
                        prices: fallback.prices.clone(),
                    };
                    out.push(answers.into());
                }
            }
            E::UsageReport(report) => {
                if let Some(message) = &mut self.of(agent).message {
                    message.usage = report.usage;
                }
            }
            E::ToolCall(call) => self.of(agent).call(call, out),
            E::ToolResult(result) => self.of(agent).answer(result, out),
            E::StreamEnd(end) => self.of(agent).stop(end.stop_reason, out),
            E::Interrupted(interrupted) => {
                self.of(agent).stop(StopReason::Interrupted, out);
                out.push(
                    RunInterrupted {
                        reason: interrupted.reason.clone(),
                    }
                    .into(),
                );
            }
            E::ErrorOccurred(_) => self.of(agent).stop(StopReason::Broken, out),
            _ => {}
        }
    }
}

impl StreamReceptor {
    /// An agent comes into being.
    fn add_agent(&mut self, agent: &AgentStateId, config: &AgentConfig) {
        if config.kind == AgentKind::Match {
            self.sorting.insert(agent.clone());
        }
    }

    /// Returns the state of this agent's answer; it is empty before the first.
    fn of(&mut self, agent: &AgentStateId) -> &mut StreamMemory {
        self.agents.entry(agent.clone()).or_default()
    }
}

impl StreamMemory {
    /// An answer begins: the first attempt, or another one after the last broke off.
    fn start(&mut self, start: &StreamStart, out: &mut Vec<RuntimeEvent>) {
        // The program died in mid-stream and the model is called again.
        self.stop(StopReason::Broken, out);
        self.message = Some(OpenMessage {
            message_id: start.message_id.clone(),
            usage: Usage::default(),
            calls: Vec::new(),
        });
        let (message_id, model) = (start.message_id.clone(), start.model.clone());
        out.push(
            MessageStart {
                message_id,
                model,
                attempt: start.attempt,
            }
            .into(),
        );
    }

    fn call(&mut self, call: &ToolCall, out: &mut Vec<RuntimeEvent>) {
        self.calls.insert(call.tool_call_id.clone());
        if let Some(message) = &mut self.message {
            message.calls.push(call.tool_call_id.clone());
        }
        let (tool_call_id, name, input) = (call.tool_call_id.clone(), call.name.clone(), call.input.clone());
        out.push(
            ToolCallRequested {
                tool_call_id,
                name,
                input,
            }
            .into(),
        );
    }

    /// A call has its result. The model reads neither a second result nor one of a call that it did not make
    /// (invariant 8).
    fn answer(&mut self, result: &ToolResult, out: &mut Vec<RuntimeEvent>) {
        if self.calls.remove(&result.tool_call_id) {
            let (tool_call_id, is_error) = (result.tool_call_id.clone(), result.is_error);
            out.push(
                ToolCallAnswered {
                    tool_call_id,
                    result: result.result.clone(),
                    is_error,
                }
                .into(),
            );
        }
    }

    /// Ends the answer in progress. Emits nothing if none is open, so it may be called whenever an answer
    /// cannot continue.
    fn stop(&mut self, stop_reason: StopReason, out: &mut Vec<RuntimeEvent>) {
        let Some(message) = self.message.take() else {
            return;
        };
        if matches!(stop_reason, StopReason::Broken | StopReason::Interrupted) {
            // The model may not have finished deciding on its calls, so they are not answered.
            message.calls.iter().for_each(|call| {
                self.calls.remove(call);
            });
        }
        let OpenMessage {
            message_id, usage, ..
        } = message;
        out.push(
            MessageStop {
                message_id,
                stop_reason,
                usage,
            }
            .into(),
        );
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::{ContentPart, ErrorOccurred, SessionOpened, ThinkingChunk, UsageReport};

    use super::super::testing::*;
    use super::*;

    fn message_start(id: &str) -> RuntimeEvent {
        MessageStart {
            message_id: MessageId::new(id),
            model: "m-1".into(),
            attempt: 1,
        }
        .into()
    }

    fn message_stop(id: &str, stop_reason: StopReason, output_tokens: u64) -> RuntimeEvent {
        let usage = Usage {
            output_tokens,
            ..Usage::default()
        };
        MessageStop {
            message_id: MessageId::new(id),
            stop_reason,
            usage,
        }
        .into()
    }

    fn usage(output_tokens: u64) -> EnvironmentEvent {
        UsageReport {
            usage: Usage {
                output_tokens,
                ..Usage::default()
            },
        }
        .into()
    }

    fn asked(id: &str, name: &str) -> RuntimeEvent {
        let input = serde_json::json!({"path": "a"});
        ToolCallRequested {
            tool_call_id: id.into(),
            name: name.into(),
            input,
        }
        .into()
    }

    #[test]
    fn what_an_agent_says_that_only_sorts_is_thought() {
        let opened = SessionOpened {
            owner: "own_1".into(),
            config: Box::new(AgentConfig {
                kind: AgentKind::Match,
                ..config()
            }),
            program: "test".into(),
        };
        let thought = ThinkingDelta { text: "play".into() };
        check(
            StreamReceptor::default(),
            vec![
                (opened.into(), vec![]),
                (stream_start("msg_1"), vec![message_start("msg_1")]),
                (text("play"), vec![thought.into()]),
            ],
        );
    }

    #[test]
    fn an_answer_with_a_tool() {
        check(
            StreamReceptor::default(),
            vec![
                (stream_start("msg_1"), vec![message_start("msg_1")]),
                (
                    ThinkingChunk { text: "hm".into() }.into(),
                    vec![ThinkingDelta { text: "hm".into() }.into()],
                ),
                (
                    text("你好"),
                    vec![
                        TextDelta {
                            text: "你好".into()
                        }
                        .into(),
                    ],
                ),
                (usage(1), vec![]),
                (tool_call("c1", "read"), vec![asked("c1", "read")]),
                (usage(9), vec![]),
                (
                    stream_end(StopReason::ToolUse),
                    vec![message_stop("msg_1", StopReason::ToolUse, 9)],
                ),
                (
                    tool_result("c1", "ok"),
                    vec![
                        ToolCallAnswered {
                            tool_call_id: "c1".into(),
                            result: vec![ContentPart::text("ok")],
                            is_error: false,
                        }
                        .into(),
                    ],
                ),
                (tool_result("c1", "late"), vec![]),
                (tool_result("c9", "of no call"), vec![]),
                (stream_start("msg_2"), vec![message_start("msg_2")]),
                (
                    stream_end(StopReason::EndTurn),
                    vec![message_stop("msg_2", StopReason::EndTurn, 0)],
                ),
            ],
        );
    }

    #[test]
    fn what_is_open_is_stopped_once() {
        let error = ErrorOccurred {
            code: "reset".into(),
            message: "reset".into(),
            recoverable: true,
        };
        check(
            StreamReceptor::default(),
            vec![
                (stream_end(StopReason::EndTurn), vec![]),
                (usage(3), vec![]),
                (stream_start("msg_1"), vec![message_start("msg_1")]),
                (
                    stream_start("msg_2"),
                    vec![
                        message_stop("msg_1", StopReason::Broken, 0),
                        message_start("msg_2"),
                    ],
                ),
                (
                    interrupted("user"),
                    vec![
                        message_stop("msg_2", StopReason::Interrupted, 0),
                        RunInterrupted {
                            reason: "user".into(),
                        }
                        .into(),
                    ],
                ),
                (stream_end(StopReason::Interrupted), vec![]),
                (stream_start("msg_3"), vec![message_start("msg_3")]),
                (tool_call("c1", "read"), vec![asked("c1", "read")]),
                (error.into(), vec![message_stop("msg_3", StopReason::Broken, 0)]),
                (tool_result("c1", "of no call"), vec![]),
            ],
        );
    }

    #[test]
    fn a_fact_without_an_agent_is_nobodys() {
        let mut fact = envelope(0, text("lost"));
        fact.agent_state_id = None;
        let mut out = Vec::new();
        StreamReceptor::default().receive(&fact, &mut out);
        assert_eq!(out, []);
    }
}
