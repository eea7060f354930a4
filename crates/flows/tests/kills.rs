//! A flow that is cut off after any event of its log continues in another process: it gives the same result,
//! no recorded model call is repeated, and no input is sent twice.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use crate::support::{Place, luau, prefix};
use agentx_runtime::{BoxFuture, Effector, EventSink};
use agentx_testing::FaultyLog;
use agentx_types::{
    Action, ActionBody, EnvironmentEvent, Message, MessageId, Role, SessionId, StopReason, StreamEnd,
    StreamStart, TextChunk, ToolCall, ToolCallId, ToolStatus, Usage, UsageReport,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const FLOW: &str = r#"
    function invoke(ctx, args)
        local parts = {}
        local a = ctx.async(function() return ctx.generate("m", "first") end)
        local b = ctx.async(function() return ctx.generate("m", "second") end)
        local first, second = ctx.await_all(a, b)
        table.insert(parts, first)
        table.insert(parts, second)
        ctx.state.first = first
        local plan = ctx.generate_json("m", "plan", {type = "object", required = {"chapters"}})
        local writer = ctx.create_agent("writer", {prompt = "You write."})
        for i = 1, plan.chapters do
            ctx.emit("chapter " .. i)
            writer:input("write chapter " .. i)
            local text = ""
            for chunk in writer:iter() do
                ctx.emit(chunk)
                text = text .. chunk
            end
            table.insert(parts, text)
        end
        writer:input("the end")
        table.insert(parts, writer:collect())
        table.insert(parts, ctx.invoke("helper", {word = "inner"}))
        ctx.kv.set("notes:last", parts[1])
        table.insert(parts, ctx.kv.get("notes:last"))
        local stream = rt:generate("m", {messages = {{role = "user", content = "streamed"}}})
        while true do
            local chunk = stream:recv():await()
            if chunk == nil then break end
            table.insert(parts, chunk.part)
        end
        rt:history_append("user", parts[1])
        rt:history_append({role = "model", content = parts[2]})
        rt:memory_set_summary("so far " .. parts[2])
        rt:history_append("user", "taken back")
        rt:history_revert()
        local turn = rt:transformer("text", {model = "m"})
        turn:send("turned")
        turn:close_send()
        table.insert(parts, turn:recv():await().part)
        local nobody, why = rt:generate("nobody", {messages = {}})
        assert(nobody == nil and why)
        table.insert(parts, #rt:history_recent(10) .. " messages, " .. rt:memory_summary())
        writer:close()
        return ctx.state.first .. "|" .. table.concat(parts, "|")
    end
"#;

const HELPER: &str = r#"
    function invoke(ctx, args)
        local said = ctx.generate("m", "about " .. args.word)
        return said .. "!"
    end
"#;

/// A model whose answer depends only on the request. It keeps the requests.
#[derive(Clone, Default)]
struct Fixed {
    asked: Arc<Mutex<Vec<String>>>,
}

fn last_words(messages: &[Arc<Message>]) -> String {
    messages.last().map(|message| message.text()).unwrap_or_default()
}

impl Effector for Fixed {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let asked = self.asked.clone();
        Box::pin(async move {
            let ActionBody::CallModel(call) = &action.body else {
                panic!("a call of a model")
            };
            let last = call.request.messages.last().unwrap();
            let words = last_words(&call.request.messages);
            asked.lock().unwrap().push(if last.role == Role::Tool {
                "result".to_owned()
            } else {
                words.clone()
            });
            let id = format!("msg_{}_{}", action.action_id, call.request.messages.len());
            let start = StreamStart {
                message_id: MessageId::new(id),
                model: "m".into(),
                attempt: 1,
            };
            events.emit(start).await;
            if last.role == Role::User && words == "go" {
                events
                    .emit(ToolCall {
                        tool_call_id: ToolCallId::new("call_1"),
                        name: "flow".into(),
                        input: json!({}),
                        invalid: None,
                    })
                    .await;
            } else {
                let text = match words.as_str() {
                    "plan" => r#"{"chapters": 2}"#.to_owned(),
                    _ if last.role == Role::Tool => "done".to_owned(),
                    words => format!("<{words}: text>"),
                };
                let (head, tail) = text.split_at(text.len() / 2);
                for piece in [head, tail] {
                    events
                        .emit(TextChunk {
                            text: piece.to_owned(),
                        })
                        .await;
                }
            }
            let usage = Usage {
                input_tokens: 1,
                output_tokens: 1,
                ..Usage::default()
            };
            events.emit(UsageReport { usage }).await;
            let reason = if cancel.is_cancelled() {
                StopReason::Interrupted
            } else if words == "go" && last.role == Role::User {
                StopReason::ToolUse
            } else {
                StopReason::EndTurn
            };
            events
                .emit(StreamEnd {
                    stop_reason: reason,
                    raw: None,
                })
                .await;
        })
    }
}

fn place(log: FaultyLog, model: &Fixed, kv: &std::path::Path) -> Place {
    let place = Place::with_model(log, Arc::new(model.clone()), |mut parts| {
        parts.data_dir = Some(kv.to_owned());
        parts
    });
    let may = json!({"models": ["*"], "agents": ["*"], "tools": ["helper"], "kv": ["notes"]});
    place.tool(luau("helper", HELPER, json!({"models": ["*"]})));
    place.tool(luau("flow", FLOW, may));
    place
}

/// Returns the complete answers of models so far, in the order of the requests.
fn said(facts: &[Arc<agentx_types::Envelope<EnvironmentEvent>>]) -> Vec<String> {
    let mut asked: BTreeMap<(String, u64), Value> = BTreeMap::new();
    let mut inputs: BTreeMap<String, String> = BTreeMap::new();
    let mut said = Vec::new();
    for fact in facts {
        let agent = fact
            .agent_state_id
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        match &fact.event {
            EnvironmentEvent::EffectStarted(started) => {
                asked.insert(
                    (started.tool_call_id.to_string(), started.step),
                    started.input.clone(),
                );
            }
            EnvironmentEvent::EffectEnded(ended) if ended.bill.is_some() => {
                let input = &asked[&(ended.tool_call_id.to_string(), ended.step)];
                let prompt = input["prompt"]
                    .as_str()
                    .or(input["messages"][0]["content"].as_str());
                said.push(prompt.unwrap().to_owned());
            }
            EnvironmentEvent::UserMessage(message) => {
                let text = message.content.iter().filter_map(|part| part.as_text()).collect();
                inputs.insert(agent, text);
            }
            EnvironmentEvent::StreamEnd(_) => said.extend(inputs.get(&agent).cloned()),
            _ => {}
        }
    }
    said
}

#[tokio::test]
async fn a_flow_goes_on_wherever_it_was_cut_off() {
    let model = Fixed::default();
    let folder = tempfile::tempdir().unwrap();
    let whole = place(FaultyLog::new(), &model, folder.path());
    let session = whole.open().await;
    whole.ask(&session, "go").await;
    session.close().await;
    let (status, expected) = whole.result("call_1");
    assert_eq!(status, ToolStatus::Success, "{expected}");
    assert!(
        expected.contains("<write chapter 2: text>")
            && expected.contains("<about inner: text>!")
            && expected.ends_with("<turned: text>|2 messages, so far <second: text>"),
        "{expected}"
    );
    let facts = whole.log.facts(&SessionId::new("ses_1"));
    let call =
        |event: &EnvironmentEvent| matches!(event, EnvironmentEvent::EffectEnded(ended) if ended.step == 0);
    let result = |event: &EnvironmentEvent| matches!(event, EnvironmentEvent::ToolResult(_));
    let first = facts.iter().position(|fact| call(&fact.event)).unwrap();
    let last = facts.iter().position(|fact| result(&fact.event)).unwrap();
    assert!(last - first > 60, "the flow has many steps");
    // A model that does not exist is asked nothing.
    let has_bill = |event: &EnvironmentEvent| match event {
        EnvironmentEvent::EffectEnded(ended) if ended.bill.is_some() => {
            Some((ended.tool_call_id.to_string(), ended.step))
        }
        _ => None,
    };
    let billed: BTreeSet<_> = facts.iter().filter_map(|fact| has_bill(&fact.event)).collect();
    let mut lost_at_all = 0;
    for count in first..=last {
        let model = Fixed::default();
        let again = place(prefix(&facts, count).await, &model, folder.path());
        let session = again.resume().await;
        again.until_done(&session, 0).await;
        session.close().await;
        assert_eq!(
            again.result("call_1"),
            (ToolStatus::Success, expected.clone()),
            "cut off after {count}"
        );
        let asked = model.asked.lock().unwrap().clone();
        for known in said(&facts[..count]).iter().filter(|known| *known != "go") {
            assert!(
                !asked.contains(known),
                "cut off after {count}: {known:?} was asked again, of {asked:?}"
            );
        }
        let mut lost = lost_calls(&facts[..count]);
        lost.retain(|call| billed.contains(call));
        let estimated = estimated_calls(&again.facts());
        assert_eq!(
            estimated, lost,
            "cut off after {count}: what a lost call read is on the bill"
        );
        lost_at_all += lost.len();
        let mut inputs: Vec<String> = again.facts().into_iter().filter_map(input_of).collect();
        inputs.sort();
        assert_eq!(
            inputs,
            ["go", "the end", "write chapter 1", "write chapter 2"],
            "cut off after {count}"
        );
    }
    assert!(lost_at_all > 4, "{lost_at_all} calls of models were cut off");
}

/// The steps that asked a model and have no end.
fn lost_calls(facts: &[Arc<agentx_types::Envelope<EnvironmentEvent>>]) -> BTreeSet<(String, u64)> {
    let mut open = BTreeSet::new();
    for fact in facts {
        match &fact.event {
            EnvironmentEvent::EffectStarted(started) if started.asks_model() => {
                open.insert((started.tool_call_id.to_string(), started.step));
            }
            EnvironmentEvent::EffectEnded(ended) => {
                open.remove(&(ended.tool_call_id.to_string(), ended.step));
            }
            _ => {}
        }
    }
    open
}

/// The steps whose bill is in part an estimate.
fn estimated_calls(facts: &[EnvironmentEvent]) -> BTreeSet<(String, u64)> {
    let estimated = |event: &EnvironmentEvent| match event {
        EnvironmentEvent::EffectEnded(ended) => {
            let usage = ended.bill.as_ref()?.usage;
            let key = (ended.tool_call_id.to_string(), ended.step);
            // The model of the test counts one token for what it read.
            (usage.is_estimated() && usage.input_tokens == usage.estimated_tokens + 1).then_some(key)
        }
        _ => None,
    };
    facts.iter().filter_map(estimated).collect()
}

fn input_of(event: EnvironmentEvent) -> Option<String> {
    match event {
        EnvironmentEvent::UserMessage(message) => {
            Some(message.content.iter().filter_map(|part| part.as_text()).collect())
        }
        _ => None,
    }
}

#[tokio::test]
async fn a_script_that_was_changed_does_not_go_on() {
    let model = Fixed::default();
    let folder = tempfile::tempdir().unwrap();
    let whole = place(FaultyLog::new(), &model, folder.path());
    let session = whole.open().await;
    whole.ask(&session, "go").await;
    session.close().await;
    let facts = whole.log.facts(&SessionId::new("ses_1"));
    let result = facts
        .iter()
        .position(|fact| matches!(fact.event, EnvironmentEvent::ToolResult(_)))
        .unwrap();
    let again = place(prefix(&facts, result - 5).await, &model, folder.path());
    again.tool(luau(
        "flow",
        &FLOW.replace("first", "other"),
        json!({"models": ["*"]}),
    ));
    let session = again.resume().await;
    again.until_done(&session, 0).await;
    let (status, text) = again.result("call_1");
    assert_eq!(status, ToolStatus::Failed);
    assert!(text.contains("was changed after this call began"), "{text}");
}

#[tokio::test]
async fn a_step_that_differs_from_its_record_ends_the_call_and_is_named() {
    let model = Fixed::default();
    let folder = tempfile::tempdir().unwrap();
    let whole = place(FaultyLog::new(), &model, folder.path());
    let session = whole.open().await;
    whole.ask(&session, "go").await;
    session.close().await;
    let mut facts = whole.log.facts(&SessionId::new("ses_1"));
    let result = facts
        .iter()
        .position(|fact| matches!(fact.event, EnvironmentEvent::ToolResult(_)))
        .unwrap();
    for fact in &mut facts {
        let mut changed = fact.as_ref().clone();
        if let EnvironmentEvent::EffectStarted(started) = &mut changed.event
            && started.input["prompt"] == "second"
        {
            started.input["prompt"] = json!("another");
            *fact = Arc::new(changed);
        }
    }
    let again = place(prefix(&facts, result).await, &model, folder.path());
    let session = again.resume().await;
    again.until_done(&session, 0).await;
    let (status, text) = again.result("call_1");
    assert_eq!(status, ToolStatus::Failed);
    for part in ["Step ", "`generate`", "another", "second"] {
        assert!(text.contains(part), "{text}");
    }
}
