//! A run on its lane: its pending wait, the messages that have arrived, and its end. It knows nothing of
//! other runs.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use mlua::Table;

use crate::error::{Reason, ScriptError};
use crate::host::EffectError;
use crate::json::flat_value::FlatValue;
use crate::lanes::turn_queue::TurnTaker;
use crate::limits::LimitExceeded;
use crate::run::ScriptRun;
use crate::run::run_timer::SLICE;
use crate::vm::natives::{is_memory, text_of};
use crate::vm::{TaskEnd, Vm, VmProgress};

/// The time for which a run may take outcomes that have already arrived before others have their turn: as
/// long as it may compute.
pub(super) const TURN: Duration = SLICE;

/// A run on this lane.
pub(super) struct Instance {
    /// The counters of the run, and the way to stop it.
    pub(super) run: Rc<ScriptRun>,
    /// The owner of the turns that it takes.
    pub(super) taker: TurnTaker,
    /// The VM that it is in.
    pub(super) vm: Rc<Vm>,
    /// The table of the run in its VM; `None` before it has begun.
    pub(super) table: Option<Table>,
    /// The arguments before it begins, and the result when it has ended.
    pub(super) flat: FlatValue,
    /// Outcomes that the script did not ask for yet.
    pub(super) outcomes: BTreeMap<u64, Result<FlatValue, EffectError>>,
    /// The step whose outcome the script waits for.
    pub(super) asked: Option<u64>,
}

impl Instance {
    /// Returns the name of the script in errors.
    fn name(&self) -> &str {
        &self.run.script().name
    }

    /// Keeps an outcome; true if the run waited for it.
    pub(super) fn keep(&mut self, step: u64, outcome: Result<FlatValue, EffectError>) -> bool {
        if self.run.detached.borrow_mut().remove(&step) {
            self.run.settled();
            return false;
        }
        let waited = self.asked == Some(step) && self.waits();
        self.outcomes.insert(step, outcome);
        waited
    }

    /// Returns whether it cannot continue before an outcome comes.
    pub(super) fn waits(&self) -> bool {
        self.asked.is_some_and(|step| !self.outcomes.contains_key(&step))
    }

    /// Runs one turn; returns the outcome if the run ended.
    pub(super) fn turn(&mut self) -> Option<Result<(), ScriptError>> {
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
