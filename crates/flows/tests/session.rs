//! Tools from files in a real session: a model calls them, their steps are in the log, and another process
//! continues from it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::sync::Arc;

use crate::support;
use crate::support::{Place, definition, luau};
use agentx_flows::ToolFactoryParts;
use agentx_runtime::{ActionDispatcher, BusModels, SystemBus};
use agentx_testing::{FaultyLog, ModelScript, ScriptedModel, fixture};
use agentx_types::{
    EnvironmentEvent, ErrorOccurred, MessageId, RuntimeEvent, StopReason, StreamEnd, StreamStart, ToolStatus,
    Usage, UsageReport,
};
use serde_json::json;

#[tokio::test]
async fn a_script_runs_in_a_session_and_its_steps_are_on_record() {
    let script = "
        function invoke(ctx, args)
            local t = ctx.now()
            ctx.emit('working')
            local said = ctx.generate('writer', 'a poem about ' .. args.about)
            ctx.state.poem = said
            return { said = said, known = t > 0, id = #ctx.uuid() }
        end";
    let place = Place::new([
        ModelScript::call("call_1", "poem", json!({"about": "rain"})),
        ModelScript::text("It rains."),
        ModelScript::text("Done."),
    ]);
    place.tool(luau("poem", script, json!({"models": ["writer"]})));
    let session = place.open().await;
    let events = place.ask(&session, "a poem, please").await;
    let (status, text) = place.result("call_1");
    assert_eq!(
        (status, text.as_str()),
        (
            ToolStatus::Success,
            r#"{"id":36,"known":true,"said":"It rains."}"#
        )
    );
    let kinds = place.effects("call_1");
    assert_eq!(
        kinds,
        [
            "0 script",
            "1 state_get",
            "2 now",
            "3 emit",
            "4 generate begins",
            "4 generate",
            "5 state_set",
            "6 uuid"
        ]
    );
    let emitted =
        |event: &RuntimeEvent| matches!(event, RuntimeEvent::Chunk(chunk) if chunk.text == "working");
    assert!(events.iter().any(emitted));
    let bill = place.facts().into_iter().find_map(|event| match event {
        EnvironmentEvent::EffectEnded(ended) => ended.bill,
        _ => None,
    });
    assert_eq!(
        bill.map(|bill| (bill.model, bill.usage.input_tokens)),
        Some(("test/writer".to_owned(), 10))
    );
}

#[tokio::test]
async fn what_a_model_said_before_it_broke_off_is_paid_for_too() {
    let usage = Usage {
        input_tokens: 7,
        ..Usage::default()
    };
    let twice = ModelScript::new()
        .then_text("It ra")
        .then([
            EnvironmentEvent::from(UsageReport { usage }),
            StreamEnd {
                stop_reason: StopReason::Broken,
                raw: None,
            }
            .into(),
            StreamStart {
                message_id: MessageId::new("msg_again"),
                model: "writer".into(),
                attempt: 2,
            }
            .into(),
        ])
        .then_text("It rains.");
    let place = Place::new([
        ModelScript::call("call_1", "poem", json!({})),
        twice,
        ModelScript::text("Done."),
    ]);
    let script = "function invoke(ctx, args) return ctx.generate('writer', 'a poem') end";
    place.tool(luau("poem", script, json!({"models": ["writer"]})));
    let session = place.open().await;
    place.ask(&session, "a poem, please").await;
    assert_eq!(place.result("call_1"), (ToolStatus::Success, "It rains.".into()));
    let paid = place.facts().into_iter().find_map(|event| match event {
        EnvironmentEvent::EffectEnded(ended) => ended.bill.map(|bill| bill.usage.input_tokens),
        _ => None,
    });
    assert_eq!(paid, Some(7 + 10));
}

#[tokio::test]
async fn an_answer_that_never_came_is_paid_for_as_far_as_it_did() {
    let usage = |input_tokens| Usage {
        input_tokens,
        ..Usage::default()
    };
    let end = |stop_reason| StreamEnd {
        stop_reason,
        raw: None,
    };
    let broken = ModelScript::new().then_text("It ra").then([
        EnvironmentEvent::from(UsageReport { usage: usage(7) }),
        end(StopReason::Broken).into(),
        ErrorOccurred {
            code: "overloaded".into(),
            message: "come back later".into(),
            recoverable: false,
        }
        .into(),
    ]);
    let refused = ModelScript::new().then([
        EnvironmentEvent::from(UsageReport { usage: usage(5) }),
        end(StopReason::Refusal).into(),
    ]);
    let place = Place::new([
        ModelScript::call("call_1", "poem", json!({})),
        broken,
        refused,
        ModelScript::text("Done."),
    ]);
    let script = "function invoke(ctx, args)
        local _, first = pcall(ctx.generate, 'writer', 'a poem')
        local stream = rt:generate('writer', { messages = { { role = 'user', content = 'a poem' } } })
        local _, second = stream:recv()
        return { first, second }
    end";
    place.tool(luau("poem", script, json!({"models": ["writer"]})));
    let session = place.open().await;
    place.ask(&session, "a poem, please").await;
    let (status, said) = place.result("call_1");
    assert_eq!(status, ToolStatus::Success, "{said}");
    assert!(said.contains("overloaded") && said.contains("refused"), "{said}");
    let paid = place.facts().into_iter().filter_map(|event| match event {
        EnvironmentEvent::EffectEnded(ended) => ended.bill.map(|bill| bill.usage.input_tokens),
        _ => None,
    });
    assert_eq!(paid.collect::<Vec<_>>(), [7, 5]);
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_told_before_the_script_runs() {
    let place = Place::new([
        ModelScript::call("call_1", "long", json!({"text": 5})),
        ModelScript::call("call_2", "long", json!({})),
        ModelScript::call("call_3", "long", json!({"text": "FIVE"})),
        ModelScript::call("call_4", "long", json!({"text": "four"})),
        ModelScript::text("Done."),
    ]);
    let mut long = luau(
        "long",
        "function invoke(ctx, args) return #args.text end",
        json!({}),
    );
    long.params = Some(json!({
        "type": "object", "properties": {"text": {"type": "string", "pattern": "^[a-z]*$"}}, "required": ["text"],
    }));
    place.tool(long);
    let session = place.open().await;
    let said = place.ask(&session, "go").await;
    for (call, wrong) in [
        ("call_1", "argument \"text\": expected string, got 5"),
        ("call_2", "missing argument \"text\": string"),
    ] {
        let text = format!(
            "Invalid arguments for long; nothing was done.\n- {wrong}\nArguments: text (string, required)."
        );
        assert_eq!(place.result(call), (ToolStatus::Invalid, text));
    }
    // The tool reports keywords that only full JSON Schema supports.
    let text = "long: the arguments do not fit: at /text: \"FIVE\" does not match \"^[a-z]*$\"";
    assert_eq!(place.result("call_3"), (ToolStatus::Invalid, text.to_owned()));
    assert_eq!(place.result("call_4"), (ToolStatus::Success, "4".to_owned()));
    assert!(place.effects("call_3").is_empty());
    let runs: Vec<&str> = said
        .iter()
        .filter_map(|event| match event {
            RuntimeEvent::ToolExecuting(call) => Some(call.tool_call_id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(runs, ["call_3", "call_4"], "a call that is wrong does not begin");
}

#[tokio::test]
async fn models_as_tools_and_tools_in_a_row() {
    let answers = [
        ModelScript::call("call_1", "row", json!({"text": "你好"})),
        ModelScript::text("hello"),
        ModelScript::text("no JSON"),
        ModelScript::text(r#"{"words": 1}"#),
        ModelScript::text("Done."),
    ];
    let place = Place::new(answers);
    let counter = json!({
        "name": "count", "type": "generator", "prompt": "Count words.", "model": "m", "mode": "json_output",
        "output_schema": {"type": "object", "required": ["words"]},
    });
    place.tool(definition(counter));
    place.tool(definition(
        json!({"name": "translate", "type": "text_processor", "prompt": "Into English.", "model": "m"}),
    ));
    place.tool(definition(json!({
        "name": "row", "type": "composite",
        "steps": [
            {"id": "en", "tool": {"$ref": "translate"}},
            {"id": "n", "tool": {"$ref": "count"}, "input_jq": "{text: .steps.en}"},
        ],
    })));
    let session = place.open().await;
    place.ask(&session, "go").await;
    assert_eq!(
        place.result("call_1"),
        (ToolStatus::Success, r#"{"words":1}"#.to_owned())
    );
    let asked: Vec<String> = place
        .model
        .requests()
        .iter()
        .map(|request| request.messages.last().unwrap().text())
        .collect();
    assert_eq!(asked[1..3], ["你好", "hello"]);
    assert!(asked[3].contains("the answer is not JSON"), "{}", asked[3]);
    let inner = place.effects("call_1/2");
    assert_eq!(inner, ["0 script", "1 generate_json begins", "1 generate_json"]);
}

#[tokio::test]
async fn what_is_not_granted_is_refused_and_can_be_caught() {
    let script = "function invoke(ctx, args)
        local said = {}
        for _, try in {
            function() ctx.generate('m', 'x') end, function() ctx.http.get('http://example.com') end,
            function() ctx.invoke('other', {}) end, function() ctx.kv.get('x') end, function() ctx.env('KEY') end,
            function() ctx.create_agent('a', {}) end, function() ctx.generate('', 'x') end,
        } do
            local ok, problem = pcall(try)
            table.insert(said, ok == false and string.find(tostring(problem), 'denied') ~= nil)
        end
        return said
    end";
    let place = Place::new([
        ModelScript::call("call_1", "try", json!({})),
        ModelScript::text("Done."),
    ]);
    place.tool(luau("try", script, json!({})));
    let session = place.open().await;
    place.ask(&session, "go").await;
    assert_eq!(
        place.result("call_1"),
        (
            ToolStatus::Success,
            "[true,true,true,true,true,true,true]".to_owned()
        )
    );
}

#[tokio::test]
async fn an_interrupt_stops_the_script_and_the_agents_that_it_made() {
    let gate = agentx_testing::Gate::closed();
    let script = "function invoke(ctx, args)
        local child = ctx.create_agent('child', {prompt = 'Take your time.'})
        child:input('begin')
        return child:collect()
    end";
    let answers = [
        ModelScript::call("call_1", "wait", json!({})),
        ModelScript::new().then_text("slowly").then_stall(&gate),
    ];
    let place = Place::new(answers);
    place.tool(luau("wait", script, json!({"agents": ["*"]})));
    let session = place.open().await;
    let heard = session
        .subscribe(0, agentx_runtime::View::Environment)
        .await
        .unwrap();
    let seq = place.say(&session, "go").await;
    support::until_fact(
        heard,
        |event| matches!(event, EnvironmentEvent::TextChunk(chunk) if chunk.text == "slowly"),
    )
    .await;
    session.interrupt(None).await.unwrap();
    place.until_done(&session, seq - 1).await;
    assert_eq!(place.result("call_1").0, ToolStatus::Interrupted);
    let facts = place.facts();
    assert!(
        facts
            .iter()
            .any(|event| matches!(event, EnvironmentEvent::AgentClosed(_)))
    );
    let asks = facts
        .iter()
        .filter(|event| matches!(event, EnvironmentEvent::InterruptRequested(_)))
        .count();
    assert_eq!(asks, 2, "one for the agent, one for the child");
}

#[tokio::test]
async fn an_error_in_a_script_of_a_file_names_the_line_of_the_file() {
    let script = "function invoke(ctx)\n  if ctx.now() then\n    error('broken')\n  end\nend\n";
    let place = Place::new([
        ModelScript::call("call_1", "inside", json!({})),
        ModelScript::text("Done."),
    ]);
    place.tool(definition(json!({
        "name": "inside", "type": "luau", "lua": script,
        "$place": {"file": "tools/inside.yaml", "line": 7},
    })));
    let session = place.open().await;
    place.ask(&session, "go").await;
    let (status, text) = place.result("call_1");
    assert_eq!(
        (status, text.as_str()),
        (ToolStatus::Failed, "tools/inside.yaml:9: broken")
    );
}

#[tokio::test]
async fn agents_that_make_agents_come_to_an_end() {
    let script = "function invoke(ctx, args)
        local child = ctx.create_agent('deeper', {prompt = 'Go deeper.', tools = {'deeper'}})
        child:input('go')
        return child:collect()
    end";
    let most = agentx_types::MAX_AGENT_DEPTH;
    let calls = (0..=most).map(|at| ModelScript::call(&format!("call_{at}"), "deeper", json!({})));
    let ends = (0..=most).map(|at| ModelScript::text(&format!("Back from {at}.")));
    let place = Place::new(calls.chain(ends));
    place.tool(luau(
        "deeper",
        script,
        json!({"agents": ["*"], "tools": ["deeper"]}),
    ));
    let session = place.open().await;
    place.ask(&session, "go").await;
    let refused = "deeper:2: too_deep: agents can be nested at most 16 deep, and the agent that calls this tool is 16 deep";
    assert_eq!(
        place.result(&format!("call_{most}")),
        (ToolStatus::Failed, refused.to_owned())
    );
    assert_eq!(
        place.result("call_0"),
        (ToolStatus::Success, "Back from 15.".to_owned())
    );
    let made = |event: &EnvironmentEvent| matches!(event, EnvironmentEvent::AgentSpawned(_));
    assert_eq!(place.facts().into_iter().filter(made).count(), most as usize);
}

#[tokio::test]
async fn an_attached_model_answers_what_a_script_generates() {
    let models = BusModels::default();
    let asks = models.clone();
    let place = Place::with(FaultyLog::new(), [], |parts| ToolFactoryParts {
        models: Arc::new(asks),
        ..parts
    });
    models.connect(&place.parts().actions);
    let attached = ScriptedModel::new([
        ModelScript::call("call_1", "poem", json!({})),
        ModelScript::text("It rains."),
        ModelScript::text("Done."),
    ]);
    let _serving = SystemBus::of(&place.parts()).serve_models("test", Arc::new(attached.clone()));
    let script = "
        function invoke(ctx, args)
            return ctx.generate('writer', 'a poem')
        end";
    place.tool(luau("poem", script, json!({"models": ["writer"]})));
    let session = place.open().await;
    place.ask(&session, "a poem, please").await;
    assert_eq!(
        place.result("call_1"),
        (ToolStatus::Success, "It rains.".to_owned())
    );
    let asked: Vec<String> = attached
        .requests()
        .iter()
        .map(|request| request.model.id.clone())
        .collect();
    assert_eq!(asked, [fixture::MODEL, "writer", fixture::MODEL]);
    assert!(place.model.requests().is_empty());
}

#[tokio::test]
async fn a_script_reads_that_nobody_serves_its_model() {
    let models = BusModels::default();
    let asks = models.clone();
    let answers = [
        ModelScript::call("call_1", "poem", json!({})),
        ModelScript::text("Done."),
    ];
    let place = Place::with(FaultyLog::new(), answers, |parts| ToolFactoryParts {
        models: Arc::new(asks),
        ..parts
    });
    let script = "
        function invoke(ctx, args)
            return ctx.generate('writer', 'a poem')
        end";
    place.tool(luau("poem", script, json!({"models": ["writer"]})));
    models.connect(&ActionDispatcher::new());
    let session = place.open().await;
    place.ask(&session, "a poem, please").await;
    let (status, text) = place.result("call_1");
    assert_eq!(status, ToolStatus::Failed);
    assert!(text.contains("no runtime answers model calls"), "{text}");
}
