//! Values on their way into a script and out of it: a value arrives as `docs/LUAU.md` says, within the limits
//! of the run. A value that is too large, too deep or not JSON is an error of that run alone.

mod expected;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use agentx_luau_tools::{
    BoxFuture, EffectError, EffectKind, Host, HostEffect, Lanes, Libraries, LimitExceeded, Outcome, Owner,
    Reason, Script, ScriptError, ScriptLimits,
};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use expected::{
    Expected, as_given, copied, decoded, echoed, encoded, encoded_and_decoded, not_json_if_table, reversed,
    three_times, too_large, under_names,
};

/// A script, and the result that it must have.
struct Way {
    /// The body of `invoke(ctx, args)`.
    body: &'static str,
    /// The result for these arguments.
    expects: fn(&Value) -> Expected,
    /// Whether the arguments are the bytes as text, instead of the JSON in them.
    takes_text: bool,
}

impl Way {
    const fn of_json(body: &'static str, expects: fn(&Value) -> Expected) -> Self {
        Self {
            body,
            expects,
            takes_text: false,
        }
    }

    const fn of_text(body: &'static str, expects: fn(&Value) -> Expected) -> Self {
        Self {
            body,
            expects,
            takes_text: true,
        }
    }
}

/// A new script goes to the end, so that kept inputs are still for the same scripts.
static WAYS: [Way; 12] = [
    Way::of_json("return args", as_given),
    Way::of_json("return ctx.json.encode(args)", encoded),
    Way::of_json(
        "return ctx.json.decode(ctx.json.encode(args))",
        encoded_and_decoded,
    ),
    Way::of_text("return ctx.json.decode(args)", decoded),
    Way::of_json("return ctx.invoke('echo', args)", echoed),
    Way::of_json("return {value = args, list = {args, args}}", three_times),
    Way::of_json(
        "local function copy(value)
           if type(value) ~= 'table' then return value end
           local made = {}
           for key, item in value do made[key] = copy(item) end
           return made
         end
         return copy(args)",
        copied,
    ),
    Way::of_json(
        "if type(args) ~= 'table' then return args end
         local made = {}
         for key, item in args do made[tostring(key)] = item end
         return made",
        under_names,
    ),
    Way::of_json(
        "return if type(args) == 'string' then args:reverse() else args",
        reversed,
    ),
    Way::of_json(
        "if type(args) == 'table' then args.itself = args end return args",
        not_json_if_table,
    ),
    Way::of_json(
        "if type(args) == 'table' then args[#args + 2] = 1 end return args",
        not_json_if_table,
    ),
    Way::of_json("for _ = 1, 40 do args = {args, args} end return args", too_large),
];

/// The first byte selects the script, the second one the limits; the rest is the JSON of the arguments.
pub fn check(data: &[u8]) {
    let Some(([way, limits], bytes)) = data.split_first_chunk() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let which = usize::from(*way) % WAYS.len();
    let (way, limits) = (&WAYS[which], limits_of(*limits));
    let args = if way.takes_text {
        Value::String(text.to_owned())
    } else {
        let Ok(args) = serde_json::from_str(text) else {
            return;
        };
        args
    };
    let ended = Scripts::get().run(which, &args, &limits);
    let arguments = extent(&args, 2);
    if !arguments.is_within(&limits) {
        let refused = ended.result.is_err_and(|error| error.code() == "arguments");
        assert!(refused && ended.asked.is_empty(), "{args} with {limits:?}");
        return;
    }
    match (&ended.result, (way.expects)(&args)) {
        (Ok(result), Expected::Value { value, asked, .. }) => {
            assert_eq!(result.to_string(), value.to_string(), "{} of {args}", way.body);
            assert_held(result, &limits);
            let asked: Vec<String> = asked.iter().map(Value::to_string).collect();
            let was_asked: Vec<String> = ended.asked.iter().map(Value::to_string).collect();
            assert_eq!(was_asked, asked, "{} of {args}", way.body);
        }
        (Ok(result), _) => panic!("{} of {args} is not an error, but {result}", way.body),
        (Err(error), expected) => {
            assert_allowed(error, &expected, &limits);
            let next = Scripts::get().run(0, &json!({"a": [1, []]}), &limits_of(0));
            assert_eq!(next.result.ok(), Some(json!({"a": [1, []]})), "after {error}");
        }
    }
}

/// So low, except for the first ones, that a few bytes exceed them.
fn limits_of(choice: u8) -> ScriptLimits {
    let usual = ScriptLimits {
        json: 64 << 10,
        ..ScriptLimits::default()
    };
    match choice % 4 {
        0 => usual,
        1 => ScriptLimits {
            json: 96,
            json_depth: 4,
            ..usual
        },
        2 => ScriptLimits {
            json: 512,
            json_depth: 12,
            ..usual
        },
        _ => ScriptLimits {
            memory: 64 << 10,
            ..usual
        },
    }
}

/// Checks that the error is one that this run may end with, and that it says what is wrong.
fn assert_allowed(error: &ScriptError, expected: &Expected, limits: &ScriptLimits) {
    let little_memory = limits.memory < ScriptLimits::default().memory;
    let allowed = match (&error.reason, expected) {
        (Reason::Limit(LimitExceeded::Memory(_)), _) => little_memory,
        (Reason::Result(_) | Reason::Failed(_), Expected::Value { crossing, .. }) => {
            let fits = |value| extent(value, TABLE).is_within(limits);
            little_memory || !crossing.iter().all(fits)
        }
        (Reason::Result(_), Expected::NotJson) | (Reason::Failed(_), Expected::Fails) => true,
        _ => false,
    };
    assert!(allowed, "{error}");
    if let Reason::Result(message) | Reason::Failed(message) = &error.reason {
        let is_clear = !message.is_empty() && !message.starts_with("internal error");
        assert!(is_clear, "{error}");
    }
}

/// The cost of a table in a value that leaves a script, in bytes.
const TABLE: usize = 32;

/// The size of a value as the limits count it.
struct Extent {
    bytes: usize,
    depth: usize,
}

impl Extent {
    fn is_within(&self, limits: &ScriptLimits) -> bool {
        self.bytes <= limits.json && self.depth <= limits.json_depth
    }

    /// The same, with a value inside.
    fn with(self, inside: &Self) -> Self {
        Self {
            bytes: self.bytes + inside.bytes,
            depth: self.depth.max(inside.depth + 1),
        }
    }
}

/// The extent of a value in which each array and each object costs so many bytes. Bytes count as the object
/// that represents them, which is more than they count in a script.
fn extent(value: &Value, table: usize) -> Extent {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Extent { bytes: 2, depth: 0 },
        Value::String(text) => Extent {
            bytes: text.len() + 2,
            depth: 0,
        },
        Value::Array(items) => {
            let whole = Extent {
                bytes: table,
                depth: 1,
            };
            items
                .iter()
                .fold(whole, |whole, item| whole.with(&extent(item, table)))
        }
        Value::Object(fields) => {
            let whole = Extent {
                bytes: table,
                depth: 1,
            };
            fields.iter().fold(whole, |mut whole, (name, item)| {
                whole.bytes += name.len() + 2;
                whole.with(&extent(item, table))
            })
        }
    }
}

/// Checks that a result is not larger than the limits allow.
fn assert_held(value: &Value, limits: &ScriptLimits) {
    let least = extent(&without_bytes(value), TABLE);
    assert!(least.is_within(limits), "{value} with {limits:?}");
}

/// The value with null in place of each object that represents bytes.
fn without_bytes(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_bytes).collect(),
        Value::Object(fields) if fields.len() == 1 && fields.contains_key("$bytes") => Value::Null,
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, item)| (name.clone(), without_bytes(item)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

/// The scripts, compiled once, on a lane of their own.
struct Scripts {
    runtime: Runtime,
    scripts: Vec<Script>,
}

/// The end of a run, and the arguments of the calls that it made.
struct Ended {
    result: Result<Value, ScriptError>,
    asked: Vec<Value>,
}

impl Scripts {
    fn get() -> &'static Self {
        static SCRIPTS: OnceLock<Scripts> = OnceLock::new();
        SCRIPTS.get_or_init(|| {
            let runtime = match Builder::new_current_thread().enable_time().build() {
                Ok(runtime) => runtime,
                Err(error) => panic!("no runtime: {error}"),
            };
            let owner = Owner::on(Lanes::new(1));
            let compile = |way: &Way| {
                let source = format!("function invoke(ctx, args)\n{}\nend", way.body);
                match owner.compile("values", &source, Libraries::new()) {
                    Ok(script) => script,
                    Err(error) => panic!("{error}: {source}"),
                }
            };
            let scripts = WAYS.iter().map(compile).collect();
            Self { runtime, scripts }
        })
    }

    fn run(&self, which: usize, args: &Value, limits: &ScriptLimits) -> Ended {
        let host = Arc::<Echo>::default();
        let run = self.scripts[which].invoke(
            args.clone(),
            host.clone(),
            limits.clone(),
            CancellationToken::new(),
        );
        let result = self.runtime.block_on(run);
        let asked = std::mem::take(&mut *host.asked.lock().unwrap_or_else(PoisonError::into_inner));
        Ended { result, asked }
    }
}

/// Answers each call of a tool with its arguments, which it keeps.
#[derive(Default)]
struct Echo {
    asked: Mutex<Vec<Value>>,
}

impl Host for Echo {
    fn perform(&self, effect: HostEffect) -> BoxFuture<'static, Outcome> {
        let outcome = if effect.kind == EffectKind::Invoke {
            let args = effect.request["args"].clone();
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.push(args.clone());
            Ok(args)
        } else {
            Err(EffectError::new(
                "denied",
                format!("{} is not allowed", effect.kind),
            ))
        };
        Box::pin(std::future::ready(outcome))
    }
}
