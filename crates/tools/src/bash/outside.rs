//! The offer to run a command once more without a sandbox, if the sandbox refused it something. A person
//! decides each time: no rule, mode or `--yes` answers for them, and the answer is not kept.
//!
//! | who is asked | |
//! | --- | --- |
//! | the person of the session, in the modes `ask` and `accept-edits` | yes |
//! | whoever decides for the operator, on a server | yes; an approver or a member cannot say yes |
//! | anybody, in the modes `auto` and `deny` | no |
//! | a member of a server about their own session | no: their programs stay in their sandbox |
//!
//! The question and its answer are facts, as for each question of a tool; the details of the outcome have the
//! answer.

use agentx_runtime::{ToolContext, ToolOutcome};
use agentx_sandbox::{RefusedPath, SandboxStep};
use agentx_types::{
    Access, ApprovalMode, ContentPart, InnerCallAsked, NestedDecision, ServerRules, ToolSpec,
};
use serde_json::json;

use super::command_sandbox::add_path;

/// The number of the question among the steps of the call; questions about hosts have the numbers behind it.
const QUESTION: u64 = 1;

/// The name under which the question is put.
pub(super) const ASKS: &str = "sandbox";

/// A command that failed in a sandbox.
pub(super) struct OutsideOffer<'a> {
    pub(super) command: &'a str,
    pub(super) step: SandboxStep,
    pub(super) reason: &'a str,
    /// The path, if the reason is one.
    pub(super) path: Option<&'a RefusedPath>,
}

/// The answer to an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutsideAnswer {
    /// Nobody was asked, or nobody answered.
    None,
    /// Run it once more, without a sandbox.
    Run,
    /// Leave it.
    Leave,
}

impl OutsideOffer<'_> {
    /// Asks the person, if there is one to be asked.
    pub(super) async fn ask(&self, context: &ToolContext) -> OutsideAnswer {
        let journal = &context.journal;
        let config = journal.config_now();
        let may_ask =
            config.is_some_and(|config| asks_about_sandbox(config.approval, config.server_rules.as_deref()));
        if journal.session().is_none() || !may_ask {
            return OutsideAnswer::None;
        }
        let asked = InnerCallAsked {
            tool_call_id: journal.tool_call_id().inner(QUESTION),
            tool: Box::new(ToolSpec::new(ASKS, "", json!({"type": "object"}), Access::Run)),
            input: Box::new(json!({
                "message": "The command failed. Run it again outside of the sandbox, where it can do what you can?",
                "command": self.command,
                "sandbox": self.step.as_str(),
                "refused": self.reason,
                "answer": "y runs it once more, outside; n leaves it",
            })),
            by: ASKS.to_owned(),
            place: None,
            named: false,
            form: Some(Box::new(json!({"type": "object"}))),
            for_operator: true,
        };
        let decision = tokio::select! {
            decision = journal.ask(asked) => decision,
            () = context.cancel.cancelled() => None,
        };
        match decision {
            Some(NestedDecision::Allowed { .. }) => OutsideAnswer::Run,
            Some(NestedDecision::Refused { .. }) => OutsideAnswer::Leave,
            None => OutsideAnswer::None,
        }
    }

    /// Returns the outcome of the command if the person leaves it as it failed.
    pub(super) fn left(&self, mut outcome: ToolOutcome) -> ToolOutcome {
        let note = "\n[a person was asked whether to run it again outside of the sandbox, and said no]";
        outcome.content.push(ContentPart::text(note));
        if let Some(details) = &mut outcome.details {
            details["sandbox"]["outside"] = json!("refused");
        }
        outcome
    }

    /// Returns the outcome of the command if it ran once more.
    pub(super) fn ran(&self, mut outcome: ToolOutcome) -> ToolOutcome {
        let note = format!(
            "[the sandbox {} refused it: {}. A person had it run again outside, with this outcome:]\n",
            self.step, self.reason
        );
        outcome.content.insert(0, ContentPart::text(note));
        if let Some(details) = &mut outcome.details {
            details["sandbox"] = json!({
                "step": SandboxStep::None.as_str(),
                "outside": "ran",
                "instead_of": self.step.as_str(),
                "refused": self.reason,
            });
            add_path(&mut details["sandbox"], self.path);
        }
        outcome
    }
}

/// Returns whether a person of a session is asked about its sandbox.
pub(super) fn asks_about_sandbox(approval: ApprovalMode, server: Option<&ServerRules>) -> bool {
    let is_of_member = server.is_some_and(|rules| rules.member_directory.is_some());
    approval.asks() && !is_of_member
}

#[cfg(test)]
mod tests {
    use agentx_sandbox::PathAccess;

    use super::*;

    #[test]
    fn a_mode_that_asks_nobody_and_a_member_are_not_asked() {
        let of_member = ServerRules {
            rules: Vec::new(),
            member_directory: Some("/srv/ada".to_owned()),
        };
        let of_server = ServerRules {
            member_directory: None,
            ..of_member.clone()
        };
        for (approval, server, expected) in [
            (ApprovalMode::Ask, None, true),
            (ApprovalMode::AcceptEdits, None, true),
            (ApprovalMode::Ask, Some(&of_server), true),
            (ApprovalMode::Ask, Some(&of_member), false),
            (ApprovalMode::Auto, None, false),
            (ApprovalMode::Deny, None, false),
        ] {
            assert_eq!(
                asks_about_sandbox(approval, server),
                expected,
                "{approval:?} {server:?}"
            );
        }
    }

    #[test]
    fn the_outcome_says_what_was_decided() {
        let path = RefusedPath {
            path: "/x".into(),
            access: PathAccess::Write,
        };
        let offer = OutsideOffer {
            command: "touch /x",
            step: SandboxStep::Landlock,
            reason: "/x cannot be written",
            path: Some(&path),
        };
        let failed = ToolOutcome::success("[exit 1]").with_details(json!({"sandbox": {"step": "landlock"}}));
        let left = offer.left(failed).details.unwrap();
        assert_eq!(left["sandbox"], json!({"step": "landlock", "outside": "refused"}));
        let ran = offer.ran(ToolOutcome::success("[exit 0]").with_details(json!({})));
        let expected = json!({"step": "none", "outside": "ran", "instead_of": "landlock",
            "refused": "/x cannot be written", "refused_path": "/x", "refused_access": "write"});
        assert_eq!(ran.details.unwrap()["sandbox"], expected);
        assert_eq!(ran.content.len(), 2, "the model reads both");
    }
}
