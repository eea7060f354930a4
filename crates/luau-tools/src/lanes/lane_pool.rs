//! Lanes: the threads on which scripts run, never those of the runtime. A VM belongs to one lane; a lane
//! holds thousands of runs, because a waiting run is only a few KiB in a VM. A computing script yields its
//! turn every few milliseconds.
//!
//! ```text
//! Lanes ── Lane 0 ── VMs of owner A, each with up to 64 runs
//!       │         └─ VMs of owner B, whose runs have ended
//!       └─ Lane 1 ── …
//! ```
//!
//! `lane_set.rs` chooses the lane of a run, which stays there. Beyond 16,384 runs in all, new ones wait for a
//! place, which counts as part of their time. If no thread can be created at all, runs fail as `lost`.

use std::sync::{Arc, OnceLock};
use std::thread;

use tokio::sync::Semaphore;

use crate::host::EffectError;
use crate::json::flat_value::FlatValue;
use crate::lanes::lane_command::LaneCommand;
use crate::lanes::lane_set::{LaneHolder, LaneSet, LaneThread};
use crate::run::run_channel::RunSender;
use crate::waiting::spin_wait::WaitSpot;

/// The maximum number of runs on all lanes together; more wait for their start. A run that waits takes about
/// 8 KiB, so this many take some 128 MiB.
const MOST_RUNS: usize = 16_384;

/// A pool of threads that run scripts.
pub struct Lanes {
    set: Arc<LaneSet>,
    /// Places for runs; each run holds one from before its begin until after its end.
    pub(crate) room: Semaphore,
}

/// A run's way to its lane. Dropping it stops the run.
pub(crate) struct RunHandle {
    lane: Arc<LaneThread>,
    run: u64,
    ended: bool,
}

impl Lanes {
    /// Starts `threads` lanes, but at least one. While others use all of them, runs for another person or of
    /// another owner's scripts get additional ones, up to 128 in all. They end when the last script that was
    /// compiled on them is dropped.
    #[must_use]
    pub fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self {
            set: LaneSet::new(threads.max(1)),
            room: Semaphore::new(MOST_RUNS),
        })
    }

    /// The lanes that [`Script::compile`](crate::Script::compile) uses: two, or up to four if there are more
    /// processors, and additional ones.
    #[must_use]
    pub fn shared() -> Arc<Self> {
        static SHARED: OnceLock<Arc<Lanes>> = OnceLock::new();
        let processors = thread::available_parallelism().map_or(2, usize::from);
        Arc::clone(SHARED.get_or_init(|| Self::new(processors.clamp(2, 4))))
    }

    /// Returns the number of runs that the lanes hold now. A run that is stopped counts until its lane has
    /// let go of it.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.set.runs()
    }

    /// Puts a run on a lane.
    pub(crate) fn start(&self, speaker: RunSender, args: FlatValue) -> Option<RunHandle> {
        let seat = RunHandle {
            lane: self.set.place(LaneHolder::of(speaker.start()))?,
            run: speaker.start().id,
            ended: false,
        };
        if seat.lane.inbox.tell(LaneCommand::Start(speaker, args)) {
            return Some(seat);
        }
        self.set.remove(&seat.lane.status);
        None
    }

    /// A script is gone: no VM keeps it.
    pub(crate) fn forget(&self, owner: u64, script: u64) {
        self.set.tell(|| LaneCommand::Forget { owner, script });
    }

    /// An owner is gone: its VMs are not kept.
    pub(crate) fn leave(&self, owner: u64) {
        self.set.tell(|| LaneCommand::Leave { owner });
    }
}

impl RunHandle {
    /// Returns the meeting point of the tasks that wait for the lane's messages.
    pub(crate) fn spot(&self) -> Arc<WaitSpot> {
        Arc::clone(&self.lane.status.spot)
    }

    /// The number of runs that are on the lane, this one included.
    pub(crate) fn runs(&self) -> usize {
        self.lane.status.runs()
    }

    /// Sends the lane the outcome of an effect of this run.
    pub(crate) fn outcome(&self, step: u64, outcome: Result<FlatValue, EffectError>) {
        // A lane that is gone closes the other direction.
        self.lane.inbox.tell(LaneCommand::Outcome {
            run: self.run,
            step,
            outcome,
        });
    }

    /// Leaves a run that has ended: its lane knows.
    pub(crate) fn ended(mut self) {
        self.ended = true;
    }
}

impl Drop for RunHandle {
    fn drop(&mut self) {
        // The lane removes a run that it has to stop, when it has let go of it.
        let is_stopped = !self.ended && self.lane.inbox.tell(LaneCommand::Stop { run: self.run });
        if !is_stopped {
            self.lane.status.remove_run();
        }
    }
}
