//! A VM that belongs to no script yet: sandboxed, frozen, with all functions for scripts.
//!
//! Creating one takes longer than most scripts run. So a lane keeps a few, which it creates when it is idle.
//! None of them has held a script, and none is reused for a second owner.

use std::rc::Rc;

use mlua::chunk::ChunkMode;
use mlua::{Lua, LuaOptions, StdLib, Table, Value as Luau};

use crate::stack;
use crate::value::JsonConversion;
use crate::vm::natives;
use crate::vm::prelude::{self, PreludePart};
use crate::vm::state::VmShared;

/// A VM without a script.
pub(crate) struct PreparedVm {
    // Declared before `lua`, because references to values of the VM have to be dropped first.
    /// Functions of the sandbox that only this crate calls.
    pub(crate) inner: Table,
    native: Table,
    /// The part of the standard library that scripts see.
    pub(crate) base: Table,
    pub(crate) shared: Rc<VmShared>,
    pub(crate) lua: Lua,
}

impl PreparedVm {
    /// Makes a VM: the libraries that are safe, the sandbox over them, everything frozen.
    pub(crate) fn new() -> mlua::Result<Self> {
        let libraries = StdLib::TABLE
            | StdLib::STRING
            | StdLib::MATH
            | StdLib::BIT
            | StdLib::UTF8
            | StdLib::BUFFER
            | StdLib::VECTOR
            | StdLib::COROUTINE
            | StdLib::DEBUG;
        let lua = Lua::new_with(libraries, LuaOptions::new())?;
        // Nearly everything that is created here stays; the rest is collected at the end.
        lua.gc_stop();
        let shared = Rc::<VmShared>::default();
        let array = marker(&lua, "array")?;
        let env_meta = marker(&lua, "globals")?;
        let takes = stack::takes::<JsonConversion>(&lua, &array)?;
        let gives = stack::gives::<JsonConversion>(&lua, &array)?;
        shared.takes.get_or_init(|| takes);
        shared.gives.get_or_init(|| gives);
        shared.array.get_or_init(|| array);
        let inner = lua.create_table()?;
        let native = natives::table(&lua, &shared, &env_meta)?;
        for part in prelude::parts() {
            add(&lua, part, &native, &inner)?;
        }
        let base = lua.globals();
        base.raw_set("require", inner.raw_get::<Luau>("require")?)?;
        lua.sandbox(true)?;
        env_meta.set_readonly(false);
        env_meta.raw_set("__index", &base)?;
        env_meta.set_readonly(true);
        let watch = Rc::clone(&shared);
        lua.set_interrupt(move |lua| watch.interrupt(lua));
        stack::thin_out_safepoints(&lua)?;
        lua.gc_restart();
        lua.gc_collect()?;
        Ok(Self {
            inner,
            native,
            base,
            shared,
            lua,
        })
    }

    /// The globals of the older API, for scripts that name them.
    pub(crate) fn add_older(&self) -> mlua::Result<()> {
        add(&self.lua, prelude::older(), &self.native, &self.inner)?;
        self.base.set_readonly(false);
        for (global, name) in [("rt", "rt"), ("__builtin", "builtin")] {
            self.base.raw_set(global, self.inner.raw_get::<Luau>(name)?)?;
        }
        self.base.set_readonly(true);
        Ok(())
    }
}

/// Runs a part of the sandbox's own Luau.
fn add(lua: &Lua, part: &PreludePart, native: &Table, inner: &Table) -> mlua::Result<()> {
    let chunk = lua.load(part.code.as_slice()).set_name("=agentx");
    let chunk = chunk.set_mode(ChunkMode::Binary).into_function()?;
    chunk
        .call::<()>((native, inner))
        .map_err(|error| mlua::Error::runtime(format!("{}: {error}", part.name)))
}

fn marker(lua: &Lua, name: &str) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("__metatable", name)?;
    table.set_readonly(true);
    Ok(table)
}
