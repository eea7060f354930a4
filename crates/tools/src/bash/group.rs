//! The processes of one command, to be ended: first by request, then by force.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::command_records::RunningRecord;
use super::process_mark::ProcessMark;
use super::processes::{self, Process};

/// The processes of one command. Dropping it kills those that are left.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    leader: Pid,
    mark: ProcessMark,
    phase: AtomicU8,
    recorded: Mutex<Option<RunningRecord>>,
}

/// The leader was not waited for yet, so its id cannot belong to another process.
const LED: u8 = 0;
/// The leader has ended; members may still run.
const LEFT: u8 = 1;
/// No member of the group is alive.
const OVER: u8 = 2;

/// The groups of this process, so that it can end them when it has no time to wait for anything else.
static BEGUN: Mutex<Vec<Weak<ProcessGroup>>> = Mutex::new(Vec::new());

/// Kills, at once, every running command that tools of this process have started, and every descendant of
/// this process. For a program that is asked to end a second time: it does not wait, and running calls get no
/// result.
///
/// Blocks for some milliseconds. Without `/proc`, only the process groups of the commands are found.
pub fn kill_all_commands() {
    let begun: Vec<Weak<ProcessGroup>> = BEGUN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for group in begun.iter().filter_map(Weak::upgrade) {
        if group.phase.load(Ordering::Acquire) != OVER {
            group.kill_once(&[]);
        }
    }
    for process in processes::living()
        .map(|all| processes::descendants(&all))
        .unwrap_or_default()
    {
        // A process that has ended needs no signal.
        let _ = kill(process.pid, Signal::SIGKILL);
    }
}

/// The number of rounds of killing: a process that forks faster than it is killed has to be found again.
const ROUNDS: usize = 20;

impl ProcessGroup {
    pub(super) fn new(leader: Pid, mark: ProcessMark, recorded: Option<RunningRecord>) -> Arc<Self> {
        let group = Arc::new(Self {
            leader,
            mark,
            phase: AtomicU8::new(LED),
            recorded: Mutex::new(recorded),
        });
        let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|group| group.strong_count() > 0);
        begun.push(Arc::downgrade(&group));
        group
    }

    /// Notes that the leader was waited for.
    pub(super) fn lost_leader(&self) {
        let _ = self
            .phase
            .compare_exchange(LED, LEFT, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Returns whether members are alive after the leader has ended. Processes that left the group on purpose
    /// do not count: a daemon is meant to stay.
    pub(super) fn has_members(&self) -> bool {
        if self.phase.load(Ordering::Acquire) == OVER {
            return false;
        }
        // A cheap check that is nearly always enough; it also counts members that are dead and not waited
        // for.
        if killpg(self.leader, None) == Err(Errno::ESRCH) {
            self.mark_ended();
            return false;
        }
        processes::living().is_none_or(|all| all.iter().any(|process| process.group == self.leader))
    }

    /// Notes that no member is alive, so that nothing is killed any more.
    pub(super) fn mark_ended(&self) {
        self.phase.store(OVER, Ordering::Release);
        let recorded = &self.recorded;
        recorded.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Asks all to end.
    pub(super) fn ask(&self) -> Vec<Process> {
        let known = self.living();
        self.signal(Signal::SIGTERM, &known);
        // A stopped process (one that read from the terminal) would never receive the signal.
        self.signal(Signal::SIGCONT, &known);
        known
    }

    /// Kills all processes, including those of `known` that can no longer be found in another way.
    pub(super) async fn kill(&self, known: &[Process]) {
        for round in 0..ROUNDS {
            if self.kill_once(known) == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1 + round as u64)).await;
        }
        if self.phase.load(Ordering::Acquire) == LEFT {
            self.mark_ended();
        }
    }

    /// Kills all processes that can be found now, without waiting. Returns how many there were, without the
    /// leader.
    pub(super) fn kill_once(&self, known: &[Process]) -> usize {
        let mut living = self.living();
        if let Some(all) = processes::living() {
            let escaped = known
                .iter()
                .filter(|known| all.iter().any(|process| process.is_same(known)));
            let escaped: Vec<Process> = escaped
                .filter(|process| !living.contains(process))
                .cloned()
                .collect();
            living.extend(escaped);
        }
        self.signal(Signal::SIGKILL, &living);
        living.iter().filter(|process| process.pid != self.leader).count()
    }

    fn living(&self) -> Vec<Process> {
        processes::living()
            .map(|all| of_command(&all, self.leader, &self.mark))
            .unwrap_or_default()
    }

    /// Signals the group as a whole, so that no member can fork away from it, and then the processes outside
    /// of it.
    fn signal(&self, signal: Signal, processes: &[Process]) {
        let phase = self.phase.load(Ordering::Acquire);
        // When the leader is gone, its id may belong to another process; then the group is signalled only if
        // a member was seen.
        let seen = processes.iter().any(|process| process.group == self.leader);
        if phase == LED || (phase == LEFT && (seen || processes::living().is_none())) {
            // A process that has ended needs no signal.
            let _ = killpg(self.leader, signal);
        }
        for process in processes.iter().filter(|process| process.group != self.leader) {
            let _ = kill(process.pid, signal);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        const TRIES: usize = 3;
        if self.phase.load(Ordering::Acquire) != OVER {
            for _ in 0..TRIES {
                self.kill_once(&[]);
            }
        }
    }
}

/// Returns the processes of a command: members of its group, descendants of its leader, and all that carry
/// its mark; of a shell that stays also those of its terminal.
fn of_command(all: &[Process], leader: Pid, mark: &ProcessMark) -> Vec<Process> {
    let is_marked = |pid| ProcessMark::of_process(pid).is_some_and(|found| found == *mark);
    // A shell that stays gives each of its jobs a group of its own.
    let is_of_shell = |process: &Process| mark.is_of_lasting_shell() && process.session == leader;
    let is_member = |process: &Process| process.pid == leader || process.group == leader;
    let mut found: Vec<Process> = all
        .iter()
        .filter(|process| is_member(process) || is_of_shell(process) || is_marked(process.pid))
        .cloned()
        .collect();
    processes::add_descendants(all, &mut found);
    let own = Pid::this();
    found.retain(|process| process.pid != own);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_descendants() {
        let process = |pid, parent, group| Process {
            pid: Pid::from_raw(pid),
            parent: Pid::from_raw(parent),
            group: Pid::from_raw(group),
            session: Pid::from_raw(1),
            started: 0,
            name: "sleep".into(),
        };
        let base = 2_000_000_000;
        let all = [
            process(base, 1, base),
            process(base + 1, base, base),
            process(base + 2, base + 1, base + 2),
            process(base + 3, base + 2, base + 2),
            process(base + 4, 1, base + 4),
            process(base + 5, 1, base),
        ];
        let mark = ProcessMark::new(&"ses_1".into(), &"no such call".into());
        let found: Vec<i32> = of_command(&all, Pid::from_raw(base), &mark)
            .iter()
            .map(|found| found.pid.as_raw() - base)
            .collect();
        assert_eq!(found, [0, 1, 5, 2, 3]);
    }
}
