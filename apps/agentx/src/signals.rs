//! Signals to stop: the first asks, the second leaves.

use crate::exit::Exit;

/// Waits for Ctrl-C and for a request to terminate.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hang_up: tokio::signal::unix::Signal,
    /// One that came and is still to be acted upon.
    kept: Option<Exit>,
}

impl Signals {
    /// Begins to listen.
    ///
    /// # Errors
    /// Where the system refuses.
    #[cfg(unix)]
    pub(crate) fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            kept: None,
        })
    }

    /// Begins to listen.
    ///
    /// # Errors
    /// Where the system refuses.
    #[cfg(not(unix))]
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self { kept: None })
    }

    /// The signal that came comes again: whoever heard it was at something else.
    pub(crate) fn keep(&mut self, exit: Exit) {
        self.kept = Some(exit);
    }

    /// The next signal, as the exit that it asks for. Safe to drop while it waits.
    pub(crate) async fn next(&mut self) -> Exit {
        match self.kept.take() {
            Some(exit) => exit,
            None => self.heard().await,
        }
    }

    #[cfg(unix)]
    async fn heard(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
            _ = self.hang_up.recv() => Exit::Terminated,
        }
    }

    #[cfg(not(unix))]
    async fn heard(&mut self) -> Exit {
        let _ = tokio::signal::ctrl_c().await;
        Exit::Interrupted
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_signal_that_is_kept_comes_again_once() {
        let mut signals = Signals::listen().unwrap();
        signals.keep(Exit::Interrupted);
        assert_eq!(signals.next().await, Exit::Interrupted);
        assert!(signals.kept.is_none());
    }
}
