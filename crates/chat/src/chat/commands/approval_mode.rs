//! `/approve-mode`, and the sentences that describe an approval mode.

use agentx::config::FolderTrust;
use agentx::types::{AgentConfig, ApprovalMode, ConfigChange};

use crate::chat::{Chat, ConversationSite};
use crate::error::ChatError;
use crate::render::approval_mode_word::{mode_sentence, mode_word};

/// The answer of `/approve-mode` in plan mode, before the sentence about the mode that follows it.
const PLANNING: &str =
    "plan mode is on: changes and commands are refused until you accept a plan or type /plan off; after it";
/// The modes that a person can name.
const CHOICES: &str = "/approve-mode takes ask, accept-edits, plan, auto or deny";

impl Chat<'_> {
    /// Runs `/approve-mode`.
    pub(super) async fn approve_mode(&mut self, mode: Option<ApprovalMode>) -> Result<String, ChatError> {
        let Some(mode) = mode else {
            let mode = match (&self.connection.site, self.connection.state().await?) {
                (_, Some(state)) => state.config.approval,
                (ConversationSite::New(agent), None) => agent.config.approval,
                (ConversationSite::Open { .. }, None) => self.settings.approval,
            };
            let says = if self.status.activity.is_planning() && !self.is_read_only() {
                format!("{PLANNING}, {}", self.mode_here(mode))
            } else {
                self.mode_here(mode).to_owned()
            };
            return Ok(format!("{says}; {CHOICES}"));
        };
        self.set_approval_mode(mode).await?;
        self.approvals.auto_after_plan = mode == ApprovalMode::Auto;
        let said = new_mode_sentence(mode);
        Ok(if self.status.activity.is_planning() {
            format!("{said}; plan mode stays on until you accept a plan or type /plan off")
        } else if self.is_read_only() {
            format!("{said}; this folder is read-only, so changes and commands are still refused")
        } else {
            said
        })
    }

    /// Changes the approval mode, and nothing else of the agent.
    pub(in crate::chat) async fn set_approval_mode(&mut self, mode: ApprovalMode) -> Result<(), ChatError> {
        self.change(ConfigChange::Approval(mode)).await?;
        // A person who names a mode wants exactly that one: `--yes` does more than `auto`.
        self.approvals.auto_approve = false;
        Ok(())
    }

    /// Keeps the stricter mode in a copy of the session, which may begin before the mode of now was set:
    /// `planned` and `mode` held in the session before. Prints which mode holds if the copy began in another
    /// one.
    pub(in crate::chat) async fn keep_stricter_mode(&mut self, planned: bool, mode: ApprovalMode) {
        let (plans, began) = (
            self.status.activity.is_planning(),
            self.status.activity.approval(),
        );
        if (plans, began) == (planned, mode) {
            return;
        }
        if let Err(error) = self.make_as_strict(planned, mode).await {
            self.complain(&error);
        }
        let mode = self.status.activity.approval();
        let note = if self.status.activity.is_planning() {
            "· plan mode is on in the copy".to_owned()
        } else {
            format!("· in the copy, {}: {}", mode_word(mode), self.mode_here(mode))
        };
        self.display.transcript.aside(&self.display.style().dim(&note));
    }

    /// Makes the session as strict as this at least.
    async fn make_as_strict(&mut self, planned: bool, mode: ApprovalMode) -> Result<(), ChatError> {
        let now = self.status.activity.approval();
        if now.stricter(mode) != now {
            self.change(ConfigChange::Approval(mode)).await?;
        }
        if planned && !self.status.activity.is_planning() {
            self.begin_planning().await?;
        }
        Ok(())
    }

    /// Returns whether changes and commands are refused in any case.
    pub(in crate::chat) fn is_read_only(&self) -> bool {
        self.place.remote().is_none() && self.settings.folder.trust == FolderTrust::ReadOnly
    }

    /// Returns for `/status` who decides about calls that no rule covers.
    pub(super) fn mode_words(&self, config: &AgentConfig) -> &'static str {
        match config.approval {
            _ if self.is_read_only() => "changes and commands are refused (read-only folder)",
            _ if config.plan_mode == Some(true) => "changes and commands are refused (plan mode)",
            ApprovalMode::Ask => "you are asked",
            ApprovalMode::AcceptEdits => mode_sentence(ApprovalMode::AcceptEdits),
            ApprovalMode::Auto if self.approvals.auto_approve => {
                "calls run without asking; `--yes` also answers the questions of rules"
            }
            ApprovalMode::Auto => mode_sentence(ApprovalMode::Auto),
            ApprovalMode::Deny => "calls that no rule allows are refused",
        }
    }
}

/// Describes the approval mode that a person just chose.
pub(in crate::chat) fn new_mode_sentence(mode: ApprovalMode) -> String {
    format!("from now on {}", mode_sentence(mode))
}
