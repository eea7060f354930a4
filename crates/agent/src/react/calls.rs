//! Handles the model's calls: approval, running, results.
//!
//! A call goes from decided to resolved ([`CallStage`]) and gets exactly one result, even after a crash
//! (invariant 8).

use std::sync::Arc;

use agentx_types::{
    ActionBody, AgentConfig, AnswerCall, CallTool, CallingAgent, ContentPart, Envelope, EnvironmentEvent,
    Message, MessageId, MessageOutput, RequestedCall, Role, RunStatus, StateOutput, StreamOutput, ToolCallId,
    ToolResult, ToolResultPart, ToolSpec, ToolStatus, since,
};

use super::ReactAgent;
use crate::ledger::{CallStage, LedgerEntry};
use crate::limits;
use crate::permissions::approval::{self, Verdict};
use crate::permissions::rule_origin::{brings_web_text, note_web_text};
use crate::run_lifecycle::RunStep;
use crate::tools::arguments;

impl ReactAgent {
    /// Decides about a new call: it is run, needs a question, or is answered at once. The first matching row
    /// decides:
    ///
    /// | the call | decision |
    /// | --- | --- |
    /// | its arguments are not JSON | answered, `invalid` |
    /// | no tool has its name | answered with `invalid` and the names of the tools |
    /// | its arguments do not fit the tool's schema | answered, `invalid`, with every mistake |
    /// | the rules deny it | answered, `denied`, with the text of the rule |
    /// | analyzers assess it | waits for their verdicts; then the rows below apply, as far as these allow |
    /// | the rules or the mode ask | waits for a person |
    /// | it is one of the machine's own (`delegate`, `agents`, `ask_user`, `present_plan`, …) | done here, without an effector |
    /// | any other | handed to its tool |
    ///
    /// The result describes the error to the model, so that it can send another call; that is not an error of
    /// the run.
    pub(super) fn decide_call(&mut self, call: RequestedCall, step: &mut RunStep<'_>) {
        let own = self.own_tool(&call.name);
        let patterns = self.guard.patterns_for(&self.config);
        let tools = Arc::clone(&self.config.tools);
        let tool = match self.tool_for(&call, own.as_ref(), &tools) {
            Ok(tool) => tool,
            Err(text) => return self.answer_new(call, ToolStatus::Invalid, text, step),
        };
        let verdict = match approval::decide_prepared(&self.deciding(), patterns, tool, &call.input) {
            Verdict::Ask(_) if self.is_question(&call.name) => Verdict::Allow {
                outside_workspace: false,
            },
            verdict => verdict,
        };
        self.take_call(call, tool, verdict, step);
    }

    /// The configuration by which calls of the run in progress are decided.
    pub(super) fn deciding(&self) -> Arc<AgentConfig> {
        self.lifecycle.deciding(&self.config)
    }

    /// Carries out a decision about a call; returns the stage that it is in then.
    pub(super) fn stage_for(
        &mut self,
        call: &RequestedCall,
        verdict: Verdict,
        step: &mut RunStep<'_>,
    ) -> CallStage {
        match verdict {
            Verdict::Allow { .. } if let Some(asked) = self.loop_question(call) => {
                self.hold_in_loop(call, asked, step)
            }
            Verdict::Allow { outside_workspace } => match self.own_call(call, step) {
                Some(Ok(stage)) => stage,
                Some(Err(text)) => self.answer_now(call, ToolStatus::Invalid, text, step),
                None => self.run_call(call, outside_workspace, false, step),
            },
            Verdict::Deny { reason } => self.answer_now(call, ToolStatus::Denied, not_allowed(&reason), step),
            Verdict::Ask(question) => {
                step.request_approval(call, &question);
                CallStage::AwaitingApproval(question)
            }
        }
    }

    /// Returns the tool of a call: `own`, if that is the machine's own tool of this name, or the one among
    /// the `tools` on offer.
    ///
    /// # Errors
    /// Returns the message to the model if the call is a mistake: its arguments are not valid JSON or do
    /// not fit, or no tool has its name.
    pub(super) fn tool_for<'a>(
        &self,
        call: &RequestedCall,
        own: Option<&'a ToolSpec>,
        tools: &'a [ToolSpec],
    ) -> Result<&'a ToolSpec, String> {
        if let Some(invalid) = &call.invalid {
            return Err(format!(
                "The arguments of this call are not valid JSON ({}). Send the call again with a JSON object.",
                invalid.error
            ));
        }
        let offered = || tools.iter().find(|tool| tool.name == call.name);
        let Some(tool) = own.or_else(offered) else {
            return Err(format!(
                "There is no tool {:?}. The tools are: {}.",
                call.name,
                self.names_of_tools()
            ));
        };
        match arguments::argument_error(tool, &call.input) {
            Some(text) => Err(text),
            None => Ok(tool),
        }
    }

    /// The tool of this name that is on offer. `recall`, which is on offer only after something was
    /// condensed, is none of these.
    pub(super) fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.config.tools.iter().find(|tool| tool.name == name)
    }

    /// Hands a call to its tool. The action contains everything that the tool needs: its steps from before a
    /// crash, and the current configuration of its agent. `approved` says whether somebody decided about
    /// this very call.
    pub(super) fn run_call(
        &mut self,
        call: &RequestedCall,
        outside_workspace: bool,
        approved: bool,
        step: &mut RunStep<'_>,
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
            caller: Arc::new(CallingAgent {
                config: Some(self.deciding()),
                kept: step.context.kept.cloned().unwrap_or_default(),
                depth: step.context.depth,
                approved,
            }),
        });
        let run_id = self.lifecycle.run_id();
        let action_id = step.act_in(run_id, body);
        CallStage::Running {
            action_id,
            started: false,
            outside_workspace,
        }
    }

    /// Answers the open call at `index` without running anything. Nothing happens if no run is in progress.
    pub(super) fn answer_open(
        &mut self,
        index: usize,
        status: ToolStatus,
        text: String,
        step: &mut RunStep<'_>,
    ) {
        let Some(run_id) = self.lifecycle.active().map(|run| run.id.clone()) else {
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
        let action_id = step.request_action(&run_id, ActionBody::AnswerCall(answer));
        entry.stage = CallStage::Answering {
            action_id,
            status,
            text,
        };
    }

    /// Runs a call that waited for a decision. `approved` says whether somebody made it about this very call.
    pub(super) fn release(&mut self, index: usize, approved: bool, step: &mut RunStep<'_>) {
        let Some(call) = self.ledger.entries().get(index).map(|entry| entry.call.clone()) else {
            return;
        };
        let outside = self
            .tool(&call.name)
            .is_some_and(|tool| approval::is_outside_workspace(&self.config, tool, &call.input));
        let stage = match self.own_call(&call, step) {
            Some(Ok(stage)) => stage,
            Some(Err(text)) => self.answer_now(&call, ToolStatus::Invalid, text, step),
            None => self.run_call(&call, outside, approved, step),
        };
        if let Some(entry) = self.ledger.entries_mut().get_mut(index) {
            entry.stage = stage;
        }
    }

    /// Reports whether the run waits for a person, or else for a tool. Reports nothing while it is being
    /// stopped, or if no call is open.
    pub(super) fn update_waiting_status(&mut self, step: &mut RunStep<'_>) {
        self.note_pause(step);
        let stopping = self.lifecycle.is_stopping();
        if stopping || self.ledger.is_settled() {
            return;
        }
        let status = if self.ledger.awaits_approval() || self.asks_inner() {
            RunStatus::AwaitingApproval
        } else {
            RunStatus::AwaitingTool
        };
        self.lifecycle.set_status(status, step);
        if self.config.rules_version >= since::WAITING_IS_NOT_WORK {
            self.lifecycle.note_waiting(step);
        }
    }

    /// Handles the record that the tool is about to begin: from now on a crash leaves the outcome unknown.
    pub(super) fn on_action_started(&mut self, fact: &Envelope<EnvironmentEvent>, step: &mut RunStep<'_>) {
        let Some(tool_call_id) = fact.cause.as_ref().and_then(|id| self.ledger.mark_started(id)) else {
            return;
        };
        step.state(StateOutput::ToolStarted {
            tool_call_id: tool_call_id.clone(),
        });
    }

    /// Handles a result. One that is not of an open call, by the action that performs it, is ignored: an
    /// effector that answers twice, or after its call was settled otherwise, changes nothing. When the last
    /// open call has its result, the round is closed and the model is asked again.
    pub(super) fn on_tool_result(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        result: &ToolResult,
        step: &mut RunStep<'_>,
    ) {
        let brings_web_text = self.brings_web_text(&result.tool_call_id);
        let resolves = |action| self.ledger.resolve(action, result);
        if !fact.cause.as_ref().is_some_and(resolves) {
            return;
        }
        if brings_web_text {
            self.note_web_text();
        }
        step.stream(StreamOutput::ToolResult {
            tool_call_id: result.tool_call_id.clone(),
            is_error: result.is_error,
        });
        step.state(StateOutput::ToolEnded {
            tool_call_id: result.tool_call_id.clone(),
            status: result.status,
        });
        self.drop_nested_calls(false, step);
        self.update_waiting_status(step);
        self.proceed(step);
    }

    /// Returns whether the result of a running call may hold text from the web: of its tool, or of one that
    /// its tool called.
    fn brings_web_text(&self, id: &ToolCallId) -> bool {
        let runs = |entry: &&LedgerEntry| {
            entry.call.tool_call_id == *id && matches!(entry.stage, CallStage::Running { .. })
        };
        self.ledger.entries().iter().find(runs).is_some_and(|entry| {
            self.tool(&entry.call.name).is_none_or(brings_web_text) || self.called_for_web_text(id)
        })
    }

    /// Notes that text from the web has entered the conversation.
    pub(crate) fn note_web_text(&mut self) {
        note_web_text(&mut self.config);
    }

    /// Adds the results of a settled ledger to the conversation, in the order of the calls, and counts the
    /// round unless the model will not be asked again.
    pub(super) fn close_round(&mut self, step: &mut RunStep<'_>) {
        let entries = self.ledger.drain();
        let limits = self.limits_of_run();
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        let (mut warning, mut budget) = (None, None);
        if run.pending.stop.is_none() {
            run.iterations = run.iterations.saturating_add(1);
            let near = limits::near_end(&limits, run.iterations);
            if near.is_some() && run.pending.warned_of != limits.max_iterations {
                run.pending.warned_of = limits.max_iterations;
                warning = near.map(limits::warning);
            }
            if self.config.rules_version >= since::BUDGETS_LEFT_ARE_TOLD {
                budget = limits::budget_note(&limits, &run.spent(), run.used_ms(step.at));
            }
        }
        let is_stopping = run.pending.stop.is_some();
        let mut notes: Vec<String> = warning.into_iter().chain(budget).collect();
        if !is_stopping && !entries.iter().any(|entry| self.quits(entry)) {
            notes.extend(self.watch_results(&entries, step));
        }
        let last = entries.len().saturating_sub(1);
        for (index, entry) in entries.into_iter().enumerate() {
            let notes = if index == last { &notes[..] } else { &[] };
            self.add_result(entry, notes, step);
        }
    }

    /// Returns whether a call has ended the run.
    fn quits(&self, entry: &LedgerEntry) -> bool {
        let CallStage::Resolved { status, .. } = entry.stage else {
            return false;
        };
        status == ToolStatus::Success && self.tool(&entry.call.name).is_some_and(|tool| tool.quit)
    }

    /// Adds the result to the conversation as a separate message, named by its call. `notes` of the machine
    /// follow the tool's own content.
    fn add_result(&mut self, entry: LedgerEntry, notes: &[String], step: &mut RunStep<'_>) {
        let quits = self.quits(&entry);
        let CallStage::Resolved {
            mut content,
            status,
            is_error,
        } = entry.stage
        else {
            return;
        };
        self.note_found_tools(&entry.call.name, status, &content);
        let text: String = content.iter().filter_map(ContentPart::as_text).collect();
        if let Some(run) = self.lifecycle.active().filter(|_| quits) {
            run.pending.quit = true;
            if run.last_text.trim().is_empty() {
                run.last_text = text;
            }
        }
        content.extend(notes.iter().map(|note| ContentPart::text(note.as_str())));
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

pub(super) fn not_allowed(reason: &str) -> String {
    format!("Not allowed: {reason}.")
}
