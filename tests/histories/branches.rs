//! Branches of a history, one from each of its events, as a fork and a rewind create them.

use std::collections::BTreeSet;

use agentx_runtime::SessionFold;
use agentx_types::*;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::session::Session;

/// Lets a branch go from each event of `session`, to its end.
pub(crate) fn branch_everywhere(session: &Session) -> Result<(), TestCaseError> {
    let mut fold = SessionFold::new("ses_1".into());
    let mut open = Calls::default();
    for fact in &session.log {
        let derived = fold.apply(fact);
        open.take(&derived.events)?;
        let branch = Session::branch(fold.clone(), fact.at);
        rests(branch, &open, &fold)?;
    }
    Ok(())
}

/// The branch comes to rest, every call has its result there, and reading both logs again derives the same.
fn rests(mut branch: Session, before: &Calls, at: &SessionFold) -> Result<(), TestCaseError> {
    branch.settle();
    let mut calls = before.clone();
    calls.take(&branch.frames)?;
    prop_assert!(
        calls.0.is_empty(),
        "without a result: {:?} in {:?}",
        calls.0,
        branch.tail()
    );

    let mut again = at.clone();
    let mut events = Vec::new();
    for fact in &branch.log {
        let read: Envelope<EnvironmentEvent> = serde_json::from_str(&written(fact)).unwrap();
        events.extend(again.apply(&read).events);
    }
    prop_assert_eq!(written(&events), written(&branch.frames));
    prop_assert_eq!(&again, &branch.fold);
    Ok(())
}

fn written(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

/// The calls of messages that have no result yet.
#[derive(Clone, Default)]
struct Calls(BTreeSet<ToolCallId>);

impl Calls {
    fn take(&mut self, frames: &[Envelope<RuntimeEvent>]) -> Result<(), TestCaseError> {
        for frame in frames {
            match &frame.event {
                RuntimeEvent::AssistantMessageAdded(added) => {
                    for part in &added.message.content {
                        let ContentPart::ToolCall(call) = part else {
                            continue;
                        };
                        prop_assert!(self.0.insert(call.tool_call_id.clone()));
                    }
                }
                RuntimeEvent::ToolResultMessageAdded(added) => {
                    for part in &added.message.content {
                        let ContentPart::ToolResult(result) = part else {
                            continue;
                        };
                        prop_assert!(self.0.remove(&result.tool_call_id), "answered twice: {result:?}");
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
