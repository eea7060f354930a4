//! The stack of a VM, and functions in it that work on the stack alone: the only place of the project with `unsafe`.
//!
//! Through mlua a value is a handle, and each step with it is guarded by itself: that took longer than what most tools do, and a safepoint
//! took longer than the loop around it. What is here is called by Luau, and so runs inside the protected call in which scripts run: an
//! error of the VM, such as memory that is not there, unwinds through it like through any function of the VM. What it reads and
//! writes besides is in memory of this thread, [`crate::hatch`].
#![allow(
    unsafe_code,
    reason = "the VM's own functions have no other form; each use says why it is sound"
)]

use std::ffi::{CStr, c_int};
use std::ptr::null_mut;
use std::slice;
use std::sync::OnceLock;

use mlua::{Function, Lua, Table, ffi, lua_State as State};

/// The stack of a function of the VM that runs now. Indices count from 1 for the first argument, or from -1 for what was pushed last.
///
/// Nothing is pushed beyond what there is room for: a function begins with room for [`ffi::LUA_MINSTACK`], and each table makes room for
/// what is pushed while it is filled or walked.
pub(crate) struct Stack(*mut State);

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Nil,
    /// `json.null`.
    Null,
    Boolean,
    Number,
    Integer,
    Text,
    Table,
    Buffer,
    Other,
}

/// Slots that the filling or the walk of a table takes: the table, a key, a value, and one for a metatable.
const SLOTS: c_int = 4;

impl Stack {
    pub(crate) fn null(&mut self) {
        // SAFETY: there is room, as everywhere in this type.
        unsafe { ffi::lua_pushlightuserdata(self.0, null_mut()) }
    }

    pub(crate) fn nil(&mut self) {
        // SAFETY: as above.
        unsafe { ffi::lua_pushnil(self.0) }
    }

    pub(crate) fn boolean(&mut self, flag: bool) {
        // SAFETY: as above.
        unsafe { ffi::lua_pushboolean(self.0, c_int::from(flag)) }
    }

    pub(crate) fn number(&mut self, number: f64) {
        // SAFETY: as above.
        unsafe { ffi::lua_pushnumber(self.0, number) }
    }

    pub(crate) fn text(&mut self, text: &[u8]) {
        // SAFETY: as above; the VM copies the bytes.
        unsafe { ffi::lua_pushlstring_(self.0, text.as_ptr().cast(), text.len()) }
    }

    /// A new table with room for so many positions and names.
    pub(crate) fn table(&mut self, positions: usize, names: usize) {
        let count = |count: usize| c_int::try_from(count).unwrap_or(0);
        // SAFETY: there is room for the table; that for what is in it is made here, or an error is raised.
        unsafe {
            ffi::luaL_checkstack(self.0, SLOTS, c"too deep".as_ptr());
            ffi::lua_createtable(self.0, count(positions), count(names));
        }
    }

    /// Takes the last value and puts it at this position into the table below it.
    pub(crate) fn put_at(&mut self, position: i64) {
        match c_int::try_from(position) {
            // SAFETY: below the value is the table that `table` pushed, which nothing else knows and which is not read-only.
            Ok(position) => unsafe { ffi::lua_rawseti_(self.0, -2, position) },
            Err(_) => self.pop(1),
        }
    }

    /// Takes the last value and the name below it and puts it into the table below both.
    pub(crate) fn put(&mut self) {
        // SAFETY: as in `put_at`; a name is a text, which is a key.
        unsafe { ffi::lua_rawset(self.0, -3) }
    }

    /// Takes the last values.
    pub(crate) fn pop(&mut self, count: c_int) {
        // SAFETY: whoever takes values has pushed them.
        unsafe { ffi::lua_pop(self.0, count) }
    }

    /// Marks the last value, a new table, as an array.
    pub(crate) fn mark_array(&mut self) {
        // SAFETY: the functions of this file have the mark as their first upvalue; the table was made just now.
        unsafe {
            ffi::lua_pushvalue(self.0, ffi::lua_upvalueindex(1));
            ffi::lua_setmetatable(self.0, -2);
        }
    }

    /// Whether the table there is marked as an array.
    pub(crate) fn is_marked(&mut self, at: c_int) -> bool {
        // SAFETY: there is a value at this index; what is pushed is popped.
        unsafe {
            if ffi::lua_getmetatable(self.0, at) == 0 {
                return false;
            }
            let marked = ffi::lua_rawequal(self.0, -1, ffi::lua_upvalueindex(1)) != 0;
            ffi::lua_pop(self.0, 1);
            marked
        }
    }

    /// What is there: nil where there is nothing.
    pub(crate) fn kind(&self, at: c_int) -> Kind {
        // SAFETY: an index beyond the arguments is no error, it is said to be none.
        match unsafe { ffi::lua_type(self.0, at) } {
            ffi::LUA_TNONE | ffi::LUA_TNIL => Kind::Nil,
            ffi::LUA_TBOOLEAN => Kind::Boolean,
            ffi::LUA_TNUMBER => Kind::Number,
            ffi::LUA_TINTEGER => Kind::Integer,
            ffi::LUA_TSTRING => Kind::Text,
            ffi::LUA_TTABLE => Kind::Table,
            ffi::LUA_TBUFFER => Kind::Buffer,
            // SAFETY: it is a light userdata.
            ffi::LUA_TLIGHTUSERDATA if unsafe { ffi::lua_touserdata(self.0, at) }.is_null() => Kind::Null,
            _ => Kind::Other,
        }
    }

    /// What the VM calls it.
    pub(crate) fn kind_name(&self, at: c_int) -> &'static str {
        // SAFETY: the names are texts of the VM's own program, and stay.
        let name = unsafe { CStr::from_ptr(ffi::lua_typename(self.0, ffi::lua_type(self.0, at))) };
        name.to_str().unwrap_or("value")
    }

    pub(crate) fn as_boolean(&self, at: c_int) -> bool {
        // SAFETY: every value is true or false.
        unsafe { ffi::lua_toboolean(self.0, at) != 0 }
    }

    pub(crate) fn as_number(&self, at: c_int) -> f64 {
        // SAFETY: what is no number gives zero.
        unsafe { ffi::lua_tonumberx(self.0, at, null_mut()) }
    }

    pub(crate) fn as_integer(&self, at: c_int) -> i64 {
        // SAFETY: what is no integer gives zero.
        unsafe { ffi::lua_tointeger64(self.0, at, null_mut()) }
    }

    /// The bytes of a text or a buffer, for as long as it stays where it is; none of another value.
    pub(crate) fn as_bytes(&self, at: c_int) -> &[u8] {
        let mut len = 0;
        let bytes: *const u8 = match self.kind(at) {
            // SAFETY: a text is not converted, and so stays the value that it is.
            Kind::Text => unsafe { ffi::lua_tolstring(self.0, at, &raw mut len) }.cast(),
            // SAFETY: it is a buffer.
            Kind::Buffer => unsafe { ffi::lua_tobuffer(self.0, at, &raw mut len) }
                .cast_const()
                .cast(),
            _ => return &[],
        };
        if bytes.is_null() || len == 0 {
            return &[];
        }
        // SAFETY: the VM gives that many bytes. They stay while the value is on the stack: what changes the stack wants it whole.
        unsafe { slice::from_raw_parts(bytes, len) }
    }

    /// Goes through a table: each pair is pushed, the key at index -2 and the value at -1, and popped afterwards. `pair` is also told how
    /// many slots were walked to come to it. Ends with the first error.
    pub(crate) fn each<E>(
        &mut self,
        at: c_int,
        mut pair: impl FnMut(&mut Self, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        // SAFETY: room is made, or an error is raised.
        let at = unsafe {
            ffi::luaL_checkstack(self.0, SLOTS, c"too deep".as_ptr());
            ffi::lua_absindex(self.0, at)
        };
        let mut next = 0;
        loop {
            // SAFETY: there is a table at this index; nothing changes it meanwhile, for no script runs.
            let found = unsafe { ffi::lua_rawiter(self.0, at, next) };
            if found < 0 {
                return Ok(());
            }
            let walked = usize::try_from(found - next).unwrap_or(0);
            next = found;
            let done = pair(self, walked);
            self.pop(2);
            done?;
        }
    }
}

/// A function of this file.
type Work = unsafe extern "C-unwind" fn(*mut State) -> c_int;

fn function(lua: &Lua, upvalue: &Table, work: Work, name: &'static CStr) -> mlua::Result<Function> {
    // SAFETY: the table is the only value on the stack, and becomes the upvalue.
    unsafe {
        lua.exec_raw(upvalue, |state| {
            ffi::lua_pushcclosured(state, work, name.as_ptr(), 1)
        })
    }
}

/// A function `(keep)` that gives the value which lies in this thread's hatch; nulls of objects are kept or absent.
pub(crate) fn takes(lua: &Lua, array: &Table) -> mlua::Result<Function> {
    unsafe extern "C-unwind" fn work(state: *mut State) -> c_int {
        let mut stack = Stack(state);
        crate::value::takes(&mut stack);
        1
    }
    function(lua, array, work, c"takes")
}

/// A function `(value)` that puts the value into this thread's hatch; gives what is wrong with it otherwise.
pub(crate) fn gives(lua: &Lua, array: &Table) -> mlua::Result<Function> {
    unsafe extern "C-unwind" fn work(state: *mut State) -> c_int {
        let mut stack = Stack(state);
        crate::value::gives(&mut stack);
        1
    }
    function(lua, array, work, c"gives")
}

/// A function `(text)` that gives globals for a run, and the text as a function with these globals.
pub(crate) fn fresh(lua: &Lua, env_meta: &Table) -> mlua::Result<Function> {
    unsafe extern "C-unwind" fn work(state: *mut State) -> c_int {
        // SAFETY: the only argument is a function of Luau, the upvalue is the metatable of all globals; eight slots are enough.
        unsafe {
            ffi::lua_createtable(state, 0, GLOBALS);
            ffi::lua_pushvalue(state, -1);
            ffi::lua_rawsetfield(state, -2, c"_G".as_ptr());
            ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1));
            ffi::lua_setmetatable(state, -2);
            ffi::lua_setsafeenv(state, -1, 1);
            ffi::lua_clonefunction(state, 1);
            ffi::lua_pushvalue(state, -2);
            ffi::lua_setfenv(state, -2);
        }

        2
    }
    function(lua, env_meta, work, c"fresh")
}

/// Globals that most scripts have of their own.
const GLOBALS: c_int = 4;

/// mlua's way to the function that `Lua::set_interrupt` was given.
static INTERRUPT: OnceLock<unsafe extern "C-unwind" fn(*mut State, c_int)> = OnceLock::new();

/// Lets only those safepoints come to the function of `Lua::set_interrupt` that [`crate::hatch::is_due`] says have something to do.
pub(crate) fn thin_out_safepoints(lua: &Lua) -> mlua::Result<()> {
    unsafe extern "C-unwind" fn safepoint(state: *mut State, gc: c_int) {
        if gc < 0
            && crate::hatch::is_due()
            && let Some(interrupt) = INTERRUPT.get()
        {
            // SAFETY: it is called as the VM would call it.
            unsafe { interrupt(state, gc) }
        }
    }
    // SAFETY: a VM has its callbacks as long as it is there, and no script runs now.
    unsafe {
        lua.exec_raw::<()>((), |state| {
            let callbacks = ffi::lua_callbacks(state);
            if let Some(interrupt) = (*callbacks).interrupt {
                let _ = INTERRUPT.set(interrupt);
                (*callbacks).interrupt = Some(safepoint);
            }
        })
    }
}
