//! A gate in the middle of an operation: the operation waits there, and the test is notified. It replaces
//! sleeps.

use tokio::sync::watch;

/// A gate at which one side waits until the other opens it. Clones refer to the same gate.
#[derive(Clone, Debug)]
pub struct Gate {
    open: watch::Sender<bool>,
    reached: watch::Sender<bool>,
}

impl Default for Gate {
    fn default() -> Self {
        Self::closed()
    }
}

impl Gate {
    /// Creates a gate that is closed.
    pub fn closed() -> Self {
        Self {
            open: watch::Sender::new(false),
            reached: watch::Sender::new(false),
        }
    }

    /// Opens the gate for all, now and later.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Waits until a task waits at the gate or has passed it.
    pub async fn reached(&self) {
        // The sender is part of `self`, so the channel is open for as long as this waits.
        let _ = self.reached.subscribe().wait_for(|reached| *reached).await;
    }

    /// Signals that the gate was reached, and waits until it is open.
    pub async fn pass(&self) {
        self.reached.send_replace(true);
        let _ = self.open.subscribe().wait_for(|open| *open).await;
    }
}
