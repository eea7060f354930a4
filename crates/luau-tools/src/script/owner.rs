//! The owner of scripts: scripts of one owner share VMs, those of different owners never do.
//!
//! The caller decides about owners. AgentX treats a folder of tools or flows as one, because anybody who may
//! write one of its scripts may also write the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::lanes::lane_pool::Lanes;

/// An owner of scripts, such as the tools of one folder. Clones refer to the same owner.
///
/// A new VM takes some 370 KiB and 400 µs, a script in an existing VM about 5 KiB and a few µs. So scripts of
/// one owner share VMs. Each run has its own globals there, everything else is frozen, and a script sees
/// nothing of another; but that depends on the sandbox, while separate VMs share nothing at all. So
/// scripts should share an owner only if they come from one source.
#[derive(Clone)]
pub struct Owner {
    held: Arc<HeldVm>,
}

/// The shared part of an owner. Its last clone drops it, and the VMs of the owner's scripts with it.
struct HeldVm {
    id: u64,
    /// The lanes that run its scripts.
    lanes: Arc<Lanes>,
}

impl Owner {
    /// A new owner on the lanes that all share.
    #[must_use]
    pub fn new() -> Self {
        Self::on(Lanes::shared())
    }

    /// A new owner on separate lanes, for a program that wants separate threads for it.
    #[must_use]
    pub fn on(lanes: Arc<Lanes>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            held: Arc::new(HeldVm { id, lanes }),
        }
    }

    /// Identifies the owner; unique in a process.
    pub(crate) fn id(&self) -> u64 {
        self.held.id
    }

    /// The lanes on which its scripts run.
    pub(crate) fn lanes(&self) -> &Arc<Lanes> {
        &self.held.lanes
    }
}

impl std::fmt::Debug for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Owner").field(&self.held.id).finish()
    }
}

impl Default for Owner {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for HeldVm {
    fn drop(&mut self) {
        self.lanes.leave(self.id);
    }
}
