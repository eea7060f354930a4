//! The acts of people other than the owner of a session, besides messages. Each act is recorded with the
//! person; their descriptions are in one place, so that every reader names the same acts.

use std::collections::HashMap;

use agentx_types::{
    Approval, ApprovalDecision, EnvironmentEvent, InputMode, InputRevised, OwnerId, RuntimeEvent,
    SessionChange, ToolCallId,
};

/// Names of tools that are kept for decisions about their calls; older calls are named by their id.
const MOST_CALLS: usize = 4_096;

/// Returns the act of a person other than the owner, and the person, if the event is one: `stopped the run`.
pub fn act_of_another(event: &RuntimeEvent) -> Option<(&OwnerId, String)> {
    let (by, what) = match event {
        RuntimeEvent::ConversationInterrupted(stopped) => (&stopped.by, "stopped the run".to_owned()),
        RuntimeEvent::SessionUpdated(updated) => match &updated.change {
            SessionChange::Title(title) => (&updated.by, format!("renamed the session to {title:?}")),
            SessionChange::Config(part) => (&updated.by, format!("changed the configuration: {part}")),
            SessionChange::Access(changed) => {
                (&changed.by, format!("changed what {} may do", changed.person))
            }
            SessionChange::Wheel(_) | SessionChange::Condensed => return None,
        },
        _ => return None,
    };
    Some((by.as_ref()?, what))
}

/// Finds the acts of people other than the owner that derived events do not name: decisions about calls,
/// pins, restored files and messages, retries, changes of queued messages, requests to condense.
#[derive(Clone, Debug, Default)]
pub struct ActsOfOthers {
    /// The tools of the calls without a result.
    tools: HashMap<ToolCallId, String>,
}

impl ActsOfOthers {
    /// Reads the next fact. Returns the act and the person, if it is one.
    pub fn take<'a>(&mut self, fact: &'a EnvironmentEvent) -> Option<(&'a OwnerId, String)> {
        use EnvironmentEvent as E;
        let (by, what) = match fact {
            E::ToolCall(call) => return self.call(&call.tool_call_id, &call.name),
            E::InnerCallAsked(asked) => return self.call(&asked.tool_call_id, &asked.tool.name),
            E::ToolResult(result) => {
                self.tools.remove(&result.tool_call_id);
                return None;
            }
            E::Approval(approval) => (&approval.by, self.decided(approval)),
            E::InputRevised(revised) => (&revised.by, revision(revised)),
            E::SystemCommand(given) if given.command == "retry" => {
                (&given.by, "asked the model again".to_owned())
            }
            E::SystemCommand(given) => (&given.by, format!("gave the command {:?}", given.command)),
            E::CondenseRequested(wish) => (&wish.by, "asked to condense the conversation".to_owned()),
            E::InputPinned(pin) => {
                let verb = if pin.pinned { "pinned" } else { "unpinned" };
                (&pin.by, format!("{verb} message {}", pin.message_id))
            }
            E::ContextRestored(restored) => (
                &restored.by,
                format!(
                    "restored the condensed events {} to {}",
                    restored.from_seq, restored.to_seq
                ),
            ),
            E::FilesRestoring(restoring) => (
                &restoring.by,
                format!(
                    "restored files ({}) as they were before event {}",
                    restoring.files.len(),
                    restoring.to_seq
                ),
            ),
            _ => return None,
        };
        Some((by.as_ref()?, what))
    }

    fn call<'a>(&mut self, id: &ToolCallId, name: &str) -> Option<(&'a OwnerId, String)> {
        if self.tools.len() < MOST_CALLS {
            self.tools.insert(id.clone(), name.to_owned());
        }
        None
    }

    fn decided(&self, approval: &Approval) -> String {
        let called = match self.tools.get(&approval.tool_call_id) {
            Some(tool) => format!("a call of {tool}"),
            None => format!("call {}", approval.tool_call_id),
        };
        match approval.decision {
            ApprovalDecision::Once => format!("allowed {called} once"),
            ApprovalDecision::Session => format!("allowed {called}, and similar ones in this session"),
            ApprovalDecision::Always => format!("allowed {called}, and similar ones always"),
            ApprovalDecision::Deny if approval.rule.is_some() => {
                format!("closed the question about {called} by a rule that denies it")
            }
            ApprovalDecision::Deny => format!("refused {called}"),
        }
    }
}

fn revision(revised: &InputRevised) -> String {
    let id = &revised.message_id;
    match revised.mode {
        None => format!("took back the queued message {id}"),
        Some(InputMode::Queue) => format!("let the queued message {id} wait until the run has ended"),
        Some(InputMode::Steer) => format!("let the queued message {id} join the run"),
        Some(InputMode::Interrupt) => format!("let the queued message {id} interrupt the run"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "a test fails by panicking")]

    use agentx_types::{
        CondenseRequested, ContextRestored, FilesRestoring, InputPinned, SystemCommand, ToolCall,
    };

    use super::*;

    fn called() -> ActsOfOthers {
        let mut acts = ActsOfOthers::default();
        let call = ToolCall {
            tool_call_id: "call_1".into(),
            name: "bash".into(),
            input: serde_json::json!({}),
            invalid: None,
        };
        assert_eq!(acts.take(&call.into()), None);
        acts
    }

    fn approval(call: &str, decision: ApprovalDecision, by: Option<OwnerId>) -> EnvironmentEvent {
        Approval {
            tool_call_id: call.into(),
            decision,
            note: None,
            rule: None,
            by,
            limited: false,
        }
        .into()
    }

    fn decisions(by: &Option<OwnerId>) -> Vec<(EnvironmentEvent, &'static str)> {
        use ApprovalDecision as D;
        vec![
            (
                approval("call_1", D::Once, by.clone()),
                "allowed a call of bash once",
            ),
            (
                approval("call_1", D::Session, by.clone()),
                "allowed a call of bash, and similar ones in this session",
            ),
            (
                approval("call_1", D::Always, by.clone()),
                "allowed a call of bash, and similar ones always",
            ),
            (approval("call_1", D::Deny, by.clone()), "refused a call of bash"),
            (approval("call_2", D::Deny, by.clone()), "refused call call_2"),
        ]
    }

    /// Every kind of fact that may have `by` and has no derived event with it.
    fn table(by: &Option<OwnerId>) -> Vec<(EnvironmentEvent, &'static str)> {
        let revised = |mode| {
            InputRevised {
                message_id: "msg_3".into(),
                mode,
                by: by.clone(),
            }
            .into()
        };
        let pin = |pinned| {
            InputPinned {
                message_id: "msg_3".into(),
                pinned,
                by: by.clone(),
            }
            .into()
        };
        let command = |command: &str| {
            SystemCommand {
                command: command.into(),
                args: serde_json::Value::Null,
                by: by.clone(),
            }
            .into()
        };
        let restored = ContextRestored {
            from_seq: 3,
            to_seq: 9,
            by: by.clone(),
        };
        let restoring = FilesRestoring {
            to_seq: 7,
            files: Vec::new(),
            by: by.clone(),
        };
        let wish = CondenseRequested {
            instructions: None,
            by: by.clone(),
        };
        let mut all = decisions(by);
        all.extend([
            (revised(None), "took back the queued message msg_3"),
            (
                revised(Some(InputMode::Queue)),
                "let the queued message msg_3 wait until the run has ended",
            ),
            (
                revised(Some(InputMode::Steer)),
                "let the queued message msg_3 join the run",
            ),
            (
                revised(Some(InputMode::Interrupt)),
                "let the queued message msg_3 interrupt the run",
            ),
            (command("retry"), "asked the model again"),
            (command("x\n"), "gave the command \"x\\n\""),
            (wish.into(), "asked to condense the conversation"),
            (pin(true), "pinned message msg_3"),
            (pin(false), "unpinned message msg_3"),
            (restored.into(), "restored the condensed events 3 to 9"),
            (restoring.into(), "restored files (0) as they were before event 7"),
        ]);
        all
    }

    #[test]
    fn whatever_another_person_did_is_told_with_the_person() {
        let person = OwnerId::new("own_b");
        for (fact, told) in table(&Some(person.clone())) {
            assert_eq!(called().take(&fact), Some((&person, told.to_owned())), "{fact:?}");
        }
        for (fact, _) in table(&None) {
            assert_eq!(called().take(&fact), None, "the owner needs no name: {fact:?}");
        }
    }

    #[test]
    fn calls_with_a_result_and_calls_without_end_take_no_room() {
        let mut acts = called();
        for number in 0..2 * MOST_CALLS {
            acts.call(&ToolCallId::new(format!("call_{number}")), "read");
        }
        assert_eq!(acts.tools.len(), MOST_CALLS);
    }
}
