//! The VMs of a lane: those that hold runs, a few that wait for the next run of their owner's scripts, and a
//! few that wait for an owner.
//!
//! A VM is taken for a run in this order: the one that was made ready for the script that ran last, one of
//! the owner's with room, a spare one that never had an owner, a new one. A VM that had an owner is never
//! given to another. When its last run ends it is kept for a while, cleaned, and dropped as the one that was
//! idle longest.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use crate::compile::Compiled;
use crate::vm::template::PreparedVm;
use crate::vm::{Vm, VmScope};

/// VMs without runs that a lane keeps, all owners together. Beyond them the longest idle one is dropped: a
/// script that is called now and then finds a VM, and one that is not called costs nothing.
const IDLE: usize = 8;
/// The number of VMs that a permanent lane keeps ready for future owners: none of them has held a script.
const SPARE: usize = 2;

/// All VMs of a lane.
pub(crate) struct Vms {
    /// The number of VMs that it keeps ready for future owners.
    spares: usize,
    /// VMs by the scripts that may enter them.
    by_home: BTreeMap<VmScope, Vec<Rc<Vm>>>,
    /// The VMs without runs, the longest idle first.
    idle: VecDeque<Rc<Vm>>,
    /// The VMs that have had no owner yet.
    spare: Vec<PreparedVm>,
    /// The VMs without runs that may hold garbage.
    dirty: Vec<Rc<Vm>>,
    /// The script that ran last, and the VM that is ready for its next run.
    next: Option<(Arc<Compiled>, Option<Rc<Vm>>)>,
    /// Whether creating a VM in advance has failed, for example for lack of memory; the run that needs one
    /// gets the error.
    failed: bool,
}

impl Default for Vms {
    /// No VM yet; it keeps [`SPARE`] ready.
    fn default() -> Self {
        Self {
            spares: SPARE,
            by_home: BTreeMap::new(),
            idle: VecDeque::new(),
            spare: Vec::new(),
            dirty: Vec::new(),
            next: None,
            failed: false,
        }
    }
}

impl Vms {
    /// No VM yet, and none is made before a run needs it.
    pub(crate) fn without_spares() -> Self {
        Self {
            spares: 0,
            ..Self::default()
        }
    }

    /// The VM that was made ready for a run of this script, if it is the script that ran last, and the run
    /// can still be there.
    pub(crate) fn ready(&mut self, script: &Compiled) -> Option<Rc<Vm>> {
        let (next, ready) = self.next.as_mut()?;
        let vm = if next.id == script.id {
            ready.take()?
        } else {
            return None;
        };
        if vm.has_room() && vm.home == VmScope::of(script) {
            return Some(vm);
        }
        self.give_back(&vm);
        None
    }

    /// Returns a VM with this script and with room for a run of it; creates one if there is none.
    pub(crate) fn take(&mut self, script: &Arc<Compiled>) -> mlua::Result<Rc<Vm>> {
        let home = VmScope::of(script);
        let all = self.by_home.entry(home).or_default();
        let vm = match all.iter().find(|vm| vm.has_room()) {
            Some(vm) => Rc::clone(vm),
            None => {
                let prepared = match self.spare.pop() {
                    Some(prepared) => prepared,
                    None => PreparedVm::new()?,
                };
                let vm = Rc::new(Vm::of(home, prepared)?);
                all.push(Rc::clone(&vm));
                vm
            }
        };
        vm.load(script)?;
        if vm.runs.replace(vm.runs.get() + 1) == 0 {
            self.idle.retain(|idle| !Rc::ptr_eq(idle, &vm));
        }
        Ok(vm)
    }

    /// A run is over.
    pub(crate) fn give_back(&mut self, vm: &Rc<Vm>) {
        let left = vm.runs.get().saturating_sub(1);
        vm.runs.set(left);
        if left > 0 {
            return;
        }
        if !vm.is_small() {
            self.remove(vm);
            return;
        }
        if vm.is_dirty() && !self.dirty.iter().any(|dirty| Rc::ptr_eq(dirty, vm)) {
            self.dirty.push(Rc::clone(vm));
        }
        self.idle.push_back(Rc::clone(vm));
        if self.idle.len() > IDLE
            && let Some(longest) = self.idle.pop_front()
        {
            self.remove(&longest);
        }
    }

    /// A run of this script has ended: most scripts that run run again.
    pub(crate) fn ran(&mut self, script: &Arc<Compiled>) {
        if self.next.as_ref().is_none_or(|(next, _)| next.id != script.id) {
            self.give_up();
            self.next = Some((Arc::clone(script), None));
        }
    }

    /// Makes ready for the next run of the script that ran last.
    pub(crate) fn make_ready(&mut self) {
        if let Some((script, None)) = &self.next {
            let script = Arc::clone(script);
            if let Ok(vm) = self.take(&script) {
                vm.make_ready(script.id);
                self.next = Some((script, Some(vm)));
            }
        }
    }

    /// Drops the prepared VMs.
    fn give_up(&mut self) {
        if let Some((_, Some(vm))) = self.next.take() {
            self.give_back(&vm);
        }
    }

    /// A script is gone. A run of it that continues has its own copy.
    pub(crate) fn forget(&mut self, owner: u64, script: u64) {
        if self.next.as_ref().is_some_and(|(next, _)| next.id == script) {
            self.give_up();
        }
        for (_, all) in self.by_home.iter().filter(|(home, _)| home.owner == owner) {
            all.iter().for_each(|vm| vm.forget(script));
        }
    }

    /// An owner is gone. VMs that hold runs of its scripts still go with the last one.
    pub(crate) fn leave(&mut self, owner: u64) {
        if self.next.as_ref().is_some_and(|(next, _)| next.owner == owner) {
            self.give_up();
        }
        self.idle.retain(|vm| vm.home.owner != owner);
        self.dirty.retain(|vm| vm.home.owner != owner);
        self.by_home.retain(|home, all| {
            let stays = home.owner != owner;
            all.iter().filter(|_| !stays).for_each(|vm| vm.retired.set(true));
            stays
        });
    }

    /// Makes one preparation while nothing runs: collects the garbage in an idle VM, or creates a VM. False
    /// if nothing is to do.
    pub(crate) fn prepare(&mut self) -> bool {
        if let Some(vm) = self.dirty.pop() {
            // A VM that cannot collect is not one to use.
            if vm.is_dirty() && vm.collect().is_err() {
                vm.retired.set(true);
            }
            return true;
        }
        if self.failed || self.spare.len() >= self.spares {
            return false;
        }
        match PreparedVm::new() {
            Ok(prepared) => self.spare.push(prepared),
            Err(_) => self.failed = true,
        }
        true
    }

    /// Removes a VM that accepts no more runs.
    fn remove(&mut self, vm: &Rc<Vm>) {
        self.dirty.retain(|dirty| !Rc::ptr_eq(dirty, vm));
        let Some(all) = self.by_home.get_mut(&vm.home) else {
            return;
        };
        all.retain(|one| !Rc::ptr_eq(one, vm));
        if all.is_empty() {
            self.by_home.remove(&vm.home);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::{Lanes, Libraries, Owner};

    #[test]
    fn scripts_of_one_owner_share_a_vm_and_others_do_not() -> Result<(), Box<dyn std::error::Error>> {
        let lanes = Lanes::new(1);
        let (one, other) = (Owner::on(Arc::clone(&lanes)), Owner::on(lanes));
        let script = |owner: &Owner, text: &str| {
            let script = owner.compile("x", text, Libraries::new());
            script.map(|script| script.compiled)
        };
        let first = script(&one, "return 1")?;
        let (second, older) = (script(&one, "return 2")?, script(&one, "return rt")?);
        let stranger = script(&other, "return 1")?;
        let mut vms = Vms::default();
        let vm = vms.take(&first)?;
        assert!(Rc::ptr_eq(&vm, &vms.take(&second)?));
        assert!(!Rc::ptr_eq(&vm, &vms.take(&stranger)?));
        assert!(
            !Rc::ptr_eq(&vm, &vms.take(&older)?),
            "the older API is where its scripts are"
        );
        second.hungry.store(true, Ordering::Relaxed);
        let alone = vms.take(&second)?;
        assert!(!Rc::ptr_eq(&vm, &alone));
        assert!(Rc::ptr_eq(&alone, &vms.take(&second)?));
        assert!(Rc::ptr_eq(&vm, &vms.take(&first)?));
        vms.leave(one.id());
        assert!(vm.retired.get() && alone.retired.get());
        assert!(!Rc::ptr_eq(&vm, &vms.take(&first)?));
        Ok(())
    }

    #[test]
    fn a_vm_is_ready_for_the_script_that_ran_last_and_for_no_other() -> Result<(), Box<dyn std::error::Error>>
    {
        let owner = Owner::on(Lanes::new(1));
        let script = |text: &str| {
            owner
                .compile("x", text, Libraries::new())
                .map(|script| script.compiled)
        };
        let (one, other) = (script("return 1")?, script("return 2")?);
        let mut vms = Vms::default();
        let ran = |vms: &mut Vms, script: &Arc<Compiled>| {
            let vm = vms.take(script)?;
            vms.give_back(&vm);
            vms.ran(script);
            vms.make_ready();
            mlua::Result::Ok(vm)
        };
        let vm = ran(&mut vms, &one)?;
        assert_eq!(vm.runs.get(), 1, "it is held for the next run");
        assert!(vms.ready(&other).is_none());
        assert!(vms.ready(&one).is_some_and(|ready| Rc::ptr_eq(&ready, &vm)));
        assert!(vms.ready(&one).is_none(), "it is ready once");
        vms.give_back(&vm);

        ran(&mut vms, &one)?;
        ran(&mut vms, &other)?;
        assert!(vms.ready(&one).is_none(), "the other one ran last");
        assert_eq!(vm.runs.get(), 1, "what was held for the first is given up");

        other.hungry.store(true, Ordering::Relaxed);
        assert!(vms.ready(&other).is_none(), "it has to be alone now");
        assert_eq!(vm.runs.get(), 0);

        ran(&mut vms, &one)?;
        vm.retired.set(true);
        assert!(vms.ready(&one).is_none(), "no run comes into a VM without memory");

        let vm = ran(&mut vms, &one)?;
        vms.forget(owner.id(), one.id);
        assert!(vms.ready(&one).is_none() && vm.runs.get() == 0);
        ran(&mut vms, &one)?;
        vms.leave(owner.id());
        assert!(vms.ready(&one).is_none() && vms.by_home.is_empty());
        Ok(())
    }
}
