//! Changes of the configuration, and their effect on requests, calls and notes to the model.

use std::sync::Arc;

use agentx_types::{ConfigChange, ContentPart, Message, MessageId, Role};

use super::ReactAgent;
use crate::ledger::CallStage;
use crate::run_lifecycle::RunStep;
use crate::tools::plan_mode;

impl ReactAgent {
    /// Applies a change of the configuration by an agent above.
    pub(crate) fn on_change_above(&mut self, change: &ConfigChange, step: &mut RunStep<'_>) {
        self.on_config_changed(change, step);
    }

    /// Applies a change of the configuration, and adjusts the counts and caches of requests.
    ///
    /// Waiting calls continue to wait after any change until another writer takes over: the change may be
    /// recorded just before that writer attaches, and must not start calls that it would then find started.
    pub(super) fn on_config_changed(&mut self, change: &ConfigChange, step: &mut RunStep<'_>) {
        let before = self.config.clone();
        self.lifecycle
            .change(Arc::make_mut(&mut self.config), change, step);
        self.conversation.fixed_changed(&before, &self.config);
        if matches!(change, ConfigChange::Model(_)) {
            self.fallback = None;
            self.conversation.forget_window();
            self.conversation.forget_schema_form();
        }
        self.tell_plan_mode(plan_mode::is_on(&before), step);
    }

    /// Tells the model, with its next request, that plan mode was switched on or off. The answer to a pending
    /// plan already says so.
    fn tell_plan_mode(&mut self, was_on: bool, step: &RunStep<'_>) {
        let text = match (was_on, plan_mode::is_on(&self.config)) {
            (false, true) => plan_mode::SWITCHED_ON,
            (true, false) if !self.has_waiting_plan() => plan_mode::SWITCHED_OFF,
            _ => return,
        };
        self.plan_note = Some(note(text, step.seq));
    }

    /// Tells the model of a new agent that plan mode is on.
    pub(super) fn tell_initial_plan_mode(&mut self) {
        if plan_mode::is_on(&self.config) {
            self.plan_note = Some(note(plan_mode::SWITCHED_ON, 0));
        }
    }

    /// Adds the note about plan mode to the conversation. It follows the input, which stays the goal of the
    /// conversation and the title of a session.
    pub(super) fn say_plan_note(&mut self, step: &mut RunStep<'_>) {
        if let Some(note) = self.plan_note.take() {
            self.say(note, step);
        }
    }

    /// Returns whether a plan waits for the person's answer.
    fn has_waiting_plan(&self) -> bool {
        self.ledger.entries().iter().any(|entry| match &entry.stage {
            CallStage::AwaitingApproval(question) => {
                question.asked.as_deref().is_some_and(|asked| asked.is_plan)
            }
            _ => false,
        })
    }
}

/// A note for the next request, made at the event `seq`.
fn note(text: &str, seq: u64) -> Arc<Message> {
    Arc::new(Message {
        message_id: MessageId::with_suffix(format_args!("plan_mode_{seq}")),
        role: Role::User,
        content: vec![ContentPart::text(text)],
        by: None,
    })
}
