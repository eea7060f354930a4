//! A door in the middle of something: what comes to it waits there, and the test learns that it does. In the place of
//! sleeps.

use tokio::sync::watch;

/// Where one side waits and the other side lets it pass. Clones refer to the same gate.
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
    /// A gate that is closed.
    pub fn closed() -> Self {
        Self {
            open: watch::Sender::new(false),
            reached: watch::Sender::new(false),
        }
    }

    /// Lets through whoever waits, and whoever comes.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Waits until somebody stands at the gate or went through.
    pub async fn reached(&self) {
        // The sender is part of `self`, so the channel is open for as long as this waits.
        let _ = self.reached.subscribe().wait_for(|reached| *reached).await;
    }

    /// Says that it was reached, and waits until it is open.
    pub async fn pass(&self) {
        self.reached.send_replace(true);
        let _ = self.open.subscribe().wait_for(|open| *open).await;
    }
}
