//! The allowed cost of one call of each function that a script can name, and how a hostile script would use
//! it.

/// The time for which one call keeps others on its thread waiting. `src/cost_tests.rs` compares it with the
/// VM's counts during calls of three sizes: bytes, safepoints, readings of the clock, effects. No count shows
/// that a native loop takes no more steps than its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cost {
    /// A few steps for each argument: no additional memory, safepoint or reading of the clock for a larger
    /// argument.
    Constant,
    /// The time of copying its input or result, which the limit of memory bounds: memory in proportion. After
    /// a large change of memory the next safepoint reads the clock.
    Copies,
    /// Linear in its input, and slower than a copy: the clock is read after large inputs.
    Charged,
    /// The function has safepoints: it yields its turn, or ends by the limits `turn` and `cpu`.
    Watched,
    /// Above a size it is an error.
    Refuses,
    /// A request to the host: the limits of effects and of JSON bound it.
    Effect,
}

use Cost::{Charged, Constant, Copies, Effect, Refuses, Watched};

/// Functions of a cost, and bodies that use them to delay others. If there is none, a function is called with
/// large arguments.
pub(crate) type Row = (Cost, &'static str, &'static [&'static str]);

/// Every function, by its name; `*` stands for all with this prefix that have no own line.
pub(crate) const COSTS: &[Row] = &[
    // The globals
    (Constant, "assert getmetatable ipairs pairs rawequal rawget rawlen select setmetatable type typeof", &[]),
    (Watched, "pcall require tostring xpcall", &[
        "pcall(function() while true do end end)",
        "xpcall(error, function() while true do end end)",
        "tostring(setmetatable({}, {__tostring = function() while true do end end}))",
        "local t, sum = setmetatable({}, {__index = function() local x = 0 for i = 1, 3e6 do x += i % 7 end return x end}), 0
         while true do sum += t.x end",
        "require('nothing')",
    ]),
    (Copies, "error next rawset unpack", &[
        "local t = table.create(1e6) for _ = 1, 100 do next(t) end",
        "unpack(table.create(5e5, 1))",
        "error(('x'):rep(1e7))",
        "local t = table.create(2 ^ 20, 1) rawset(t, 2 ^ 20 + 1, 1)",
    ]),
    (Charged, "tonumber", &["local s = ('9'):rep(8e6) while true do tonumber(s) end", "tonumber(('9'):rep(2e7))", "tonumber(('1'):rep(2e7), 2)"]),
    (Effect, "print", &["print(('x'):rep(1e5))"]),
    // Texts
    (Constant, "string.len", &[]),
    (Copies, "string.rep string.sub", &[
        "(('x'):rep(1e7)):rep(2)",
        "(('x'):rep(1e7)):sub(2)",
    ]),
    (Charged, "string.pack string.packsize string.unpack", &[
        "string.pack('s', ('x'):rep(1e7))",
        "string.pack('s', ('x'):rep(8e6))",
        "string.pack(('b'):rep(7e3), table.unpack(table.create(7e3, ('0'):rep(1e6))))",
        "string.packsize((' '):rep(14e6))",
        "local s = (' '):rep(2 ^ 20) while true do string.packsize(s) end",
        "local s = (' '):rep(2 ^ 20) while true do string.pack(s) end",
        "local s = (' '):rep(2 ^ 20) while true do string.unpack(s, '') end",
        "local s = (' '):rep(2 ^ 20 - 1) .. '?' while true do pcall(string.packsize, s) end",
    ]),
    (Charged, "string.byte string.lower string.reverse string.split string.upper", &[
        "(('x'):rep(1e7)):upper():lower():reverse()",
        "(('x'):rep(5e5)):byte(1, -1)",
        "(('x'):rep(1e6)):split('')",
        "(('aaaaaaab'):rep(1e5)):split('aaaaaaac')",
    ]),
    (Watched, "string.find string.gmatch string.gsub string.match", &[
        "(('a'):rep(4e6)):find('[^b]*b')",
        "(('a'):rep(40)):find(('.-'):rep(30) .. 'b')",
        "(('a'):rep(3e4)):match('.-.-.-.-b')",
        "(('('):rep(1e5)):match('%b()%b()')",
        "for _ in (('a'):rep(1e6)):gmatch('a-a-a-b') do end",
        "(('a'):rep(1e6)):gsub('a-a-a-b', '')",
        "(('a'):rep(3e6)):gsub('.', '%0%0')",
        "('x'):gsub('.', function() while true do end end)",
        "('x'):gsub('.', setmetatable({}, {__index = function() while true do end end}))",
        "(('a'):rep(1e7)):find('b$')",
        "(('ab'):rep(4e6)):find('aba', 1, true)",
        "(('a'):rep(1e6)):find(('a'):rep(1e5) .. 'b', 1, true)",
    ]),
    (Refuses, "string.format", &[
        "string.format(('%99.99f'):rep(4e5), table.unpack(table.create(4e5, 1e308)))",
        "string.format(('%99.99f'):rep(1e3), table.unpack(table.create(1e3, 1e308)))",
        "string.format('%q', ('\\n'):rep(4e6))",
        "string.format(('x'):rep(8e6))",
        "string.format(('%d'):rep(1e3), table.unpack(table.create(1e3, ('0'):rep(7e6))))",
        "local t = setmetatable({}, {__tostring = function() return ('0'):rep(7e6) end})
         string.format(('%d'):rep(10), t, t, t, t, t, t, t, t, t, t)",
    ]),
    (Charged, "utf8.codepoint utf8.len utf8.offset", &[
        "utf8.len(('a'):rep(2e7))",
        "utf8.offset(('\\u{80}'):rep(1e7), -1, 1)",
        "utf8.codepoint(('a'):rep(4e5), 1, -1)",
    ]),
    (Watched, "string.char utf8.char utf8.codes", &[
        "string.char(table.unpack(table.create(3e5, 65)))",
        "utf8.char(table.unpack(table.create(3e5, 65)))",
        "string.char(table.unpack(table.create(250, ('0'):rep(7e6))))",
        "for _ in utf8.codes(('a'):rep(1e6)) do end",
    ]),
    // Tables
    (Constant, "table.freeze table.getn table.isfrozen", &[]),
    (Copies, "table.create table.pack table.unpack", &[
        "table.create(1e6, 1)",
        "table.pack(table.unpack(table.create(5e5, 1)))",
        "local t = table.create(5e5, 1) for _ = 1, 1e9 do select('#', table.unpack(t)) end",
    ]),
    (Charged, "table.clear table.clone table.find table.insert table.maxn table.remove", &[
        "local t = table.create(1e6, 1) for _ = 1, 1e9 do table.insert(t, 1, 1) table.remove(t, 1) end",
        "local t = table.create(1e6, 1) for _ = 1, 1e9 do table.find(t, 2) table.maxn(t) end",
        "local t = table.create(5e5, 1) for _ = 1, 1e9 do table.clear(table.clone(t)) end",
    ]),
    (Watched, "table.concat table.foreach table.foreachi table.sort", &[
        "table.concat(table.create(1e6, 1.2345))",
        "table.concat(table.create(1e6, ''))",
        "table.foreach({1}, function() while true do end end)",
        "table.foreachi({1}, function() while true do end end)",
        "table.sort({3, 2, 1}, function() while true do end end)",
        "table.sort(table.create(1e5, 1), function() return true end)",
        "local t = table.create(5e5, 0) for i = 1, #t do t[i] = i * 7919 % 500009 end table.sort(t)",
        "local s = ('a'):rep(1e6) local x, y = s .. 'b', s .. 'c' local t = {} for i = 1, 1e5 do t[i] = i % 2 == 0 and x or y end table.sort(t)",
        "local s = ('a'):rep(1e6) local x, y = s .. 'b', s .. 'c' local t = {} for i = 1, 1e5 do t[i] = i % 2 == 0 and x or y end
         setmetatable(t, {__len = function() return 0 end}) table.sort(t)",
        "local t = {} for i = 1, 1e3 do t[i] = setmetatable({}, {__lt = function() while true do end end}) end table.sort(t)",
    ]),
    (Refuses, "table.move", &[
        "table.move({}, 1, 2 ^ 31, 2)",
        "local t = {} for i = 1, 2e5 do t[i * 16] = i end table.move(t, 1, 4e6, 1, {})",
        "local t = table.create(1e6, 1) for _ = 1, 1e9 do table.move(t, 1, 999999, 2) end",
    ]),
    // Numbers, and bytes in memory
    (Constant, "math.* bit32.* vector.*", &[
        "math.random()",
        "math.max(table.unpack(table.create(5e5, 1)))",
        "math.max(table.unpack(table.create(7e3, ('0'):rep(7e6))))",
        "bit32.bxor(table.unpack(table.create(5e5, 1)))",
        "bit32.bxor(table.unpack(table.create(7e3, ('0'):rep(7e6))))",
    ]),
    (Constant, "buffer.*", &[]),
    (Copies, "buffer.create buffer.fromstring buffer.readstring buffer.tostring", &[
        "buffer.tostring(buffer.fromstring(('x'):rep(7e6)))",
        "buffer.readstring(buffer.create(7e6), 0, 7e6)",
    ]),
    (Charged, "buffer.copy buffer.fill buffer.writestring", &[
        "local b = buffer.create(1e7) for _ = 1, 1e9 do buffer.copy(b, 0, b) buffer.fill(b, 0, 1) end",
        "buffer.writestring(buffer.create(7e6), 0, ('x'):rep(7e6))",
    ]),
    // Coroutines and the rest
    (Constant, "coroutine.*", &["coroutine.close(coroutine.create(function() end))"]),
    (Watched, "coroutine.resume coroutine.wrap", &[
        "coroutine.wrap(function() while true do end end)()",
        "setmetatable({}, {__index = function() coroutine.wrap(function() while true do end end)() end}).x = nil local _ = setmetatable({}, {__index = function() coroutine.wrap(function() while true do end end)() end}).x",
    ]),
    (Copies, "debug.traceback", &["local function f(n) if n == 0 then for _ = 1, 1e9 do debug.traceback() end end f(n - 1) end f(1e4)"]),
    (Constant, "os.*", &[]),
    // The globals of AgentX
    (Effect, "ctx.* ctx.http.* ctx.kv.*", &[
        "ctx.emit(('x'):rep(1e6))",
        "ctx.kv.set('x', table.create(1e3, (table.create(1e6))))",
        "ctx.invoke('echo', table.create(1e3, (table.create(1e6))))",
        "local all = {} for i = 1, 1e4 do all[i] = ctx.async(function() ctx.sleep(9) end) end ctx.await_any(all)",
        "ctx.state.x = table.create(1e3, (table.create(1e6)))",
    ]),
    (Watched, "ctx.async ctx.await_all ctx.await_any ctx.timeout", &[
        "ctx.await_all(ctx.async(function() while true do end end))",
        "ctx.timeout(0, function() while true do end end)",
        "ctx.await_any(table.create(1e6, ctx.async(function() ctx.sleep(1) end)))",
    ]),
    (Constant, "ctx.json.array ctx.parse_time ctx.random", &["ctx.parse_time(('2'):rep(1e7))"]),
    (Watched, "ctx.json.encode ctx.json.decode", &[
        "ctx.json.encode(table.create(1e5, (table.create(1500000))))",
        "local t = {} for i = 1, 3e5 do t['k' .. i] = i end for k in t do t[k] = nil end ctx.json.encode(table.create(1e5, t))",
        "local t = {1} for _ = 1, 40 do t = {t, t} end ctx.json.encode(t)",
        "ctx.json.encode(('\\0'):rep(4e6))",
        "ctx.json.encode(('\\255'):rep(4e6))",
        "ctx.json.decode('[' .. ('0,'):rep(1e6) .. '0]')",
        "ctx.json.decode(('['):rep(1e6))",
        "ctx.json.decode('[\"' .. ('\\\\u0041'):rep(5e5) .. '\"]')",
        "ctx.log(table.create(1e5, (table.create(1500000))))",
        "error(table.create(1e5, (table.create(1500000))))",
    ]),
    // The older API
    (Constant, "rt.input rt.output rt.parse_time rt.state_get __builtin.input __builtin.output __builtin.parse_time __builtin.state_get", &[
        "rt:output(table.create(1e6, 1))",
    ]),
    (Watched, "rt.json_encode rt.json_decode __builtin.json_encode __builtin.json_decode", &[
        "rt:json_encode(table.create(1e5, (table.create(1500000))))",
        "rt:json_decode('[' .. ('0,'):rep(1e6) .. '0]')",
    ]),
    (Watched, "rt.await_all rt.await_any __builtin.await_all __builtin.await_any", &[
        "rt:await_any(table.create(1e6, rt:sleep(1)))",
    ]),
    (Effect, "rt.* __builtin.*", &[
        "rt:emit(table.create(1e5, (table.create(1500000))))",
        "rt:kvs_set('x', table.create(1e5, (table.create(1500000))))",
        "rt:log(table.create(1e5, (table.create(1500000))))",
    ]),
];
