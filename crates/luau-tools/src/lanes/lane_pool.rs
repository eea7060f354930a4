//! Lanes: the threads on which scripts run, never those of the runtime. A VM belongs to one lane; a lane
//! holds thousands of runs, because a waiting run is only a few KiB in a VM. A computing script yields its
//! turn every few milliseconds.
//!
//! ```text
//! Lanes ── Lane 0 ── VMs of owner A, each with up to 64 runs
//!       │         └─ VMs of owner B
//!       └─ Lane 1 ── …
//! ```
//!
//! A run goes to the lane with the fewest runs and stays there. Beyond 16,384 runs in all, new ones wait for
//! a place, which counts as part of their time. A lane whose thread cannot be created is left out; if none
//! can, runs fail as `lost`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use tokio::sync::Semaphore;

use crate::host::EffectError;
use crate::json::flat_value::FlatValue;
use crate::lanes::inbox::{Inbox, inbox};
use crate::lanes::lane_command::LaneCommand;
use crate::lanes::lane_worker;
use crate::run::run_channel::RunSender;
use crate::waiting::spin_wait::WaitSpot;

/// The maximum number of runs on all lanes together; more wait for their start. A run that waits takes about
/// 8 KiB, so this many take some 128 MiB.
const MOST_RUNS: usize = 16_384;
/// A stack that holds the nesting which Luau allows, with room for the functions of Rust in between.
const STACK: usize = 8 << 20;

/// A pool of threads that run scripts.
pub struct Lanes {
    lanes: Vec<LaneThread>,
    /// Places for runs; each run holds one from before its begin until after its end.
    pub(crate) room: Semaphore,
}

/// A lane as others see it: its inbox, and its number of runs.
struct LaneThread {
    /// The way to the lane.
    inbox: Inbox<LaneCommand>,
    /// The lane's status, readable without a message to it.
    desk: Arc<LaneStatus>,
}

/// The status of a lane, readable from outside without a message to it.
#[derive(Default)]
struct LaneStatus {
    /// Runs that are on it.
    load: AtomicUsize,
    /// The meeting point of the tasks that wait for the lane's messages.
    pub(crate) spot: Arc<WaitSpot>,
}

/// A run's way to its lane. Dropping it stops the run.
pub(crate) struct RunHandle<'l> {
    lane: &'l LaneThread,
    run: u64,
    ended: bool,
}

impl Lanes {
    /// Starts `threads` lanes, but at least one. They end when the last script that was compiled on them is
    /// dropped.
    #[must_use]
    pub fn new(threads: usize) -> Arc<Self> {
        let lanes = (0..threads.max(1)).filter_map(LaneThread::new).collect();
        Arc::new(Self {
            lanes,
            room: Semaphore::new(MOST_RUNS),
        })
    }

    /// The lanes that [`Script::compile`](crate::Script::compile) uses: two, or up to four if there are more
    /// processors.
    #[must_use]
    pub fn shared() -> Arc<Self> {
        static SHARED: OnceLock<Arc<Lanes>> = OnceLock::new();
        let processors = thread::available_parallelism().map_or(2, usize::from);
        Arc::clone(SHARED.get_or_init(|| Self::new(processors.clamp(2, 4))))
    }

    /// Returns the number of runs that the lanes hold now.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.lanes
            .iter()
            .map(|lane| lane.desk.load.load(Ordering::Relaxed))
            .sum()
    }

    /// Puts a run on the lane that has the fewest.
    pub(crate) fn start(&self, speaker: RunSender, args: FlatValue) -> Option<RunHandle<'_>> {
        let lane = self.free_lane()?;
        let seat = RunHandle {
            lane,
            run: speaker.start().id,
            ended: false,
        };
        lane.inbox.tell(LaneCommand::Start(speaker, args)).then_some(seat)
    }

    /// Reserves a place on the lane with the fewest runs. If two callers compete, the second sees the
    /// reservation of the first.
    fn free_lane(&self) -> Option<&LaneThread> {
        loop {
            let loads = self.lanes.iter().map(|lane| {
                let load = lane.desk.load.load(Ordering::Relaxed);
                (load, lane)
            });
            let (load, lane) = loads.min_by_key(|(load, _)| *load)?;
            let taken =
                lane.desk
                    .load
                    .compare_exchange_weak(load, load + 1, Ordering::Relaxed, Ordering::Relaxed);
            if taken.is_ok() {
                return Some(lane);
            }
        }
    }

    /// A script is gone: no VM keeps it.
    pub(crate) fn forget(&self, owner: u64, script: u64) {
        for lane in &self.lanes {
            // A lane that ended has no VMs.
            lane.inbox.tell(LaneCommand::Forget { owner, script });
        }
    }

    /// An owner is gone: its VMs are not kept.
    pub(crate) fn leave(&self, owner: u64) {
        for lane in &self.lanes {
            lane.inbox.tell(LaneCommand::Leave { owner });
        }
    }
}

impl LaneThread {
    /// Starts the thread of a lane; `None` if the system refuses one.
    fn new(index: usize) -> Option<Self> {
        let (inbox, told) = inbox();
        let desk = Arc::<LaneStatus>::default();
        let spot = Arc::clone(&desk.spot);
        let thread = thread::Builder::new()
            .name(format!("luau-{index}"))
            .stack_size(STACK)
            .spawn(move || lane_worker::run(&told, spot));
        thread.ok()?;
        Some(Self { inbox, desk })
    }
}

impl<'l> RunHandle<'l> {
    /// Returns the meeting point of the tasks that wait for the lane's messages.
    pub(crate) fn spot(&self) -> &'l WaitSpot {
        &self.lane.desk.spot
    }

    /// The number of runs that are on the lane, this one included.
    pub(crate) fn runs(&self) -> usize {
        self.lane.desk.load.load(Ordering::Relaxed)
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

impl Drop for RunHandle<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.lane.inbox.tell(LaneCommand::Stop { run: self.run });
        }
        self.lane.desk.load.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn runs_that_come_at_once_are_spread_over_the_lanes() {
        let (lanes, at_once) = (Lanes::new(3), Barrier::new(4));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    at_once.wait();
                    for _ in 0..300 {
                        lanes.free_lane();
                    }
                });
            }
        });
        let loads = lanes
            .lanes
            .iter()
            .map(|lane| lane.desk.load.load(Ordering::Relaxed));
        assert_eq!(loads.collect::<Vec<_>>(), [400; 3]);
    }
}
