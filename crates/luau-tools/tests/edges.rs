//! The environment of a script: errors before it runs, time, cancelling, dropping, isolation, definitions.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{Answers, run, script, world};
use agentx_luau_tools::{
    BoxFuture, EffectKind, Host, HostEffect, Lanes, Libraries, Outcome, Reason, Script, ScriptLimits, check,
    types,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

#[test]
fn mistakes_have_line_and_column() {
    let table = [
        ("local x = 1\nlocal y = = 2", 2, 11, "Expected identifier"),
        ("function invoke(ctx, args)\n  return 1\n", 3, 1, "Expected 'end'"),
        ("local a\n  b c", 2, 3, "Incomplete statement"),
        ("break", 1, 1, "break"),
    ];
    for (source, line, column, words) in table {
        let mistake = check("x", source).unwrap_err();
        assert!(mistake.message.contains(words), "{source}: {mistake}");
        assert_eq!(
            (mistake.line, mistake.column),
            (line, column),
            "{source}: {mistake}"
        );
    }
    assert!(
        check(
            "x",
            "--!strict\nfunction invoke(ctx: any, args: { n: number }): number return args.n end"
        )
        .is_ok()
    );
    assert!(
        check("x", &"x".repeat(300_000))
            .unwrap_err()
            .message
            .contains("256 KiB")
    );
}

#[tokio::test]
async fn errors_name_script_and_line() {
    let table = [
        (
            "function invoke()\n  local x = nil\n  return x.y\nend",
            "test:3: attempt to index nil with 'y'",
        ),
        ("function invoke()\n  error('broken')\nend", "test:2: broken"),
        (
            "function invoke()\n  error({message = 'in a table'})\nend",
            "test:2: in a table",
        ),
        (
            "function invoke(ctx)\n\n  ctx.http.get(7)\nend",
            "test:3: http: the url must be a string, not number",
        ),
        (
            "function invoke(ctx)\n\n  ctx.emit(print)\nend",
            "test:3: emit: a function is not JSON (at chunk)",
        ),
        (
            "function invoke(ctx) return {a = {print}} end",
            "test: the result is not JSON: a function is not JSON (at a[1])",
        ),
        ("error('at the top')", "test:1: at the top"),
    ];
    for (source, want) in table {
        let (result, _) = run(source, json!({})).await;
        assert_eq!(result.unwrap_err().to_string(), want, "{source}");
    }
}

#[tokio::test]
async fn a_script_that_takes_too_much_memory_is_told_at_which_line() {
    let takes = "local t = {}\n while true do\n t[#t + 1] = string.rep('x', 100000) .. #t\n end";
    let table = [
        (format!("function invoke()\n {takes}\nend"), 4),
        (
            format!("local function more()\n {takes}\nend\nfunction invoke()\n more()\nend"),
            4,
        ),
        (
            "function invoke()\n local t = table.create(100, 1)\n while true do\n  t = table.move(t, 1, #t, #t + 1)\n end\nend"
                .to_owned(),
            4,
        ),
        (
            format!("function invoke()\n pcall(function()\n {takes}\n end)\nend"),
            2,
        ),
        // To the last byte: nothing is left for a request.
        (
            "function invoke()\n local t = {}\n for i = 1, 1e9 do\n  t[i] = ('x'):rep(1000) .. i\n end\nend".to_owned(),
            4,
        ),
    ];
    for (source, line, memory) in table
        .into_iter()
        .flat_map(|(source, line)| [4 << 20, 32 << 20].map(|memory| (source.clone(), line, memory)))
    {
        let limits = ScriptLimits {
            memory,
            ..ScriptLimits::default()
        };
        let script = script(&source);
        let run = script.invoke(json!({}), Arc::new(Silent), limits, CancellationToken::new());
        let error = run.await.unwrap_err();
        assert_eq!(
            (error.code().as_str(), error.line),
            ("limit_memory", Some(line)),
            "{error} {source}"
        );
    }
}

/// Never answers.
struct Silent;

impl Host for Silent {
    fn perform(&self, _: HostEffect) -> BoxFuture<'static, Outcome> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn time_and_cancelling_reach_a_script_that_waits_and_one_that_computes() {
    let waits = "function invoke(ctx)\n ctx.generate('m', 'p')\nend";
    let computes = "function invoke()\n while true do end\nend";
    let limits = ScriptLimits {
        wall: Duration::from_millis(600),
        cpu: Duration::from_secs(60),
        ..ScriptLimits::default()
    };
    for source in [waits, computes] {
        let began = Instant::now();
        let script = script(source);
        let run = script.invoke(
            json!({}),
            Arc::new(Silent),
            limits.clone(),
            CancellationToken::new(),
        );
        let error = run.await.unwrap_err();
        assert_eq!(
            (error.code().as_str(), error.line),
            ("limit_wall", Some(2)),
            "{error}"
        );
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        let run = script.invoke(json!({}), Arc::new(Silent), ScriptLimits::default(), cancel);
        let (result, ()) = tokio::join!(run, async move { stop.cancel() });
        assert_eq!(result.unwrap_err().reason, Reason::Cancelled);
    }
}

#[tokio::test]
async fn a_dropped_invocation_leaves_its_lane() {
    let lanes = Lanes::new(1);
    let source =
        "function invoke(ctx, args) if args.loop then while true do end end ctx.generate('m', 'p') end";
    let script = Script::compile_on(Arc::clone(&lanes), "dropped", source, Libraries::new()).unwrap();
    for args in [json!({"loop": true}), json!({"loop": false})] {
        let run = script.invoke(
            args,
            Arc::new(Silent),
            ScriptLimits::default(),
            CancellationToken::new(),
        );
        assert!(
            tokio::time::timeout(Duration::from_millis(50), run)
                .await
                .is_err()
        );
    }
    // The lane itself lets go of it.
    while lanes.runs() > 0 {
        tokio::task::yield_now().await;
    }
    let other =
        Script::compile_on(lanes, "other", "function invoke() return 1 end", Libraries::new()).unwrap();
    let result = other.invoke(
        json!({}),
        Arc::new(Silent),
        ScriptLimits::default(),
        CancellationToken::new(),
    );
    assert_eq!(result.await.unwrap(), json!(1));
}

#[tokio::test]
async fn runs_do_not_see_each_other() {
    let source = "counter = 0 local kept = {}
        function invoke(ctx, args)
            counter += 1 table.insert(kept, args.n)
            ctx.sleep(0.01)
            counter += 1 _G.leak = (_G.leak or 0) + 1
            return { counter, #kept, leak, args.n }
        end";
    let script = script(source);
    let runs = (0..50).map(|n| {
        let script = script.clone();
        async move {
            script
                .invoke(
                    json!({"n": n}),
                    Answers::new(world),
                    ScriptLimits::default(),
                    CancellationToken::new(),
                )
                .await
        }
    });
    let results = futures_util::future::join_all(runs).await;
    for (n, result) in results.into_iter().enumerate() {
        assert_eq!(result.unwrap(), json!([2, 1, 1, n]));
    }
}

#[tokio::test]
async fn arguments_and_depth_are_bounded() {
    let script = script("function invoke(ctx, args) return ctx.invoke('t', {}) end");
    let deep = (0..100).fold(Value::Null, |inner, _| json!([inner]));
    let run = |args, limits| script.invoke(args, Answers::new(world), limits, CancellationToken::new());
    assert_eq!(
        run(deep, ScriptLimits::default()).await.unwrap_err().code(),
        "arguments"
    );
    let limits = |at_depth| ScriptLimits {
        at_depth,
        depth: 3,
        ..ScriptLimits::default()
    };
    assert!(run(json!({}), limits(2)).await.is_ok());
    assert_eq!(run(json!({}), limits(3)).await.unwrap_err().code(), "limit_depth");
    assert_eq!(run(json!({}), limits(4)).await.unwrap_err().code(), "limit_depth");
}

#[test]
fn kinds_have_names_that_stay() {
    let names: Vec<&str> = EffectKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let frozen = "generate generate_json generate_stream http agent_create agent_input agent_next agent_collect agent_interrupt \
        agent_close state_get state_set emit log invoke sleep now random uuid kv_get kv_set kv_delete kv_list cache_get cache_set \
        cache_delete env stream_open stream_send stream_close_send stream_recv stream_close recv history_append history_recent \
        history_revert memory_get memory_set any ready";
    assert_eq!(names, frozen.split_whitespace().collect::<Vec<_>>());
}

#[tokio::test]
async fn definitions_are_luau_and_name_what_is_there() {
    let body: String = types()
        .lines()
        .filter(|line| !line.starts_with("declare "))
        .map(|line| format!("{line}\n"))
        .collect();
    check("agentx.d.luau", &body).unwrap();
    let fields = |name: &str| -> Vec<String> {
        let block = types()
            .split_once(&format!("export type {name} = {{\n"))
            .unwrap()
            .1;
        let block = block.split_once("\n}").unwrap().0;
        let lines = block
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with("--"));
        lines
            .filter_map(|line| Some(line.split_once(':')?.0.to_owned()))
            .collect()
    };
    for (name, list) in [
        ("Ctx", "ctx"),
        ("Http", "ctx.http"),
        ("Kv", "ctx.kv"),
        ("Json", "ctx.json"),
        ("Rt", "rt"),
    ] {
        let source = format!(
            "function invoke(ctx) local names = {{}} for name in {list} do table.insert(names, name) end table.sort(names) return names end"
        );
        let (there, _) = run(&source, json!({})).await;
        let mut defined = fields(name);
        defined.sort();
        assert_eq!(there.unwrap(), json!(defined), "{name}");
    }
}
