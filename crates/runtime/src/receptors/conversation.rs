//! ConversationReceptor: where the talk with each agent stands: an input waits, is taken up, thought about, answered,
//! stopped. It follows the same facts as the agent's own machine, and knows of that machine only what the log says.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use agentx_types::{
    ActionKind, AgentConfig, AgentStateId, ConfigChange, ConversationEnd, ConversationInterrupted,
    ConversationQueued, ConversationResponding, ConversationStart, ConversationThinking, Envelope,
    EnvironmentEvent, InputMode, MessageId, RuntimeEvent, StopReason, ToolCall, ToolCallId, ToolResult,
    ToolSpec, ToolStatus, UserMessage,
};
use serde::{Deserialize, Serialize};

use super::Receptor;

/// Emits `conversation_queued`, `_start`, `_thinking`, `_responding`, `_end`, `_interrupted`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConversationReceptor {
    agents: BTreeMap<AgentStateId, Talk>,
}

/// The talk with one agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Talk {
    /// Whether an input is being answered.
    active: bool,
    /// Whether words came in the stream that is open.
    responding: bool,
    /// Inputs that wait for the end of what is under way.
    waiting: VecDeque<MessageId>,
    /// Inputs that wait for the next model call.
    steering: Vec<MessageId>,
    /// Tools that end what is under way when they succeed.
    quit_tools: BTreeSet<String>,
    /// Open calls of such tools.
    quit_calls: BTreeSet<ToolCallId>,
}

impl Receptor for ConversationReceptor {
    fn receive(&mut self, fact: &Envelope<EnvironmentEvent>, out: &mut Vec<RuntimeEvent>) {
        use EnvironmentEvent as E;
        match (&fact.event, &fact.agent_state_id) {
            (E::SessionForked(_), _) => self.fork(out),
            (E::AgentClosed(closed), _) => {
                self.agents.remove(&closed.agent_state_id);
            }
            (E::AgentSpawned(spawned), _) => self.meet(&spawned.agent_state_id, &spawned.config),
            (E::SessionOpened(opened), Some(agent)) => self.meet(agent, &opened.config),
            (E::UserMessage(input), Some(agent)) => {
                self.agents.entry(agent.clone()).or_default().hear(input, out)
            }
            (_, Some(agent)) => {
                if let Some(talk) = self.agents.get_mut(agent) {
                    talk.go_on(&fact.event, out);
                }
            }
            (_, None) => {}
        }
    }
}

impl ConversationReceptor {
    fn meet(&mut self, agent: &AgentStateId, config: &AgentConfig) {
        self.agents.entry(agent.clone()).or_default().offer(&config.tools);
    }

    /// What was under way in the other session is not under way here.
    fn fork(&mut self, out: &mut Vec<RuntimeEvent>) {
        let mut stopped = false;
        for talk in self.agents.values_mut() {
            stopped |= std::mem::take(&mut talk.active);
            talk.waiting.clear();
            talk.steering.clear();
            talk.quit_calls.clear();
        }
        if stopped {
            out.push(
                ConversationInterrupted {
                    reason: "forked".into(),
                }
                .into(),
            );
        }
    }
}

impl Talk {
    fn go_on(&mut self, event: &EnvironmentEvent, out: &mut Vec<RuntimeEvent>) {
        use EnvironmentEvent as E;
        match event {
            E::TextChunk(_) => self.respond(out),
            E::StreamStart(_) => self.responding = false,
            E::ConfigChanged(changed) => {
                if let ConfigChange::Tools(tools) = &changed.change {
                    self.offer(tools);
                }
            }
            _ if !self.active => {}
            E::ActionStarted(started) if started.kind == ActionKind::CallModel => {
                self.steering.clear();
                out.push(ConversationThinking {}.into());
            }
            E::ToolCall(call) => self.note(call),
            E::ToolResult(result) => self.quit(result, out),
            E::StreamEnd(end) => {
                if let Some(reason) = last_word(end.stop_reason) {
                    self.end(
                        ConversationEnd {
                            reason: reason.into(),
                        },
                        out,
                    );
                }
            }
            E::ErrorOccurred(error) => self.end(
                ConversationEnd {
                    reason: error.code.clone(),
                },
                out,
            ),
            E::Interrupted(interrupted) => self.end(
                ConversationInterrupted {
                    reason: interrupted.reason.clone(),
                },
                out,
            ),
            _ => {}
        }
    }

    fn offer(&mut self, tools: &[ToolSpec]) {
        self.quit_tools = tools
            .iter()
            .filter(|tool| tool.quit)
            .map(|tool| tool.name.clone())
            .collect();
    }

    fn hear(&mut self, input: &UserMessage, out: &mut Vec<RuntimeEvent>) {
        let message_id = input.message_id.clone();
        match input.mode {
            _ if !self.active => self.start(message_id, out),
            InputMode::Queue => {
                self.waiting.push_back(message_id.clone());
                let position = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
                out.push(ConversationQueued { message_id, position }.into());
            }
            InputMode::Steer => self.steering.push(message_id),
            // What runs is stopped for it, so it comes before all that wait.
            InputMode::Interrupt => self.waiting.push_front(message_id),
        }
    }

    fn start(&mut self, message_id: MessageId, out: &mut Vec<RuntimeEvent>) {
        self.active = true;
        self.responding = false;
        out.push(ConversationStart { message_id }.into());
    }

    fn respond(&mut self, out: &mut Vec<RuntimeEvent>) {
        if self.active && !self.responding {
            self.responding = true;
            out.push(ConversationResponding {}.into());
        }
    }

    fn note(&mut self, call: &ToolCall) {
        if self.quit_tools.contains(&call.name) {
            self.quit_calls.insert(call.tool_call_id.clone());
        }
    }

    fn quit(&mut self, result: &ToolResult, out: &mut Vec<RuntimeEvent>) {
        let quits = self.quit_calls.remove(&result.tool_call_id);
        if quits && !result.is_error && result.status == ToolStatus::Success {
            self.end(
                ConversationEnd {
                    reason: "quit".into(),
                },
                out,
            );
        }
    }

    /// Ends what is under way and takes up the next input, if one waits. Words meant to steer what has ended come first.
    fn end(&mut self, end: impl Into<RuntimeEvent>, out: &mut Vec<RuntimeEvent>) {
        out.push(end.into());
        self.active = false;
        self.quit_calls.clear();
        for message_id in self.steering.drain(..).rev() {
            self.waiting.push_front(message_id);
        }
        if let Some(next) = self.waiting.pop_front() {
            self.start(next, out);
        }
    }
}

/// The reason of a stop that is the last one of an answer; `None` where more follows: results, another attempt, the rest of
/// a long turn, or the fact that says why it was stopped.
fn last_word(stop_reason: StopReason) -> Option<&'static str> {
    match stop_reason {
        StopReason::ToolUse | StopReason::PauseTurn | StopReason::Broken | StopReason::Interrupted => None,
        StopReason::EndTurn => Some("end_turn"),
        StopReason::MaxTokens => Some("max_tokens"),
        StopReason::StopSequence => Some("stop_sequence"),
        StopReason::Refusal => Some("refusal"),
        StopReason::ContextWindow => Some("context_window"),
        StopReason::Other => Some("other"),
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::{ConfigChanged, ErrorOccurred, SessionForked, SessionId, WriterAttached};

    use super::super::testing::*;
    use super::*;

    fn start(id: &str) -> RuntimeEvent {
        ConversationStart {
            message_id: id.into(),
        }
        .into()
    }

    fn end(reason: &str) -> RuntimeEvent {
        ConversationEnd {
            reason: reason.into(),
        }
        .into()
    }

    fn stopped(reason: &str) -> RuntimeEvent {
        ConversationInterrupted {
            reason: reason.into(),
        }
        .into()
    }

    fn queued(id: &str, position: u32) -> RuntimeEvent {
        ConversationQueued {
            message_id: id.into(),
            position,
        }
        .into()
    }

    fn thinking() -> RuntimeEvent {
        ConversationThinking {}.into()
    }

    fn responding() -> RuntimeEvent {
        ConversationResponding {}.into()
    }

    #[test]
    fn an_answer_with_a_tool_then_what_waited() {
        check(
            ConversationReceptor::default(),
            vec![
                (user("msg_a", InputMode::Queue), vec![start("msg_a")]),
                (model_asked(), vec![thinking()]),
                (stream_start("msg_1"), vec![]),
                (text("a"), vec![responding()]),
                (text("b"), vec![]),
                (user("msg_b", InputMode::Queue), vec![queued("msg_b", 1)]),
                (user("msg_c", InputMode::Queue), vec![queued("msg_c", 2)]),
                (stream_end(StopReason::ToolUse), vec![]),
                (tool_result("c1", "ok"), vec![]),
                (model_asked(), vec![thinking()]),
                (stream_start("msg_2"), vec![]),
                (text("c"), vec![responding()]),
                (
                    stream_end(StopReason::EndTurn),
                    vec![end("end_turn"), start("msg_b")],
                ),
                (model_asked(), vec![thinking()]),
                (stream_start("msg_3"), vec![]),
                (
                    stream_end(StopReason::MaxTokens),
                    vec![end("max_tokens"), start("msg_c")],
                ),
                (stream_end(StopReason::Refusal), vec![end("refusal")]),
            ],
        );
    }

    #[test]
    fn interrupts_and_errors_end_it() {
        let error = || ErrorOccurred {
            code: "unauthorized".into(),
            message: "no".into(),
            recoverable: true,
        };
        let attached = WriterAttached {
            epoch: 2,
            program: "agentx 1".into(),
            process: 1,
        };
        check(
            ConversationReceptor::default(),
            vec![
                (interrupted("nothing runs"), vec![]),
                (error().into(), vec![]),
                (user("msg_a", InputMode::Queue), vec![start("msg_a")]),
                (attached.into(), vec![]),
                (user("msg_b", InputMode::Interrupt), vec![]),
                (stream_end(StopReason::Interrupted), vec![]),
                (interrupted("user"), vec![stopped("user"), start("msg_b")]),
                (stream_end(StopReason::Broken), vec![]),
                (stream_end(StopReason::PauseTurn), vec![]),
                (error().into(), vec![end("unauthorized")]),
                (text("late"), vec![]),
                (model_asked(), vec![]),
            ],
        );
    }

    #[test]
    fn words_that_steer_wait_for_the_next_model_call() {
        check(
            ConversationReceptor::default(),
            vec![
                (user("msg_a", InputMode::Steer), vec![start("msg_a")]),
                (user("msg_b", InputMode::Steer), vec![]),
                (model_asked(), vec![thinking()]),
                (user("msg_c", InputMode::Queue), vec![queued("msg_c", 1)]),
                (user("msg_d", InputMode::Steer), vec![]),
                (
                    stream_end(StopReason::EndTurn),
                    vec![end("end_turn"), start("msg_d")],
                ),
                (
                    stream_end(StopReason::EndTurn),
                    vec![end("end_turn"), start("msg_c")],
                ),
                (stream_end(StopReason::EndTurn), vec![end("end_turn")]),
            ],
        );
    }

    #[test]
    fn a_quit_tool_ends_it_when_it_succeeds() {
        let no_tools = ConfigChanged {
            change: ConfigChange::Tools([].into()),
        };
        check(
            ConversationReceptor::default(),
            vec![
                (session_opened(), vec![]),
                (user("msg_a", InputMode::Queue), vec![start("msg_a")]),
                (tool_call("c1", "finish"), vec![]),
                (
                    tool_failure("c1", ToolStatus::Invalid, "no such argument"),
                    vec![],
                ),
                (tool_call("c2", "finish"), vec![]),
                (tool_result("c2", "ok"), vec![end("quit")]),
                (no_tools.into(), vec![]),
                (user("msg_b", InputMode::Queue), vec![start("msg_b")]),
                (tool_call("c3", "finish"), vec![]),
                (tool_result("c3", "ok"), vec![]),
            ],
        );
    }

    #[test]
    fn a_fork_stops_what_was_under_way_elsewhere() {
        let forked = || SessionForked {
            parent: SessionId::new("ses_0"),
            at_seq: 2,
        };
        check(
            ConversationReceptor::default(),
            vec![
                (forked().into(), vec![]),
                (user("msg_a", InputMode::Queue), vec![start("msg_a")]),
                (user("msg_b", InputMode::Queue), vec![queued("msg_b", 1)]),
                (forked().into(), vec![stopped("forked")]),
                (forked().into(), vec![]),
                (user("msg_c", InputMode::Queue), vec![start("msg_c")]),
            ],
        );
    }
}
