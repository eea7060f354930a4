//! ConversationReceptor: the progress of the conversation with each agent: an input waits, is taken up,
//! thought about, answered, stopped. It knows the agent's own machine only from the log: a model call in the
//! run of an input takes that input up, and facts of other runs are ignored.

use std::collections::{BTreeMap, BTreeSet};

use agentx_types::{
    ActionId, ActionKind, AgentConfig, AgentStateId, ConfigChange, ConversationEnd, ConversationInterrupted,
    ConversationQueued, ConversationResponding, ConversationRevised, ConversationStart, ConversationThinking,
    Envelope, EnvironmentEvent, InputMode, InputRevised, MessageId, OwnerId, RunId, RuntimeEvent, StopReason,
    ToolCallId, ToolResult, ToolSpec, ToolStatus, UserMessage, since,
};

use super::Receptor;

/// Emits `conversation_queued`, `_revised`, `_start`, `_thinking`, `_responding`, `_end`, `_interrupted`.
///
/// For each input: `queued` if it waits, `start` when it is taken up, `thinking` for each model call,
/// `responding` for the first text of each answer, and one `end` or `interrupted` before the next `start`.
///
/// | mode of an input while another is answered | effect |
/// | --- | --- |
/// | `queue` | waits; `queued` has its place among the inputs with this mode, from 1 |
/// | `steer` | joins with the next model call, without a separate event |
/// | `interrupt` | stops the answer in progress, and begins when that has ended |
///
/// The agent derives the same (`crates/agent/src/run_lifecycle/inputs.rs`); this receptor works without it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConversationReceptor {
    agents: BTreeMap<AgentStateId, AgentConversation>,
}

/// The talk with one agent.
#[derive(Clone, Debug, Default, PartialEq)]
struct AgentConversation {
    /// The input that is being answered.
    active: Option<ActiveInput>,
    /// Inputs that no model call was made for yet, in the order in which they came.
    waiting: Vec<ConversationInput>,
    /// Tools that end the run when they succeed.
    quit_tools: BTreeSet<String>,
    /// Whether the agent is gone: inputs to it are never handled.
    closed: bool,
    /// Whether queued inputs wait until a person sends a message.
    held: bool,
    /// Whether an input that interrupts names its person: since a version of the rules.
    names_interrupters: bool,
}

/// An input of a person, and the run that it opens, if any.
#[derive(Clone, Debug, PartialEq)]
struct ConversationInput {
    /// The id by which front ends know it.
    message_id: MessageId,
    run_id: RunId,
    /// Its mode, as sent or last revised.
    mode: InputMode,
}

/// An input that is being answered.
#[derive(Clone, Debug, PartialEq)]
struct ActiveInput {
    /// The run that answers it: [`RunId::of_input`] of the input that opened it.
    run_id: RunId,
    /// Whether words came in the stream that is open.
    responding: bool,
    /// Whether it is being stopped: then only a report ends it.
    stopping: bool,
    /// The person who stops it, if that is not the owner of the session.
    stopped_by: Option<OwnerId>,
    /// The last model call.
    model_call: Option<ActionId>,
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
                if let Some(talk) = self.agents.get_mut(&closed.agent_state_id) {
                    talk.close();
                }
            }
            (E::AgentSpawned(spawned), _) => self.add_agent(&spawned.agent_state_id, &spawned.config),
            (E::SessionOpened(opened), Some(agent)) => self.add_agent(agent, &opened.config),
            (E::InputRevised(revised), Some(agent)) => {
                if let Some(talk) = self.agents.get_mut(agent) {
                    talk.revise(revised, out);
                }
            }
            (E::UserMessage(said), Some(agent)) => {
                let run_id = RunId::of_input(fact.seq);
                self.agents
                    .entry(agent.clone())
                    .or_default()
                    .on_input(said, run_id, out);
            }
            (_, Some(agent)) => {
                if let Some(talk) = self.agents.get_mut(agent) {
                    talk.on_fact(fact, out);
                }
            }
            // A fact about the whole session concerns each of its agents.
            (_, None) => self.agents.values_mut().for_each(|talk| talk.on_fact(fact, out)),
        }
    }
}

impl ConversationReceptor {
    /// Records an agent and the tools that end its runs.
    fn add_agent(&mut self, agent: &AgentStateId, config: &AgentConfig) {
        let talk = self.agents.entry(agent.clone()).or_default();
        talk.follow_rules(config.rules_version);
        talk.offer(&config.tools);
    }
}

impl AgentConversation {
    /// Sets the version of the rules from now on.
    fn follow_rules(&mut self, version: u32) {
        self.names_interrupters = version >= since::INPUTS_NAME_WHO_INTERRUPTS;
    }

    /// Applies a fact that is not an input: a change of tools, a model call, or part of the answer in
    /// progress.
    fn on_fact(&mut self, fact: &Envelope<EnvironmentEvent>, out: &mut Vec<RuntimeEvent>) {
        match (&fact.event, &fact.run_id) {
            (EnvironmentEvent::ConfigChanged(changed), _) => match &changed.change {
                ConfigChange::Tools(tools) => self.offer(tools),
                ConfigChange::RulesVersion(version) => self.follow_rules(*version),
                _ => {}
            },
            (EnvironmentEvent::ActionStarted(started), Some(run_id))
                if started.kind == ActionKind::CallModel =>
            {
                self.ask_model(run_id, fact.cause.as_ref(), out);
            }
            (event, run_id) => {
                self.held |= match event {
                    EnvironmentEvent::InterruptRequested(stop) => stop.hold,
                    EnvironmentEvent::SessionForked(forked) => forked.hold,
                    EnvironmentEvent::SessionImported(_) => true,
                    _ => false,
                };
                let is_of =
                    |active: &ActiveInput| run_id.as_ref().is_none_or(|run_id| *run_id == active.run_id);
                if self.active.as_ref().is_some_and(is_of) {
                    self.advance(fact, out);
                }
            }
        }
    }

    /// Records which of these tools end a run when they succeed.
    fn offer(&mut self, tools: &[ToolSpec]) {
        self.quit_tools = tools
            .iter()
            .filter(|tool| tool.quit)
            .map(|tool| tool.name.clone())
            .collect();
    }

    /// Applies an input: it is taken up at once if no run is in progress, otherwise it waits, joins or
    /// interrupts, by its mode.
    fn on_input(&mut self, said: &UserMessage, run_id: RunId, out: &mut Vec<RuntimeEvent>) {
        let (message_id, mode) = (said.message_id.clone(), said.mode);
        let input = ConversationInput {
            message_id: message_id.clone(),
            run_id,
            mode,
        };
        if self.active.is_none() && !self.closed {
            let keeps_its_place = std::mem::take(&mut self.held)
                && mode == InputMode::Queue
                && self.waiting.iter().any(|input| input.mode == InputMode::Queue);
            if !keeps_its_place {
                return self.start(input, out);
            }
        }
        self.waiting.push(input);
        match mode {
            InputMode::Queue => {
                let position = self
                    .waiting
                    .iter()
                    .filter(|input| input.mode == InputMode::Queue)
                    .count();
                let position = u32::try_from(position).unwrap_or(u32::MAX);
                out.push(ConversationQueued { message_id, position }.into());
            }
            InputMode::Steer => {}
            InputMode::Interrupt => self.interrupt(said.by.as_ref()),
        }
    }

    /// Applies a change of a waiting input: another mode, or none, which withdraws it.
    fn revise(&mut self, revised: &InputRevised, out: &mut Vec<RuntimeEvent>) {
        let InputRevised { message_id, mode, by } = revised.clone();
        let Some(at) = self
            .waiting
            .iter()
            .position(|input| input.message_id == message_id)
        else {
            return;
        };
        let mut input = self.waiting.remove(at);
        out.push(ConversationRevised { message_id, mode }.into());
        let Some(mode) = mode else { return };
        input.mode = mode;
        self.waiting.push(input);
        if mode == InputMode::Interrupt {
            self.interrupt(by.as_ref());
        }
    }

    /// Marks the answer in progress as being stopped by the input of this person; `None` is the owner of the
    /// session.
    fn interrupt(&mut self, by: Option<&OwnerId>) {
        let by = by.filter(|_| self.names_interrupters);
        if let Some(active) = &mut self.active {
            active.stopped_by(by);
        }
    }

    /// Marks the current answer as being stopped; its own facts report the outcome.
    fn stop(&mut self) {
        if let Some(active) = &mut self.active {
            active.stopping = true;
        }
    }

    fn close(&mut self) {
        self.closed = true;
        self.stop();
    }

    /// Begins to answer an input.
    fn start(&mut self, input: ConversationInput, out: &mut Vec<RuntimeEvent>) {
        let ConversationInput {
            message_id, run_id, ..
        } = input;
        self.active = Some(ActiveInput {
            run_id,
            responding: false,
            stopping: false,
            stopped_by: None,
            model_call: None,
            calls: BTreeMap::new(),
            quit: false,
        });
        out.push(ConversationStart { message_id }.into());
    }

    /// A model call takes up the input that its run answers, and all that are to join it. Without a known
    /// input, as in a run for a result from the background, it takes nothing up.
    fn ask_model(&mut self, run_id: &RunId, action: Option<&ActionId>, out: &mut Vec<RuntimeEvent>) {
        let is_active = self
            .active
            .as_ref()
            .is_some_and(|active| active.run_id == *run_id);
        if !is_active {
            let Some(at) = self.waiting.iter().position(|input| input.run_id == *run_id) else {
                return;
            };
            let input = self.waiting.remove(at);
            if self.active.is_some() {
                // The answer in progress ended without its own fact.
                self.finish("end_turn", out);
            }
            self.start(input, out);
        }
        self.waiting.retain(|input| input.mode == InputMode::Queue);
        // The model is called only when no call is open; calls of a stream that broke off are never answered.
        if let Some(active) = &mut self.active {
            active.begin_stream();
            active.model_call = action.cloned();
        }
        out.push(ConversationThinking {}.into());
    }

    /// Continues or ends the conversation in progress. Facts of other runs do not concern it; those that name
    /// no run are of the whole session.
    fn advance(&mut self, fact: &Envelope<EnvironmentEvent>, out: &mut Vec<RuntimeEvent>) {
        use EnvironmentEvent as E;
        let joined_by_more = self.waiting.iter().any(|input| input.mode != InputMode::Queue);
        let Some(active) = &mut self.active else { return };
        match &fact.event {
            E::TextChunk(_) => active.respond(out),
            E::StreamStart(_) => active.begin_stream(),
            E::InterruptRequested(stop) => active.stopped_by(stop.by.as_ref()),
            E::SessionForked(_) | E::SessionImported(_) => active.stopping = true,
            E::ToolCall(call) => {
                let quits = self.quit_tools.contains(&call.name);
                active.calls.insert(call.tool_call_id.clone(), quits);
            }
            E::ToolResult(result) if active.settles_with(result) => {
                self.finish("quit", out);
            }
            E::StreamEnd(end) if active.ends_with(end.stop_reason) && !joined_by_more => {
                if let Some(reason) = final_reason(end.stop_reason) {
                    self.finish(reason, out);
                }
            }
            // An error without a run concerns the session; one of a call that is being stopped ends nothing.
            E::ErrorOccurred(error) if fact.run_id.is_some() && !active.was_stopped_before(fact) => {
                self.finish(error.code.clone(), out);
            }
            E::Interrupted(interrupted) => {
                let by = active.stopped_by.take();
                self.end(
                    ConversationInterrupted {
                        reason: interrupted.reason.clone(),
                        by,
                    },
                    out,
                );
            }
            _ => {}
        }
    }

    /// Ends the answer in progress, for this reason.
    fn finish(&mut self, reason: impl Into<String>, out: &mut Vec<RuntimeEvent>) {
        let reason = reason.into();
        self.end(ConversationEnd { reason }, out);
    }

    /// Ends the answer in progress with this event.
    fn end(&mut self, end: impl Into<RuntimeEvent>, out: &mut Vec<RuntimeEvent>) {
        self.active = None;
        out.push(end.into());
    }
}

impl ActiveInput {
    /// Applies a request to stop it; if several persons request it, the first one counts.
    fn stopped_by(&mut self, person: Option<&OwnerId>) {
        if !self.stopping {
            self.stopped_by = person.cloned();
        }
        self.stopping = true;
    }

    /// Reports, once for each stream, that text has arrived.
    fn respond(&mut self, out: &mut Vec<RuntimeEvent>) {
        if !std::mem::replace(&mut self.responding, true) {
            out.push(ConversationResponding {}.into());
        }
    }

    /// Returns whether an error only reports the end of a model call that was being stopped. Then
    /// `interrupted` follows and ends the answer.
    fn was_stopped_before(&self, error: &Envelope<EnvironmentEvent>) -> bool {
        self.stopping && error.cause.is_some() && error.cause == self.model_call
    }

    /// Begins a stream of the answer: calls of one before it, which broke off, are forgotten.
    fn begin_stream(&mut self) {
        self.responding = false;
        self.calls.clear();
    }

    /// Returns whether a stream that ends like this is the last one: no calls to answer, and nothing that
    /// stops it otherwise.
    fn ends_with(&mut self, stop_reason: StopReason) -> bool {
        if matches!(stop_reason, StopReason::Broken | StopReason::Interrupted) {
            self.calls.clear();
        }
        self.calls.is_empty() && !self.stopping
    }

    /// Applies a call's result. Returns whether none is open any more and a tool that ends the run succeeded.
    fn settles_with(&mut self, result: &ToolResult) -> bool {
        let Some(quits) = self.calls.remove(&result.tool_call_id) else {
            return false;
        };
        self.quit |= quits && result.status == ToolStatus::Success;
        self.quit && self.calls.is_empty() && !self.stopping
    }
}

/// The reason of a final stop; `None` if more follows: an attempt, the rest of a turn, or another fact.
fn final_reason(stop_reason: StopReason) -> Option<&'static str> {
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
        AgentClosed, ConfigChanged, ErrorOccurred, InterruptRequested, SessionForked, SessionId,
        WriterAttached,
    };

    use super::super::testing::*;
    use super::*;

    /// A row: the run that the fact names, the fact, and its events. An input in row N opens run N.
    type Row = (Option<u64>, EnvironmentEvent, Vec<RuntimeEvent>);

    fn check(table: Vec<Row>) {
        let mut receptor = ConversationReceptor::default();
        for (index, (run, event, expected)) in table.into_iter().enumerate() {
            let mut fact = envelope(index, event);
            fact.run_id = run.map(RunId::of_input);
            let mut out = Vec::new();
            receptor.receive(&fact, &mut out);
            assert_eq!(out, expected, "row {}: {:?}", index + 1, fact.event);
        }
    }

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
            by: None,
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
            ended: Vec::new(),
            serves: false,
            cut_off: Vec::new(),
        }
        .into()
    }

    #[test]
    fn an_answer_with_a_tool_then_what_waited() {
        check(vec![
            (None, user("msg_a", InputMode::Queue), vec![start("msg_a")]),
            (Some(1), model_asked(), vec![thinking()]),
            (Some(1), stream_start("msg_1"), vec![]),
            (Some(1), text("a"), vec![responding()]),
            (Some(1), text("b"), vec![]),
            (Some(1), tool_call("c1", "read"), vec![]),
            (None, user("msg_b", InputMode::Queue), vec![queued("msg_b", 1)]),
            (None, user("msg_c", InputMode::Queue), vec![queued("msg_c", 2)]),
            (Some(1), stream_end(StopReason::ToolUse), vec![]),
            (Some(1), tool_result("c1", "ok"), vec![]),
            (Some(1), model_asked(), vec![thinking()]),
            (Some(1), stream_start("msg_2"), vec![]),
            (Some(1), text("c"), vec![responding()]),
            (Some(1), stream_end(StopReason::EndTurn), vec![end("end_turn")]),
            (Some(7), model_asked(), vec![start("msg_b"), thinking()]),
            (Some(7), stream_start("msg_3"), vec![]),
            (
                Some(7),
                stream_end(StopReason::MaxTokens),
                vec![end("max_tokens")],
            ),
            (Some(8), model_asked(), vec![start("msg_c"), thinking()]),
            (Some(8), stream_end(StopReason::Refusal), vec![end("refusal")]),
        ]);
    }

    #[test]
    fn what_waits_is_taken_back_or_hastened() {
        let revised = |id: &str, mode| -> EnvironmentEvent {
            InputRevised {
                message_id: id.into(),
                mode,
                by: None,
            }
            .into()
        };
        let told = |id: &str, mode| -> RuntimeEvent {
            ConversationRevised {
                message_id: id.into(),
                mode,
            }
            .into()
        };
        let steer = Some(InputMode::Steer);
        check(vec![
            (None, user("msg_a", InputMode::Queue), vec![start("msg_a")]),
            (Some(1), model_asked(), vec![thinking()]),
            (None, user("msg_b", InputMode::Queue), vec![queued("msg_b", 1)]),
            (None, user("msg_c", InputMode::Queue), vec![queued("msg_c", 2)]),
            (None, revised("msg_a", None), vec![]),
            (None, revised("msg_b", None), vec![told("msg_b", None)]),
            (None, revised("msg_b", None), vec![]),
            (None, revised("msg_c", steer), vec![told("msg_c", steer)]),
            (Some(1), stream_end(StopReason::EndTurn), vec![]),
            (Some(1), model_asked(), vec![thinking()]),
            (Some(1), stream_end(StopReason::EndTurn), vec![end("end_turn")]),
        ]);
    }

    #[test]
    fn calls_keep_it_going_whatever_the_reason_of_the_stop() {
        check(vec![
            (None, user("msg_a", InputMode::Queue), vec![start("msg_a")]),
            (Some(1), stream_start("msg_1"), vec![]),
            (Some(1), tool_call("c1", "read"), vec![]),
            (Some(1), stream_end(StopReason::EndTurn), vec![]),
            (Some(1), tool_result("c1", "ok"), vec![]),
            (Some(1), stream_start("msg_2"), vec![]),
            (Some(1), tool_call("c2", "read"), vec![]),
            (Some(1), stream_end(StopReason::Broken), vec![]),
            (Some(1), stream_start("msg_3"), vec![]),
            (Some(1), stream_end(StopReason::PauseTurn), vec![]),
            (Some(1), stream_start("msg_4"), vec![]),
            (Some(1), stream_end(StopReason::ToolUse), vec![end("tool_use")]),
        ]);
    }

    #[test]
    fn errors_of_its_run_end_it() {
        check(vec![
            (None, error("nothing runs"), vec![]),
            (None, user("msg_a", InputMode::Queue), vec![start("msg_a")]),
            (None, attached(), vec![]),
            (Some(2), stream_start("msg_1"), vec![]),
            (Some(2), stream_end(StopReason::ContextWindow), vec![]),
            (None, error("the session's"), vec![]),
            (Some(1), error("of another run"), vec![]),
            (Some(2), error("context_window"), vec![end("context_window")]),
            (Some(2), text("late"), vec![]),
            (Some(2), model_asked(), vec![]),
        ]);
    }

    #[test]
    fn what_is_being_stopped_ends_with_the_report() {
        let stop = InterruptRequested {
            reason: None,
            hold: false,
            by: None,
        };
        check(vec![
            (None, interrupted("nothing runs"), vec![]),
            (None, user("msg_a", InputMode::Queue), vec![start("msg_a")]),
            (None, user("msg_b", InputMode::Interrupt), vec![]),
            (Some(2), stream_end(StopReason::Interrupted), vec![]),
            (
                Some(2),
                interrupted("a new message"),
                vec![stopped("a new message")],
            ),
            (Some(3), model_asked(), vec![start("msg_b"), thinking()]),
            (None, stop.into(), vec![]),
            (Some(3), stream_end(StopReason::EndTurn), vec![]),
            (Some(2), interrupted("of another run"), vec![]),
            (Some(3), interrupted("user"), vec![stopped("user")]),
        ]);
    }

    #[test]
    fn who_stopped_it_first_is_named() {
        let stop = |by: Option<&str>| InterruptRequested {
            reason: None,
            hold: false,
            by: by.map(OwnerId::new),
        };
        let stopped = ConversationInterrupted {
            reason: "user".into(),
            by: Some("own_b".into()),
        };
        check(vec![
            (None, user("msg_a", InputMode::Queue), vec![start("msg_a")]),
            (None, stop(Some("own_b")).into(), vec![]),
            (None, stop(None).into(), vec![]),
            (Some(1), interrupted("user"), vec![stopped.into()]),
        ]);
    }

    #[test]
    fn a_person_who_interrupts_with_an_input_is_named_since_version_9() {
        let config = |rules_version| AgentConfig {
            rules_version,
            ..config()
        };
        let by = || Some(OwnerId::new("own_b"));
        for (opened, continued, named) in [(8, None, None), (9, None, by()), (8, Some(9), by())] {
            let mut receptor = ConversationReceptor::default();
            receptor.add_agent(&AgentStateId::new(AGENT), &config(opened));
            if let Some(version) = continued {
                let change = ConfigChanged {
                    change: ConfigChange::RulesVersion(version),
                    by: None,
                };
                receptor.receive(&envelope(0, change.into()), &mut Vec::new());
            }
            let talk = receptor.agents.get_mut(&AgentStateId::new(AGENT)).unwrap();
            let mut out = Vec::new();
            let said = |mode, by: Option<&str>| UserMessage {
                message_id: "msg_a".into(),
                content: Vec::new(),
                mode,
                idempotency_key: None,
                by: by.map(OwnerId::new),
                answer_schema: None,
            };
            talk.on_input(&said(InputMode::Queue, None), RunId::of_input(1), &mut out);
            talk.on_input(
                &said(InputMode::Interrupt, Some("own_b")),
                RunId::of_input(2),
                &mut out,
            );
            assert_eq!(talk.active.as_ref().unwrap().stopped_by, named);
        }
    }

    #[test]
    fn what_is_held_back_keeps_its_place_before_what_is_said_next() {
        let leave = InterruptRequested {
            reason: None,
            hold: true,
            by: None,
        };
        check(vec![
            (None, user("msg_a", InputMode::Queue), vec![start("msg_a")]),
            (None, user("msg_b", InputMode::Queue), vec![queued("msg_b", 1)]),
            (None, leave.into(), vec![]),
            (Some(1), interrupted("closed"), vec![stopped("closed")]),
            (None, attached(), vec![]),
            (None, user("msg_c", InputMode::Queue), vec![queued("msg_c", 2)]),
            (Some(2), model_asked(), vec![start("msg_b"), thinking()]),
            (Some(2), stream_end(StopReason::EndTurn), vec![end("end_turn")]),
            (Some(6), model_asked(), vec![start("msg_c"), thinking()]),
        ]);
    }

    #[test]
    fn words_that_steer_join_the_next_model_call() {
        check(vec![
            (None, user("msg_a", InputMode::Steer), vec![start("msg_a")]),
            (Some(1), model_asked(), vec![thinking()]),
            (None, user("msg_b", InputMode::Steer), vec![]),
            (Some(1), stream_end(StopReason::EndTurn), vec![]),
            (Some(1), model_asked(), vec![thinking()]),
            (None, user("msg_c", InputMode::Queue), vec![queued("msg_c", 1)]),
            (None, user("msg_d", InputMode::Steer), vec![]),
            (None, user("msg_e", InputMode::Steer), vec![]),
            (Some(1), error("token_limit"), vec![end("token_limit")]),
            (Some(7), model_asked(), vec![start("msg_d"), thinking()]),
            (Some(7), stream_end(StopReason::EndTurn), vec![end("end_turn")]),
            (Some(6), model_asked(), vec![start("msg_c"), thinking()]),
            (Some(6), stream_end(StopReason::EndTurn), vec![end("end_turn")]),
        ]);
    }

    #[test]
    fn the_next_run_ends_what_ended_without_a_word() {
        check(vec![
            (None, user("msg_a", InputMode::Queue), vec![start("msg_a")]),
            (None, user("msg_b", InputMode::Steer), vec![]),
            (Some(1), stream_end(StopReason::EndTurn), vec![]),
            (
                Some(2),
                model_asked(),
                vec![end("end_turn"), start("msg_b"), thinking()],
            ),
            (Some(9), model_asked(), vec![]),
        ]);
    }

    #[test]
    fn a_quit_tool_that_succeeds_ends_it_when_its_round_is_over() {
        let no_tools = ConfigChanged {
            change: ConfigChange::Tools([].into()),
            by: None,
        };
        check(vec![
            (None, session_opened(), vec![]),
            (None, user("msg_a", InputMode::Queue), vec![start("msg_a")]),
            (Some(2), tool_call("c1", "finish"), vec![]),
            (
                Some(2),
                tool_failure("c1", ToolStatus::Invalid, "no such argument"),
                vec![],
            ),
            (Some(2), tool_call("c2", "finish"), vec![]),
            (Some(2), tool_call("c3", "read"), vec![]),
            (Some(2), tool_result("c2", "ok"), vec![]),
            (Some(2), tool_result("c3", "ok"), vec![end("quit")]),
            (None, no_tools.into(), vec![]),
            (None, user("msg_b", InputMode::Queue), vec![start("msg_b")]),
            (Some(10), tool_call("c4", "finish"), vec![]),
            (Some(10), tool_result("c4", "ok"), vec![]),
        ]);
    }

    #[test]
    fn an_agent_that_is_closed_says_how_its_last_run_ended() {
        let closed = AgentClosed {
            agent_state_id: AGENT.into(),
            reason: "done".into(),
        };
        check(vec![
            (None, user("msg_a", InputMode::Queue), vec![start("msg_a")]),
            (None, closed.into(), vec![]),
            (Some(1), stream_end(StopReason::EndTurn), vec![]),
            (Some(1), interrupted("done"), vec![stopped("done")]),
            (None, user("msg_b", InputMode::Queue), vec![queued("msg_b", 1)]),
            (None, user("msg_c", InputMode::Interrupt), vec![]),
        ]);
    }

    #[test]
    fn an_error_of_the_call_that_is_being_stopped_ends_nothing() {
        let caused_by = |cause: &str, event: EnvironmentEvent| {
            let mut fact = envelope(5, event);
            fact.run_id = Some(RunId::of_input(1));
            fact.cause = Some(ActionId::new(cause));
            fact
        };
        let mut receptor = ConversationReceptor::default();
        let mut out = Vec::new();
        receptor.receive(&envelope(0, user("msg_a", InputMode::Queue)), &mut out);
        receptor.receive(&caused_by("act_1", model_asked()), &mut out);
        receptor.receive(
            &envelope(
                6,
                InterruptRequested {
                    reason: None,
                    hold: false,
                    by: None,
                }
                .into(),
            ),
            &mut out,
        );
        out.clear();
        receptor.receive(&caused_by("act_1", error("reset")), &mut out);
        assert_eq!(out, []);
        receptor.receive(&caused_by("act_2", interrupted("user")), &mut out);
        assert_eq!(out, [stopped("user")]);
    }

    #[test]
    fn a_fork_is_interrupted_by_its_own_report() {
        let forked = SessionForked {
            parent: SessionId::new("ses_0"),
            at_seq: 2,
            hold: false,
        };
        check(vec![
            (None, user("msg_a", InputMode::Queue), vec![start("msg_a")]),
            (None, user("msg_b", InputMode::Queue), vec![queued("msg_b", 1)]),
            (None, forked.into(), vec![]),
            (None, attached(), vec![]),
            (Some(1), interrupted("forked"), vec![stopped("forked")]),
            (Some(2), model_asked(), vec![start("msg_b"), thinking()]),
        ]);
    }
}
