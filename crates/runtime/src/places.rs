//! How many tool calls of a runtime run at once. A call that waits for others takes no place: if it did, as many of them as there
//! are places would wait for ever for what needs a place of its own.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Tool;

/// How many there are where nothing else is said.
const USUAL: usize = 64;

/// Places for tool calls; the calls that find none wait for their turn. Clones are the same places.
#[derive(Clone, Debug)]
pub struct Places(Arc<Semaphore>);

/// A place that a call has until this is dropped.
#[derive(Debug)]
#[must_use = "the place is given back when this is dropped"]
pub struct Place {
    _permit: Option<OwnedSemaphorePermit>,
}

impl Default for Places {
    fn default() -> Self {
        Self::new(USUAL)
    }
}

impl Places {
    /// So many, at least one.
    pub fn new(count: usize) -> Self {
        Self(Arc::new(Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS))))
    }

    /// A place for a call of this tool, when there is one. Tools that [wait for others](Tool::waits) need none.
    pub async fn take(&self, tool: &dyn Tool) -> Place {
        let permit = match tool.waits() {
            true => None,
            // It is never closed.
            false => Arc::clone(&self.0).acquire_owned().await.ok(),
        };
        Place { _permit: permit }
    }
}
