//! `ctx`, function by function: the requests to the host, and the results for the script.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support::run;
use serde_json::{Value, json};

/// A body of `invoke`, its result, and its effects.
type Case = (&'static str, Value, &'static [&'static str]);

async fn check(cases: &[Case]) {
    for (body, want, effects) in cases {
        let source = format!("--!strict\nfunction invoke(ctx, args)\n{body}\nend");
        let (result, log) = run(&source, json!({"city": "北京", "n": 3})).await;
        assert_eq!(result.as_ref().map_err(ToString::to_string), Ok(want), "{body}");
        assert_eq!(&log, effects, "{body}");
    }
}

#[tokio::test]
async fn models_and_web() {
    check(&[
        (
            "return ctx.generate('m', 'p') .. '|' .. ctx:generate('m', 'q')",
            json!("m: p|m: q"),
            &[r#"generate {"model":"m","prompt":"p"}"#, r#"generate {"model":"m","prompt":"q"}"#],
        ),
        (
            "return ctx.generate_json('m', 'p', {type = 'object'}).answer",
            json!("p"),
            &[r#"generate_json {"model":"m","prompt":"p","schema":{"type":"object"}}"#],
        ),
        (
            "local r = ctx.http.get('https://a', {city = args.city}) return {r.status, r.data.temp, r.json.temp, r.headers.x}",
            json!([200, 21, 21, "y"]),
            &[r#"http {"method":"GET","query":{"city":"北京"},"url":"https://a"}"#],
        ),
        (
            "local r = ctx.http:get('https://a', {query = {a = 1}, headers = {b = 'c'}, timeout = 1.5}) return r.status",
            json!(200),
            &[r#"http {"headers":{"b":"c"},"method":"GET","query":{"a":1},"timeout_ms":1500,"url":"https://a"}"#],
        ),
        (
            "return ctx.http.post('https://a', {x = 1}).status + ctx.http.post('https://a', 'text').status",
            json!(400),
            &[
                r#"http {"json":{"x":1},"method":"POST","url":"https://a"}"#,
                r#"http {"body":"text","method":"POST","url":"https://a"}"#,
            ],
        ),
        (
            "local ok, e = pcall(ctx.http.get, 'https://denied') return {ok, e}",
            json!([false, "tool:3: denied: https://denied is not allowed"]),
            &[r#"http {"method":"GET","url":"https://denied"}"#],
        ),
    ])
    .await;
}

#[tokio::test]
async fn agents_and_tools() {
    check(&[
        (
            "local a = ctx.create_agent('writer', {prompt = 'p'})
             a:input('one') a:send('two')
             local o = a:collect() local t = a:collect({raw = true})
             for chunk in a:iter() do error('no chunk') end
             a:interrupt() a:close()
             return {o.a[2], t}",
            json!([2, " {\"a\": [1, 2]} "]),
            &[
                r#"agent_create {"config":{"prompt":"p"},"name":"writer"}"#,
                r#"agent_input {"agent":"agt_1","input":"one"}"#,
                r#"agent_input {"agent":"agt_1","input":"two"}"#,
                r#"agent_collect {"agent":"agt_1"}"#,
                r#"agent_collect {"agent":"agt_1"}"#,
                r#"agent_next {"agent":"agt_1"}"#,
                r#"agent_interrupt {"agent":"agt_1"}"#,
                r#"agent_close {"agent":"agt_1"}"#,
            ],
        ),
        (
            "ctx.emit({type = 'x', part = 'y'}) ctx:emit('z') return ctx.invoke('t', {1, 2}).args[2]",
            json!(2),
            &[
                r#"emit {"chunk":{"part":"y","type":"x"}}"#,
                r#"emit {"chunk":"z"}"#,
                r#"invoke {"args":[1,2],"tool":"t"}"#,
            ],
        ),
    ])
    .await;
}

#[tokio::test]
async fn state_is_read_once_and_written_through() {
    check(&[(
        "ctx.state.count += 1
             table.insert(ctx.state.list, 'b')
             ctx.state.gone = nil
             ctx.state.count = 2
             local names = {}
             for k, v in ctx.state do table.insert(names, k) end
             return names",
        json!(["count", "list"]),
        &[
            "state_get {}",
            r#"state_set {"key":"count","value":2}"#,
            r#"state_set {"key":"gone","value":null}"#,
            r#"state_set {"key":"list","value":["a","b"]}"#,
        ],
    )])
    .await;
}

#[tokio::test]
async fn time_numbers_and_keys() {
    check(&[
        (
            "ctx.sleep(0.001) return {ctx.now(), ctx.uuid(), ctx.env('A')}",
            json!([1_700_000_000.5, "00000000-0000-4000-8000-000000000001", "value of A"]),
            &[r#"sleep {"ms":1}"#, "now {}", "uuid {}", r#"env {"name":"A"}"#],
        ),
        (
            "local a, b = ctx.random(10), math.random() math.randomseed(1) local c = math.random(6)
             return a >= 1 and a <= 10 and b < 1 and c <= 6",
            json!(true),
            &["random {}"],
        ),
        (
            "ctx.kv.set('k', {1}) ctx.kv.delete('k') return {ctx.kv.get('k') == nil, ctx.kv.list('p')}",
            json!([true, ["a", "b"]]),
            &[
                r#"kv_set {"key":"k","value":[1]}"#,
                r#"kv_delete {"key":"k"}"#,
                r#"kv_get {"key":"k"}"#,
                r#"kv_list {"prefix":"p"}"#,
            ],
        ),
        (
            "ctx.log('warn', 'a', 1, {b = 2}) ctx.log('just this') print('x', nil, true) return ctx.parse_time('2024-01-01')",
            json!(1_704_067_200),
            &[
                r#"log {"level":"warn","message":"a 1 {\"b\":2}"}"#,
                r#"log {"level":"info","message":"just this"}"#,
                r#"log {"level":"info","message":"x nil true"}"#,
            ],
        ),
        (
            "local j = ctx.json.decode('{\"a\": null, \"b\": [], \"c\": {}}')
             return {j.a == ctx.json.null, ctx.json.encode(j), ctx.json.encode({z = 1, y = ctx.json.null, x = ctx.json.array()})}",
            json!([true, r#"{"a":null,"b":[],"c":{}}"#, r#"{"x":[],"y":null,"z":1}"#]),
            &[],
        ),
        (
            "return string.char(255, 254) .. ctx.json.decode('{\"$bytes\": \"/w==\"}')",
            json!({"$bytes": "//7/"}),
            &[],
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_task_that_fails_and_that_nobody_awaits_is_told() {
    check(&[
        (
            "ctx.async(function()
               error('lost')
             end)
             ctx.invoke_async('t', {}):await()
             local kept = ctx.async(function() error('kept') end)
             local more = {ctx.async(error, 'one'), ctx.async(error, 'two')}
             pcall(ctx.await_all, more)
             ctx.sleep(0)
             return pcall(kept.await, kept)",
            json!(false),
            &[
                r#"invoke {"args":{},"tool":"t"}"#,
                r#"sleep {"ms":0}"#,
                r#"log {"level":"warn","message":"the task begun at tool:3 failed, and nobody awaited it: tool:4: lost"}"#,
            ],
        ),
        (
            "for i = 1, 200 do
               pcall(function() ctx.async(error, 'heard'):await() end)
             end
             ctx.async(function() error('lost') end)
             ctx.sleep(0)
             return 1",
            json!(1),
            &[
                r#"sleep {"ms":0}"#,
                r#"log {"level":"warn","message":"the task begun at tool:6 failed, and nobody awaited it: tool:6: lost"}"#,
            ],
        ),
    ])
    .await;
}

#[tokio::test]
async fn several_effects_at_once() {
    check(&[
        (
            "local a = ctx.async(ctx.generate, 'm', 'a')
             local b = ctx.generate_async('m', 'b')
             local x, y = ctx.await_all(a, b)
             return {x, y, ctx.await_all({a, b})[2], a:await(), a:is_ready()}",
            json!(["m: a", "m: b", "m: b", "m: a", true]),
            &[
                r#"generate {"model":"m","prompt":"a"}"#,
                r#"generate {"model":"m","prompt":"b"}"#,
                r#"any {"of":[1,2]}"#,
            ],
        ),
        (
            "local v, i = ctx.await_any(ctx.async(function() ctx.sleep(5) return 'slow' end), ctx.async(function() ctx.sleep(0) return 'fast' end))
             return {v, i}",
            json!(["fast", 2]),
            &[r#"sleep {"ms":5000}"#, r#"sleep {"ms":0}"#, r#"any {"of":[1,2]}"#],
        ),
        (
            "local ok, e = pcall(ctx.timeout, 0.001, function() ctx.sleep(9) end)
             return {ok, e, ctx.timeout(9, function() return 1, 2 end)}",
            json!([false, "tool:3: timeout: not done after 0.001 s", 1, 2]),
            &[
                r#"sleep {"ms":1}"#,
                r#"sleep {"ms":9000}"#,
                r#"any {"of":[1,2]}"#,
                r#"sleep {"ms":9000}"#,
            ],
        ),
        (
            "local ok, e = pcall(ctx.await_all, ctx.async(function() error({code = 7}) end)) return e.code",
            json!(7),
            &[],
        ),
        (
            "local co = coroutine.wrap(function() coroutine.yield(ctx.generate('m', 'in')) return 'end' end)
             return {co(), co()}",
            json!(["m: in", "end"]),
            &[r#"generate {"model":"m","prompt":"in"}"#],
        ),
    ])
    .await;
}
