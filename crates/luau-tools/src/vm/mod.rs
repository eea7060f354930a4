//! A VM that holds runs of scripts of one owner. It is frozen: a run writes only to its own globals.
//!
//! A VM takes about 370 KiB, each script in it about 5 and each run about 8. So the scripts of one
//! [`Owner`](crate::Owner) share VMs, at most [`MOST_RUNS`] runs each, and those of different owners never
//! do. A run that exhausts its memory ends alone; its VM takes no new runs and goes with its last one.
//! `template.rs` creates VMs, `memory.rs` charges memory to runs.

mod memory;
pub(crate) mod natives;
pub(crate) mod pool;
pub(crate) mod prelude;
mod state;
pub(crate) mod template;
mod time;

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use mlua::{Function, Lua, Table, Value as Luau};

use crate::compile::Compiled;
use crate::error::{ScriptLocation, TOOL};
use crate::exchange;
use crate::json::flat_value::FlatValue;
use crate::run::ScriptRun;
use crate::vm::memory::{GARBAGE, VmMemory};
use crate::vm::state::{LoadedScript, VmShared, load};
use crate::vm::template::PreparedVm;

/// The maximum number of runs in a VM.
pub(crate) const MOST_RUNS: usize = 64;
/// A VM that has grown beyond this accepts no new runs.
const FULL: usize = 8 << 20;
/// Maximum number of scripts that a VM keeps loaded.
const MOST_SCRIPTS: usize = 256;
/// The memory that a run may use before the collector runs during its turn, in bytes.
const STILL: usize = 256 << 10;
/// A script that was charged with this many bytes shares a VM with no other script from then on.
const HUNGRY: usize = 2 << 20;

/// A VM and the functions that enter it. It belongs to one lane, and never leaves its thread.
pub(crate) struct Vm {
    // Declared before `lua`, because references to values of the VM have to be dropped first.
    /// Lets a run continue.
    go: Function,
    /// Begins a run.
    start: Function,
    /// Makes globals for the next run of a script before it comes.
    ahead: Function,
    /// Returns the position of a run.
    stands: Function,
    /// The state that the Rust functions of the VM use.
    pub(crate) shared: Rc<VmShared>,
    /// The scripts whose runs may enter.
    pub(crate) home: VmScope,
    /// The number of runs in the VM.
    pub(crate) runs: Cell<usize>,
    /// Whether the VM accepts no new runs and is dropped with its last one.
    pub(crate) retired: Cell<bool>,
    /// The memory account of its runs.
    pub(crate) memory: VmMemory,
    /// The VM itself, dropped after everything that refers to it.
    pub(crate) lua: Lua,
}

/// The scripts that may enter a VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct VmScope {
    pub(crate) owner: u64,
    /// Whether it has the globals of the older API.
    older: bool,
    /// The only script that may run here, if it needs much memory.
    alone: Option<u64>,
}

impl VmScope {
    /// Returns the home of this script's runs.
    pub(crate) fn of(script: &Compiled) -> Self {
        Self {
            owner: script.owner,
            older: script.wants.older,
            alone: script.hungry.load(Ordering::Relaxed).then_some(script.id),
        }
    }
}

/// The state of a run after its script could not continue.
pub(crate) enum VmProgress {
    /// The run needs the outcome of this step.
    Needs(u64),
    /// Others have their turn; it can continue at once.
    TurnOver,
    /// The main task has ended.
    Done(TaskEnd),
}

impl Vm {
    /// A prepared VM. From now on it belongs to the owner of the script that needs it.
    pub(crate) fn of(home: VmScope, prepared: PreparedVm) -> mlua::Result<Self> {
        if home.older {
            prepared.add_older()?;
        }
        let PreparedVm {
            lua, shared, inner, ..
        } = prepared;
        Ok(Self {
            go: inner.raw_get("go")?,
            start: inner.raw_get("start")?,
            ahead: inner.raw_get("ahead")?,
            stands: inner.raw_get("stands")?,
            shared,
            home,
            runs: Cell::new(0),
            retired: Cell::new(false),
            memory: VmMemory::of(&lua),
            lua,
        })
    }

    /// Loads a script that is not in it yet; its memory is charged to nobody.
    pub(crate) fn load(&self, script: &Compiled) -> mlua::Result<()> {
        if self.shared.scripts.borrow().contains_key(&script.id) {
            return Ok(());
        }
        let before = self.lua.used_memory();
        let main = Rc::new(load(&self.lua, &script.main, TOOL)?);
        let mut scripts = self.shared.scripts.borrow_mut();
        if scripts.len() >= MOST_SCRIPTS {
            // Scripts that are used again are loaded again.
            scripts.clear();
        }
        let libraries = HashMap::new();
        scripts.insert(script.id, LoadedScript { main, libraries });
        self.memory.loaded(self.lua.used_memory().saturating_sub(before));
        Ok(())
    }

    /// Makes ready for a run of this script, which is loaded, as far as that can be done before it comes.
    pub(crate) fn make_ready(&self, script: u64) {
        let scripts = self.shared.scripts.borrow();
        if let Some(loaded) = scripts.get(&script) {
            // If it cannot be prepared now, the run prepares it.
            let _ = self.ahead.call::<()>(&*loaded.main);
        }
    }

    /// A script is gone.
    pub(crate) fn forget(&self, script: u64) {
        let known = self.shared.scripts.borrow_mut().remove(&script);
        if known.is_some() {
            // The prepared function may belong to this script.
            let _ = self.ahead.call::<()>(());
        }
    }

    /// The main function of the run's script; each run gets it with its own globals.
    fn main(&self, run: &ScriptRun) -> mlua::Result<Rc<Function>> {
        let scripts = self.shared.scripts.borrow();
        let loaded = scripts.get(&run.script().id);
        let loaded = loaded.ok_or_else(|| mlua::Error::runtime("the script is not loaded"))?;
        Ok(Rc::clone(&loaded.main))
    }

    /// Returns whether another run may come in.
    pub(crate) fn has_room(&self) -> bool {
        !self.retired.get() && self.runs.get() < MOST_RUNS && self.over_base() < FULL
    }

    /// Returns whether it is worth keeping when nothing runs in it.
    pub(crate) fn is_small(&self) -> bool {
        !self.retired.get() && self.over_base() < 2 * GARBAGE
    }

    /// Begins a run: creates its globals, its arguments and its main task, and gives it its first turn.
    /// Returns the table for [`Vm::resume`] if it did not end.
    pub(crate) fn start(
        &self,
        run: &Rc<ScriptRun>,
        flat: &mut FlatValue,
    ) -> mlua::Result<(Option<Table>, VmProgress)> {
        self.with(run, || {
            let main = self.main(run)?;
            exchange::put(flat);
            let (wants, most) = (&run.script().wants, run.limits().pending);
            let (code, table, ok, value): (_, Option<Table>, _, _) =
                self.start.call((&*main, wants.state, wants.random, most))?;
            Ok((table, self.progress(run, (code, ok, value), flat)?))
        })
    }

    /// Lets the script run until it waits, ends or has had its turn. `outcome` is the outcome for which it
    /// waited.
    pub(crate) fn resume(
        &self,
        run: &Rc<ScriptRun>,
        table: &Table,
        outcome: Option<(u64, Result<FlatValue, String>)>,
        flat: &mut FlatValue,
    ) -> mlua::Result<VmProgress> {
        self.with(run, || {
            let came = match outcome {
                None => self.go.call(table)?,
                Some((step, Ok(mut value))) => {
                    exchange::put(&mut value);
                    self.go.call((table, step, true))?
                }
                Some((step, Err(problem))) => self.go.call((table, step, false, problem))?,
            };
            self.progress(run, came, flat)
        })
    }

    /// Returns the position of a waiting run, by its table; without one, the position of the script that just
    /// ran out of memory.
    pub(crate) fn place(&self, table: Option<&Table>) -> Option<ScriptLocation> {
        // It is called while no run is at work, so that no limit of a run ends it.
        let (chunk, line) = self.stands.call::<(Option<String>, Option<u32>)>(table).ok()?;
        Some(ScriptLocation {
            chunk: chunk?,
            line: line?,
        })
    }

    /// Works on behalf of a run: with the rest of its memory, and on its time, which ends with
    /// [`ScriptRun::leave`].
    pub(crate) fn with<T>(
        &self,
        run: &Rc<ScriptRun>,
        work: impl FnOnce() -> mlua::Result<T>,
    ) -> mlua::Result<T> {
        let before = self.lua.used_memory();
        let charged = run.charged.get().min(self.over_base());
        let left = run.limits().memory.saturating_sub(charged);
        *self.shared.current.borrow_mut() = Some(Rc::clone(run));
        self.hold_collector(left, before);
        run.enter();
        let limited = self.lua.set_memory_limit(before + left);
        let done = limited.and_then(|_| work());
        *self.shared.current.borrow_mut() = None;
        self.lua.set_memory_limit(0)?;
        let after = self.lua.used_memory();
        run.charged.set((charged + after).saturating_sub(before));
        run.grown.set(run.grown.get() + after.saturating_sub(before));
        if run.charged.get() > HUNGRY {
            run.script().hungry.store(true, Ordering::Relaxed);
        }
        done
    }

    /// Returns the VM's memory beyond its use without a run.
    fn over_base(&self) -> usize {
        self.memory.over_base(self.lua.used_memory())
    }

    /// Collects garbage if there is much: after each work for a run, once its result has been reported.
    pub(crate) fn tidy(&self) {
        // A VM that cannot collect is not one to use.
        if self.memory.has_to_collect(self.lua.used_memory()) && self.collect().is_err() {
            self.retired.set(true);
        }
    }

    /// Stops the collector for a run that uses little memory, so that its garbage is collected with that of
    /// others; but not if little memory is left.
    fn hold_collector(&self, left: usize, used: usize) {
        if left > 4 * GARBAGE {
            self.lua.gc_stop();
            self.shared.still_until.set(used + STILL);
        } else {
            self.lua.gc_restart();
            self.shared.still_until.set(0);
        }
    }

    /// Frees unreachable memory. No script may be running.
    pub(crate) fn collect(&self) -> mlua::Result<()> {
        self.lua.gc_collect()?;
        self.memory.collected(self.lua.used_memory());
        Ok(())
    }

    /// Returns whether runs left garbage in it.
    pub(crate) fn is_dirty(&self) -> bool {
        self.over_base() > GARBAGE / 2
    }

    /// Translates the VM's answer. The run has left the VM after it.
    fn progress(
        &self,
        run: &ScriptRun,
        (code, ok, value): (i64, Option<bool>, Luau),
        flat: &mut FlatValue,
    ) -> mlua::Result<VmProgress> {
        let step = u64::try_from(code);
        if step == Ok(0) {
            // The time of this turn no longer matters.
            return self.ended(ok == Some(true), &value, flat).map(VmProgress::Done);
        }
        run.leave();
        Ok(step.map_or(VmProgress::TurnOver, VmProgress::Needs))
    }

    /// Returns the end of the main task: a value, which is in the hand-over slot, a value that is not JSON,
    /// or an error.
    fn ended(&self, ok: bool, value: &Luau, flat: &mut FlatValue) -> mlua::Result<TaskEnd> {
        if !ok {
            return Ok(TaskEnd::Raised(self.raised(value)?));
        }
        Ok(match value {
            Luau::String(problem) => TaskEnd::NoJson(problem.to_string_lossy()),
            _ => {
                *flat = exchange::take();
                TaskEnd::Value
            }
        })
    }

    /// Returns the message of an error value. No function of the script is called.
    fn raised(&self, value: &Luau) -> mlua::Result<String> {
        let most = 4096;
        let text = match value {
            Luau::String(text) => text.to_string_lossy(),
            Luau::Table(table) => match table.raw_get::<Luau>("message")? {
                Luau::String(text) => text.to_string_lossy(),
                _ => match self.shared.json(value)? {
                    Ok((value, _)) if value != serde_json::json!({}) => value.to_string(),
                    _ => "an error that is a table without a `message`".to_owned(),
                },
            },
            Luau::Error(error) => natives::text_of(error),
            Luau::Number(number) => number.to_string(),
            Luau::Nil => "an error without a message".to_owned(),
            other => format!("an error that is a {}", other.type_name()),
        };
        if text.len() <= most {
            return Ok(text);
        }
        let end = (0..=most)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        Ok(format!(
            "{}… ({} bytes)",
            text.get(..end).unwrap_or_default(),
            text.len()
        ))
    }
}

/// The end of the main task of a run.
pub(crate) enum TaskEnd {
    /// The task returned a value, which is in the memory that was given for it.
    Value,
    /// The task ended with an error, which has this message.
    Raised(String),
    /// The task returned a value that is not JSON, for this reason.
    NoJson(String),
}
