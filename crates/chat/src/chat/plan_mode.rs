//! `/plan`, and the answer to a plan. Accepting a plan ends plan mode first. That is a change of the
//! configuration, so the answer that starts the work counts only from somebody who may make such a change.

use agentx::types::{ACCEPT_PLAN, ApprovalDecision, ApprovalRequested, ConfigChange};

use super::Chat;
use crate::error::ChatError;
use crate::render::approval_reply::ApprovalReply;

/// The note that is printed when plan mode is switched on.
pub(super) const ON: &str =
    "plan mode: nothing is changed or run until you accept a plan (`/plan off` ends it)";

/// The same below the input, where another key ends it.
pub(super) const ON_BY_KEY: &str = "nothing is changed or run until you accept a plan";

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
                self.change(ConfigChange::PlanMode(true)).await?;
                Ok(ON.to_owned())
            }
            PlanCommand::Task(task) => {
                if !is_on {
                    self.change(ConfigChange::PlanMode(true)).await?;
                }
                // Its outcome is shown by the conversation; a message never leaves the chat.
                let _ = self.say(&task).await?;
                Ok(if is_on { String::new() } else { ON.to_owned() })
            }
        }
    }

    /// Ends plan mode if this answer accepts a plan.
    ///
    /// # Errors
    /// Returns an error if the person may not change the configuration: then the answer is not sent.
    pub(super) async fn end_planning(
        &mut self,
        question: &ApprovalRequested,
        answer: &ApprovalReply,
    ) -> Result<(), ChatError> {
        if self.status.activity.is_planning() && accepts(question, answer) {
            self.change(ConfigChange::PlanMode(false)).await?;
        }
        Ok(())
    }
}

/// Returns whether an answer accepts the plan of a question.
fn accepts(question: &ApprovalRequested, answer: &ApprovalReply) -> bool {
    let Some(asked) = question.question.as_deref().filter(|asked| asked.is_plan) else {
        return false;
    };
    let words = answer.note.as_deref().unwrap_or_default();
    answer.decision != ApprovalDecision::Deny && asked.meant(words) == ACCEPT_PLAN
}
