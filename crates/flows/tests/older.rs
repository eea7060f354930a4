//! Scripts of the older API's three vintages, as they were written for it, in real sessions: promises;
//! streams that are read without awaiting; whole texts with history and memory. Values that are kept with the
//! agent are available in another process.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::support::{Place, definition, luau};
use agentx_luau_tools::Libraries;
use agentx_testing::{FaultyLog, Gate, ModelScript, ServerReply, TestServer};
use agentx_types::{EnvironmentEvent, ToolStatus, Usage, UsageReport};
use serde_json::{Value, json};

macro_rules! older {
    ($name:literal) => {
        include_str!(concat!("older/", $name, ".luau"))
    };
}

/// Returns the grants of a script in these tests.
fn may() -> Value {
    json!({"models": ["*"], "tools": ["*"], "kv": ["notes"], "http": ["127.0.0.1"], "env": ["KEY"]})
}

fn place(answers: impl IntoIterator<Item = ModelScript>) -> Place {
    Place::with(FaultyLog::new(), answers, |mut parts| {
        parts.libraries = Libraries::new()
            .with("text.luau", older!("libs/text"))
            .with("web/init.luau", older!("libs/web/init"));
        parts
    })
}

/// Runs a script once in a session. Returns its result.
async fn run(
    script: &str,
    args: Value,
    answers: impl IntoIterator<Item = ModelScript>,
) -> (ToolStatus, Value, Place) {
    let first = [ModelScript::call("call_1", "script", args)];
    let place = place(
        first
            .into_iter()
            .chain(answers)
            .chain([ModelScript::text("Done.")]),
    );
    let shout = json!({"name": "shout", "type": "text_processor", "prompt": "Shout.", "model": "m"});
    let shout = place.tool(definition(shout));
    place.tool(luau("script", script, may()));
    let session = place.open().await;
    place.ask(&session, "go").await;
    session.close().await;
    drop(shout);
    let (status, text) = place.result("call_1");
    let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
    (status, value, place)
}

async fn gives(script: &str, args: Value, answers: impl IntoIterator<Item = ModelScript>, want: Value) {
    let (status, value, _) = run(script, args, answers).await;
    assert_eq!((status, value), (ToolStatus::Success, want));
}

#[tokio::test]
async fn a_promises_of_requests() {
    let server = TestServer::start([
        ServerReply::json(200, &json!({"temp": 21})),
        ServerReply::json(200, &json!({"temp": 21})),
    ])
    .await;
    let want = json!({
        "statuses": [200, 200], "temp": 21, "bad": "http: url is required", "bad_status": 0, "denied": true, "ready": true,
    });
    gives(older!("async_http"), json!({"url": server.url()}), [], want).await;
}

#[tokio::test]
async fn a_promises_of_time() {
    let want = json!({"cancelled": true, "first": true, "again": false, "fired": false, "any": false, "ready": true});
    gives(older!("async_sleep"), json!({}), [], want).await;
}

#[tokio::test]
async fn a_promises_of_chunks() {
    let want = json!({"text": "one two", "nobody": true});
    let answers = [ModelScript::new().then_pieces(&["one ", "two"])];
    gives(older!("async_generate"), json!({}), answers, want).await;
}

#[tokio::test]
async fn a_promise_of_what_is_not_sent_yet() {
    let want = json!({"first": "QUIET", "eos": true, "over": true});
    gives(
        older!("async_transform"),
        json!({}),
        [ModelScript::text("QUIET")],
        want,
    )
    .await;
}

#[tokio::test]
async fn b_a_stream_of_a_model() {
    let want = json!({"text": "one two", "some": true});
    let answers = [ModelScript::new().then_pieces(&["one ", "two"])];
    let asked = json!({"model": "writer", "prompt": "count"});
    gives(older!("generate_stream"), asked.clone(), answers, want).await;
    let (status, said, _) = run(older!("generate_stream"), json!({"model": "", "prompt": "x"}), []).await;
    assert_eq!(
        (status, said),
        (ToolStatus::Failed, json!("script: generate: model is required"))
    );
}

#[tokio::test]
async fn b_transformers_of_text_are_tools_and_models() {
    let answers = || [ModelScript::text("HELLO"), ModelScript::text("WORLD")];
    let want = json!({"said": "s1:HELLO. -:WORLD", "refused": true, "closed": true});
    gives(older!("transform"), json!({"name": "shout"}), answers(), want).await;
    let want = json!({"said": "s1:HELLO s1:. -:WORLD", "refused": true, "closed": true});
    let asked = json!({"name": "text", "model": "m"});
    let (status, value, place) = run(older!("transform"), asked, answers()).await;
    assert_eq!((status, value), (ToolStatus::Success, want));
    let requests = place.model.requests();
    let said: Vec<String> = requests[1..3]
        .iter()
        .map(|request| request.messages[0].text())
        .collect();
    assert_eq!(said, ["hello", "world"]);
    assert_eq!(requests[1].system[0].as_ref(), "Shout.");
}

#[tokio::test]
async fn b_sound_is_refused_in_words_that_name_what_is_missing() {
    for (name, model, missing) in [
        ("tts", "speech-01", "no speech synthesis"),
        ("minimax/tts", "", "no speech synthesis"),
        ("asr", "m", "no speech recognition"),
        ("text", "whisper-1", "no speech recognition"),
        ("openai_realtime", "m", "no realtime model"),
    ] {
        let (status, said, _) = run(older!("sound"), json!({"name": name, "model": model}), []).await;
        let said = said.as_str().unwrap().to_owned();
        assert_eq!(status, ToolStatus::Failed, "{name}: {said}");
        assert!(
            said.contains("unavailable") && said.contains(missing) && said.contains("text_processor"),
            "{name}: {said}"
        );
    }
    let (_, said, _) = run(older!("sound"), json!({"name": "nobody", "model": ""}), []).await;
    assert!(said.as_str().unwrap().contains("not_found"), "{said}");
}

#[tokio::test]
async fn c_whole_texts() {
    let want = json!(["One.", "Two again.", true, true, "model is required"]);
    let answers = [ModelScript::text("One."), ModelScript::text("Two again.")];
    gives(older!("generate_text"), json!({}), answers, want).await;
}

#[tokio::test]
async fn all_have_the_builtins_the_cache_keys_and_libraries() {
    let want = json!({
        "text": "{\"a\":[1,2]}", "bad": true, "time": true, "uuid": 36, "env": true, "not_granted": true, "date": 1_704_067_200,
    });
    gives(older!("builtins"), json!({}), [], want).await;
    let want = json!({"empty": true, "short": true, "got": "hi", "gone": true});
    gives(older!("cache"), json!({}), [], want).await;
    let want = json!({"n": 1, "b": "text", "gone": true});
    gives(older!("kvs"), json!({}), [], want).await;
    let want = json!({"shout": "HI!", "again": true, "page": "<X!>", "outside": false});
    gives(older!("libs"), json!({}), [], want).await;
}

/// Makes several calls in a session; a new process takes over before each.
async fn in_processes(script: &str, inputs: &[Value]) -> Vec<Value> {
    let log = FaultyLog::new();
    let mut said = Vec::new();
    for (n, input) in inputs.iter().enumerate() {
        let id = format!("call_{n}");
        let answers = [
            ModelScript::call(&id, "script", input.clone()),
            ModelScript::text("Done."),
        ];
        let place = Place::on(log.clone(), answers);
        place.tool(luau("script", script, may()));
        let session = if n == 0 {
            place.open().await
        } else {
            place.resume().await
        };
        place.ask(&session, "go").await;
        session.close().await;
        let (status, text) = place.result(&id);
        assert_eq!(status, ToolStatus::Success, "{text}");
        said.push(serde_json::from_str(&text).unwrap());
    }
    said
}

#[tokio::test]
async fn c_state_history_and_memory_are_kept_with_the_agent() {
    let said = in_processes(older!("state"), &[json!({}), json!({})]).await;
    assert_eq!(said[1], json!({"count": 2, "last": {"at": 2}, "gone": true}));
    let inputs = [
        json!({"text": "a"}),
        json!({"text": "b", "n": 3}),
        json!({"take_back": true}),
    ];
    let said = in_processes(older!("history"), &inputs).await;
    assert_eq!(
        said[1],
        json!({"lines": ["assistant: you said a", "user: b", "assistant: you said b"], "wrong": true})
    );
    assert_eq!(
        said[2],
        json!({"lines": ["user: a", "assistant: you said a"], "wrong": true})
    );
    let said = in_processes(older!("memory"), &[json!({"text": "a"}), json!({"text": "b"})]).await;
    assert_eq!(said[1], json!({"before": "a;", "now": "a;b;"}));
}

#[tokio::test]
async fn an_answer_that_a_script_closed_is_paid_for_as_far_as_it_came() {
    let usage = Usage {
        input_tokens: 7,
        ..Usage::default()
    };
    let gate = Gate::closed();
    let begun = ModelScript::new()
        .then([UsageReport { usage }])
        .then_text("It ra")
        .then_stall(&gate);
    let place = Place::new([
        ModelScript::call("call_1", "poem", json!({})),
        begun,
        ModelScript::text("Done."),
    ]);
    let script = "function invoke(ctx, args)
        local stream = rt:generate('writer', { messages = { { role = 'user', content = 'a poem' } } })
        local chunk = stream:recv()
        stream:close()
        return chunk
    end";
    place.tool(luau("poem", script, json!({"models": ["writer"]})));
    let session = place.open().await;
    place.ask(&session, "a poem, please").await;
    let (status, said) = place.result("call_1");
    assert_eq!(status, ToolStatus::Success, "{said}");
    assert!(said.contains("It ra"), "{said}");
    let paid = place.facts().into_iter().find_map(|event| match event {
        EnvironmentEvent::EffectEnded(ended) => ended.bill.map(|bill| bill.usage.input_tokens),
        _ => None,
    });
    assert_eq!(paid, Some(7));
}
