//! Questions of which the screen shows only a part. Nobody allows a command line unread: text in its middle
//! could do something else than its ends say. So a call whose question never stood whole on the screen is
//! allowed only after the key that prints all of it.
//!
//! A change of an ordinary file in the workspace is excepted: it can be undone, and nobody reads hundreds of
//! lines before each change.

use agentx::runtime::{is_guarded, is_instructions};
use agentx::types::{ApprovalDecision, ApprovalRequested};

use crate::chat::{Chat, ChatInterface};
use crate::render::approval;

/// The note at an answer to a question that does not fit on the screen.
const READ_FIRST: &str =
    "  not all of this question fits on the screen: Ctrl-O shows all of it; then answer again";

impl Chat<'_> {
    /// Returns whether an answer counts for the person, and comes after the whole question could be read. If
    /// not, a note says so.
    pub(in crate::chat) fn takes_answer(
        &mut self,
        question: &ApprovalRequested,
        decision: ApprovalDecision,
    ) -> bool {
        let note = if !self.approvals.answers.has(decision) {
            self.approvals.answers.not_counted()
        } else if decision != ApprovalDecision::Deny && self.has_unread_part(question) {
            READ_FIRST.to_owned()
        } else {
            return true;
        };
        let note = self.display.style().warn(&note);
        self.display.transcript.print_notice(&note);
        false
    }

    /// Returns whether the person has to see more of the question before the call may run.
    fn has_unread_part(&self, question: &ApprovalRequested) -> bool {
        self.hides_part()
            && must_be_read(question)
            && self.approvals.read_whole.as_ref() != Some(&question.tool_call_id)
    }

    fn hides_part(&self) -> bool {
        match &self.display.face {
            ChatInterface::Editor { screen, .. } => screen.hides_question(),
            // Lines stay in the terminal, which has no part that is left out.
            ChatInterface::Lines { .. } => false,
        }
    }

    /// Returns all that the open question shows in part: a long change, or a text that does not fit on the
    /// screen. From then on it counts as read.
    pub(in crate::chat) async fn read_whole_question(&mut self) -> Option<String> {
        let question = self.status.question()?.clone();
        let file = self.file_before_change(&question).await;
        let style = self.display.style();
        let change = approval::whole_change(&question, &file, style);
        let shows = || must_be_read(&question) && self.hides_part();
        let whole = change.or_else(|| shows().then(|| approval::question(&question, &file, false, style)))?;
        self.approvals.read_whole = Some(question.tool_call_id);
        Some(whole)
    }
}

/// Returns whether a call is allowed only after all of its question was seen: any but an answer in words, and
/// a change of a file in the workspace that no program runs by itself and no agent takes for instructions.
fn must_be_read(question: &ApprovalRequested) -> bool {
    let kept = question.suggested.path.as_deref().unwrap_or("/");
    let place = format!("/{kept}");
    let is_ordinary = !kept.starts_with('/') && !is_guarded(&place) && !is_instructions(&place);
    let is_change = approval::edited_path(question).is_some() && is_ordinary;
    question.question.is_none() && question.form.is_none() && !is_change
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn asked(tool: &str, input: Value, path: Option<&str>) -> ApprovalRequested {
        serde_json::from_value(json!({
            "tool_call_id": "c1", "name": tool, "input": input, "reason": "",
            "suggested": {"effect": "allow", "tool": tool, "path": path},
        }))
        .unwrap()
    }

    #[test]
    fn all_but_a_change_of_an_ordinary_file_is_read_before_it_is_allowed() {
        let write = json!({"path": "x", "content": "y"});
        for (path, expected) in [
            ("src/*", false),
            ("a.txt", false),
            (".github/workflows/ci.yml", true),
            ("/home/me/notes", true),
            ("AGENTS.md", true),
        ] {
            let question = asked("write", write.clone(), Some(path));
            assert_eq!(must_be_read(&question), expected, "{path}");
        }
        assert!(must_be_read(&asked("bash", json!({"command": "make"}), None)));
        assert!(must_be_read(&asked("server__send", json!({"text": "x"}), None)));
    }
}
