//! One lane: takes what it is told, lets one run after the other go on, drops VMs that nobody needs.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use mlua::Table;
use serde_json::Value;

use crate::error::{Reason, ScriptError};
use crate::host::{EffectError, Outcome};
use crate::lanes::{Start, Told};
use crate::limits::Limit;
use crate::natives::{is_memory, text_of};
use crate::run::{Run, Said, TIMED_OUT};
use crate::script::Compiled;
use crate::value::measure;
use crate::vm::{Ended, Progress, Vm};

/// VMs without runs that a lane keeps, all scripts together.
const IDLE_VMS: usize = 8;
/// How long a run may take outcomes that are there already before others have their turn.
const TURN: Duration = Duration::from_millis(4);

/// The body of a lane's thread. It ends when nobody can tell it anything any more.
pub(crate) fn run(told: &mpsc::Receiver<Told>) {
    let mut lane = Lane::default();
    loop {
        if lane.ready.is_empty() {
            match told.recv() {
                Ok(told) => lane.told(told),
                Err(_) => return,
            }
        }
        while let Ok(told) = told.try_recv() {
            lane.told(told);
        }
        if let Some(id) = lane.ready.pop_front() {
            lane.go_on(id);
        }
    }
}

#[derive(Default)]
struct Lane {
    runs: HashMap<u64, Instance>,
    ready: VecDeque<u64>,
    vms: HashMap<u64, Vm>,
    next_vm: u64,
}

/// A run on this lane.
struct Instance {
    run: Rc<Run>,
    script: Arc<Compiled>,
    vm: u64,
    table: Option<Table>,
    args: Value,
    /// Outcomes that the script did not ask for yet.
    outcomes: BTreeMap<u64, Outcome>,
    /// The step whose outcome the script asked for.
    asked: Option<u64>,
}

impl Lane {
    fn told(&mut self, told: Told) {
        match told {
            Told::Start(start) => self.start(*start),
            Told::Outcome { run, step, outcome } => {
                let Some(instance) = self.runs.get_mut(&run) else {
                    return;
                };
                if instance.keep(step, outcome) {
                    self.ready.push_back(run);
                }
            }
            Told::Stop { run } => {
                if let Some(instance) = self.runs.get(&run) {
                    let reason = match instance.run.stop.load(Ordering::Relaxed) {
                        TIMED_OUT => Reason::Limit(Limit::Wall(instance.run.limits.wall)),
                        _ => Reason::Cancelled,
                    };
                    let error = ScriptError::new(&instance.script.name, reason);
                    self.end(run, Err(error));
                }
            }
            Told::Forget { script } => {
                self.vms
                    .retain(|_, vm| vm.runs > 0 || vm.shared.script.id != script);
            }
        }
    }

    fn start(&mut self, start: Start) {
        let Start {
            id,
            script,
            args,
            limits,
            said,
            stop,
        } = start;
        let run = Rc::new(Run::new(limits, said, stop));
        let vm = match self.vm(&script) {
            Ok(vm) => vm,
            Err(error) => {
                let error = ScriptError::new(&script.name, Reason::Lost(text_of(&error)));
                // Nobody listens when the run was dropped meanwhile.
                let _ = run.said.send(Box::new(Said::Ended(Err(error))));
                return;
            }
        };
        let instance = Instance {
            run,
            script,
            vm,
            table: None,
            args,
            outcomes: BTreeMap::new(),
            asked: None,
        };
        self.runs.insert(id, instance);
        self.ready.push_back(id);
    }

    /// A VM of this script with room, made where there is none.
    fn vm(&mut self, script: &Arc<Compiled>) -> mlua::Result<u64> {
        let found = self
            .vms
            .iter_mut()
            .find(|(_, vm)| vm.shared.script.id == script.id && vm.has_room());
        if let Some((id, vm)) = found {
            vm.runs += 1;
            return Ok(*id);
        }
        let mut vm = Vm::new(script)?;
        vm.runs = 1;
        self.next_vm += 1;
        self.vms.insert(self.next_vm, vm);
        Ok(self.next_vm)
    }

    fn go_on(&mut self, id: u64) {
        let Some(instance) = self.runs.get_mut(&id) else {
            return;
        };
        let Some(vm) = self.vms.get_mut(&instance.vm) else {
            return;
        };
        match instance.go_on(vm) {
            Ok(Some(result)) => self.end(id, result),
            Ok(None) if !instance.waits() => self.ready.push_back(id),
            Ok(None) => {}
            Err(error) => {
                let error = instance.failed(vm, &error);
                self.end(id, Err(error));
            }
        }
    }

    fn end(&mut self, id: u64, result: Result<Value, ScriptError>) {
        let Some(instance) = self.runs.remove(&id) else {
            return;
        };
        // Nobody listens when the run was dropped meanwhile.
        let _ = instance.run.said.send(Box::new(Said::Ended(result)));
        let vm_id = instance.vm;
        drop(instance);
        let idle = self.vms.values().filter(|vm| vm.runs == 0).count();
        if let Some(vm) = self.vms.get_mut(&vm_id) {
            vm.runs = vm.runs.saturating_sub(1);
            if vm.runs == 0 && (!vm.is_small() || idle >= IDLE_VMS) {
                self.vms.remove(&vm_id);
            }
        }
    }
}

impl Instance {
    /// Keeps an outcome; true where the run waited for it.
    fn keep(&mut self, step: u64, outcome: Outcome) -> bool {
        if self.run.detached.borrow_mut().remove(&step) {
            self.run.settled();
            return false;
        }
        let limits = &self.run.limits;
        let outcome = outcome.and_then(|value| {
            let fits = measure(&value, limits.json_depth, limits.json);
            fits.map(|()| value).map_err(|problem| {
                EffectError::new("invalid", format!("the outcome is too large: {problem}"))
            })
        });
        let waited = self.asked == Some(step) && self.waits();
        self.outcomes.insert(step, outcome);
        waited
    }

    /// Whether it cannot go on before an outcome comes.
    fn waits(&self) -> bool {
        self.asked.is_some_and(|step| !self.outcomes.contains_key(&step))
    }

    /// Lets the script go on until it waits, has had its turn, or ends.
    fn go_on(&mut self, vm: &Vm) -> mlua::Result<Option<Result<Value, ScriptError>>> {
        let from = Instant::now();
        while !self.waits() && from.elapsed() < TURN {
            let progress = match &self.table {
                None => {
                    let args = std::mem::take(&mut self.args);
                    let (table, progress) = vm.start(&self.run, &args)?;
                    self.table = Some(table);
                    progress
                }
                Some(table) => {
                    let table = table.clone();
                    let given = self.asked.take().and_then(|step| self.take(step));
                    vm.go_on(&self.run, &table, given)?
                }
            };
            match progress {
                Progress::Done(ended) => return Ok(Some(self.ended(ended))),
                Progress::TurnOver => return Ok(None),
                Progress::Needs(step) => self.asked = Some(step),
            }
        }
        Ok(None)
    }

    /// An outcome as the script gets it.
    fn take(&mut self, step: u64) -> Option<(u64, Result<Value, String>)> {
        let outcome = self.outcomes.remove(&step)?;
        self.run.settled();
        Some((step, outcome.map_err(|error| error.to_string())))
    }

    fn ended(&self, ended: Ended) -> Result<Value, ScriptError> {
        let name = &self.script.name;
        if let Some(error) = self.tripped() {
            return Err(error);
        }
        match ended {
            Ended::Value(value) => Ok(value),
            Ended::NoJson(problem) => Err(ScriptError::new(name, Reason::Result(problem))),
            Ended::Raised(text) => Err(ScriptError::located(name, &text, Reason::Failed)),
        }
    }

    /// The limit that ended the run, with its line.
    fn tripped(&self) -> Option<ScriptError> {
        let reason = self.run.tripped.borrow().clone()?;
        let mut error = ScriptError::new(&self.script.name, reason);
        error.put(self.run.place.borrow().clone());
        Some(error)
    }

    /// What an error of the VM means.
    fn failed(&self, vm: &mut Vm, error: &mlua::Error) -> ScriptError {
        let memory = Reason::Limit(Limit::Memory(self.run.limits.memory));
        if is_memory(error) || *self.run.tripped.borrow() == Some(memory.clone()) {
            vm.retired = true;
        }
        if let Some(error) = self.tripped() {
            return error;
        }
        if is_memory(error) {
            return ScriptError::new(&self.script.name, memory);
        }
        ScriptError::located(&self.script.name, &text_of(error), Reason::Failed)
    }
}
