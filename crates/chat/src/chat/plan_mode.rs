//! `/plan`, and the answer to a plan. Accepting a plan ends plan mode first. That is a change of the
//! configuration, so the answer that starts the work counts only from somebody who may make such a change.

use agentx::runtime::{ApprovalInput, RuntimeError};
use agentx::types::{
    ACCEPT_PLAN, Access, AgentConfig, ApprovalDecision, ApprovalMode, ApprovalRequested, ConfigChange, Rule,
    ToolCallId,
};

use super::Chat;
use crate::error::ChatError;
use crate::render::approval_mode_word::mode_word;
use crate::render::approval_outcome;
use crate::render::approval_reply::ApprovalReply;
use crate::render::units::counted;

/// The note that is printed when plan mode is switched on.
pub(super) const ON: &str =
    "plan mode: nothing is changed or run until you accept a plan (`/plan off` ends it)";

/// The same below the input, where another key ends it.
pub(super) const ON_BY_KEY: &str = "nothing is changed or run until you accept a plan";

/// The reason for the model why a call that waited for an answer is refused.
const BEGAN: &str = "the person switched on plan mode while this call waited";

/// A form of the command `/plan`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlanCommand {
    /// Switch plan mode on.
    On,
    /// Switch plan mode off without a plan.
    Off,
    /// Switch plan mode on, and send this task.
    Task(String),
}

impl PlanCommand {
    /// Reads the words behind `/plan`.
    pub(super) fn parse(argument: &str) -> Self {
        match argument {
            "" => Self::On,
            "off" => Self::Off,
            task => Self::Task(task.to_owned()),
        }
    }
}

impl Chat<'_> {
    /// Runs `/plan`.
    pub(super) async fn plan(&mut self, command: PlanCommand) -> Result<String, ChatError> {
        let is_on = self.status.activity.is_planning();
        match command {
            PlanCommand::Off if !is_on => Ok("plan mode is off".to_owned()),
            PlanCommand::Off => {
                self.change(ConfigChange::PlanMode(false)).await?;
                Ok("plan mode is off: calls are decided by the rules and the approval mode again".to_owned())
            }
            PlanCommand::On => {
                self.begin_planning().await?;
                Ok(ON.to_owned())
            }
            PlanCommand::Task(task) => {
                if !is_on {
                    self.begin_planning().await?;
                }
                // Its outcome is shown by the conversation; a message never leaves the chat.
                let _ = self.say(&task).await?;
                Ok(if is_on { String::new() } else { ON.to_owned() })
            }
        }
    }

    /// Switches plan mode on, and refuses the calls that wait for an answer and that plan mode refuses
    /// anyway.
    pub(super) async fn begin_planning(&mut self) -> Result<(), ChatError> {
        self.change(ConfigChange::PlanMode(true)).await?;
        self.approvals.auto_after_plan = false;
        self.refuse_waiting_changes().await;
        Ok(())
    }

    /// Refuses the calls of open questions that plan mode refuses, so that nobody allows what does not run.
    async fn refuse_waiting_changes(&mut self) {
        let Some(session) = self.connection.session().cloned() else {
            return;
        };
        if self.question().is_none() {
            return;
        }
        let Ok(config) = self.agent_config().await else {
            return;
        };
        let before = self.status.question().map(|asked| asked.tool_call_id.clone());
        let waiting = self.status.questions().filter(|asked| is_refused(&config, asked));
        let waiting: Vec<ToolCallId> = waiting.map(|asked| asked.tool_call_id.clone()).collect();
        let mut refused = 0_usize;
        for id in waiting {
            let no = ApprovalInput::new(id.clone(), ApprovalDecision::Deny).note(Some(BEGAN.to_owned()));
            match self.wait_for(async { session.approve(no).await }).await {
                // One that was answered elsewhere is settled too.
                Ok(_) | Err(ChatError::Runtime(RuntimeError::Refused(_))) => self.status.settle_question(&id),
                Err(error) => {
                    self.complain(&error);
                    break;
                }
            }
            refused += 1;
        }
        if refused > 0 {
            let calls = counted(refused, "call");
            let note = format!("  refused: {calls} that waited for an answer, because plan mode is on");
            self.display.transcript.aside(&self.display.style().dim(&note));
            self.ask_if_new(before.as_ref()).await;
        }
    }

    /// Ends plan mode if this answer accepts a plan. The calls that follow are asked about, unless the
    /// approval mode is `deny` or the person wants `auto` after the plan.
    ///
    /// # Errors
    /// Returns an error if the person may not change the configuration: then the answer is not sent.
    pub(super) async fn end_planning(
        &mut self,
        question: &ApprovalRequested,
        answer: &ApprovalReply,
    ) -> Result<(), ChatError> {
        if !accepts(question, answer) {
            return Ok(());
        }
        if self.status.activity.approval() == ApprovalMode::Auto && !self.wants_auto_after_plan() {
            self.change(ConfigChange::Approval(ApprovalMode::Ask)).await?;
        }
        if self.status.activity.is_planning() {
            self.change(ConfigChange::PlanMode(false)).await?;
        }
        Ok(())
    }

    /// Returns whether the person said that calls run without asking after the plan: by `--yes`, or by
    /// `/approve-mode auto` after plan mode began.
    fn wants_auto_after_plan(&self) -> bool {
        self.approvals.auto_approve || self.approvals.auto_after_plan
    }

    /// Returns the answer in words, and after an accepted plan the mode that holds now.
    pub(super) fn answer_in_words(
        &self,
        question: &ApprovalRequested,
        answer: &ApprovalReply,
        kept: &[Rule],
    ) -> String {
        let words = approval_outcome::answered(question, answer, kept);
        if !accepts(question, answer) {
            return words;
        }
        let mode = self.status.activity.approval();
        format!("{words}; {}: {}", mode_word(mode), self.mode_here(mode))
    }
}

/// Returns whether plan mode refuses the call of a question. A question that asks for words is not about a
/// call. A tool that the agent does not have, such as one of a sub-agent, is not known and not refused here.
fn is_refused(config: &AgentConfig, asked: &ApprovalRequested) -> bool {
    let tool = config.tools.iter().find(|tool| tool.name == asked.name);
    asked.question.is_none() && asked.form.is_none() && tool.is_some_and(|tool| tool.access > Access::Read)
}

/// Returns whether an answer accepts the plan of a question.
fn accepts(question: &ApprovalRequested, answer: &ApprovalReply) -> bool {
    let Some(asked) = question.question.as_deref().filter(|asked| asked.is_plan) else {
        return false;
    };
    let words = answer.note.as_deref().unwrap_or_default();
    answer.decision != ApprovalDecision::Deny && asked.meant(words) == ACCEPT_PLAN
}

#[cfg(test)]
mod tests {
    use agentx::types::{Access, ToolSpec};
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_call_of_a_known_tool_that_changes_something_is_refused() {
        let tool = |name: &str, access| {
            let schema = json!({"type": "object"});
            ToolSpec::new(name.to_owned(), String::new(), schema, access)
        };
        let mut config = agentx::agent::fixtures::config();
        config.plan_mode = Some(true);
        config.tools = vec![tool("look", Access::Read), tool("make", Access::Change)].into();
        let asked = |name: &str, question: serde_json::Value| -> ApprovalRequested {
            serde_json::from_value(json!({
                "tool_call_id": "c1", "name": name, "input": {}, "reason": "",
                "suggested": {"effect": "allow", "tool": name}, "question": question,
            }))
            .unwrap()
        };
        let about_call = |name: &str| is_refused(&config, &asked(name, serde_json::Value::Null));
        assert!(about_call("make"));
        assert!(!about_call("look") && !about_call("unknown"));
        let words = json!({"question": "Shall it go on?"});
        assert!(!is_refused(&config, &asked("make", words)));
    }
}
