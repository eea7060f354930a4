//! The older API in its three vintages: promises, synchronous streams that end with an error, and whole
//! texts.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Answers, run, script, world};
use agentx_luau_tools::{EffectError, EffectKind, HostEffect, Libraries, Outcome, Script, ScriptLimits};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Streams of three chunks; the transformer `none` and the model `none` do not exist.
fn streams() -> impl Fn(&HostEffect) -> Outcome + Send + Sync {
    let count = AtomicUsize::new(0);
    move |effect| match effect.kind {
        EffectKind::StreamRecv | EffectKind::Recv => Ok(match count.fetch_add(1, Ordering::Relaxed) {
            0 => json!({"chunk": {"part": "one "}}),
            1 => json!({"chunk": {"part": {"type": "text", "value": "two"}}}),
            2 => json!({"chunk": {"part": {"type": "blob", "data": {"$bytes": "//79"}}, "is_eos": false}}),
            _ => Value::Null,
        }),
        EffectKind::GenerateStream | EffectKind::StreamOpen
            if effect.request.to_string().contains("none") =>
        {
            Err(EffectError::new("not_found", "generator not configured"))
        }
        _ => world(effect),
    }
}

async fn result(source: &str, input: Value) -> Result<Value, String> {
    let host = Answers::new(streams());
    let result = script(source)
        .invoke(input, host, ScriptLimits::default(), CancellationToken::new())
        .await;
    result.map_err(|error| error.to_string())
}

#[tokio::test]
async fn promises() {
    let source = r#"
        local p = rt:http({ url = "https://a", timeout = 10 })
        local got, err = p:await()
        local none, why = rt:http({}):await()
        local results = rt:await_all(rt:timeout(3), rt:sleep(1), rt:timeout(2)):await()
        local any = rt:await_any(rt:timeout(900), rt:sleep(1)):await()
        local nothing = rt:await_any():await()
        local handle = rt:timeout(90000)
        local was = handle:cancel()
        local value, problem = rt:json_decode("{")
        rt:output({
            status = got.status, err = err, ready = p:is_ready(), why = why, first = results[1].cancelled,
            empty = #rt:await_all():await(), any = any == nil, nothing = nothing == nil,
            was = was, cancelled = handle:await().cancelled, again = handle:cancel(),
            value = value == nil, problem = problem ~= nil, text = rt:json_encode({ 1 }),
        }, nil)
    "#;
    let want = json!({
        "status": 200, "ready": true, "why": "http: url is required", "first": false, "empty": 0, "any": true, "nothing": true,
        "was": true, "cancelled": true, "again": false, "value": true, "problem": true, "text": "[1]",
    });
    let got = result(source, json!({})).await.unwrap();
    assert_eq!(got, want);
}

#[tokio::test]
async fn streams_that_are_awaited() {
    let source = r#"
        local stream, err = rt:generate("m", { system = "s", messages = { { role = "user", content = "c" } } })
        local n = 0
        while true do
            local chunk, problem = stream:recv():await()
            if chunk == nil then
                assert(problem == nil)
                break
            end
            n += 1
        end
        stream:close()
        rt:output(n, err)
    "#;
    assert_eq!(result(source, json!({})).await.unwrap(), json!(3));
}

#[tokio::test]
async fn streams_that_end_with_an_error() {
    let source = r#"
        local input = rt:input()
        local stream, err = rt:transformer(input.name, { model = "x" })
        if err then
            rt:output(nil, "no: " .. err)
            return
        end
        assert(stream:send({ part = "text", is_bos = true }) == nil)
        stream:close_send()
        local parts, bytes = {}, 0
        while true do
            local chunk, problem = stream:recv()
            if problem then
                if problem ~= "EOF" and problem ~= "stream EOF" then error(problem) end
                break
            end
            if type(chunk.part) == "string" then
                table.insert(parts, chunk.part)
            elseif chunk.part.data then
                bytes += #chunk.part.data
            else
                table.insert(parts, chunk.part.value)
            end
        end
        stream:close()
        rt:output({ text = table.concat(parts), bytes = bytes }, nil)
    "#;
    let got = result(source, json!({"name": "tts"})).await;
    assert_eq!(got.unwrap(), json!({"text": "one two", "bytes": 3}));
    let refused = result(source, json!({"name": "none"})).await.unwrap_err();
    assert_eq!(refused, "test: no: not_found: generator not configured");
}

#[tokio::test]
async fn whole_texts_state_history_and_memory() {
    let source = r#"
        local text, err = rt:generate("m", "p")
        local whole = rt:generate_with_context("m", { messages = {} })
        local none, why = rt:generate("", "p")
        rt:state_set("x", 42)
        rt:state_delete("gone")
        rt:history_append({ role = "user", content = "hi" })
        local messages = rt:history_recent(10)
        rt:history_revert()
        rt:memory_set_summary("s")
        rt:output({ text, whole, why, rt:state_get("x"), rt:state_get("gone") == nil, #messages, (rt:memory_summary()) }, nil)
    "#;
    let want = json!(["m: p", "one two", "model is required", 42, true, 1, "a summary"]);
    assert_eq!(result(source, json!({})).await.unwrap(), want);
}

#[tokio::test]
async fn an_agent_reads_and_emits() {
    let source = r#"
        local n = 0
        while true do
            local chunk, err = rt:recv()
            if chunk == nil then break end
            n += 1
            assert(rt:emit({ part = { type = "text", value = "echo" } }) == nil)
        end
        return { invoke = function() return n end }
    "#;
    assert_eq!(result(source, json!({})).await.unwrap(), json!(3));
}

#[tokio::test]
async fn builtins() {
    let source = r#"
        __builtin.log("a", 1, nil)
        rt:log("error", "b", true)
        local got = __builtin.http({ url = "https://a", method = "post" })
        local denied = __builtin.http({ url = "https://denied" })
        __builtin.kvs_set("k", { a = 1 })
        __builtin.cache_set("c", "v", 60)
        rt:output({
            got.status, denied.err, __builtin.kvs_get("k") == nil, rt:cache_get("c") == nil, rt:cache_del("c") == nil,
            __builtin.time(), __builtin.uuid(), rt:env("A"), rt:parse_time("2024-01-01T08:00:00+08:00"), rt:parse_time("x") == nil,
        })
    "#;
    let (got, log) = run(source, json!({})).await;
    let want = json!([
        200,
        "denied: https://denied is not allowed",
        true,
        true,
        true,
        1_700_000_000.5,
        "00000000-0000-4000-8000-000000000001",
        "value of A",
        1_704_067_200,
        true,
    ]);
    assert_eq!(got.unwrap(), want);
    assert_eq!(
        log[..3],
        [
            r#"log {"level":"info","message":"a 1 nil"}"#,
            r#"log {"level":"error","message":"b true"}"#,
            r#"http {"method":"POST","timeout_ms":30000,"url":"https://a"}"#,
        ]
    );
}

#[tokio::test]
async fn outputs_that_are_missing_or_errors() {
    let missing = result("local x = rt:input()", json!({})).await.unwrap_err();
    assert!(missing.contains("there is no result"), "{missing}");
    let failed = result("rt:output(nil, 'bad input')", json!({}))
        .await
        .unwrap_err();
    assert_eq!(failed, "test: bad input");
}

#[tokio::test]
async fn libraries_are_required_by_their_rules() {
    let libraries = Libraries::new()
        .with(
            "text.luau",
            "local t = {} function t.up(s) return string.upper(s) end loaded = (loaded or 0) + 1 return t",
        )
        .with(
            "web/init.luau",
            "local text = require('text') return { hi = function() return text.up('hi') end }",
        )
        .with("web/part", "return require('web/other')")
        .with("web/other", "return { back = require('web/part') == nil }")
        .with("types.d.luau", "this is not code");
    let source = "function invoke(ctx, args)
        local a, b = require('text'), require('text')
        return { require('web').hi(), a == b, loaded, require('web/part').back, (pcall(require, 'types')) }
    end";
    let script = Script::compile("libs", source, libraries.clone()).unwrap();
    let host = Answers::new(world);
    let got = script.invoke(
        json!({}),
        host.clone(),
        ScriptLimits::default(),
        CancellationToken::new(),
    );
    assert_eq!(got.await.unwrap(), json!(["HI", true, 1, true, false]));
    assert!(host.log()[0].contains("requires itself"));
    let other = Script::compile("libs", source, libraries.with("more", "return 1")).unwrap();
    assert_ne!(other.hash(), script.hash());
}

#[tokio::test]
async fn a_library_that_is_no_script_harms_only_who_requires_it() {
    let libraries = Libraries::new()
        .with("bad", "\nx =")
        .with("good", "return 1")
        .with("long", " ".repeat(300 << 10));
    let source = "function invoke(ctx, args)
        local _, bad = pcall(require, 'bad')
        local _, long = pcall(require, 'long')
        return { require('good'), bad, long }
    end";
    let script = Script::compile("libs", source, libraries).unwrap();
    let called = script.invoke(
        json!({}),
        Answers::new(world),
        ScriptLimits::default(),
        CancellationToken::new(),
    );
    let got = called.await.unwrap();
    let said = |index: usize| got[index].as_str().unwrap().to_owned();
    assert_eq!(got[0], json!(1));
    assert!(said(1).contains("libs/bad.luau:2: "), "{got}");
    assert!(
        said(2).contains("libs/long.luau: the text has more than"),
        "{got}"
    );
}
