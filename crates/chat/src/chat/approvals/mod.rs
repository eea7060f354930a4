//! The state of the questions about calls: the answers that count, the owner of the keys, and `--yes`.

pub(super) mod cycle;
pub(super) mod kept_rules;
pub(super) mod keys;
pub(super) mod question_timing;
pub(super) mod rules;
pub(super) mod unread;

use agentx::types::{ApprovalDecision, ApprovalMode, RuntimeEvent, SessionChange, ToolCallId};
use tokio::time::Instant;

use crate::chat::approvals::kept_rules::KeptRules;
use crate::chat::approvals::question_timing::QuestionTiming;
use crate::render::answers::Answers;
use crate::terminal::TerminalInput;

/// The notice that another front end answered an open question.
const ANSWERED_ELSEWHERE: &str = "  answered elsewhere";
/// The notice that an open question was settled by a rule or approval mode that changed meanwhile.
const ALLOWED_BY_RULE: &str = "  allowed by another rule";

/// The state of the questions about calls.
#[derive(Debug, Default)]
pub(crate) struct Approvals {
    /// The receiver of the keys when a question comes.
    pub(super) attention: QuestionTiming,
    /// The answers to the first question that count.
    pub(super) answers: Answers,
    /// Whether `--yes` answers questions with yes.
    pub(super) auto_approve: bool,
    /// Whether the person chose `auto` by its name after plan mode began, so that it holds after the plan.
    pub(super) auto_after_plan: bool,
    /// The approval mode before the first of several presses of Shift-Tab in a row.
    pub(super) mode_before_presses: Option<ApprovalMode>,
    /// Whether rules or the approval mode changed while a question was open, so that they may have settled
    /// it.
    pub(super) rules_changed: bool,
    /// The rules that were kept or removed since the chat began.
    pub(super) kept: KeptRules,
    /// The question at which a pattern that allows everything was given, with that pattern.
    pub(super) doubted: Option<(ToolCallId, String)>,
    /// The question of which the person has read all, although not all of it fits on the screen.
    pub(super) read_whole: Option<ToolCallId>,
}

impl Approvals {
    /// Notes whether rules may settle the questions that are open. `was_asked` if one was open before this
    /// event.
    pub(super) fn note_rule_changes(&mut self, event: &RuntimeEvent, was_asked: bool) {
        match event {
            RuntimeEvent::ApprovalRequested(_) if !was_asked => self.rules_changed = false,
            RuntimeEvent::SessionUpdated(updated) => {
                self.rules_changed |= matches!(
                    &updated.change,
                    SessionChange::Config(part) if part == "rules" || part == "approval"
                );
            }
            _ => {}
        }
    }

    /// Notes an input: the person is typing, and any key but Shift-Tab ends a row of its presses.
    pub(super) fn note_input(&mut self, input: &TerminalInput, now: Instant) {
        if matches!(input, TerminalInput::Key(_) | TerminalInput::Paste(_)) {
            self.attention.typed(now);
        }
        let ends = match input {
            TerminalInput::Key(key) => cycle::ends_presses(key),
            TerminalInput::Paste(_) | TerminalInput::Line(_) => true,
            _ => false,
        };
        if ends {
            self.mode_before_presses = None;
        }
    }

    /// Notes the answer that was given here: one that keeps a rule may settle other open questions.
    pub(super) fn note_answer(&mut self, decision: ApprovalDecision) {
        self.rules_changed |= matches!(decision, ApprovalDecision::Session | ApprovalDecision::Always);
    }

    /// Returns the notice about the open question `asked`, if this event allows its call without an answer of
    /// this chat.
    pub(super) fn why_settled(
        &self,
        event: &RuntimeEvent,
        asked: Option<&ToolCallId>,
    ) -> Option<&'static str> {
        let allowed = match event {
            RuntimeEvent::ToolExecuting(call) => &call.tool_call_id,
            RuntimeEvent::ApprovalSettled(settled) if settled.allowed => &settled.tool_call_id,
            _ => return None,
        };
        (Some(allowed) == asked).then_some(if self.rules_changed {
            ALLOWED_BY_RULE
        } else {
            ANSWERED_ELSEWHERE
        })
    }
}

#[cfg(test)]
mod tests {
    use agentx::types::{ApprovalRequested, ApprovalSettled, Rule, RuleEffect, SessionUpdated};

    use super::*;

    fn asked(id: &str) -> RuntimeEvent {
        ApprovalRequested {
            tool_call_id: id.into(),
            name: "bash".into(),
            input: serde_json::Value::Null,
            reason: String::new(),
            suggested: Rule {
                effect: RuleEffect::Allow,
                tool: "bash".into(),
                argument: None,
                path: None,
                workspace: None,
                origin: None,
            },
            form: None,
            question: None,
        }
        .into()
    }

    fn allowed(id: &str) -> RuntimeEvent {
        ApprovalSettled {
            tool_call_id: id.into(),
            allowed: true,
        }
        .into()
    }

    #[test]
    fn a_question_that_nobody_here_answered_names_what_settled_it() {
        let mut approvals = Approvals::default();
        let question = ToolCallId::from("c1");
        approvals.note_rule_changes(&asked("c1"), false);
        let why = |approvals: &Approvals, event| approvals.why_settled(&event, Some(&question));
        assert_eq!(why(&approvals, allowed("c1")), Some(ANSWERED_ELSEWHERE));
        assert_eq!(why(&approvals, allowed("c2")), None);
        approvals.note_answer(ApprovalDecision::Once);
        assert_eq!(why(&approvals, allowed("c1")), Some(ANSWERED_ELSEWHERE));
        approvals.note_answer(ApprovalDecision::Session);
        approvals.note_rule_changes(&asked("c2"), true);
        assert_eq!(why(&approvals, allowed("c1")), Some(ALLOWED_BY_RULE));
        approvals.note_rule_changes(&asked("c3"), false);
        assert_eq!(why(&approvals, allowed("c1")), Some(ANSWERED_ELSEWHERE));
        let changed = SessionUpdated {
            change: SessionChange::Config("rules".into()),
            by: None,
        };
        approvals.note_rule_changes(&changed.into(), true);
        assert_eq!(why(&approvals, allowed("c1")), Some(ALLOWED_BY_RULE));
    }
}
