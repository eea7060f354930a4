//! The state of a run while its script runs: counters, the timer, outgoing messages. The VM's callbacks read
//! and write it.
//!
//! One of these exists for each run, on the thread of its lane only, so it needs no locks. Everything that a
//! script does passes through it: each effect is counted before it begins, and each safepoint checks whether
//! the turn or the time is over. The first limit that is hit is remembered, and the script does not run any
//! further, even if it catches errors.

pub(crate) mod random;
pub(crate) mod run_channel;
pub(crate) mod run_timer;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::compile::Compiled;
use crate::error::{Reason, ScriptError, ScriptLocation};
use crate::exchange::{self, WorkPermit};
use crate::host::{EffectKind, EffectPlace, HostEffect};
use crate::json::long_work::LongWork;
use crate::limits::{LimitExceeded, ScriptLimits};
use crate::run::random::Random;
use crate::run::run_channel::{RunSender, TIMED_OUT};
use crate::run::run_timer::RunTimer;
use crate::waiting::wake_queue::WakeQueue;

/// A run: its limits, its use of them, and the way to stop it.
pub(crate) struct ScriptRun {
    /// The channel for effects and the result.
    pub(crate) line: RunSender,
    /// The run's own copy of the limits: the caller's is in the cache of another processor.
    limits: ScriptLimits,
    /// The lane's.
    pub(crate) wakes: Rc<WakeQueue>,
    /// The limit that was hit; the script does not run after it.
    pub(crate) tripped: RefCell<Option<Reason>>,
    /// The position at which the script was stopped.
    pub(crate) place: RefCell<Option<ScriptLocation>>,
    /// The random numbers, once the seed has come.
    pub(crate) random: RefCell<Option<Random>>,
    /// The script's state.
    pub(crate) state: RefCell<ScriptState>,
    /// Effects whose outcome the script never awaits.
    pub(crate) detached: RefCell<BTreeSet<u64>>,
    /// Memory that this run is charged with, in bytes.
    pub(crate) charged: Cell<usize>,
    /// The part of it that was allocated since the last garbage collection.
    pub(crate) grown: Cell<usize>,
    /// The work that is done in pieces.
    pub(crate) pieces: LongWork,
    /// The timer of the computing time.
    watch: RunTimer,
    /// The counters of limited resources.
    counts: RunCounters,
}

/// The state as the script sees it, and the size of each entry.
#[derive(Default)]
pub(crate) struct ScriptState {
    /// The state by its keys, as JSON.
    pub(crate) entries: Map<String, Value>,
    /// The size that each entry counts as, in bytes.
    pub(crate) sizes: BTreeMap<String, usize>,
}

/// The counters of a run. Each is compared with its field of [`ScriptLimits`].
#[derive(Default)]
struct RunCounters {
    /// Effects that were begun; the last one has this step.
    steps: Cell<u64>,
    /// Effects that reach out.
    requests: Cell<u64>,
    /// Children that were made.
    agents: Cell<u64>,
    /// Bytes of chunks and log lines.
    output: Cell<usize>,
    /// The number of effects without an outcome, or whose outcome the script has not taken.
    pending: Cell<usize>,
}

impl ScriptRun {
    /// A run that has used nothing yet.
    pub(crate) fn new(line: RunSender, wakes: Rc<WakeQueue>) -> Self {
        // The real time is set when its script begins to compute.
        let now = wakes.lately();
        Self {
            limits: line.start().limits.clone(),
            line,
            wakes,
            tripped: RefCell::new(None),
            place: RefCell::new(None),
            random: RefCell::new(None),
            state: RefCell::default(),
            detached: RefCell::default(),
            charged: Cell::new(0),
            grown: Cell::new(0),
            pieces: LongWork::default(),
            watch: RunTimer::new(now),
            counts: RunCounters::default(),
        }
    }

    /// Returns the limits of the run.
    pub(crate) fn limits(&self) -> &ScriptLimits {
        &self.limits
    }

    /// Returns the script of the run.
    pub(crate) fn script(&self) -> &Arc<Compiled> {
        &self.line.start().script
    }

    /// Begins a turn of the script. The lane has just read the time.
    pub(crate) fn enter(self: &Rc<Self>) {
        let permit: Weak<Self> = Rc::downgrade(self);
        exchange::enter(permit, self.limits.json_depth, self.limits.json);
        let now = self.wakes.lately();
        if !self.is_tripped() {
            exchange::pass(now);
        }
        self.watch.enter(now);
    }

    /// Returns the time at which the script began to compute.
    pub(crate) fn entered(&self) -> Instant {
        self.watch.entered()
    }

    /// The script waits, or others have their turn.
    pub(crate) fn leave(&self) {
        self.watch.leave(self.wakes.read_clock());
    }

    /// Returns the computing time for which turns were over and the script could not yield, this turn
    /// included.
    pub(crate) fn overran(&self) -> Duration {
        self.watch.overran()
    }

    /// Finally stops the script.
    pub(crate) fn trip(&self, reason: Reason) -> mlua::Error {
        self.tripped.borrow_mut().get_or_insert(reason);
        exchange::stop();
        stopped()
    }

    /// The error of a run that was stopped from outside.
    pub(crate) fn stopped(&self) -> ScriptError {
        let reason = match self.line.stop() {
            TIMED_OUT => Reason::Limit(LimitExceeded::Wall(self.limits.wall)),
            _ => Reason::Cancelled,
        };
        ScriptError::new(&self.script().name, reason)
    }

    /// Records the position at which the script was stopped; the first call wins.
    pub(crate) fn record_stop_place(&self, place: ScriptLocation) {
        self.place.borrow_mut().get_or_insert(place);
    }

    /// Returns whether a limit was hit, or the run was stopped.
    pub(crate) fn is_tripped(&self) -> bool {
        self.tripped.borrow().is_some()
    }

    /// Decides at a safepoint: continue, yield the turn, or stop.
    pub(crate) fn interrupt(&self) -> mlua::Result<mlua::VmState> {
        let now = self.check()?;
        exchange::pass(now);
        self.wakes.if_due();
        Ok(if self.watch.is_over(now) {
            exchange::turn_is_over();
            mlua::VmState::Yield
        } else {
            mlua::VmState::Continue
        })
    }

    /// Reads the clock. Long native work calls this regularly, because it reaches no safepoint.
    ///
    /// # Errors
    /// Returns an error if the run has to stop, because of a request or a limit of time.
    pub(crate) fn check(&self) -> mlua::Result<Instant> {
        if self.is_tripped() {
            return Err(stopped());
        }
        let now = self.wakes.read_clock();
        match self.line.stop() {
            0 => {}
            TIMED_OUT => return Err(self.trip(Reason::Limit(LimitExceeded::Wall(self.limits().wall)))),
            _ => return Err(self.trip(Reason::Cancelled)),
        }
        let limits = self.limits();
        if self.watch.used(now) > limits.cpu {
            return Err(self.trip(Reason::Limit(LimitExceeded::Cpu(limits.cpu))));
        }
        if self.watch.is_stuck(now, limits.turn) {
            return Err(self.trip(Reason::Limit(LimitExceeded::Turn(limits.turn))));
        }
        Ok(now)
    }

    /// Counts an effect, assigns its step and sends it to the host.
    pub(crate) fn begin(
        &self,
        kind: EffectKind,
        request: Value,
        bytes: usize,
        place: Option<EffectPlace>,
    ) -> mlua::Result<u64> {
        self.count(kind, bytes)
            .map_err(|limit| self.trip(Reason::Limit(limit)))?;
        let step = self.counts.steps.get() + 1;
        self.counts.steps.set(step);
        self.counts.pending.set(self.counts.pending.get() + 1);
        #[cfg(test)]
        crate::test_counts::effect();
        let effect = HostEffect {
            step,
            kind,
            request,
            place,
        };
        self.line.began(effect, &self.wakes);
        Ok(step)
    }

    /// An outcome was given to the script, or discarded.
    pub(crate) fn settled(&self) {
        self.counts
            .pending
            .set(self.counts.pending.get().saturating_sub(1));
    }

    /// Counts an effect of this kind; an error names the limit that it would go over.
    fn count(&self, kind: EffectKind, bytes: usize) -> Result<(), LimitExceeded> {
        let (limits, counts) = (self.limits(), &self.counts);
        if counts.steps.get() >= limits.effects {
            return Err(LimitExceeded::Effects(limits.effects));
        }
        if counts.pending.get() >= limits.pending {
            return Err(LimitExceeded::Pending(limits.pending));
        }
        match kind {
            EffectKind::AgentCreate => {
                add(&counts.agents, limits.agents).ok_or(LimitExceeded::Agents(limits.agents))?;
            }
            EffectKind::Emit | EffectKind::Log => {
                let output = counts.output.get() + bytes;
                if output > limits.output {
                    return Err(LimitExceeded::Output(limits.output));
                }
                counts.output.set(output);
            }
            EffectKind::Invoke if limits.at_depth >= limits.depth => {
                return Err(LimitExceeded::Depth(limits.depth));
            }
            kind if reaches_out(kind) => {
                add(&counts.requests, limits.requests).ok_or(LimitExceeded::Requests(limits.requests))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Puts a value into the state, or removes the entry if the value is null. Returns whether that changed
    /// the state, or the limit if there is no room.
    pub(crate) fn set_state(&self, key: &str, value: &Value, bytes: usize) -> Result<bool, LimitExceeded> {
        let mut state = self.state.borrow_mut();
        let old = state.entries.get(key).unwrap_or(&Value::Null);
        if old == value {
            return Ok(false);
        }
        if value.is_null() {
            state.entries.shift_remove(key);
            state.sizes.remove(key);
            return Ok(true);
        }
        state.sizes.insert(key.to_owned(), bytes + key.len());
        if state.sizes.values().sum::<usize>() > self.limits().state {
            return Err(LimitExceeded::State(self.limits().state));
        }
        state.entries.insert(key.to_owned(), value.clone());
        Ok(true)
    }
}

impl WorkPermit for ScriptRun {
    fn may_go_on(&self) -> bool {
        self.check().is_ok()
    }
}

/// Counts one more, if there may be one.
fn add(count: &Cell<u64>, most: u64) -> Option<()> {
    (count.get() < most).then(|| count.set(count.get() + 1))
}

/// Returns whether an effect uses external resources: a request, a model, a tool.
const fn reaches_out(kind: EffectKind) -> bool {
    use EffectKind::{
        AgentInput, Generate, GenerateJson, GenerateStream, Http, Invoke, StreamOpen, StreamSend,
    };
    matches!(
        kind,
        Generate | GenerateJson | GenerateStream | Http | Invoke | AgentInput | StreamOpen | StreamSend
    )
}

/// The error that ends a script. It carries nothing: why is in [`ScriptRun::tripped`].
pub(crate) fn stopped() -> mlua::Error {
    mlua::Error::runtime("the script was stopped")
}
