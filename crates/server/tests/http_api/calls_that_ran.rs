//! The calls that a session really ran, as its log has them, each with the people who allowed it. A
//! configuration that is as it was says nothing about a call that ran in between.

use std::collections::BTreeMap;
use std::time::Duration;

use agentx_runtime::{Delivery, Session, View};
use agentx_types::{ActionKind, ApprovalDecision, EnvironmentEvent, OwnerId, ToolCallId};
use serde_json::Value;

/// A call of a tool that was begun.
#[derive(Clone, Debug)]
pub(crate) struct CallThatRan {
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// Those who allowed it and may decide for the operator, as the server recorded it; `None` is the owner
    /// of the session.
    pub(crate) allowed_by: Vec<Option<OwnerId>>,
}

/// Returns the calls that ran in a session. Those of the session that it was forked from are not its own.
pub(crate) async fn calls_that_ran(session: &dyn Session) -> Vec<CallThatRan> {
    let last = session.state().await.unwrap().last_seq;
    let mut events = session.subscribe(0, View::Environment).await.unwrap();
    let mut asked: BTreeMap<ToolCallId, CallThatRan> = BTreeMap::new();
    let mut ran = Vec::new();
    loop {
        let next = tokio::time::timeout(Duration::from_secs(60), events.next());
        let Some(delivery) = next.await.unwrap() else {
            return ran;
        };
        let Delivery::Environment(fact) = delivery else {
            continue;
        };
        match &fact.event {
            EnvironmentEvent::ToolCall(call) => {
                let begun = CallThatRan {
                    tool: call.name.clone(),
                    input: call.input.clone(),
                    allowed_by: Vec::new(),
                };
                asked.insert(call.tool_call_id.clone(), begun);
            }
            EnvironmentEvent::Approval(answer) => {
                let allows = answer.decision != ApprovalDecision::Deny && !answer.limited;
                if let Some(call) = asked.get_mut(&answer.tool_call_id).filter(|_| allows) {
                    call.allowed_by.push(answer.by.clone());
                }
            }
            EnvironmentEvent::ActionStarted(started) if started.kind == ActionKind::CallTool => {
                let call = started.tool_call_id.as_ref().and_then(|id| asked.get(id));
                ran.extend(call.cloned());
            }
            EnvironmentEvent::SessionForked(_) => ran.clear(),
            _ => {}
        }
        if fact.seq >= last {
            return ran;
        }
    }
}
