//! Settles the open work of another process.
//!
//! `writer_attached` is the first fact that a new process commits, and a replay goes through it as the live
//! session did. Nothing answers the actions of the old process any more; new actions settle its work.
//!
//! | open work | settled by |
//! | --- | --- |
//! | a model call | a new call; the partial answer is set aside, and the request is sent in full after repeated 500s |
//! | a summary | a new request when it is next needed |
//! | a call that never started, or of an idempotent tool | running it again |
//! | a call whose tool waits for answers of a person, and nobody works on it | handing it to the tool again, with its state |
//! | another call that had started | the result `unknown`, with the output until then |
//! | a call that had started, of a tool that is set so | a question to a person, if somebody is there |
//! | a check of an answer | a new check |
//! | a context that is being built | a new request |
//! | a verdict of an analyzer | a new request |
//! | proposals of memories | a new request with the next run |
//! | a question | nothing: it stays open |
//! | a wait for a time | a timer for the rest; none is left of a wait that is due |
//! | a reminder | a timer for the rest, or the message that it is due |
//! | a child's work | the child itself |
//! | a run that was being stopped | answers to its calls, and its end |

use std::sync::Arc;

use agentx_types::{
    ActionId, CommandRan, ContentPart, JobEnded, LeftRunning, Message, MessageId, RequestedCall, Role,
    RunStatus, ToolStatus, WriterAttached, since,
};

use super::ReactAgent;
use super::learning::LearningWatch;
use super::reminders::ReminderList;
use super::stop::STOPPED;
use crate::imported_config::restrict_imported;
use crate::ledger::CallStage;
use crate::other_authors;
use crate::permissions::approval::Question;
use crate::run_lifecycle::{RunStep, mode_of_words};

/// The message to the model about an interrupted call, which may have had its effect and must not be repeated
/// blindly.
pub(super) const OUTCOME_UNKNOWN: &str = "This call was cut off while it was running, because the program that ran it stopped. It may or may not have had its effect: look before you repeat it.";

/// The line before the output of an interrupted call. Output that its program did not record is lost.
const OUTPUT_UNTIL_THEN: &str = "Its recorded output until then:";

/// The message to the model of a fork about a call that was running at the time of the fork.
const RUNS_IN_THE_ORIGINAL: &str = "This call was running in the session that this one is a copy of. It may or may not have had its effect, and it may still be running there: look before you repeat it.";

impl ReactAgent {
    /// A fork or an imported session continues from here without the original's work in progress: the run
    /// ends as interrupted (`why`) once a writer has settled its calls. `hold` holds back queued inputs until
    /// a person sends one.
    pub(super) fn on_copied(&mut self, why: &str, hold: bool, step: &mut RunStep<'_>) {
        self.forget_condensing();
        self.learning = LearningWatch::default();
        self.reminders = ReminderList::default();
        let Some(asked_model) = self.lifecycle.copied(why, hold) else {
            return;
        };
        if asked_model {
            self.cut_off(step);
        }
        if self.config.rules_version >= since::COPIES_LEAVE_CALLS {
            self.leave_calls_to_the_original();
        }
        self.drop_nested_calls(true, step);
        self.lifecycle.set_status(RunStatus::Stopping, step);
    }

    /// A document became this session: it has no work in progress, and its configuration allows nothing.
    pub(super) fn on_imported(&mut self, workspace: Option<&str>, step: &mut RunStep<'_>) {
        let before = self.config.clone();
        restrict_imported(Arc::make_mut(&mut self.config), workspace);
        self.fallback = None;
        self.conversation.fixed_changed(&before, &self.config);
        self.on_copied("imported", true, step);
    }

    /// Answers as unknown the calls that had started and may not be repeated: they run in the original
    /// session.
    ///
    /// The answers are committed once there is a writer. Before version 8 of the rules such a call was
    /// answered as if it had been cut off here.
    fn leave_calls_to_the_original(&mut self) {
        for index in 0..self.ledger.entries().len() {
            let entry = &self.ledger.entries()[index];
            let CallStage::Running {
                action_id,
                started: true,
                ..
            } = &entry.stage
            else {
                continue;
            };
            let action_id = action_id.clone();
            if self.tool(&entry.call.name).is_some_and(|tool| tool.idempotent) {
                continue;
            }
            self.ledger.entries_mut()[index].stage = CallStage::Answering {
                action_id,
                status: ToolStatus::Unknown,
                text: RUNS_IN_THE_ORIGINAL.to_owned(),
            };
        }
    }

    /// Another process takes over: all work of the old one has ended without a report. The table above says
    /// how each kind is settled.
    ///
    /// `attached` has the commands of the old process that still ran and that the new one has ended, and the
    /// output of calls until then. Rules may have changed with the new process, so open questions are decided
    /// again.
    pub(super) fn on_writer_attached(&mut self, attached: &WriterAttached, step: &mut RunStep<'_>) {
        let max = self.config.limits.max_wall_ms;
        self.recover_condensing();
        self.learning.forget_request();
        self.conversation.send_in_full_again(&self.config);
        self.note_jobs(&attached.ended, step);
        let Some(run) = self.lifecycle.active() else {
            self.condense_as_wanted(step);
            self.take_up_reminders(step);
            return;
        };
        run.on_takeover(step.at);
        let stopping = run.pending.stop.is_some();
        let asked_model = run.pending.model_call.is_some();
        if asked_model {
            let request = self.conversation.estimated_request();
            self.lifecycle.estimate_dead_answer(request, &self.config);
        }
        if asked_model && stopping {
            self.cut_off(step);
        } else if asked_model {
            self.set_aside(step);
        }
        if let Some(run) = self.lifecycle.active() {
            // A summary may have to come first, so the old call is no longer awaited.
            run.pending.model_call = None;
            run.take_up_timer(max, step);
        }
        for index in 0..self.ledger.entries().len() {
            self.recover_call(index, stopping, attached, step);
        }
        self.drop_nested_calls(stopping, step);
        self.request_check_again(step);
        if !stopping {
            self.build_context_again(step);
            self.assess_again(step);
        }
        self.reconsider(step);
        self.update_waiting_status(step);
        if asked_model && !stopping {
            self.call_model(step);
        } else {
            self.proceed(step);
        }
        self.take_up_reminders(step);
    }

    /// Tells the model, with its next call, which of its background commands are gone. Those that belong to a
    /// call are reported with the call's result.
    fn note_jobs(&mut self, ended: &[LeftRunning], step: &mut RunStep<'_>) {
        let jobs: Vec<String> = ended
            .iter()
            .filter(|left| left.tool_call_id.is_none())
            .map(named)
            .collect();
        if jobs.is_empty() {
            return;
        }
        let text = format!(
            "[Commands in the background were still running when the program that ran them stopped, and have been ended: {}.]",
            jobs.join("; ")
        );
        self.note_for_model(text, step);
    }

    /// Tells the model that a background command has ended, and how.
    pub(super) fn on_job_ended(&mut self, ended: &JobEnded, step: &mut RunStep<'_>) {
        let JobEnded { job, command, how } = ended;
        self.note_for_model(
            format!("[{job} in the background has ended: {how}. It was: {command}]"),
            step,
        );
    }

    /// Tells the model about a command that a person ran outside the conversation. The command of another
    /// person than the session's owner is marked with that person's id.
    pub(super) fn on_command_ran(&mut self, ran: &CommandRan, step: &mut RunStep<'_>) {
        let text = match &ran.by {
            None => other_authors::ran_by_owner(ran),
            Some(person) => other_authors::ran(person, ran, self.config.rules_version),
        };
        let mode = mode_of_words(ran.by.as_ref(), &self.config, step);
        self.lifecycle.inputs.bind_kept(mode);
        self.note_for_model(text, step);
    }

    /// Keeps a note that the model reads with its next call; it begins no run.
    pub(super) fn note_for_model(&mut self, text: String, step: &mut RunStep<'_>) {
        let message = Message {
            message_id: MessageId::with_suffix(format_args!("ended_{}", step.seq)),
            role: Role::User,
            content: vec![ContentPart::text(text)],
            by: None,
        };
        self.lifecycle.inputs.keep(Arc::new(message));
    }

    /// Returns whether a call that has started may be handed to its tool again: it may be repeated, or it
    /// only waits for answers of a person, with which the tool continues it.
    fn may_run_again(&self, call: &RequestedCall, step: &RunStep<'_>) -> bool {
        if self.tool(&call.name).is_some_and(|tool| tool.idempotent) {
            return true;
        }
        self.config.rules_version >= since::SUSPENDED_CALLS_CONTINUE
            && step.recorded(&call.tool_call_id).suspension().is_some()
    }

    /// Settles one call.
    fn recover_call(
        &mut self,
        index: usize,
        stopping: bool,
        attached: &WriterAttached,
        step: &mut RunStep<'_>,
    ) {
        let entry = self.ledger.entries()[index].clone();
        let is_asked = !stopping && self.asks_about_outcome(&entry.call, step);
        let repeatable = !is_asked && self.may_run_again(&entry.call, step);
        match entry.stage {
            // An agent that was made for a call continues on its own.
            CallStage::Resolved { .. } | CallStage::Delegated { .. } => {}
            CallStage::Answering {
                action_id,
                status,
                text,
            } => {
                let text = with_output(text, attached, &action_id);
                self.answer_open(index, status, text, step);
            }
            CallStage::Running {
                started: true,
                action_id,
                ..
            } if !repeatable => {
                let of_call =
                    |left: &&LeftRunning| left.tool_call_id.as_ref() == Some(&entry.call.tool_call_id);
                let text = match attached.ended.iter().find(of_call) {
                    Some(left) => format!(
                        "{OUTCOME_UNKNOWN} It was still running ({}), and has been ended now.",
                        named(left)
                    ),
                    None => OUTCOME_UNKNOWN.to_owned(),
                };
                let text = with_output(text, attached, &action_id);
                if is_asked {
                    self.ask_about_outcome(index, text, step);
                } else {
                    self.answer_open(index, ToolStatus::Unknown, text, step);
                }
            }
            CallStage::AwaitingApproval(Question {
                outcome: Some(told), ..
            }) if stopping => self.answer_open(index, ToolStatus::Unknown, told.into(), step),
            CallStage::Assessing(_)
            | CallStage::AwaitingApproval(_)
            | CallStage::Waiting { .. }
            | CallStage::Running { .. }
                if stopping =>
            {
                self.answer_open(index, ToolStatus::Interrupted, STOPPED.to_owned(), step);
            }
            CallStage::AwaitingApproval(_) | CallStage::Assessing(_) => {}
            CallStage::Waiting { due_at, .. } => {
                let stage = self.start_wait(&entry.call, due_at, step);
                self.ledger.entries_mut()[index].stage = stage;
            }
            CallStage::Running {
                outside_workspace, ..
            } => {
                let stage = self.run_call(&entry.call, outside_workspace, false, step);
                self.ledger.entries_mut()[index].stage = stage;
            }
        }
    }
}

/// The process that was left running, as text: `sleep`, `make and 3 more processes`.
fn named(left: &LeftRunning) -> String {
    match left.processes.saturating_sub(1) {
        0 => left.program.clone(),
        1 => format!("{} and 1 more process", left.program),
        more => format!("{} and {more} more processes", left.program),
    }
}

/// The text, followed by the recorded output of the call that this action started, if there is any.
///
/// The output is in `writer_attached`, because the agent keeps no output of calls. The model could not see it
/// otherwise: it reads results only. The new writer has shortened it, and names the bytes before it.
fn with_output(text: String, attached: &WriterAttached, action_id: &ActionId) -> String {
    let of_call = attached
        .cut_off
        .iter()
        .find(|output| output.action_id == *action_id);
    let Some(output) = of_call else { return text };
    let gap = match output.left_out {
        0 => String::new(),
        bytes => format!("[the first {bytes} bytes are left out]\n"),
    };
    format!("{text}\n{OUTPUT_UNTIL_THEN}\n{gap}{}", output.text)
}
