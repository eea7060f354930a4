//! The Rust functions that the sandbox's own Luau uses. A script never holds one of them.
//!
//! Each is called with values that Luau has already checked, on the thread of a lane, during the turn of a
//! run. None may keep a value of the VM beyond its call, and each that may take long regularly checks whether
//! it may continue. A failure is returned as `nil` and a message, which the sandbox's Luau raises as an error
//! at the script's own line.

use std::rc::Rc;

use mlua::{Function, IntoLuaMulti, Lua, MultiValue, Table, Value as Luau};
use serde_json::Value;

use crate::error::{Reason, ScriptLocation, TOOL};
use crate::exchange;
use crate::host::{EffectKind, EffectPlace};
use crate::json::long_work::{LARGE, Piece};
use crate::limits::LimitExceeded;
use crate::run::random::Random;
use crate::stack;
use crate::vm::state::VmShared;

/// The table `native`.
pub(crate) fn table(lua: &Lua, shared: &Rc<VmShared>, env_meta: &Table) -> mlua::Result<Table> {
    let native = lua.create_table()?;
    native.raw_set("takes", shared.takes.get())?;
    native.raw_set("gives", shared.gives.get())?;
    native.raw_set("fresh", stack::fresh(lua, env_meta)?)?;
    native.raw_set("null", Luau::NULL)?;
    let kinds = lua.create_table()?;
    for (index, kind) in EffectKind::ALL.iter().enumerate() {
        kinds.raw_set(kind.as_str(), index)?;
    }
    kinds.set_readonly(true);
    native.raw_set("kinds", kinds)?;
    let adder = Adder { lua, shared, native };
    effects(&adder)?;
    json(&adder)?;
    numbers(&adder)?;
    state(&adder)?;
    adder.native.set_readonly(true);
    Ok(adder.native)
}

/// Adds functions to the table one after the other.
struct Adder<'a> {
    lua: &'a Lua,
    shared: &'a Rc<VmShared>,
    /// The table that the functions are added to.
    native: Table,
}

impl Adder<'_> {
    /// Adds a function under a name.
    fn add<A, R>(
        &self,
        name: &str,
        function: impl Fn(&Lua, &VmShared, A) -> mlua::Result<R> + 'static,
    ) -> mlua::Result<()>
    where
        A: mlua::FromLuaMulti,
        R: IntoLuaMulti,
    {
        let shared = Rc::clone(self.shared);
        let function: Function = self
            .lua
            .create_function(move |lua, args: A| function(lua, &shared, args))?;
        self.native.raw_set(name, function)
    }
}

/// Returns a value, or nil and the error.
fn value_or_error(lua: &Lua, result: Result<impl mlua::IntoLua, String>) -> mlua::Result<MultiValue> {
    match result {
        Ok(value) => value.into_lua_multi(lua),
        Err(problem) => (Luau::Nil, problem).into_lua_multi(lua),
    }
}

/// Functions by which a script requests an effect, and gets its result.
fn effects(to: &Adder<'_>) -> mlua::Result<()> {
    to.add("begin", |lua, shared, (kind, request, detached)| {
        begin(lua, shared, kind, request, detached)
    })?;
    to.add("caught", caught)?;
    to.add("raised", |_, shared, (chunk, line): (String, u32)| {
        shared.run()?.record_stop_place(ScriptLocation { chunk, line });
        Ok(())
    })?;
    to.add("look_soon", |_, _, ()| {
        exchange::look_soon();
        Ok(())
    })?;
    to.add("look_after_failure", |_, _, ()| {
        exchange::note_work();
        Ok(())
    })?;
    to.add("too_many", |lua, shared, ()| {
        let run = shared.run()?;
        shared.note_place(lua);
        Err::<(), _>(run.trip(Reason::Limit(LimitExceeded::Pending(run.limits().pending))))
    })?;
    to.add("no_output", |_, shared, ()| {
        Err::<(), _>(shared.run()?.trip(Reason::NoOutput))
    })?;
    to.add("awaits_recv", |_, shared, ()| {
        Ok(shared.run()?.script().wants.awaits_recv)
    })?;
    to.add(
        "library",
        |lua, shared, (name, env): (String, Table)| match shared.library(lua, &name, &env)? {
            Ok((path, function)) => (path, function).into_lua_multi(lua),
            Err(problem) => (Luau::Nil, problem).into_lua_multi(lua),
        },
    )
}

/// Begins an effect, and returns the number of its step. `detached` is `true` for an effect that the script
/// does not wait for.
fn begin(
    lua: &Lua,
    shared: &VmShared,
    kind: usize,
    request: Luau,
    detached: Option<bool>,
) -> mlua::Result<MultiValue> {
    let kind = EffectKind::ALL
        .get(kind)
        .copied()
        .ok_or_else(|| mlua::Error::runtime("no such effect"))?;
    let (request, bytes) = match shared.json(&request)? {
        Ok(made) => made,
        Err(problem) => return value_or_error(lua, Err::<u64, _>(format!("{kind}: {problem}"))),
    };
    let run = shared.run()?;
    let place = match kind {
        EffectKind::Invoke => VmShared::current_line(lua).map(effect_place),
        _ => None,
    };
    let step = run
        .begin(kind, request, bytes, place)
        .inspect_err(|_| shared.note_place(lua))?;
    if detached == Some(true) {
        run.detached.borrow_mut().insert(step);
    }
    value_or_error(lua, Ok(step))
}

/// Stops the run because of an error that `pcall` must not catch.
fn caught(lua: &Lua, shared: &VmShared, error: Luau) -> mlua::Result<()> {
    let run = shared.run()?;
    if run.is_tripped() {
        return Err(crate::run::stopped());
    }
    let reason = match &error {
        Luau::Error(error) if !is_memory(error) => Reason::Failed(text_of(error)),
        _ => Reason::Limit(LimitExceeded::Memory(run.limits().memory)),
    };
    shared.note_place(lua);
    Err(run.trip(reason))
}

/// Converts a place to the form for the host.
fn effect_place(place: ScriptLocation) -> EffectPlace {
    EffectPlace {
        library: (place.chunk != TOOL).then_some(place.chunk),
        line: place.line,
    }
}

/// Returns whether the VM ran out of memory.
pub(crate) fn is_memory(error: &mlua::Error) -> bool {
    match error {
        mlua::Error::MemoryError(_) => true,
        mlua::Error::CallbackError { cause, .. } => is_memory(cause),
        mlua::Error::RuntimeError(text) => text.starts_with("not enough memory"),
        _ => false,
    }
}

/// The message of an error, without the trace of the VM.
pub(crate) fn text_of(error: &mlua::Error) -> String {
    let text = match error {
        mlua::Error::CallbackError { cause, .. } => return text_of(cause),
        mlua::Error::RuntimeError(text) => text.clone(),
        other => other.to_string(),
    };
    let end = text.find("\nstack traceback:").unwrap_or(text.len());
    text.get(..end).unwrap_or_default().to_owned()
}

/// JSON both ways: small values at once, large ones in pieces.
fn json(to: &Adder<'_>) -> mlua::Result<()> {
    to.add("decode", |lua, shared, (text, keep, at_once)| {
        decode(lua, shared, text, keep, at_once)
    })?;
    to.add("encode", |lua, shared, (value, at_once)| {
        encode(lua, shared, value, at_once)
    })?;
    to.add("go_on", |lua, shared, (number, text, keep)| {
        continue_value(lua, shared, number, text, keep)
    })?;
    to.add("decode_whole", |_, shared, text: mlua::LuaString| {
        let bytes = text.as_bytes();
        let begins = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        if !matches!(begins, Some(b'{' | b'[')) {
            return Ok(Luau::String(text));
        }
        match shared.decode(&text) {
            Ok(value) => shared.luau(value, false),
            Err(_) => Ok(Luau::String(text)),
        }
    })?;
    to.add("array", |_, shared, table: Table| {
        if !table.has_metatable() {
            table.set_metatable(Some(shared.array()?))?;
        }
        Ok(table)
    })?;
    // `table.freeze` refuses a table whose metatable is locked.
    to.add("freeze", |_, _, table: Table| {
        table.set_readonly(true);
        Ok(table)
    })?;
    to.add("parse_time", |_, _, text: mlua::LuaString| {
        Ok(crate::vm::time::parse_bytes(&text.as_bytes()))
    })
}

/// Reads a JSON text, and returns `true` and the value, or `false` and the error. Unless `at_once` is set, a
/// large text is only begun: then `nil` and a number are returned, with which [`continue_value`] continues.
fn decode(
    lua: &Lua,
    shared: &VmShared,
    text: mlua::LuaString,
    keep: bool,
    at_once: bool,
) -> mlua::Result<MultiValue> {
    if at_once || text.as_bytes().len() < LARGE {
        return match shared.decode(&text) {
            Ok(value) => (true, shared.luau(value, keep)?).into_lua_multi(lua),
            Err(problem) => (false, problem).into_lua_multi(lua),
        };
    }
    match shared.decoding(&text) {
        Ok(decoding) => (Luau::Nil, shared.run()?.pieces.decode(decoding)).into_lua_multi(lua),
        Err(problem) => (false, problem).into_lua_multi(lua),
    }
}

/// Writes a value as JSON, and returns `true` and the text, or `false` and the error. A large value is only
/// begun, as in [`decode`].
fn encode(lua: &Lua, shared: &VmShared, value: Luau, at_once: bool) -> mlua::Result<MultiValue> {
    match shared.flat(&value)? {
        Err(problem) => (false, problem).into_lua_multi(lua),
        Ok(bytes) if at_once || bytes < LARGE => {
            (true, exchange::take_value().to_string()).into_lua_multi(lua)
        }
        Ok(_) => (Luau::Nil, shared.run()?.pieces.encode(exchange::take())).into_lua_multi(lua),
    }
}

/// Continues with a large value. Returns `nil` and its number while there is more to do.
fn continue_value(
    lua: &Lua,
    shared: &VmShared,
    number: u64,
    text: Luau,
    keep: Option<bool>,
) -> mlua::Result<MultiValue> {
    exchange::look_soon();
    match shared.run()?.pieces.continue_work(number) {
        Piece::On => (Luau::Nil, number).into_lua_multi(lua),
        Piece::Read(flat) => (true, shared.luau(flat, keep == Some(true))?).into_lua_multi(lua),
        Piece::Written(text) => (true, lua.create_string(text)?).into_lua_multi(lua),
        Piece::NotRead(failed) => (false, shared.decode_error(&text, &failed)).into_lua_multi(lua),
        Piece::Gone => (false, "another large value was started meanwhile").into_lua_multi(lua),
    }
}

/// Random numbers, from the seed of the run, and dates. None of them is an effect.
fn numbers(to: &Adder<'_>) -> mlua::Result<()> {
    to.add("is_seeded", |_, shared, ()| {
        Ok(shared.run()?.random.borrow().is_some())
    })?;
    to.add("seed", |_, shared, seed: f64| {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a seed is any number"
        )]
        let random = Random::new(seed as u64);
        *shared.run()?.random.borrow_mut() = Some(random);
        Ok(())
    })?;
    to.add("random", |_, shared, ()| {
        let run = shared.run()?;
        let mut random = run.random.borrow_mut();
        Ok(random.as_mut().map_or(0.0, Random::unit))
    })?;
    to.add("random_between", |lua, shared, (low, high): (f64, f64)| {
        let whole = |number: f64| number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0;
        if !whole(low) || !whole(high) || low > high {
            let problem = format!("expected two whole numbers, the smaller first, not {low} and {high}");
            return value_or_error(lua, Err::<f64, _>(problem));
        }
        let run = shared.run()?;
        let mut random = run.random.borrow_mut();
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            reason = "whole and small"
        )]
        let value = random
            .as_mut()
            .map_or(low, |random| random.between(low as i64, high as i64) as f64);
        value_or_error(lua, Ok(value))
    })
}

/// The state: read as a table, written key by key.
fn state(to: &Adder<'_>) -> mlua::Result<()> {
    to.add("state_known", |_, shared, table: Luau| {
        let run = shared.run()?;
        if let Ok((Value::Object(entries), _)) = shared.json(&table)? {
            let mut state = run.state.borrow_mut();
            for (key, value) in &entries {
                state
                    .sizes
                    .insert(key.clone(), value.to_string().len() + key.len());
            }
            state.entries = entries;
        }
        Ok(())
    })?;
    to.add("state_set", |lua, shared, (key, value): (String, Luau)| {
        let run = shared.run()?;
        let (value, bytes) = match shared.json(&value)? {
            Ok(made) => made,
            Err(problem) => return value_or_error(lua, Err::<u64, _>(problem)),
        };
        let changed = run.set_state(&key, &value, bytes).map_err(|limit| {
            shared.note_place(lua);
            run.trip(Reason::Limit(limit))
        })?;
        if !changed {
            return Luau::Nil.into_lua_multi(lua);
        }
        let request = serde_json::json!({"key": key, "value": value});
        let step = run
            .begin(EffectKind::StateSet, request, bytes, None)
            .inspect_err(|_| shared.note_place(lua))?;
        value_or_error(lua, Ok(step))
    })
}
