//! A lane's loop: handles commands, runs the ready runs one after the other, and drops unused VMs.
//!
//! Runs take turns of 4 ms, in the order in which they became ready. A waiting run is not touched until its
//! outcome has come. When there is nothing to do, the lane creates VMs in advance, collects garbage, and
//! sleeps.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hint;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::TryRecvError;
use std::time::Duration;

use mlua::Table;

use crate::error::{Reason, ScriptError};
use crate::host::EffectError;
use crate::json::flat_value::FlatValue;
use crate::lanes::inbox::InboxReceiver;
use crate::lanes::lane_command::LaneCommand;
use crate::limits::LimitExceeded;
use crate::run::ScriptRun;
use crate::run::run_channel::RunSender;
use crate::vm::natives::{is_memory, text_of};
use crate::vm::pool::Vms;
use crate::vm::{TaskEnd, Vm, VmProgress};
use crate::waiting::spin_wait::{WaitSpot, several_processors};
use crate::waiting::wake_queue::WakeQueue;

/// The time for which a run may take outcomes that have already arrived before others have their turn: as
/// long as it may compute.
const TURN: Duration = Duration::from_millis(4);
/// The time for which a lane polls before it sleeps: about the cost of waking it.
const LOOKS: Duration = Duration::from_micros(50);

/// The body of a lane's thread. It ends when all senders are gone.
pub(crate) fn run(told: &InboxReceiver<LaneCommand>, spot: Arc<WaitSpot>) {
    let mut lane = LaneWorker::new(spot);
    loop {
        if lane.ready.is_empty() {
            match next(told, &mut lane) {
                Some(told) => lane.handle(told),
                None => return,
            }
        }
        while let Ok(told) = told.try_next() {
            lane.handle(told);
            lane.wakes.if_due();
        }
        lane.next_turn();
    }
}

/// Returns the next command. Before it sleeps it makes VMs for the scripts that come.
fn next(told: &InboxReceiver<LaneCommand>, lane: &mut LaneWorker) -> Option<LaneCommand> {
    if let Ok(told) = told.try_next() {
        return Some(told);
    }
    lane.wakes.now();
    lane.vms.make_ready();
    let from = lane.wakes.read_clock();
    loop {
        for _ in 0..32 {
            match told.try_next() {
                Ok(told) => return Some(told),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => hint::spin_loop(),
            }
        }
        if several_processors() && lane.wakes.read_clock().duration_since(from) < LOOKS {
            continue;
        }
        let told = if lane.vms.prepare() {
            None
        } else {
            Some(told.next())
        };
        lane.wakes.read_clock();
        if let Some(told) = told {
            return told;
        }
    }
}

/// The state of a lane: its runs, the ready ones, its VMs.
struct LaneWorker {
    /// The runs by id.
    runs: HashMap<u64, Instance>,
    /// The runs that can continue, the one that has waited longest first.
    ready: VecDeque<u64>,
    /// The VMs of this lane; they never leave its thread.
    vms: Vms,
    /// The waiters to wake, and the last reading of the clock.
    wakes: Rc<WakeQueue>,
}

/// A run on this lane.
struct Instance {
    /// The counters of the run, and the way to stop it.
    run: Rc<ScriptRun>,
    /// The VM that it is in.
    vm: Rc<Vm>,
    /// The table of the run in its VM; `None` before it has begun.
    table: Option<Table>,
    /// The arguments before it begins, and the result when it has ended.
    flat: FlatValue,
    /// Outcomes that the script did not ask for yet.
    outcomes: BTreeMap<u64, Result<FlatValue, EffectError>>,
    /// The step whose outcome the script waits for.
    asked: Option<u64>,
}

impl LaneWorker {
    /// A lane without runs.
    fn new(spot: Arc<WaitSpot>) -> Self {
        Self {
            runs: HashMap::new(),
            ready: VecDeque::new(),
            vms: Vms::default(),
            wakes: Rc::new(WakeQueue::of(spot)),
        }
    }

    /// Executes a command: begins a run, delivers an outcome, stops a run, or forgets a script.
    fn handle(&mut self, told: LaneCommand) {
        match told {
            LaneCommand::Start(speaker, args) => self.start(speaker, args),
            LaneCommand::Outcome { run, step, outcome } => {
                let Some(instance) = self.runs.get_mut(&run) else {
                    return;
                };
                if instance.keep(step, outcome) {
                    self.ready.push_back(run);
                }
            }
            LaneCommand::Stop { run } => {
                if let Some(mut instance) = self.runs.remove(&run) {
                    let mut error = instance.run.stopped();
                    let table = instance.table.as_ref();
                    error.put(table.and_then(|table| instance.vm.place(Some(table))));
                    self.end(&mut instance, Err(error));
                }
            }
            LaneCommand::Forget { owner, script } => {
                self.vms.forget(owner, script);
                self.wakes.read_clock();
            }
            LaneCommand::Leave { owner } => {
                self.vms.leave(owner);
                self.wakes.read_clock();
            }
        }
    }

    /// Finds a VM for the run and runs it until it waits. If there is no memory for a VM it fails as `lost`.
    fn start(&mut self, speaker: RunSender, flat: FlatValue) {
        let id = speaker.start().id;
        flat.fetch();
        let run = Rc::new(ScriptRun::new(speaker, Rc::clone(&self.wakes)));
        // The stop may have come before the run.
        if run.line.stop() != 0 {
            run.line.ended(Err(run.stopped()), &self.wakes);
            return;
        }

        let vm = self.vms.ready(run.script()).map_or_else(
            || {
                let vm = self.vms.take(run.script());
                self.wakes.read_clock();
                vm
            },
            Ok,
        );
        let vm = match vm {
            Ok(vm) => vm,
            Err(error) => {
                let error = ScriptError::new(&run.script().name, Reason::Lost(text_of(&error)));
                run.line.ended(Err(error), &self.wakes);
                return;
            }
        };

        let mut instance = Instance {
            run,
            vm,
            table: None,
            flat,
            outcomes: BTreeMap::new(),
            asked: None,
        };
        // Most runs end in their first turn: such a run is nowhere but here. Others that have turns to come
        // go first.
        if self.ready.is_empty()
            && let Some(result) = instance.turn()
        {
            self.end(&mut instance, result);
            return;
        }
        if !instance.waits() {
            self.ready.push_back(id);
        }
        instance.vm.memory.hold(&instance.run);
        self.runs.insert(id, instance);
    }

    /// Lets the run continue that has waited longest for its turn: its id, if there is one.
    fn next_turn(&mut self) -> Option<u64> {
        let id = self.ready.pop_front()?;
        self.resume_run(id);
        self.wakes.if_due();
        Some(id)
    }

    /// Runs one turn of a run, and handles the result.
    fn resume_run(&mut self, id: u64) {
        let Some(instance) = self.runs.get_mut(&id) else {
            return;
        };
        if let Some(result) = instance.turn() {
            if let Some(mut instance) = self.runs.remove(&id) {
                self.end(&mut instance, result);
            }
            return;
        }
        if !instance.waits() {
            self.ready.push_back(id);
        }
    }

    /// Reports the result of a run, and releases its place in the VM.
    fn end(&mut self, instance: &mut Instance, result: Result<(), ScriptError>) {
        let result = result.map(|()| std::mem::take(&mut instance.flat));
        instance.run.line.ended(result, &self.wakes);

        // Work that can wait is done after the result is reported.
        instance.vm.memory.release(&instance.run);
        instance.vm.tidy();
        self.vms.give_back(&instance.vm);
        self.vms.ran(instance.run.script());
        self.wakes.read_clock();
    }
}

impl Instance {
    /// Returns the name of the script in errors.
    fn name(&self) -> &str {
        &self.run.script().name
    }

    /// Keeps an outcome; true if the run waited for it.
    fn keep(&mut self, step: u64, outcome: Result<FlatValue, EffectError>) -> bool {
        if self.run.detached.borrow_mut().remove(&step) {
            self.run.settled();
            return false;
        }
        let waited = self.asked == Some(step) && self.waits();
        self.outcomes.insert(step, outcome);
        waited
    }

    /// Returns whether it cannot continue before an outcome comes.
    fn waits(&self) -> bool {
        self.asked.is_some_and(|step| !self.outcomes.contains_key(&step))
    }

    /// Runs one turn; returns the outcome if the run ended.
    fn turn(&mut self) -> Option<Result<(), ScriptError>> {
        let gone = self.resume_run();
        gone.unwrap_or_else(|error| Some(Err(self.failed(&error))))
    }

    /// Lets the script continue until it waits, has had its turn, or ends.
    fn resume_run(&mut self) -> mlua::Result<Option<Result<(), ScriptError>>> {
        let mut from = None;
        while !self.waits() {
            let progress = if let Some(table) = &self.table {
                let table = table.clone();
                let given = self.asked.take().and_then(|step| self.take(step));
                self.vm.resume(&self.run, &table, given, &mut self.flat)?
            } else {
                let (table, progress) = self.vm.start(&self.run, &mut self.flat)?;
                self.table = table;
                progress
            };
            match progress {
                VmProgress::Done(ended) => return Ok(Some(self.ended(ended))),
                VmProgress::TurnOver => return Ok(None),
                VmProgress::Needs(step) => self.asked = Some(step),
            }
            self.vm.tidy();
            let from = from.get_or_insert_with(|| self.run.entered());
            if from.elapsed() >= TURN {
                break;
            }
        }
        Ok(None)
    }

    /// An outcome as the script gets it.
    fn take(&mut self, step: u64) -> Option<(u64, Result<FlatValue, String>)> {
        let outcome = self.outcomes.remove(&step)?;
        self.run.settled();
        Some((step, outcome.map_err(|error| error.to_string())))
    }

    /// Translates the end of a script into the result of its run.
    fn ended(&self, ended: TaskEnd) -> Result<(), ScriptError> {
        let name = self.name();
        if let Some(error) = self.tripped() {
            return Err(error);
        }
        match ended {
            TaskEnd::Value => Ok(()),
            TaskEnd::NoJson(problem) => Err(ScriptError::new(name, Reason::Result(problem))),
            TaskEnd::Raised(text) => {
                let mut error = ScriptError::located(name, &text, Reason::Failed);
                if error.line.is_none() {
                    error.put(self.run.place.borrow().clone());
                }
                Err(error)
            }
        }
    }

    /// The limit that ended the run, with its line.
    fn tripped(&self) -> Option<ScriptError> {
        let reason = self.run.tripped.borrow().clone()?;
        let mut error = ScriptError::new(self.name(), reason);
        error.put(self.run.place.borrow().clone());
        Some(error)
    }

    /// Translates an error of the VM.
    fn failed(&self, error: &mlua::Error) -> ScriptError {
        let memory = Reason::Limit(LimitExceeded::Memory(self.run.limits().memory));
        // Always ask, because the VM then releases the data that it kept for this question.
        let place = self.vm.place(None);
        if is_memory(error) || *self.run.tripped.borrow() == Some(memory.clone()) {
            self.vm.retired.set(true);
            place
                .into_iter()
                .for_each(|place| self.run.record_stop_place(place));
        }
        if let Some(error) = self.tripped() {
            return error;
        }
        if is_memory(error) {
            let mut error = ScriptError::new(self.name(), memory);
            error.put(self.run.place.borrow().clone());
            return error;
        }
        ScriptError::located(self.name(), &text_of(error), Reason::Failed)
    }
}

#[cfg(test)]
mod turn_tests;

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::run::run_channel::{CANCELLED, LaneMessage, RunStart, line};
    use crate::waiting::spin_wait::SpinWaiter;
    use crate::{Libraries, Script, ScriptLimits};

    #[test]
    fn a_run_that_shall_stop_before_it_comes_does_not_begin() -> Result<(), ScriptError> {
        let script = Script::compile("late", "function invoke(ctx) ctx.sleep(9) end", Libraries::new())?;
        let spot = WaitSpot::default();
        let mut lane = LaneWorker::new(Arc::default());
        let (speaker, mut listener) = line(RunStart {
            id: 7,
            script: script.compiled,
            limits: ScriptLimits::default(),
        });
        listener.stop(CANCELLED);
        lane.handle(LaneCommand::Stop { run: 7 });
        lane.handle(LaneCommand::Start(speaker, FlatValue::default()));
        assert!(lane.runs.is_empty(), "nothing waits that nobody awaits");
        let mut looks = SpinWaiter::at(&spot);
        let heard = listener.recv(&mut looks).now_or_never().flatten();
        let Some(LaneMessage::Ended(Err(error))) = heard else {
            panic!("it does not end at once");
        };
        assert_eq!(error.reason, Reason::Cancelled);
        Ok(())
    }
}
