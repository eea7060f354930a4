//! ConversationReceptor: where the talk with each agent stands: an input waits, is taken up, thought about, answered,
//! stopped. It follows the same facts as the agent's own machine, and knows of that machine only what the log says: an
//! answer with calls goes on with their results, a stop is over when the log says so.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use agentx_types::{
    ActionKind, AgentConfig, AgentStateId, ConfigChange, ConversationEnd, ConversationInterrupted,
    ConversationQueued, ConversationResponding, ConversationStart, ConversationThinking, Envelope,
    EnvironmentEvent, InputMode, MessageId, RunId, RuntimeEvent, StopReason, ToolCallId, ToolResult,
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
    /// What is being answered.
    active: Option<Active>,
    /// Inputs that wait for the end of what is under way.
    waiting: VecDeque<Input>,
    /// Inputs that wait for the next model call.
    steering: Vec<Input>,
    /// Tools that end what is under way when they succeed.
    quit_tools: BTreeSet<String>,
}

/// Something that a person said, and the run that it opens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Input {
    message_id: MessageId,
    run_id: RunId,
}

/// What is being answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Active {
    run_id: RunId,
    /// Whether words came in the stream that is open.
    responding: bool,
    /// Whether it is being stopped: then only a report ends it.
    stopping: bool,
    /// Calls without a result, and whether the tool of each ends the run.
    calls: BTreeMap<ToolCallId, bool>,
    /// Whether such a tool has succeeded.
    quit: bool,
}

impl Receptor for ConversationReceptor {
    fn receive(&mut self, fact: &Envelope<EnvironmentEvent>, out: &mut Vec<RuntimeEvent>) {
        use EnvironmentEvent as E;
        match (&fact.event, &fact.agent_state_id) {
            (E::AgentClosed(closed), _) => {
                self.agents.remove(&closed.agent_state_id);
            }
            (E::AgentSpawned(spawned), _) => self.meet(&spawned.agent_state_id, &spawned.config),
            (E::SessionOpened(opened), Some(agent)) => self.meet(agent, &opened.config),
            (E::UserMessage(said), Some(agent)) => {
                let run_id = RunId::of_input(fact.seq);
                self.agents
                    .entry(agent.clone())
                    .or_default()
                    .hear(said, run_id, out);
            }
            (_, Some(agent)) => {
                if let Some(talk) = self.agents.get_mut(agent) {
                    talk.go_on(fact, out);
                }
            }
            // What concerns the whole session concerns each of its agents.
            (_, None) => self.agents.values_mut().for_each(|talk| talk.go_on(fact, out)),
        }
    }
}

impl ConversationReceptor {
    fn meet(&mut self, agent: &AgentStateId, config: &AgentConfig) {
        self.agents.entry(agent.clone()).or_default().offer(&config.tools);
    }
}

impl Talk {
    fn go_on(&mut self, fact: &Envelope<EnvironmentEvent>, out: &mut Vec<RuntimeEvent>) {
        use EnvironmentEvent as E;
        if let E::ConfigChanged(changed) = &fact.event {
            if let ConfigChange::Tools(tools) = &changed.change {
                self.offer(tools);
            }
            return;
        }
        let Some(active) = &mut self.active else { return };
        match &fact.event {
            E::TextChunk(_) => active.respond(out),
            E::StreamStart(_) => active.begin_stream(),
            E::ActionStarted(started) if started.kind == ActionKind::CallModel => {
                self.steering.clear();
                out.push(ConversationThinking {}.into());
            }
            E::InterruptRequested(_) | E::SessionForked(_) => active.stopping = true,
            E::ToolCall(call) => {
                let quits = self.quit_tools.contains(&call.name);
                active.calls.insert(call.tool_call_id.clone(), quits);
            }
            E::ToolResult(result) if active.settles_with(result) => self.end(
                ConversationEnd {
                    reason: "quit".into(),
                },
                out,
            ),
            E::StreamEnd(end) => {
                let ends = active.ends_with(end.stop_reason) && self.steering.is_empty();
                if let Some(reason) = last_word(end.stop_reason).filter(|_| ends) {
                    self.end(
                        ConversationEnd {
                            reason: reason.into(),
                        },
                        out,
                    );
                }
            }
            E::ErrorOccurred(error) if active.is_run(fact) => self.end(
                ConversationEnd {
                    reason: error.code.clone(),
                },
                out,
            ),
            E::Interrupted(interrupted) if active.is_run(fact) => {
                self.end(
                    ConversationInterrupted {
                        reason: interrupted.reason.clone(),
                    },
                    out,
                );
            }
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

    fn hear(&mut self, said: &UserMessage, run_id: RunId, out: &mut Vec<RuntimeEvent>) {
        let message_id = said.message_id.clone();
        let input = Input {
            message_id: message_id.clone(),
            run_id,
        };
        let Some(active) = &mut self.active else {
            return self.start(input, out);
        };
        match said.mode {
            InputMode::Queue => {
                self.waiting.push_back(input);
                let position = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
                out.push(ConversationQueued { message_id, position }.into());
            }
            InputMode::Steer => self.steering.push(input),
            // What runs is stopped for it, so it comes before all that wait.
            InputMode::Interrupt => {
                active.stopping = true;
                self.waiting.push_front(input);
            }
        }
    }

    fn start(&mut self, input: Input, out: &mut Vec<RuntimeEvent>) {
        let Input { message_id, run_id } = input;
        self.active = Some(Active {
            run_id,
            responding: false,
            stopping: false,
            calls: BTreeMap::new(),
            quit: false,
        });
        out.push(ConversationStart { message_id }.into());
    }

    /// Ends what is under way and takes up the next input, if one waits. Words meant to steer what has ended come first.
    fn end(&mut self, end: impl Into<RuntimeEvent>, out: &mut Vec<RuntimeEvent>) {
        out.push(end.into());
        self.active = None;
        for input in self.steering.drain(..).rev() {
            self.waiting.push_front(input);
        }
        if let Some(next) = self.waiting.pop_front() {
            self.start(next, out);
        }
    }
}

impl Active {
    fn respond(&mut self, out: &mut Vec<RuntimeEvent>) {
        if !std::mem::replace(&mut self.responding, true) {
            out.push(ConversationResponding {}.into());
        }
    }

    fn begin_stream(&mut self) {
        self.responding = false;
        self.calls.clear();
    }

    /// Whether a stream that ends like this is the last one: no calls to answer, and nothing that stops it otherwise.
    fn ends_with(&mut self, stop_reason: StopReason) -> bool {
        if matches!(stop_reason, StopReason::Broken | StopReason::Interrupted) {
            self.calls.clear();
        }
        self.calls.is_empty() && !self.stopping
    }

    /// Takes the result of a call. Whether it was the last one that was open, and a tool that ends the run succeeded.
    fn settles_with(&mut self, result: &ToolResult) -> bool {
        let Some(quits) = self.calls.remove(&result.tool_call_id) else {
            return false;
        };
        self.quit |= quits && result.status == ToolStatus::Success;
        self.quit && self.calls.is_empty() && !self.stopping
    }

    /// Whether the fact speaks of this run, and not of one that has ended meanwhile.
    fn is_run(&self, fact: &Envelope<EnvironmentEvent>) -> bool {
        fact.run_id.as_ref().is_none_or(|run_id| *run_id == self.run_id)
    }
}

/// The reason of a stop that is the last one of an answer; `None` where more follows: another attempt, the rest of a long
/// turn, or the fact that says why it was stopped.
fn last_word(stop_reason: StopReason) -> Option<&'static str> {
    match stop_reason {
        StopReason::PauseTurn | StopReason::Broken | StopReason::Interrupted | StopReason::ContextWindow => {
            None
        }
        StopReason::EndTurn => Some("end_turn"),
        StopReason::ToolUse => Some("tool_use"),
        StopReason::MaxTokens => Some("max_tokens"),
        StopReason::StopSequence => Some("stop_sequence"),
        StopReason::Refusal => Some("refusal"),
        StopReason::Other => Some("other"),
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::{
        ConfigChanged, ErrorOccurred, InterruptRequested, SessionForked, SessionId, WriterAttached,
    };

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

    fn error(code: &str) -> EnvironmentEvent {
        ErrorOccurred {
            code: code.into(),
            message: String::new(),
            recoverable: true,
        }
        .into()
    }

    fn attached() -> EnvironmentEvent {
        WriterAttached {
            epoch: 2,
            program: "agentx 1".into(),
            process: 1,
        }
        .into()
    }

    #[test]
    fn an_answer_with_a_tool_then_what_waited() {
        let table = vec![
            (user("msg_a", InputMode::Queue), vec![start("msg_a")]),
            (model_asked(), vec![thinking()]),
            (stream_start("msg_1"), vec![]),
            (text("a"), vec![responding()]),
            (text("b"), vec![]),
            (tool_call("c1", "read"), vec![]),
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
        ];
        check(ConversationReceptor::default(), table);
    }

    #[test]
    fn calls_keep_it_going_whatever_the_reason_of_the_stop() {
        let table = vec![
            (user("msg_a", InputMode::Queue), vec![start("msg_a")]),
            (stream_start("msg_1"), vec![]),
            (tool_call("c1", "read"), vec![]),
            (stream_end(StopReason::EndTurn), vec![]),
            (tool_result("c1", "ok"), vec![]),
            (stream_start("msg_2"), vec![]),
            (tool_call("c2", "read"), vec![]),
            (stream_end(StopReason::Broken), vec![]),
            (stream_start("msg_3"), vec![]),
            (stream_end(StopReason::PauseTurn), vec![]),
            (stream_start("msg_4"), vec![]),
            (stream_end(StopReason::ToolUse), vec![end("tool_use")]),
        ];
        check(ConversationReceptor::default(), table);
    }

    #[test]
    fn errors_end_it() {
        let table = vec![
            (error("nothing runs"), vec![]),
            (user("msg_a", InputMode::Queue), vec![start("msg_a")]),
            (attached(), vec![]),
            (stream_start("msg_1"), vec![]),
            (stream_end(StopReason::ContextWindow), vec![]),
            (error("context_window"), vec![end("context_window")]),
            (text("late"), vec![]),
            (model_asked(), vec![]),
        ];
        check(ConversationReceptor::default(), table);
    }

    #[test]
    fn what_is_being_stopped_ends_with_the_report() {
        let stop = InterruptRequested { reason: None };
        let table = vec![
            (interrupted("nothing runs"), vec![]),
            (user("msg_a", InputMode::Queue), vec![start("msg_a")]),
            (user("msg_b", InputMode::Interrupt), vec![]),
            (stream_end(StopReason::Interrupted), vec![]),
            (
                interrupted("a new message"),
                vec![stopped("a new message"), start("msg_b")],
            ),
            (stop.into(), vec![]),
            (stream_end(StopReason::EndTurn), vec![]),
            (interrupted("user"), vec![stopped("user")]),
        ];
        check(ConversationReceptor::default(), table);
    }

    #[test]
    fn a_report_about_another_run_ends_nothing() {
        let mut receptor = ConversationReceptor::default();
        let mut out = Vec::new();
        receptor.receive(&envelope(0, user("msg_a", InputMode::Queue)), &mut out);
        let mut report = envelope(1, interrupted("late"));
        report.run_id = Some(RunId::new("run_0"));
        receptor.receive(&report, &mut out);
        assert_eq!(out, [start("msg_a")]);
        report.run_id = Some(RunId::of_input(1));
        receptor.receive(&report, &mut out);
        assert_eq!(out, [start("msg_a"), stopped("late")]);
    }

    #[test]
    fn words_that_steer_join_the_next_model_call() {
        let table = vec![
            (user("msg_a", InputMode::Steer), vec![start("msg_a")]),
            (user("msg_b", InputMode::Steer), vec![]),
            (stream_end(StopReason::EndTurn), vec![]),
            (model_asked(), vec![thinking()]),
            (user("msg_c", InputMode::Queue), vec![queued("msg_c", 1)]),
            (user("msg_d", InputMode::Steer), vec![]),
            (error("token_limit"), vec![end("token_limit"), start("msg_d")]),
            (
                stream_end(StopReason::EndTurn),
                vec![end("end_turn"), start("msg_c")],
            ),
            (stream_end(StopReason::EndTurn), vec![end("end_turn")]),
        ];
        check(ConversationReceptor::default(), table);
    }

    #[test]
    fn a_quit_tool_that_succeeds_ends_it_when_its_round_is_over() {
        let no_tools = ConfigChanged {
            change: ConfigChange::Tools([].into()),
        };
        let table = vec![
            (session_opened(), vec![]),
            (user("msg_a", InputMode::Queue), vec![start("msg_a")]),
            (tool_call("c1", "finish"), vec![]),
            (
                tool_failure("c1", ToolStatus::Invalid, "no such argument"),
                vec![],
            ),
            (tool_call("c2", "finish"), vec![]),
            (tool_call("c3", "read"), vec![]),
            (tool_result("c2", "ok"), vec![]),
            (tool_result("c3", "ok"), vec![end("quit")]),
            (no_tools.into(), vec![]),
            (user("msg_b", InputMode::Queue), vec![start("msg_b")]),
            (tool_call("c4", "finish"), vec![]),
            (tool_result("c4", "ok"), vec![]),
        ];
        check(ConversationReceptor::default(), table);
    }

    #[test]
    fn a_fork_is_interrupted_by_its_own_report() {
        let forked = SessionForked {
            parent: SessionId::new("ses_0"),
            at_seq: 2,
        };
        let table = vec![
            (user("msg_a", InputMode::Queue), vec![start("msg_a")]),
            (user("msg_b", InputMode::Queue), vec![queued("msg_b", 1)]),
            (forked.into(), vec![]),
            (attached(), vec![]),
            (interrupted("forked"), vec![stopped("forked"), start("msg_b")]),
        ];
        check(ConversationReceptor::default(), table);
    }
}
