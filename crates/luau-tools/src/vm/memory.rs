//! Accounts a VM's memory to its runs: each is charged with the growth of the VM while it computed, and
//! credited after a garbage collection.
//!
//! An allocation beyond the rest of a run's memory fails at once. If several runs share a VM, nobody knows
//! whose garbage the collector freed. So freed memory is credited first to the runs that allocated since the
//! last collection, in proportion: memory that a run has held for longer stays charged to it, and memory of
//! one run is never charged to another.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::Ordering;

use mlua::Lua;

use crate::run::ScriptRun;
use crate::vm::Vm;

/// The amount of garbage that may stay in a VM, in bytes.
pub(crate) const GARBAGE: usize = 1 << 20;
/// The memory that a run may use before the collector runs during its turn, in bytes.
const STILL: usize = 256 << 10;
/// A script that was charged with this many bytes shares a VM with no other script from then on.
const HUNGRY: usize = 2 << 20;

/// The memory of a VM, and the runs that are charged with it.
pub(crate) struct VmMemory {
    /// The memory of the VM without a run.
    base: Cell<usize>,
    /// The number of bytes from which garbage is collected between two runs.
    collect_at: Cell<usize>,
    /// The runs in it, except those that end in their first turn.
    runs: RefCell<Vec<Rc<ScriptRun>>>,
}

impl VmMemory {
    /// The memory of a VM in which no run has been.
    pub(crate) fn of(lua: &Lua) -> Self {
        Self {
            base: Cell::new(lua.used_memory()),
            collect_at: Cell::new(lua.used_memory() + GARBAGE),
            runs: RefCell::default(),
        }
    }

    /// A script was loaded.
    pub(crate) fn loaded(&self, bytes: usize) {
        self.base.set(self.base.get() + bytes);
    }

    /// After a collection, this much more than the base is left: freed memory is charged to nobody.
    fn collected(&self, left: usize) {
        let runs = self.runs.borrow();
        let sum = |part: &dyn Fn(&ScriptRun) -> usize| runs.iter().map(|run| part(run)).sum::<usize>();
        let mut gone = sum(&|run| run.charged.get()).saturating_sub(left);
        let parts: [&dyn Fn(&ScriptRun) -> usize; 2] =
            [&|run| run.grown.get().min(run.charged.get()), &|run| {
                run.charged.get()
            }];
        for part in parts {
            let all = sum(part);
            let going = gone.min(all);
            gone -= going;
            for run in runs.iter().filter(|_| all > 0) {
                run.charged.set(run.charged.get() - share(going, part(run), all));
            }
        }
        for run in runs.iter() {
            run.grown.set(0);
        }
    }
}

/// `part / all` of `whole`.
fn share(whole: usize, part: usize, all: usize) -> usize {
    let share = (whole as u128 * part as u128).checked_div(all as u128);
    share.map_or(0, |share| usize::try_from(share).unwrap_or(whole))
}

impl Vm {
    /// A run stays in it beyond its first turn.
    pub(crate) fn hold(&self, run: &Rc<ScriptRun>) {
        self.memory.runs.borrow_mut().push(Rc::clone(run));
    }

    /// A run has ended.
    pub(crate) fn release(&self, run: &Rc<ScriptRun>) {
        self.memory.runs.borrow_mut().retain(|one| !Rc::ptr_eq(one, run));
    }

    /// Returns the VM's memory beyond its use without a run.
    pub(crate) fn over_base(&self) -> usize {
        self.lua.used_memory().saturating_sub(self.memory.base.get())
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

    /// Collects garbage if there is much: after each work for a run, once its result has been reported.
    pub(crate) fn tidy(&self) {
        // A VM that cannot collect is not one to use.
        if self.lua.used_memory() > self.memory.collect_at.get() && self.collect().is_err() {
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
        let used = self.lua.used_memory();
        // The more memory stays, the more garbage is allowed; otherwise the collector would run all the time.
        self.memory.collect_at.set(used + used / 2 + GARBAGE);
        self.memory.collected(self.over_base());
        Ok(())
    }

    /// Returns whether runs left garbage in it.
    pub(crate) fn is_dirty(&self) -> bool {
        self.over_base() > GARBAGE / 2
    }
}
