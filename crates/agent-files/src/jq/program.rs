//! A compiled filter, and one run of it on its own thread, where a runaway filter has a known stack and the
//! caller can continue without it.

use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use jaq_core::load::lex::{Expect, Lexer};
use jaq_core::load::parse::{Def, Parser, Term};
use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars};
use jaq_json::{Num, Val};
use serde_json::{Map, Number, Value};

use super::guard::{self, JqBudget, JqData, JqStop, STACK};
use super::input_paths::{self, InputPath};
use super::{JqError, JqLimits};

/// Named filters that reach outside the data: they would give a filter the environment, the clock or the
/// process.
const OUTSIDE: &[&str] = &[
    "env",
    "now",
    "halt",
    "halt_error",
    "localtime",
    "mktime",
    "strflocaltime",
    "debug",
    "stderr",
    "debug_empty",
    "stderr_empty",
    "input",
    "inputs",
];

const MAIN: &str = "agentx_main";

/// A compiled filter.
pub(super) struct Program {
    filter: jaq_core::Filter<JqData>,
    /// The paths that it reads of its input, as far as its text shows.
    pub(super) reads: Vec<InputPath>,
}

fn is_inside(name: &str) -> bool {
    !OUTSIDE.contains(&name)
}

/// Returns the definitions of the language, with steps in them, parsed once.
fn prelude() -> &'static [Def<&'static str>] {
    static PRELUDE: OnceLock<Vec<Def<&'static str>>> = OnceLock::new();
    PRELUDE.get_or_init(|| {
        let all = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
        all.filter(|def| is_inside(def.name))
            .map(guard::definition)
            .collect()
    })
}

impl Program {
    pub(super) fn compile(text: &str) -> Result<Self, JqError> {
        let body = parse(text)?;
        let reads = input_paths::of(&body, &|part| offset_in(text, part).unwrap_or(0));
        let main = Def {
            name: MAIN,
            args: Vec::new(),
            body: guard::guard(body),
        };
        let arena = Arena::default();
        let loader = Loader::new(prelude().iter().cloned().chain([main]));
        let file = File { code: MAIN, path: () };
        let modules = loader
            .load(&arena, file)
            .map_err(|_| JqError::at(0, "the filter cannot be read"))?;
        let funs = jaq_core::funs()
            .chain(jaq_std::funs())
            .chain(jaq_json::funs())
            .filter(|(name, _, _)| is_inside(name))
            .chain(guard::funs());
        let compiled = Compiler::default().with_funs(funs).compile(modules);
        compiled
            .map(|filter| Self { filter, reads })
            .map_err(|errors| undefined(text, errors))
    }
}

/// Compiles on a thread that has room for a parser that calls itself.
pub(super) fn compile_with_room(text: &str) -> Result<Program, JqError> {
    let failed = |_| JqError::at(0, "no thread to read the filter on");
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK);
        let reader = thread
            .spawn_scoped(scope, || Program::compile(text))
            .map_err(|_| JqError::at(0, "no thread to read the filter on"))?;
        reader.join().map_err(failed)?
    })
}

fn undefined(text: &str, errors: jaq_core::compile::Errors<&str, ()>) -> JqError {
    let first = errors.into_iter().flat_map(|(_, errors)| errors).next();
    let Some((name, what)) = first else {
        return JqError::at(0, "the filter cannot be compiled");
    };
    let offset = offset_in(text, name).unwrap_or(0);
    let message = if OUTSIDE.contains(&name) || name == "$ENV" {
        format!("`{name}` is not available: a filter sees only its input")
    } else {
        format!("there is no {} `{name}`{}", what.as_str(), arity(&what))
    };
    JqError::at(offset, message)
}

fn arity(what: &jaq_core::compile::Undefined) -> String {
    match what {
        jaq_core::compile::Undefined::Filter(0) => String::new(),
        jaq_core::compile::Undefined::Filter(1) => " with one argument".into(),
        jaq_core::compile::Undefined::Filter(count) => format!(" with {count} arguments"),
        _ => String::new(),
    }
}

fn parse(text: &str) -> Result<Term<&str>, JqError> {
    let tokens = Lexer::new(text).lex().map_err(|errors| {
        let (expected, rest) = errors.into_iter().next().unzip();
        // An unclosed bracket is reported at its opening.
        let place = match expected {
            Some(Expect::Delim(open)) => Some(open),
            _ => rest,
        };
        let offset = place.and_then(|place| offset_in(text, place)).unwrap_or(0);
        let expected = expected.as_ref().map_or("jq", |expected| expected.as_str());
        JqError::at(offset, format!("expected {expected}"))
    })?;
    if tokens.is_empty() {
        return Err(JqError::at(0, "the filter is empty; `.` passes its input on"));
    }
    Parser::new(&tokens)
        .parse(|parser| parser.term())
        .map_err(|errors| {
            let (expected, found) = errors.into_iter().next().unzip();
            let found = found.flatten().map(|token| token.0);
            let offset = found
                .and_then(|found| offset_in(text, found))
                .unwrap_or(text.len());
            let expected = expected.as_ref().map_or("jq", |expected| expected.as_str());
            let found = found.map_or_else(|| "the end".into(), |found| format!("`{}`", short(found)));
            JqError::at(offset, format!("expected {expected}, found {found}"))
        })
}

fn short(text: &str) -> String {
    let mut short: String = text.chars().take(20).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Returns the offset of `part` in `whole`, if it is a part of it.
fn offset_in(whole: &str, part: &str) -> Option<usize> {
    let offset = part.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
    (offset <= whole.len()).then_some(offset)
}

/// Runs it on its own thread and waits for the result, a little longer than its time limit.
pub(super) fn run(program: Arc<Program>, input: Value, limits: JqLimits) -> Result<Vec<Value>, JqError> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let work = move || {
        // If the receiver is gone, the message is lost, and nothing else.
        let _ = sender.send(work(&program, &input, limits));
    };
    thread::Builder::new()
        .name("agentx-jq".into())
        .stack_size(STACK)
        .spawn(work)
        .map_err(|error| JqError::running(format!("no thread for the filter: {error}")))?;
    let patience = limits.time.saturating_add(Duration::from_secs(1));
    receiver
        .recv_timeout(patience)
        .unwrap_or_else(|_| Err(JqError::running(JqStop::Time.message())))
}

fn work(program: &Program, input: &Value, limits: JqLimits) -> Result<Vec<Value>, JqError> {
    guard::begin(JqBudget {
        deadline: Instant::now() + limits.time,
        steps: limits.steps,
        bytes: limits.bytes,
        stack_base: guard::stack_here(),
    });
    let filter = &program.filter;
    let context = Ctx::<JqData>::new(&filter.lut, Vars::new([]));
    let mut room = OutputRoom {
        nodes: limits.nodes,
        bytes: limits.bytes,
    };
    let mut outputs = Vec::new();
    for output in filter.id.run((context, to_jq(input))) {
        let value = output.map_err(failure)?;
        if outputs.len() >= limits.outputs {
            return Err(JqError::running(format!(
                "the filter gives more than {} values",
                limits.outputs
            )));
        }
        outputs.push(room.value(&value, 0)?);
    }
    Ok(outputs)
}

fn failure(thrown: jaq_core::Exn<'_, Val>) -> JqError {
    let words = match thrown.get_err() {
        Ok(error) => short_error(&error.to_string()),
        Err(other) => match other.get_halt().ok().and_then(JqStop::of) {
            Some(stop) => stop.message().into(),
            None => "the filter breaks to an unknown label".into(),
        },
    };
    JqError::running(words)
}

/// Shortens the quoted data in an error.
fn short_error(words: &str) -> String {
    let mut short: String = words.chars().take(300).collect();
    if short.len() < words.len() {
        short.push('…');
    }
    short
}

fn to_jq(value: &Value) -> Val {
    match value {
        Value::Null => Val::Null,
        Value::Bool(bool) => Val::Bool(*bool),
        Value::Number(number) => Val::Num(number_to_jq(number)),
        Value::String(text) => Val::utf8_str(text.clone()),
        Value::Array(items) => items.iter().map(to_jq).collect(),
        Value::Object(map) => Val::obj(
            map.iter()
                .map(|(key, value)| (Val::utf8_str(key.clone()), to_jq(value)))
                .collect(),
        ),
    }
}

fn number_to_jq(number: &Number) -> Num {
    if let Some(int) = number.as_i64() {
        return Num::from_integral(int);
    }
    match number.as_u64() {
        Some(int) => Num::from_integral(int),
        None => Num::Float(number.as_f64().unwrap_or_default()),
    }
}

/// The rest of the output limits.
struct OutputRoom {
    nodes: usize,
    bytes: usize,
}

impl OutputRoom {
    fn value(&mut self, value: &Val, depth: usize) -> Result<Value, JqError> {
        let full = || JqError::running("the output of the filter is too large");
        self.nodes = self.nodes.checked_sub(1).ok_or_else(full)?;
        if depth > 128 {
            return Err(JqError::running(
                "the output of the filter is nested more than 128 levels deep",
            ));
        }
        match value {
            Val::Null => Ok(Value::Null),
            Val::Bool(bool) => Ok(Value::Bool(*bool)),
            Val::Num(number) => Ok(number_of(number)),
            Val::TStr(bytes) | Val::BStr(bytes) => self.text(bytes).map(Value::String),
            Val::Arr(items) => items
                .iter()
                .map(|item| self.value(item, depth + 1))
                .collect::<Result<_, _>>()
                .map(Value::Array),
            Val::Obj(entries) => {
                let mut map = Map::new();
                for (key, value) in entries.iter() {
                    let (Val::TStr(name) | Val::BStr(name)) = key else {
                        return Err(JqError::running(format!(
                            "the key {} is not text",
                            short_error(&key.to_string())
                        )));
                    };
                    let name = self.text(name)?;
                    map.insert(name, self.value(value, depth + 1)?);
                }
                Ok(Value::Object(map))
            }
        }
    }

    fn text(&mut self, bytes: &[u8]) -> Result<String, JqError> {
        self.bytes = self
            .bytes
            .checked_sub(bytes.len())
            .ok_or_else(|| JqError::running("the output of the filter is too large"))?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

fn number_of(number: &Num) -> Value {
    match number {
        Num::Int(int) => Value::from(*int as i64),
        Num::Float(float) => Number::from_f64(*float).map_or(Value::Null, Value::Number),
        other => serde_json::from_str(&other.to_string()).unwrap_or(Value::Null),
    }
}
