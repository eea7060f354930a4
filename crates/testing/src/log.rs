//! Builds a log of facts line by line, as a sequencer would number them.

use std::sync::Arc;

use agentx_runtime::Fact;
use agentx_types::{
    ActionId, ActionKind, ActionStarted, AgentConfig, ContentPart, EnvironmentEvent, EventDraft, InputMode,
    MessageId, OwnerId, RunId, SessionOpened, Source, StopReason, StreamEnd, StreamStart, TextChunk,
    ToolCall, ToolCallId, ToolResult, ToolStatus, UserMessage,
};
use serde_json::Value;

use crate::{SimulatedClock, fixture};

/// A log in the making. Events after an input carry its run; events after [`Self::action`] carry that action
/// as their cause.
#[derive(Clone, Debug)]
pub struct LogBuilder {
    facts: Vec<Fact>,
    clock: SimulatedClock,
    run_id: Option<RunId>,
    cause: Option<ActionId>,
}

impl LogBuilder {
    /// Creates a log with nothing in it.
    pub fn empty() -> Self {
        Self {
            facts: Vec::new(),
            clock: SimulatedClock::default(),
            run_id: None,
            cause: None,
        }
    }

    /// Creates a log that begins with `session_opened`.
    pub fn opened(config: AgentConfig) -> Self {
        let opened = SessionOpened {
            owner: OwnerId::new("own_test"),
            config: Box::new(config),
            program: "test".into(),
        };
        Self::empty().event(Source::System, opened)
    }

    /// Adds any event.
    #[must_use]
    pub fn event(mut self, source: Source, event: impl Into<EnvironmentEvent>) -> Self {
        let draft = EventDraft {
            source,
            agent_state_id: Some(fixture::agent_state_id()),
            run_id: self.run_id.clone(),
            cause: self.cause.clone(),
            event: event.into(),
        };
        let seq = self.next_seq();
        self.facts.push(Arc::new(draft.into_envelope(
            fixture::session_id(),
            seq,
            self.clock.tick(),
        )));
        self
    }

    /// Adds a message of a person and the begin of its run.
    #[must_use]
    pub fn user(mut self, text: &str) -> Self {
        let seq = self.next_seq();
        self.run_id = Some(RunId::of_input(seq));
        self.cause = None;
        self.event(
            Source::User,
            UserMessage {
                message_id: MessageId::with_suffix(seq),
                content: vec![ContentPart::text(text)],
                mode: InputMode::Queue,
                idempotency_key: None,
                by: None,
                answer_schema: None,
            },
        )
    }

    /// `action_started` for an action that follows from the last event; the next events answer it.
    #[must_use]
    pub fn action(mut self, kind: ActionKind, tool_call_id: Option<&str>) -> Self {
        self.cause = Some(ActionId::following(self.next_seq() - 1, 0));
        self.event(
            Source::System,
            ActionStarted {
                kind,
                tool_call_id: tool_call_id.map(ToolCallId::new),
                due_at: None,
            },
        )
    }

    /// Adds a model call with a text as its answer.
    #[must_use]
    pub fn answer(self, text: &str) -> Self {
        self.stream(StopReason::EndTurn, [TextChunk { text: text.into() }])
    }

    /// Adds a model call that requests one tool.
    #[must_use]
    pub fn calls(self, id: &str, name: &str, input: Value) -> Self {
        let call = ToolCall {
            tool_call_id: ToolCallId::new(id),
            name: name.into(),
            input,
            invalid: None,
        };
        self.stream(StopReason::ToolUse, [call])
    }

    /// Adds a model call with these events.
    #[must_use]
    pub fn stream<E: Into<EnvironmentEvent>>(
        self,
        end: StopReason,
        events: impl IntoIterator<Item = E>,
    ) -> Self {
        let log = self.action(ActionKind::CallModel, None);
        let message_id = MessageId::with_suffix(log.next_seq());
        let start = StreamStart {
            message_id,
            model: "test-model".into(),
            attempt: 1,
        };
        let log = log.event(Source::Environment, start);
        let log = events
            .into_iter()
            .fold(log, |log, event| log.event(Source::Environment, event));
        log.event(
            Source::Environment,
            StreamEnd {
                stop_reason: end,
                raw: None,
            },
        )
    }

    /// Adds a tool call's run and its result.
    #[must_use]
    pub fn result(self, id: &str, text: &str) -> Self {
        self.action(ActionKind::CallTool, Some(id)).event(
            Source::Environment,
            ToolResult {
                tool_call_id: ToolCallId::new(id),
                result: vec![ContentPart::text(text)],
                is_error: false,
                status: ToolStatus::Success,
                details: None,
            },
        )
    }

    /// Returns the facts.
    pub fn build(self) -> Vec<Fact> {
        self.facts
    }

    fn next_seq(&self) -> u64 {
        self.facts.last().map_or(0, |fact| fact.seq) + 1
    }
}
