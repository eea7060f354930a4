//! Records the beginning and the end of runs, and changes of the conversation between them.

use agentx_types::{
    ContentPart, ContextCondensed, ErrorOccurred, EventDraft, InputMode, InterruptRequested, MessageId,
    Source, StopReason, StreamEnd, ToolCallId, ToolResult, ToolStatus, UserMessage,
};

use super::{SessionRecorder, WaitingStep};

/// The input of a run that has none in the log.
const GOES_ON: &str = "[The log continues here without an input.]";
/// The input of the first run if it has none in the log.
const BEGINS: &str = "[The log begins without an input.]";

impl SessionRecorder<'_> {
    /// Brings the agent to the point where it waits for the model.
    pub(super) fn settle(&mut self) {
        self.settle_ended();
        self.halt();
        self.open_run(true);
    }

    /// Records waiting inputs so that they join the run in progress.
    pub(super) fn steer(&mut self) {
        for input in std::mem::take(&mut self.inputs) {
            self.record_input(input, InputMode::Steer);
        }
    }

    /// Opens a run with the waiting inputs as one message, if the agent has no run in progress. If `needed`
    /// is true and no input waits, one is added.
    pub(super) fn open_run(&mut self, needed: bool) {
        let asks = self
            .agent()
            .is_some_and(|agent| self.model_calls.contains_key(&agent));
        if asks {
            return self.steer();
        }
        let mut inputs = std::mem::take(&mut self.inputs).into_iter();
        let Some(mut first) = inputs.next() else {
            if needed {
                self.report.add("input of a run without one");
                let is_first = self.used_messages.is_empty();
                let content = vec![ContentPart::text(if is_first { BEGINS } else { GOES_ON })];
                let at = self.at;
                self.record_input(
                    WaitingStep {
                        content,
                        source: Source::System,
                        events: Vec::new(),
                        at,
                    },
                    InputMode::Queue,
                );
            }
            return;
        };
        for next in inputs {
            // The texts of one message are separated by an empty line.
            first.content.push(ContentPart::text("\n\n"));
            first.content.extend(next.content);
            first.events.extend(next.events);
            if next.source == Source::User {
                first.source = Source::User;
            }
        }
        self.record_input(first, InputMode::Queue);
    }

    pub(super) fn record_input(&mut self, input: WaitingStep, mode: InputMode) {
        let later = std::mem::replace(&mut self.events, input.events);
        self.at = self.at.max(input.at);
        let message = UserMessage {
            message_id: MessageId::with_suffix(self.fold.next_seq()),
            content: input.content,
            mode,
            idempotency_key: None,
            by: None,
            answer_schema: None,
        };
        self.used_messages.insert(message.message_id.clone());
        self.record_for_agent(input.source, message);
        self.events = later;
    }

    /// Stops the run in progress if a stop is pending.
    pub(super) fn halt(&mut self) {
        let Some((reason, source)) = self.stop.take() else {
            return;
        };
        if !self.fold.is_busy() {
            return self.report.leave_out("stop between two runs");
        }
        // A stop reaches the root agent, and through it those that work for it.
        let root = self.agents.first().cloned();
        let requested = InterruptRequested {
            reason: Some(reason),
            hold: false,
            by: None,
        };
        self.record(EventDraft::new(source, root, requested));
        for action in std::mem::take(&mut self.model_calls).into_values() {
            if self.fold.is_open(&action.action_id) {
                self.record_for_action(
                    Source::System,
                    &action,
                    StreamEnd {
                        stop_reason: StopReason::Interrupted,
                        raw: None,
                    },
                );
            }
        }
        for (id, call) in std::mem::take(&mut self.open) {
            let result = ToolResult {
                tool_call_id: id,
                result: vec![ContentPart::text("Stopped.")],
                is_error: true,
                status: ToolStatus::Interrupted,
                details: None,
            };
            self.record_for_action(Source::System, &call.action, result);
        }
        self.agents.truncate(1);
        self.delegated.clear();
    }

    /// Stops the run: immediately, or, if calls are open, once the log has their outcomes.
    pub(super) fn stopped(&mut self, reason: String, source: Source) {
        self.stop.get_or_insert((reason, source));
        let is_held = |id: &ToolCallId| self.held.as_ref().is_some_and(|(_, held, ..)| held == id);
        if self
            .open
            .iter()
            .any(|(id, call)| call.ends.is_none() && !is_held(id))
        {
            return;
        }
        let stop = self.stop.take();
        self.settle_ended();
        self.open_run(false);
        self.stop = stop;
        self.halt();
    }

    /// Ends the run with an error.
    pub(super) fn failure(&mut self, code: String, message: String) {
        let events = std::mem::take(&mut self.events);
        if self.held.is_some() || !self.inputs.is_empty() {
            self.settle();
        }
        self.events = events;
        let error = ErrorOccurred {
            code: if code.is_empty() {
                "openhands_error".into()
            } else {
                code
            },
            message,
            recoverable: true,
        };
        let call = self.agent().and_then(|agent| self.model_calls.remove(&agent));
        match call {
            Some(action) => self.record_for_action(Source::Environment, &action, error),
            None => {
                let run_id = self
                    .agent()
                    .and_then(|agent| Some(self.fold.agent(&agent)?.run()?.id.clone()));
                let mut draft = EventDraft::new(Source::Environment, self.agent(), error);
                draft.run_id = run_id;
                self.record(draft);
                self.settle_ended();
            }
        }
    }

    /// Replaces a part of the conversation by its summary.
    pub(super) fn condensed(&mut self, forgotten: &[String], summary: String) {
        let ranges: Vec<(u64, u64)> = forgotten
            .iter()
            .filter_map(|id| self.seqs.get(id).copied())
            .collect();
        let (from, to) = (
            ranges.iter().map(|range| range.0).min(),
            ranges.iter().map(|range| range.1).max(),
        );
        let (Some(from_seq), Some(to_seq)) = (from, to) else {
            return self
                .report
                .leave_out("condensation of events that are not in the log");
        };
        let count = forgotten.len();
        let summary = if summary.trim().is_empty() {
            format!("({count} events were left out without a summary.)")
        } else {
            summary
        };
        let condensed = ContextCondensed {
            from_seq,
            to_seq,
            summary,
            kept: Vec::new(),
            bill: None,
            masked: Vec::new(),
        };
        self.record_for_agent(Source::System, condensed);
    }
}
