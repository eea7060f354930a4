//! Samples of every event of the view `ui`.

use agentx_types::*;
use serde_json::json;

/// Every variant with every field set, then the smallest forms.
pub(crate) fn samples() -> Vec<UiEvent> {
    [runs(), tools(), server(), small_forms()].concat()
}

fn runs() -> Vec<UiEvent> {
    vec![
        UiRunStarted {
            owner_key: "own_1".into(),
            user_input: "Hello?".into(),
        }
        .into(),
        UiTextChunk {
            chunk: "你好".into(),
            role: Some("assistant".into()),
            is_final: Some(true),
        }
        .into(),
        UiRunFinished {
            status: "completed".into(),
        }
        .into(),
        UiError {
            message: "Overloaded".into(),
            details: Some(json!({"code": "overloaded"})),
        }
        .into(),
    ]
}

fn tools() -> Vec<UiEvent> {
    let args = json!({"path": "a.txt"});
    vec![
        UiToolCallStarted {
            tool_call_id: "call_1".into(),
            tool_name: "read".into(),
            args: args.clone(),
        }
        .into(),
        UiToolCallFinished {
            tool_call_id: "call_1".into(),
            tool_name: "read".into(),
            status: UiToolStatus::Success,
            result: "hello".into(),
        }
        .into(),
        UiApprovalRequested {
            tool_call_id: "call_1".into(),
            tool_name: "read".into(),
            args,
            reason: "reading asks".into(),
            question: Some(Box::new(AskedQuestion {
                question: "Which colour?".into(),
                choices: vec!["red".into(), "blue".into()],
                is_plan: false,
            })),
        }
        .into(),
    ]
}

fn server() -> Vec<UiEvent> {
    let done = UiResult {
        status: UiToolStatus::Success,
        message: "renamed".into(),
        data: Some(json!({"title": "Lunch"})),
    };
    vec![
        UiCommandResult {
            command: "rename".into(),
            result: done,
        }
        .into(),
        UiConnectionState { visitor: false }.into(),
    ]
}

fn small_forms() -> Vec<UiEvent> {
    let refused = UiResult {
        status: UiToolStatus::Error,
        message: "no such command".into(),
        data: None,
    };
    vec![
        UiApprovalRequested {
            tool_call_id: "call_1".into(),
            tool_name: "read".into(),
            args: json!({}),
            reason: "reading asks".into(),
            question: None,
        }
        .into(),
        UiTextChunk {
            chunk: "hi".into(),
            role: None,
            is_final: None,
        }
        .into(),
        UiError {
            message: "gone".into(),
            details: None,
        }
        .into(),
        UiCommandResult {
            command: "dance".into(),
            result: refused,
        }
        .into(),
    ]
}
