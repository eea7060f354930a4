//! Agents that call tools and delegate to each other, and the results.

use agentx_types::*;
use serde_json::Value;

use crate::family::*;

impl Family {
    /// No model is called once a limit is reached, of the calling agent or of one above.
    pub(crate) fn check_budgets(&self, asks: &AgentStateId) {
        let own = self.tree.agents.get(asks).into_iter();
        for agent in own.chain(self.tree.line(asks)) {
            let (limits, Some(run)) = (&agent.config().limits, agent.run()) else {
                continue;
            };
            let tokens = run.bill.usage.context_tokens() + run.beside.usage.context_tokens();
            let cost = run.bill.cost.0 + run.beside.cost.0;
            let within = limits.max_tokens.is_none_or(|max| tokens < max)
                && limits.max_cost.is_none_or(|max| cost < max.0);
            assert!(
                within,
                "{} asks, and {} has used {tokens}",
                self.name(asks),
                agent.config().name
            );
        }
    }

    /// The agent with this name calls a tool.
    pub(crate) fn calls(&mut self, name: &str, tool: &str, input: Value) -> ToolCallId {
        let action = self.call_of(name);
        self.calls_by(&action, tool, input)
    }

    /// The answer to a model call is the call of a tool.
    pub(crate) fn calls_by(&mut self, action: &Action, tool: &str, input: Value) -> ToolCallId {
        self.calls_at_once(action, tool, input, 1).remove(0)
    }

    /// The answer to a model call is so many calls of a tool.
    pub(crate) fn calls_at_once(
        &mut self,
        action: &Action,
        tool: &str,
        input: Value,
        times: usize,
    ) -> Vec<ToolCallId> {
        let message_id = MessageId::with_suffix(format_args!("c{}", self.log.len()));
        let begun = StreamStart {
            message_id,
            model: "fixture-1".into(),
            attempt: 1,
        };
        self.answers(action, begun.into());
        let mut ids = Vec::new();
        for _ in 0..times {
            let call = ToolCall {
                tool_call_id: ToolCallId::with_suffix(self.log.len()),
                name: tool.into(),
                input: input.clone(),
                invalid: None,
            };
            ids.push(call.tool_call_id.clone());
            self.answers(action, call.into());
        }
        let usage = Usage {
            input_tokens: 10,
            output_tokens: 1,
            ..Usage::default()
        };
        self.answers(action, UsageReport { usage }.into());
        let stop_reason = StopReason::ToolUse;
        self.answers(
            action,
            StreamEnd {
                stop_reason,
                raw: None,
            }
            .into(),
        );
        ids
    }

    /// Answers every call that runs for the agent with this name.
    pub(crate) fn tools_end(&mut self, name: &str) {
        let is_of = |open: &&Action| self.name(&open.agent_state_id) == name;
        let tools: Vec<Action> = self.open.iter().filter(is_of).cloned().collect();
        for action in tools {
            let ActionBody::CallTool(call) = &action.body else {
                continue;
            };
            let cancelled = self.cancelled.contains(&action.action_id);
            let status = if cancelled {
                ToolStatus::Interrupted
            } else {
                ToolStatus::Success
            };
            let result = ToolResult {
                tool_call_id: call.tool_call_id.clone(),
                result: vec![ContentPart::text("seen")],
                is_error: cancelled,
                status,
                details: None,
            };
            self.answers(&action, result.into());
        }
    }

    /// Returns the result of a call.
    pub(crate) fn result(&self, id: &ToolCallId) -> (ToolStatus, String) {
        let result = |fact: &Fact| match &fact.event {
            Event::ToolResult(result) if result.tool_call_id == *id => {
                let text = result.result.iter().filter_map(ContentPart::as_text).collect();
                Some((result.status, text))
            }
            _ => None,
        };
        let results: Vec<_> = self.log.iter().filter_map(result).collect();
        assert_eq!(results.len(), 1, "{id}: {results:?}");
        results[0].clone()
    }

    /// Sends an input that is known to come from a person.
    pub(crate) fn person_says(&mut self, text: &str) {
        let message = UserMessage {
            message_id: MessageId::with_suffix(self.log.len()),
            content: vec![ContentPart::text(text)],
            mode: InputMode::Steer,
            idempotency_key: None,
            by: None,
            answer_schema: None,
        };
        self.take_in(EventDraft::new(Source::User, Some(Self::root()), message));
    }
}
