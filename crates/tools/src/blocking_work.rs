//! Blocking work on a separate thread. When the call is cancelled, the work is asked to stop, and the call
//! does not wait for it.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::failure::ToolFailure;

/// Tells work when to stop.
#[derive(Clone)]
pub(crate) struct StopFlag {
    cancel: CancellationToken,
    deadline: Option<Instant>,
}

impl StopFlag {
    pub(crate) fn new(cancel: &CancellationToken, timeout: Option<Duration>) -> Self {
        Self {
            cancel: cancel.clone(),
            deadline: timeout.map(|timeout| Instant::now() + timeout),
        }
    }

    /// Returns whether to stop now.
    pub(crate) fn due(&self) -> bool {
        self.cancel.is_cancelled() || self.timed_out()
    }

    /// Returns whether the time is used up.
    pub(crate) fn timed_out(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// Runs `work` on a blocking thread. When `cancel` fires, the call ends at once; the thread ends when `work`
/// checks its [`StopFlag`].
pub(crate) async fn blocking<T: Send + 'static>(
    cancel: &CancellationToken,
    work: impl FnOnce() -> Result<T, ToolFailure> + Send + 'static,
) -> Result<T, ToolFailure> {
    if cancel.is_cancelled() {
        return Err(ToolFailure::interrupted());
    }
    let work = tokio::task::spawn_blocking(work);
    tokio::select! {
        biased;
        done = work => done.unwrap_or_else(|error| Err(ToolFailure::failed(format!("The tool broke: {error}.")))),
        () = cancel.cancelled() => Err(ToolFailure::interrupted()),
    }
}

/// A reader that ends early when it is time to stop, so that one endless file does not hold a search.
pub(crate) struct StoppableReader<R> {
    pub(crate) inner: R,
    pub(crate) stop: StopFlag,
}

impl<R: Read> Read for StoppableReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.due() {
            Ok(0)
        } else {
            self.inner.read(buffer)
        }
    }
}
