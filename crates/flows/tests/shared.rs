//! The spending of scripts and their agents is bounded by the limits of the calling agent, and so is the
//! number of agents of a session. Each answer of the model costs 15 tokens.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::sync::Arc;

use crate::support::{Place, definition, luau};
use agentx_runtime::Session;
use agentx_testing::ModelScript;
use agentx_types::{ConfigChange, EnvironmentEvent, Limits, RunStatus, RuntimeEvent, ToolStatus};
use serde_json::{Value, json};

async fn limited(place: &Place, tokens: u64) -> Arc<dyn Session> {
    let session = place.open().await;
    let limits = Limits {
        max_tokens: Some(tokens),
        ..Limits::default()
    };
    session.change(ConfigChange::Limits(limits)).await.unwrap();
    session
}

fn ended(events: &[RuntimeEvent]) -> (RunStatus, String) {
    let end = |event: &RuntimeEvent| match event {
        RuntimeEvent::RunFinished(end) => Some((end.status, end.reason.clone().unwrap_or_default())),
        _ => None,
    };
    events.iter().rev().find_map(end).unwrap()
}

#[tokio::test]
async fn agents_that_a_script_makes_share_the_limits_of_its_agent() {
    let script = "
        function invoke(ctx, args)
            local said = {}
            for at = 1, 4 do
                local child = ctx.create_agent('child', {prompt = 'Answer.'})
                child:input('hello')
                local ok, why = pcall(function() return child:collect() end)
                table.insert(said, ok and why or tostring(why))
            end
            return table.concat(said, ' | ')
        end";
    let place = Place::new([
        ModelScript::call("call_1", "crowd", json!({})),
        ModelScript::text("one"),
        ModelScript::text("two"),
        ModelScript::text("never"),
    ]);
    place.tool(luau("crowd", script, json!({"agents": ["*"]})));
    let session = limited(&place, 45).await;
    let events = place.ask(&session, "go").await;
    assert_eq!(
        place.model.requests().len(),
        3,
        "15 for the call, 15 for each of two"
    );
    let (status, text) = place.result("call_1");
    assert_eq!(status, ToolStatus::Success);
    let why = "the limit of 45 tokens in one run of agent test is reached (45 used)";
    assert!(
        text.starts_with("one | two | ") && text.matches(why).count() == 2,
        "{text}"
    );
    let (status, why) = ended(&events);
    assert!(
        status == RunStatus::TimedOut && why.contains("45 tokens"),
        "{why}"
    );
}

#[tokio::test]
async fn a_script_asks_no_model_where_a_limit_is_reached() {
    let script = "
        function invoke(ctx, args)
            for at = 1, 40 do ctx.generate('writer', 'more') end
            return 'never'
        end";
    let answers = [ModelScript::call("call_1", "writes", json!({}))];
    let more = (0..10).map(|_| ModelScript::text("so much"));
    let place = Place::new(answers.into_iter().chain(more));
    place.tool(luau("writes", script, json!({"models": ["writer"]})));
    let session = limited(&place, 45).await;
    let events = place.ask(&session, "go").await;
    assert_eq!(
        place.model.requests().len(),
        3,
        "the one that would go beyond it is not made"
    );
    assert_eq!(place.result("call_1").0, ToolStatus::Interrupted);
    let (status, why) = ended(&events);
    assert!(
        status == RunStatus::TimedOut && why.contains("45 tokens"),
        "{why}"
    );
}

#[tokio::test]
async fn a_script_is_told_when_there_is_no_room_for_another_agent() {
    let script = "
        function invoke(ctx, args)
            local made, kept, why = 0, nil, nil
            for at = 1, 258 do
                local ok, child = pcall(function() return ctx.create_agent('child', {}) end)
                if ok then made, kept = made + 1, child else why = tostring(child) end
            end
            kept:close()
            ctx.create_agent('child', {})
            return made .. ' ' .. why
        end";
    let place = Place::new([
        ModelScript::call("call_1", "crowd", json!({})),
        ModelScript::text("It is full."),
    ]);
    place.tool(definition(json!({
        "name": "crowd",
        "type": "luau",
        "lua": script,
        "capabilities": {"agents": ["*"]},
        "limits": {"agents": 300},
    })));
    let session = place.open().await;
    place.ask(&session, "go").await;
    let (status, text) = place.result("call_1");
    assert_eq!(status, ToolStatus::Success, "{text}");
    let text: Value = serde_json::from_str(&text).unwrap_or(Value::String(text));
    let text = text.as_str().unwrap();
    assert!(
        text.starts_with("256 ") && text.contains("refused: this session has 256 agents"),
        "{text}"
    );
    let made = |event: &EnvironmentEvent| matches!(event, EnvironmentEvent::AgentSpawned(_));
    assert_eq!(place.facts().into_iter().filter(made).count(), 257);
}

/// A server asks for money before a call of a tool that may call a model.
#[tokio::test]
async fn a_tool_may_call_models_by_itself_and_by_the_tools_and_agents_that_it_calls() {
    let place = Place::new([]);
    let script = |capabilities: Value| luau("script", "function invoke() return 1 end", capabilities);
    let reads = json!({"name": "reads", "type": "http", "method": "GET", "endpoint": "http://127.0.0.1/"});
    for free in [
        script(json!({})),
        script(json!({"http": ["127.0.0.1"], "env": ["KEY"], "kv": ["notes"]})),
        definition(reads),
    ] {
        assert!(!place.tool(free.clone()).may_call_models(), "{free:?}");
    }
    for may in [
        script(json!({"models": ["writer"]})),
        script(json!({"tools": ["reads"]})),
        script(json!({"agents": ["*"]})),
        definition(json!({"name": "writes", "type": "generator", "prompt": "Write.", "model": "writer"})),
        definition(
            json!({"name": "row", "type": "composite", "steps": [{"id": "one", "tool": {"$ref": "reads"}}]}),
        ),
    ] {
        assert!(place.tool(may.clone()).may_call_models(), "{may:?}");
    }
}

/// A client of `agentx mcp serve` sends the words to its own model.
#[tokio::test]
async fn a_tool_that_only_asks_a_model_is_a_prompt_unless_it_reads_variables() {
    let place = Place::new([]);
    let made = |more: Value| {
        let mut file = json!({"name": "count", "type": "generator", "prompt": "Count words.", "model": "m"});
        for (key, value) in more.as_object().unwrap() {
            file[key.as_str()] = value.clone();
        }
        place.tool(definition(file))
    };
    let params = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    let plain = made(json!({"params": params, "context_layers": ["Be brief."]}));
    let write = plain.prompt().unwrap();
    assert_eq!(
        write(&json!({"text": "two words"})).unwrap(),
        "Be brief.\n\nCount words.\n\ntwo words"
    );
    assert_eq!(write(&json!({})).unwrap(), "Be brief.\n\nCount words.");
    assert!(plain.output_schema().is_none());
    let schema = json!({"type": "object", "required": ["words"]});
    let json_output = made(json!({"mode": "json_output", "output_schema": schema}));
    assert_eq!(json_output.output_schema(), Some(schema));
    let words = json_output.prompt().unwrap()(&json!({})).unwrap();
    assert!(words.contains("one JSON value"), "{words}");
    assert!(
        made(json!({"context_layers": [{"$env": "HOME"}]}))
            .prompt()
            .is_none()
    );
    let script = luau("script", "function invoke() return 1 end", json!({}));
    assert!(place.tool(script).prompt().is_none());
}
