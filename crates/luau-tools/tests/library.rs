//! Functions of the library that are written in Luau behave like those of the VM.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support::{Answers, world};
use agentx_luau_tools::{Libraries, Script, ScriptLimits};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

async fn value(body: &str) -> Value {
    let text = format!("function invoke(ctx, args)\n{body}\nend");
    let script = Script::compile("t", &text, Libraries::new()).unwrap();
    let limits = ScriptLimits {
        cpu: std::time::Duration::from_secs(60),
        // The results are compared here. A slow machine may need longer for a call than a turn has.
        turn: std::time::Duration::from_secs(30),
        ..ScriptLimits::default()
    };
    let run = script.invoke(json!({}), Answers::new(world), limits, CancellationToken::new());
    run.await.unwrap()
}

/// Short texts with a text as replacement are replaced by the VM; with a function, and long ones, in Luau.
#[tokio::test]
async fn gsub_replaces_what_the_vm_replaces() {
    let body = r#"
    local texts = { "", "a", "abc", "hello world", "  two  spaces ", "k=v, x=y", "THE (quick) fox", "a.b.c", "\0x\0" }
    local patterns = {
        "", ".", "%w", "%w*", "%w+", "%s*", "^%w", "^", "$", "%w$", "(%w)(%w)", "()", "(%w+)=(%w+)", "%f[%w]%w+", "%b()", "[^,]*", "o-", "x?",
        ".-", "(.)%1", "^(%s*)", "%.", "a", "bc",
    }
    local count = 0
    for _, text in texts do
        for _, pattern in patterns do
            for _, most in { 0, 1, 2, 100 } do
                local want, times = text:gsub(pattern, "<%0|%1%%>", most)
                local calls = 0
                local kept, again = text:gsub(pattern, function() calls += 1 end, most)
                assert(kept == text and again == times and calls == times, pattern)
                if not pattern:find("(", 1, true) then
                    local same = text:gsub(pattern, function(whole) return "<" .. whole .. "|" .. whole .. "%>" end, most)
                    assert(same == want, pattern .. " in " .. text .. ": " .. same)
                end
                count += 1
            end
            local long = (text .. "\n"):rep(70000 // (#text + 1) + 1)
            if pattern:sub(1, 1) ~= "^" then
                local want = long:gsub(pattern, function(first) return "[" .. first .. "]" end, 50)
                assert(long:gsub(pattern, "[%1]", 50) == want, pattern .. " in a long text")
                assert(long:gsub(pattern, setmetatable({}, { __index = function(_, first) return "[" .. first .. "]" end }), 50) == want, pattern)
            end
        end
    end
    return count"#;
    assert_eq!(value(body).await, json!(9 * 24 * 4));
}

#[tokio::test]
async fn gsub_refuses_what_the_vm_refuses() {
    let body = r#"
    local long = ("a"):rep(70000)
    local function problem(...) return (select(2, pcall(string.gsub, ...))) end
    return {
        problem("a", "a", function() return {} end), problem(long, "a", "%2"), problem(long, "a", "%x"), problem("a", "a"),
        problem(nil, "a", "b"), (long:gsub("a", "%1", 1)):sub(1, 2), select(2, long:gsub("a", "%%")), (("1"):gsub(1, 2)), ((string.gsub(12, 2, function() return 3 end))),
    }"#;
    let said = value(body).await.to_string();
    for words in [
        "invalid replacement value (a table)",
        "invalid capture index",
        "invalid use of '%' in replacement string",
        "string/function/table expected",
        "string expected, got nil",
        "\"aa\",70000",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[tokio::test]
async fn sort_sorts_and_keeps_the_order_of_what_is_equal() {
    let body = r#"
    local seed = 1
    local function random(most) seed = seed * 16807 % 2147483647 return seed % most end
    for n = 0, 130 do
        local t, numbers = {}, {}
        for i = 1, n do t[i] = { key = random(20), at = i } numbers[i] = t[i].key end
        table.sort(t, function(a, b) return a.key > b.key end)
        table.sort(numbers)
        for i = 1, n do
            assert(t[i].key == numbers[n + 1 - i])
            assert(i == 1 or t[i - 1].key ~= t[i].key or t[i - 1].at < t[i].at)
        end
    end
    local many = {}
    for i = 1, 70000 do many[i] = i * 7919 % 70001 end
    table.sort(many)
    for i = 1, 70000 do assert(many[i] == i) end
    local texts = { ("b"):rep(100), ("a"):rep(100), "c" }
    table.sort(texts)
    assert(texts[1]:sub(1, 1) == "a" and texts[3] == "c")
    local mixed = { pcall(table.sort, { 1, "x", {} }) }
    local frozen = { pcall(table.sort, table.freeze({ 2, 1 })) }
    local waited = { 3, 1, 2 }
    table.sort(waited, function(a, b) ctx.sleep(0) return a < b end)
    return { mixed[1], frozen[1], waited, (("ab"):gsub(".", function(c) ctx.sleep(0) return c .. c end)) }"#;
    assert_eq!(value(body).await, json!([false, false, [1, 2, 3], "aabb"]));
}

#[tokio::test]
async fn tables_are_moved_joined_and_grown_as_by_the_vm() {
    let body = r#"
    local n = 600000
    local t = table.create(n, 0)
    for i = 1, n do t[i] = i end
    table.move(t, 1, n - 10, 11)
    assert(t[10] == 10 and t[11] == 1 and t[n] == n - 10)
    table.move(t, 11, n, 1)
    assert(t[1] == 1 and t[n - 10] == n - 10)
    local copy = table.move(t, 1, n, 5, {})
    assert(copy[5] == 1 and copy[n + 4] == t[n] and copy[1] == nil)
    local short = {}
    for i = 1, 20000 do short[i] = i % 10 end
    local text = table.concat(short, ",")
    assert(#text == 39999 and text:sub(1, 7) == "1,2,3,4" and table.concat(short, "", 9990, 19999) == ("0123456789"):rep(1001))
    table.insert(short, 2, "new")
    assert(short[1] == 1 and short[2] == "new" and short[3] == 2 and #short == 20001 and short[20001] == 0)
    table.insert(short, 20001, "late")
    assert(short[20001] == "late" and short[20002] == 0)
    local seen = {}
    table.foreach({ 5, x = 6 }, function(key, value) seen[key] = value end)
    return { seen[1], seen.x, table.foreachi({ 1, 2, 3 }, function(i, value) return if value == 2 then i * 10 else nil end) }"#;
    assert_eq!(value(body).await, json!([5, 6, 20]));
}
