//! Any value, on its way out of a VM and into it, with memory that ends at any allocation: a value that fits
//! arrives unchanged, any other is an error, and the VM continues. A short run by default;
//! `AGENTX_FUZZ_SECONDS=1800` for a longer one, and `just asan` with the address sanitizer.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use mlua::{Function, Lua, Table, Value as Luau};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::exchange;
use crate::json::flat_value::FlatValue;
use crate::stack;
use crate::value::JsonConversion;

const DEPTH: usize = 24;
const BYTES: usize = 1 << 16;

/// A value of a script, made from outside.
#[derive(Clone, Debug)]
enum Made {
    Nil,
    Null,
    Flag(bool),
    Number(f64),
    Text(Vec<u8>),
    Buffer(Vec<u8>),
    Function,
    /// A table that was made before this one, or is around it.
    Again(usize),
    /// Pairs, how much room it has for nothing, and whether it is marked as an array.
    Table(Vec<(Self, Self)>, u8, bool),
}

fn any_made() -> impl Strategy<Value = Made> {
    let leaf = prop_oneof![
        Just(Made::Nil),
        Just(Made::Null),
        Just(Made::Function),
        any::<bool>().prop_map(Made::Flag),
        any::<f64>().prop_map(Made::Number),
        (-3..12).prop_map(|number: i32| Made::Number(number.into())),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(Made::Text),
        "[a-c$bytes]{0,6}".prop_map(|text| Made::Text(text.into_bytes())),
        prop::collection::vec(any::<u8>(), 0..9).prop_map(Made::Buffer),
        (0_usize..6).prop_map(Made::Again),
    ];
    leaf.prop_recursive(5, 48, 8, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..7);
        let numbered = list.prop_map(|values| {
            let keys = (1..).map(|place: u32| Made::Number(place.into()));
            keys.zip(values).collect::<Vec<_>>()
        });
        let named = prop::collection::vec(("[a-e]{1,3}", inner.clone()), 0..7).prop_map(|pairs| {
            let key = |name: String| Made::Text(name.into_bytes());
            pairs
                .into_iter()
                .map(|(name, value)| (key(name), value))
                .collect()
        });
        let pairs = prop::collection::vec((inner.clone(), inner), 0..5);
        let pairs = prop_oneof![numbered, named, pairs];
        (pairs, any::<u8>(), any::<bool>()).prop_map(|(pairs, room, marked)| Made::Table(pairs, room, marked))
    })
}

/// A VM with the two ways.
struct Ways {
    lua: Lua,
    array: Table,
    takes: Function,
    gives: Function,
}

impl Ways {
    fn new() -> Self {
        let lua = Lua::new();
        let array = lua.create_table().unwrap();
        exchange::allow(DEPTH, BYTES);
        Self {
            takes: stack::takes::<JsonConversion>(&lua, &array).unwrap(),
            gives: stack::gives::<JsonConversion>(&lua, &array).unwrap(),
            array,
            lua,
        }
    }

    fn make(&self, made: &Made, known: &mut Vec<Table>) -> Luau {
        match made {
            Made::Nil => Luau::Nil,
            Made::Null => Luau::NULL,
            Made::Flag(flag) => Luau::Boolean(*flag),
            Made::Number(number) => Luau::Number(*number),
            Made::Text(bytes) => Luau::String(self.lua.create_string(bytes).unwrap()),
            Made::Buffer(bytes) => Luau::Buffer(self.lua.create_buffer(bytes).unwrap()),
            Made::Function => Luau::Function(self.takes.clone()),
            Made::Again(which) => known
                .get(*which)
                .map_or(Luau::Nil, |table| Luau::Table(table.clone())),
            Made::Table(pairs, room, marked) => {
                let table = self.lua.create_table_with_capacity((*room).into(), 0).unwrap();
                known.push(table.clone());
                for (key, value) in pairs {
                    let (key, value) = (self.make(key, known), self.make(value, known));
                    // No table has a key that is nil or no number.
                    let _ = table.raw_set(key, value);
                }
                if *marked {
                    table.set_metatable(Some(self.array.clone())).unwrap();
                }
                Luau::Table(table)
            }
        }
    }

    /// Returns a value outside of the VM, or its error.
    fn out(&self, value: &Luau) -> mlua::Result<Result<Value, String>> {
        let problem: Option<String> = self.gives.call(value)?;
        Ok(problem.map_or_else(|| Ok(exchange::take_value()), Err))
    }

    fn back(&self, value: &Value) -> mlua::Result<Luau> {
        exchange::put(&mut FlatValue::of(value, DEPTH, 2 * BYTES).unwrap());
        self.takes.call(true)
    }

    /// With this much memory left.
    fn with_memory<T>(&self, left: usize, work: impl FnOnce() -> mlua::Result<T>) -> mlua::Result<T> {
        self.lua.set_memory_limit(self.lua.used_memory() + left)?;
        let done = work();
        self.lua.set_memory_limit(0)?;
        done
    }

    /// Checks that everything works as before.
    fn goes_on(&self) {
        let value = json!({"a": [1, "b", {"c": null}], "d": []});
        assert_eq!(self.out(&self.back(&value).unwrap()).unwrap(), Ok(value));
    }
}

/// A value as it comes back: inside the VM bytes are a text, so those that are one outside are no longer
/// marked.
fn unmarked(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(unmarked).collect(),
        Value::Object(fields) => {
            let bytes = fields.get("$bytes").filter(|_| fields.len() == 1);
            let bytes = bytes.and_then(|bytes| BASE64.decode(bytes.as_str()?).ok());
            if let Some(Ok(text)) = bytes.map(String::from_utf8) {
                return Value::String(text);
            }
            let fields = fields.into_iter();
            Value::Object(fields.map(|(name, value)| (name, unmarked(value))).collect())
        }
        other => other,
    }
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

/// Runs a property several times, or for `AGENTX_FUZZ_SECONDS` seconds.
fn look<S: Strategy>(cases: u32, strategy: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let seconds = std::env::var("AGENTX_FUZZ_SECONDS").map_or(0, |seconds| seconds.parse().unwrap());
    let until = Instant::now() + Duration::from_secs(seconds);
    loop {
        TestRunner::new(config(cases)).run(&strategy, &test).unwrap();
        if Instant::now() >= until {
            return;
        }
    }
}

#[test]
fn any_value_goes_out_and_comes_back_or_is_refused() {
    let ways = Ways::new();
    look(512, any_made(), |made| {
        let value = ways.make(&made, &mut Vec::new());
        if let Ok(outside) = ways.out(&value).unwrap() {
            let back = ways.back(&outside).unwrap();
            prop_assert_eq!(ways.out(&back).unwrap(), Ok(unmarked(outside)));
        }
        ways.goes_on();
        Ok(())
    });
}

#[test]
fn memory_may_end_at_any_allocation() {
    let ways = Ways::new();
    look(128, any_made(), |made| {
        let value = ways.make(&made, &mut Vec::new());
        let whole = ways.out(&value).unwrap();
        let Ok(outside) = whole.clone() else {
            return Ok(());
        };
        for left in (0..).step_by(24) {
            ways.lua.gc_collect().unwrap();
            let out = ways.with_memory(left, || ways.out(&value));
            let back = ways.with_memory(left, || ways.back(&outside));
            ways.goes_on();
            prop_assert!(out.is_err() || out.as_ref().ok() == Some(&whole), "{out:?}");
            if let Ok(back) = back {
                prop_assert_eq!(ways.out(&back).unwrap(), Ok(unmarked(outside)));
                break;
            }
        }
        Ok(())
    });
}

/// The exchange is borrowed twice, which panics: in the middle of the VM's function that returns a value.
#[test]
fn a_panic_ends_before_it_reaches_the_vm() {
    let ways = Ways::new();
    let value = ways.back(&json!({"a": [1, 2]})).unwrap();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let problem = exchange::with(|_| ways.gives.call::<Option<String>>(&value));
    let came_to = stack::caught(|| -> usize { std::panic::panic_any("made up") });
    std::panic::set_hook(hook);
    assert_eq!(
        problem.unwrap().as_deref(),
        Some("internal error with this value")
    );
    assert_eq!(came_to, 0);
    ways.goes_on();
    assert_eq!(ways.out(&value).unwrap(), Ok(json!({"a": [1, 2]})));
}

#[test]
fn a_walk_goes_as_deep_as_it_may_and_no_deeper() {
    let ways = Ways::new();
    let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let deepest = ways.back(&nested(DEPTH)).unwrap();
    assert_eq!(ways.out(&deepest).unwrap(), Ok(nested(DEPTH)));
    let around = ways.lua.create_table().unwrap();
    around.raw_set(1, deepest).unwrap();
    let problem = ways.out(&Luau::Table(around)).unwrap().unwrap_err();
    assert!(problem.contains("nested deeper than 24"), "{problem}");
    ways.goes_on();
}
