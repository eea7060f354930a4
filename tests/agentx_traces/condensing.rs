//! Condensing the recorded sessions at each of their events: exchanges stay complete, and what is taken out
//! again leaves the next request as it was, to the byte.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentx_runtime::SessionFold;
use agentx_types::*;

/// Applies a fact that nobody asked for, and returns its consequences.
fn apply(fold: &mut SessionFold, event: impl Into<EnvironmentEvent>) -> Vec<Action> {
    let draft = EventDraft::<EnvironmentEvent>::new(Source::User, Some("agt_1".into()), event);
    let fact = fold.mint(draft, Timestamp(0));
    fold.apply(&fact).actions
}

/// The next request to the model, after the current run is stopped.
fn next_request(mut fold: SessionFold) -> Option<Arc<ModelRequest>> {
    let said = UserMessage {
        message_id: "msg_next".into(),
        content: vec![ContentPart::text("and now?")],
        mode: InputMode::Queue,
        idempotency_key: None,
        by: None,
        answer_schema: None,
    };
    apply(&mut fold, said)
        .into_iter()
        .find_map(|action| match action.body {
            ActionBody::CallModel(call) => Some(call.request),
            _ => None,
        })
}

fn messages(fold: &SessionFold) -> Vec<Arc<Message>> {
    let agent = fold.root_agent().and_then(|agent| agent.react());
    agent
        .map(|agent| agent.messages().cloned().collect())
        .unwrap_or_default()
}

/// Each call has its result right behind it, and no result stands without its call.
fn check_pairs(messages: &[Arc<Message>], what: &str) {
    let mut due = BTreeSet::new();
    for message in messages {
        for part in &message.content {
            match part {
                ContentPart::ToolCall(call) => assert!(due.insert(call.tool_call_id.clone()), "{what}"),
                ContentPart::ToolResult(result) => assert!(due.remove(&result.tool_call_id), "{what}"),
                _ => assert!(message.role == Role::Assistant || due.is_empty(), "{what}"),
            }
        }
    }
}

/// Returns the number of summaries.
pub(crate) fn condense_everywhere(name: &str, whole: &SessionFold) -> usize {
    let (before, asked) = (messages(whole), next_request(whole.clone()));
    let mut summaries = 0;
    for to_seq in 1..=whole.last_seq() {
        let what = format!("{name} up to {to_seq}");
        let mut fold = whole.clone();
        let kept: Vec<MessageId> = before
            .iter()
            .take(1)
            .map(|message| message.message_id.clone())
            .collect();
        let condensed = ContextCondensed {
            from_seq: 0,
            to_seq,
            summary: "in short".into(),
            kept,
            bill: None,
            masked: Vec::new(),
        };
        apply(&mut fold, condensed);
        let shorter = messages(&fold);
        check_pairs(&shorter, &what);
        assert_eq!(shorter.first(), before.first(), "{what}: the first input stays");
        summaries += usize::from(shorter != before);
        let restored = ContextRestored {
            from_seq: 0,
            to_seq,
            by: None,
        };
        apply(&mut fold, restored);
        assert_eq!(messages(&fold), before, "{what}");
        let again = next_request(fold);
        let text = |request: &Option<Arc<ModelRequest>>| serde_json::to_string(&request.as_deref()).unwrap();
        assert_eq!(text(&again), text(&asked), "{what}");
    }
    summaries
}
