//! The bare call with which `invoke` is compared: a function in a VM, arguments and result, and nothing else.

use std::hint::black_box;
use std::time::Instant;

use mlua::{Either, Function, Lua, LuaSerdeExt};
use serde_json::Value;

use crate::measure::{micros, processor};

/// A function in its own VM.
pub(crate) struct Bare {
    lua: Lua,
    invoke: Function,
    args: Value,
}

impl Bare {
    pub(crate) fn new(code: &str, args: Value) -> Self {
        let lua = Lua::new();
        lua.load(code).exec().unwrap();
        let invoke: Function = lua.globals().get("invoke").unwrap();
        Self { lua, invoke, args }
    }

    /// Arguments and result by serde: the cost of mlua alone.
    pub(crate) fn serde(&self, rounds: usize) -> [f64; 2] {
        let call = || -> Value {
            let args = self.args.clone();
            let given = self.lua.to_value(&args).unwrap();
            let got: mlua::Value = self.invoke.call((mlua::Value::Nil, given)).unwrap();
            self.lua.from_value(got).unwrap()
        };
        timed(rounds, || drop(black_box(call())))
    }

    /// Arguments and result by hand, without bounds or checks.
    pub(crate) fn by_hand(&self, rounds: usize) -> [f64; 2] {
        let call = || -> Value {
            let args = self.args.clone();
            let given = to_luau(&self.lua, &args);
            from_luau(self.invoke.call((mlua::Value::Nil, given)).unwrap())
        };
        timed(rounds, || drop(black_box(call())))
    }
}

/// Microseconds of each call: of the processor, and by the clock.
fn timed(rounds: usize, mut call: impl FnMut()) -> [f64; 2] {
    let (began, before) = (Instant::now(), processor().1);
    (0..rounds).for_each(|_| call());
    let after = processor().1;
    [
        micros(after.saturating_sub(before), rounds),
        micros(began.elapsed(), rounds),
    ]
}

type Item<'a> = Either<&'a str, Either<f64, mlua::Value>>;

fn item<'a>(lua: &Lua, value: &'a Value) -> Item<'a> {
    match value {
        Value::String(text) => Either::Left(text),
        Value::Number(number) => Either::Right(Either::Left(number.as_f64().unwrap())),
        other => Either::Right(Either::Right(to_luau(lua, other))),
    }
}

fn to_luau(lua: &Lua, value: &Value) -> mlua::Value {
    match value {
        Value::Bool(flag) => mlua::Value::Boolean(*flag),
        Value::Array(items) => {
            let table = lua.create_table_with_capacity(items.len(), 0).unwrap();
            for (index, value) in items.iter().enumerate() {
                table.raw_set(index + 1, item(lua, value)).unwrap();
            }
            mlua::Value::Table(table)
        }
        Value::Object(fields) => {
            let table = lua.create_table_with_capacity(0, fields.len()).unwrap();
            for (key, value) in fields {
                table.raw_set(key.as_str(), item(lua, value)).unwrap();
            }
            mlua::Value::Table(table)
        }
        _ => mlua::Value::Nil,
    }
}

fn from_luau(value: mlua::Value) -> Value {
    match value {
        mlua::Value::Integer(number) => Value::from(number),
        mlua::Value::String(text) => Value::String(text.to_str().unwrap().to_owned()),
        mlua::Value::Table(table) => {
            let mut fields = serde_json::Map::new();
            let walked = table.for_each(|key: mlua::LuaString, value: mlua::Value| {
                fields.insert(key.to_str()?.to_owned(), from_luau(value));
                Ok(())
            });
            walked.unwrap();
            Value::Object(fields)
        }
        _ => Value::Null,
    }
}
