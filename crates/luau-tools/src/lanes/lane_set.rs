//! The lanes of a pool, and the choice of a lane for a run.
//!
//! Nothing can interrupt a call of native code, and a VM never leaves its thread. So whatever shares a lane
//! with a script waits for the longest piece of work that Luau does at once for this script: arithmetic with
//! long texts in a straight line reaches no safepoint for seconds. A lane therefore works for one
//! [`LaneHolder`] at a time, and the operating system divides the processors among the lanes. If no lane is
//! free, a holder without one gets an additional lane, which ends when it has been idle for a while.
//!
//! A holder has a second lane only while a lane is free, and never more than the pool has permanent ones; all
//! holders of one person have at most twice as many. So the number of threads that a person can occupy is
//! bounded. Beyond it the person's runs share lanes. Beyond [`MOST_LANES`], or if the system refuses a
//! thread, people share lanes, too, and take turns there.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use crate::lanes::inbox::{Inbox, inbox};
use crate::lanes::lane_command::LaneCommand;
use crate::lanes::lane_status::LaneStatus;
use crate::lanes::lane_worker::{self, Retirement};
use crate::lanes::turn_queue::TurnTaker;
use crate::run::run_channel::RunStart;

/// The maximum number of lanes.
const MOST_LANES: usize = 128;
/// A stack that holds the nesting which Luau allows, with room for the functions of Rust in between.
const STACK: usize = 8 << 20;

/// The runs that one lane serves at a time: those of the scripts of one owner for one person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneHolder {
    taker: TurnTaker,
    owner: u64,
}

impl LaneHolder {
    /// The holder of this run's lane.
    pub(crate) fn of(start: &RunStart) -> Self {
        Self {
            taker: TurnTaker::of(start),
            owner: start.script.owner,
        }
    }
}

/// The lanes of a pool.
pub(crate) struct LaneSet {
    /// The number of permanent lanes, and the maximum for one holder.
    permanent: usize,
    lanes: Mutex<Vec<HeldLane>>,
}

/// A lane and its holder.
struct HeldLane {
    thread: Arc<LaneThread>,
    /// The holder of the runs that are on it, or were last.
    holder: Option<LaneHolder>,
}

/// A lane as others see it.
pub(crate) struct LaneThread {
    /// The way to the lane.
    pub(crate) inbox: Inbox<LaneCommand>,
    pub(crate) status: Arc<LaneStatus>,
}

impl LaneSet {
    /// Starts the permanent lanes. One whose thread cannot be created is left out.
    pub(crate) fn new(permanent: usize) -> Arc<Self> {
        let threads = (0..permanent).filter_map(|index| LaneThread::new(index, None));
        let lanes = threads.map(HeldLane::new).collect();
        Arc::new(Self {
            permanent,
            lanes: Mutex::new(lanes),
        })
    }

    /// Reserves a place for a run on a lane; `None` if there is no lane and no thread for one.
    pub(crate) fn place(self: &Arc<Self>, holder: LaneHolder) -> Option<Arc<LaneThread>> {
        let mut lanes = self.lanes();
        let of_person = count_busy(&lanes, |one| one.taker == holder.taker);
        let may_have_more = of_person < 2 * self.permanent;
        let most = if may_have_more { self.permanent } else { 0 };
        if let Some(at) = open_lane(&lanes, holder, most) {
            lanes[at].holder = Some(holder);
            return Some(lanes[at].reserved());
        }
        if may_have_more
            && lanes.len() < MOST_LANES
            && let Some(thread) = LaneThread::new(lanes.len(), Some(Arc::downgrade(self)))
        {
            let mut lane = HeldLane::new(thread);
            lane.holder = Some(holder);
            lanes.push(lane);
            return lanes.last().map(HeldLane::reserved);
        }
        shared_lane(&lanes, holder).map(HeldLane::reserved)
    }

    /// Removes a lane.
    pub(crate) fn remove(&self, status: &Arc<LaneStatus>) {
        self.lanes().retain(|lane| !lane.is(status));
    }

    /// Removes a lane that has no run. No run reaches it any more if this returns `true`.
    fn retire(&self, status: &Arc<LaneStatus>) -> bool {
        let mut lanes = self.lanes();
        let is_unused = status.runs() == 0;
        lanes.retain(|lane| !(is_unused && lane.is(status)));
        is_unused
    }

    /// Tells every lane.
    pub(crate) fn tell(&self, command: impl Fn() -> LaneCommand) {
        for lane in self.lanes().iter() {
            // A lane that ended has no VMs.
            lane.thread.inbox.tell(command());
        }
    }

    /// Returns the number of runs on all lanes.
    pub(crate) fn runs(&self) -> usize {
        self.lanes().iter().map(HeldLane::runs).sum()
    }

    /// The lock is held for a choice or the start of a thread, never while anybody waits.
    fn lanes(&self) -> MutexGuard<'_, Vec<HeldLane>> {
        // Poisoning is harmless: each change is a single step.
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the number of lanes with runs of such a holder.
fn count_busy(lanes: &[HeldLane], is_such: impl Fn(LaneHolder) -> bool) -> usize {
    let lanes = lanes.iter().filter(|lane| lane.runs() > 0);
    lanes.filter(|lane| lane.holder.is_some_and(&is_such)).count()
}

/// The lane with the fewest runs of those that are the holder's, or may become so while it has fewer than
/// `most`.
fn open_lane(lanes: &[HeldLane], holder: LaneHolder, most: usize) -> Option<usize> {
    let is_own = |lane: &HeldLane| lane.holder == Some(holder);
    let may_have_more = count_busy(lanes, |one| one == holder) < most;
    let open = |lane: &HeldLane| is_own(lane) || (may_have_more && lane.thread.status.is_idle());
    let lanes = lanes.iter().enumerate().filter(|(_, lane)| open(lane));
    let fewest = lanes.min_by_key(|(_, lane)| (lane.runs(), !is_own(lane)));
    fewest.map(|(at, _)| at)
}

/// The lane of another holder that a holder shares: one of the same person, or else always the same one, so
/// that nobody comes to occupy several.
fn shared_lane(lanes: &[HeldLane], holder: LaneHolder) -> Option<&HeldLane> {
    let of_person =
        |lane: &&HeldLane| lane.runs() > 0 && lane.holder.is_some_and(|one| one.taker == holder.taker);
    let fewest = lanes.iter().filter(of_person).min_by_key(|lane| lane.runs());
    fewest.or_else(|| {
        let (TurnTaker::Person(number) | TurnTaker::Owner(number)) = holder.taker;
        let at = usize::try_from(number).unwrap_or(0).checked_rem(lanes.len())?;
        lanes.get(at)
    })
}

impl HeldLane {
    fn new(thread: LaneThread) -> Self {
        Self {
            thread: Arc::new(thread),
            holder: None,
        }
    }

    fn is(&self, status: &Arc<LaneStatus>) -> bool {
        Arc::ptr_eq(&self.thread.status, status)
    }

    fn runs(&self) -> usize {
        self.thread.status.runs()
    }

    /// The lane, with a place for one more run.
    fn reserved(&self) -> Arc<LaneThread> {
        self.thread.status.add_run();
        Arc::clone(&self.thread)
    }
}

impl LaneThread {
    /// Starts the thread of a lane, an additional one of this pool or a permanent one; `None` if the system
    /// refuses one.
    fn new(index: usize, additional_in: Option<Weak<LaneSet>>) -> Option<Self> {
        let (inbox, told) = inbox();
        let status = Arc::<LaneStatus>::default();
        let own = Arc::clone(&status);
        let retirement = additional_in.map(|set| {
            let status = Arc::clone(&status);
            let may_end = move || set.upgrade().is_none_or(|set| set.retire(&status));
            Retirement::new(may_end)
        });
        let thread = thread::Builder::new()
            .name(format!("luau-{index}"))
            .stack_size(STACK)
            .spawn(move || lane_worker::run(&told, own, retirement.as_ref()));
        thread.ok()?;
        Some(Self { inbox, status })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    const fn holder(person: u64, owner: u64) -> LaneHolder {
        LaneHolder {
            taker: TurnTaker::Person(person),
            owner,
        }
    }

    /// Places a run, and returns the position of its lane.
    fn placed(set: &Arc<LaneSet>, holder: LaneHolder) -> Option<usize> {
        let lane = set.place(holder)?;
        set.lanes().iter().position(|one| one.is(&lane.status))
    }

    /// Returns the status of a lane.
    fn status(set: &LaneSet, at: usize) -> Arc<LaneStatus> {
        Arc::clone(&set.lanes()[at].thread.status)
    }

    #[test]
    fn runs_that_come_at_once_are_spread_over_the_lanes() {
        let (set, at_once) = (LaneSet::new(3), Barrier::new(4));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    at_once.wait();
                    for _ in 0..300 {
                        set.place(holder(1, 1));
                    }
                });
            }
        });
        let runs: Vec<_> = set.lanes().iter().map(HeldLane::runs).collect();
        assert_eq!(runs, [400; 3]);
    }

    #[test]
    fn nobody_gets_a_place_on_the_lane_of_another() {
        let set = LaneSet::new(2);
        let (hers, his, of_folder) = (holder(1, 1), holder(2, 1), holder(1, 2));
        assert_eq!(placed(&set, hers), Some(0));
        assert_eq!(placed(&set, his), Some(1));
        assert_eq!(placed(&set, of_folder), Some(2), "an additional one");
        assert_eq!(placed(&set, his), Some(1), "no lane is free");
        assert_eq!(placed(&set, hers), Some(0));

        status(&set, 2).remove_run();
        assert_eq!(placed(&set, hers), Some(2), "a lane is free");
        (0..2).for_each(|_| status(&set, 1).remove_run());
        assert_eq!(placed(&set, hers), Some(2), "nobody has more than two");
        assert_eq!(placed(&set, of_folder), Some(1));
    }

    #[test]
    fn a_lane_that_still_works_for_one_is_not_free_for_another() {
        let set = LaneSet::new(1);
        assert_eq!(placed(&set, holder(1, 1)), Some(0));
        let status = status(&set, 0);
        status.set_at_work(true);
        status.remove_run();
        assert_eq!(placed(&set, holder(2, 1)), Some(1));
        assert_eq!(placed(&set, holder(1, 1)), Some(0), "it is free for who had it");
        status.remove_run();
        status.set_at_work(false);
        assert_eq!(placed(&set, holder(3, 1)), Some(0));
    }

    #[test]
    fn beyond_the_bound_each_shares_one_lane() {
        let set = LaneSet::new(1);
        for person in 0..MOST_LANES as u64 {
            placed(&set, holder(person, 1));
        }
        assert_eq!(set.lanes().len(), MOST_LANES);
        for _ in 0..3 {
            assert_eq!(placed(&set, holder(MOST_LANES as u64 + 7, 1)), Some(7));
        }
        assert_eq!(set.lanes().len(), MOST_LANES);
        assert_eq!(set.runs(), MOST_LANES + 3);
    }

    #[test]
    fn a_person_with_many_owners_has_a_bounded_number_of_lanes() {
        let set = LaneSet::new(2);
        let places: Vec<_> = (0..6).map(|owner| placed(&set, holder(1, owner))).collect();
        assert_eq!(places, [0, 1, 2, 3, 0, 1].map(Some));
        assert_eq!(placed(&set, holder(2, 9)), Some(4));
        assert_eq!(
            placed(&set, holder(1, 6)),
            Some(2),
            "not on the lane of another person"
        );
    }

    #[test]
    fn an_additional_lane_ends_unless_a_run_comes() {
        let set = LaneSet::new(1);
        let places = [placed(&set, holder(1, 1)), placed(&set, holder(2, 1))];
        assert_eq!(places, [Some(0), Some(1)]);
        let status = status(&set, 1);
        assert!(!set.retire(&status));
        status.remove_run();
        assert!(set.retire(&status));
        assert_eq!(set.lanes().len(), 1);
    }
}
