//! The calls that measure the cost of each function: with `n`, with a `text`, a `list` and some `bytes` of
//! that size, and as `f`. The code before ` | ` runs before the measurement.

/// Calls that are tried with every function that begins no effect; most of them are errors for most
/// functions.
pub(crate) const GENERIC: &[&str] = &[
    "return f(text)",
    "return f(text, text)",
    "return f(list)",
    "return f(list, 1)",
    "return f(list, 1, 1)",
    "return f(bytes, 0)",
    "return f(bytes, 0, 1)",
    "return f(n)",
    "return f(n, 1)",
    "return f(n, 1, 1)",
];

/// Functions that raise an error, however they are called.
pub(crate) const ALWAYS_FAIL: &str = "error os.time os.clock os.date os.getenv";

/// Functions that read or write existing data, so that the VM's memory does not show how much.
pub(crate) const IN_PLACE: &str = "next";

/// The arguments that may be large, of each function that is charged. [`CALLS`] has a call for each, in which
/// only this argument grows and is valid to its end; they stand in this order.
pub(crate) const LARGE_ARGUMENTS: &[(&str, &[&str])] = &[
    ("tonumber", &["the text", "the text of another base"]),
    ("string.pack", &["the format", "the values"]),
    ("string.packsize", &["the format"]),
    ("string.unpack", &["the format", "the text"]),
    ("string.split", &["the text", "the text without a separator"]),
    (
        "string.byte string.lower string.reverse string.upper utf8.codepoint utf8.len utf8.offset",
        &["the text"],
    ),
    (
        "table.clear table.clone table.find table.insert table.maxn table.remove",
        &["the list"],
    ),
    ("buffer.copy buffer.fill buffer.writestring", &["the buffer"]),
];

/// The reasons why no argument of a constant function is walked, however large it is. The number of arguments
/// is not meant: the stack bounds it.
pub(crate) const NOT_WALKED: &[(&str, &str)] = &[
    (
        "assert getmetatable ipairs pairs rawequal rawget select setmetatable type typeof",
        "the value is only passed on, or its kind is looked up",
    ),
    (
        "rawlen string.len table.getn",
        "a length is stored, or found by halving",
    ),
    ("table.freeze table.isfrozen", "one flag of the table"),
    (
        "math.* bit32.* vector.*",
        "numbers; functions of any number of them refuse long texts as numbers",
    ),
    ("buffer.*", "at most eight bytes are read or written"),
    ("coroutine.*", "the coroutine is not run"),
    ("os.*", "the difference of two numbers, or always an error"),
    ("ctx.json.array", "one field of the table"),
    (
        "ctx.parse_time rt.parse_time __builtin.parse_time",
        "a text longer than a date is none",
    ),
    ("ctx.random", "numbers"),
    (
        "rt.input rt.output rt.state_get __builtin.input __builtin.output __builtin.state_get",
        "the value is only kept, or looked up",
    ),
];

/// Calls whose size is `n`, by the names of functions; `*` has the same meaning as in the table of costs.
pub(crate) const CALLS: &[(&str, &[&str])] = &[
    ("error", &["f(text)"]),
    ("rawset", &["local t = table.create(n, 1) | f(t, n + 1, 2)"]),
    ("rawget rawequal", &["return f(list, list)"]),
    ("select", &["return f('#', text)"]),
    ("setmetatable", &["return f(list, {})"]),
    ("pcall", &["f(function() for _ = 1, n do end end)"]),
    ("xpcall", &["f(error, function() for _ = 1, n do end end)"]),
    ("next", &["return f(list, n - 1)"]),
    (
        "tonumber",
        &[
            "local s = ('9'):rep(n) | return f(s)",
            "local s = ('1'):rep(n) | return f(s, 2)",
        ],
    ),
    (
        "tostring",
        &[
            "local t = setmetatable({}, {__tostring = function() for _ = 1, n do end return 't' end}) | return f(t)",
        ],
    ),
    ("unpack table.unpack", &["return f(list)", "return f(list, 1, n)"]),
    ("print", &["f(text)"]),
    ("require", &["f('loops')"]),
    (
        "string.packsize",
        &[
            "local s = (' '):rep(n) | return f(s)",
            "local s = ('b'):rep(n) | return f(s)",
            "local s = ('!16'):rep(n) | return f(s)",
        ],
    ),
    ("string.char utf8.char", &["return f(unpack(list))"]),
    (
        "string.pack",
        &["local s = (' '):rep(n) | return f(s)", "return f('s', text)"],
    ),
    ("string.rep", &["return f('x', n)", "return f(text, 2)"]),
    ("string.sub", &["return f(text, 2)"]),
    ("string.byte utf8.codepoint", &["return f(text, 1, -1)"]),
    ("string.split", &["return f(text, 'b')", "return f(text, '')"]),
    (
        "string.unpack",
        &[
            "local s = (' '):rep(n) | return f(s, '')",
            "local s = text .. '\\0' | return f('z', s)",
            "local s = ('b'):rep(n) | return f(s, text)",
        ],
    ),
    (
        "string.lower string.reverse string.upper utf8.len",
        &["return f(text)"],
    ),
    ("string.find string.match", &["return f(text, '^.-b')"]),
    ("string.gmatch", &["for _ in f(text, 'a') do end"]),
    ("string.gsub", &["return f(text, 'a', function() end)"]),
    (
        "string.format",
        &["local m = n // 100 local s = ('%d'):rep(m) | return f(s, unpack(list, 1, m))"],
    ),
    ("utf8.offset", &["return f(text, -1)"]),
    ("utf8.codes", &["for _ in f(text) do end"]),
    ("table.clear table.clone table.maxn", &["return f(list)"]),
    ("table.find", &["return f(list, 2)"]),
    ("table.insert", &["return f(list, 1, 0)"]),
    ("table.remove", &["return f(list, 1)"]),
    ("table.freeze table.isfrozen", &["return f(list)"]),
    ("table.create", &["return f(n, 1)"]),
    ("table.pack", &["return f(unpack(list))"]),
    ("table.concat", &["return f(list)"]),
    (
        "table.sort",
        &[
            "return f(list)",
            "return f(list, function(a, b) return a < b end)",
        ],
    ),
    ("table.foreach table.foreachi", &["f(list, function() end)"]),
    (
        "table.move",
        &["local last = if n < 1e5 then n else 5e6 | f(list, 1, last, 1, {})"],
    ),
    ("math.random ctx.random", &["return f()", "return f(n)"]),
    ("math.map", &["return f(n, 0, n, 0, 1)"]),
    (
        "vector.*",
        &[
            "local v = vector.create(n, 1, 1) | return f(v)",
            "local v = vector.create(n, 1, 1) | return f(v, v)",
            "local v = vector.create(n, 1, 1) | return f(v, v, v)",
            "local v = vector.create(n, 1, 1) | return f(v, v, 1)",
        ],
    ),
    ("bit32.*", &["return f(n, 1, 1, 1)"]),
    ("buffer.copy", &["local to = buffer.create(n) | f(to, 0, bytes)"]),
    ("buffer.create", &["return f(n)"]),
    ("buffer.fill", &["f(bytes, 0, 1)"]),
    ("buffer.fromstring", &["return f(text)"]),
    ("buffer.readstring", &["return f(bytes, 0, n)"]),
    ("buffer.tostring", &["return f(bytes)"]),
    ("buffer.writestring", &["f(bytes, 0, text)"]),
    ("buffer.readbits", &["return f(bytes, 0, 8)"]),
    ("buffer.writebits", &["f(bytes, 0, 8, 1)"]),
    (
        "coroutine.create coroutine.isyieldable coroutine.running",
        &["return f(function() end)"],
    ),
    (
        "coroutine.close coroutine.status",
        &["local co = coroutine.create(function() end) | return f(co)"],
    ),
    (
        "coroutine.resume",
        &["local co = coroutine.create(function() for _ = 1, n do end end) | return f(co)"],
    ),
    ("coroutine.wrap", &["f(function() for _ = 1, n do end end)()"]),
    (
        "coroutine.yield",
        &["local co = coroutine.wrap(function() f(1) end) | co()"],
    ),
    ("debug.traceback", &["return f(text)"]),
    ("os.difftime", &["return f(n)"]),
    (
        "ctx.async",
        &["ctx.await_all(f(function() for _ = 1, n do end end))"],
    ),
    (
        "ctx.await_all ctx.await_any",
        &["local p = ctx.async(function() for _ = 1, n do end end) | f(p)"],
    ),
    ("ctx.timeout", &["f(9, function() for _ = 1, n do end end)"]),
    (
        "ctx.json.encode rt.json_encode __builtin.json_encode ctx.log rt.log __builtin.log",
        &["f(list)"],
    ),
    (
        "ctx.json.decode rt.json_decode __builtin.json_decode",
        &["local s = '[' .. ('0,'):rep(n) .. '0]' | f(s)"],
    ),
    ("ctx.json.array", &["local t = table.create(n, 1) | return f(t)"]),
    (
        "ctx.parse_time rt.parse_time __builtin.parse_time",
        &["return f(text)"],
    ),
    (
        "ctx.generate_async ctx.generate_json_async ctx.invoke_async",
        &["ctx.await_all(f(text, {}))"],
    ),
    ("ctx.http.request __builtin.http", &["f({url = text})"]),
    ("rt.http", &["f({url = text}):await()"]),
    ("ctx.http.* ctx.kv.* ctx.*", &["f(text, {})"]),
    (
        "ctx.sleep rt.sleep __builtin.sleep rt.timeout __builtin.timeout",
        &["f(n)"],
    ),
    ("ctx.emit rt.emit __builtin.emit", &["f(text)"]),
    (
        "rt.await_all rt.await_any __builtin.await_all __builtin.await_any",
        &["local p = ctx.async(function() for _ = 1, n do end end) | f(p):await()"],
    ),
    ("rt.state_set __builtin.state_set", &["f('key', n)"]),
    (
        "rt.state_delete __builtin.state_delete",
        &["rt.state_set('key', 1) | f('key')"],
    ),
    ("rt.* __builtin.*", &["f(text, {})"]),
];
