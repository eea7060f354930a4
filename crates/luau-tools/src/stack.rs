//! The stack of a VM, and functions that work only on it: the only place of this crate with `unsafe`.
//!
//! In mlua a value is a handle, and each step with it is protected separately: that took longer than the work
//! of most tools, and a safepoint took longer than the loop around it. Luau calls the functions here, so they
//! run inside the protected call in which scripts run.
//!
//! Two rules keep it sound. **The types hold what the VM expects**: a [`StackSlot`] takes one value and is
//! used up by it, a [`TableBuilder`] is the table that was made for it, and an [`ValuePosition`] counts from
//! the first argument, so that no safe function can take a missing value or reach below. **The two ways of
//! unwinding do not meet**: errors of the VM are exceptions of C++, and Rust may not catch them, just as C++
//! may not catch a panic. So the way out of the VM calls nothing that raises an error, and its panics are
//! caught; on the way in, where the VM may run out of memory at any step, everything that could panic is
//! caught separately, before the VM is called.
#![allow(
    unsafe_code,
    reason = "the VM's own functions have no other form; each use says why it is sound"
)]

use std::ffi::{CStr, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::slice;
use std::sync::OnceLock;

use mlua::{Function, Lua, Table, ffi, lua_State as State};

#[cfg(panic = "abort")]
compile_error!("errors of the VM unwind through functions of Rust, which `panic = \"abort\"` does not allow");

/// The stack of a function of the VM that runs now.
pub(crate) struct Stack(*mut State);

/// The position of a value: the first argument, or one that a walk reached. It is nil if the value no longer
/// exists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValuePosition(c_int);

/// A key and a value of a table, during a walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TablePair {
    pub(crate) key: ValuePosition,
    pub(crate) value: ValuePosition,
    /// The number of table slots that were walked to get here.
    pub(crate) walked: usize,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LuauType {
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

/// The stack has no room for a deeper walk.
#[derive(Debug)]
pub(crate) struct NoRoom;

/// Slots that filling or traversing a table needs: the table, a key, a value, and one for a metatable.
const SLOTS: c_int = 4;

/// A slot for one value. If it is dropped without one, the stack stays unchanged.
pub(crate) struct StackSlot<'s>(&'s mut Stack);

/// A new table, which nothing else knows and which is not read-only. It is on top of the stack.
pub(crate) struct TableBuilder<'s>(&'s mut Stack);

impl StackSlot<'_> {
    pub(crate) fn null(self) {
        // SAFETY: there is room for one value, and this is the one, as in each function of this type.
        unsafe { ffi::lua_pushlightuserdata(self.0.0, null_mut()) }
    }

    pub(crate) fn nil(self) {
        // SAFETY: as above.
        unsafe { ffi::lua_pushnil(self.0.0) }
    }

    pub(crate) fn boolean(self, flag: bool) {
        // SAFETY: as above.
        unsafe { ffi::lua_pushboolean(self.0.0, c_int::from(flag)) }
    }

    pub(crate) fn number(self, number: f64) {
        // SAFETY: as above.
        unsafe { ffi::lua_pushnumber(self.0.0, number) }
    }

    pub(crate) fn text(self, text: &[u8]) {
        // SAFETY: as above; the VM copies the bytes.
        unsafe { ffi::lua_pushlstring_(self.0.0, text.as_ptr().cast(), text.len()) }
    }

    /// A new table with memory for this many positions and names.
    pub(crate) fn table(self, positions: usize, names: usize, fill: impl FnOnce(&mut TableBuilder<'_>)) {
        let count = |count: usize| c_int::try_from(count).unwrap_or(0);
        // SAFETY: there is room for the table; room for its contents is made here, or an error is raised.
        unsafe {
            ffi::luaL_checkstack(self.0.0, SLOTS, c"too deep".as_ptr());
            ffi::lua_createtable(self.0.0, count(positions), count(names));
        }
        let top = self.0.top();
        fill(&mut TableBuilder(self.0));
        debug_assert_eq!(self.0.top(), top, "a table is filled and stays");
    }
}

impl TableBuilder<'_> {
    /// Puts a value at a position. One that the VM does not have is left out.
    pub(crate) fn item(&mut self, position: i64, value: impl FnOnce(StackSlot<'_>)) {
        if !self.pushed(value) {
            return;
        }
        match c_int::try_from(position) {
            // SAFETY: a value was pushed, and below it is the table of this filling.
            Ok(position) => unsafe { ffi::lua_rawseti_(self.0.0, -2, position) },
            // SAFETY: a value was pushed.
            Err(_) => unsafe { ffi::lua_pop(self.0.0, 1) },
        }
    }

    /// Puts a value under a name.
    pub(crate) fn field(&mut self, name: &[u8], value: impl FnOnce(StackSlot<'_>)) {
        StackSlot(self.0).text(name);
        if self.pushed(value) {
            // SAFETY: the value was pushed, below it is the name, which is a key, and below that the table of
            // this filling.
            unsafe { ffi::lua_rawset(self.0.0, -3) }
        } else {
            // SAFETY: the name was pushed.
            unsafe { ffi::lua_pop(self.0.0, 1) }
        }
    }

    /// Whether a value was written: a slot accepts at most one.
    fn pushed(&mut self, value: impl FnOnce(StackSlot<'_>)) -> bool {
        let top = self.0.top();
        value(StackSlot(self.0));
        debug_assert!((top..=top + 1).contains(&self.0.top()), "one value or none");
        self.0.top() > top
    }

    /// Marks the table as an array.
    pub(crate) fn mark_array(&mut self) {
        // SAFETY: the functions of this file have the mark as their first upvalue; the table is on top, and
        // there is room for the mark.
        unsafe {
            ffi::lua_pushvalue(self.0.0, ffi::lua_upvalueindex(1));
            ffi::lua_setmetatable(self.0.0, -2);
        }
    }
}

impl Stack {
    /// The first argument.
    pub(crate) const FIRST: ValuePosition = ValuePosition(1);

    /// Returns the number of values on the stack.
    fn top(&self) -> c_int {
        // SAFETY: it is only queried.
        unsafe { ffi::lua_gettop(self.0) }
    }

    /// Whether the table there is marked as an array.
    pub(crate) fn is_marked(&mut self, at: ValuePosition) -> bool {
        // SAFETY: a walk made room for a metatable, and every pushed value is popped. An index from 1 on
        // without a value is reported as nil.
        unsafe {
            if self.kind(at) != LuauType::Table || ffi::lua_getmetatable(self.0, at.0) == 0 {
                return false;
            }
            let marked = ffi::lua_rawequal(self.0, -1, ffi::lua_upvalueindex(1)) != 0;
            ffi::lua_pop(self.0, 1);
            marked
        }
    }

    /// Returns the type of a value: nil if there is no value.
    pub(crate) fn kind(&self, at: ValuePosition) -> LuauType {
        // SAFETY: `lua_type` accepts an index beyond the last value and returns `LUA_TNONE`.
        match unsafe { ffi::lua_type(self.0, at.0) } {
            ffi::LUA_TNONE | ffi::LUA_TNIL => LuauType::Nil,
            ffi::LUA_TBOOLEAN => LuauType::Boolean,
            ffi::LUA_TNUMBER => LuauType::Number,
            ffi::LUA_TINTEGER => LuauType::Integer,
            ffi::LUA_TSTRING => LuauType::Text,
            ffi::LUA_TTABLE => LuauType::Table,
            ffi::LUA_TBUFFER => LuauType::Buffer,
            // SAFETY: it is a light userdata.
            ffi::LUA_TLIGHTUSERDATA if unsafe { ffi::lua_touserdata(self.0, at.0) }.is_null() => {
                LuauType::Null
            }
            _ => LuauType::Other,
        }
    }

    /// Returns the VM's name for the type of a value.
    pub(crate) fn kind_name(&self, at: ValuePosition) -> &'static str {
        // SAFETY: the names are texts of the VM's own program, and stay.
        let name = unsafe { CStr::from_ptr(ffi::lua_typename(self.0, ffi::lua_type(self.0, at.0))) };
        name.to_str().unwrap_or("value")
    }

    pub(crate) fn as_boolean(&self, at: ValuePosition) -> bool {
        // SAFETY: every value is true or false.
        unsafe { ffi::lua_toboolean(self.0, at.0) != 0 }
    }

    pub(crate) fn as_number(&self, at: ValuePosition) -> f64 {
        // SAFETY: a value that is not a number gives zero.
        unsafe { ffi::lua_tonumberx(self.0, at.0, null_mut()) }
    }

    pub(crate) fn as_integer(&self, at: ValuePosition) -> i64 {
        // SAFETY: a value that is not an integer gives zero.
        unsafe { ffi::lua_tointeger64(self.0, at.0, null_mut()) }
    }

    /// The bytes of a text or a buffer, as long as it stays in place; empty for another value.
    pub(crate) fn as_bytes(&self, at: ValuePosition) -> &[u8] {
        let mut len = 0;
        let bytes: *const u8 = match self.kind(at) {
            // SAFETY: a text is not converted, and so stays the value that it is.
            LuauType::Text => unsafe { ffi::lua_tolstring(self.0, at.0, &raw mut len) }.cast(),
            // SAFETY: it is a buffer.
            LuauType::Buffer => unsafe { ffi::lua_tobuffer(self.0, at.0, &raw mut len) }
                .cast_const()
                .cast(),
            _ => return &[],
        };
        if bytes.is_null() || len == 0 {
            return &[];
        }
        // SAFETY: the VM gives that many bytes. They stay while the value is on the stack: functions that
        // change the stack borrow it mutably.
        unsafe { slice::from_raw_parts(bytes, len) }
    }

    /// Goes through a table; through nothing else. Ends with the first error. No script runs meanwhile, and
    /// no error of the VM is raised.
    pub(crate) fn each<E: From<NoRoom>>(
        &mut self,
        at: ValuePosition,
        mut visit: impl FnMut(&mut Self, TablePair) -> Result<(), E>,
    ) -> Result<(), E> {
        // SAFETY: room is made. If there is none, also for lack of memory, this is returned and no error is
        // raised.
        if unsafe { ffi::lua_checkstack(self.0, SLOTS) } == 0 {
            return Err(NoRoom.into());
        }
        let (mut next, top) = (0, self.top());
        while self.kind(at) == LuauType::Table {
            // SAFETY: there is a table at this index; nothing changes it meanwhile, for no script runs. There
            // is room for a key and a value.
            let found = unsafe { ffi::lua_rawiter(self.0, at.0, next) };
            if found < 0 {
                break;
            }
            let pair = TablePair {
                key: ValuePosition(top + 1),
                value: ValuePosition(top + 2),
                walked: usize::try_from(found - next).unwrap_or(0),
            };
            next = found;
            let visited = visit(self, pair);
            debug_assert_eq!(self.top(), top + 2, "a visit leaves the stack as it was");
            // SAFETY: the key and the value are above the earlier values.
            unsafe { ffi::lua_settop(self.0, top) };
            visited?;
        }
        Ok(())
    }
}

/// A function of this file.
type VmFunction = unsafe extern "C-unwind" fn(*mut State) -> c_int;

fn function(lua: &Lua, upvalue: &Table, work: VmFunction, name: &'static CStr) -> mlua::Result<Function> {
    // SAFETY: the table is the only value on the stack, and becomes the upvalue.
    unsafe {
        lua.exec_raw(upvalue, |state| {
            ffi::lua_pushcclosured(state, work, name.as_ptr(), 1)
        })
    }
}

/// The conversion of the value in this thread's exchange, which the functions of a VM call.
pub(crate) trait ValueConversion {
    /// Moves the value from the exchange into the slot, nulls of objects only if it keeps them. It panics
    /// nowhere outside of [`caught`].
    fn takes(slot: StackSlot<'_>, keep: bool);
    /// Puts the first argument into the exchange, or returns the error in it.
    fn gives(stack: &mut Stack) -> Option<String>;
}

/// A function `(keep)` that returns the value in this thread's exchange; nulls of objects are kept or absent.
pub(crate) fn takes<C: ValueConversion>(lua: &Lua, array: &Table) -> mlua::Result<Function> {
    unsafe extern "C-unwind" fn work<C: ValueConversion>(state: *mut State) -> c_int {
        let mut stack = Stack(state);
        let (keep, top) = (stack.as_boolean(Stack::FIRST), stack.top());
        // Errors of the VM go through here: nothing on the way catches them, and nothing panics, see
        // `caught`.
        C::takes(StackSlot(&mut stack), keep);
        debug_assert_eq!(stack.top(), top + 1, "one value is given");
        1
    }
    function(lua, array, work::<C>, c"takes")
}

/// A function `(value)` that puts the value into this thread's exchange, or returns the error in it.
pub(crate) fn gives<C: ValueConversion>(lua: &Lua, array: &Table) -> mlua::Result<Function> {
    unsafe extern "C-unwind" fn work<C: ValueConversion>(state: *mut State) -> c_int {
        let mut stack = Stack(state);
        let top = stack.top();
        let given = catch_unwind(AssertUnwindSafe(|| C::gives(&mut stack)));
        // SAFETY: if a panic ended the walk, the values that it pushed are popped; there is room for the
        // answer.
        unsafe { ffi::lua_settop(state, top) };
        match given.unwrap_or_else(|_| Some("internal error with this value".to_owned())) {
            None => StackSlot(&mut stack).nil(),
            Some(problem) => StackSlot(&mut stack).text(problem.as_bytes()),
        }
        1
    }
    function(lua, array, work::<C>, c"gives")
}

/// Runs `work` and returns the default if it panics: a panic may not unwind through frames of the VM. `work`
/// may not call the VM, whose errors may not be caught here.
pub(crate) fn caught<T: Default>(work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_default()
}

/// A function `(text)` that returns the globals for a run, and the text as a function with these globals.
pub(crate) fn fresh(lua: &Lua, env_meta: &Table) -> mlua::Result<Function> {
    unsafe extern "C-unwind" fn work(state: *mut State) -> c_int {
        // SAFETY: the only argument is a function of Luau, the upvalue is the metatable of all globals; eight
        // slots are enough.
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

/// The number of own globals of most scripts.
const GLOBALS: c_int = 4;

/// mlua's way to the function that `Lua::set_interrupt` was given.
static INTERRUPT: OnceLock<unsafe extern "C-unwind" fn(*mut State, c_int)> = OnceLock::new();

/// Calls the function of `Lua::set_interrupt` only where the clock has to be read or the turn can be yielded.
pub(crate) fn thin_out_safepoints(lua: &Lua) -> mlua::Result<()> {
    unsafe extern "C-unwind" fn safepoint(state: *mut State, gc: c_int) {
        if gc >= 0 {
            return crate::exchange::note_work();
        }
        #[cfg(test)]
        crate::test_counts::safepoint();
        // SAFETY: it is only queried.
        crate::exchange::note_memory(unsafe { ffi::lua_totalbytes(state, -1) });
        // Between two calls that cannot give it away, such as metamethods, this may be the only moment.
        let may_yield = || {
            // SAFETY: it is only queried.
            crate::exchange::is_over() && unsafe { ffi::lua_isyieldable(state) } != 0
        };
        if (crate::exchange::is_due() || may_yield())
            && let Some(interrupt) = INTERRUPT.get()
        {
            // SAFETY: it is called as the VM would call it.
            unsafe { interrupt(state, gc) }
        }
    }
    // SAFETY: a VM has its callbacks as long as it exists, and no script runs now.
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
