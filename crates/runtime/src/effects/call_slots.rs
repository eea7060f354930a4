//! Bounds the number of concurrent tool calls of a runtime. A call that waits for others takes no slot:
//! otherwise the calls in all slots could wait forever for calls that need a slot.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The default number of slots.
const USUAL: usize = 64;
/// The number of calls of a part that may fill a processor at once.
const SLOW: usize = 2;

/// Slots for tool calls; calls without a free slot wait for their turn. Clones refer to the same slots.
#[derive(Clone, Debug)]
pub struct CallSlots {
    /// All slots.
    all: Arc<Semaphore>,
    /// The bound of a part of the calls.
    part: Option<Arc<Semaphore>>,
    /// The turns of that part at work that fills a processor.
    slow: Option<Arc<Semaphore>>,
    /// The same for all handles to these slots.
    number: u64,
}

/// A slot that a call has until this is dropped.
#[derive(Debug)]
#[must_use = "the place is given back when this is dropped"]
pub struct CallSlot {
    _permits: Vec<OwnedSemaphorePermit>,
}

impl Default for CallSlots {
    fn default() -> Self {
        Self::new(USUAL)
    }
}

impl CallSlots {
    /// Creates `count` slots, at least one.
    pub fn new(count: usize) -> Self {
        Self {
            all: semaphore(count),
            part: None,
            slow: None,
            number: next_number(),
        }
    }

    /// Returns a part of these slots: at most `count` at once, at least one.
    #[must_use]
    pub fn part(&self, count: usize) -> Self {
        Self {
            all: self.all.clone(),
            part: Some(semaphore(count)),
            slow: Some(semaphore(SLOW)),
            number: next_number(),
        }
    }

    /// Returns the number of these slots, which no others of this process have. A part has its own: on a
    /// server, it stands for one person, whose calls share the turns of one person elsewhere, too, such as
    /// those of scripts.
    ///
    /// ```
    /// use agentx_runtime::CallSlots;
    ///
    /// let all = CallSlots::default();
    /// let (ann, bob) = (all.part(16), all.part(16));
    /// assert_eq!(ann.number(), ann.clone().number());
    /// assert!(ann.number() != bob.number() && ann.number() != all.number());
    /// ```
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns whether another handle refers to these slots.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(self.part.as_ref().unwrap_or(&self.all)) > 1
    }

    /// Waits for a free slot for a call. A call that [waits for others](crate::Tool::waits) needs no slot.
    pub async fn take(&self, waits: bool) -> CallSlot {
        let mut permits = Vec::new();
        if !waits {
            // A call that waits for its part of the slots keeps none from others.
            for slots in self.part.iter().chain([&self.all]) {
                // It is never closed.
                permits.extend(Arc::clone(slots).acquire_owned().await.ok());
            }
        }
        CallSlot { _permits: permits }
    }

    /// Waits for a turn at work that fills a processor, such as a query. A part has two of them at once, so
    /// that one person of a server does not keep all others waiting. Other calls need no turn.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    /// # runtime.block_on(async {
    /// use std::time::Duration;
    ///
    /// use agentx_runtime::CallSlots;
    /// use tokio::time::timeout;
    ///
    /// let all = CallSlots::default();
    /// let (ann, bob) = (all.part(16), all.part(16));
    /// let first = ann.take_slow().await;
    /// let _second = ann.take_slow().await;
    /// assert!(timeout(Duration::ZERO, ann.take_slow()).await.is_err());
    /// let _his = bob.take_slow().await;
    /// drop(first);
    /// let _third = ann.take_slow().await;
    /// # });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub async fn take_slow(&self) -> CallSlot {
        let mut permits = Vec::new();
        if let Some(turns) = &self.slow {
            // It is never closed.
            permits.extend(Arc::clone(turns).acquire_owned().await.ok());
        }
        CallSlot { _permits: permits }
    }
}

/// A semaphore with this many permits, or the maximum that a semaphore can have.
fn semaphore(count: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS)))
}

/// Returns a number that no slots of this process have.
fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
