//! The status of the reactors of a set, for lists: readable at any time, also while another one is started.

use std::fmt;
use std::sync::{Arc, Mutex};

use crate::report::ReactorChange;
use crate::report::ReactorId;
use crate::sync::lock;

/// Maximum number of finally failed reactors in the list; the oldest is removed first.
const FAILED: usize = 32;

/// The status of a reactor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReactorStatus {
    /// The id of the reactor.
    pub id: ReactorId,
    /// The name.
    pub name: String,
    /// Whether it works; else it failed and is not started again.
    pub works: bool,
    /// The number of restarts.
    pub restarts: u64,
    /// The last failure, if there was one.
    pub last_error: Option<String>,
}

/// The reactors of a set that work, in the order in which they were started, and the last 32 that failed for
/// good. Those that finished or were stopped are not among them. Clones refer to the same list.
#[derive(Clone, Default)]
pub struct ReactorList(Arc<Mutex<Vec<ReactorStatus>>>);

impl ReactorList {
    /// Returns the current status of each.
    pub fn now(&self) -> Vec<ReactorStatus> {
        lock(&self.0).clone()
    }

    pub(crate) fn started(&self, id: ReactorId, name: &str) {
        lock(&self.0).push(ReactorStatus {
            id,
            name: name.to_owned(),
            works: true,
            restarts: 0,
            last_error: None,
        });
    }

    pub(crate) fn record(&self, id: ReactorId, what: &ReactorChange) {
        let mut list = lock(&self.0);
        let Some(place) = list.iter().position(|status| status.id == id) else {
            return;
        };
        match what {
            ReactorChange::Failed { cause, restarting } => {
                let status = &mut list[place];
                status.last_error = Some(cause.to_string());
                status.works = *restarting;
                if !restarting && list.iter().filter(|status| !status.works).count() > FAILED {
                    let oldest = list.iter().position(|status| !status.works);
                    oldest.map(|oldest| list.remove(oldest));
                }
            }
            ReactorChange::Restarted => list[place].restarts += 1,
            ReactorChange::Finished | ReactorChange::Stopped | ReactorChange::Overdue => {
                list.remove(place);
            }
        }
    }

    /// A reactor is gone with its set, or was stopped after it had failed.
    pub(crate) fn remove(&self, id: ReactorId) {
        lock(&self.0).retain(|status| status.id != id);
    }
}

impl fmt::Debug for ReactorList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReactorList").field(&self.now()).finish()
    }
}
