//! The life of calls, from tables of facts.

use agentx_types::{OutputChannel, ToolCallChunk};
use serde_json::json;

use super::super::testing::*;
use super::*;

fn announced(id: &str, name: &str) -> EnvironmentEvent {
    ToolCallStart {
        tool_call_id: id.into(),
        name: name.into(),
    }
    .into()
}

fn output(id: &str, text: &str) -> EnvironmentEvent {
    ToolOutputChunk {
        tool_call_id: id.into(),
        channel: OutputChannel::Stdout,
        text: text.into(),
    }
    .into()
}

fn planned(id: &str, name: &str) -> RuntimeEvent {
    ToolPlanned {
        tool_call_id: id.into(),
        name: name.into(),
    }
    .into()
}

fn executing(id: &str, name: &str) -> RuntimeEvent {
    ToolExecuting {
        tool_call_id: id.into(),
        name: name.into(),
        input: json!({"path": "a"}),
    }
    .into()
}

fn completed(id: &str, name: &str, duration_ms: u64) -> RuntimeEvent {
    ToolCompleted {
        tool_call_id: id.into(),
        name: name.into(),
        duration_ms,
        details: None,
    }
    .into()
}

fn failed(id: &str, status: ToolStatus, error: &str, duration_ms: u64) -> RuntimeEvent {
    let (tool_call_id, name, error) = (id.into(), "read".into(), error.into());
    ToolFailed {
        tool_call_id,
        name,
        status,
        error,
        duration_ms,
        details: None,
    }
    .into()
}

#[test]
fn parallel_calls_end_out_of_order() {
    check(
        ToolReceptor::default(),
        vec![
            (announced("c1", "read"), vec![planned("c1", "read")]),
            (
                ToolCallChunk {
                    tool_call_id: "c1".into(),
                    json: "{".into(),
                }
                .into(),
                vec![],
            ),
            (tool_call("c1", "read"), vec![]),
            (tool_call("c2", "bash"), vec![planned("c2", "bash")]),
            (stream_end(StopReason::ToolUse), vec![]),
            (tool_started("c1"), vec![executing("c1", "read")]),
            (tool_started("c2"), vec![executing("c2", "bash")]),
            (
                output("c2", "hi"),
                vec![
                    ToolOutput {
                        tool_call_id: "c2".into(),
                        channel: OutputChannel::Stdout,
                        text: "hi".into(),
                    }
                    .into(),
                ],
            ),
            (tool_result("c2", "ok"), vec![completed("c2", "bash", 2000)]),
            (tool_result("c1", "ok"), vec![completed("c1", "read", 4000)]),
            (tool_result("c1", "again"), vec![]),
            (output("c1", "late"), vec![]),
        ],
    );
}

#[test]
fn failures_say_how() {
    let long = "x".repeat(SHOWN_CHARS + 1);
    let long = format!("{long}too deep");
    let short = format!(
        "{}…{}too deep",
        "x".repeat(HEAD_CHARS),
        "x".repeat(SHOWN_CHARS - HEAD_CHARS - 8)
    );
    check(
        ToolReceptor::default(),
        vec![
            (tool_call("c1", "read"), vec![planned("c1", "read")]),
            (
                tool_failure("c1", ToolStatus::Denied, "no"),
                vec![failed("c1", ToolStatus::Denied, "no", 0)],
            ),
            (tool_call("c2", "read"), vec![planned("c2", "read")]),
            (tool_started("c2"), vec![executing("c2", "read")]),
            (
                tool_failure("c2", ToolStatus::Success, &long),
                vec![failed("c2", ToolStatus::Failed, &short, 1000)],
            ),
        ],
    );
}

#[test]
fn a_call_that_another_agent_works_on_lasts_as_long_as_that() {
    check(
        ToolReceptor::default(),
        vec![
            (tool_call("c1", DELEGATE), vec![planned("c1", DELEGATE)]),
            (tool_call("c2", "read"), vec![planned("c2", "read")]),
            (stream_end(StopReason::ToolUse), vec![]),
            (tool_result("c2", "no tool ran"), vec![completed("c2", "read", 0)]),
            (tool_result("c1", "found"), vec![completed("c1", DELEGATE, 4000)]),
        ],
    );
}

#[test]
fn a_call_made_again_is_announced_once() {
    check(
        ToolReceptor::default(),
        vec![
            (tool_call("c1", "read"), vec![planned("c1", "read")]),
            (tool_call("c1", "read"), vec![]),
            (tool_started("c1"), vec![executing("c1", "read")]),
            (tool_call("c1", "read"), vec![]),
            (tool_started("c1"), vec![]),
            (tool_result("c1", "ok"), vec![completed("c1", "read", 1000)]),
        ],
    );
}

#[test]
fn unknown_calls_mean_nothing() {
    check(
        ToolReceptor::default(),
        vec![
            (tool_started("c9"), vec![]),
            (tool_result("c9", "of no call"), vec![]),
            (output("c9", "of no call"), vec![]),
            (tool_call("c1", "read"), vec![planned("c1", "read")]),
            (tool_started("c9"), vec![]),
            (model_asked(), vec![]),
        ],
    );
}

#[test]
fn calls_of_a_broken_stream_are_dropped() {
    check(
        ToolReceptor::default(),
        vec![
            (announced("c1", "read"), vec![planned("c1", "read")]),
            (tool_call("c2", "read"), vec![planned("c2", "read")]),
            (stream_end(StopReason::ToolUse), vec![]),
            (tool_started("c1"), vec![]),
            (tool_started("c2"), vec![executing("c2", "read")]),
            (stream_start("msg_2"), vec![]),
            (tool_call("c3", "read"), vec![planned("c3", "read")]),
            (stream_end(StopReason::Broken), vec![]),
            (tool_result("c3", "of no call"), vec![]),
            (tool_call("c4", "read"), vec![planned("c4", "read")]),
            (stream_start("msg_3"), vec![]),
            (tool_result("c4", "of no call"), vec![]),
            (tool_result("c2", "ok"), vec![completed("c2", "read", 8000)]),
        ],
    );
}
