//! A lane's loop: handles commands, runs the ready runs one after the other, and drops unused VMs.
//!
//! Runs take turns of 4 ms; [`TurnQueue`] decides who is next. A waiting run is not touched until its outcome
//! has come. When there is nothing to do, the lane creates VMs in advance, collects garbage, and sleeps.

mod instance;

use std::collections::{BTreeMap, HashMap};
use std::hint;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use crate::error::{Reason, ScriptError};
use crate::json::flat_value::FlatValue;
use crate::lanes::inbox::InboxReceiver;
use crate::lanes::lane_command::LaneCommand;
use crate::lanes::lane_status::LaneStatus;
use crate::lanes::lane_worker::instance::{Instance, TURN};
use crate::lanes::turn_queue::{TurnQueue, TurnTaker};
use crate::run::ScriptRun;
use crate::run::run_channel::RunSender;
use crate::run::run_timer::computed_by_thread;
use crate::vm::natives::text_of;
use crate::vm::pool::Vms;
use crate::waiting::spin_wait::several_processors;
use crate::waiting::wake_queue::WakeQueue;

/// The time for which a lane polls before it sleeps: about the cost of waking it.
const LOOKS: Duration = Duration::from_micros(50);

/// The time for which an additional lane waits for runs before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// The end of a lane that is not permanent.
pub(crate) struct Retirement {
    /// The time for which it waits for runs.
    idle: Duration,
    /// Returns whether the lane may end, because no run can reach it any more.
    may_end: Box<dyn Fn() -> bool + Send>,
}

impl Retirement {
    /// The lane ends when it has been idle for a while and `may_end` returns `true`.
    pub(crate) fn new(may_end: impl Fn() -> bool + Send + 'static) -> Self {
        Self {
            idle: IDLE,
            may_end: Box::new(may_end),
        }
    }
}

/// The body of a lane's thread. It ends when all senders are gone, or by its retirement.
pub(crate) fn run(
    told: &InboxReceiver<LaneCommand>,
    status: Arc<LaneStatus>,
    retirement: Option<&Retirement>,
) {
    // An additional lane makes no VMs for owners that may never come.
    let vms = if retirement.is_some() {
        Vms::without_spares()
    } else {
        Vms::default()
    };
    let mut lane = LaneWorker::new(status, vms);
    loop {
        if lane.turns.is_empty() {
            let Some(told) = next(told, &mut lane, retirement) else {
                return;
            };
            lane.begin_commands();
            lane.handle(told);
        } else {
            lane.begin_commands();
        }
        while let Ok(told) = told.try_next() {
            lane.handle(told);
            lane.wakes.if_due();
        }
        lane.next_turn();
    }
}

/// Returns the next command. The lane is not at work while it waits for one.
fn next(
    told: &InboxReceiver<LaneCommand>,
    lane: &mut LaneWorker,
    retirement: Option<&Retirement>,
) -> Option<LaneCommand> {
    let command = match told.try_next() {
        Ok(told) => Some(told),
        Err(_) => {
            lane.wakes.now();
            lane.vms.make_ready();
            lane.status.set_at_work(false);
            wait_for_command(told, lane, retirement)
        }
    };
    lane.status.set_at_work(true);
    command
}

/// Waits for the next command. Before the lane sleeps it makes VMs for the scripts that come.
fn wait_for_command(
    told: &InboxReceiver<LaneCommand>,
    lane: &mut LaneWorker,
    retirement: Option<&Retirement>,
) -> Option<LaneCommand> {
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
            Some(told.next(retirement.map(|retirement| retirement.idle)))
        };
        lane.wakes.read_clock();
        let may_end = || retirement.is_some_and(|retirement| (retirement.may_end)());
        match told {
            Some(Ok(told)) => return Some(told),
            Some(Err(RecvTimeoutError::Disconnected)) => return None,
            Some(Err(RecvTimeoutError::Timeout)) if may_end() => return None,
            Some(Err(RecvTimeoutError::Timeout)) | None => {}
        }
    }
}

/// The state of a lane: its runs, the ready ones, its VMs.
struct LaneWorker {
    /// The runs by id.
    runs: HashMap<u64, Instance>,
    /// The runs that can continue.
    turns: TurnQueue,
    /// The time at which the lane began to handle its current commands; `None` before the first.
    handles_since: Option<Instant>,
    /// The VMs of this lane; they never leave its thread.
    vms: Vms,
    /// The waiters to wake, and the last reading of the clock.
    wakes: Rc<WakeQueue>,
    /// The lane as others see it.
    status: Arc<LaneStatus>,
}

impl LaneWorker {
    /// A lane without runs.
    fn new(status: Arc<LaneStatus>, vms: Vms) -> Self {
        Self {
            runs: HashMap::new(),
            turns: TurnQueue::default(),
            handles_since: None,
            vms,
            wakes: Rc::new(WakeQueue::of(Arc::clone(&status.spot))),
            status,
        }
    }

    /// From now on the lane handles commands, one after the other.
    fn begin_commands(&mut self) {
        self.handles_since = Some(self.wakes.lately());
    }

    /// Returns whether a new run may begin before the lane has handled its other commands: if nobody else is
    /// ready, and those that began so have not taken longer than one turn. Otherwise the outcomes for others,
    /// which are among the commands, would come after all of these runs.
    fn may_begin_at_once(&self) -> bool {
        let lately = self.wakes.lately();
        let is_early = |since: Instant| lately.duration_since(since) < TURN;
        self.turns.is_empty() && self.handles_since.is_none_or(is_early)
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
                    self.turns.push(instance.taker, run);
                }
            }
            LaneCommand::Stop { run } => {
                if let Some(mut instance) = self.runs.remove(&run) {
                    self.turns.ended(instance.taker, run);
                    let mut error = instance.run.stopped();
                    let table = instance.table.as_ref();
                    error.put(table.and_then(|table| instance.vm.place(Some(table))));
                    self.end(&mut instance, Err(error));
                }
                self.status.remove_run();
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
        let (id, taker) = (speaker.start().id, TurnTaker::of(speaker.start()));
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

        let instance = Instance {
            run,
            taker,
            vm,
            table: None,
            flat,
            outcomes: BTreeMap::new(),
            asked: None,
        };
        // Most runs end in their first turn: such a run is nowhere but here. Others that have turns to come
        // go first.
        let begun = if self.may_begin_at_once() {
            self.begin_at_once(instance)
        } else {
            Some(instance)
        };
        let Some(instance) = begun else { return };
        if !instance.waits() {
            self.turns.push(taker, id);
        }
        instance.vm.memory.hold(&instance.run);
        self.runs.insert(id, instance);
    }

    /// Gives a run its first turn; returns it if it did not end. Only a turn that was longer than others is
    /// charged.
    fn begin_at_once(&mut self, mut instance: Instance) -> Option<Instance> {
        let (taker, run, began) = (instance.taker, Rc::clone(&instance.run), self.wakes.lately());
        let goes_on = match instance.turn() {
            Some(result) => {
                self.end(&mut instance, result);
                None
            }
            None => Some(instance),
        };
        let is_long = self.wakes.lately().duration_since(began) >= TURN;
        if is_long || goes_on.is_some() {
            let time = if is_long {
                TURN + run.overran()
            } else {
                Duration::ZERO
            };
            self.turns.began(taker, time);
        }
        goes_on
    }

    /// Lets the run continue that has the next turn: its id, if there is one.
    fn next_turn(&mut self) -> Option<u64> {
        let (taker, id) = self.turns.pop()?;
        let (began, from) = (computed_by_thread(), self.wakes.lately());
        self.resume_run(id);
        // Computing time of other programs counts for nobody.
        let computed = began.zip(computed_by_thread());
        let took = computed.map_or_else(
            || self.wakes.lately().duration_since(from),
            |(began, ended)| ended.saturating_sub(began),
        );
        self.turns.took(taker, took);
        match self.runs.get(&id) {
            None => self.turns.ended(taker, id),
            Some(instance) if !instance.waits() => self.turns.push(taker, id),
            Some(_) => {}
        }
        self.wakes.if_due();
        Some(id)
    }

    /// Runs one turn of a run, and handles the result.
    fn resume_run(&mut self, id: u64) {
        let Some(instance) = self.runs.get_mut(&id) else {
            return;
        };
        if let Some(result) = instance.turn()
            && let Some(mut instance) = self.runs.remove(&id)
        {
            self.end(&mut instance, result);
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

#[cfg(test)]
mod turn_tests;

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::FutureExt;

    use super::*;
    use crate::lanes::inbox::inbox;
    use crate::run::run_channel::{CANCELLED, LaneMessage, RunStart, line};
    use crate::waiting::spin_wait::{SpinWaiter, WaitSpot};
    use crate::{Libraries, Script, ScriptLimits};

    #[test]
    fn a_run_that_shall_stop_before_it_comes_does_not_begin() -> Result<(), ScriptError> {
        let script = Script::compile("late", "function invoke(ctx) ctx.sleep(9) end", Libraries::new())?;
        let spot = WaitSpot::default();
        let mut lane = LaneWorker::new(Arc::default(), Vms::default());
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

    #[test]
    fn an_additional_lane_that_is_idle_ends_when_no_run_can_reach_it() {
        let (_inbox, told) = inbox();
        let asked = AtomicUsize::new(0);
        let retirement = Retirement {
            idle: Duration::ZERO,
            // A run came just before the first time.
            may_end: Box::new(move || asked.fetch_add(1, Ordering::Relaxed) > 0),
        };
        run(&told, Arc::default(), Some(&retirement));
    }
}
