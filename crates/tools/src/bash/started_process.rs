//! The process that leads a command: one that this program has started itself, or one that a template of the
//! sandbox has started as its child.

use std::io;
use std::process::ExitStatus;

use agentx_sandbox::HeldProcess;
use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal};

/// A process that leads a command.
pub(super) enum StartedProcess {
    Own(Child),
    Held(HeldProcess),
}

impl StartedProcess {
    /// Its id, unless it was waited for already.
    pub(super) fn id(&self) -> Option<u32> {
        match self {
            Self::Own(child) => child.id(),
            Self::Held(process) => Some(process.id()),
        }
    }

    /// Waits until it ends. Nothing is lost if this is given up and called again, also after the end.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let process = match self {
            Self::Own(child) => return child.wait().await,
            Self::Held(process) => process,
        };
        // Listens before it looks, so that no end is missed.
        let mut ends = signal(SignalKind::child())?;
        loop {
            if let Some(status) = process.try_wait()? {
                return Ok(status);
            }
            if ends.recv().await.is_none() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
    }
}
