//! Every failure of a script names its place: the script, the line, and the problem, for any error from any
//! source.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use crate::support::{Answers, world};
use agentx_luau_tools::{Libraries, Script, ScriptLimits};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Returns the error of a script whose function has this text; its first line is line 2.
async fn fails(body: &str) -> String {
    let source = format!("function invoke(ctx, args)\n{body}\nend");
    let libraries = Libraries::new()
        .with(
            "m.luau",
            "local m = {}\nfunction m.f()\n  error({1})\nend\nreturn m",
        )
        .with("top.luau", "\nerror({})\nreturn 1");
    let script = Script::compile("t", &source, libraries).unwrap();
    let limits = ScriptLimits {
        cpu: std::time::Duration::from_millis(300),
        ..ScriptLimits::default()
    };
    let run = script.invoke(json!({}), Answers::new(world), limits, CancellationToken::new());
    match run.await {
        Ok(value) => format!("no failure: {value}"),
        Err(error) => error.to_string(),
    }
}

async fn all(table: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (body, want) in table {
        let said = fails(body).await;
        if said != *want {
            wrong.push(format!("{body}\n  said: {said}\n  want: {want}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn errors_of_every_type_name_the_line_where_they_were_raised() {
    all(&[
        ("error('a')", "t:2: a"),
        ("error('a', 0)", "t:2: a"),
        ("error(42)", "t:2: 42"),
        ("\nerror(nil)", "t:3: an error without a message"),
        ("error('')", "t:2: an error without a message"),
        ("error(false)", "t:2: an error that is a boolean"),
        ("error(print)", "t:2: an error that is a function"),
        ("error({message = 'm'})", "t:2: m"),
        ("error({code = 1})", "t:2: {\"code\":1}"),
        ("error({})", "t:2: an error that is a table without a `message`"),
        ("assert(false)", "t:2: assertion failed!"),
        ("local ok, e = pcall(error, {a = 1})\nerror(e)", "t:3: {\"a\":1}"),
        (
            "local function f()\nerror({}, 2)\nend\nf()",
            "t:3: an error that is a table without a `message`",
        ),
    ])
    .await;
}

#[tokio::test]
async fn errors_of_the_library_name_the_line_that_called_it() {
    all(&[
        ("local t = table.create(1e9, 0)", "t:2: table overflow"),
        ("return ('x'):rep(2e9)", "t:2: resulting string too large"),
        (
            "return ('x'):rep(1e10)",
            "t:2: string.rep: the text would be too large",
        ),
        (
            "return string.format('%d', 'x')",
            "t:2: invalid argument #2 to 'format' (number expected, got string)",
        ),
        ("return ('x'):match('[a')", "t:2: malformed pattern (missing ']')"),
        (
            "return (('x'):gsub('[', ''))",
            "t:2: malformed pattern (missing ']')",
        ),
        (
            "\ntable.sort({1, 2, 'x'})",
            "t:3: attempt to compare string < number",
        ),
        (
            "setmetatable('', {})",
            "t:2: invalid argument #1 to 'setmetatable' (table expected, got string)",
        ),
        (
            "local function r()\nreturn (('x'):gsub('x', r))\nend\nreturn r()",
            "t:3: stack overflow",
        ),
        (
            "local t\nt = setmetatable({}, {__index = function()\nreturn t.x\nend})\nreturn t.x",
            "t:4: C stack overflow",
        ),
        (
            "local function r(n)\nreturn 1 + r(n)\nend\nreturn r(1)",
            "t:3: stack overflow",
        ),
        (
            "return buffer.create(1e9)",
            "t:2: the script needs more than 32 MiB of memory (limit memory)",
        ),
    ])
    .await;
}

#[tokio::test]
async fn errors_of_libraries_coroutines_and_tasks_name_a_line_too() {
    all(&[
        ("return require('m').f()", "t (libs/m.luau):3: [1]"),
        (
            "return require('top')",
            "t (libs/top.luau):2: an error that is a table without a `message`",
        ),
        (
            "coroutine.wrap(function()\nlocal x\nx.y = 1\nend)()",
            "t:4: attempt to index nil with 'y'",
        ),
        (
            "local c = coroutine.wrap(function() end)\nc()\nc()",
            "t:4: cannot resume dead coroutine",
        ),
        (
            "local p = ctx.async(function()\nerror('in it')\nend)\np:await()",
            "t:3: in it",
        ),
        // An error value that is not a string has no place itself: it gets that of the waiting code.
        (
            "local p = ctx.async(function()\nerror({})\nend)\np:await()",
            "t:5: an error that is a table without a `message`",
        ),
        (
            "ctx.await_all(ctx.async(function()\nerror({message = 'm'})\nend))",
            "t:2: m",
        ),
        ("ctx.await_any(ctx.async(error, 'x', 0))", "t:2: x"),
        ("ctx.timeout(9, error, {message = 'm'})", "t:2: m"),
        (
            "ctx.http.get('http://denied/')",
            "t:2: denied: http://denied/ is not allowed",
        ),
        (
            "while true do\nend",
            "t:2: the script computed for more than 300ms (limit cpu)",
        ),
    ])
    .await;
}

#[tokio::test]
async fn what_was_caught_is_not_taken_for_where_it_ended() {
    all(&[(
        "pcall(error, {})\nctx.async(error, {})\nctx.sleep(0)\nrt:output(nil, 'told')",
        "t: told",
    )])
    .await;
    let script = Script::compile(
        "t",
        "local r = rt:input()\nrt:output(nil, 'told')",
        Libraries::new(),
    )
    .unwrap();
    let run = script.invoke(
        json!({}),
        Answers::new(world) as Arc<_>,
        ScriptLimits::default(),
        CancellationToken::new(),
    );
    assert_eq!(run.await.unwrap_err().to_string(), "t: told");
}
