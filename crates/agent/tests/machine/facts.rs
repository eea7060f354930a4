//! Facts in short form, messages on one line, and the requirements of every provider on a request.

use std::collections::BTreeSet;

use agentx_types::*;
use serde_json::Value;

pub(crate) type Event = EnvironmentEvent;

pub(crate) fn call_id(action: &Action) -> &ToolCallId {
    match &action.body {
        ActionBody::CallTool(call) => &call.tool_call_id,
        ActionBody::AnswerCall(answer) => &answer.tool_call_id,
        other => panic!("no tool: {other:?}"),
    }
}

pub(crate) fn words(text: &str) -> Event {
    TextChunk { text: text.into() }.into()
}

pub(crate) fn call(id: &str, name: &str, input: Value) -> Event {
    ToolCall {
        tool_call_id: id.into(),
        name: name.into(),
        input,
        invalid: None,
    }
    .into()
}

pub(crate) fn usage(input_tokens: u64, output_tokens: u64) -> Event {
    let usage = Usage {
        input_tokens,
        output_tokens,
        ..Usage::default()
    };
    UsageReport { usage }.into()
}

pub(crate) fn begins(id: &str) -> Event {
    StreamStart {
        message_id: MessageId::new(id),
        model: "fixture-1".into(),
        attempt: 1,
    }
    .into()
}

pub(crate) fn ends_with(stop_reason: StopReason) -> Event {
    StreamEnd {
        stop_reason,
        raw: None,
    }
    .into()
}

pub(crate) fn stream(events: impl IntoIterator<Item = Event>, reason: StopReason) -> Vec<Event> {
    let mut all = vec![begins("msg_a")];
    all.extend(events);
    all.push(ends_with(reason));
    all
}

pub(crate) fn error_event(code: &str, message: &str) -> Event {
    ErrorOccurred {
        code: code.into(),
        message: message.into(),
        recoverable: true,
    }
    .into()
}

pub(crate) fn result_event(id: &str, text: &str, status: ToolStatus) -> Event {
    ToolResult {
        tool_call_id: id.into(),
        result: vec![ContentPart::text(text)],
        is_error: status != ToolStatus::Success,
        status,
        details: None,
    }
    .into()
}

/// A message on one line.
pub(crate) fn line(message: &Message) -> String {
    let role = format!("{:?}", message.role).to_lowercase();
    let part = |part: &ContentPart| match part {
        ContentPart::Text(part) => part.text.clone(),
        ContentPart::Thinking(part) => format!("({})", part.text),
        ContentPart::ToolCall(call) => format!("[call {} {}]", call.tool_call_id, call.name),
        ContentPart::ToolResult(result) => {
            let text: Vec<&str> = result.content.iter().filter_map(ContentPart::as_text).collect();
            format!("{} = {}", result.tool_call_id, text.join(" "))
        }
        other => format!("{other:?}"),
    };
    let parts: Vec<String> = message.content.iter().map(part).collect();
    format!("{role}: {}", parts.join(" "))
}

/// Checks what every provider requires of a request: it begins with a message of a person; each call has a
/// unique id, an object as arguments, and exactly one result, directly after the answer that made the call.
pub(crate) fn check_request(request: &ModelRequest) {
    let shown = || {
        request
            .messages
            .iter()
            .map(|m| line(m))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(
        request.messages.first().map(|m| m.role),
        Some(Role::User),
        "{}",
        shown()
    );
    let mut ids = BTreeSet::new();
    let mut due: Vec<ToolCallId> = Vec::new();
    for message in &request.messages {
        assert!(!message.content.is_empty(), "an empty message in\n{}", shown());
        if message.role == Role::Tool {
            let [ContentPart::ToolResult(result)] = message.content.as_slice() else {
                panic!("a tool message without a result in\n{}", shown());
            };
            assert!(!due.is_empty(), "a result without its call in\n{}", shown());
            assert_eq!(due.remove(0), result.tool_call_id, "in\n{}", shown());
            continue;
        }
        assert!(due.is_empty(), "calls {due:?} without results in\n{}", shown());
        for part in &message.content {
            let ContentPart::ToolCall(call) = part else {
                continue;
            };
            assert_eq!(message.role, Role::Assistant);
            assert!(call.input.is_object() && !call.tool_call_id.as_str().is_empty());
            assert!(
                ids.insert(call.tool_call_id.clone()),
                "{} twice in\n{}",
                call.tool_call_id,
                shown()
            );
            due.push(call.tool_call_id.clone());
        }
    }
    assert!(due.is_empty(), "calls {due:?} without results in\n{}", shown());
}

/// The state of an agent without the time at which it last saw something.
pub(crate) fn but_for_the_time(agent: &agentx_agent::Agent) -> Value {
    let mut state = serde_json::to_value(agent).unwrap();
    state["react"]["lifecycle"]["run"]["seen_at"].take();
    state
}
