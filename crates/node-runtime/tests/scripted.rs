//! The offline demo as an agent sees it: whole calls, with tools, interrupts and both languages.

use std::sync::Arc;
use std::time::Duration;

use agentx_node_runtime::scripted::ScriptedEnvironment;
use agentx_testing::{EffectorOutput, check_others, fixture, perform, start};
use agentx_types::{
    ActionKind, Api, ContentPart, EnvironmentEvent as E, Message, Role, StopReason, ToolCall,
};
use serde_json::json;

async fn ask(messages: Vec<Arc<Message>>) -> EffectorOutput {
    perform(
        &ScriptedEnvironment::instant(),
        fixture::call(fixture::request(Api::Scripted, messages)),
    )
    .await
}

fn stop_reason(said: &EffectorOutput) -> Option<StopReason> {
    match said.events.last() {
        Some(E::StreamEnd(end)) => Some(end.stop_reason),
        _ => None,
    }
}

fn calls(said: &EffectorOutput) -> Vec<ToolCall> {
    let call = |event: &E| {
        if let E::ToolCall(call) = event {
            Some(call.clone())
        } else {
            None
        }
    };
    said.events.iter().filter_map(call).collect()
}

#[tokio::test]
async fn the_note_about_plan_mode_is_no_input() {
    let note = Message {
        message_id: "msg_plan_mode_7".into(),
        role: Role::User,
        content: vec![ContentPart::text(
            "[Plan mode is on. Present your plan with the tool `read`.]",
        )],
        by: None,
    };
    let said = ask(vec![fixture::user("echo good morning"), Arc::new(note)]).await;
    assert_eq!(said.text(), "good morning");
}

#[tokio::test]
async fn it_says_what_it_is_in_both_languages() {
    for (text, marks) in [
        ("hello", ["script", "not a language model"]),
        ("你好", ["脚本", "不是语言模型"]),
        ("help", ["scripted demo", "Token counts are estimates"]),
        ("帮助", ["演示脚本", "估算"]),
        (
            "how do I connect a real model?",
            ["ANTHROPIC_API_KEY", "OPENAI_BASE_URL"],
        ),
        ("怎么接入真实模型？", ["ANTHROPIC_API_KEY", "OPENAI_BASE_URL"]),
        ("why is the sky blue?", ["scripted demo", "help"]),
    ] {
        let said = ask(vec![fixture::user(text)]).await;
        assert_eq!(
            said.tags(),
            ["stream_start", "text_chunk", "usage", "stream_end"],
            "{text}"
        );
        assert_eq!(stop_reason(&said), Some(StopReason::EndTurn));
        assert!(
            marks.iter().all(|mark| said.text().contains(mark)),
            "{text}: {}",
            said.text()
        );
    }
}

#[tokio::test]
async fn a_wish_becomes_a_call_and_its_result_is_summed_up() {
    let said = ask(vec![fixture::user("run uname -a, then read README.md")]).await;
    let tags = [
        "stream_start",
        "text_chunk",
        "tool_call_start",
        "tool_call_chunk",
        "tool_call",
        "usage",
        "stream_end",
    ];
    assert_eq!(said.tags(), tags);
    assert_eq!(stop_reason(&said), Some(StopReason::ToolUse));
    assert_eq!(calls(&said)[0].name, "bash");
    assert_eq!(calls(&said)[0].input, json!({"command": "uname -a"}));

    let mut messages = vec![
        fixture::user("run uname -a, then read README.md"),
        fixture::tool_call("call_1", "bash", json!({"command": "uname -a"})),
        fixture::tool_result("call_1", "bash", "Linux box 6.1\n"),
    ];
    let said = ask(messages.clone()).await;
    assert!(said.text().contains("Linux box 6.1"), "{}", said.text());
    assert_eq!(
        calls(&said)[0].input,
        json!({"path": "README.md"}),
        "the second step"
    );

    messages.push(fixture::tool_call("call_2", "read", json!({"path": "README.md"})));
    messages.push(fixture::tool_result("call_2", "read", "# Title\n"));
    let said = ask(messages.clone()).await;
    assert!(
        said.text().contains("# Title") && !said.text().contains("Linux"),
        "{}",
        said.text()
    );
    assert_eq!(stop_reason(&said), Some(StopReason::EndTurn));

    messages.extend([fixture::assistant("done"), fixture::user("echo fine")]);
    assert_eq!(ask(messages).await.text(), "fine", "old results are not news");
}

#[tokio::test]
async fn what_an_earlier_run_left_behind_is_no_news() {
    let said = ask(vec![
        fixture::user("run sleep 100"),
        fixture::tool_call("call_1", "bash", json!({"command": "sleep 100"})),
        fixture::tool_result("call_1", "bash", "[interrupted after 1.00 s]"),
        fixture::user("echo fine"),
    ])
    .await;
    assert_eq!(said.text(), "fine");
}

#[tokio::test]
async fn a_tool_that_is_not_on_offer_is_named() {
    let mut request = fixture::request(Api::Scripted, vec![fixture::user("run ls")]);
    request.tools = Arc::from([]);
    let said = perform(&ScriptedEnvironment::instant(), fixture::call(request)).await;
    assert_eq!(calls(&said), []);
    assert!(said.text().contains("`bash`"), "{}", said.text());
}

#[tokio::test]
async fn two_at_once_have_ids_of_their_own_and_the_same_every_time() {
    let said = ask(vec![fixture::user("read a.md and b.md")]).await;
    let ids: Vec<_> = calls(&said).into_iter().map(|call| call.tool_call_id).collect();
    assert_eq!(
        ids.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
        ["call_7_0_0", "call_7_0_1"]
    );
    assert_eq!(said, ask(vec![fixture::user("read a.md and b.md")]).await);
}

#[tokio::test]
async fn it_counts_and_reports_estimated_tokens() {
    let said = ask(vec![fixture::user("count to 1000")]).await;
    assert!(said.text().contains("999 1000"), "{}", said.text());
    assert!(
        said.batches.len() < 20,
        "without a pace it is said in large groups"
    );
    let usage = said.events.iter().find_map(|event| {
        if let E::UsageReport(report) = event {
            Some(report.usage)
        } else {
            None
        }
    });
    assert!(usage.is_some_and(|usage| usage.input_tokens > 0 && usage.output_tokens >= 1000));
}

#[tokio::test(start_paused = true)]
async fn a_long_story_can_be_interrupted() {
    let request = fixture::request(Api::Scripted, vec![fixture::user("tell a long story")]);
    let mut performance = start(&ScriptedEnvironment::live(), fixture::call(request));
    assert!(performance.wait_for("text_chunk").await);
    performance.cancel();
    let said = performance.finish().await;
    assert_eq!(stop_reason(&said), Some(StopReason::Interrupted));
    assert!(said.text().len() < 200, "it stopped at once");
}

#[tokio::test(start_paused = true)]
async fn it_waits_between_pieces_and_stops_when_nobody_listens() {
    let begin = tokio::time::Instant::now();
    let environment = ScriptedEnvironment::with_pace(Duration::from_millis(10));
    let request = fixture::request(Api::Scripted, vec![fixture::user("echo one two three")]);
    let said = perform(&environment, fixture::call(request)).await;
    assert_eq!(said.text(), "one two three");
    assert_eq!(begin.elapsed(), Duration::from_millis(30));

    let request = fixture::request(Api::Scripted, vec![fixture::user("tell a long story")]);
    let mut performance = start(&environment, fixture::call(request));
    assert!(performance.wait_for("text_chunk").await);
    performance.hang_up().await;
}

#[tokio::test]
async fn nothing_is_said_of_another_kind_of_action() {
    check_others(&ScriptedEnvironment::instant(), ActionKind::CallModel).await;
}
