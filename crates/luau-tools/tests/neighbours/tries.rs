//! Attacks of a script on another that shares its VM, and the checks of the other.

/// A value that only the victim may see.
pub(crate) const SECRET: &str = "the victim's own";

/// Uses everything that an attacker may have damaged, and reports the results; with `hold` it waits with its
/// secret in every place that it has.
pub(crate) const VICTIM: &str = r#"
local lib = require("shared")
function invoke(ctx, args)
    local saw = {}
    local function note(name, value) saw[name] = if value == nil then "nothing" else value end
    for _, name in {"leak", "shared", "native", "current", "victim", "util"} do note(name, _G[name]) end
    note("lib", lib.who)
    note("lib_leak", lib.leak)
    note("find", {string.find("abc", "b")})
    note("method", ("abc"):upper())
    note("format", string.format("%s %d", "a", 1))
    note("text", tostring(1) .. tostring({}))
    note("sorted", (function() local t = {3, 1, 2} table.sort(t) return t end)())
    note("packed", table.pack(1, 2).n)
    note("pcall", {pcall(error, "x", 0)})
    note("wrap", coroutine.wrap(function() coroutine.yield(7) end)())
    note("meta", {getmetatable(""), getmetatable(ctx.state), getmetatable(ctx.async(print))})
    note("metas", getmetatable(print) == nil and getmetatable(1) == nil and getmetatable(coroutine.running()) == nil)
    note("null", getmetatable(ctx.json.null) == nil)
    note("array", ctx.json.encode(ctx.json.array({})) .. ctx.json.encode({}))
    note("plain", getmetatable({}) == nil)
    note("random", {math.random(1, 1000), ctx.random(1, 1000)})
    note("generate", ctx.generate("m", "p"))
    note("http", ctx.http.get("https://a").data.temp)
    note("state", ctx.state.count)
    note("all", {ctx.await_all(ctx.async(function() return 1 end), ctx.async(function() return 2 end))})
    note("seen", {buffer.readu32(buffer.create(65536), 4096), #table.create(64)})
    local a, b, c, d, e, f, g, h
    note("locals", a == nil and b == nil and c == nil and d == nil and e == nil and f == nil and g == nil and h == nil)
    if args.hold then
        secret, lib.secret, ctx.state.secret = args.secret, args.secret, args.secret
        local mine = setmetatable({args.secret}, {__index = {secret = args.secret}, __metatable = "mine"})
        local task = ctx.async(function() ctx.sleep(0.01) return mine end)
        ctx.log(args.secret)
        ctx.kv.set("secret", args.secret)
        ctx.sleep(1000)
        task:await()
    end
    return saw
end"#;

/// Searches everything that it can reach for a secret, `state` and `random` included.
pub(crate) const LOOKS: &str = r#"
local function search(secret, ctx)
    local seen, found = {}, false
    local function look(value)
        if value == secret then found = true end
        if type(value) ~= "table" or seen[value] then return end
        seen[value] = true
        local meta = getmetatable(value)
        look(meta)
        pcall(function()
            for key, inner in next, value do look(key) look(inner) end
        end)
    end
    for _, root in {_G, ctx, string, table, math, coroutine, buffer, utf8, bit32, vector, debug, os} do look(root) end
    for _, name in {"secret", "mine", "task", "shared", "native", "current", "args", "r"} do look(_G[name]) end
    look(getmetatable(""))
    look(getmetatable(ctx.async(print)))
    look(require("shared"))
    pcall(function() for key, value in ctx.state do look(key) look(value) end end)
    local text = debug.traceback()
    for _, part in text:split("\n") do look(part) end
    local b = buffer.create(1048576)
    for at = 0, buffer.len(b) - 4, 4 do
        if buffer.readu32(b, at) ~= 0 then found = true end
    end
    return found
end
"#;

/// The attacks, as bodies of `invoke`; their ends do not matter.
pub(crate) const ATTACKS: &[(&str, &str)] = &[
    ("nothing", ""),
    ("globals", "leak, shared, native, current, victim, util = 1, 2, 3, 4, 5, 6 _G.leak = 7 rawset(_G, 'leak', 8)"),
    (
        "functions of the library",
        "string, table, tostring, pcall, require, getmetatable = nil, nil, function() return 'evil' end, nil, nil, nil",
    ),
    (
        "library in place",
        "for _, lib in {string, table, math, coroutine, buffer, os, debug} do
            for name in lib do
                pcall(function() lib[name] = function() return 'evil' end end)
                pcall(rawset, lib, name, function() return 'evil' end)
            end
            pcall(table.clear, lib) pcall(setmetatable, lib, {__index = function() return 'evil' end})
            pcall(table.insert, lib, 'evil') pcall(table.sort, lib) pcall(table.move, {'evil'}, 1, 1, 1, lib)
        end",
    ),
    (
        "metatable of strings",
        "pcall(function() getmetatable('').__index = {upper = function() return 'evil' end} end)
         pcall(setmetatable, '', {__index = {}}) pcall(rawset, getmetatable(''), '__index', {})",
    ),
    (
        "metatable of globals",
        "pcall(setmetatable, _G, {__index = function() return 'evil' end})
         pcall(function() getmetatable(_G).__index.leak = 'evil' end)
         pcall(function() setmetatable(_G, nil) end)",
    ),
    (
        "ctx in place",
        "for _, t in {ctx, ctx.http, ctx.kv, ctx.json, ctx.state} do
            pcall(function() t.generate = function() return 'evil' end end)
            pcall(rawset, t, 'get', function() return 'evil' end)
            pcall(setmetatable, t, {__call = print}) pcall(table.clear, t) pcall(table.freeze, t)
            for name in pairs(t) do pcall(rawset, t, name, 'evil') end
        end",
    ),
    (
        "ctx by a copy",
        "local mine = table.clone(ctx) mine.generate = function() return 'evil' end ctx = mine _G.ctx = mine",
    ),
    (
        "promises",
        "local p = ctx.async(function() return 'evil' end)
         pcall(setmetatable, p, {__index = {await = function() return 'evil' end}})
         pcall(function() getmetatable(p).__index = {} end)
         p.done, p.ok, p.value, p.task, p.step, p.waiters = true, true, 'evil', {}, 1, {{}}
         pcall(ctx.await_all, p)",
    ),
    (
        "promises of steps that are not its own",
        "local p = ctx.async(function() ctx.sleep(0.001) end)
         p.step = 1 pcall(p.is_ready, p) p.task = {co = coroutine.running(), promise = p} pcall(ctx.timeout, 0.001, p)",
    ),
    (
        "marks of arrays and of responses",
        "local a, r = ctx.json.array({}), ctx.http.get('https://a')
         pcall(setmetatable, a, {__index = {'evil'}}) pcall(function() getmetatable(a).__metatable = nil end)
         pcall(setmetatable, r, {}) pcall(function() getmetatable(r).__index = nil end)
         pcall(setmetatable, ctx.json.null, {__index = {}}) r.data = 'evil' r.body = 'evil'",
    ),
    (
        "a library's table",
        "local lib = require('shared') lib.leak, lib.who = 'evil', 'evil'
         pcall(setmetatable, lib, {__index = function() return 'evil' end})",
    ),
    (
        "random numbers",
        "math.randomseed(1) for i = 1, 100 do math.random() ctx.random() end",
    ),
    (
        "state",
        "ctx.state.count, ctx.state.leak = 99, {1} ctx.state.list[1] = 'evil'",
    ),
    (
        "its own coroutine from a task",
        "local main = coroutine.running()
         ctx.async(function()
            for i = 1, 3 do pcall(coroutine.resume, main) pcall(coroutine.close, main) pcall(coroutine.wrap(main)) end
         end)
         ctx.sleep(0.001)",
    ),
    (
        "tasks of its own making",
        "local main = coroutine.running()
         local function forge(co)
            local waits = {}
            waits.task = {co = co, waits = waits, promise = {}, dead = false, known = true}
            local p = ctx.async(function() ctx.sleep(0.001) end)
            p.waiters = {waits}
            return p
         end
         forge(main) forge(main) forge(coroutine.create(function() while true do coroutine.yield() end end))
         pcall(ctx.sleep, 0.005) pcall(ctx.sleep, 0.005)",
    ),
    (
        "another coroutine for the run that comes next",
        "local p, main = ctx.async(function() ctx.sleep(0.002) return 1 end), nil
         ctx.async(function() main = p.waiters[1].task end)
         p:await()
         main.co = coroutine.create(function()
            while true do ctx.state.count = 99 leak = 'evil' coroutine.yield('evil') end
         end)",
    ),
    (
        "its own coroutine, kept for a task that comes after it",
        "local main = coroutine.running()
         ctx.async(function()
            while true do
                local waits = {} waits.task = {co = main, waits = waits, promise = {}, dead = false, known = true}
                local p = ctx.async(function() ctx.sleep(0.001) end)
                p.waiters = {waits}
                pcall(ctx.sleep, 0.002)
            end
         end)
         pcall(ctx.sleep, 0.004)",
    ),
    (
        "a task that outlives it",
        "ctx.async(function() while true do ctx.sleep(0.001) ctx.emit('evil') _G.leak = 1 end end) ctx.sleep(0.002)",
    ),
    (
        "a deep stack",
        "local function deep(n) local a, b, c, d, e, f = 'evil', 'evil', 'evil', 'evil', 'evil', 'evil'
            if n > 0 then return a, deep(n - 1) end return b, c, d, e, f end
         pcall(deep, 5000)",
    ),
    (
        "yields that are not given",
        "pcall(coroutine.yield) pcall(coroutine.yield, {'ended'}) pcall(coroutine.wrap(function() coroutine.yield({'wait'}) end))
         local co = coroutine.create(function() ctx.sleep(0.001) end) coroutine.resume(co) pcall(coroutine.close, co)",
    ),
    (
        "an error in the middle",
        "ctx.async(function() error({evil = true}) end) if not args.hold then error(setmetatable({}, {__index = error})) end",
    ),
    (
        "its memory",
        "if not args.hold then local s = ('x'):rep(1e6) while true do s = s .. s end end",
    ),
    (
        "its memory, held",
        "kept = {} for i = 1, 12 do kept[i] = ('x'):rep(1e6 + i) end",
    ),
    (
        "memory in pieces, one left of each page",
        "kept = {} for i = 1, 1e5 do kept[i] = {i} end for i = 1, 1e5 do if i % 300 > 0 then kept[i] = false end end",
    ),
    ("its time", "if not args.hold then while true do end end"),
    (
        "too many tasks",
        "if not args.hold then while true do ctx.async(ctx.sleep, 9) end end",
    ),
];
