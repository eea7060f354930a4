//! The state that the Rust functions of a VM use: the current run, the loaded scripts, the transfer of
//! values.
//!
//! It belongs to one VM and is used by its functions. Scripts cannot see it.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, Table, Value as Luau};
use serde_json::Value;

use crate::error::{ScriptLocation, TOOL};
use crate::exchange;
use crate::json::decode::{DecodeFailure, Decoding};
use crate::json::flat_value::FlatValue;
use crate::limits::ScriptLimits;
use crate::run::ScriptRun;

/// The state that the Rust functions of a VM use.
#[derive(Default)]
pub(crate) struct VmShared {
    /// The run whose script computes now; `None` between two turns.
    pub(crate) current: RefCell<Option<Rc<ScriptRun>>>,
    /// The metatable that marks a table as an array, also when it is empty.
    pub(crate) array: OnceCell<Table>,
    /// Scripts that are loaded, by their ids.
    pub(crate) scripts: RefCell<BTreeMap<u64, LoadedScript>>,
    depth: Cell<usize>,
    /// The function that moves values into the exchange and out of it.
    pub(crate) gives: OnceCell<Function>,
    pub(crate) takes: OnceCell<Function>,
    /// The collector is stopped until the VM has this many bytes; zero if it runs.
    pub(crate) still_until: Cell<usize>,
}

/// A script in a VM. No run has these functions themselves, each has its own copies with its own globals.
pub(crate) struct LoadedScript {
    /// The script as a function, which each run gets with its own globals.
    pub(crate) main: Rc<Function>,
    /// Required libraries, in the same form.
    pub(crate) libraries: HashMap<String, Function>,
}

impl VmShared {
    /// The run whose script runs now.
    pub(crate) fn run(&self) -> mlua::Result<Rc<ScriptRun>> {
        let run = self.current.borrow();
        run.clone()
            .ok_or_else(|| mlua::Error::runtime("no script is running"))
    }

    /// The metatable that marks empty arrays.
    pub(crate) fn array(&self) -> mlua::Result<Table> {
        let array = self.array.get().cloned();
        array.ok_or_else(not_ready)
    }

    /// Remembers the line of the script that runs now.
    pub(crate) fn note_place(&self, lua: &Lua) {
        let Some(run) = self.current.borrow().clone() else {
            return;
        };
        if run.place.borrow().is_some() {
            return;
        }
        if let Some(place) = Self::current_line(lua) {
            *run.place.borrow_mut() = Some(place);
        }
    }

    /// The current line of the running script; for work of the sandbox itself, the line that called it.
    pub(crate) fn current_line(lua: &Lua) -> Option<ScriptLocation> {
        for level in 0..12 {
            let place = lua.inspect_stack(level, |debug| {
                let chunk = debug.source().short_src?.into_owned();
                let line = u32::try_from(debug.current_line()?).ok()?;
                Some(ScriptLocation { chunk, line })
            });
            match place {
                None => return None,
                Some(Some(place)) if place.chunk == TOOL || place.chunk.starts_with("libs/") => {
                    return Some(place);
                }
                Some(_) => {}
            }
        }
        None
    }

    /// A library's path and its function, with this run's globals.
    pub(crate) fn library(
        &self,
        lua: &Lua,
        name: &str,
        env: &Table,
    ) -> mlua::Result<Result<(String, Function), String>> {
        let run = self.run()?;
        let script = run.script();
        let path = match script.libraries.find(name) {
            Ok((path, _)) => path,
            Err(problem) => return Ok(Err(problem)),
        };
        let known = {
            let scripts = self.scripts.borrow();
            let loaded = scripts.get(&script.id);
            loaded.and_then(|loaded| loaded.libraries.get(&path).cloned())
        };
        let function = match known {
            Some(function) => function,
            None => {
                let code = match script.compiled.get(&path) {
                    Some(Ok(code)) => code,
                    Some(Err(mistake)) => return Ok(Err(format!("require: {mistake}"))),
                    None => return Ok(Err(format!("require: {path} was not compiled"))),
                };
                let function = load(lua, code, &path)?;
                if let Some(loaded) = self.scripts.borrow_mut().get_mut(&script.id) {
                    loaded.libraries.insert(path.clone(), function.clone());
                }
                function
            }
        };
        let function = function.deep_clone()?;
        function.set_environment(env.clone())?;
        Ok(Ok((path, function)))
    }

    /// At a safepoint that has something to do.
    pub(crate) fn interrupt(&self, lua: &Lua) -> mlua::Result<mlua::VmState> {
        let current = self.current.borrow();
        let Some(run) = current.as_ref() else {
            return Ok(mlua::VmState::Continue);
        };
        if self.still_until.get() != 0 && lua.used_memory() > self.still_until.get() {
            self.still_until.set(0);
            lua.gc_restart();
        }
        run.interrupt().inspect_err(|_| {
            // Determining the place must not recurse.
            if self.depth.replace(1) == 0 {
                self.note_place(lua);
                self.depth.set(0);
            }
        })
    }

    /// The same as [`VmShared::decode`], one piece at a time.
    pub(crate) fn decoding(&self, text: &mlua::LuaString) -> Result<Decoding, String> {
        let run = self.run().map_err(|error| error.to_string())?;
        let limits = run.limits();
        let bytes = bounded_bytes(text, limits)?;
        Ok(Decoding::of(bytes.to_vec(), limits.json_depth, limits.json))
    }

    /// Returns why a text was not read in pieces, worded as for a text that is read whole.
    pub(crate) fn decode_error(&self, text: &Luau, failed: &DecodeFailure) -> String {
        if let (DecodeFailure::NoJson, Luau::String(text)) = (failed, text)
            && let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(&text.as_bytes())
        {
            return error.to_string();
        }
        match (failed, self.run()) {
            (DecodeFailure::TooLarge, Ok(run)) => {
                let ScriptLimits { json, json_depth, .. } = run.limits();
                let most = crate::limits::Bytes(*json);
                format!("more than {most} of JSON, or nested deeper than {json_depth}")
            }
            _ => "it contains a text or a number that is not JSON".to_owned(),
        }
    }

    /// Puts a value as JSON into the exchange. Returns its approximate size in bytes, or the error in it.
    pub(crate) fn flat(&self, value: &Luau) -> mlua::Result<Result<usize, String>> {
        let problem: Option<String> = self.door(&self.gives)?.call(value)?;
        Ok(problem.map_or_else(|| Ok(exchange::size()), Err))
    }

    /// Returns the JSON of a value and its size, or the error in it.
    pub(crate) fn json(&self, value: &Luau) -> mlua::Result<Result<(Value, usize), String>> {
        let made = self.flat(value)?;
        Ok(made.map(|bytes| (exchange::take_value(), bytes)))
    }

    /// A value of JSON. Nulls of objects are kept, or are absent keys.
    pub(crate) fn luau(&self, mut value: FlatValue, keep: bool) -> mlua::Result<Luau> {
        exchange::put(&mut value);
        self.door(&self.takes)?.call(keep)
    }

    fn door<'a>(&self, door: &'a OnceCell<Function>) -> mlua::Result<&'a Function> {
        door.get().ok_or_else(not_ready)
    }

    /// Returns the value of a JSON text, or the error in it.
    pub(crate) fn decode(&self, text: &mlua::LuaString) -> Result<FlatValue, String> {
        let run = self.run().map_err(|error| error.to_string())?;
        let limits = run.limits();
        let bytes = bounded_bytes(text, limits)?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        FlatValue::of(&value, limits.json_depth, limits.json)
    }
}

/// The error for a VM that is used before it is complete, which does not happen.
fn not_ready() -> mlua::Error {
    mlua::Error::runtime("the VM is not ready")
}

/// The bytes of a text, if it is one that may be read.
fn bounded_bytes(text: &mlua::LuaString, limits: &ScriptLimits) -> Result<mlua::BorrowedBytes, String> {
    let bytes = text.as_bytes();
    if bytes.len() > limits.json {
        let most = crate::limits::Bytes(limits.json);
        return Err(format!("the text has more than {most}"));
    }
    Ok(bytes)
}

/// A chunk that this process compiled.
pub(crate) fn load(lua: &Lua, code: &[u8], name: &str) -> mlua::Result<Function> {
    // Only this process makes bytecode; `=` marks the name as not being a file.
    let chunk = lua.load(code).set_name(format!("={name}"));
    chunk.set_mode(ChunkMode::Binary).into_function()
}
