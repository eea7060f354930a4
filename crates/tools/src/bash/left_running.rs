//! The processes that still run after a person's own command has ended: the rest of its process group.

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, getsid};

use super::processes;

/// The processes that a command left in its process group. Dropping it kills them. A process that began its
/// own session, as a daemon does, is not among them and stays.
#[derive(Debug)]
pub struct RemainingProcess {
    leader: Pid,
    /// The session of processes that this program is in, and so are commands that did not leave it.
    session: Option<Pid>,
}

impl RemainingProcess {
    /// Returns the processes in the group of a command whose leader has ended and was waited for. `None` if
    /// no member of the group is alive.
    pub fn of(leader: u32) -> Option<Self> {
        let left = Self {
            leader: Pid::from_raw(i32::try_from(leader).ok()?),
            session: getsid(None).ok(),
        };
        left.still_runs().then_some(left)
    }

    /// Returns whether any of these processes is alive.
    pub fn still_runs(&self) -> bool {
        // A cheap check that is nearly always enough; it also counts members that are dead and not waited
        // for.
        if killpg(self.leader, None) == Err(Errno::ESRCH) {
            return false;
        }
        let is_member = |process: &processes::Process| {
            process.group == self.leader && self.session.is_none_or(|session| process.session == session)
        };
        processes::living().is_none_or(|all| all.iter().any(is_member))
    }
}

impl Drop for RemainingProcess {
    fn drop(&mut self) {
        // The number of a group that is gone may be in use again.
        if self.still_runs() {
            let _ = killpg(self.leader, Signal::SIGKILL);
        }
    }
}
