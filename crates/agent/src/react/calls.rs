//! Handles the model's calls: approval, running, results.
//!
//! A call goes from decided to resolved ([`CallStage`]) and has exactly one result, whatever dies (invariant 8).

use std::sync::Arc;

use agentx_types::{
    ActionBody, AnswerCall, Approval, ApprovalDecision, CallTool, Caller, ContentPart, Envelope,
    EnvironmentEvent, Message, MessageId, MessageOutput, RequestedCall, Role, RuleEffect, RunStatus,
    ServerRules, StateOutput, StreamOutput, ToolResult, ToolResultPart, ToolSpec, ToolStatus,
};
use serde_json::Value;

use super::ReactAgent;
use crate::approval::{self, Question, Verdict};
use crate::arguments;
use crate::course::Step;
use crate::ledger::{CallStage, LedgerEntry};
use crate::limits;

impl ReactAgent {
    /// A new call: it is run, asked about, or answered at once. In this order: arguments that are not JSON, a tool that is not there,
    /// arguments that do not fit its schema, then the rules. The model is told what was wrong and sends another call; that is not an error of
    /// the run.
    pub(super) fn decide_call(&mut self, call: RequestedCall, step: &mut Step<'_>) {
        if let Some(invalid) = &call.invalid {
            let text = format!(
                "The arguments of this call are not valid JSON ({}). Send the call again with a JSON object.",
                invalid.error
            );
            self.answer_new(call, ToolStatus::Invalid, text, step);
            return;
        }
        let recall = self.recall_tool(&call.name);
        let Some(tool) = recall.as_ref().or_else(|| self.tool(&call.name)) else {
            let names: Vec<&str> = self.config.tools.iter().map(|tool| tool.name.as_str()).collect();
            let text = format!(
                "There is no tool {:?}. The tools are: {}.",
                call.name,
                names.join(", ")
            );
            self.answer_new(call, ToolStatus::Invalid, text, step);
            return;
        };
        if let Some(text) = arguments::unfit(tool, &call.input) {
            self.answer_new(call, ToolStatus::Invalid, text, step);
            return;
        }
        match approval::decide(&self.config, tool, &call.input) {
            Verdict::Allow { outside_workspace } => match self.own_call(&call, step) {
                Some(Ok(stage)) => self.ledger.add(call, stage),
                Some(Err(text)) => self.answer_new(call, ToolStatus::Invalid, text, step),
                None => {
                    let stage = self.run_call(&call, outside_workspace, step);
                    self.ledger.add(call, stage);
                }
            },
            Verdict::Deny { reason } => {
                self.answer_new(call, ToolStatus::Denied, not_allowed(&reason), step);
            }
            Verdict::Ask(question) => {
                step.state(StateOutput::ApprovalRequested {
                    tool_call_id: call.tool_call_id.clone(),
                    name: call.name.clone(),
                    input: call.input.clone(),
                    reason: question.reason.clone(),
                    suggested: question.suggested.clone(),
                });
                self.ledger.add(call, CallStage::AwaitingApproval(question));
            }
        }
    }

    /// Hands a call to its tool.
    /// The action carries all that the tool has to know: what it did before a crash, and the configuration of its agent as it is now.
    pub(super) fn run_call(
        &mut self,
        call: &RequestedCall,
        outside_workspace: bool,
        step: &mut Step<'_>,
    ) -> CallStage {
        let idempotent = self.tool(&call.name).is_some_and(|tool| tool.idempotent);
        let body = ActionBody::CallTool(CallTool {
            tool_call_id: call.tool_call_id.clone(),
            name: call.name.clone(),
            input: call.input.clone(),
            workspace: self.config.workspace.clone(),
            outside_workspace,
            idempotent,
            recorded: step.recorded(&call.tool_call_id),
            caller: Arc::new(Caller {
                config: Some(Arc::clone(&self.config)),
                kept: step.context.kept.cloned().unwrap_or_default(),
                depth: step.context.depth,
            }),
        });
        let run_id = self.course.run_id();
        let action_id = step.act_in(run_id, body);
        CallStage::Running {
            action_id,
            started: false,
            outside_workspace,
        }
    }

    /// Answers the open call at `index` without running anything.
    /// Nothing happens where no run is under way.
    pub(super) fn answer_open(
        &mut self,
        index: usize,
        status: ToolStatus,
        text: String,
        step: &mut Step<'_>,
    ) {
        let Some(run_id) = self.course.active().map(|run| run.id.clone()) else {
            return;
        };
        let Some(entry) = self.ledger.entries_mut().get_mut(index) else {
            return;
        };
        let content = vec![ContentPart::text(text.clone())];
        let answer = AnswerCall {
            tool_call_id: entry.call.tool_call_id.clone(),
            status,
            content,
        };
        let action_id = step.act(&run_id, ActionBody::AnswerCall(answer));
        entry.stage = CallStage::Answering {
            action_id,
            status,
            text,
        };
    }

    /// A person decides. A decision about a call that does not wait (any more) means nothing: two people may
    /// decide at once.
    pub(super) fn on_approval(&mut self, approval: &Approval, step: &mut Step<'_>) {
        if self.decides_inner(approval, step) {
            return;
        }
        let Some(index) = self.awaiting_index(|entry| entry.call.tool_call_id == approval.tool_call_id)
        else {
            return;
        };
        let entry = &self.ledger.entries()[index];
        let is_beyond = |question: &Question| question.by_server && approval.limited;
        if approval.decision != ApprovalDecision::Deny
            && matches!(&entry.stage, CallStage::AwaitingApproval(question) if is_beyond(question))
        {
            return;
        }
        let call = entry.call.clone();
        if approval.decision != ApprovalDecision::Deny
            && let Some(reason) = self.denied_meanwhile(&call)
        {
            self.answer_open(index, ToolStatus::Denied, not_allowed(&reason), step);
            self.update_waiting_status(step);
            return;
        }
        self.note_decision(&call, approval, step);
        if approval.decision == ApprovalDecision::Deny {
            let note = approval
                .note
                .as_ref()
                .map(|note| format!(" They say: {note}"))
                .unwrap_or_default();
            self.answer_open(
                index,
                ToolStatus::Denied,
                format!("The person refused this call.{note}"),
                step,
            );
        } else {
            if approval.decision != ApprovalDecision::Once && !approval.limited {
                self.keep_rule(index, approval);
            }
            self.release(index, step);
            self.reconsider(step);
        }
        self.update_waiting_status(step);
    }

    /// The words of a rule that came after the question and denies the call: nobody allows what a rule
    /// denies. Before version 7 it held from the next call on.
    fn denied_meanwhile(&self, call: &RequestedCall) -> Option<String> {
        let tool = self.tool(&call.name).filter(|_| self.config.rules_version >= 7)?;
        let judgement = approval::judge(&self.config, tool, &call.input);
        let rules = approval::rules_of(&self.config);
        let mut made_by = judgement.rules.iter().filter_map(|index| rules.get(*index));
        let is_denied = made_by.any(|rule| rule.effect == RuleEffect::Deny);
        is_denied.then_some(judgement.reason)
    }

    /// Decides again about the calls that wait for a decision, after rules or the mode have changed.
    pub(super) fn reconsider(&mut self, step: &mut Step<'_>) {
        for index in 0..self.ledger.entries().len() {
            let entry = &self.ledger.entries()[index];
            let waits = matches!(entry.stage, CallStage::AwaitingApproval(_));
            let Some(tool) = self.tool(&entry.call.name).filter(|_| waits) else {
                continue;
            };
            match approval::decide(&self.config, tool, &entry.call.input) {
                Verdict::Allow { .. } => self.release(index, step),
                Verdict::Deny { reason } => {
                    self.answer_open(index, ToolStatus::Denied, not_allowed(&reason), step);
                }
                Verdict::Ask(_) => {}
            }
        }
        self.reconsider_inner(step);
    }

    /// The rules of the session's server are other ones. What waits for a decision is decided about anew when the next writer takes
    /// over; until then it is known whose decision it is.
    pub(crate) fn bind_by(&mut self, server: Option<&Arc<ServerRules>>) {
        crate::bind_by(Arc::make_mut(&mut self.config), server);
        let config = self.config.clone();
        for entry in self.ledger.entries_mut() {
            let CallStage::AwaitingApproval(question) = &mut entry.stage else {
                continue;
            };
            let tool = config.tools.iter().find(|tool| tool.name == entry.call.name);
            question.by_server = config.server_rules.is_some()
                && tool.is_none_or(|tool| approval::asked_by_server(&config, tool, &entry.call.input));
        }
        self.bind_inner();
    }

    /// The place of the first call that waits for a person and fits.
    fn awaiting_index(&self, fits: impl Fn(&LedgerEntry) -> bool) -> Option<usize> {
        let awaiting =
            |entry: &LedgerEntry| matches!(entry.stage, CallStage::AwaitingApproval(_)) && fits(entry);
        self.ledger.entries().iter().position(awaiting)
    }

    /// Keeps the rule of a call that stands in the ledger.
    fn keep_rule(&mut self, index: usize, approval: &Approval) {
        let Some(entry) = self.ledger.entries().get(index) else {
            return;
        };
        let question = match &entry.stage {
            CallStage::AwaitingApproval(question) => Some(question.clone()),
            _ => None,
        };
        let tool = self.tool(&entry.call.name).cloned();
        let input = entry.call.input.clone();
        self.keep_rule_of(tool.as_ref(), &input, question.as_ref(), approval);
    }

    /// Keeps the rule that the person wrote, else the one that was suggested.
    pub(super) fn keep_rule_of(
        &mut self,
        tool: Option<&ToolSpec>,
        input: &Value,
        question: Option<&Question>,
        approval: &Approval,
    ) {
        if tool.is_some_and(|tool| approval::always_asked(&self.config, tool, input).is_some()) {
            return;
        }
        let written = approval.rule.as_deref().cloned();
        if let Some(rule) = written.or_else(|| question.map(|question| question.suggested.clone())) {
            Arc::make_mut(&mut self.config).rules.push(rule);
        }
    }

    /// Runs a call that waited for a decision.
    fn release(&mut self, index: usize, step: &mut Step<'_>) {
        let Some(call) = self.ledger.entries().get(index).map(|entry| entry.call.clone()) else {
            return;
        };
        let outside = self
            .tool(&call.name)
            .is_some_and(|tool| approval::is_outside_workspace(&self.config, tool, &call.input));
        let stage = match self.own_call(&call, step) {
            Some(Ok(stage)) => stage,
            Some(Err(text)) => self.answer_now(&call, ToolStatus::Invalid, text, step),
            None => self.run_call(&call, outside, step),
        };
        if let Some(entry) = self.ledger.entries_mut().get_mut(index) {
            entry.stage = stage;
        }
    }

    /// Says for whom the run waits: a person before a tool. Nothing is said while it is stopped, or where nothing is open.
    pub(super) fn update_waiting_status(&mut self, step: &mut Step<'_>) {
        let stopping = self.course.is_stopping();
        if stopping || self.ledger.is_settled() {
            return;
        }
        let status = if self.ledger.awaits_approval() || self.asks_inner() {
            RunStatus::AwaitingApproval
        } else {
            RunStatus::AwaitingTool
        };
        self.course.set_status(status, step);
    }

    /// It is on record that the tool is about to begin: from here on a crash leaves the outcome unknown.
    pub(super) fn on_action_started(&mut self, fact: &Envelope<EnvironmentEvent>, step: &mut Step<'_>) {
        let Some(tool_call_id) = fact.cause.as_ref().and_then(|id| self.ledger.mark_started(id)) else {
            return;
        };
        step.state(StateOutput::ToolStarted {
            tool_call_id: tool_call_id.clone(),
        });
    }

    /// Takes a result. One that is not of an open call, by the action that performs it, is passed over.
    pub(super) fn on_tool_result(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        result: &ToolResult,
        step: &mut Step<'_>,
    ) {
        let resolves = |action| self.ledger.resolve(action, result);
        if !fact.cause.as_ref().is_some_and(resolves) {
            return;
        }
        step.stream(StreamOutput::ToolResult {
            tool_call_id: result.tool_call_id.clone(),
            is_error: result.is_error,
        });
        step.state(StateOutput::ToolEnded {
            tool_call_id: result.tool_call_id.clone(),
            status: result.status,
        });
        self.drop_inner(false, step);
        self.update_waiting_status(step);
        self.settle(step);
    }

    /// Puts the results of a settled ledger into the conversation, in the order of the calls, and counts the round unless
    /// the model will not be asked again.
    pub(super) fn close_round(&mut self, step: &mut Step<'_>) {
        let entries = self.ledger.take();
        let limits = self.config.limits;
        let Some(run) = self.course.active() else { return };
        let mut warning = None;
        if run.pending.stop.is_none() {
            run.iterations = run.iterations.saturating_add(1);
            let near = limits::near_end(&limits, run.iterations);
            if near.is_some() && run.pending.warned_of != limits.max_iterations {
                run.pending.warned_of = limits.max_iterations;
                warning = near.map(limits::warning);
            }
        }
        let last = entries.len().saturating_sub(1);
        for (index, entry) in entries.into_iter().enumerate() {
            let warning = warning.as_ref().filter(|_| index == last);
            self.add_result(entry, warning, step);
        }
    }

    /// The result joins the conversation as a message of its own, named by its call.
    fn add_result(&mut self, entry: LedgerEntry, warning: Option<&String>, step: &mut Step<'_>) {
        let CallStage::Resolved {
            mut content,
            status,
            is_error,
        } = entry.stage
        else {
            return;
        };
        let quits =
            status == ToolStatus::Success && self.tool(&entry.call.name).is_some_and(|tool| tool.quit);
        let text: String = content.iter().filter_map(ContentPart::as_text).collect();
        if let Some(run) = self.course.active().filter(|_| quits) {
            run.pending.quit = true;
            if run.last_text.trim().is_empty() {
                run.last_text = text;
            }
        }
        content.extend(warning.map(|warning| ContentPart::text(warning.as_str())));
        let RequestedCall {
            tool_call_id, name, ..
        } = entry.call;
        let message = Arc::new(Message {
            message_id: MessageId::with_suffix(format_args!("result_{tool_call_id}")),
            role: Role::Tool,
            content: vec![ContentPart::ToolResult(ToolResultPart {
                tool_call_id,
                name,
                content,
                is_error,
            })],
            by: None,
        });
        self.conversation.push(step.seq, message.clone());
        step.message(MessageOutput::ToolResult { message });
    }
}

fn not_allowed(reason: &str) -> String {
    format!("Not allowed: {reason}.")
}
