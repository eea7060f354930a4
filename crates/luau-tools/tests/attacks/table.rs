//! The attacks. `A` runs a body inside `invoke`; `S` is a whole script.

/// An attack and its expected end.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    body: &'static str,
    whole: bool,
    pub(crate) ends: Ends,
}

impl Attack {
    pub(crate) fn source(&self) -> String {
        if self.whole {
            return GENERATED
                .iter()
                .find(|(name, _)| *name == self.name)
                .map_or_else(|| self.body.to_owned(), |(_, make)| make());
        }
        format!("function invoke(ctx, args)\n{}\nend", self.body)
    }
}

/// The end of an attack.
pub(crate) enum Ends {
    /// With this value, as JSON: it did no harm.
    With(&'static str),
    /// With an error of this code.
    Code(&'static str),
    /// With an error whose text contains this.
    Says(&'static str, &'static str),
    /// With an error of one of these codes: two limits are near each other.
    OneOf(&'static [&'static str]),
}

impl Ends {
    /// Returns whether an error of this code is expected.
    pub(crate) fn may_say(&self, wanted: &str) -> bool {
        match self {
            With(_) => false,
            Code(code) | Says(code, _) => *code == wanted,
            OneOf(codes) => codes.contains(&wanted),
        }
    }
}

use Ends::{Code, OneOf, Says, With};

const fn a(name: &'static str, body: &'static str, ends: Ends) -> Attack {
    Attack {
        name,
        body,
        whole: false,
        ends,
    }
}

const fn s(name: &'static str, body: &'static str, ends: Ends) -> Attack {
    Attack {
        name,
        body,
        whole: true,
        ends,
    }
}

type Make = fn() -> String;

/// Sources that are too long to write down.
const GENERATED: &[(&str, Make)] = &[
    ("source of a megabyte", || format!("-- {}", "x".repeat(1 << 20))),
    ("brackets without end", || "(".repeat(100_000)),
    ("tables without end", || format!("return {}", "{".repeat(50_000))),
    ("operators without end", || {
        format!("return {}1", "-".repeat(100_000).replace("--", "- -"))
    }),
    ("not without end", || {
        format!("return {} 1", "not ".repeat(60_000))
    }),
    ("concatenation without end", || {
        format!("return 'a'{}", " .. 'a'".repeat(30_000))
    }),
    ("blocks without end", || "do ".repeat(80_000)),
    ("functions without end", || "function f() ".repeat(15_000)),
    ("ifs without end", || {
        format!("if x then {}", "elseif x then ".repeat(15_000))
    }),
    ("types without end", || {
        format!("type T = {}", "(".repeat(100_000))
    }),
    ("interpolation without end", || "`{".repeat(60_000)),
    ("locals without end", || "local x = 1 ".repeat(20_000)),
];

const CPU: Ends = Code("limit_cpu");
/// Cannot yield its turn; on a busy machine its time runs out first.
const STUCK: Ends = OneOf(&["limit_turn", "limit_cpu"]);
const STUCK_OR_BIG: Ends = OneOf(&["limit_turn", "limit_cpu", "script_error", "result"]);
const MEMORY: Ends = Code("limit_memory");
/// Grows slowly: on a busy machine its time runs out first.
const GROWS: Ends = OneOf(&["limit_memory", "limit_cpu"]);
const SLOW_OR_BIG: Ends = OneOf(&["limit_cpu", "limit_memory", "limit_turn", "script_error"]);

pub(crate) const ATTACKS: &[Attack] = &[
    // Time
    a(
        "endless loop",
        "while true do end",
        Says("limit_cpu", "attack:2:"),
    ),
    a("endless repeat", "repeat until false", CPU),
    a("endless for", "for i = 1, math.huge do end", CPU),
    a(
        "endless goto by recursion",
        "local function f() return f() end return f()",
        SLOW_OR_BIG,
    ),
    a(
        "loop behind pcall",
        "while true do pcall(function() while true do end end) end",
        CPU,
    ),
    a(
        "limit caught and result given",
        "pcall(function() while true do end end) return 'free'",
        CPU,
    ),
    a(
        "limit caught by xpcall",
        "xpcall(function() while true do end end, function(e) return 'got it' end) return 'free'",
        CPU,
    ),
    a(
        "handler of xpcall loops",
        "xpcall(error, function() while true do end end) return 1",
        STUCK,
    ),
    a(
        "handlers inside handlers",
        "local function h(e) return xpcall(error, h, e) end return (h(1))",
        With("false"),
    ),
    a(
        "loop in a coroutine",
        "coroutine.wrap(function() while true do end end)()",
        CPU,
    ),
    a(
        "limit caught by a coroutine",
        "local co = coroutine.create(function() while true do end end) coroutine.resume(co) return 'free'",
        CPU,
    ),
    a(
        "coroutines that resume for ever",
        "local co = coroutine.wrap(function() while true do coroutine.yield() end end) while true do co() end",
        CPU,
    ),
    a(
        "coroutines without end",
        "local function f() coroutine.wrap(f)() end f()",
        SLOW_OR_BIG,
    ),
    a(
        "coroutine that resumes itself",
        "local co co = coroutine.create(function() return coroutine.resume(co) end) return {coroutine.resume(co)}",
        With("[true,false,\"cannot resume running coroutine\"]"),
    ),
    a(
        "loop in a comparator",
        "table.sort({1, 2, 3}, function() while true do end end)",
        CPU,
    ),
    a(
        "comparator that lies",
        "local t = {} for i = 1, 2000 do t[i] = i end local n = 0 local ok = pcall(table.sort, t, function() n += 1 return true end) return n < 1e6",
        With("true"),
    ),
    a(
        "loop in a gsub function",
        "('x'):gsub('.', function() while true do end end)",
        CPU,
    ),
    a(
        "loop in __index",
        "return setmetatable({}, {__index = function() while true do end end}).x",
        STUCK,
    ),
    a(
        "loop in __tostring",
        "return tostring(setmetatable({}, {__tostring = function() while true do end end}))",
        STUCK,
    ),
    a(
        "loop in __eq",
        "local m = {__eq = function() while true do end end} return setmetatable({}, m) == setmetatable({}, m)",
        STUCK,
    ),
    a(
        "loop in __concat",
        "return setmetatable({}, {__concat = function() while true do end end}) .. 'x'",
        STUCK,
    ),
    a(
        "loop in __iter",
        "for _ in setmetatable({}, {__iter = function() while true do end end}) do end",
        STUCK,
    ),
    a(
        "loop in __len",
        "return #setmetatable({}, {__len = function() while true do end end})",
        STUCK,
    ),
    a(
        "loop in __call",
        "return setmetatable({}, {__call = function() while true do end end})()",
        STUCK,
    ),
    a(
        "__index of itself",
        "local t = {} setmetatable(t, {__index = t}) return t.x",
        Code("script_error"),
    ),
    a(
        "__index chain",
        "local t = {} for i = 1, 1e5 do t = setmetatable({}, {__index = t}) end return t.x",
        SLOW_OR_BIG,
    ),
    a(
        "error with a __tostring that loops",
        "error(setmetatable({}, {__tostring = function() while true do end end}))",
        Code("script_error"),
    ),
    a(
        "__gc is nothing",
        "setmetatable({}, {__gc = function() while true do end end}) return 1",
        With("1"),
    ),
    s("loop before invoke", "while true do end", CPU),
    s(
        "loop in a library",
        "require('evil')",
        Says("limit_cpu", "libs/evil.luau"),
    ),
    a("wait for ever", "ctx.sleep(1e6)", Code("limit_wall")),
    a(
        "wait for ever in small steps",
        "while true do ctx.sleep(0.05) end",
        OneOf(&["limit_wall", "limit_effects"]),
    ),
    a(
        "wait for nobody",
        "local p p = ctx.async(function() return p:await() end) return p:await()",
        Says("script_error", "every task waits for another"),
    ),
    a(
        "task that computes for ever",
        "ctx.async(function() while true do end end) ctx.sleep(0.2)",
        CPU,
    ),
    a(
        "timeout around a loop",
        "ctx.timeout(0.05, function() while true do end end)",
        CPU,
    ),
    // Time without a safepoint
    a(
        "plain find, quadratic",
        "local s = ('a'):rep(2e6) return s:find(('a'):rep(1e6) .. 'b', 1, true)",
        Says("script_error", "too long for each other"),
    ),
    a(
        "find behind the library",
        "local s = ('a'):rep(2e6) return string.find(s, ('a'):rep(1e6) .. 'b')",
        Says("script_error", "too long for each other"),
    ),
    a(
        "split, quadratic",
        "return #(('a'):rep(2e6)):split(('a'):rep(1e6) .. 'b')",
        Says("script_error", "too long for each other"),
    ),
    a(
        "pattern, exponential",
        "return (('a'):rep(40)):find(('.-'):rep(30) .. 'b')",
        STUCK,
    ),
    a(
        "pattern, backtracking",
        "return (('a'):rep(30000)):find('.-.-.-.-b')",
        STUCK,
    ),
    a(
        "match of a long set",
        "return (('a'):rep(1e6)):match('[' .. ('b'):rep(1e5) .. ']*')",
        Says("script_error", "too long for each other"),
    ),
    a(
        "gsub of a long set",
        "return (('a'):rep(1e6)):gsub('[^' .. ('b'):rep(1e5) .. ']', '')",
        Says("script_error", "too long for each other"),
    ),
    a(
        "gmatch of a long set",
        "for w in (('a'):rep(1e6)):gmatch('[' .. ('b'):rep(1e5) .. ']*') do end",
        Says("script_error", "too long for each other"),
    ),
    a(
        "pattern too deep",
        "return pcall(string.match, ('('):rep(1e5), ('('):rep(40))",
        With("false"),
    ),
    a("rep of nothing", "return #(''):rep(1e15)", With("0")),
    a(
        "sort of long strings",
        "local s = ('a'):rep(1e6) local t = {} for i = 1, 2e5 do t[i] = i % 2 == 0 and s .. 'b' or s .. 'c' end table.sort(t)",
        OneOf(&["limit_cpu", "limit_memory"]),
    ),
    a(
        "sort of few long strings",
        "local s = ('a'):rep(1e6) local x, y = s .. 'b', s .. 'c' local t = {} for i = 1, 1e5 do t[i] = i % 2 == 0 and x or y end table.sort(t)",
        CPU,
    ),
    a(
        "move of everything",
        "table.move({}, 1, 2 ^ 31, 2)",
        Says("script_error", "table.move"),
    ),
    a(
        "concat of everything",
        "return table.concat({}, ',', 1, 2 ^ 30)",
        Code("script_error"),
    ),
    a(
        "unpack of everything",
        "return table.unpack({}, 1, 1e8)",
        Code("script_error"),
    ),
    a(
        "utf8 of everything",
        "local s = ('a'):rep(1e6) while true do utf8.len(s) end",
        CPU,
    ),
    // Memory
    a(
        "string that doubles",
        "local s = 'x' while true do s = s .. s end",
        Says("limit_memory", "16 MiB"),
    ),
    a(
        "memory caught",
        "local s = 'x' pcall(function() while true do s = s .. s end end) return 'free'",
        MEMORY,
    ),
    a(
        "memory caught by a coroutine",
        "local co = coroutine.create(function() return ('x'):rep(1e9) end) coroutine.resume(co) return 'free'",
        MEMORY,
    ),
    a(
        "memory caught by wrap",
        "pcall(coroutine.wrap(function() return ('x'):rep(1e9) end)) return 'free'",
        MEMORY,
    ),
    a(
        "memory caught by a task",
        "pcall(ctx.await_all, ctx.async(function() return ('x'):rep(1e9) end)) return 'free'",
        MEMORY,
    ),
    a("rep of a gigabyte", "return #('x'):rep(1e9)", MEMORY),
    a(
        "rep beyond a string",
        "return #('x'):rep(2 ^ 31 - 1)",
        OneOf(&["script_error", "limit_memory"]),
    ),
    a(
        "table of a gigabyte",
        "return #table.create(1e8, 1)",
        OneOf(&["script_error", "limit_memory"]),
    ),
    a(
        "buffer of a gigabyte",
        "return buffer.len(buffer.create(1e9))",
        OneOf(&["script_error", "limit_memory"]),
    ),
    a(
        "tables without end",
        "local t = {} while true do t = {t} end",
        GROWS,
    ),
    a(
        "array without end",
        "local t = {} while true do t[#t + 1] = 1 end",
        GROWS,
    ),
    a(
        "concat of much",
        "local t = table.create(1e5, ('x'):rep(1e4)) return #table.concat(t)",
        MEMORY,
    ),
    a(
        "many operands",
        "local s = ('x'):rep(4e6) return #(s .. s .. s .. s .. s .. s .. s .. s)",
        MEMORY,
    ),
    a(
        "gsub that grows",
        "return #(('x'):rep(1e6):gsub('x', ('y'):rep(1e3)))",
        OneOf(&["limit_memory", "limit_cpu", "script_error"]),
    ),
    a(
        "format of much",
        "local s = ('x'):rep(4e6) return #string.format('%s%s%s%s%s', s, s, s, s, s)",
        Says("script_error", "the values have more than 8388608 bytes"),
    ),
    a(
        "pack of much",
        "return #string.pack('c1000000000', 'x')",
        OneOf(&["script_error", "limit_memory"]),
    ),
    a(
        "closures without end",
        "local t = {} while true do t[#t + 1] = function() return t end end",
        GROWS,
    ),
    a(
        "coroutines kept",
        "local t = {} while true do t[#t + 1] = coroutine.create(function() end) end",
        GROWS,
    ),
    a(
        "globals without end",
        "local i = 0 while true do i += 1 _G['g' .. i] = ('x'):rep(1000) .. i end",
        GROWS,
    ),
    // Depth
    a(
        "recursion",
        "local function f() return 1 + f() end return f()",
        Says("script_error", "stack overflow"),
    ),
    a(
        "recursion through pcall",
        "local function f() return pcall(f) end while true do f() end",
        SLOW_OR_BIG,
    ),
    a(
        "recursion through tostring",
        "local t t = setmetatable({}, {__tostring = function() return tostring(t) end}) return tostring(t)",
        Says("script_error", "stack overflow"),
    ),
    a(
        "recursion through sort",
        "local function f() table.sort({2, 1}, function(x, y) f() return x < y end) end f()",
        Says("script_error", "stack overflow"),
    ),
    a(
        "recursion through gsub",
        "local function f() return (('x'):gsub('x', f)) end f()",
        Says("script_error", "stack overflow"),
    ),
    // Ways out
    a(
        "no loadstring",
        "return {loadstring == nil, getfenv == nil, setfenv == nil, newproxy == nil, collectgarbage == nil, gcinfo == nil}",
        With("[true,true,true,true,true,true]"),
    ),
    a(
        "no io, no package, no load",
        "return {io == nil, package == nil, load == nil, dofile == nil, loadfile == nil}",
        With("[true,true,true,true,true]"),
    ),
    a(
        "debug is a trace",
        "local n = 0 for k in debug do n += 1 end return {n, type(debug.traceback())}",
        With("[1,\"string\"]"),
    ),
    a("no clock", "return os.clock()", Says("script_error", "ctx.now()")),
    a(
        "string metatable is locked",
        "return {getmetatable(''), (pcall(function() getmetatable('').__index = nil end))}",
        With("[\"locked\",false]"),
    ),
    a(
        "libraries are frozen",
        "return {(pcall(function() string.find = nil end)), (pcall(rawset, string, 'find', 1)), (pcall(table.insert, table, 1))}",
        With("[false,false,false]"),
    ),
    a(
        "ctx is frozen",
        "return {(pcall(function() ctx.generate = nil end)), (pcall(function() ctx.http.get = nil end)), (pcall(rawset, ctx.kv, 'get', 1)), (pcall(rawset, ctx.state, 'x', 1))}",
        With("[false,false,false,false]"),
    ),
    a(
        "globals stay in the run",
        "_G.string = 1 tostring = nil return type(('x').find)",
        With("\"function\""),
    ),
    a(
        "require of a path",
        "return require('../../etc/passwd')",
        Says("script_error", "may not leave"),
    ),
    a(
        "require of an absolute path",
        "return require('/etc/passwd')",
        Says("script_error", "must be relative"),
    ),
    a(
        "require of an alias",
        "return require('@self/x')",
        Says("script_error", "there is no library"),
    ),
    a(
        "require of nothing",
        "return require('')",
        Says("script_error", "empty"),
    ),
    a("require of itself", "return require('me') == nil", With("true")),
    a(
        "addresses",
        "return {tostring({}), tostring(print), string.format('%s', {}), `{ {} }`, tostring(coroutine.create(print))}",
        With("[\"table\",\"function\",\"table\",\"table\",\"thread\"]"),
    ),
    a(
        "weak tables",
        "return setmetatable({}, {__mode = 'k'})",
        Says("script_error", "weak"),
    ),
    a(
        "metatable of a promise",
        "local p = ctx.async(function() end) return {getmetatable(p), (pcall(setmetatable, p, {}))}",
        With("[\"promise\",false]"),
    ),
    a(
        "yield out of the task",
        "coroutine.yield('x')",
        Says("script_error", "no coroutine to leave"),
    ),
    a(
        "environment that is not granted",
        "return ctx.env('HOME')",
        Says("script_error", "denied"),
    ),
    s("bytecode", "\u{1b}\u{3}\u{0}\u{0}", Says("source", "bytecode")),
    s(
        "a null in the text",
        "return 1 \u{0}",
        Says("source", "not source text"),
    ),
    // Effects
    a(
        "storm of requests",
        "while true do ctx.http.get('https://a') end",
        Says("limit_requests", "50"),
    ),
    a(
        "storm of logs",
        "while true do ctx.log('x') end",
        Code("limit_effects"),
    ),
    a(
        "storm behind pcall",
        "while true do pcall(ctx.http.get, 'https://a') end",
        Code("limit_requests"),
    ),
    a(
        "storm of tasks",
        "while true do ctx.async(ctx.sleep, 9) end",
        Code("limit_pending"),
    ),
    a(
        "storm of unawaited effects",
        "for i = 1, 1000 do ctx.timeout(9) end",
        Code("limit_pending"),
    ),
    a(
        "storm of agents",
        "while true do ctx.create_agent('x', {}) end",
        Code("limit_agents"),
    ),
    a(
        "output without end",
        "while true do ctx.emit(('x'):rep(9000)) end",
        Code("limit_output"),
    ),
    a(
        "state without end",
        "for i = 1, 1e6 do ctx.state['k' .. i] = ('x'):rep(900) end",
        Code("limit_state"),
    ),
    a(
        "effect in a comparator",
        "table.sort({2, 1}, function() return ctx.generate('m', 'p') < 'x' end) return 1",
        With("1"),
    ),
    a(
        "effect of a coroutine in a comparator",
        "table.sort({2, 1}, function() return coroutine.wrap(function() return ctx.generate('m', 'p') end)() < 'x' end) return 1",
        With("1"),
    ),
    a(
        "effect in a metamethod",
        "return setmetatable({}, {__index = function() return ctx.generate('m', 'p') end}).x",
        Says("script_error", "cannot wait inside"),
    ),
    a(
        "effect of a coroutine in a metamethod",
        "return setmetatable({}, {__index = function() return coroutine.wrap(function() return ctx.generate('m', 'p') end)() end}).x",
        Says("script_error", "cannot wait inside"),
    ),
    a(
        "log in a gsub function",
        "local _ = ('abc'):gsub('.', function(c) ctx.log(c) end) return 1",
        With("1"),
    ),
    // JSON
    a(
        "cyclic result",
        "local t = {} t.t = t return t",
        Says("result", "contains itself"),
    ),
    a(
        "cyclic request",
        "local t = {} t.t = t ctx.emit(t)",
        Says("script_error", "contains itself"),
    ),
    a(
        "result that multiplies",
        "local t = {1} for i = 1, 40 do t = {t, t} end return t",
        Says("result", "256 KiB"),
    ),
    a(
        "result of much",
        "return ('x'):rep(1e6)",
        Says("result", "256 KiB"),
    ),
    a(
        "encode that multiplies",
        "local t = {1} for i = 1, 40 do t = {t, t} end return ctx.json.encode(t)",
        Says("script_error", "256 KiB"),
    ),
    a(
        "decode of deep",
        "return ctx.json.decode(('['):rep(1e5))",
        Says("script_error", "json.decode"),
    ),
    a(
        "answer that is huge",
        "return ctx.http.get('huge').body",
        Says("script_error", "too large"),
    ),
    a(
        "answer that is deep",
        "return ctx.http.get('deep').body",
        Says("script_error", "too large"),
    ),
    a(
        "body that is deep",
        "return ctx.http.get('nested').data == nil",
        With("true"),
    ),
    a(
        "result that is a function",
        "return print",
        Says("result", "function"),
    ),
    a(
        "result with gaps",
        "return {1, nil, nil, 4}",
        Says("result", "gaps"),
    ),
    a(
        "result of both kinds",
        "return {1, x = 2}",
        Says("result", "both"),
    ),
    a("result without end", "return {1 / 0}", Says("result", "finite")),
    a("keys that are tables", "return {[{}] = 1}", Says("result", "key")),
    // Errors
    a(
        "error of a megabyte",
        "error(('x'):rep(2e6))",
        Says("script_error", "bytes)"),
    ),
    a("error that is nothing", "error(nil)", Code("script_error")),
    a(
        "error that is a table",
        "error({code = 1, message = 'broken'})",
        Says("script_error", "broken"),
    ),
    a(
        "error that names another place",
        "error('libs/x:99: not here', 0)",
        Says("script_error", "not here"),
    ),
    a(
        "error in a task",
        "ctx.async(function() error('inner') end):await()",
        Says("script_error", "inner"),
    ),
    // Access to values that scripts do not get
    a(
        "write to a promise",
        "local p = ctx.async(function() ctx.sleep(0) return 1 end) return {(pcall(function() p.task = 1 end)), (pcall(rawset, p, 'co', 1)), (pcall(table.insert, p, 1)), p:await()}",
        With("[false,false,false,1]"),
    ),
    a(
        "read a promise",
        "local p = ctx.async(function() ctx.sleep(0) end) return {rawget(p, 'task') == nil, rawlen(p), next(p) == nil, p.waiters == nil}",
        With("[true,0,true,true]"),
    ),
    a(
        "await of what looks like a promise",
        "local p = ctx.async(function() return 1 end) return {(pcall(p.await, {})), (pcall(p.await, setmetatable({}, {__index = p}))), (pcall(ctx.await_all, {p, {}}))}",
        With("[false,false,false]"),
    ),
    a(
        "resume of the main coroutine by a task",
        "local main = coroutine.running() local ok, why = nil, nil ctx.async(function() ok, why = coroutine.resume(main, 'evil') end):await() return {ok, why}",
        With("[false,\"cannot resume the script's own coroutine, nor one of `async`\"]"),
    ),
    a(
        "close of the main coroutine by a task",
        "local main = coroutine.running() return (ctx.async(function() return (pcall(coroutine.close, main)) end):await())",
        With("false"),
    ),
    a(
        "close of a task's coroutine",
        "local co ctx.async(function() co = coroutine.running() ctx.sleep(0.01) end) ctx.sleep(0.001) return {(pcall(coroutine.close, co)), (coroutine.resume(co))}",
        With("[false,false]"),
    ),
    a(
        "yield of what the scheduler waits for",
        "local co = coroutine.wrap(function() coroutine.yield('wait', 'turn') return 2 end) return {(co())}",
        With("[\"wait\"]"),
    ),
    a(
        "a coroutine that outlives its resumer",
        "local co = coroutine.create(function() coroutine.yield(1) return 2 end) ctx.async(function() coroutine.resume(co) end):await() return select(2, coroutine.resume(co))",
        With("2"),
    ),
    a(
        "metatable of an agent",
        "local g = ctx.create_agent('a', {}) return {getmetatable(g), (pcall(setmetatable, g, {})), (pcall(function() g.id = 'other' end))}",
        With("[\"agent\",false,false]"),
    ),
    a(
        "an agent that is made by hand",
        "local g = ctx.create_agent('a', {}) return {(pcall(g.input, {id = g.id}, 'x')), (pcall(g.collect, setmetatable({id = 1}, {__index = g})))}",
        With("[false,false]"),
    ),
    a(
        "clone of a handle",
        "local g = ctx.create_agent('a', {}) local ok, copy = pcall(table.clone, g) return ok and (pcall(copy.input, copy, 'x'))",
        With("false"),
    ),
    a(
        "thaw of the library",
        "return {(pcall(table.freeze, string)), table.isfrozen(string), table.isfrozen(ctx), table.isfrozen(math)}",
        With("[false,true,true,true]"),
    ),
    a(
        "metatable of globals",
        "return {getmetatable(_G), (pcall(setmetatable, _G, {}))}",
        With("[\"globals\",false]"),
    ),
    a(
        "index of globals through a number",
        "return {(1).x == nil}",
        Code("script_error"),
    ),
    a(
        "a global named as one of ours",
        "native = {caught = error} shared = {} return {type(native), ctx.now() ~= nil}",
        With("[\"table\",true]"),
    ),
    a(
        "pcall of the library's insides",
        "return {(pcall(string.gsub, 'x', 'x', function() error({}) end)), (pcall(table.sort, {2, 1}, error))}",
        With("[false,false]"),
    ),
    a(
        "a comparator that changes the list",
        "local t = {5, 4, 3, 2, 1} table.sort(t, function(a, b) t[1] = nil table.clear(t) return a < b end) return true",
        OneOf(&["ok", "script_error"]),
    ),
    a(
        "a comparator that freezes the list",
        "local t = {5, 4, 3, 2, 1} return (pcall(table.sort, t, function(a, b) if not table.isfrozen(t) then table.freeze(t) end return a < b end))",
        With("false"),
    ),
    a(
        "a comparator that sorts the same list",
        "local t, depth = {3, 2, 1}, 0 table.sort(t, function(a, b) depth += 1 if depth < 9 then table.sort(t) end return (a or 0) < (b or 0) end) return true",
        OneOf(&["ok", "script_error"]),
    ),
    a(
        "a comparator with a list that grows",
        "local t = {3, 2, 1} table.sort(t, function(a, b) if #t < 1000 then table.insert(t, 0) end return a < b end) return #t >= 3",
        With("true"),
    ),
    a(
        "a list with __newindex",
        "local t = setmetatable({3, 2, 1}, {__newindex = error, __index = error}) table.sort(t) return t[1]",
        With("1"),
    ),
    a(
        "a gsub function that fails",
        "return (pcall(string.gsub, 'abc', '.', function() error('x') end))",
        With("false"),
    ),
    a(
        "a gsub function that replaces the pattern",
        "string = nil return (('abc'):gsub('.', function(c) return c .. c end))",
        With("\"aabbcc\""),
    ),
    a(
        "tables as replacements that loop",
        "return (('x'):gsub('x', setmetatable({}, {__index = function() while true do end end})))",
        STUCK,
    ),
    a(
        "walk through nothing",
        "return ctx.json.encode(table.create(1e5, (table.create(500000))))",
        STUCK,
    ),
    a(
        "walk through nothing, as the result",
        "return table.create(1e5, (table.create(500000)))",
        STUCK_OR_BIG,
    ),
    a(
        "walk through nothing, as a request",
        "ctx.emit(table.create(1e5, (table.create(500000))))",
        STUCK_OR_BIG,
    ),
    a(
        "walk through nothing, as an error",
        "error(table.create(1e5, (table.create(500000))))",
        STUCK_OR_BIG,
    ),
    a(
        "walk through nothing, as state",
        "ctx.state.x = table.create(1e5, (table.create(500000)))",
        STUCK_OR_BIG,
    ),
    a(
        "walk through nothing, logged",
        "ctx.log(table.create(1e5, (table.create(500000))))",
        STUCK_OR_BIG,
    ),
    a(
        "walk through keys that are gone",
        "local t = {} for i = 1, 1e5 do t['k' .. i] = 1 end for k in t do t[k] = nil end return ctx.json.encode(table.create(1e5, t))",
        OneOf(&["limit_turn", "limit_cpu", "limit_memory", "script_error"]),
    ),
    a(
        "sort behind a length that lies",
        "local s = ('a'):rep(1e6) local x, y = s .. 'b', s .. 'c' local t = {} for i = 1, 1e5 do t[i] = i % 2 == 0 and x or y end setmetatable(t, {__len = function() return 0 end}) table.sort(t)",
        CPU,
    ),
    a(
        "sort of values that compare for ever",
        "local m = {__lt = function() while true do end end} table.sort({setmetatable({}, m), setmetatable({}, m)})",
        STUCK,
    ),
    a(
        "a comparator that waits for ever",
        "table.sort({2, 1}, function() ctx.sleep(1e6) end)",
        Code("limit_wall"),
    ),
    a(
        "a gsub function that waits for ever",
        "('x'):gsub('x', function() ctx.sleep(1e6) end)",
        Code("limit_wall"),
    ),
    a(
        "patterns behind pcall in a metamethod",
        "return setmetatable({}, {__index = function() while true do pcall(string.find, ('a'):rep(3e4), '.-.-.-.-b') end end}).x",
        STUCK,
    ),
    a(
        "metamethods one after the other",
        "local t = setmetatable({}, {__index = function() for i = 1, 1e5 do end return 1 end}) while true do local _ = t.x end",
        CPU,
    ),
    a(
        "coroutines in a metamethod",
        "return setmetatable({}, {__index = function() while true do coroutine.wrap(function() for i = 1, 1e3 do end end)() end end}).x",
        STUCK,
    ),
    a(
        "balanced brackets that are not",
        "return (('('):rep(1e5)):find('%b()')",
        OneOf(&["ok", "limit_turn", "limit_cpu"]),
    ),
    a(
        "a back reference that repeats",
        "return (('a'):rep(2e4)):find('(.+)(.+)%1%2b')",
        STUCK,
    ),
    a(
        "frontiers everywhere",
        "return (('ab'):rep(5e4)):find('%f[b].-%f[a].-%f[b].-c')",
        OneOf(&["limit_turn", "limit_cpu"]),
    ),
    a(
        "a format of many numbers",
        "return string.format(('%99.99f'):rep(2e3), table.unpack(table.create(2e3, 1e308)))",
        Says("script_error", "more than 1024 values"),
    ),
    a(
        "numbers joined",
        "return #table.concat(table.create(4e5, 1.2345)) > 0",
        OneOf(&["ok", "limit_cpu", "limit_memory"]),
    ),
    a(
        "a text too long for a pattern",
        "return (('a'):rep(5e6)):find('b$')",
        Says("script_error", "too long for each other"),
    ),
    a(
        "inserts in front",
        "local t = table.create(4e5, 1) while true do table.insert(t, 1, 1) end",
        GROWS,
    ),
    a(
        "removes in front",
        "local t = table.create(4e5, 1) while true do table.remove(t, 1) table.insert(t, 1) end",
        GROWS,
    ),
    a(
        "memory in a comparator",
        "local s = 'x' table.sort({2, 1}, function() while true do s = s .. s end end)",
        MEMORY,
    ),
    a(
        "memory in a gsub function, caught",
        "pcall(string.gsub, 'x', 'x', function() return ('x'):rep(1e9) end) return 'free'",
        MEMORY,
    ),
    a(
        "memory in a metamethod",
        "return setmetatable({}, {__index = function() return ('x'):rep(1e9) end}).x",
        MEMORY,
    ),
    a(
        "a gsub that grows, of a long text",
        "return #(('a'):rep(1e5):gsub('a', ('y'):rep(1e4)))",
        OneOf(&["limit_memory", "limit_cpu"]),
    ),
    a(
        "a gsub that grows, with a function",
        "local y = ('y'):rep(1e4) return #(('a'):rep(1e5):gsub('a', function() return y end))",
        OneOf(&["limit_memory", "limit_cpu"]),
    ),
    a(
        "tasks that hold much",
        "local held = {} for i = 1, 60 do ctx.async(function() held[i] = ('x'):rep(1e6) .. i ctx.sleep(9) end) end ctx.sleep(0.1)",
        MEMORY,
    ),
    a(
        "libraries that hold much",
        "local t = {} for i = 1, 1e6 do t[i] = ('x'):rep(100) .. i end",
        GROWS,
    ),
    a(
        "buffers without end",
        "local t = {} while true do table.insert(t, buffer.create(1e5)) end",
        GROWS,
    ),
    a(
        "a key of another space",
        "return ctx.kv.get('../other/x') == nil",
        OneOf(&["ok", "script_error"]),
    ),
    a(
        "an environment by another name",
        "return {(pcall(ctx.env, '')), (pcall(ctx.env, 'PATH')), (pcall(ctx.env, 'A\\0B'))}",
        With("[false,false,false]"),
    ),
    a(
        "a tool that is not a name",
        "return {(pcall(ctx.invoke, nil)), (pcall(ctx.invoke, {})), (pcall(ctx.invoke, 7))}",
        With("[false,false,false]"),
    ),
    a(
        "requests by all ways count together",
        "while true do pcall(ctx.http.get, 'https://a') pcall(ctx.invoke, 'x') pcall(ctx.generate, 'm', 'p') end",
        Code("limit_requests"),
    ),
    a(
        "requests in tasks count",
        "for i = 1, 60 do ctx.async(ctx.http.get, 'https://a') end ctx.sleep(0.2)",
        OneOf(&["limit_requests", "limit_pending"]),
    ),
    a(
        "requests in comparators count",
        "table.sort(table.create(500, 1), function() ctx.http.get('https://a') return false end)",
        Code("limit_requests"),
    ),
    a(
        "a limit caught in a comparator",
        "pcall(table.sort, {2, 1}, function() while true do end end) return 'free'",
        CPU,
    ),
    a(
        "a limit caught in a gsub function",
        "pcall(string.gsub, 'x', 'x', function() while true do end end) return 'free'",
        CPU,
    ),
    a(
        "a limit caught in a metamethod",
        "pcall(function() return setmetatable({}, {__index = function() while true do end end}).x end) return 'free'",
        STUCK,
    ),
    a(
        "a result with a metatable",
        "return setmetatable({1}, {__index = error, __iter = error, __len = error, __tostring = error})",
        With("[1]"),
    ),
    a(
        "a result that says it is none",
        "return {['$bytes'] = 'eA=='}",
        OneOf(&["ok"]),
    ),
    a("a result that is ctx", "return ctx", Says("result", "function")),
    a(
        "a result that is a promise",
        "return ctx.async(function() end)",
        With("{}"),
    ),
    a(
        "an error that says it is a limit",
        "error('limit_memory: the script needs more', 0)",
        Code("script_error"),
    ),
    a(
        "an error that says that memory is used up",
        "error('not enough memory', 0)",
        Says("script_error", "attack:2: not enough memory"),
    ),
    a(
        "the same, caught",
        "local ok, problem = pcall(error, 'not enough memory', 0) return not ok and string.find(problem, 'memory') ~= nil",
        With("true"),
    ),
    a(
        "an error at a level",
        "local function f() error('above', 2) end f()",
        Says("script_error", "attack:2: above"),
    ),
    a(
        "an error that is json.null",
        "error(ctx.json.null)",
        Code("script_error"),
    ),
    a(
        "an error that is a handle",
        "error(ctx.async(function() end))",
        Code("script_error"),
    ),
    a(
        "an error whose message is a table",
        "error({message = {}})",
        Code("script_error"),
    ),
    a(
        "an error in the handler of an error",
        "return (xpcall(error, function() error('again') end))",
        With("false"),
    ),
    a(
        "a result after a limit in a task",
        "ctx.async(function() pcall(function() while true do end end) end) ctx.sleep(0.01) return 'mine'",
        CPU,
    ),
    a(
        "print instead of log",
        "for i = 1, 1e4 do print(('x'):rep(100)) end",
        OneOf(&["limit_output", "limit_effects"]),
    ),
    a(
        "invoke that is replaced while it runs",
        "invoke = function() return 'other' end return 'mine'",
        With("\"mine\""),
    ),
    // Compiling
    s("source of a megabyte", "", Says("source", "256 KiB")),
    s("brackets without end", "", Code("source")),
    s("tables without end", "", Code("source")),
    s("operators without end", "", Code("source")),
    s("not without end", "", Code("source")),
    s("concatenation without end", "", OneOf(&["source", "no_output"])),
    s("blocks without end", "", Code("source")),
    s("functions without end", "", Code("source")),
    s("ifs without end", "", Code("source")),
    s("types without end", "", Code("source")),
    s("interpolation without end", "", Code("source")),
    s("locals without end", "", OneOf(&["source", "no_output"])),
];
