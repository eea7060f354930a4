//! Random programs from the operations of a script on a value: write to it, give it a metatable, call its
//! functions with other values.

/// A seeded source of programs: the same seed gives the same ones.
pub(crate) struct Programs {
    state: u64,
}

/// The strings that a program stores once it has all its values, and after its last statement.
pub(crate) const BEGAN: &str = "it began";
pub(crate) const CAME_THROUGH: &str = "it came through";

/// The scheduler's field names, which a script may use itself.
const FIELDS: &[&str] = &[
    "task",
    "co",
    "waiters",
    "waits",
    "promise",
    "done",
    "ok",
    "value",
    "packed",
    "meta",
    "queue",
    "main",
    "known",
    "dead",
    "step",
    "heard",
    "begun",
    "args",
    "head",
    "tail",
    "old",
    "problem",
    "__index",
    "__metatable",
    "__mode",
    "n",
    "id",
];
/// Methods of the values that scripts get.
const METHODS: &[&str] = &[
    "await", "is_ready", "cancel", "input", "collect", "iter", "close", "recv", "send",
];
/// Functions that take values of any kind.
const FUNCTIONS: &[&str] = &[
    "ctx.await_all",
    "ctx.await_any",
    "ctx.async",
    "ctx.emit",
    "ctx.log",
    "ctx.json.encode",
    "ctx.json.array",
    "ctx.kv.set",
    "coroutine.resume",
    "coroutine.close",
    "coroutine.status",
    "coroutine.create",
    "coroutine.wrap",
    "coroutine.yield",
    "table.freeze",
    "table.clone",
    "table.clear",
    "table.insert",
    "table.remove",
    "table.unpack",
    "table.sort",
    "table.concat",
    "setmetatable",
    "getmetatable",
    "rawset",
    "rawget",
    "rawlen",
    "next",
    "pairs",
    "select",
    "tostring",
    "error",
    "pcall",
    "string.format",
    "string.rep",
    "math.max",
    "buffer.create",
    "typeof",
    "ctx.timeout",
];
/// Values to begin with.
const BEGINNING: &str = r#"local v = {
    ctx, ctx.async(print), ctx.timeout(0), coroutine.running(), getmetatable(""), ctx.state, ctx.json.null, ctx.json.array({}),
    ctx.http, ctx.create_agent("a", {}), select(2, pcall(ctx.sleep, "x")), string, table, _G, coroutine, ctx.http.get("https://a"),
    coroutine.create(function(...) while true do coroutine.yield(...) end end), function(...) return ... end, "task", 1, true,
    setmetatable({}, {__index = function(t, k) return v0 end, __newindex = function(t, k, x) rawset(t, k, x) end,
        __call = function(t, ...) return ... end, __iter = function(t) return next, {t} end, __len = function() return 3 end,
        __eq = function() return true end, __tostring = function() return {} end}),
    {waits = {}, task = {co = coroutine.create(function() while true do coroutine.yield() end end), waits = {}, promise = {}}},
    ctx.async(function() ctx.sleep(0) error({}) end), ctx.async(function() ctx.sleep(0) return {} end),
"#;
const OLDER: &str =
    "rt, __builtin, rt:sleep(0), rt:timeout(0), rt:http({url = 'https://a'}), rt:await_all(rt:sleep(0)),";

impl Programs {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Splitmix64.
    fn number(&mut self, below: usize) -> usize {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % below as u64).unwrap()
    }

    fn one(&mut self, of: &[&'static str]) -> &'static str {
        of[self.number(of.len())]
    }

    /// Returns one of the values that the program has at this point.
    fn value(&mut self) -> String {
        format!("v[{} % #v + 1]", self.number(1000))
    }

    fn statement(&mut self) -> String {
        let (a, b, c) = (self.value(), self.value(), self.value());
        match self.number(14) {
            10 => format!("dig({a}, 4)"),
            11 => format!(
                "ctx.async(function() dig({a}, 4) {b}.{} = {c} end)",
                self.one(FIELDS)
            ),
            12 => format!(
                "{a}.{} = coroutine.create(function(...) while true do leak = 1 coroutine.yield(...) end end)",
                self.one(FIELDS)
            ),
            13 => format!("keep({a}:await())"),
            0 => format!("{a}.{} = {b}", self.one(FIELDS)),
            1 => format!("rawset({a}, {:?}, {b})", self.one(FIELDS)),
            2 => format!("setmetatable({a}, {b})"),
            3 => format!("keep(next({a})) keep(getmetatable({b}))"),
            4 => format!("keep({a}.{})", self.one(FIELDS)),
            5 | 6 => format!("keep({a}:{}({b}, {c}))", self.one(METHODS)),
            7 => format!("for key, inner in {a} do keep(key, inner) end"),
            8 => format!(
                "ctx.async(function() keep({}({b})) keep(coroutine.running()) end)",
                self.one(FUNCTIONS)
            ),
            _ => format!("keep({}({a}, {b}, {c}))", self.one(FUNCTIONS)),
        }
    }

    /// The next program, with the globals of the older API too if `older` is set.
    pub(crate) fn next(&mut self, older: bool) -> String {
        let mut text = format!("-- state\nfunction invoke(ctx, args)\n{BEGINNING}");
        if older {
            text.push_str(OLDER);
        }
        text.push_str("}\nlocal function keep(...) for i = 1, select('#', ...) do if #v < 64 then table.insert(v, (select(i, ...))) end end end\n");
        text.push_str(
            "local function dig(x, deep)
                if type(x) ~= 'table' or deep == 0 then return end
                for key, inner in next, x do keep(key, inner) dig(inner, deep - 1) end
            end\n",
        );
        text.push_str(&format!("ctx.kv.set('{BEGAN}', #v)\n"));
        for _ in 0..4 + self.number(16) {
            let statement = self.statement();
            text.push_str(&format!("pcall(function() {statement} end)\n"));
        }
        text.push_str(&format!("ctx.kv.set('{CAME_THROUGH}', #v)\n"));
        let last = self.value();
        text.push_str(&format!("leak = {last}\nreturn {last}\nend"));
        text
    }
}
