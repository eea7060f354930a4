//! Accounts a VM's memory to its runs: each is charged with the growth of the VM while it computed, and
//! credited after a garbage collection.
//!
//! An allocation beyond the rest of a run's memory fails immediately. If several runs share a VM, it is
//! unknown whose garbage the collector freed. So freed memory is credited first to the runs that allocated
//! since the last collection, in proportion: memory that a run has held for longer stays charged to it, and
//! memory of one run is never charged to another.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use mlua::Lua;

use crate::run::ScriptRun;

/// The amount of garbage that may stay in a VM, in bytes.
pub(crate) const GARBAGE: usize = 1 << 20;

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

    /// A run stays in the VM beyond its first turn.
    pub(crate) fn hold(&self, run: &Rc<ScriptRun>) {
        self.runs.borrow_mut().push(Rc::clone(run));
    }

    /// A run has ended.
    pub(crate) fn release(&self, run: &Rc<ScriptRun>) {
        self.runs.borrow_mut().retain(|one| !Rc::ptr_eq(one, run));
    }

    /// Returns how much of the used memory is beyond the use without a run.
    pub(crate) fn over_base(&self, used: usize) -> usize {
        used.saturating_sub(self.base.get())
    }

    /// Returns whether the used memory may have so much garbage in it that it has to be collected.
    pub(crate) fn has_to_collect(&self, used: usize) -> bool {
        used > self.collect_at.get()
    }

    /// Garbage was collected, and this much memory is still used.
    pub(crate) fn collected(&self, used: usize) {
        // The more memory stays, the more garbage is allowed; otherwise the collector would run all the time.
        self.collect_at.set(used + used / 2 + GARBAGE);
        self.credit(self.over_base(used));
    }

    /// After a collection, this much more than the base is left: freed memory is charged to nobody.
    fn credit(&self, left: usize) {
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
